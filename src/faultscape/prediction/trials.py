"""Try a network before it is added to the study: whether it runs, whether it can provide what is to be kept,
how large that is, and how many images it takes at once.

Conventions: it is run on an empty image of the size of the study's maps, beside one of coloured shapes; if it
gives NaN for the empty one, on an image of the study. The shapes are then shown alone, and have to get the
same answer: what is stored may depend neither on chance nor on the other images of a batch. It does in a
network that was exported while its dropout or batch norm were in training. A few pixels where two classes tie
may fall the other way, since sums on a GPU have no fixed order.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, ModelError
from faultscape.maps import class_answers
from faultscape.metrics.scorers import offset_of, scorer_named, split_fitted
from faultscape.prediction import keep
from faultscape.prediction.inference import NAN, Inference, Output, Prepared
from faultscape.prediction.source import Trial
from faultscape.prediction.sources.network import Answer, Size
from faultscape.prediction.sources.torch_network import is_classes_last
from faultscape.study.tables.corpus import Image

SAME = 0.001  # share of pixels, or difference of a probability, up to which two answers are the same
SAME_IN_BATCH = 0.02  # the same for an image alone and in a batch, whose sums a GPU forms in another way
COARSEST = 32  # pixels per side; no segmentation network has a larger stride
MOST = 64  # the largest batch that is tried


def run(model: Inference, trial: Trial) -> None:
    """Run a network once; ModelError if it fails, or cannot provide what is to be kept. Prints how large that
    gets for all images.
    """
    size = trial.size
    empty = model.prepare(np.zeros((size[1], size[0], 3), np.uint8), size)
    shapes = model.prepare(_shapes(size), size)
    answer, beside = model.run([empty, shapes])
    if not model.keep.answers and not isinstance(answer, str):
        _check_is_a_map(model.network.name, answer, empty.views[0])
    output = model.finish(answer, size)
    if output.problem == NAN:  # perhaps only for an empty image
        with suppress(ImageError):
            (output,) = model.predict([read_photo(trial.image)[0]], [size])
            if output.problem == NAN:
                raise ModelError(
                    f"{model.network.name}: returned NaN, both for an empty image and for {trial.image.id}"
                )
    elif output.labels is None:
        raise ModelError(output.problem)
    _check_repeats(model, shapes, model.finish(beside, size))
    if lost := [kind for kind in model.keep.folders if output.labels is not None and kind not in output.kept]:
        raise ModelError(
            f"{model.network.name}: returns labels without logits, so {', '.join(lost)} cannot be kept"
        )
    root = next((folder for folder in (trial.where, *trial.where.parents) if folder.exists()), Path())
    kept = {kind: arrays for kind, arrays in output.kept.items() if kind not in trial.drop}
    for line in keep.told(kept, trial.images, shutil.disk_usage(root).free, model.keep):
        print(line)


def _shapes(size: Size) -> np.ndarray:
    """Return an image (H, W, 3) of soft coloured shapes with some noise, the same at every call."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 256, (7, 9, 3)).astype(np.float32)
    soft = cv2.resize(few, size, interpolation=cv2.INTER_CUBIC)
    return np.clip(soft + rng.normal(0, 8, soft.shape), 0, 255).astype(np.uint8)


def _check_repeats(model: Inference, shapes: Prepared, beside: Output) -> None:
    """Raise ModelError if a network answers otherwise when an image is shown again, alone; ``beside`` is its
    answer for the image in a batch.
    """
    alone = model.finish(model.run([shapes])[0], shapes.target)
    if _difference(beside, alone) <= SAME:
        return
    again = model.finish(model.run([shapes])[0], shapes.target)
    check_same(
        model.name,
        alone,
        again,
        "if it was exported in training mode, export it again after `.eval()`; seed what it draws at random",
    )
    if (share := _difference(beside, alone)) > SAME_IN_BATCH:
        raise ModelError(
            f"{model.name}: gives different answers for the same image alone and in a"
            f" batch{_by(share, alone)}; if its batch norm was exported in training mode, export it again"
            " after `.eval()`"
        )


def check_same(name: str, one: Output, other: Output, cure: str) -> None:
    """Raise ModelError if a model's answers to the same image differ in more than single pixels."""
    if (share := _difference(one, other)) > SAME:
        raise ModelError(f"{name}: gives different answers for the same image{_by(share, one)}; {cure}")


def _difference(one: Output, other: Output) -> float:
    """Return the share of pixels whose labels differ between two answers for an image; for a classifier, the
    largest difference between two probabilities of a class, or 1 if only the labels are known and differ.
    """
    if one.labels is None or other.labels is None:
        return float(one.problem != other.problem)
    if not one.answer or not other.answer:
        if one.labels.shape != other.labels.shape:
            return 1.0
        return float((one.labels != other.labels).mean())
    (first, second), sure = class_answers.decode([one.answer, other.answer])
    if np.isnan(sure).any():
        return float(first[0] != second[0])
    shares = [dict(zip(labels, of, strict=True)) for labels, of in zip((first, second), sure, strict=True)]
    # a class that only one answer holds is, in the other, at most as likely as the least that is held
    least = [min(of.values()) for of in shares]
    return max(
        abs(shares[0].get(label, least[0]) - shares[1].get(label, least[1])) for label in {*first, *second}
    )


def _by(share: float, answer: Output) -> str:
    """Return how far two answers differ, in brackets."""
    if answer.answer:
        return " (its label changes)" if share == 1 else f" (a probability changes by {share:.2g})"
    return f" ({100 * share:.1f} % of the pixels change)"


def _check_is_a_map(name: str, answer: Answer, shown: np.ndarray) -> None:
    """Raise ModelError if a network gives one answer for a whole image (3, H, W) that is larger than one
    output position of any segmentation network, or logits with classes on their last axis.
    """
    said = next(
        (values for values in (answer.scores, *answer.members, answer.labels) if values is not None), None
    )
    if said is not None and said.ndim == 3 and is_classes_last(said.shape, shown.shape[1:]):
        tall, wide, classes = said.shape
        raise ModelError(
            f"{name}: returned {tall} x {wide} x {classes}, which is H x W x C; expected classes first,"
            " C x H x W: transpose its output"
        )
    if said is not None and said.shape[-2:] == (1, 1) and max(shown.shape[1:]) > COARSEST:
        raise ModelError(
            f"{name}: returns one answer for a whole image of {shown.shape[2]} x {shown.shape[1]}, as a"
            " classifier does; expected a map. Classifiers compete in a study made with `faultscape collect"
            " STUDY IMAGES --task classification`"
        )


def count_channels(model: Inference, size: Size) -> None:
    """Run a network on an empty image to count its channels, if it does not declare them; ModelError if it
    cannot run. A network that gives labels has none.
    """
    if model.network.channels is None:
        prepared = model.prepare(np.zeros((size[1], size[0], 3), np.uint8), size)
        (answer,) = model.run([prepared])
        if isinstance(answer, str):
            raise ModelError(answer)
        if not model.keep.answers:
            _check_is_a_map(model.name, answer, prepared.views[0])
        layers = answer.members if answer.scores is None else (answer.scores,)
        model.network.channels = len(layers[0]) if layers else None


def offsets(
    model: Inference, held: Mapping[str, float], images: Iterable[Image], size: Size | None
) -> dict[str, float]:
    """Return {scorer: offset} of the unbounded scorers: those in ``held`` unchanged, the others from the
    first image that can be read.
    """
    out = {
        word: value for word, value in held.items() if not split_fitted(word) or word in model.keep.scorers
    }
    wanted = [word for word in model.keep.scorers if scorer_named(word).most is None and word not in out]
    for image in images if wanted else ():
        with suppress(ImageError):
            photo = read_photo(image)[0]
            (output,) = model.predict([photo], [size or (image.width, image.height)])
            if output.labels is None:  # its trial reports the problem
                break
            out |= {
                word: offset_of(scorer_named(word), [output.kept[keep.doubt_folder(word)][0]])
                for word in wanted
            }
            break
    return out


def fitting_batch(model: Inference, size: Size) -> int:
    """Return how many images of this size to run at once: half of what fits the device's memory, up
    to MOST.
    """
    fits = 1
    item = model.prepare(np.zeros((size[1], size[0], 3), np.uint8), size).views[0]
    while fits < 2 * MOST:
        try:
            model.network.run(np.stack([item] * (2 * fits)), ())
        except (MemoryError, ModelError):
            break
        fits *= 2
    return max(1, fits // 2)
