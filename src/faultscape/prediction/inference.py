"""From images to labels with any network: prepare, run in batches of one shape, resize.

Conventions: the order is always: scores of windows -> merged -> mean of views -> bilinear to the wanted size
-> softmax where probabilities are requested -> largest, ties to the first class. Labels that a network
outputs are resized by nearest neighbour. A batch that fails is run again in halves, so that one bad image
does not affect the others.

Networks that classify whole images: how images are shown to them, and what is kept of their answers.

Conventions: a central square is shown, ``crop`` of the image's shorter side (the whole image without --crop),
at the network's size (224 x 224 by default). Logits of mirrored and scaled views are averaged, then softmax;
the likeliest classes are kept with their probabilities, ties to the first class. A network that returns only
labels gives no confidence.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from faultscape.errors import FaultscapeError, ModelError, OptionError
from faultscape.maps import class_answers, winners
from faultscape.maps.resize import nearest
from faultscape.metrics.pixel_facts import PixelFacts, facts_of, facts_of_members
from faultscape.metrics.scorers import plain_name
from faultscape.metrics.scores.trained_doubt import class_share, differential_entropy, outlier_share
from faultscape.prediction import doubt_methods
from faultscape.prediction.keep import Arrays, Keep, doubts, folder_of, needs_members
from faultscape.prediction.merge import Merged, Window, places
from faultscape.prediction.sources.network import OUTLIER, Answer, Network, Size

if TYPE_CHECKING:
    from faultscape.uncertainty.methods.method import Fitted

_PLAIN = Keep()
NAN = "the network gave NaN"
VOID = "void"
DIFFERENTIAL = "differential-entropy"
SIZE = (224, 224)
TOP = 5  # classes kept of an answer, unless --keep probabilities=K sets another number


@dataclass(frozen=True)
class Way:
    """How images are shown to a network: whole at ``size``, in windows, also mirrored, at several scales;
    sizes are (width, height).
    """

    size: Size | None = None
    window: Size | None = None
    stride: Size | None = None
    flip: bool = False
    scales: tuple[float, ...] = (1.0,)

    @property
    def plain(self) -> bool:
        """Whether each image is one input."""
        return self.window is None and not self.flip and self.scales == (1.0,)


@dataclass(frozen=True)
class Prepared:
    """An image as the inputs of its views, the size at which its labels are wanted, and the image as each
    backbone of fitted methods sees it.
    """

    views: tuple[np.ndarray, ...]
    target: Size
    beside: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Output:
    """One image's result: labels (H, W), or a classifier's one label, and the kept arrays by folder, or the
    problem.
    """

    labels: np.ndarray | None
    kept: dict[str, Arrays] = field(default_factory=dict)
    problem: str = ""
    answer: bytes = b""  # the code of a classifier's answer

    @property
    def confidence(self) -> np.ndarray | None:
        """The probability of the largest class, 255 = 1, if kept."""
        return self.kept["confidence"][0] if "confidence" in self.kept else None


@dataclass
class Spent:
    """Seconds that some images took in the network and in all methods fitted to it, and in each of the
    ``methods`` alone.
    """

    network: float = 0.0
    fitted: float = 0.0
    methods: dict[str, float] = field(default_factory=dict)


class Inference:
    """A network and how images are shown to it; its methods may run in several threads at once. ``warm`` says
    whether it has run before.

    ``temperature`` divides its scores and those of its members: one number, or one per class. ``methods`` are
    those fitted to it, {word: method}, which score pixels in addition to its scorers; they see scores before
    the division by temperature.
    """

    def __init__(
        self,
        network: Network,
        way: Way | None = None,
        keep: Keep = _PLAIN,
        temperature: Sequence[float] = (),
        methods: Mapping[str, Fitted] = {},
    ) -> None:
        # a network may specify the windows it was made for
        way = way or Way()
        own = network.window
        if own and way.window is None:
            way = replace(way, window=own, stride=way.stride or network.stride)
        self.network = network
        self.way = way
        self.keep = keep
        self.warm = False
        self.methods = methods
        self._backbones = doubt_methods.by_backbone(methods)
        apart = {word for some in self._backbones.values() for word in some}
        self._tapping = {word: method for word, method in methods.items() if word not in apart}
        doubt_methods.share_searches(methods)
        doubt_methods.show_again(methods, network)
        self.layers = (
            *keep.embeddings,
            *(layer for layer in doubt_methods.layers_of(methods) if layer not in keep.embeddings),
        )
        self._temperature = np.asarray(temperature, np.float32)[:, None, None] if len(temperature) else None
        self._last = threading.local()
        self._batch = network.batch
        # the size of its input, if that is fixed
        self._only = network.fixed
        shown = self.way.window or (self._only if self.way.scales == (1.0,) else None)
        if self._only and shown != self._only:
            wide, tall = self._only
            raise OptionError(
                f"{network.name}: only takes images of {wide}x{tall}; leave out --scales, and leave out"
                f" --window or set it to {wide}x{tall}"
            )
        if keep.embeddings and not self.way.plain:
            raise OptionError("--keep embedding needs whole images: leave out --window, --flip and --scales")

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return self.network.name

    @property
    def batch(self) -> int:
        """The number of images run at once."""
        return self.network.batch

    def predict(self, photos: Sequence[np.ndarray], sizes: Sequence[Size] | None = None) -> list[Output]:
        """Return one Output for each image (H, W, 3) uint8, its labels at its (width, height), by default the
        image's own.
        """
        sizes = sizes or [(photo.shape[1], photo.shape[0]) for photo in photos]
        prepared = [self.prepare(photo, size) for photo, size in zip(photos, sizes, strict=True)]
        return [
            self.finish(found, item.target) for found, item in zip(self.run(prepared), prepared, strict=True)
        ]

    def prepare(self, photo: np.ndarray, target: Size) -> Prepared:
        """Return an image's inputs; may run in any thread."""
        views = []
        for scale in self.way.scales:
            size = self.way.size
            if scale != 1 or (self.way.window and size is None):
                width, height = size or target
                size = (max(1, round(width * scale)), max(1, round(height * scale)))
            view = self.network.prepare(photo, target, size)
            if self._only and (view.shape[2] < self._only[0] or view.shape[1] < self._only[1]):
                raise ModelError(
                    f"{self.network.name}: only takes images of {self._only[0]}x{self._only[1]}, and no"
                    f" window of an image of {view.shape[2]}x{view.shape[1]} has that size; leave out"
                    " --window"
                )
            views += [view, np.ascontiguousarray(view[..., ::-1])] if self.way.flip else [view]
        beside = tuple(backbone.prepare(photo) for backbone in self._backbones)
        return Prepared(tuple(views), target, beside)

    def run(self, prepared: Sequence[Prepared]) -> list[Answer | str]:
        """Return an answer for each image, or its problem as text."""
        self._last.spent = Spent()
        merged: list[Merged] = []
        cut: dict[
            tuple[int, ...], list[tuple[int, int]]
        ] = {}  # which part of which image, by the shape in which it runs
        for k, item in enumerate(prepared):
            parts = [(v, box) for v, view in enumerate(item.views) for box in self._windows(view)]
            sizes = [(view.shape[1], view.shape[2]) for view in item.views]
            layers = bool(self.keep.embeddings)
            apart = needs_members(self.keep)
            merged.append(
                Merged(self.network.name, parts, sizes, mirrored=self.way.flip, layers=layers, apart=apart)
            )
            for place, (v, box) in enumerate(parts):
                cut.setdefault(item.views[v].shape if box is None else (3, *box[2:]), []).append((k, place))
        for jobs in cut.values():
            for first in range(0, len(jobs), self.network.batch):
                self._fold(prepared, merged, jobs[first : first + self.network.batch])
        answers = [one.answer() for one in merged]
        if self._backbones:
            answers = [
                self._with_backbones(item, answer) for item, answer in zip(prepared, answers, strict=True)
            ]
        return [self._scaled(answer) for answer in answers]

    def _with_backbones(self, item: Prepared, answer: Answer | str) -> Answer | str:
        """Return an image's answer with the values of the methods on backbones, or its problem as text."""
        if isinstance(answer, str):
            return answer
        start = time.perf_counter()
        spent = self._last.spent
        try:
            for (backbone, methods), view in zip(self._backbones.items(), item.beside, strict=True):
                answer = doubt_methods.with_backbone(
                    self.network, backbone, methods, view, answer, spent.methods
                )
        except MemoryError:
            return (
                f"{self.name}: one image does not fit into memory of the backbone of its methods; lower the"
                " size in the preprocessor_config.json of a copy of its folder, and fit to that"
            )
        except ModelError as error:
            return str(error)
        finally:
            spent.fitted += time.perf_counter() - start
        return answer

    def _scaled(self, answer: Answer | str) -> Answer | str:
        """Return an answer whose scores are divided by the temperature."""
        if self._temperature is None or isinstance(answer, str):
            return answer
        layers = [layer for layer in (answer.scores, *answer.members) if layer is not None]
        if any(len(self._temperature) not in (1, len(layer)) for layer in layers):
            return (
                f"{self.name}: has temperatures for {len(self._temperature)} classes but {len(layers[0])}"
                " channels; fit it again"
            )
        scores = None if answer.scores is None else answer.scores / self._temperature
        return replace(
            answer, scores=scores, members=tuple(scores_ / self._temperature for scores_ in answer.members)
        )

    @property
    def spent(self) -> Spent:
        """How long the last `run` of this thread took."""
        return self._last.spent

    def finish(self, answer: Answer | str, target: Size, key: bytes = b"") -> Output:
        """Return labels and what is kept of an answer, at the wanted size; ``key`` identifies the image where
        randomness is involved. May run in any thread.
        """
        if isinstance(answer, str):
            return Output(None, problem=answer)
        kept: dict[str, Arrays] = {
            folder_of(layer): (np.asarray(value).astype(np.float16),)
            for layer, value in answer.embeddings.items()
        }
        if (said := answer.confidence) is not None:
            if (
                said.ndim < 2
                or said.size != said.shape[-2] * said.shape[-1]
                or not said.size
                or np.isnan(said).any()
            ):
                wrong = (
                    f"of shape {said.shape}"
                    if said.size and not np.isnan(said).any()
                    else "that is not a number"
                )
                return Output(
                    None,
                    problem=(
                        f"{self.network.name}: returned a confidence {wrong}; expected 0 to 1 per pixel,"
                        " H x W"
                    ),
                )
            share = winners.enlarged(said.reshape(1, *said.shape[-2:]), target)[0]
            kept["confidence"] = (np.rint(np.clip(share, 0, 1) * 255).astype(np.uint8),)
        if answer.scores is None and answer.members:
            return self._of_members(answer, target, key, kept, [self.network.marginal] * len(answer.members))
        if answer.scores is None:
            assert answer.labels is not None
            if self.keep.scorers:
                lacking = "returns labels without logits, which scorers need; leave out --scorer"
                return Output(None, problem=f"{self.network.name}: {lacking}")
            return Output(nearest(answer.labels, target), kept)
        if not answer.scores.size:
            return Output(None, problem=f"{self.network.name}: gave scores of shape {answer.scores.shape}")
        labels = winners.labels(answer.scores, target)
        if labels is None:
            return Output(None, problem=NAN)
        kept |= self.keep.arrays(answer.scores, target, marginal=self.network.marginal, without=kept)
        if not self.keep.scorers and not self.keep.others:
            return Output(labels, kept)
        facts = self._facts(answer, target)
        try:
            kept |= doubts(self.keep, facts, len(answer.scores), key, self._scored(answer, target))
        except FaultscapeError as error:
            return Output(None, problem=f"{self.network.name}: {error}")
        return Output(labels, kept)

    def _facts(self, answer: Answer, target: Size) -> PixelFacts:
        """Return the facts of each pixel's probabilities; for several views, those of their mean logits and
        how the views differ.
        """
        assert answer.scores is not None
        facts = facts_of(answer.scores, target, marginal=self.network.marginal)
        facts = _with_own(facts, answer, target)
        if not answer.members:
            return facts
        apart = facts_of_members(answer.members, target, marginal=self.network.marginal)
        return replace(
            facts,
            expected=apart.expected,
            information=apart.information,
            predictive=apart.entropy,
            members=apart.members,
        )

    def _of_members(
        self, answer: Answer, target: Size, key: bytes, kept: dict[str, Arrays], marginal: Sequence[bool]
    ) -> Output:
        """Return labels and what is kept of the mean of members' probabilities, for an answer without scores
        of its own.
        """
        if any(map(winners.holds_nan, answer.members)):
            return Output(None, problem=NAN)
        if self.keep.logits:
            return Output(
                None,
                problem=(f"{self.name}: averages probabilities of its members, so it has no logits to keep"),
            )
        facts = facts_of_members(answer.members, target, marginal=marginal)
        facts = _with_own(facts, answer, target)
        assert facts.labels is not None
        try:
            kept = kept | doubts(self.keep, facts, len(answer.members[0]), key, self._scored(answer, target))
        except FaultscapeError as error:
            return Output(None, problem=f"{self.name}: {error}")
        if self.keep.confidence and "confidence" not in kept:
            kept["confidence"] = (np.rint(facts.winner * 255).astype(np.uint8),)
        if (few := self.keep.probabilities) is not None:
            total: Any = 0
            for scores, of_marginal in zip(answer.members, marginal, strict=True):
                total = total + winners.probabilities(scores, target, marginal=of_marginal)
            shares = total / np.float32(len(answer.members))
            values, *classes = winners.leading(shares, few) if few else (shares,)
            kept["probabilities"] = (values.astype(np.float16), *classes)
        return Output(facts.labels, kept)

    def _scored(self, answer: Answer, target: Size) -> dict[str, np.ndarray]:
        """Return the scores {word: (H, W)} that are not made from facts of probabilities: those of fitted
        methods, and the doubt that the network was trained to output.
        """
        out = {word: method.score(answer.values[word], target) for word, method in self.methods.items()}
        if wrong := next((word for word, score in out.items() if not np.isfinite(score).all()), None):
            raise ModelError(
                f"its method {plain_name(wrong)} returned NaN or infinity: features are not finite or too"
                " far from those of training images"
            )
        asked = self.keep.scorers
        layers = answer.members if answer.scores is None else (answer.scores,)
        if VOID in asked and VOID in self.network.class_names and not self.network.marginal:
            channel = self.network.class_names.index(VOID)
            out[VOID] = np.mean([class_share(scores, channel, target) for scores in layers], axis=0)
        if DIFFERENTIAL in asked and answer.scores is not None and self.network.dirichlet:
            # a temperature calibrates probabilities, and is not part of the Dirichlet distribution
            undivided = answer.scores if self._temperature is None else answer.scores * self._temperature
            out[DIFFERENTIAL] = differential_entropy(undivided, target)
        return out

    def pieces(self, view: np.ndarray) -> list[tuple[np.ndarray, Window]]:
        """Return the parts of a view (3, H, W) that the network sees, and their windows."""
        whole = (0, 0, *view.shape[1:])
        return [(_cut(view, box), box or whole) for box in self._windows(view)]

    def _windows(self, view: np.ndarray) -> Sequence[Window | None]:
        height, width = view.shape[1:]
        if self.way.window is not None:
            return places(height, width, self.way.window, self.way.stride or self.way.window)
        return self.network.windows(height, width) or [None]

    def _fold(self, prepared: Sequence[Prepared], merged: list[Merged], jobs: list[tuple[int, int]]) -> None:
        """Run parts of one shape and add their answers to those of their images, holding nothing else."""
        parts = [(prepared[k], *merged[k].parts[place]) for k, place in jobs]
        answers = self._together([_cut(item.views[v], box) for item, v, box in parts])
        for (k, place), answer in zip(jobs, answers, strict=True):
            merged[k].add(place, answer)

    def _together(self, inputs: list[np.ndarray]) -> list[Answer | str]:
        """Run inputs of one shape, in halves if memory is short or some of them fail."""
        if len(inputs) > self._batch:
            return self._together(inputs[: self._batch]) + self._together(inputs[self._batch :])
        spent = self._last.spent
        few = False
        try:
            block = np.stack(inputs)
            with _clock(spent, "network"):
                answers = list(self.network.run(block, self.layers))
            if not self._tapping:
                return answers  # type: ignore[return-value]
            with _clock(spent, "fitted"):
                return doubt_methods.with_values(
                    self.network, self._tapping, block, answers, self.keep.embeddings, spent.methods
                )  # type: ignore[return-value]
        except MemoryError:
            few = True
            why = (
                f"{self.network.name}: one image does not fit into memory; process it in parts with"
                " --window WIDTHxHEIGHT"
            )
        except ModelError as error:
            why = str(error)
        if len(inputs) == 1:
            return [why]
        half = (len(inputs) + 1) // 2
        self._batch = half if few else self._batch
        return self._together(inputs[:half]) + self._together(inputs[half:])


@contextmanager
def _clock(spent: Spent, what: Literal["network", "fitted"]) -> Iterator[None]:
    """Add the time that is spent within, also where it fails."""
    start = time.perf_counter()
    try:
        yield
    finally:
        setattr(spent, what, getattr(spent, what) + time.perf_counter() - start)


def _with_own(facts: PixelFacts, answer: Answer, target: Size) -> PixelFacts:
    """Return facts with what a network outputs beside its scores: their variance, the share of an outlier."""
    outlier = outlier_share(answer.values[OUTLIER][0], target) if OUTLIER in answer.values else None
    return replace(facts, variance=_enlarged(answer.variance, target), outlier=outlier)


def _enlarged(values: np.ndarray | None, size: Size) -> np.ndarray | None:
    """Return (h, w) values at a size, bilinearly."""
    return None if values is None else np.array(winners.enlarged(values[None], size)[0])


def _cut(view: np.ndarray, box: Window | None) -> np.ndarray:
    if box is None:
        return view
    top, left, tall, wide = box
    return view[:, top : top + tall, left : left + wide]


class Classifier(Inference):
    """A network that classifies whole images, and how images are shown to it."""

    def __init__(self, network: Network, way: Way, keep: Keep, crop: float = 1.0) -> None:
        if way.window is not None:
            raise OptionError(
                "--window is for label maps; a classifier sees the whole image, or its center with --crop"
            )
        super().__init__(network, way, keep)
        self._crop = crop

    def prepare(self, photo: np.ndarray, target: Size) -> Prepared:
        """Return an image's inputs; ``target`` has no effect here."""
        del target
        return super().prepare(middle(photo, self._crop), SIZE)

    def finish(self, answer: Answer | str, target: Size, key: bytes = b"") -> Output:
        """Return the likeliest classes with their probabilities, and what else is kept."""
        del target
        if isinstance(answer, str):
            return Output(None, problem=answer)
        said = answer.labels if answer.scores is None else answer.scores[0]
        assert said is not None
        if said.shape != (1, 1):
            tall, wide = said.shape
            return Output(
                None,
                problem=(
                    f"{self.network.name}: returned a {wide} x {tall} map; a classifier returns one class"
                    " per image"
                ),
            )
        beside = super().finish(answer, (1, 1), key).kept
        kept = {
            kind: arrays for kind, arrays in beside.items() if kind not in ("confidence", "probabilities")
        }
        if answer.scores is None and self.keep.probabilities is not None:
            return Output(
                None,
                problem=(
                    f"{self.network.name}: returns labels without logits, so probabilities cannot be kept"
                ),
            )
        if answer.scores is None:
            return Output(said, kept, answer=class_answers.encode([int(said[0, 0])]))
        logits = np.asarray(answer.scores, np.float64)[:, 0, 0]
        if np.isnan(logits).any():
            return Output(None, problem=NAN)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        asked = TOP if self.keep.probabilities is None else self.keep.probabilities or len(shares)
        few = min(asked, len(shares), class_answers.MOST)
        order = np.argsort(-shares, kind="stable")[:few]
        return Output(order[:1, None], kept, answer=class_answers.encode(order, shares[order]))


def middle(photo: np.ndarray, crop: float) -> np.ndarray:
    """Return the central square of an (H, W, 3) image with a side of ``crop`` times the shorter one; the
    whole image for 1.

    >>> middle(np.zeros((100, 200, 3), np.uint8), 0.5).shape
    (50, 50, 3)
    """
    if crop >= 1:
        return photo
    height, width = photo.shape[:2]
    side = max(1, round(crop * min(height, width)))
    top = (height - side) // 2
    left = (width - side) // 2
    return photo[top : top + side, left : left + side]
