"""What doubt costs and what its rounding changes: the tables of docs/benchmarks/reliability.md.

    python benchmarks/reliability.py cost                              # two minutes; needs the extra torch
    python benchmarks/reliability.py frames FOLDER --frames 500        # half an hour, mostly to make them; 20 GB
    python benchmarks/reliability.py differences FOLDER PLAIN SHAKEN   # networks of examples/train_camvid.py; needs FAULTSCAPE_DATA

Conventions: `cost` is processor time of one thread, SegFormer-b0's size with random weights on 512 x 1024 and
19 classes: its forward pass against all that a scorer adds to it, the median of five in turns. `frames` are
drawn scenes of 1024 x 2048 with unknown objects blended in, whose scores are stored as float32. `differences`
takes all pixels of CamVid's test images, sorted as float32 by `faultscape.metrics.detection`, against what
the card says of the same. What a folder holds is not made again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from cost import measure_cost

import faultscape as fs
from faultscape.classes.class_lists import table
from faultscape.metrics.pixel_facts import facts_of, facts_of_members
from faultscape.metrics.scorers import SCORERS, missing, scorer_named
from faultscape.metrics.scores.detection import detection
from faultscape.prediction.keep import Keep, doubt_folder, doubts
from faultscape.reading.image_truths import Judge
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.scenes.street import CLASSES
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.demo.scenes import scene_classes
from faultscape.verbs.predict.pixel_counts import Counting, PixelCounter

DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data"))
FOUR = ("msp", "entropy", "max-logit", "energy")


def cost() -> None:
    """Print what a scorer adds to a forward pass."""
    import torch

    torch.set_num_threads(1)
    network, picture = segformer(19)
    counters = made_counters()
    scores = [np.random.default_rng(k).normal(size=(19, 128, 256)).astype(np.float32) * 3 for k in range(2)]
    size, label_map = (1024, 512), np.zeros((512, 1024), np.uint8)

    def added(words: tuple[str, ...], counter: PixelCounter, id_: str) -> float:
        start = time.thread_time()
        keep = Keep(scorers=words, others=True)
        facts = facts_of_members(scores, size) if passes_of(words) > 1 else facts_of(scores[0], size)
        found = doubts(keep, facts, 19, id_.encode())
        counter.of_answer(id_, label_map, {kind: arrays[0] for kind, arrays in found.items()})
        return time.thread_time() - start

    def passes_of(words: tuple[str, ...]) -> int:
        return 2 if any(scorer_named(word).needs == "members" for word in words) else 1

    def forward() -> float:
        start = time.thread_time()
        with torch.inference_mode():
            network(picture)
        return time.thread_time() - start

    facts = facts_of(scores[0], size)
    rows = [(scorer.name,) for scorer in SCORERS if not missing(scorer, facts)]
    rows += [FOUR, *((scorer.name,) for scorer in SCORERS if scorer.needs == "members")]
    taken: dict[tuple[tuple[str, ...], str], list[float]] = {}
    passes = []
    for turn in range(6):
        passes.append(forward())
        for words in rows:
            for kind, (counter, id_) in counters(words).items():
                seconds = added(words, counter, id_)
                if turn:
                    taken.setdefault((words, kind), []).append(seconds)
    once = median(passes[1:])
    print(f"forward pass: {1000 * once:.0f} ms; load {os.getloadavg()[0]:.1f}\n")
    print(
        "| scorer | with anomalies, ms | share of the forward passes | only corrupted, ms | share"
        " |\n|---|---|---|---|---|"
    )
    for words in rows:
        fine, coarse = (median(taken[words, kind]) for kind in ("fine", "coarse"))
        name, whole = "+".join(words), passes_of(words) * once
        print(
            f"| {name} | {1000 * fine:.0f} | {fine / whole:.1%} | {1000 * coarse:.0f} |"
            f" {coarse / whole:.1%} |"
        )


def segformer(classes: int) -> tuple[object, object]:
    """Return a network of SegFormer-b0's size with random weights, and one picture."""
    import torch
    import transformers

    torch.manual_seed(0)
    names = {k: f"class-{k}" for k in range(classes)}
    config = transformers.SegformerConfig(
        num_labels=classes, id2label=names, label2id={n: k for k, n in names.items()}
    )
    network = transformers.SegformerForSemanticSegmentation(config).eval()
    return network, torch.rand(1, 3, 512, 1024)


def made_counters():
    """Return what gives, of some scorers, the counter and the image of a frame with anomalies and of one that
    is only corrupted.
    """
    folder = Path(tempfile.mkdtemp())
    write_scenes(folder, 1, (1024, 512))
    study = str(folder / "study")
    fs.collect(study, str(folder / "images"), classes=len(CLASSES))
    fs.label.import_(study, str(folder / "truth"))
    fs.stress.corrupt(study, corruption=["gaussian_noise"], severities="1")
    fs.stress.holdout(study, classes=["class-1"])
    root, settings = Path(study), read_settings(Path(study))
    images = read_corpus(root)

    def of(words: tuple[str, ...]) -> Mapping[str, tuple[PixelCounter, str]]:
        counting = Counting("labels", {doubt_folder(word): (word, 0.0, 19) for word in words})
        out = {}
        for kind, image in zip(
            ("fine", "coarse"), sorted(images, key=lambda image: image.set != "main"), strict=True
        ):
            out[kind] = (PixelCounter(root, settings, "net", image.shard, counting, {}), image.id)
        return out

    return of


def write_scenes(folder: Path, count: int, size: tuple[int, int]) -> None:
    """Write drawn scenes and their labels; those that are there are not drawn again."""
    import cv2

    for name in ("images", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for k in range(count):
        if not (folder / "truth" / f"{k:04}.png").exists():
            scene = fs.scenes.scene(k, size=size)
            cv2.imwrite(
                str(folder / "images" / f"{k:04}.png"),
                np.ascontiguousarray(scene.image[..., ::-1]),
                [cv2.IMWRITE_PNG_COMPRESSION, 1],
            )
            cv2.imwrite(str(folder / "truth" / f"{k:04}.png"), scene.truth)


@contextmanager
def step(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"# {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def frames(folder: Path, count: int) -> None:
    """Print what it takes to evaluate stored scores of large frames, and what their counts take on the
    disk.
    """
    network = Path(fs.__file__).parent / "prediction" / "networks" / "mobile.onnx"
    study = folder / "study"
    with step("scenes"):
        write_scenes(folder, count, (2048, 1024))
    if not (study / "predictions" / "net").exists():
        with step("study, blended objects, predictions"):
            fs.collect(
                str(study),
                str(folder / "images"),
                classes=replace(scene_classes(), void=(255,)),
                storage=fs.options.Storage(shard_size=32),
            )
            fs.label.import_(str(study), str(folder / "truth"))
            fs.stress.blend(str(study), preset="fishyscapes-v2", seed=0)
            fs.predict(str(study), {"net": str(network)}, scorer=["msp"])
    counts, cards = study / "reliability" / "counts", study / "reliability"
    for name, engine, gone in (
        ("one scorer is counted and evaluated", "processes", ("counts",)),
        ("evaluated again, nothing is counted", "processes", ()),
        ("all of the card: component F1 and the cheat too", "processes", ("counts", "components", "guards")),
        ("the same in one process", "local", ("counts", "components", "guards")),
    ):
        for kind in gone:
            shutil.rmtree(cards / kind, ignore_errors=True)
        spent = measure_cost("reliability", str(study), worst=0, engine=engine)
        print(
            f"| {name} | {spent.seconds:.0f} | {spent.processor:.0f} | {spent.driver} | {spent.worker} |",
            flush=True,
        )
    held = sum(path.stat().st_size for path in (counts / "net" / "doubt-msp").rglob("*") if path.is_file())
    print(f"# counts: {held / 2 / count / 1000:.1f} kB a frame of {2 * count}")


def differences(folder: Path, networks: Mapping[str, str]) -> None:
    """Print how far the card's numbers are from those of all pixels as float32."""
    study = folder / "study"
    if not study.exists():
        with step("study"):
            fs.collect(
                str(study), str(DATA / "camvid"), known=fs.options.KnownData(layout="camvid", split="test")
            )
            fs.stress.blend(str(study), preset="fishyscapes-v2", seed=0)
            fs.stress.holdout(str(study), classes=["bicyclist"])
    shown = fs.options.Shown(input_size="240x176", mean=[0.41, 0.42, 0.43], std=[0.3, 0.31, 0.31])
    plain = [scorer.name for scorer in SCORERS if scorer.needs in ("probabilities", "logits")]
    with step("predictions"):
        fs.predict(str(study), dict(networks), scorer=plain, shown=shown)
        members = [scorer.name for scorer in SCORERS if scorer.needs == "members"]
        fs.predict(str(study), {"both": f"ensemble:{','.join(networks)}"}, scorer=members)
    with step("card"):
        card = fs.reliability(str(study), worst=0, resamples=0).document
    said = {(c["model"], c["scorer"], c["condition"], c["metric"]): c["value"] for c in card["cells"]}
    print(
        "| model | scorer | of | pixels | AP | difference | AUROC | FPR95 | difference"
        " |\n|---|---|---|---|---|---|---|---|---|"
    )
    for model in card["models"]:
        for word in model["scorers"]:
            for condition in card["conditions"]:
                for metrics in (
                    ("error_ap", "error_auroc", "error_fpr95"),
                    ("average_precision", "auroc", "fpr95"),
                ):
                    if (model["name"], word, condition["name"], metrics[0]) in said:
                        row(study, model["name"], word, condition, metrics, said)


def row(study, model, word, condition, metrics, said) -> None:
    """Print one line of the differences."""
    score, label = pixels(study, model, word, condition, errors=metrics[0] == "error_ap")
    exact = detection(score, label)
    card = [said[model, word, condition["name"], metric] for metric in metrics]
    gaps = [
        abs(a - b) for a, b in zip(card, (exact.average_precision, exact.auroc, exact.fpr95), strict=True)
    ]
    of = "errors" if metrics[0] == "error_ap" else "anomalies"
    print(
        f"| {model} | {word} | {of}, {condition['name']} | {len(label):,} | {exact.average_precision:.5f} |"
        f" {gaps[0]:.1e} | {gaps[1]:.1e} | {exact.fpr95:.5f} | {gaps[2]:.1e} |",
        flush=True,
    )


def pixels(study: Path, model: str, word: str, condition, *, errors: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored float32 scores of all pixels that count, and which are wrong or anomalous."""
    of = Study(study)
    settings, images = of.settings, of.image_rows
    judge = Judge.of_truth(of, "labels")
    mine = [image for image in images.values() if image.set in condition["sets"]]
    scores, labels, void = [], [], len(settings.class_list)
    for shard in dict.fromkeys(image.shard for image in mine):
        ids = [image.id for image in mine if image.shard == shard]
        held = outputs.read_some(study, model, doubt_folder(word), shard, ids)
        maps = StoredMaps(label_maps.predictions(study, model), shard, table(settings.class_list), "")
        for id_ in ids:
            doubt = held[id_][0]
            size = (doubt.shape[1], doubt.shape[0])
            view = next(
                view for view in judge.views(id_, size) if view.holdout == condition.get("holdout", "")
            )
            if errors:
                counts, label = view.semantic != void, view.semantic != maps.read(id_, size)
                if view.anomaly is not None:
                    counts = counts & (view.anomaly == 0)
            else:
                counts, label = view.anomaly != 255, view.anomaly == 1
            scores.append(doubt[counts])
            labels.append(label[counts])
    return np.concatenate(scores), np.concatenate(labels).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    ways.add_parser("cost")
    many = ways.add_parser("frames")
    many.add_argument("folder", type=Path)
    many.add_argument("--frames", type=int, default=500)
    gaps = ways.add_parser("differences")
    gaps.add_argument("folder", type=Path)
    gaps.add_argument("plain")
    gaps.add_argument("shaken")
    asked = parser.parse_args()
    if asked.way == "cost":
        cost()
    elif asked.way == "frames":
        frames(asked.folder, asked.frames)
    else:
        differences(asked.folder, {"plain": asked.plain, "shaken": asked.shaken})


if __name__ == "__main__":
    main()
