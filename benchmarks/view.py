"""How long pages of a study of 100,000 images take: ``python benchmarks/view.py [FOLDER]``; without a folder,
one that is removed again.

Conventions: 10 models, 21 classes, shards of 1024 images; corpus, counts and labels are written as the verbs
write them, photos and label maps there are none. A time is the median of five answers over HTTP, in
milliseconds, once all counts are read; pictures are not counted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import resolve
from faultscape.comparison import sparse_counts
from faultscape.maps import runs
from faultscape.reading.pairs import wanted
from faultscape.reading.study import Study
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import ModelSettings, Settings, class_settings, write_settings
from faultscape.study.tables import label_maps, pairs
from faultscape.study.tables.corpus import Image, part_name, write_corpus
from faultscape.verbs.view.library import Library
from faultscape.verbs.view.pages import router
from faultscape.web import server
from faultscape.web.app import make_app

IMAGES, MODELS, CLASSES, SHARD = 100_000, 10, 21, 1024
TIMES = 5
ASKED = {
    "first page": "/",
    "page 1000": "/?page=1000",
    "id contains 777": "/images?id=777",
    "set": "/images?set=night",
    "group": "/images?group=city-17",
    "class shown by some models": "/images?class=class-12&by=some",
    "class shown by one model": "/images?class=class-12&by=model-3",
    "not labelled": "/images?label=unlabelled",
    "tag": "/images?tag=rain",
    "disagreement at least .6": "/images?low=0.6",
    "most disagreement first": "/images?sort=-disagreement",
    "agreement of two at most .3, least first": "/images?a=model-2&b=model-7&agree_high=0.3&sort=agreement",
    "all of these at once": (
        "/images?id=7&set=night&class=class-12&by=some&label=kept&low=0.2&a=model-2&b=model-7&agree_high=0.6&sort=-disagreement"
    ),
    "one image among 100,000": "/image/50000?sort=-disagreement",
    "list of 100,000 ids": "/list.txt",
}


def make(root: Path) -> None:
    """Write the study."""
    rng = np.random.default_rng(0)
    classes = resolve(CLASSES)
    models = {
        f"model-{j}": ModelSettings(
            source=f"maps/model-{j}", kind="folder", labels={str(c): f"class-{c}" for c in range(CLASSES)}
        )
        for j in range(MODELS)
    }
    settings = Settings(size="512x512", shard=SHARD, classes=class_settings(classes), models=models)
    root.mkdir(parents=True, exist_ok=True)
    write_settings(root, settings)
    images = [
        Image(
            f"{'night' if k % 4 == 0 else 'day'}/city-{k % 50}/frame-{k:06d}",
            f"photos/{k}.jpg",
            "night" if k % 4 == 0 else "main",
            "pool",
            "",
            "",
            1024,
            768,
            f"{k:064x}",
            k,
            "",
            k // SHARD,
            f"city-{k % 50}",
        )
        for k in range(IMAGES)
    ]
    write_corpus(root, images)
    shards = sorted({image.shard for image in images})
    ids = {shard: sorted(image.id for image in images if image.shard == shard) for shard in shards}
    for name in models:
        write_manifest(
            label_maps.predictions(root, name),
            {part_name(s): Part(f"{s:064x}", len(ids[s]), "") for s in shards},
        )
    codes = {j: [code(rng, j) for _ in range(SHARD)] for j in range(MODELS)}
    made: dict[str, dict[str, Part]] = {name: {} for name in models}
    for part in wanted(Study(root), shards, []):
        held = ids[part.shard]
        mine = codes[int(part.name.rpartition("-")[2])][: len(held)]
        made[part.name][part.part] = Part(
            pairs.put_counts(pairs.folder(root, part.name), part, held, mine), len(held), part.key
        )
    for name, parts in made.items():
        write_manifest(pairs.folder(root, name), parts)
    label = runs.encode(np.zeros((8, 8), np.uint8))
    labels = {}
    for shard in shards[::3]:
        maps = [label_maps.StoredMap(id_, label) for id_ in ids[shard][::2]]
        labels[part_name(shard)] = Part(
            label_maps.put_maps(label_maps.truth(root, "labels"), shard, maps), len(maps), ""
        )
    write_manifest(label_maps.truth(root, "labels"), labels)
    Tags(root).add_all((Tag(image.id, "rain", "benchmark") for image in images[::9]), "benchmark")


def code(rng: np.random.Generator, before: int) -> bytes:
    """Return the counts of one image of a model with those named before it: some five classes an image, of
    which a model moves some pixels.
    """
    n = CLASSES + 1
    shown = rng.choice(CLASSES, 5, replace=False)
    totals = np.zeros(n, np.int64)
    totals[shown] = rng.multinomial(512 * 512, np.full(5, 0.2))
    cells = np.zeros((before, n, n), np.int64)
    for q in range(before):
        for column in shown:
            moved = rng.multinomial(totals[column], [0.7, 0.2, 0.1])
            cells[q, [column, *rng.choice(CLASSES, 2)], column] += moved
    return sparse_counts.pack(cells, np.ones(before, bool), totals)


def main() -> None:
    """Make the study, read it, and time the pages."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "study"
        if not (root / "study.toml").exists():
            make(root)
        begun = time.perf_counter()
        library = Library(Study(root))
        opened = time.perf_counter()
        listener = server.bind(port=0)
        threading.Thread(
            target=server.serve, args=(make_app([router(library)]), listener), daemon=True
        ).start()
        pages = server.address_of(listener).rstrip("/")
        first = timed(pages, "/")
        while library.now.said.read < IMAGES // 2:
            time.sleep(0.1)
        meanwhile = timed(pages, "/")
        library.wait()
        assert library.now.said.lacking == 0
        print(
            f"opened {opened - begun:.2f} s, first answer {first:.0f} ms, a page while counts are read"
            f" {meanwhile:.0f} ms, all counts {time.perf_counter() - begun:.1f} s"
        )
        for title, address in ASKED.items():
            print(f"{title:<42} {statistics.median(timed(pages, address) for _ in range(TIMES)):7.0f} ms")


def timed(pages: str, address: str) -> float:
    """Return how long an answer took, in milliseconds."""
    begun = time.perf_counter()
    with urllib.request.urlopen(pages + address) as answer:
        answer.read()
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
