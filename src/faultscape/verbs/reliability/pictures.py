"""Draw the frames that the card shows: for each model and set of anomalies or of wrong pixels, the best and
worst by average precision, with the model's answers.

Conventions: the scorer is that of the model's own row. Frames of equal average precision are ordered by the
digests of their images, never by name. All images together take about 6 MB; the extremes of each model and
set come first, and frames that no longer fit are counted. Pixels were counted and then dropped, so the model
runs again on these images only, in this process; stored outputs are read instead. A model that differs from
the one that was counted is not run; the images of one that cannot be run are left out, with a note.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from faultscape.classes.class_lists import allowed, narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import FaultscapeError, ImageError, ModelError
from faultscape.maps.resize import nearest
from faultscape.metrics.scorers import rounded, scorer_named
from faultscape.metrics.scores.histogram import places_of
from faultscape.prediction import catalogue, devices, stamps
from faultscape.prediction.networks import OpenNetwork
from faultscape.prediction.source import Opening, Request
from faultscape.reading.image_truths import Judge
from faultscape.reading.maps import StoredMaps
from faultscape.reading.scorers import methods_folder
from faultscape.reading.study import Study
from faultscape.reporting.anomaly_frames import (
    Frame,
    FrameCard,
    FramePicture,
    Ring,
    choose_frames,
    draw_errors,
    draw_frame,
    fit_cards,
)
from faultscape.reporting.pictures import Room, colour_words
from faultscape.reporting.reliability.document import Card
from faultscape.reporting.reliability.page import Facts
from faultscape.reporting.reliability.tables import main_scorer
from faultscape.reporting.reliability.views import scorer_title
from faultscape.study.parts import key_of
from faultscape.study.settings import ModelOptions
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.removed_images import whole_shard
from faultscape.ties import tie_ranks
from faultscape.verbs.predict.pixel_counts import counting_of
from faultscape.verbs.reliability.card import Judgement
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy
from faultscape.verbs.reliability.kept_by_key import KeptByKey
from faultscape.verbs.reliability.numbers import ModelNumbers

_VERSION = 1  # of the drawing: a new number redraws all images
ROOM = 6_000_000  # characters of embedded images
_MANY_CLASSES = 40  # with more, there is no colour legend
_DRAWN = ("objects", "missed", "rings", "pictures", "width", "height")  # fields of a card that are drawn


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A frame to show: its rank among the best or worst, its card without images, its holdout, the shares of
    known pixels, and the key of its images.
    """

    rank: int
    card: FrameCard
    holdout: str
    shares: np.ndarray
    key: str


class Frames:
    """Draws the frames of a study's models."""

    def __init__(self, labelled: LabelledStudy) -> None:
        self._study = labelled.study
        self._judge = Judge(labelled.study, labelled.judged, labelled.holdouts)

    def facts(
        self,
        card: Card,
        found: Judgement,
        models: Sequence[ModelNumbers],
        conditions: Sequence[Condition],
        many: int,
    ) -> Facts:
        """Return what the page shows of the ``many`` best and worst frames of each model and set; nothing for
        0.
        """
        drawn: list[tuple[int, FrameCard]] = []
        notes: list[str] = []
        for model in models if many else ():
            frames, problem = self._of_model(card, found, model, conditions, many)
            drawn += frames
            if problem:
                notes.append(
                    f"{model.name}: images of frames are missing, because the model cannot be run: {problem}"
                )
        order = {id(frame): k for k, (_, frame) in enumerate(drawn)}
        kept, left_out = fit_cards((frame for _, frame in sorted(drawn, key=lambda row: row[0])), Room(ROOM))
        kept.sort(key=lambda frame: order[id(frame)])
        return Facts(kept, left_out, notes, self._colours() if kept else ())

    def _of_model(
        self, card: Card, found: Judgement, model: ModelNumbers, conditions: Sequence[Condition], many: int
    ) -> tuple[list[tuple[int, FrameCard]], str]:
        """Return (rank, frame) of a model, set by set, and why some are missing, or ''."""
        word = main_scorer(card, model.name)
        folder = next((folder for folder, other in model.scorers.items() if other == word), "")
        if not folder:
            return [], ""
        kept = KeptByKey[dict[str, Any]](self._study.root, "pictures", model.name)
        rows = self._study.image_rows
        chosen: list[_Chosen] = []
        drawn: dict[int, FrameCard] = {}
        for condition in conditions:
            images = found.images.get((model.name, word, condition.name), ())
            of_errors = condition.kind in ("clean", "misclassified") and scorer_named(word).tells_errors
            if of_errors:
                labels = set(model.counted(condition))
                images = tuple(id_ for id_ in images if id_ in labels)
            if not (condition.with_anomalies or of_errors) or not images:
                continue
            numbers = model.frames(folder, condition, images)
            ranks = dict(
                zip(
                    images,
                    tie_ranks([rows[i].key for i in images], ids=list(images)).tolist(),
                    strict=True,
                )
            )
            shares = hashlib.sha256(numbers.shares.tobytes()).hexdigest()
            for kind, rank, id_ in choose_frames(numbers.average_precision, ranks, many):
                card_ = FrameCard(
                    condition.name,
                    model.name,
                    scorer_title(word),
                    id_,
                    kind,
                    numbers.average_precision[id_],
                    numbers.anomalous[id_],
                    of_errors=of_errors,
                )
                image = rows[id_]
                counted = model.counts_key(folder, image.shard)
                key = key_of(
                    _VERSION,
                    counted,
                    word,
                    image.key,
                    condition.holdout,
                    shares,
                    self._study.settings.classes.colours,
                    *(["errors"] if of_errors else []),
                )
                if (before := _with_pictures(card_, kept.find(key))) is not None:
                    drawn[len(chosen)] = before
                chosen.append(_Chosen(rank, card_, condition.holdout, numbers.shares, key))
        wanted = dict.fromkeys(one.card.image for k, one in enumerate(chosen) if k not in drawn)
        problem = ""
        try:
            for id_, said in answers_of(self._study, model.name, word, [rows[i] for i in wanted]):
                for k, one in enumerate(chosen):
                    if (
                        one.card.image == id_
                        and k not in drawn
                        and (made := self._draw(one, said)) is not None
                    ):
                        drawn[k] = made
                        whole = asdict(made)
                        kept.add(one.key, {name: whole[name] for name in _DRAWN})
        except FaultscapeError as error:
            problem = str(error)
        kept.write()
        return [(chosen[k].rank, drawn[k]) for k in sorted(drawn)], problem

    def _draw(self, one: _Chosen, said: Answer) -> FrameCard | None:
        """Return a frame's card with its images; None if its labels are gone."""
        size = said.score.shape[1], said.score.shape[0]
        classes = self._study.classes
        for view in self._judge.views(one.card.image, size):
            if view.holdout != one.holdout:
                continue
            if one.card.of_errors and view.semantic is not None:
                nothing = np.zeros(view.semantic.shape, np.uint8)
                frame = Frame(
                    nothing, said.score, one.shares, said.photo, said.prediction, view.semantic, classes
                )
                return draw_errors(one.card, frame)
            if not one.card.of_errors and view.anomaly is not None:
                frame = Frame(
                    view.anomaly, said.score, one.shares, said.photo, said.prediction, view.semantic, classes
                )
                return draw_frame(one.card, frame)
        return None

    def _colours(self) -> list[tuple[str, str]]:
        """Return (class, CSS colour) for the legend of predictions; nothing with very many classes."""
        classes = self._study.classes
        if len(classes) > _MANY_CLASSES:
            return []
        return [*colour_words(classes).items()]


def _with_pictures(card: FrameCard, held: dict[str, Any] | None) -> FrameCard | None:
    """Return a card with the images that were drawn for it before; None without any."""
    if held is None:
        return None
    try:
        rings, pictures = (
            tuple(kind(**one) for one in held[of])
            for kind, of in ((Ring, "rings"), (FramePicture, "pictures"))
        )
        return replace(card, **{**held, "rings": rings, "pictures": pictures})
    except (TypeError, KeyError):
        return None


@dataclass(frozen=True, eq=False)
class Answer:
    """A model's answer on one image, (H, W) at its working size: class indices, and the place of each pixel's
    score; the image (h, w, 3) if it could be read.
    """

    prediction: np.ndarray
    score: np.ndarray
    photo: np.ndarray | None


def answers_of(study: Study, name: str, word: str, images: Sequence[Image]) -> Iterator[tuple[str, Answer]]:
    """Yield (image id, answer) of a model and scorer; ModelError if the model cannot be run, or is not the
    one that was counted.
    """
    settings = study.settings
    ((folder, (word, offset, channels)),) = counting_of(settings, name, "", [word]).scorers.items()
    scorer = scorer_named(word)
    places = narrow(table(study.classes, settings.models[name].labels))
    stored = _stored(study, name, folder, images)
    rest = [image for image in images if image.id not in stored]
    model = _opened(study, name, word, rest) if rest else None
    for image in images:
        size = settings.working_size or (image.width, image.height)
        photo = _photo(image)
        if image.id in stored:
            label_map, doubt = stored[image.id]
        else:
            if photo is None:
                continue
            assert model is not None
            with devices.fixed_threads(model.threads):
                prepared = model.inference.prepare(photo, size)
                output = model.inference.finish(
                    model.inference.run([prepared])[0], prepared.target, image.key.encode()
                )
            if output.labels is None:
                raise ModelError(output.problem)
            label_map = nearest(places[output.labels], size)
            doubt = output.kept[folder][0]
        yield image.id, Answer(label_map, places_of(rounded(scorer, doubt, channels, offset)), photo)


def _photo(image: Image) -> np.ndarray | None:
    try:
        return read_photo(image)[0]
    except ImageError:
        return None


def _stored(
    study: Study, name: str, folder: str, images: Sequence[Image]
) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
    """Return {image id: (map, doubt)} for the images for which both are stored."""
    out = {}
    labels = study.settings.models[name].labels
    values = table(study.classes, labels)
    words = allowed(study.classes, labels)
    where = label_maps.predictions(study.root, name)
    for shard in dict.fromkeys(image.shard for image in images):
        mine = {image.id: image for image in images if image.shard == shard}
        held = outputs.read_some(study.root, name, folder, shard, mine, study.manifest)
        part = study.manifest(where).get(part_name(shard))
        maps = StoredMaps(where, shard, values, words, part.sha256) if held and part else None
        for id_, (doubt, *_) in held.items():
            size = study.settings.working_size or (mine[id_].width, mine[id_].height)
            label_map = maps.read(id_, size) if maps is not None else None
            if label_map is not None and doubt.shape == (size[1], size[0]):
                out[id_] = (label_map.copy(), doubt)
    return out


def _opened(study: Study, name: str, word: str, images: Sequence[Image]) -> OpenNetwork:
    """Open a model of the study as for the shards of some images; ModelError if it has changed since."""
    root = study.root
    settings = study.settings
    model = settings.models[name]
    kind = catalogue.kind_named(model.kind)
    if not kind.sees_images:
        raise ModelError(f"a {kind.called} cannot be run again")
    if not kind.there(model.source):
        raise ModelError(f"{model.source}: there is no such folder or file")
    options = cast("ModelOptions", {**model.options, "scorer": [word], "keep": []})
    shards = sorted({image.shard for image in images})
    request = Request(
        name,
        model.source,
        settings,
        lambda: [(k, whole_shard(root, k)) for k in shards],
        options,
        None,
        model.labels,
        methods=str(methods_folder(root, name)),
    )
    origin = kind.origin(kind, request)
    held = label_maps.stamps_of(label_maps.predictions(root, name))
    if any(
        stamps.outdated(held.get(part_name(k), ""), stamp, refused=False)
        for k, stamp in origin.stamps.items()
    ):
        raise ModelError("the model or its options changed since it was counted")
    opened = origin.opened or kind.open(
        Opening(
            kind.name,
            origin.source or model.source,
            options,
            model.labels,
            "",
            origin.digest,
            methods=str(methods_folder(root, name)),
        ),
        settings,
    )
    if not isinstance(opened, OpenNetwork):
        raise ModelError(f"a {kind.called} cannot be run again")
    return opened
