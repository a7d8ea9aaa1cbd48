"""The working tree against an earlier commit: ``python benchmarks/against.py COMMIT`` times what both can do,
in turns, and prints the ratios.

Conventions: processor time, the least of several goes in a fresh process for each tree; five such processes a
tree in turns, the medians of both, and their ratio (now / before, above 1 is slower). Public functions and
verbs alone, by the names that both trees have; nothing is compiled while it is timed. The earlier commit is a
copy in a temporary folder, and runs in this environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from made_maps import maps

ROOT = Path(__file__).parents[1]
TURNS = 5

Work = Callable[[], object]


def work(folder: Path) -> Iterator[tuple[str, Work]]:
    """Yield what is timed, by name."""
    import faultscape as fs
    from faultscape.maps import runs

    rng = np.random.default_rng(0)
    for kind in ("web", "hard", "speckle"):
        stack = maps(kind)
        of_models = {f"m{k}": labels[None] for k, labels in enumerate(stack)}
        yield (
            f"45 pairs of maps, {kind}",
            lambda of_models=of_models: fs.comparison.count(of_models, classes=21),
        )
    web = maps("web")
    of_models = {f"m{k}": labels for k, labels in enumerate(web)}
    code = runs.encode(web[0])
    yield "a map to its code", lambda: runs.encode(web[0])
    yield "a code to its map", lambda: runs.decode(code)
    yield "regions of a pair of maps", lambda: fs.metrics.regions(web[0], web[1], classes=21)
    score, label = rng.normal(size=10**6).astype(np.float32), (rng.random(10**6) < 0.03).astype(np.uint8)
    yield "detection over a million scores", lambda: fs.metrics.detection(score, label)
    few = {name: np.stack([labels, labels[::-1]]) for name, labels in of_models.items()}
    pairs, truth = fs.comparison.count(few, classes=21), np.stack([web[0], web[0][::-1]])
    against = fs.comparison.count(few, classes=21, truth=truth)
    yield "duels of ten models", lambda: fs.selection.duels(pairs, "miou", per_class=1)
    slots = fs.selection.duels(pairs, "miou", per_class=1)
    yield "standings of ten models, 1,000 replicates", lambda: fs.ranking.standings(slots, against)
    made_line(folder / "corpus")
    yield "a small study, collect to report", lambda: line(folder)


def made_line(folder: Path) -> None:
    """Write 24 photos, and maps of three models and of the truth."""
    import cv2

    for name, seed in (("photos", 0), ("truth", 1), ("a", 2), ("b", 3), ("c", 4)):
        (folder / name).mkdir(parents=True)
        stack = maps("web", 24, 96, 5, seed=1) if name != "photos" else np.zeros((24, 96, 96), np.uint8)
        for k, labels in enumerate(np.roll(stack, seed, axis=2)):
            cv2.imwrite(str(folder / name / f"{k:03}.png"), labels + 9 * k if name == "photos" else labels)
    colours = [[40 * k, 255 - 40 * k, 10 * k] for k in range(5)]
    classes = [{"name": f"class {k}", "id": k, "color": colour} for k, colour in enumerate(colours)]
    (folder / "classes.json").write_text(json.dumps({"classes": classes}))


def line(folder: Path) -> None:
    """Do all verbs of a study in this process."""
    import faultscape as fs

    corpus, study = folder / "corpus", tempfile.mkdtemp(dir=folder)
    fs.collect(study, str(corpus / "photos"), classes=str(corpus / "classes.json"))
    fs.predict(study, {name: str(corpus / name) for name in "abc"}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.label.import_(study, str(corpus / "truth"))
    fs.rank(study, engine="local")
    fs.measure(study, engine="local")
    fs.report(study)


def seconds(once: Work) -> float:
    """Return the processor seconds that it takes, in all threads."""
    start = time.process_time()
    once()
    return time.process_time() - start


def timed() -> dict[str, float]:
    """Return {what: least processor seconds}; each is done once before, so that what is compiled is there."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, once in work(Path(folder)):
            once()
            found[name] = min(seconds(once) for _ in range(4 if "study" in name else 15))
    return found


def of_tree(tree: Path) -> dict[str, Any]:
    """Return what a fresh process that imports this tree measures."""
    about = {**os.environ, "PYTHONPATH": f"{tree / 'src'}", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, str(Path(__file__)), "--timed"]
    said = subprocess.run(words, env=about, check=True, capture_output=True, text=True)
    return json.loads(said.stdout.splitlines()[-1])


def main(commit: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True
        ).stdout
        before.mkdir()
        subprocess.run(["tar", "-x", "-C", str(before)], input=archive, check=True)
        turns = []
        for turn in range(TURNS + 1):
            pair = [of_tree(tree) for tree in ((before, ROOT) if turn % 2 else (ROOT, before))]
            turns += [pair if turn % 2 else pair[::-1]] if turn else []  # the first compiles
            print(f"turn {turn} of {TURNS}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"\n| what | before ({commit[:7]}), ms | now, ms | now / before |\n|---|---|---|---|")
    for name in turns[0][0]:
        old, new = (median(1000 * pair[side][name] for pair in turns) for side in (0, 1))
        print(f"| {name} | {old:.2f} | {new:.2f} | {new / old:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--timed"]:
        print(json.dumps(timed()))
    elif len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        sys.exit("give the commit to compare with: python benchmarks/against.py COMMIT")
