"""Try a network before it is added to the study: whether it runs, whether it can provide what is to be kept,
how large that is, and how many images it takes at once.

Conventions: it is run on empty images of the size of the study's maps; if it gives NaN for these, on an image
of the study.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, ModelError
from faultscape.metrics.scorers import offset_of, scorer_named, split_fitted
from faultscape.prediction import keep
from faultscape.prediction.inference import NAN, Inference
from faultscape.prediction.source import Trial
from faultscape.prediction.sources.network import Answer, Size
from faultscape.study.tables.corpus import Image

COARSEST = 32  # pixels per side; no segmentation network has a larger stride
MOST = 64  # the largest batch that is tried


def run(model: Inference, trial: Trial) -> None:
    """Run a network once; ModelError if it fails, or cannot provide what is to be kept. Prints how large that
    gets for all images.
    """
    size = trial.size
    prepared = model.prepare(np.zeros((size[1], size[0], 3), np.uint8), size)
    (answer,) = model.run([prepared])
    if not model.keep.answers and not isinstance(answer, str):
        _check_is_a_map(model.network.name, answer, prepared.views[0])
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
    if lost := [kind for kind in model.keep.folders if output.labels is not None and kind not in output.kept]:
        raise ModelError(
            f"{model.network.name}: returns labels without logits, so {', '.join(lost)} cannot be kept"
        )
    root = next((folder for folder in (trial.where, *trial.where.parents) if folder.exists()), Path())
    kept = {kind: arrays for kind, arrays in output.kept.items() if kind not in trial.drop}
    for line in keep.told(kept, trial.images, shutil.disk_usage(root).free, model.keep):
        print(line)


def _check_is_a_map(name: str, answer: Answer, shown: np.ndarray) -> None:
    """Raise ModelError if a network gives one answer for a whole image (3, H, W) that is larger than one
    output position of any segmentation network.
    """
    said = next(
        (values for values in (answer.scores, *answer.members, answer.labels) if values is not None), None
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
        (answer,) = model.run([model.prepare(np.zeros((size[1], size[0], 3), np.uint8), size)])
        if isinstance(answer, str):
            raise ModelError(answer)
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
