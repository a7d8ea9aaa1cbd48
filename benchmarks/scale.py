"""How the line grows with the corpus: each stage on studies of a thousand to a million images, through the
real store and kernels.

    python benchmarks/scale.py 1000 10000 100000                  # all stages, from files: 20 minutes on two cores
    python benchmarks/scale.py --made 1000000                     # maps put into the store by hand: compare, select, status
    python benchmarks/scale.py --made --stages select 1000000     # counts of pairs, too
    python benchmarks/scale.py --made --stages predict 1000000    # of maps in folders, or with --flat in one
    python benchmarks/scale.py --side 512 1000 10000
    python benchmarks/scale.py --stages compare,select 10000      # in parts: what these need is made without being measured
    python benchmarks/scale.py --kill 1000000                     # compare, killed in the middle and run again
    python benchmarks/scale.py --near 10000 100000 300000         # the search for near-duplicates alone, among pictures that are none

Prints a row a stage: seconds on the clock, microseconds of processor an image (all processes), the same of a
model's map for predict and compare, peak MiB of driver and of the largest worker, bytes an image that the
stage added to the study. Says first how much disk it takes, and removes everything in the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import made_study
import numpy as np
from cost import Cost, measure_cost

import faultscape as fs
from faultscape.corpus.shards import grouped
from faultscape.maps import runs
from faultscape.study.tables.corpus import Image

STAGES = ("collect", "predict", "again", "network", "compare", "select", "status")
NETWORK = Path(fs.__file__).parent / "prediction" / "networks" / "mobile.onnx"
HEAD = (
    "| images | stage | s | us an image | driver MiB | worker MiB | bytes an image"
    " |\n|---|---|---|---|---|---|---|"
)


def taken(folder: Path, pattern: str = "**/*") -> int:
    """Return the bytes of a folder's files."""
    return sum(
        path.stat().st_size for path in folder.glob(pattern) if path.is_file() and not path.is_symlink()
    )


def row(images: int, stage: str, cost: Cost, added: int) -> None:
    each = f"{cost.processor / images * 1e6:.0f}"
    print(
        f"| {images:,} | {stage} | {cost.seconds:.1f} | {each} | {cost.driver} | {cost.worker or '-'} |"
        f" {added / images:.1f} |",
        flush=True,
    )


def simulate(
    base: Path,
    images: int,
    models: int,
    side: int,
    stages: Sequence[str],
    *,
    files: bool,
    flat: bool,
    workers: int | None,
) -> None:
    """Do the line over one study, and print what each stage costs."""
    place = base / str(images)
    study, names, engine = place / "study", made_study.names(models), {"workers": workers}
    place.mkdir()
    calls = {}
    if files or {"predict", "again"} & {*stages}:
        made_study.write_files(place, images, models, side, photos=files, flat=flat)
        maps = {name: str(place / "maps" / name) for name in names}
        calls["predict"] = calls["again"] = lambda: measure_cost("predict", str(study), maps, **engine)
    elif "compare" in stages:
        made_study.write_predicted(study, images, models, side)
    else:
        made_study.write_compared(study, images, models, side)
    if files:
        photos = str(place / "photos")
        calls = {
            "collect": lambda: measure_cost("collect", str(study), photos, classes=made_study.CLASSES)
        } | calls
    elif calls:
        made_study.write_collected(study, images, side)
    calls |= {
        "compare": lambda: measure_cost("compare", str(study), **engine),
        "select": lambda: measure_cost("select", str(study), **engine),
        "status": lambda: measure_cost("status", str(study)),
    }
    if files:
        labels = place / "labels.json"
        labels.write_text(json.dumps({k: f"class-{k}" for k in range(made_study.CLASSES)}))
        calls["network"] = lambda: measure_cost(
            "predict", str(study), {"network": str(NETWORK)}, labels=str(labels), **engine
        )
    last = max(list(calls).index(stage) for stage in stages if stage in calls)
    for stage in list(calls)[: last + 1]:
        before = taken(study) if study.exists() else 0
        cost = calls[stage]()
        if stage in stages:
            row(images, stage, cost, taken(study) - before)
    manifest = max((path.stat().st_size for path in study.glob("p*/*/manifest.json")), default=0)
    corpus, times = ((study / f"{name}.parquet") for name in ("corpus", "timings"))
    print(
        f"{images:,} images: corpus.parquet {corpus.stat().st_size / images:.1f} bytes an image; the largest"
        f" manifest {manifest:,} bytes; timings.parquet {times.stat().st_size if times.exists() else 0:,}"
        f" bytes; study.toml and all else, {taken(study, '*'):,} bytes",
        flush=True,
    )
    shutil.rmtree(place)


def warm_up(base: Path, side: int) -> None:
    """Fill the compilers' caches, which no stage is to pay for."""
    files, study = base / "warm", str(base / "warm-study")
    made_study.write_files(files, 4, 2, side)
    fs.collect(study, str(files / "photos"), classes=made_study.CLASSES)
    fs.predict(study, {name: str(files / "maps" / name) for name in made_study.names(2)}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")


def near(images: int) -> None:
    """Print what the search for near-duplicates costs among pictures of which none is one."""
    hashes = np.random.default_rng(0).integers(-(2**63), 2**63, images)
    rows = [
        Image(f"{k:09d}", "", "main", "pool", "clean", "", 1, 1, "", int(h), "", 0)
        for k, h in enumerate(hashes)
    ]
    start = time.process_time()
    grouped(rows)
    print(
        f"{images:,} images: {(time.process_time() - start) / images * 1e6:.0f} us an image to look for"
        " near-duplicates",
        flush=True,
    )


def killed(base: Path, images: int, models: int, side: int, workers: int | None) -> None:
    """Print what `compare` costs at once, and when it is killed in the middle and run again, and whether
    both write the same.
    """
    study = base / f"killed-{images}"
    made_study.write_predicted(study, images, models, side)
    whole = measure_cost("compare", str(study), workers=workers)
    row(images, "compare", whole, taken(study / "pairs"))
    before = digest(study / "pairs")
    shutil.rmtree(study / "pairs")
    words = "import sys, faultscape as fs; fs.compare(sys.argv[1], workers=int(sys.argv[2]) or None)"
    begun = [sys.executable, "-c", words, str(study), str(workers or 0)]
    with subprocess.Popen(begun, start_new_session=True) as process:
        time.sleep(whole.seconds / 2)
        os.killpg(process.pid, signal.SIGKILL)
    parts = sum(1 for _ in (study / "pairs").glob("*/*.parquet"))
    rest = measure_cost("compare", str(study), workers=workers)
    row(images, "the rest", rest, 0)
    same = "the same files" if digest(study / "pairs") == before else "OTHER FILES"
    print(f"killed after {whole.seconds / 2:.0f} s, with {parts:,} parts on the disk: {same}", flush=True)


def digest(folder: Path) -> str:
    """Return a digest of the names and bytes of all files in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def room(sizes: Sequence[int], models: int, side: int, *, files: bool) -> str:
    """Return how much disk the largest study will take, and what there is."""
    code = float(np.mean([len(runs.encode(m)) for m in made_study.stacks(models, side)[0]]))
    each = models * (code + 40) + 200 * models * (models - 1) + 150 + (120 * (models + 1) if files else 0)
    need, free = max(sizes) * each, shutil.disk_usage(tempfile.gettempdir()).free
    words = (
        f"the largest study takes at most {need / 1e9:.2f} GB of {free / 1e9:.1f} GB that are free"
        f" ({code:.0f} bytes a map)"
    )
    if need > 0.8 * free:
        sys.exit(f"{words}: too much; give fewer images or --models, or set TMPDIR")
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--side", type=int, default=64, help="pixels of a side of every picture")
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument(
        "--made",
        action="store_true",
        help="no collect; and unless predict is asked for, put maps into the store by hand",
    )
    parser.add_argument("--flat", action="store_true", help="a model's maps lie in one folder")
    parser.add_argument("--near", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    if given.near:
        for images in given.sizes:
            near(images)
        return
    if unknown := set(given.stages.split(",")) - set(STAGES):
        sys.exit(f"stage {unknown.pop()!r} is not known; use {', '.join(STAGES)}")
    print(room(given.sizes, given.models, given.side, files=not (given.made or given.kill)), flush=True)
    about = f"{given.models} models, {given.side} x {given.side}, shards of {made_study.SHARD:,}"
    with tempfile.TemporaryDirectory() as base:
        warm_up(Path(base), given.side)
        print(f"\n{about}\n\n{HEAD}", flush=True)
        for images in given.sizes:
            if given.kill:
                killed(Path(base), images, given.models, given.side, given.workers)
                continue
            simulate(
                Path(base),
                images,
                given.models,
                given.side,
                given.stages.split(","),
                files=not given.made,
                flat=given.flat,
                workers=given.workers,
            )


if __name__ == "__main__":
    main()
