"""One model, many mIoUs: what libraries make of the same maps, by what they do with absent classes and void;
``python benchmarks/five_mious.py`` prints the table of docs/explanation/one-model-five-numbers.md.

Conventions: maps hold 0..C-1, and 255 where the truth is void or the model says nothing. Every library that
is installed is run as its documentation says, with the option for void that it has; the others are named and
left out: ``pip install cityscapesscripts mmengine mmsegmentation monai ultralytics`` in an environment of its
own, since they want other versions of what we use. The maps are drawn by code (*drawn*: 60 street scenes,
edges of 12 classes void; *+ 2 classes*: a list of two classes more, one that nobody has and one that the
model alone names; *+ silence*: the model says nothing on one pixel in nine), or the 233 maps of ten networks
of the CamVid zoo, where they lie in FAULTSCAPE_DATA: of one of them the number, and of all which is the best
and how many of their 45 pairs stand otherwise than by `measure`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib.metadata
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np

import faultscape as fs

VOID, SCENES = 255, 60
DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data"))
Maps = list[tuple[np.ndarray, np.ndarray]]
Policy = Callable[[Maps, int], float]


def drawn(classes: int, *, silence: bool = False) -> Maps:
    """Return (truth, prediction) of drawn scenes: a model that is off at edges, takes trucks for cars and
    animals for vegetation, and is at times quite wrong.
    """
    rng, out = np.random.default_rng(0), []
    for k in range(SCENES):
        whole = fs.scenes.corpus_scene(k).truth
        prediction = cv2.medianBlur(np.roll(whole, rng.integers(-2, 3, 2), (0, 1)), 5)
        prediction[(prediction == 6) & (rng.random() < 0.7)] = 5
        prediction[prediction == 10] = 4
        for _ in range(4):
            y, x, h, w = rng.integers(0, (140, 220, 40, 60))
            prediction[y : y + h, x : x + w] = rng.integers(0, 12)
        if classes > 13:  # class 12 is nobody's, class 13 the model's alone
            cars = prediction == 5
            cars[:, : rng.integers(0, 250)] = False
            prediction[cars] = 13
        if silence:
            y, x = np.divmod(np.arange(whole.size), whole.shape[1])
            prediction[
                ((y // 20) % 3 == k % 3).reshape(whole.shape)
                & ((x // 20) % 3 == k // 3 % 3).reshape(whole.shape)
            ] = VOID
        edge = cv2.dilate(whole, np.ones((3, 3), np.uint8)) != cv2.erode(whole, np.ones((3, 3), np.uint8))
        out.append((np.where(edge, np.uint8(VOID), whole), prediction))
    return out


def zoo(name: str) -> Maps:
    """Return (truth, prediction) of a network of the CamVid zoo."""
    out = []
    for path in sorted((DATA / "camvid-zoo" / name / "labels").iterdir()):
        truth, prediction = (
            cv2.imread(str(p), cv2.IMREAD_UNCHANGED)
            for p in (DATA / "camvid" / "testannot" / path.name, path)
        )
        assert truth is not None
        out.append((np.where(truth == 11, np.uint8(VOID), truth), np.asarray(prediction)))
    return out


def counts(maps: Maps, classes: int) -> tuple[np.ndarray, ...]:
    """Return what pixel metrics read, an image a row."""
    of = np.zeros((len(maps), classes + 1, classes + 1), np.int64)
    for k, (truth, prediction) in enumerate(maps):
        truth, prediction = (np.where(m == VOID, classes, m).astype(np.int64) for m in (truth, prediction))  # noqa: PLW2901
        judged = truth < classes
        of[k] = np.bincount((truth * (classes + 1) + prediction)[judged], minlength=of[k].size).reshape(
            of[k].shape
        )
    return np.diagonal(of, axis1=1, axis2=2)[:, :-1], of.sum(2), of.sum(1)


def ours(over: Any = "union", pooling: str = "pooled") -> Policy:
    """Return `measure`'s number under a choice of classes and of how images come together."""

    def number(maps: Maps, classes: int) -> float:
        found = counts(maps, classes)
        if pooling == "pooled":
            return float(fs.metrics.counts.miou(*(of.sum(0) for of in found), over=over))
        if pooling == "cells":
            return float(np.nanmean(fs.metrics.counts.iou_of_classes(*found)))  # over="union"
        return float(np.nanmean(fs.metrics.counts.miou(*found, over=over)))

    return number


def tensors(maps: Maps) -> tuple[Any, Any]:
    """Return (I, H, W) tensors of truth and prediction."""
    import torch

    truth, prediction = (
        torch.from_numpy(np.stack([pair[side] for pair in maps]).astype(np.int64)) for side in (0, 1)
    )
    return truth, prediction


def one_hot(labels: Any, classes: int) -> Any:
    """Return (I, C, H, W); what is void is in no channel."""
    import torch

    return torch.nn.functional.one_hot(labels.clamp(max=classes), classes + 1)[..., :classes].permute(
        0, 3, 1, 2
    )


def jaccard_index(maps: Maps, classes: int) -> float:
    """Return what MulticlassJaccardIndex of torchmetrics says, macro, ignore_index for void."""
    from torchmetrics.classification import MulticlassJaccardIndex

    truth, prediction = tensors(maps)
    metric = MulticlassJaccardIndex(classes, ignore_index=VOID)
    for k in range(len(truth)):
        metric.update(prediction[k : k + 1], truth[k : k + 1])
    return float(metric.compute())


def mean_iou_of_torchmetrics(maps: Maps, classes: int) -> float:
    """Return what the segmentation MeanIoU of torchmetrics says, which has no void: a class of its own."""
    from torchmetrics.segmentation import MeanIoU

    truth, prediction = (of.clamp(max=classes) for of in tensors(maps))
    metric = MeanIoU(num_classes=classes + 1, input_format="index")
    for k in range(len(truth)):
        metric.update(prediction[k : k + 1], truth[k : k + 1])
    return float(metric.compute())


def scikit_learn(maps: Maps, classes: int, *, listed: bool) -> float:
    """Return what scikit-learn's jaccard_score says, macro, void pixels taken out before."""
    from sklearn.metrics import jaccard_score

    truth, prediction = (np.concatenate([pair[side].ravel() for pair in maps]) for side in (0, 1))
    judged = truth != VOID
    labels = np.arange(classes) if listed else None
    return float(
        jaccard_score(truth[judged], prediction[judged], average="macro", labels=labels, zero_division=0)
    )


def monai(maps: Maps, classes: int) -> float:
    """Return what MONAI's MeanIoU says of one-hot maps, ignore_index for pixels that are in no channel."""
    from monai.metrics.meaniou import MeanIoU

    truth, prediction = tensors(maps)
    metric = MeanIoU(ignore_index=VOID)
    for k in range(len(truth)):
        metric(y_pred=one_hot(prediction[k : k + 1], classes), y=one_hot(truth[k : k + 1], classes))
    return float(metric.aggregate())


def mmsegmentation(maps: Maps, classes: int) -> float:
    """Return what the two functions of mmsegmentation's IoUMetric say, and the mean that it takes."""
    from mmseg.evaluation.metrics.iou_metric import IoUMetric

    truth, prediction = tensors(maps)
    areas = [
        IoUMetric.intersect_and_union(p, t, classes, VOID) for t, p in zip(truth, prediction, strict=True)
    ]
    found = IoUMetric.total_area_to_metrics(*(sum(of) for of in zip(*areas, strict=True)), metrics=["mIoU"])
    return float(np.nanmean(found["IoU"]))


def cityscapes(maps: Maps, classes: int) -> float:
    """Return what the evaluation of files in cityscapesScripts says, our classes under the numbers of its
    first ones; what is void is `unlabeled`.
    """
    from cityscapesscripts.evaluation import (
        evalPixelLevelSemanticLabeling as evaluation,  # noqa: N813 - its own name
    )
    from cityscapesscripts.helpers.labels import labels

    ids = np.zeros(256, np.uint8)
    ids[:classes] = [label.id for label in labels if not label.ignoreInEval and label.id >= 0][:classes]
    evaluation.args.quiet, evaluation.args.evalInstLevelScore, evaluation.args.evalPixelAccuracy = (
        True,
        False,
        False,
    )
    matrix = evaluation.generateMatrix(evaluation.args).astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / f"{side}.png") for side in ("truth", "prediction")]
        for pair in maps:
            for name, of in zip(names, pair, strict=True):
                cv2.imwrite(name, ids[of])
            evaluation.evaluatePair(names[1], names[0], matrix, {}, {}, evaluation.args)
    scores = {
        label: evaluation.getIouScoreForLabel(label, matrix, evaluation.args)
        for label in evaluation.args.evalLabels
    }
    return float(evaluation.getScoreAverage(scores, evaluation.args))


def segmentation_models(maps: Maps, classes: int, *, reduction: str) -> float:
    """Return what iou_score of segmentation_models_pytorch says with ignore_index; its file is run alone,
    since the package wants torchvision.
    """
    file = importlib.metadata.distribution("segmentation_models_pytorch").locate_file(
        "segmentation_models_pytorch/metrics/functional.py"
    )
    spec = importlib.util.spec_from_file_location("smp_functional", str(file))
    assert spec is not None
    assert spec.loader is not None
    functional: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(functional)
    truth, prediction = tensors(maps)
    stats = functional.get_stats(prediction, truth, mode="multiclass", num_classes=classes, ignore_index=VOID)
    return float(functional.iou_score(*stats, reduction=reduction))


def ultralytics(maps: Maps, classes: int) -> float:
    """Return what SemanticMetrics of ultralytics says; what it asks of torchvision, its version, has no part
    in this.
    """
    of = importlib.metadata.version
    without = mock.patch.object(
        importlib.metadata, "version", lambda name: "0.0" if name == "torchvision" else of(name)
    )
    with without, contextlib.redirect_stdout(sys.stderr):
        from ultralytics.utils.metrics import SemanticMetrics

    truth, prediction = tensors(maps)
    metric = SemanticMetrics({k: str(k) for k in range(classes)})
    for k in range(len(truth)):
        metric.update_stats(prediction[k : k + 1], truth[k : k + 1])
    metric.process()
    return float(metric.miou)


ROWS: tuple[tuple[str, str, str, Policy], ...] = (
    ("`measure`", "", "pooled; classes that either side has; silence is a miss", ours()),
    ("mmsegmentation `IoUMetric`", "mmsegmentation", "the same", mmsegmentation),
    ("cityscapesScripts", "cityscapesScripts", "the same", cityscapes),
    ("torchmetrics `MulticlassJaccardIndex`", "torchmetrics", "the same; silence is an error", jaccard_index),
    (
        "scikit-learn `jaccard_score`",
        "scikit-learn",
        "pooled; values that occur: silence is one more class",
        lambda m, c: scikit_learn(m, c, listed=False),
    ),
    (
        "scikit-learn, `labels=` all",
        "scikit-learn",
        "pooled; an absent class is 0",
        lambda m, c: scikit_learn(m, c, listed=True),
    ),
    (
        "segmentation_models_pytorch, macro",
        "segmentation_models_pytorch",
        "pooled; an absent class is 1",
        lambda m, c: segmentation_models(m, c, reduction="macro"),
    ),
    (
        "segmentation_models_pytorch, macro-imagewise",
        "segmentation_models_pytorch",
        "each image; an absent class is 1",
        lambda m, c: segmentation_models(m, c, reduction="macro-imagewise"),
    ),
    (
        "ultralytics `SemanticMetrics`",
        "ultralytics",
        "pooled; classes of the truth; silence is left out",
        ultralytics,
    ),
    ("MONAI `MeanIoU`", "monai", "each image; classes of its truth", monai),
    (
        "torchmetrics `MeanIoU`",
        "torchmetrics",
        "all cells (image, class) that either side has; void is one more class",
        mean_iou_of_torchmetrics,
    ),
    ("`measure --over truth`", "", "pooled; classes of the truth", ours("truth")),
    ("`measure --over all`", "", "pooled; an absent class is 0", ours("all")),
    (
        "`measure --pooling per_image`",
        "",
        "each image; classes that either side has",
        ours(pooling="per_image"),
    ),
    (
        "`measure --pooling per_image --over truth`",
        "",
        "each image; classes of its truth",
        ours("truth", "per_image"),
    ),
    (
        "`measure --pooling cells`",
        "",
        "all cells (image, class) that either side has",
        ours(pooling="cells"),
    ),
)


def installed(name: str) -> str:
    """Return the version of a library, '' where it is not there."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def number(policy: Policy, maps: Maps, classes: int) -> str:
    """Return what a library makes of maps, or that they are an error."""
    try:
        return f"{policy(maps, classes):.4f}".lstrip("0")
    except (RuntimeError, ValueError) as error:
        print(f"# {type(error).__name__}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
        return "error"


def table() -> Iterator[tuple[str, ...]]:
    """Yield the rows, the first the head."""
    made = {
        "drawn": (drawn(12), 12),
        "+ 2 classes": (drawn(14), 14),
        "+ silence": (drawn(12, silence=True), 12),
    }
    networks = sorted(p.name for p in (DATA / "camvid-zoo").glob("*") if (p / "labels").is_dir())
    real: dict[str, Maps] = {name: zoo(name) for name in networks}
    yield (
        "library",
        "version",
        "policy",
        *made,
        *(["CamVid, unet", "best of ten", "pairs otherwise"] if real else []),
    )
    first: np.ndarray | None = None
    for name, library, policy, of in ROWS:
        found = installed(library) if library else ""
        if library and not found:
            print(f"# {library} is not installed", file=sys.stderr)
            continue
        cells = [number(of, maps, classes) for maps, classes in made.values()]
        if real:
            values = np.array([of(maps, 11) for maps in real.values()])
            first = values if first is None else first
            otherwise = sum(
                (first[a] - first[b]) * (values[a] - values[b]) < 0
                for a, b in combinations(range(len(values)), 2)
            )
            cells += [
                f"{values[networks.index('unet')]:.4f}".lstrip("0"),
                networks[int(values.argmax())],
                str(otherwise),
            ]
        yield (name, found, policy, *cells)


def main() -> None:
    """Print the table in Markdown, with the day and what it was made with."""
    if installed("torch"):
        import torch

        torch.set_num_threads(1)
    today = dt.datetime.now(tz=dt.UTC).date()
    print(
        f"{today}, Python {platform.python_version()}, numpy {np.__version__}, torch {installed('torch')}.\n"
    )
    for k, row in enumerate(table()):
        print("| " + " | ".join(row) + " |", flush=True)
        if not k:
            print("|---" * len(row) + "|")


if __name__ == "__main__":
    main()
