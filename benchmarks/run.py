"""Measured ratios against named peers, all in one run on one core: ``make bench`` writes docs/benchmarks/speed.md.

Conventions: processor time of this thread, best of several; a ratio above 1 says how many times less time (or
bytes, where it says so) ours takes. Targets are printed beside, met or not. Real maps are used where
FAULTSCAPE_DATA (or ../shared/data) is.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import made_study
import many_shards
import memory
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import small_studies
import status
from clock import best, in_turns, machine
from made_maps import KINDS, maps
from page_text import speed_page
from PIL import Image

import faultscape as fs
from faultscape.comparison import counts as counting
from faultscape.comparison import sparse_counts
from faultscape.comparison.concordance import concordances
from faultscape.engine.processes import PAYS
from faultscape.maps import counts, runs
from faultscape.metrics.pixel import miou
from faultscape.nouns import Pairs
from faultscape.selection.best import Best
from faultscape.study.parts import Part
from faultscape.study.tables import label_maps

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("FAULTSCAPE_DATA") or ROOT.parent / "shared" / "data")
ROWS: list[tuple[str, str, str]] = []


def row(what: str, measured: str, target: str) -> None:
    ROWS.append((what, measured, target))
    print(f"{what:<88} {measured:<28} {target}", flush=True)


def bincounts(stack: np.ndarray, n: int) -> np.ndarray:
    flat = stack.reshape(len(stack), -1).astype(np.int64)
    j = len(stack)
    return np.stack(
        [np.bincount(flat[a] * n + flat[b], minlength=n * n) for a in range(j) for b in range(a + 1, j)]
    )


def real_maps(number: int = 40) -> list[np.ndarray]:
    zoo = sorted(p for p in (DATA / "camvid-zoo").glob("*") if (p / "labels").is_dir())
    names = (
        sorted(p.name for p in (zoo[0] / "labels").iterdir())[:: max(1, 233 // number)][:number]
        if zoo
        else []
    )
    return [np.stack([np.asarray(Image.open(z / "labels" / name)) for z in zoo]) for name in names]


def confusion(kind: str, stacks: list[np.ndarray], n: int, target: str) -> None:
    """All 45 pairs of 10 models."""
    for stack in stacks:
        assert (counts.confusions(stack, n).reshape(45, -1) == bincounts(stack, n)).all()
    ours, peer = in_turns(
        lambda: [counts.confusions(s, n) for s in stacks], lambda: [bincounts(s, n) for s in stacks]
    )
    row(
        f"45 pairs, {kind}: times np.bincount per pair",
        f"{peer / ours:.1f}x ({ours / len(stacks) * 1e3:.2f} ms)",
        target,
    )
    if kind == "web":
        from sklearn.metrics import confusion_matrix

        flat = stacks[0].reshape(10, -1)
        slow = best(lambda: confusion_matrix(flat[0], flat[1], labels=np.arange(n)), 2) * 45
        row(
            "45 pairs, web: times scikit-learn confusion_matrix (one pair x 45)",
            f"{slow / (ours / len(stacks)):.0f}x",
            ">= 400x",
        )


def many(n: int = 22) -> None:
    stack = maps("web", 40)
    both, _ = counts.intersections(stack, n)
    want = bincounts(stack, n).reshape(-1, n, n)
    assert (both == np.diagonal(want, axis1=1, axis2=2)).all()
    ours, peer = in_turns(lambda: counts.intersections(stack, n), lambda: bincounts(stack, n), 3)
    row(
        "780 pairs of 40 models, web, intersections and marginals: times np.bincount",
        f"{peer / ours:.1f}x ({ours * 1e3:.1f} ms)",
        ">= 50x",
    )
    full = best(lambda: counts.confusions(stack, n), 3)
    row(
        "780 pairs of 40 models, web, full counts: times np.bincount",
        f"{peer / full:.1f}x ({full * 1e3:.1f} ms)",
        "reported",
    )


def store(kind: str, stacks: list[np.ndarray], n: int) -> None:
    """The label store against PNG, and disk to all matrices."""
    every = [m for s in stacks for m in s]
    codes = [runs.encode(m) for m in every]
    png = {
        level: [cv2.imencode(".png", m, [cv2.IMWRITE_PNG_COMPRESSION, level])[1] for m in every]
        for level in (1, 9)
    }
    size = {level: sum(map(len, p)) for level, p in png.items()}
    bytes_ = sum(map(len, codes))
    assert all((runs.decode(c) == m).all() for c, m in zip(codes, every, strict=True))
    row(
        f"label store, {kind}: bytes of cv2's PNG level 1",
        f"{bytes_ / size[1]:.2f}x",
        "<= 0.16x" if kind == "web" else "<= 0.24x",
    )
    row(f"label store, {kind}: bytes of cv2's PNG level 9", f"{bytes_ / size[9]:.2f}x", "< 1x")
    drawn = every[0].copy()  # compare draws over the map before, as here; cv2 offers no such thing

    def read(decode: Callable[[Any], object], files: Sequence[Any]) -> None:
        for file in files:
            decode(file)

    decode, theirs = in_turns(
        lambda: read(lambda code: runs.decode(code, out=drawn), codes),
        lambda: read(lambda code: cv2.imdecode(code, cv2.IMREAD_GRAYSCALE), png[1]),
        9,
    )
    row(
        f"label store, {kind}: decoding, times cv2's PNG",
        f"{theirs / decode:.1f}x ({decode / len(every) * 1e6:.0f} us)",
        ">= 20x",
    )
    with tempfile.TemporaryDirectory() as place:
        root, groups = Path(place), range(len(stacks))
        for k, m in enumerate(every):
            Image.fromarray(m).save(root / f"{k}.png")
        parts = {}
        for j in range(10):
            maps_of = [label_maps.StoredMap(str(k), code) for k, code in enumerate(codes[j::10])]
            parts[root / str(j)] = Part(label_maps.put_maps(root / str(j), 0, maps_of), len(maps_of), "")
        room = [m.copy() for m in every[:10]]

        def fast() -> list[np.ndarray]:
            stored = [label_maps.read_maps(folder, 0, part) for folder, part in parts.items()]
            return [
                counts.confusions(
                    [runs.decode(s[str(k)], out=o) for s, o in zip(stored, room, strict=True)], n
                )
                for k in groups
            ]

        def slow() -> list[np.ndarray]:
            files = ([root / f"{10 * k + j}.png" for j in range(10)] for k in groups)
            return [bincounts(np.stack([np.asarray(Image.open(file)) for file in some]), n) for some in files]

        assert all((a.reshape(45, -1) == b).all() for a, b in zip(fast(), slow(), strict=True))
        ours, peer = in_turns(fast, slow)
    row(
        f"disk to 45 matrices, {kind}: times Pillow + np.bincount",
        f"{peer / ours:.1f}x ({ours / len(stacks) * 1e3:.2f} ms)",
        ">= 45x" if kind == "web" else ">= 40x",
    )


def pairs_on_disk(stacks: list[np.ndarray], n: int = 12) -> None:
    """Packed pairs of ten models through Parquet, read back with mIoU."""
    columns: list[list[bytes]] = [[] for _ in range(10)]
    every = counting.pair_places(10)
    for stack in stacks:
        cells, totals, present = counting.count_image(list(stack), n, every, 10)
        for j in range(10):
            mine = np.flatnonzero(every[:, 1] == j)
            columns[j].append(sparse_counts.pack(cells[mine], present[mine], totals[j]))
    sinks = []
    for column in columns:
        sink = io.BytesIO()
        pq.write_table(
            pa.table({"counts": pa.array(column, pa.binary())}),
            sink,
            compression="zstd",
            use_dictionary=False,
        )
        sinks.append(sink.getvalue())
    row(
        "pairs of 10 models on disk, real maps: bytes an image",
        f"{sum(map(len, sinks)) / len(stacks):.0f}",
        "<= 5000",
    )

    def read() -> None:
        for j, data in enumerate(sinks):
            column = pq.read_table(pa.BufferReader(data))["counts"].combine_chunks()
            both, rows, cols, _, _ = sparse_counts.unpack(
                column.chunk(0) if hasattr(column, "chunk") else column, j, n
            )
            miou(both[..., :-1], rows, cols)

    read()
    row(
        "pairs of 10 models, read back with mIoU, real maps: microseconds an image",
        f"{best(read) / len(stacks) * 1e6:.0f}",
        "<= 50",
    )


def selection(images: int = 100_000, j: int = 10, c: int = 20) -> None:
    """Choosing among made concordances, and a new concordance from counts."""
    rng = np.random.default_rng(0)
    agreement = rng.random((j, j, images))
    member = rng.random((j, images, c)) < 0.08
    at = np.arange(images)
    Best(j, c, 4).offer(agreement[:, :, :100], member[:, :100], at[:100], at[:100], at[:100])
    once = best(lambda: Best(j, c, 4).offer(agreement, member, at, at, at), 2)
    row(
        f"selection over {images:,} images, {j} models, {c} classes, concordances there: seconds",
        f"{once:.2f}",
        "<= 1",
    )

    def streamed(total: int) -> Best:
        cells = Best(j, c, 4)
        for first in range(0, total, 1024):
            s = slice(first, min(first + 1024, total))
            cells.offer(agreement[:, :, s], member[:, s], at[s], at[s], at[s])
        return cells

    whole = Best(j, c, 4)
    whole.offer(agreement, member, at, at, at)
    assert (streamed(images).images == whole.images).all()
    places = counting.pair_places(j)
    shape = (len(places), 1024)
    both = rng.integers(0, 500, (*shape, c))
    more = [
        np.concatenate([both + rng.integers(0, 500, both.shape), np.zeros((*shape, 1), int)], axis=2)
        for _ in range(2)
    ]
    classes = counting.resolve(c)
    names = tuple(f"m{k}" for k in range(j))
    block = Pairs(
        classes,
        names,
        (),
        tuple(map(str, range(1024))),
        places,
        both,
        *more,
        np.zeros((j, 1024, c + 1), int),
        np.ones(shape, bool),
    )
    new = best(lambda: concordances(block, "fwiou"), 2) * images / 1024
    row(
        f"a new concordance from stored counts, {images:,} images (one block of 1,024 measured): seconds",
        f"{new:.1f}",
        "<= 10",
    )


def memory_and_start() -> None:
    few, many_images = memory.peaks(1_000), memory.peaks(50_000)
    peaks = "; ".join(f"{verb} {few[verb]} and {many_images[verb]}" for verb in few)
    row("peak memory at 1,000 and 50,000 images: MiB", peaks, "bounded by the shard")
    for words, target in (["-c", "import faultscape"], "< 0.3"), (["-m", "faultscape", "--help"], "< 0.6"):
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        row(f"python {' '.join(words)}: processor seconds", f"{min(times):.2f}", target)


def small_study(images: int = 256) -> None:
    with tempfile.TemporaryDirectory() as place:
        study = Path(place, "study")
        made_study.write_predicted(study, images, 3, 256, shard=128)
        took = small_studies.medians(study, "compare", ["here", "workers", str(PAYS)], 5)
    here, workers, decided = (f"{seconds:.2f}" for seconds in took.values())
    row(
        f"`compare` of 3 models, {images} images in two shards: seconds in this process, in two workers, as"
        " the engine decides",
        f"{here}, {workers}, {decided}",
        "the least",
    )


def real_study() -> None:
    """`compare` of ten networks' maps of real images, from the store to pairs."""
    zoo = {path.parent.name: str(path) for path in sorted((DATA / "camvid-zoo").glob("*/labels"))}
    with tempfile.TemporaryDirectory() as place:
        study = Path(place, "study")
        fs.collect(study, str(DATA / "camvid" / "test"), classes=str(DATA / "camvid-zoo" / "classes.json"))
        fs.predict(study, zoo, engine="local")

        def compare() -> None:
            shutil.rmtree(study / "pairs", ignore_errors=True)
            fs.compare(study, engine="local")

        compare()
        images = len(fs.Study(study).images)
        row(
            f"`compare` of {len(zoo)} models, {images} real images of 480 x 360: milliseconds an image",
            f"{best(compare) / images * 1000:.2f}",
            "<= 0.9",
        )


def verbs(shards: int = 1000) -> None:
    """What verbs cost besides their kernels, in studies of very many shards, and what `status` costs."""
    with tempfile.TemporaryDirectory() as place:
        study = Path(place, "study")
        many_shards.make(study, shards)
        cost = many_shards.count(study)
        what = f"3 models, {shards:,} shards of two images"
        row(
            f"`compare` of {what}: milliseconds of processor a shard",
            f"{1000 * cost.processor / shards:.0f}",
            "<= 20",
        )
        row(
            f"mean agreement after it, {what}: seconds of processor",
            f"{many_shards.agree(study):.1f}",
            "reported",
        )
    what = (
        f"`status` of {status.IMAGES:,} images, {status.MODELS} networks, a selection of 1,080 slots: seconds"
    )
    row(what, f"{status.seconds():.2f}", "< 1")


def main() -> None:
    made = {kind: [maps(kind, seed=s) for s in range(3)] for kind in KINDS}
    many_web = [maps("web", seed=s) for s in range(20)]
    real = real_maps()
    targets = {"web": ">= 65x", "hard": ">= 20x", "speckle": ">= 20x", "noise": ">= 10x"}
    if real:
        confusion("real (CamVid zoo)", real, 12, ">= 50x")
    for kind, stacks in made.items():
        confusion(kind, stacks, 22, targets.get(kind, "reported"))
    many()
    store("web", many_web, 22)  # enough images to share the fixed cost of opening a part, as a shard does
    if real:
        store("real", real, 12)
    if real:
        pairs_on_disk(real_maps(233))  # a study's shard, where Parquet's fixed costs are shared
        real_study()
    selection()
    small_study()
    verbs()
    memory_and_start()
    libraries = ", ".join(
        f"{name} {version(name)}"
        for name in ("numpy", "numba", "pyarrow", "opencv-python-headless", "pillow", "scikit-learn")
    )
    head = f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {machine()}, {libraries}"
    made = (
        "Made by `make bench`: one run, processor time of one thread, best of several; 512 x 512 unless real"
        " (480 x 360)."
    )
    notes = ROOT / "benchmarks" / "notes.md"
    rows = [f"| {a} | {b} | {c} |" for a, b, c in ROWS]
    text = speed_page("How fast is Faultscape?", notes, "speed", f"{made}\n\n{head}.", rows)
    (ROOT / "docs" / "benchmarks" / "speed.md").write_text(text)


if __name__ == "__main__":
    main()
