"""Where workers pay: `compare` and `select` of small studies in this process, in workers from the start, and
as the engine decides.

    python benchmarks/small_studies.py                       # 3 models, shards of 128 images of 256 x 256
    python benchmarks/small_studies.py --models 10 --pays .5 1 1.5 3

Each cell is the median of ``--times`` runs in turns, each a process of its own: seconds on the clock.
``here`` never starts a worker, ``workers`` starts them at once, the others start them where more than so many
seconds of work are left (`faultscape.engine.processes.PAYS`).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import made_study

from faultscape.engine.processes import PAYS

_CALL = """
import sys
import faultscape as fs
from faultscape.engine import processes
verb, study, way = sys.argv[1:]
run = processes.run_in_processes
if way == "workers":
    processes.run_in_processes = lambda *given, begin_here: run(*given)
elif way != "here":
    processes.PAYS = float(way)
getattr(fs, verb)(study, engine="local" if way == "here" else "processes")
"""


def seconds(verb: str, study: Path, way: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", _CALL, verb, str(study), way], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def lose(study: Path, verb: str) -> None:
    """Take away what a verb made."""
    if verb == "compare":
        shutil.rmtree(study / "pairs", ignore_errors=True)
    for file in study.glob("selection*"):
        file.unlink()


def medians(study: Path, verb: str, ways: Sequence[str], times: int) -> dict[str, float]:
    """Return {way: median seconds} of a verb over a study, in turns."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(times):
        for way in ways:
            lose(study, verb)
            found[way].append(seconds(verb, study, way))
    return {way: statistics.median(of) for way, of in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096, 16384])
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--shard", type=int, default=128)
    parser.add_argument("--pays", type=float, nargs="*", default=[PAYS])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    ways = ["here", "workers", *map(str, given.pays)]
    print(
        "| verb | images | shards | " + " | ".join(ways) + " |\n" + "|---" * (3 + len(ways)) + "|", flush=True
    )
    with tempfile.TemporaryDirectory() as base:
        for images in given.sizes:
            study = Path(base, str(images))
            made_study.write_predicted(study, images, given.models, given.side, given.shard)
            for verb in ("compare", "select"):
                cells = " | ".join(f"{of:.2f}" for of in medians(study, verb, ways, given.times).values())
                print(f"| {verb} | {images:,} | {-(-images // given.shard):,} | {cells} |", flush=True)
            shutil.rmtree(study)


if __name__ == "__main__":
    main()
