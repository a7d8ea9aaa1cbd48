"""The working tree against an earlier commit, byte by byte: ``python benchmarks/same_bytes.py COMMIT`` makes the
same studies with both, by the same lines, and names every file that is not the same.

Conventions: one study of label maps, one in which networks are trained and fitted, one of classifiers, and the
demo with its card. Both trees work in a folder of one name, with one process, so that paths are alike. Clock and
host lie outside: the log, the times, the moment of an answer. Tables of a database are compared row by row, and
pages by their text and the number of their marks, since pages may be drawn anew. Lines are those of the command
line; a line that fails in one tree fails the run.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
NOT_COMPARED = {"log.jsonl", "timings.parquet"}
CLASSES = ("sky", "road", "car", "tree")
COLOURS = np.array([[120, 170, 230], [90, 90, 95], [200, 40, 40], [40, 140, 60]])
VOID = 9
NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU())
        self.mix = torch.nn.Conv2d(16, 16, 1)
        self.head = torch.nn.Conv2d(16, 4, 1)

    def forward(self, image):
        return self.head(torch.relu(self.mix(self.body(image))))

def net():
    return Net()
"""
FEW = "--steps 20 --batch 4 --rate 0.02 --crop 24x16 --scale 1,1 --validate-every 0 --device cpu --threads 1"

MAPS = """
collect maps images --classes classes.json --block 6 --shard-size 16
predict maps a=a b=b c=c d=d
compare maps
scale truth --classes classes.json -o scale.json
select maps --scale scale.json --per-class 2
label export maps to-label
label export maps to-label-me --format labelme --prefill a
label export maps to-coco --format coco
label import maps truth
label import maps other --truth other
rank maps
rank maps --truth other
select maps --goal order --budget 16
rank maps --selection order --population future
select maps --goal best
rank maps --selection best --all-labels
select maps --as random --selector random --budget 12 --seed 3
rank maps --selection random --against main
plan maps --within 2
measure maps
stress corrupt maps --corruption fog --corruption gaussian_noise --severities 2,4
stress fog maps --beta 0.02 --write foggy
stress holdout maps --classes car
stress blend maps --preset fishyscapes-v2 --smallest 20 --objects cutouts --write blended
stress sheet maps
report maps
report maps --selection order
label consensus maps --of labels --of other --truth both
show maps
status maps
"""

TRAINED = f"""
collect trained t-main --classes classes.json --set main --role test
label import trained t-main-masks
collect trained t-train --classes classes.json --set train --role train
label import trained t-train-masks
collect trained t-val --classes classes.json --set val --role validation
label import trained t-val-masks
stress holdout trained --classes car --as cars
train trained plain --backbone net.py:net {FEW}
train trained gp --backbone net.py:net --head gp --head-option features=16 {FEW}
train trained ensemble --backbone net.py:net --head batch-ensemble --head-option members=2 {FEW}
predict trained plain=trained/models/plain/backbone.py:net
fit trained temperature --model plain=trained/models/plain/backbone.py:net
fit trained knn --model plain=trained/models/plain/backbone.py:net
fit trained mahalanobis --model plain=trained/models/plain/backbone.py:net
stress corrupt trained --set main --corruption contrast --severities 3
predict trained plain=trained/models/plain/backbone.py:net --scorer msp --scorer energy --scorer knn --measure
predict trained gp=trained/models/gp/backbone.py:net --scorer msp --measure
measure trained --holdout cars --set main
reliability trained
status trained
"""

CLASSIFIERS = """
collect answers ids.csv --task classification --classes classes.txt
predict answers a=a.csv b=b.csv c=c.csv
compare answers
select answers --top 6
label export answers questions.csv
label import answers labels.csv
rank answers
select answers --goal order --budget 30
rank answers --selection order
plan answers --cost question=4
report answers
status answers
"""

DEMO = """
demo demo-study --scenes 12 --card
"""
STUDIES = {"maps": MAPS, "trained": TRAINED, "answers": CLASSIFIERS, "demo": DEMO}
WITH_ENGINE = ("predict", "compare", "select", "rank", "plan", "measure", "reliability", "demo")


def write(path: Path, values: np.ndarray) -> None:
    """Write an image, RGB or RGBA, or a map."""
    import cv2

    path.parent.mkdir(parents=True, exist_ok=True)
    order = {2: [2, 1, 0], 3: [2, 1, 0, 3]}.get(values.shape[-1] - 1, []) if values.ndim == 3 else []
    cv2.imwrite(str(path), values[..., order] if order else values)


def scene(rng: np.random.Generator, shape: tuple[int, int], cell: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an image whose colours show its labels, and the labels; a strip of it is void."""
    height, width = shape
    labels = rng.integers(0, len(CLASSES), (height // cell, width // cell))
    labels = labels.repeat(cell, 0).repeat(cell, 1).astype(np.uint8)
    image = np.clip(COLOURS[labels] + rng.normal(0, 12, (*shape, 3)), 0, 255).astype(np.uint8)
    labels[:, -2:] = VOID
    return image, labels


def disturbed(rng: np.random.Generator, labels: np.ndarray, times: int) -> np.ndarray:
    """Return labels with some wrong rectangles."""
    out = labels.copy()
    height, width = out.shape
    for _ in range(times):
        top = rng.integers(0, height * 2 // 3)
        left = rng.integers(0, width * 2 // 3)
        out[top : top + height // 3, left : left + width // 3] = rng.integers(0, len(CLASSES))
    return out


def write_inputs(folder: Path) -> None:
    """Write all that the lines read."""
    rng = np.random.default_rng(52)
    (folder / "classes.json").write_text(json.dumps({"classes": list(CLASSES), "void": [VOID]}))
    (folder / "net.py").write_text(NETWORK)
    for k in range(24):
        image, labels = scene(rng, (96, 128), 16)
        name = f"drive{k // 6}/{k:03}.png"
        write(folder / "images" / name, image)
        write(folder / "truth" / name, labels)
        write(folder / "other" / name, disturbed(rng, labels, 1))
        for times, model in enumerate("abcd", 1):
            write(folder / model / name, disturbed(rng, labels, times))
    for k in range(4):
        cutout = np.zeros((60, 60, 4), np.uint8)
        cutout[10:50, 10:50, :3] = (200, 60 * k, 20)
        cutout[10 + k : 50, 10:50, 3] = 255
        write(folder / "cutouts" / "box" / f"{k}.png", cutout)
    for part, count in (("main", 6), ("train", 8), ("val", 3)):
        for k in range(count):
            image, labels = scene(rng, (24, 32), 4)
            write(folder / f"t-{part}" / f"{part}-{k}.png", image)
            write(folder / f"t-{part}-masks" / f"{part}-{k}.png", labels)
    write_tables(folder, rng)


def write_tables(folder: Path, rng: np.random.Generator) -> None:
    """Write the ids, labels and answers of classifiers."""
    (folder / "classes.txt").write_text("\n".join(CLASSES))
    names = [f"set{k % 2}/{k:03}" for k in range(80)]
    truth = rng.integers(0, len(CLASSES), len(names))
    with (folder / "ids.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image",), *((name,) for name in names)])
    for table, wrong in (("labels", 0.0), ("a", 0.1), ("b", 0.3), ("c", 0.5)):
        guess = rng.integers(0, len(CLASSES), len(names))
        said = np.where(rng.random(len(names)) < wrong, guess, truth).tolist()
        rows = [(name, CLASSES[label]) for name, label in zip(names, said, strict=True)]
        with (folder / f"{table}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("image", "label"), *rows])


def run_lines(lines: str) -> None:
    """Run lines in this process, in this folder; SystemExit at the first that fails."""
    from faultscape.cli import main

    for line in filter(None, lines.splitlines()):
        words = shlex.split(line)
        alone = ["--engine", "local"] if words[0] in WITH_ENGINE else []
        print(f"$ faultscape {line}", file=sys.stderr, flush=True)
        if status := main([*words, *alone, "--progress", "off"]):
            sys.exit(f"status {status}: faultscape {line}")


def make(tree: Path, folder: Path, studies: list[str]) -> None:
    """Make the studies in ``folder`` with the package of a tree."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_inputs(folder)
    package = folder / "package"
    package.symlink_to(tree.resolve() / "src")  # the demo records where its networks lie
    about = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    for name in studies:
        line = [sys.executable, str(Path(__file__).resolve()), "--make", name]
        made = subprocess.run(line, cwd=folder, env=about, capture_output=True, text=True, check=False)
        (folder / f"said-{name}.txt").write_text(made.stdout)
        if made.returncode:
            sys.exit(f"{tree}: {made.stderr[-3000:]}")
    package.unlink()


def content(path: Path) -> object:
    """Return what has to be the same of a file."""
    if path.suffix in (".html", ".md"):
        shown = re.sub(r"<(script|style)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
        marks = re.findall(r"<(circle|rect|line|path|img|td)\b", shown)
        return re.sub(r"<[^>]*>", " ", shown).split(), Counter(marks)
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as tables:
            names = [row[0] for row in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: [
                    [v for v in row if not _is_moment(v)] for row in tables.execute(f"SELECT * FROM {name}")
                ]
                for name in names
            }
    data = path.read_bytes()
    if path.suffix in (".json", ".txt"):
        return re.sub(rb'"(made|at|time)": "[^"]*"|\d+(\.\d+)? s\b', b"", data)
    return data


def _is_moment(value: object) -> bool:
    return isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:", value) is not None


def differing(before: Path, now: Path) -> list[str]:
    """Return a line for each file that is not the same in both folders."""
    files = {
        path.relative_to(folder)
        for folder in (before, now)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in NOT_COMPARED and not path.name.startswith(".")
    }
    found = []
    for file in sorted(files):
        alone = [name for name, folder in (("before", before), ("now", now)) if not (folder / file).exists()]
        if alone:
            found.append(f"{file}: not there {alone[0]}")
        elif content(before / file) != content(now / file):
            found.append(f"{file}: not the same")
    print(f"{len(files)} files compared")
    return found


def main(commit: str, studies: list[str]) -> int:
    """Make the studies with both trees, and return 1 if a file is not the same."""
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        tree = Path(commit)
        if not tree.is_dir():
            tree = folder / "tree"
            tree.mkdir()
            archive = ["git", "-C", str(ROOT), "archive", commit]
            packed = subprocess.run(archive, check=True, capture_output=True)
            subprocess.run(["tar", "-x", "-C", str(tree)], input=packed.stdout, check=True)
        for name, at in (("before", tree), ("now", ROOT)):
            make(at, folder / "work", studies)
            (folder / "work").rename(folder / name)
        found = differing(folder / "before", folder / "now")
        if found and (keep := os.environ.get("FAULTSCAPE_KEEP")):
            shutil.copytree(folder, keep, dirs_exist_ok=True)
    print("\n".join(found) or "all are the same")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        run_lines(STUDIES[sys.argv[2]])
    elif len(sys.argv) >= 2 and set(sys.argv[2:]) <= STUDIES.keys():
        sys.exit(main(sys.argv[1], sys.argv[2:] or list(STUDIES)))
    else:
        sys.exit(f"give the commit to compare with, and studies if not all: {', '.join(STUDIES)}")
