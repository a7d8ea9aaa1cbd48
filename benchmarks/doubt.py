"""Methods that make a trained network doubt, on CamVid as S4 judges them on Fishyscapes: a table, and the
searches.

    python benchmarks/doubt.py run FOLDER [--seeds 0,1,2] [--backbone segformer-b0] [--kinds linear,uno] [--scores residual,neco]
    python benchmarks/doubt.py table FOLDER          # the rows, of what is there
    python benchmarks/doubt.py families FOLDER       # taught by objects of one family, tested by those of another

Conventions: jobs are resumable, and go on where they were stopped; --kinds and --scores do some of them. Splits,
held-out classes and training are those of benchmarks/heads.py: nothing unknown is ever learnt. A job is a
network of a seed: the linear one, to which all methods are fitted, and those that start from it and are
trained on for a fifth of its steps: five with pixels of no class (void from the start), two outlier heads
with other unknown pixels (pieces of ImageNet pasted into crops; objects blended into training images), one
with MC dropout, and one with neither (ce), their control. Methods have their defaults, but 20,000 embeddings
of a layer and 1,000 steps of a flow; layers and options are searched on validation images with objects
blended in, of other drawn objects than the test images have, and reported as rows of their own. Methods that
learn from unknown objects beside the network see training images with three objects each, of four families
(doubt_objects.py); a fusion learns on validation images with the same objects. Every second of the 233 test
images is judged: with one drawn object each by the recipes fishyscapes-v2 and fishyscapes-v3, with one object
of each other family, and with the held-out classes. For the table of families a residual block learns from
one family, or from all but one, in ``FEW`` steps.
Needs FAULTSCAPE_DATA and the extra ``doubt``.
Source: S4, Table 1 and Tables 4 to 9.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from heads import collect, kept_classes, make_tree, make_withheld, spread
from PIL import Image

import faultscape as fs
from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.metrics.scorers import SCORERS
from faultscape.reporting.reliability.document import Card, find_cell, flags_of_score
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, usable_cutouts
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.uncertainty.methods.catalogue import IMAGE, METHODS, method_named

PLAIN = ("random", "msp", "entropy", "gen", "max-logit", "energy")
STEPS, FEW_STEPS = 1000, 300  # of a flow, and of each while layers are compared
FITTED = {
    "odin": {},
    "standardised-max-logit": {},
    "mahalanobis": {},
    "neco": {},
    "energy-neco": {},
    "knn": {},
    "knn-class": {},
    "flow": {"method_options": fs.MethodOptions(steps=STEPS)},
    "flow-minimum": {"method_options": fs.MethodOptions(steps=STEPS, join="minimum", per_feature=True)},
    "reconstruction": {},
    "resynthesis": {},
}
SEARCHED = {
    "odin-searched": {},
    "knn-searched": {"select_layer": True},
    "knn-class-searched": {"select_layer": True},
    # and then trained on
    "flow-searched": {"select_layer": True, "method_options": fs.MethodOptions(steps=FEW_STEPS, epsilon=0.0)},
    "flow-logistic": {
        "method_options": fs.MethodOptions(steps=STEPS, join="logistic", epsilon=0.0, per_feature=True)
    },
}
STAGES = [f"segformer.stages.{k}" for k in range(4)]  # joined by flow-minimum and flow-logistic
# learnt with unknown objects, beside the network
TAUGHT = {"residual": {}, "reconstruction-taught": {}}
# join the others, and learn on validation images, from which nothing else learns
JOINED = {"fusion": {}, "fusion-spatial": {"method_options": fs.MethodOptions(spatial=True)}}
KEPT = 20_000  # embeddings of a layer
TRAINED = {
    "ce": ("msp", "energy"),
    "void-class": ("void",),
    "entropy": ("entropy",),
    "outlier-head": ("outlier", "outlier-msp"),
    "outlier-head-pasted": ("outlier", "outlier-msp"),
    "outlier-head-blended": ("outlier", "outlier-msp"),
    "dirichlet": ("differential-entropy",),
    "uno": ("uno", "outlier"),
}
# losses of kinds that are not named after theirs
LOSSES = {"outlier-head-pasted": "outlier-head", "outlier-head-blended": "outlier-head"}
MEMBERS = ("predictive-entropy", "expected-entropy", "mutual-information")
BLENDS = ("fishyscapes-v2", "fishyscapes-v3")
VALIDATION = "val-fishyscapes-v2"
JOINS = f"{VALIDATION}-joined"
NEGATIVES, A_FRAME = "train-fishyscapes-v2", 3  # objects of a training image that teach
SHOWN = (1024, 2048)  # height and width of a frame of Cityscapes
SIGN = 6  # of CamVid's labels


def studies_of(folder: Path) -> tuple[str, str, str]:
    """Return the study in which networks are trained and methods fitted, that in which the held-out classes
    are unknown objects, and that of blended objects.
    """
    tree, kept = make_tree(folder), folder / "kept"
    learn, whole = make_withheld(folder, tree, "half")
    if not (kept / "sets.json").exists():
        collect(kept, tree, "half", None, "test", kept_classes(folder))
    drawn = drawn_cutouts()
    test, other = ([cutout for cutout in drawn if cutout.split == split] for split in ("test", "validation"))
    third = teaching_objects(drawn)
    blends = (
        (kept, "main", BLENDS[0], test, 1),
        (kept, "main", BLENDS[1], test + road_signs(tree), 1),
        (learn, "val", BLENDS[0], other, 1),
        (learn, "train", BLENDS[0], third, A_FRAME),
        (learn, "val", BLENDS[0], third, A_FRAME),
    )
    for study, name, preset, objects, a_frame in blends:
        called = f"{study.name}-negatives" if objects is third else f"{study.name}-{preset}"
        edition = "joined" if objects is third and name == "val" else None
        place = write_objects(folder / "objects" / called, objects)
        how = fs.Blending(objects_per_frame=a_frame)
        fs.stress.blend(str(study), set_=name, preset=preset, objects=place, edition=edition, blending=how)
    return str(learn), str(whole), str(kept)


def job(
    folder: Path, studies: tuple[str, str, str], backbone: str, kind: str, seed: int, threads: int | None
) -> None:
    """Train one network, fit what is fitted to it, and judge it; what was found goes to FOLDER/cells."""
    name = f"{backbone.replace('/', '-')}-{kind}-{seed}"
    cell = folder / "cells" / f"{name}.json"
    if cell.exists():
        return
    start, learn = time.perf_counter(), studies[0]
    machine = fs.TrainingMachine(precision="bf16", threads=threads)
    told = (
        {"loss": LOSSES.get(kind, kind), **negatives_of(kind)}
        if kind in TRAINED
        else {"dropout_at": ["decode_head.dropout"]}
        if kind == "mc-dropout"
        else {}
    )
    init = None if kind == "linear" else f"{backbone.replace('/', '-')}-linear-{seed}"
    made = fs.train(
        learn, name, backbone=backbone, preset="camvid-small", init=init, seed=seed, machine=machine, **told
    )
    minutes, searches = {"training": (time.perf_counter() - start) / 60}, {}
    methods = {**FITTED, **SEARCHED, **TAUGHT, **JOINED} if kind == "linear" else {}
    for called, options in methods.items():
        fit = folder / "fits" / name / f"{called}.json"  # of a job that was killed, what was fitted before
        if not fit.exists():
            begun = time.perf_counter()
            tried = fit_one(learn, name, called, seed, **options)
            fit.parent.mkdir(parents=True, exist_ok=True)
            fit.write_text(json.dumps({"searches": tried, "minutes": (time.perf_counter() - begun) / 60}))
        held = json.loads(fit.read_text())
        searches |= {f"{called} {what}": rows for what, rows in held["searches"].items()}
        minutes[called] = held["minutes"]
    scorers = [*PLAIN, *methods] if kind == "linear" else list(TRAINED.get(kind, MEMBERS))
    numbers: dict[str, dict[str, float]] = {}
    for study in studies[1:]:
        copy_methods(Path(learn), Path(study), name)
        fs.predict(study, {name: made.folder}, scorer=scorers, measure=True)
        output = str(folder / "cards" / f"{Path(study).name}-{name}")
        card = fs.reliability(study, models=[name], worst=3, resamples=0, output=output).document
        for condition in (*BLENDS, "traffic"):
            for scorer in scorers:
                for metric in ("average_precision", "fpr95", "auroc", "miou"):
                    held = find_cell(card, name, condition, metric, scorer) or find_cell(
                        card, name, condition, metric, ""
                    )
                    if held is not None:
                        numbers.setdefault(condition, {})[f"{metric} {scorer}"] = held["value"]
    about = {
        "backbone": backbone,
        "kind": kind,
        "seed": seed,
        "found": numbers,
        "searches": searches,
        "minutes": minutes,
        "threads": threads,
    }
    cell.parent.mkdir(parents=True, exist_ok=True)
    cell.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{name}: {(time.perf_counter() - start) / 60:.0f} minutes", flush=True)


def negatives_of(kind: str) -> dict[str, fs.TrainingData]:
    """Return what teaches a network what is unknown, other than void: pieces of ImageNet, or objects
    blended into its training images.
    """
    if kind == "outlier-head-pasted":
        other = Path(os.environ["FAULTSCAPE_DATA"], "imagenet-images")
        return {"data": fs.TrainingData(negatives=str(other))}
    return {"data": fs.TrainingData(negatives=NEGATIVES)} if kind == "outlier-head-blended" else {}


def fit_one(study: str, name: str, called: str, seed: int, **options) -> dict[str, list[dict]]:
    """Fit one method under a name, and return the tables of its searches."""
    method = max((m.name for m in METHODS if called == m.name or called.startswith(f"{m.name}-")), key=len)
    layers = {"layer": STAGES} if called in ("flow-minimum", "flow-logistic") else {}
    searched = {"validation": VALIDATION} if called in SEARCHED else {}
    named = {} if called == method else {"as_": called}
    whole = method in ("odin", "reconstruction", "resynthesis")  # no embeddings are drawn for it
    data = {} if whole else {"data": fs.FitData(keep_embeddings=KEPT)}
    if called in (*TAUGHT, *JOINED):
        data = {"data": fs.FitData(negatives=NEGATIVES if called in TAUGHT else JOINS)}
    found = fs.fit(study, method, model=name, seed=seed, **layers, **searched, **named, **data, **options)
    tables = dict(found.searches)
    if called == "flow-searched":
        layers, how = list(found.methods[0].layers), fs.MethodOptions(steps=STEPS)
        tables |= fs.fit(
            study,
            method,
            model=name,
            seed=seed,
            layer=layers,
            **searched,
            **named,
            **data,
            method_options=how,
        ).searches
    return {what: [vars(one) for one in tried] for what, tried in tables.items()}


def copy_methods(source: Path, target: Path, name: str) -> None:
    """Bring the methods of a network into another study; they know the network by its digest, not by its
    study.
    """
    there = target / "methods" / name
    there.mkdir(parents=True, exist_ok=True)
    for path in (source / "methods" / name).glob("*.safetensors"):
        (there / path.name).write_bytes(path.read_bytes())


def run(folder: Path, backbone: str, seeds: Sequence[int], threads: int | None) -> None:
    """Do all jobs that are missing."""
    studies = studies_of(folder)
    for seed in seeds:
        for kind in ("linear", *TRAINED, "mc-dropout"):
            job(folder, studies, backbone, kind, seed, threads)


def table(folder: Path) -> None:
    """Print the rows of what is there, and the searches: mean and standard deviation over seeds."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "cells").glob("*.json"))]
    cards = {id(cell): card_of(folder, cell) for cell in cells}
    rows = [("linear", scorer) for scorer in (*PLAIN, *FITTED, *SEARCHED, *TAUGHT, *JOINED)]
    rows += [(kind, scorer) for kind, scorers in TRAINED.items() for scorer in scorers]
    rows += [("mc-dropout", scorer) for scorer in MEMBERS]
    titles = {"fishyscapes-v2": "blended v2", "fishyscapes-v3": "blended v3", "traffic": "held out"}
    pairs = " | ".join(f"{title} AP | FPR95" for title in titles.values())
    print(f"| network | score | flags | seeds | mIoU | {pairs} | wrong pixels AP | minutes |\n|{'---|' * 13}")
    for kind, scorer in rows:
        mine = [cell for cell in cells if cell["kind"] == kind]
        found = [cell["found"] for cell in mine]
        numbers = [value_of(found, "traffic", f"miou {scorer}")]
        numbers += [
            value_of(found, condition, f"{metric} {scorer}")
            for condition in titles
            for metric in ("average_precision", "fpr95")
        ]
        wrong = [find_cell(cards[id(cell)], name_of(cell), "main", "error_ap", scorer) for cell in mine]
        told = all(one.tells_errors for one in SCORERS if one.name == scorer)
        numbers.append(spread([held["value"] if held else None for held in wrong]) if told else "–")
        flags = ", ".join(flags_of_score(cards[id(mine[0])], name_of(mine[0]), scorer)) if mine else ""
        taken = [cell["minutes"].get(scorer if kind == "linear" else "training") for cell in mine]
        numbers.append("" if None in taken or not taken else f"{np.median(taken):.1f}")
        print(f"| {kind} | `{scorer}` | {flags} | {len(mine)} | {' | '.join(numbers)} |")
    searches(cells)


def searches(cells: Sequence[Mapping]) -> None:
    """Print what each option was searched by: the average precision on validation images with objects blended
    in, a column a method.
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for cell in cells:
        for search, tried in cell["searches"].items():
            method, _, option = search.partition(" ")
            for one in tried:
                row = found.setdefault(option, {}).setdefault(one["candidate"].removeprefix(f"{option} "), {})
                row.setdefault(method.removesuffix("-searched"), []).append(one["average_precision"])
    for option, rows in found.items():
        methods = list(dict.fromkeys(method for row in rows.values() for method in row))
        print(
            f"\n| {option} | {' | '.join(f'`{method}`' for method in methods)}"
            f" |\n|{'---|' * (len(methods) + 1)}"
        )
        for candidate in sorted(rows, key=lambda word: (float(word) if word[:1].isdigit() else 0, word)):
            shown = f"`{candidate}`" if option == "layer" else candidate
            row = rows[candidate]
            print(
                f"| {shown} |"
                f" {' | '.join(spread(row[method]) if method in row else '–' for method in methods)} |"
            )


def name_of(cell: Mapping) -> str:
    """Return the name of a job's network."""
    return f"{cell['backbone'].replace('/', '-')}-{cell['kind']}-{cell['seed']}"


def card_of(folder: Path, cell: Mapping) -> Card:
    """Return the card of a job's network on images with blended objects."""
    return json.loads((folder / "cards" / f"kept-{name_of(cell)}" / "reliability.json").read_text())


def value_of(found: Sequence[Mapping[str, Mapping[str, float]]], condition: str, key: str) -> str:
    """Return a number's mean and spread over seeds."""
    return spread([one.get(condition, {}).get(key) for one in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table", "cost"))
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--backbone", default="segformer-b0")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.what == "cost":
        cost(given.backbone, given.device, given.turns)
    elif given.what == "run":
        run(
            Path(given.folder),
            given.backbone,
            [int(word) for word in next(csv.reader([given.seeds]))],
            given.threads,
        )
    else:
        table(Path(given.folder))


if __name__ == "__main__":
    main()
