"""Shards a second of `compare` in studies of many small shards: what entering them costs beside the work
itself.

    python benchmarks/many_shards.py 1000 20000
    python benchmarks/many_shards.py --missing 1000 20000     # all but the last thousand are there already
    python benchmarks/many_shards.py --agreement 1000 4000    # then only the mean agreement of the models, which reads every shard again

Each study has two images of 16 x 16 a shard and the maps of three models, put into the store by hand. Prints
a row a study: shards that were counted, seconds on the clock, shards a second, and milliseconds of processor
a shard (all processes).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import made_study
from cost import Cost, measure_cost

import faultscape as fs
from faultscape.reading.study import Study
from faultscape.study.parts import read_manifest, write_manifest
from faultscape.study.tables import pairs
from faultscape.verbs.compare.agreement import agreement

IMAGES, SIDE, MODELS = 2, 16, 3
HEAD = (
    "| shards in the study | counted | s | shards a second | ms of processor a shard |\n|---|---|---|---|---|"
)


def make(study: Path, shards: int) -> None:
    """Write a study of so many shards."""
    made_study.write_predicted(study, shards * IMAGES, MODELS, SIDE, shard=IMAGES)


def lose(study: Path, number: int) -> None:
    """Take the pairs of the last shards out of the manifests."""
    for name in made_study.names(MODELS):
        folder = pairs.folder(study, name)
        parts = read_manifest(folder)
        write_manifest(folder, {part: parts[part] for part in sorted(parts)[: len(parts) - number]})


def count(study: Path, missing: int = 0) -> Cost:
    """Count all pairs of a study anew, or those of its last shards, and return what that cost; a share of
    all, so that the mean agreement is not asked for.
    """
    if missing:
        fs.compare(str(study), shard="1/1")
        lose(study, missing)
    else:
        shutil.rmtree(study / "pairs", ignore_errors=True)
    return measure_cost("compare", str(study), shard="1/1")


def agree(study: Path) -> float:
    """Return the seconds of processor that the mean agreement of the models takes, with all pairs counted."""
    fs.compare(str(study), shard="1/1", engine="local")
    start = time.process_time()
    agreement(Study(study), keep=False)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument(
        "--missing", type=int, default=0, help="how many shards are counted by the measured run; default: all"
    )
    parser.add_argument("--keep", help="a folder for the studies, which are made once")
    parser.add_argument(
        "--agreement", action="store_true", help="measure the mean agreement, with all pairs counted"
    )
    given = parser.parse_args()
    base = Path(given.keep or tempfile.mkdtemp())
    print(HEAD, flush=True)
    for shards in given.sizes:
        study = base / str(shards)
        if not study.exists():
            make(study, shards)
        if given.agreement:
            what, number, processor = "agreement", shards, agree(study)
            seconds = processor
        else:
            cost, number = count(study, given.missing), given.missing or shards
            what, seconds, processor = f"{number:,}", cost.seconds, cost.processor
        cells = f"{seconds:.1f} | {number / seconds:.0f} | {1000 * processor / number:.1f}"
        print(f"| {shards:,} | {what} | {cells} |", flush=True)
        if not given.keep:
            shutil.rmtree(study)


if __name__ == "__main__":
    main()
