"""A model that is a folder of logits or probabilities, one file an image.

Conventions: scores are handled as those of a network: resized bilinearly to the working size, then the
largest class, ties to the first; scorers and what is kept are made from them in the same way. Labels are the
same for logits and for probabilities, so no one has to say which they are; where doubt, confidence or
probabilities are wanted, each file has to show it by its values (`formats.class_scores`). Channels are in the
order of the class list, or mean what ``--labels`` says. Scores may have any size in the image's proportions;
another one needs ``resize_maps``.

``path`` is the file of the scores of an image.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import cast

import numpy as np

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.shard_files import ShardFiles, match_shards
from faultscape.corpus.sources import LISTS, MAP_ENDINGS, in_list
from faultscape.corpus.walks import each_folder
from faultscape.errors import FaultscapeError, LabelMapError, ModelError, OptionError
from faultscape.formats.class_scores import SCORE_FILES, holds_scores, kind_of, read_class_scores
from faultscape.metrics.scorers import offset_of, scorer_named
from faultscape.prediction.batches import NO_MAP, Batch, Look, Row
from faultscape.prediction.inference import Inference, Output
from faultscape.prediction.keep import Keep, doubt_folder
from faultscape.prediction.networks import keep_of, row_of_output
from faultscape.prediction.source import Opening, OpenModel, Origin, Part, Request, Source
from faultscape.prediction.sources.folder import check_size, fingerprint
from faultscape.prediction.sources.network import Answer, Network
from faultscape.prediction.sources.torch_network import is_classes_last
from faultscape.study.parts import key_of
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.tables.corpus import Image

OPTIONS = ("pattern", "resize_maps", "unmapped", "keep", "scorer", "offsets")
WRITTEN = tuple(sorted(SCORE_FILES))
_PICTURES = MAP_ENDINGS - SCORE_FILES
_BATCH = 8
_FIRST = 256
_RESIZE = "resize_maps"


@dataclass(frozen=True)
class _Channels:
    """How many channels the scores have, in the form in which networks say it."""

    channels: int | None
    class_names: list[str]


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a folder, or a list, of files of scores; label maps in it come first.

    >>> recognised(".", "segmentation")
    False
    """
    del task
    path = Path(source)
    if path.suffix.lower() in LISTS and path.is_file():
        with suppress(FaultscapeError):
            return holds_scores(next(iter(in_list(path)), ""))
    if not path.is_dir() or (path / "labels").is_dir():
        return False
    first = ""
    for above, names in each_folder(path):
        least = ""
        for name in names:
            ending = os.path.splitext(name)[1].lower()
            if ending in _PICTURES:
                return False
            if not first and ending in SCORE_FILES:
                least = min(least or name, name)
        first = first or (least and os.path.join(above, least))
    return bool(first) and holds_scores(first)


class OpenScores(OpenModel):
    """A folder of scores, read file by file."""

    def __init__(self, opening: Opening, settings: Settings) -> None:
        self._name = opening.source
        self._settings = settings
        self._keep = keep_of(opening.options)
        self._resize = bool(opening.options.get(_RESIZE))
        self._logits = _inference(opening.source, self._keep, marginal=False)
        self._shares = _inference(opening.source, self._keep, marginal=True)
        self._labels = opening.labels
        self._channels = len(opening.labels) or len(settings.class_list)
        self._places = table(settings.class_list, opening.labels)
        self._allowed = allowed(settings.class_list, opening.labels)

    def batch_size(self, images: int) -> int:
        """Return how many files are read before their maps are saved."""
        del images
        return _BATCH

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the maps of the scores in ``part.files``."""
        for batch in batches:
            start = time.perf_counter()
            rows = [self._row(image, part.files.get(image.id), part.look) for image in batch]
            yield Batch(rows, (0.0, 0.0, time.perf_counter() - start, 0.0))

    def output(self, image: Image, path: str) -> Output:
        """Return the labels and what is kept of one file; ModelError or LabelMapError names it."""
        scores = _scores_of(path, image)
        photo = (image.width, image.height)
        if len(scores) != self._channels:
            raise ModelError(
                f"{path}: has {len(scores)} channels; expected {self._channels}; --labels FILE says what"
                " channels mean"
            )
        check_size(path, scores[0], photo, self._settings.working_size, resize_maps=self._resize)
        kind = kind_of(scores)
        if (asked := _of_probabilities(self._keep)) and not kind:
            raise ModelError(
                f"{path}: {_span(scores)}, so it is not certain whether they are logits or probabilities, and"
                f" {asked} depends on it; save logits as the softmax takes them, or its result"
            )
        if self._keep.logits and kind != "logits":
            raise ModelError(
                f"{path}: {_span(scores)}, which are not logits for certain; leave out --keep logits"
            )
        inference = self._shares if kind == "probabilities" else self._logits
        target = self._settings.working_size or photo
        given = Answer(np.ascontiguousarray(scores, np.float32))
        return inference.finish(given, target, image.key.encode())

    def _row(self, image: Image, path: str | None, look: Look | None) -> Row:
        if path is None:
            return Row(image.id, None, problem="" if image.parent else NO_MAP)
        try:
            output = self.output(image, path)
        except FaultscapeError as error:
            return Row(image.id, None, problem=str(error))
        return row_of_output(image, output, path, self._places, self._allowed, look)


def origin(source: Source, request: Request) -> Origin:
    """Return what the maps made of a folder of scores depend on: its files, identified by their sizes and
    times, the working size, and what their channels mean.
    """
    place = request.source
    settings = request.settings
    options = request.options
    if layers := keep_of(options).embeddings:
        raise OptionError(
            f"{request.name}={place}: --keep embedding={layers[0]} needs a network; a folder of scores has no"
            " layers"
        )
    notes = list[str]()
    files = match_shards(
        place,
        request.shards,
        pattern=options.get("pattern"),
        say=notes.append,
        endings=SCORE_FILES,
        folder=request.scratch_folder,
    )
    held = request.held if "labels" in options else {}
    channels = _channels_of(request, files)
    mapping = label_names.of_network(
        request.name,
        _Channels(channels, []),
        settings,
        request.labels,
        held,
        options.get("unmapped", ""),
    )
    opening = Opening(source.name, place, options, mapping)
    offsets = _offsets(OpenScores(opening, settings), options, request, files)
    if offsets:
        options = cast("ModelOptions", {**options, "offsets": offsets})
    about = key_of(options.get(_RESIZE, False), settings.size)
    rules = key_of(mapping, settings.classes.ids, settings.classes.void)
    stamps = {}
    for shard, images in request.shards():
        of_shard = files.get(shard, {})
        mine = [of_shard.get(image.id, "") for image in images]
        stamps[shard] = f"{fingerprint(place, mine)}-{about}:{rules}"
    return Origin(options, mapping, stamps, files, notes=tuple(notes), source=place)


def _inference(name: str, keep: Keep, *, marginal: bool) -> Inference:
    """Return what makes labels and doubt of scores, as of a network that gave them."""
    network = Network(name, {}, {})
    network.marginal = marginal
    return Inference(network, keep=keep)


def _of_probabilities(keep: Keep) -> str:
    """Return what is kept that logits and probabilities give in different ways, as an option; '' if
    nothing is.
    """
    if keep.scorers:
        return f"--scorer {keep.scorers[0]}"
    if keep.others:
        return "--measure"
    if keep.confidence:
        return "--keep confidence"
    return "--keep probabilities" if keep.probabilities is not None else ""


def _span(scores: np.ndarray) -> str:
    total = scores.sum(0, dtype=np.float64)
    return (
        f"its values are {scores.min():g} to {scores.max():g}, with sums over the classes of"
        f" {total.min():.3g} to {total.max():.3g}"
    )


def _scores_of(path: str, image: Image) -> np.ndarray:
    """Return the scores of an image; ModelError if their classes are on the last axis."""
    scores = read_class_scores(path)
    if is_classes_last(scores.shape, (image.height, image.width)):
        tall, wide, classes = scores.shape
        raise ModelError(
            f"{path}: is {tall} x {wide} x {classes}, which is H x W x C; expected classes first, C x H x W:"
            " transpose(2, 0, 1)"
        )
    return scores


def _with_scores(request: Request, files: ShardFiles) -> Iterator[tuple[Image, str]]:
    """Yield the images that have a file, and its path, in an order that does not depend on names; the first
    are mostly enough, so a few are looked for at a time.
    """

    def later(than: tuple[str, str]) -> Iterator[tuple[tuple[str, str], Image, str]]:
        for shard, images in request.shards():
            mine = files.get(shard, {})
            for image in images:
                if image.id in mine and (place := (image.key, image.id)) > than:
                    yield place, image, mine[image.id]

    last = ("", "")
    while some := nsmallest(_FIRST, later(last), key=lambda found: found[0]):
        yield from ((image, path) for _, image, path in some)
        last = some[-1][0]


def _channels_of(request: Request, files: ShardFiles) -> int:
    """Return the number of channels of the first file that can be read; ModelError if there is none."""
    why = ""
    for image, path in _with_scores(request, files):
        try:
            return len(_scores_of(path, image))
        except ModelError as error:
            why = why or str(error)
    raise ModelError(f"{request.name}={request.source}: none of its files can be used; {why}")


def _offsets(
    model: OpenScores, options: ModelOptions, request: Request, files: ShardFiles
) -> dict[str, float]:
    """Return {scorer: offset} of the unbounded scorers: those recorded before, the others from the first
    image whose scores can be used.
    """
    found = dict(options.get("offsets", {}))
    wanted = [word for word in keep_of(options).scorers if scorer_named(word).most is None]
    wanted = [word for word in wanted if word not in found]
    if not wanted:
        return found
    for image, path in _with_scores(request, files):
        with suppress(ModelError, LabelMapError):
            output = model.output(image, path)
            if output.labels is None:
                continue
            for word in wanted:
                found[word] = offset_of(scorer_named(word), [output.kept[doubt_folder(word)][0]])
            break
    return found
