"""Methods that make a trained network doubt, on CamVid as S4 judges them on Fishyscapes: the tables of docs/benchmarks-doubt.md.

    python benchmarks/doubt.py run FOLDER [--seeds 0,1,2] [--backbone segformer-b0]    # resumable jobs; goes on where it was stopped
    python benchmarks/doubt.py table FOLDER                                            # the rows, of what is there
    python benchmarks/doubt.py cost                                                    # what methods add to a forward pass of DeepLabv3+ on ResNet-101 at 1024 x 2048

Conventions: splits, held-out classes and training are those of benchmarks/heads.py: nothing unknown is ever learnt. A job is a network of a seed: the linear one, to which all methods are fitted, and four that start from it and are trained for a fifth of its steps with pixels of
no class (void from the start). Methods have their defaults; layers and options are searched on validation images with objects blended in, of other drawn objects than the test images have, and reported as rows of their own. Judged are all 233 test images: with one drawn object each by
the recipes fishyscapes-v2 and fishyscapes-v3, and with the held-out classes. Needs FAULTSCAPE_DATA and the extra ``doubt``.
Source: S4, Table 1 and Tables 4 to 9.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from heads import make_studies, spread

import faultscape as fs
from faultscape.reporting.reliability.document import find_cell

PLAIN = ("random", "msp", "entropy", "max-logit", "energy")
FITTED = ("odin", "standardised-max-logit", "mahalanobis", "knn", "knn-class", "flow")
TRAINED = {"void-class": ("void",), "entropy": ("entropy",), "outlier-head": ("outlier",), "dirichlet": ("differential-entropy",)}
MEMBERS = ("predictive-entropy", "expected-entropy", "mutual-information")
OPTIONS = {"odin": fs.MethodOptions(odin_temperature=3.0, epsilon=0.002)}
BLENDS = ("fishyscapes-v2", "fishyscapes-v3")
EDITION = "searched"  # the objects that layers and options are searched with


def studies_of(folder: Path) -> tuple[str, str, str]:
    """Return the studies of benchmarks/heads.py, with the sets that are made for this table."""
    learn, whole, kept = make_studies(folder)
    if not (Path(kept) / ".blended-v3").exists():
        fs.stress.blend(kept, set_="main", preset=BLENDS[1])
        (Path(kept) / ".blended-v3").touch()
    if not (Path(learn) / ".blended").exists():
        fs.stress.blend(learn, set_="val", preset=BLENDS[0], edition=EDITION, seed=1)
        (Path(learn) / ".blended").touch()
    return learn, whole, kept


def job(folder: Path, studies: tuple[str, str, str], backbone: str, kind: str, seed: int, threads: int | None) -> None:
    """Train one network, fit what is fitted to it, and judge it; what was found goes to FOLDER/cells."""
    name = f"{backbone.replace('/', '-')}-{kind}-{seed}"
    cell = folder / "cells" / f"{name}.json"
    if cell.exists():
        return
    start = time.perf_counter()
    linear = f"{backbone.replace('/', '-')}-linear-{seed}"
    machine = fs.TrainingMachine(precision="bf16", threads=threads)
    told = {"loss": kind} if kind in TRAINED else {}
    init = None if kind == "linear" else linear
    if kind == "mc-dropout":
        told = {"dropout_at": ["decode_head.dropout"]}
    made = fs.train(studies[0], name, backbone=backbone, preset="camvid-small", init=init, seed=seed, machine=machine, **told)
    scorers, searches = list(TRAINED.get(kind, MEMBERS if kind == "mc-dropout" else PLAIN)), {}
    seconds: dict[str, float] = {}
    if kind == "linear":
        for method in FITTED:
            begun = time.perf_counter()
            fs.fit(studies[0], method, model=name, seed=seed, method_options=OPTIONS.get(method, fs.MethodOptions()))
            seconds[method] = time.perf_counter() - begun
        for method in ("knn", "flow"):
            begun = time.perf_counter()
            found = fs.fit(
                studies[0],
                method,
                model=name,
                select_layer=True,
                validation=validation(studies[0]),
                seed=seed,
                as_=f"{method}-searched",
            )
            searches[method] = {what: [vars(one) for one in tried] for what, tried in found.searches.items()}
            seconds[f"{method}-searched"] = time.perf_counter() - begun
        scorers += [*FITTED, "knn-searched", "flow-searched"]
    numbers: dict[str, dict[str, float]] = {}
    for study in studies[1:]:
        if kind == "linear":
            copy_methods(Path(studies[0]), Path(study), name)
        fs.predict(study, {name: made.folder}, scorer=scorers, measure=True)
        card = fs.reliability(
            study, models=[name], worst=0, resamples=0, output=str(folder / "cards" / f"{Path(study).name}-{name}")
        ).document
        for condition in (*BLENDS, "traffic"):
            for scorer in scorers:
                for metric in ("average_precision", "fpr95", "auroc", "miou"):
                    held = find_cell(card, name, condition, metric, scorer) or find_cell(card, name, condition, metric, "")
                    if held is not None:
                        numbers.setdefault(condition, {})[f"{metric} {scorer}"] = held["value"]
    about = {
        "backbone": backbone,
        "kind": kind,
        "seed": seed,
        "found": numbers,
        "searches": searches,
        "fit_seconds": seconds,
        "seconds": round(time.perf_counter() - start),
    }
    cell.parent.mkdir(parents=True, exist_ok=True)
    cell.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{name}: {about['seconds']} s", flush=True)


def validation(study: str) -> str:
    """Return the name of the set that is searched with."""
    return next(path.name for path in sorted((Path(study) / "stress").iterdir()) if EDITION in path.name)


def copy_methods(source: Path, target: Path, name: str) -> None:
    """Bring the methods of a network into another study; they know the network by its digest, not by its study."""
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
    """Print the rows of what is there: mean and standard deviation over seeds."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "cells").glob("*.json"))]
    rows = [("linear", scorer) for scorer in (*PLAIN, *FITTED, "knn-searched", "flow-searched")]
    rows += [(kind, scorer) for kind, scorers in TRAINED.items() for scorer in scorers]
    rows += [("mc-dropout", scorer) for scorer in MEMBERS]
    titles = {"fishyscapes-v2": "blended v2", "fishyscapes-v3": "blended v3", "traffic": "held out"}
    print(
        f"| network | score | seeds | mIoU | {' | '.join(f'{title} AP | FPR95' for title in titles.values())} |\n|{'---|' * 10}"
    )
    for kind, scorer in rows:
        mine = [cell["found"] for cell in cells if cell["kind"] == kind]
        numbers = [value_of(mine, "traffic", f"miou {scorer}")]
        numbers += [
            value_of(mine, condition, f"{metric} {scorer}") for condition in titles for metric in ("average_precision", "fpr95")
        ]
        print(f"| {kind} | `{scorer}` | {len(mine)} | {' | '.join(numbers)} |")


def value_of(found: Sequence[Mapping[str, Mapping[str, float]]], condition: str, key: str) -> str:
    """Return a number's mean and spread over seeds."""
    return spread([one.get(condition, {}).get(key) for one in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder")
    parser.add_argument("--backbone", default="segformer-b0")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.what == "run":
        run(Path(given.folder), given.backbone, [int(word) for word in next(csv.reader([given.seeds]))], given.threads)
    else:
        table(Path(given.folder))


if __name__ == "__main__":
    main()
