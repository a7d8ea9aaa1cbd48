"""Methods that make a trained network doubt, on CamVid as S4 judges them on Fishyscapes: a table, and the
searches.

    python benchmarks/doubt.py run FOLDER [--seeds 0,1,2] [--backbone segformer-b0] [--kinds linear,uno] [--scores residual,neco] [--steps 1200]
    python benchmarks/doubt.py table FOLDER          # the rows, of what is there

Conventions: jobs are resumable, and go on where they were stopped; --kinds and --scores do some of them, and
--steps trains the linear network for more steps than the preset's 600 (a folder of its own). Splits,
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
of each other family, and with the held-out classes.
Needs FAULTSCAPE_DATA and the extra ``doubt``.
Source: S4, Table 1 and Tables 4 to 9.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from doubt_objects import FAMILIES, objects_of, road_signs, write_objects
from heads import collect, kept_classes, make_tree, make_withheld, spread

import faultscape as fs
from faultscape.metrics.scorers import SCORERS
from faultscape.reporting.reliability.document import Card, find_cell, flags_of_score
from faultscape.stressors.objects.cutout import Cutout
from faultscape.uncertainty.methods.catalogue import METHODS

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
    "flow": {"method_options": fs.options.MethodOptions(steps=STEPS)},
    "flow-minimum": {
        "method_options": fs.options.MethodOptions(steps=STEPS, join="minimum", per_feature=True)
    },
    "reconstruction": {},
    "resynthesis": {},
    "perceptual": {},
}
SEARCHED = {
    "odin-searched": {},
    "knn-searched": {"select_layer": True},
    "knn-class-searched": {"select_layer": True},
    # and then trained on
    "flow-searched": {
        "select_layer": True,
        "method_options": fs.options.MethodOptions(steps=FEW_STEPS, epsilon=0.0),
    },
    "flow-logistic": {
        "method_options": fs.options.MethodOptions(
            steps=STEPS, join="logistic", epsilon=0.0, per_feature=True
        )
    },
}
STAGES = [f"segformer.stages.{k}" for k in range(4)]  # joined by flow-minimum and flow-logistic
# learnt with unknown objects, beside the network
TAUGHT = {"residual": {}, "reconstruction-taught": {}}
# join the others, and learn on validation images, from which nothing else learns
JOINED = {
    "fusion": {},
    "fusion-spatial": {"method_options": fs.options.MethodOptions(spatial=True)},
    "fusion-mean": {"method_options": fs.options.MethodOptions(parts="residual,energy", equal_weights=True)},
}
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
V2, V3 = "fishyscapes-v2", "fishyscapes-v3"
OTHERS = FAMILIES[1:]  # of which there is a test set each, beside the drawn objects of V2
TESTS = (V2, V3, *(f"{V2}-{family}" for family in OTHERS))
VALIDATION = f"val-{V2}"
JOINS = f"{VALIDATION}-every"
NEGATIVES = f"train-{V2}-every"
A_FRAME, FRAMES = (
    3,
    1220,
)  # objects of an image that teaches, and how many images: each training image four times
METRICS = ("average_precision", "fpr95", "auroc", "found_5", "miou")


def studies_of(folder: Path) -> tuple[str, str, str]:
    """Return the study in which networks are trained and methods fitted, that in which the held-out classes
    are unknown objects, and that of blended objects.
    """
    tree, kept = make_tree(folder), folder / "kept"
    learn, whole = make_withheld(folder, tree, "half")
    if not (kept / "sets.json").exists():
        collect(kept, tree, "half", None, "test", kept_classes(folder))
    objects = {use: {one: objects_of(one, use) for one in FAMILIES} for use in ("teach", "choose", "test")}
    every = [cutout for family in FAMILIES for cutout in objects["teach"][family]]
    drawn = objects["test"]["drawn"]
    blend(folder, kept, "main", V2, drawn)
    blend(folder, kept, "main", V3, drawn + road_signs(tree))
    blend(folder, learn, "val", V2, objects["choose"]["drawn"])
    for family in OTHERS:
        blend(folder, kept, "main", V2, objects["test"][family], family)
    blend(folder, learn, "val", V2, every, "every", A_FRAME)
    blend(folder, learn, "train", V2, every, "every", A_FRAME, FRAMES)
    return str(learn), str(whole), str(kept)


def blend(
    folder: Path,
    study: Path,
    base: str,
    preset: str,
    objects: Sequence[Cutout],
    edition: str | None = None,
    a_frame: int = 1,
    frames: int | None = None,
) -> None:
    """Blend objects into the images of a set of a study."""
    place = write_objects(folder / "objects" / f"{study.name}-{base}-{preset}-{edition or 'first'}", objects)
    how = fs.options.Blending(objects_per_frame=a_frame)
    fs.stress.blend(
        str(study), set_=base, preset=preset, objects=place, edition=edition, frames=frames, blending=how
    )


def job(
    folder: Path,
    studies: tuple[str, str, str],
    backbone: str,
    kind: str,
    seed: int,
    threads: int | None,
    wanted: Sequence[str],
    steps: int | None,
) -> None:
    """Train one network, fit what is fitted to it, and judge it; what was found goes to FOLDER/cells. Of the
    scores only the ``wanted`` ones are fitted and judged, all if none is named.
    """
    name = f"{backbone.replace('/', '-')}-{kind}-{seed}"
    cell = folder / "cells" / f"{name}.json"
    methods = {**FITTED, **SEARCHED, **TAUGHT, **JOINED} if kind == "linear" else {}
    scorers = [*PLAIN, *methods] if kind == "linear" else list(TRAINED.get(kind, MEMBERS))
    asked = [scorer for scorer in scorers if not wanted or scorer in wanted]
    held = json.loads(cell.read_text()) if cell.exists() else {"scorers": []}
    if set(asked) <= set(held["scorers"]):
        return
    scorers = [scorer for scorer in scorers if scorer in {*asked, *held["scorers"]}]
    start, learn = time.perf_counter(), studies[0]
    quick = torch.backends.cpu.get_cpu_capability() not in ("DEFAULT", "AVX2")
    machine = fs.options.TrainingMachine(precision="bf16" if quick else "no", threads=threads)
    told = (
        {"loss": LOSSES.get(kind, kind), **negatives_of(kind)}
        if kind in TRAINED
        else {"dropout_at": ["decode_head.dropout"]}
        if kind == "mc-dropout"
        else {}
    )
    init = None if kind == "linear" else f"{backbone.replace('/', '-')}-linear-{seed}"
    plan = fs.options.TrainingPlan(steps=steps) if kind == "linear" else fs.options.TrainingPlan()
    made = fs.train(
        learn,
        name,
        backbone=backbone,
        preset="camvid-small",
        init=init,
        seed=seed,
        plan=plan,
        machine=machine,
        **told,
    )
    minutes = held.get("minutes", {})
    if made.new:
        minutes["training"] = made.seconds / 60
    searches = {}
    for called in (called for called in methods if called in scorers):
        fit = folder / "fits" / name / f"{called}.json"  # of a job that was killed, what was fitted before
        if not fit.exists():
            begun = time.perf_counter()
            tried = fit_one(learn, name, called, seed, **methods[called])
            fit.parent.mkdir(parents=True, exist_ok=True)
            fit.write_text(json.dumps({"searches": tried, "minutes": (time.perf_counter() - begun) / 60}))
        fitted = json.loads(fit.read_text())
        searches |= {f"{called} {what}": rows for what, rows in fitted["searches"].items()}
        minutes[called] = fitted["minutes"]
    numbers: dict[str, dict[str, float]] = {}
    for study in studies[1:]:
        card = judged(folder, studies, Path(study), name, made.folder, scorers)
        for condition in (*TESTS, "traffic"):
            for scorer in scorers:
                for metric in METRICS:
                    found = find_cell(card, name, condition, metric, scorer) or find_cell(
                        card, name, condition, metric, ""
                    )
                    if found is not None:
                        numbers.setdefault(condition, {})[f"{metric} {scorer}"] = found["value"]
    about = {
        "backbone": backbone,
        "kind": kind,
        "seed": seed,
        "scorers": scorers,
        "found": numbers,
        "searches": searches,
        "minutes": minutes,
        "threads": threads,
    }
    cell.parent.mkdir(parents=True, exist_ok=True)
    cell.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{name}: {(time.perf_counter() - start) / 60:.0f} minutes", flush=True)


def judged(
    folder: Path, studies: tuple[str, str, str], study: Path, name: str, network: str, scorers: Sequence[str]
) -> Card:
    """Return the card of a network and its scores on a study."""
    copy_methods(Path(studies[0]), study, name)
    fs.predict(str(study), {name: network}, scorer=list(scorers), measure=True)
    output = str(folder / "cards" / f"{study.name}-{name}")
    return fs.reliability(str(study), models=[name], worst=3, resamples=0, output=output).document


def negatives_of(kind: str) -> dict[str, fs.options.TrainingData]:
    """Return what teaches a network what is unknown, other than void: pieces of ImageNet, or objects
    blended into its training images.
    """
    if kind == "outlier-head-pasted":
        other = Path(os.environ["FAULTSCAPE_DATA"], "imagenet-images")
        return {"data": fs.options.TrainingData(negatives=str(other))}
    return {"data": fs.options.TrainingData(negatives=NEGATIVES)} if kind == "outlier-head-blended" else {}


def fit_one(study: str, name: str, called: str, seed: int, **options) -> dict[str, list[dict]]:
    """Fit one method under a name, and return the tables of its searches."""
    method = max((m.name for m in METHODS if called == m.name or called.startswith(f"{m.name}-")), key=len)
    layers = {"layer": STAGES} if called in ("flow-minimum", "flow-logistic") else {}
    searched = {"validation": VALIDATION} if called in SEARCHED else {}
    named = {} if called == method else {"as_": called}
    whole = method in (
        "odin",
        "reconstruction",
        "resynthesis",
        "perceptual",
    )  # no embeddings are drawn for it
    data = {} if whole else {"data": fs.options.FitData(keep_embeddings=KEPT)}
    if called in (*TAUGHT, *JOINED):
        data = {"data": fs.options.FitData(negatives=NEGATIVES if called in TAUGHT else JOINS)}
    found = fs.fit(study, method, model=name, seed=seed, **layers, **searched, **named, **data, **options)
    tables = dict(found.searches)
    if called == "flow-searched":
        layers, how = list(found.methods[0].layers), fs.options.MethodOptions(steps=STEPS)
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


def run(
    folder: Path,
    backbone: str,
    seeds: Sequence[int],
    threads: int | None,
    kinds: Sequence[str],
    wanted: Sequence[str],
    steps: int | None,
) -> None:
    """Do all jobs that are missing."""
    studies = studies_of(folder)
    for seed in seeds:
        for kind in ("linear", *TRAINED, "mc-dropout"):
            if not kinds or kind in kinds:
                job(folder, studies, backbone, kind, seed, threads, wanted, steps)


def table(folder: Path) -> None:
    """Print the rows of what is there, and the searches: mean and standard deviation over seeds."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "cells").glob("*.json"))]
    cards = {id(cell): card_of(folder, cell) for cell in cells}
    rows = [("linear", scorer) for scorer in (*PLAIN, *FITTED, *SEARCHED, *TAUGHT, *JOINED)]
    rows += [(kind, scorer) for kind, scorers in TRAINED.items() for scorer in scorers]
    rows += [("mc-dropout", scorer) for scorer in MEMBERS]
    titles = {V2: "blended v2", V3: "blended v3", "traffic": "held out"}
    columns = " | ".join(f"{title} AP | FPR95 | objects" for title in titles.values())
    print(
        f"| network | score | flags | seeds | mIoU | {columns} | wrong pixels AP | minutes |\n|{'---|' * 16}"
    )
    for kind, scorer in rows:
        mine = [cell for cell in cells if cell["kind"] == kind and scorer in cell["scorers"]]
        if not mine:
            continue
        found = [cell["found"] for cell in mine]
        numbers = [value_of(found, "traffic", f"miou {scorer}")]
        numbers += [
            value_of(found, condition, f"{metric} {scorer}")
            for condition in titles
            for metric in ("average_precision", "fpr95", "found_5")
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
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backbone", default="segformer-b0")
    parser.add_argument("--seeds", type=words, default="0,1,2")
    parser.add_argument("--kinds", type=words, default="")
    parser.add_argument("--scores", type=words, default="")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--steps", type=int)
    given = parser.parse_args()
    if given.what == "run":
        seeds = [int(word) for word in given.seeds]
        run(given.folder, given.backbone, seeds, given.threads, given.kinds, given.scores, given.steps)
    else:
        table(given.folder)


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return [word for word in text.split(",") if word]


if __name__ == "__main__":
    main()
