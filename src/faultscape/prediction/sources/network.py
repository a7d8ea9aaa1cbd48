"""The adapter of every kind of network: it prepares images, and makes answers with scores or labels of what
the network gives.

Conventions: a prepared image is (3, H, W), ready to run; images of one shape run together. Scores are (C, h,
w) float32 of any size: logits, or, for a ``marginal`` network, the sums of class x mask over its queries,
which lie between 0 and the number of queries. A kind of network opens its file and gives `Outputs` for a
block of images; what these may be, and the messages about others, are written here once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from faultscape.errors import ModelError, OptionError, counted
from faultscape.prediction.device_scores import DeviceScores
from faultscape.prediction.inputs import Size, inputs_of, size_of
from faultscape.study.settings import CLASSIFICATION, ModelOptions

BATCH = 8
MEMBERS = "members"
OUTLIER = "outlier"  # the key of an outlier head's logits in an answer's values
CONFIDENCE = "confidence"
# what a network may output besides its logits, and its axes for one image
BESIDE = {MEMBERS: "T x C x h x w", "variance": "h x w", OUTLIER: "h x w"}
_MOST_LABEL = 65535


@dataclass(frozen=True)
class Answer:
    """A network's answer for one prepared image: ``scores`` (C, h, w) or ``labels`` (h, w), and what else was
    requested.

    ``members`` are scores of the same classes that are averaged as probabilities: those of the views of an
    image or of draws, besides the scores, or those of an ensemble or a network with internal members, which
    has no scores of its own. ``variance`` (h, w) is the variance of the logits, if the network provides it.
    ``values`` {method: arrays (K, h, w)} are computed by fitted methods, which score pixels from them.
    """

    scores: np.ndarray | None = None
    labels: np.ndarray | None = None
    confidence: np.ndarray | None = None
    embeddings: dict[str, np.ndarray] = field(default_factory=dict)
    members: tuple[np.ndarray, ...] = ()
    variance: np.ndarray | None = None
    values: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outputs:
    """What a network gave for a block of N images: ``named`` outputs, of which ``main`` is the one with
    logits (N, C, h, w) or labels (N, h, w), (N, C) or (N,) of a classifier, or is among `BESIDE`, if there
    are no logits; and the outputs of ``layers``.
    """

    main: str
    named: Mapping[str, Any]
    layers: Mapping[str, Any] = field(default_factory=dict)


class Network:
    """An open network. Its methods raise ModelError, or MemoryError if fewer images at once may fit.

    ``said`` is what its file or its loader says about its input; ``options`` go before that. ``shape`` is
    that of its input, (N, 3, H, W), None where an axis may have any length: what is fixed goes before both.
    ``whole`` keeps pixels as integers 0..255.
    """

    name = ""  # its name in errors
    batch = BATCH  # prepared images that run at once
    device = "cpu"  # a readable name of where it runs
    score_on = "processor"  # or "device": where labels and scores are made of its logits
    class_names: list[str]  # of its channels; empty if unknown
    # known at the latest after the trial; None if it gives labels
    channels: int | None = None
    marginal = False
    dirichlet = False  # its logits are the logarithms of a Dirichlet distribution's parameters
    notes: tuple[str, ...] = ()  # what its user should know
    weights = ""  # a digest of weights that are not in a file of its source, else ''
    fixed: Size | None = None  # the only size that it takes
    fixed_batch = 0  # the only number of images that it takes
    window: Size | None = None  # those that it was made for
    stride: Size | None = None
    float_labels = False  # labels may be floats: files of ONNX have them
    classifies = False

    def __init__(
        self,
        name: str,
        said: Mapping[str, Any],
        options: ModelOptions,
        device: str = "cpu",
        *,
        shape: Sequence[Any] = (None,) * 4,
        whole: bool = False,
    ) -> None:
        said = {**said, **{key: value for key, value in options.items() if value not in (None, "", [], ())}}
        self.name = name
        self.device = device
        batch, _, height, width = (n if isinstance(n, int) and n > 0 else None for n in shape)
        self.fixed_batch = batch or 0
        self.batch = batch or int(said.get("batch", BATCH))
        self.fixed = (width, height) if width and height else None
        self.inputs = inputs_of(said, name, size=self.fixed, whole=whole)
        self.window = _size(said, name, "window")
        self.stride = _size(said, name, "stride")
        names = said.get("classes") or []
        if isinstance(names, str | bytes) or not isinstance(names, Iterable):
            raise ModelError(f"{name}: its classes are not a list of names: {str(names)[:80]!r}")
        self.class_names = [str(word) for word in names]
        self.dirichlet = said.get("dirichlet") is True
        self.classifies = said.get("task") == CLASSIFICATION

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an (H, W, 3) uint8 image prepared at ``size``, or, if that is None, as the network needs it
        for maps at ``target``; a size fixed in the network overrides any other.
        """
        return self.inputs.prepare(photo, target, size)

    def windows(self, height: int, width: int) -> Sequence[tuple[int, int, int, int]]:
        """Return the (top, left, height, width) of the windows into which it cuts an image itself; none for
        most networks.
        """
        del height, width
        return ()

    def outputs(self, block: np.ndarray, embeddings: Sequence[str]) -> Outputs:
        """Return what the network gives for (N, 3, H, W) prepared images, with the named layers' outputs."""
        raise NotImplementedError

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        """Return an answer for each of (N, 3, H, W) prepared images, with the named layers' outputs."""
        shown = padded_to(block, self.fixed_batch)
        given = self.outputs(shown, embeddings)
        counts = (len(block), len(shown))
        held = {
            name: self._per_image(name, values, counts, BESIDE.get(name, ""))
            for name, values in given.named.items()
        }
        layers = {name: self._per_image(name, values, counts) for name, values in given.layers.items()}
        return self._answers(given.main, held, layers, len(block))

    def _per_image(self, name: str, values: Any, counts: tuple[int, int], axes: str = "") -> Any:
        """Return an output that is numbers with one entry per image on its first axis, and these ``axes``."""
        if (
            isinstance(values, np.ndarray | DeviceScores)
            and values.dtype.kind in "fiub"
            and values.ndim
            and len(values) in counts
        ):
            if axes and (values.ndim != 2 + axes.count("x") or not values.size):
                raise ModelError(
                    f"{self.name}: its output {name!r} has shape {values.shape[1:]} per image; expected"
                    f" {axes}"
                )
            return np.asarray(values, np.float32) if axes and isinstance(values, np.ndarray) else values
        raise ModelError(
            f"{self.name}: its output {name!r} is {described(values)}; expected numbers whose first axis is"
            f" the {counted(counts[0], 'image')} of the batch"
        )

    def _answers(
        self, main: str, held: dict[str, np.ndarray], layers: dict[str, np.ndarray], count: int
    ) -> list[Answer]:
        members, variance, outlier = map(held.get, BESIDE)
        has_logits = main not in BESIDE
        if not has_logits and members is None:
            raise ModelError(f"{self.name}: has a variance but no logits")
        values = held[main] if members is None or has_logits else members[:, 0]
        if self.classifies and values.ndim < 3:  # one answer an image, as if it were of one pixel
            values = np.stack([as_pixel(value) for value in values])
        is_one_channel = values.ndim == 4 and values.shape[1] == 1
        is_labels = values.dtype.kind in "iub" or (self.float_labels and (values.ndim == 3 or is_one_channel))
        if is_labels:
            labels = self._labels(np.asarray(values))
        elif values.ndim != 4:
            raise self.refused(np.asarray(values[0]))
        elif is_one_channel:
            raise self._refused_channel()
        else:
            labels = None
        sure = held.get(CONFIDENCE) if main != CONFIDENCE else None
        answers = []
        for k in range(count):
            answer = Answer(
                confidence=None if sure is None else sure[k].astype(np.float32),
                embeddings={layer: given[k] for layer, given in layers.items()},
            )
            if labels is not None:
                answers.append(replace(answer, labels=labels[k]))
                continue
            scores = _floats(values[k]) if has_logits else None
            answers.append(
                replace(
                    answer,
                    scores=scores,
                    members=() if members is None else tuple(members[k]),
                    variance=None if variance is None else variance[k],
                    values={} if outlier is None else {OUTLIER: (outlier[k][None],)},
                )
            )
        return answers

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """Return labels (N, H, W) without other axes of length one, uint16; floats are accepted if they are
        whole numbers.
        """
        first = np.asarray(values[0])
        height, width = values.shape[-2:] if values.ndim > 2 else (0, 0)
        if not values.size or values[0].size != height * width:
            raise self.refused(first)
        flat = values.reshape(-1, height, width)
        if not (flat.min() >= 0 and flat.max() <= _MOST_LABEL):  # also refuses NaN
            raise self.refused(first, f", {flat.min()} to {flat.max()}")
        if flat.dtype.kind == "f" and (flat != np.rint(flat)).any():
            raise self._refused_channel()
        return flat.astype(np.uint16)

    def refused(self, values: np.ndarray, span: str = "") -> ModelError:
        """Return the error for an answer to one image that is neither labels nor logits."""
        expected = (
            f"one label (a whole number 0 to {_MOST_LABEL}) or logits (C numbers, one per class)"
            if self.classifies
            else f"labels (whole numbers 0 to {_MOST_LABEL}, H x W) or logits (C x H x W)"
        )
        whole = not self.classifies and getattr(values, "ndim", None) == 0
        more = "; one class for a whole image is of --task classification" if whole else ""
        return ModelError(f"{self.name}: returned {described(values)}{span}; expected {expected}{more}")

    def _refused_channel(self) -> ModelError:
        return ModelError(
            f"{self.name}: returned one channel of fractional numbers, whose largest is always class 0;"
            " return one channel per class, or labels"
        )


def _floats(scores: np.ndarray | DeviceScores) -> Any:
    """Return the scores of one image as float32, wherever they are."""
    if isinstance(scores, DeviceScores):
        return scores
    with np.errstate(over="ignore"):  # logits beyond float32 are infinite
        return np.ascontiguousarray(scores, np.float32)


def described(values: Any) -> str:
    """Return what an output is, in words.

    >>> described(np.asarray("cat")), described(np.zeros(3)), described([1])
    ("'cat'", 'float64 of shape (3,)', 'a list')
    """
    if not isinstance(values, np.ndarray):
        return f"a {type(values).__name__}"
    if values.ndim == 0 and values.dtype.kind in "US":
        return repr(values.item())
    return f"{values.dtype} of shape {values.shape}"


def padded_to(block: np.ndarray, count: int) -> np.ndarray:
    """Return a block with its last image repeated up to a count; unchanged if it has that many.

    >>> padded_to(np.zeros((2, 3, 4, 4)), 3).shape
    (3, 3, 4, 4)
    """
    lacking = max(0, count - len(block))
    return np.concatenate([block, np.repeat(block[-1:], lacking, axis=0)]) if lacking else block


def as_pixel(values: np.ndarray) -> np.ndarray:
    """Return a network's output for a whole image, (C,) logits or one label, as if the image were one pixel;
    return anything else unchanged.

    >>> (
    ...     as_pixel(np.zeros(7, np.float32)).shape,
    ...     as_pixel(np.array(3)).shape,
    ...     as_pixel(np.zeros((7, 4, 4), np.float32)).shape,
    ... )
    ((7, 1, 1), (1, 1), (7, 4, 4))
    """
    if values.ndim == 0 or (values.ndim == 1 and values.dtype.kind in "iub" and len(values) == 1):
        return values.reshape(1, 1)
    return values[:, None, None] if values.ndim == 1 else values


def _size(said: Mapping[str, Any], name: str, key: str) -> Size | None:
    try:
        return size_of(said[key], key) if said.get(key) else None
    except OptionError as error:
        raise ModelError(f"{name}: invalid input settings: {error}") from None


@contextmanager
def unchanged(path: str) -> Iterator[None]:
    """Raise ModelError if the file at a path is another one, or was written to, by the end of the block."""
    before = _state(path)
    yield
    if _state(path) != before:
        raise ModelError(f"{path}: changed while it was opened; run the same line again")


def _state(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
