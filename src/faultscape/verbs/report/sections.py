"""Build the sections of a report, one per model: what the selection's labelled images show about it, with
images.

Conventions: images are read one shard at a time, with only the maps that are needed. Confusions and regions
come from at most ``COUNTED`` labelled images, the first by tie-breaking rank. Images have their own room. If
fewer than ``LEAST`` images are labelled with a map, people's choices decide which images are the worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError
from faultscape.nouns import Classes, Predictions
from faultscape.progress import progress
from faultscape.reading import choices as choice_evidence
from faultscape.reading.evidence import true_classes
from faultscape.reading.maps import ShardMaps
from faultscape.reading.study import Study
from faultscape.reporting.competition import model_sections
from faultscape.reporting.competition.model_sections import LEAST, Box, ModelSections, Shot, Tally
from faultscape.reporting.competition.page import CALLED, Facts
from faultscape.reporting.pictures import Room, fit, map_uri, photo_uri
from faultscape.reporting.reliability.document import Card
from faultscape.reporting.reliability.tables import views_of
from faultscape.reporting.view import Mark
from faultscape.selection.definitions import draws_evenly
from faultscape.study.tables.corpus import Image, shards
from faultscape.ties import tie_ranks, tie_seed
from faultscape.verbs.reliability.artefact import RELIABILITY

Wanted = tuple[int, tuple[int, int] | None]  # a model, and a confusion or None (the whole image)
COUNTED = 100  # labelled images whose pixels and regions are counted
_ROOM = 3_000_000  # characters of embedded images
_LONGEST = 240  # pixels of an image's longer side


def sections_of_maps(study: Study, common: Facts, by_id: Mapping[str, Image]) -> ModelSections | None:
    """Return the sections of segmentation models; None if nothing is known about any."""
    models = common.slots.models
    images = common.labelled
    values = common.values
    by = "labels"
    if len(images) < LEAST and (chosen := _by_choices(study, common)) is not None:
        images, values, by = *chosen, "choices"
    metric = common.slots.definition.get("concordance", "miou")
    called = "share of choices won" if by == "choices" else CALLED.get(metric, metric)
    made = model_sections.sections(models, values, value=called, by=by)
    made = _with_card(study, replace(made, chosen=not draws_evenly(common.slots.definition)))
    if images and all(model in study.models for model in models):
        ranks = _ranks(common, by_id, images)
        found = _Evidence(study, models, common.truth, by_id, images, values, ranks)
        made = _with_pictures(found, made)
    return made if any(one.images or one.card for one in made.models) else None


def sections_of_classifiers(
    study: Study, common: Facts, said: Predictions, by_id: Mapping[str, Image]
) -> ModelSections | None:
    """Return the sections of classifiers; None if nothing is known about any."""
    column = {image: k for k, image in enumerate(said.images)}
    at = [column[image] for image in common.labelled]
    mine = Predictions(
        said.classes, said.models, tuple(common.labelled), said.labels[:, at], said.probabilities[:, at]
    )
    truths = true_classes(study, common.truth, common.labelled) if common.labelled else {}
    ranks = _ranks(common, by_id, common.labelled)
    made = model_sections.sections(common.slots.models, common.values, value="accuracy", classifies=True)
    room = Room(_ROOM)
    out = []
    for j, one in enumerate(made.models):
        if one.too_few:
            out.append(one)
            continue
        worst = model_sections.wrong_answers(mine, common.values[j], truths, j, ranks)
        found = model_sections.class_confusions(mine, truths, j, ranks)
        out.append(
            replace(
                one,
                worst=tuple(_with_photo(shot, by_id, room) for shot in worst),
                counted=len(truths),
                confusions=tuple(replace(c, example=_with_photo(c.example, by_id, room)) for c in found),
            )
        )
    chosen = not draws_evenly(common.slots.definition)
    made = replace(made, models=tuple(out), left_out=room.left_out, chosen=chosen)
    return made if any(one.images for one in made.models) else None


def _by_choices(study: Study, common: Facts) -> tuple[list[str], np.ndarray] | None:
    """Return the images with choices, and the share of choices that each model won there; None without
    choices.
    """
    if not common.truth:
        return None
    models = common.slots.models
    kept, _ = choice_evidence.counting(study, common.truth, models, study.discarded)
    shares = choice_evidence.shares(kept)
    images = sorted({image for image, _, _ in shares} & set(common.slots.images))
    return (images, choice_evidence.image_values(shares, images, models)) if images else None


def _ranks(common: Facts, by_id: Mapping[str, Image], images: Sequence[str]) -> np.ndarray:
    """Return the tie-breaking ranks of images, by id for those that left the corpus."""
    keys = [by_id[image].key if image in by_id else image for image in images]
    return tie_ranks(keys, tie_seed(common.slots.definition), images)


def _with_card(study: Study, made: ModelSections) -> ModelSections:
    """Return sections with each model's row of the reliability card, if the study has one."""
    if (card := study.document(RELIABILITY.path(study))) is None:
        return made
    rows = card_rows(cast("Card", card))
    models = tuple(replace(one, card=tuple(rows.get(one.model, ()))) for one in made.models)
    return replace(made, models=models, stale_card=not RELIABILITY.is_done(study))


def card_rows(card: Card) -> dict[str, list[tuple[str, Mark]]]:
    """Return {model: the titled numbers of its row} of a card; {} for one written by a different version."""
    out: dict[str, list[tuple[str, Mark]]] = {}
    try:
        view = next((view for view in views_of(card) if view.name == "models"), None)
        for row in view.rows if view else ():
            for column, m in zip(view.columns if view else (), row.marks, strict=True):
                if m.value is not None:
                    part = f" ({m.share[0]} of {m.share[1]} sets)" if m.share else ""
                    found = Mark(float(m.value), m.low, m.high)
                    out.setdefault(row.model, []).append((f"{column.title}{part}", found))
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return out


@dataclass(frozen=True)
class _Evidence:
    """The inputs of sections: images, (J, I) values of the models on them, and ranks for ties."""

    study: Study
    models: Sequence[str]
    truth: str
    by_id: Mapping[str, Image]
    images: Sequence[str]
    values: np.ndarray
    ranks: np.ndarray


def _with_pictures(found: _Evidence, made: ModelSections) -> ModelSections:
    """Return sections with the worst images and the confusions of each model, drawn."""
    tally = _counted(found) if made.by == "labels" else Tally(found.models, found.study.classes)
    shown = [j for j, one in enumerate(made.models) if not one.too_few]
    worst = {j: model_sections.worst_places(found.values[j], found.ranks) for j in shown}
    confused = {j: tally.confusions(j) for j in shown}
    wanted: dict[str, list[Wanted]] = {}
    for j in shown:
        for k in worst[j]:
            wanted.setdefault(found.images[k], []).append((j, None))
        for pair in confused[j]:
            wanted.setdefault(found.images[int(tally.example[j, *pair])], []).append((j, pair))
    room = Room(_ROOM)
    drawn = _drawn(found, wanted, room, with_truth=made.by == "labels")
    out = []
    for j, one in enumerate(made.models):
        shots = [drawn.get((j, None, found.images[k]), Shot(found.images[k])) for k in worst.get(j, ())]
        examples = {pair: found.images[int(tally.example[j, *pair])] for pair in confused.get(j, ())}
        out.append(
            replace(
                one,
                worst=tuple(
                    replace(shot, says=f"{found.values[j, k]:.2f}")
                    for shot, k in zip(shots, worst.get(j, ()), strict=True)
                ),
                counted=int(tally.counted[j]),
                confusions=tuple(
                    tally.confusion(j, pair, drawn.get((j, pair, image), Shot(image)))
                    for pair, image in examples.items()
                ),
                regions=None if one.too_few else tally.region_errors(j),
            )
        )
    return replace(made, models=tuple(out), left_out=room.left_out)


def _counted(found: _Evidence) -> Tally:
    """Return the confusions and regions of all models on the first labelled images."""
    tally = Tally(found.models, found.study.classes)
    place = {image: k for k, image in enumerate(found.images)}
    first = {found.images[k] for k in np.argsort(found.ranks, kind="stable")[:COUNTED].tolist()}
    rows = [found.by_id[image] for image in found.images if image in first and image in found.by_id]
    with progress("confusions", len(rows)) as tick:
        for maps, images in _each_shard(found, rows, found.truth):
            for image in images:
                if (truth := maps.truth(image.id)) is not None:
                    tally.take(place[image.id], truth, [maps.of(m, image.id) for m in found.models])
                tick(1)
    return tally


def _drawn(
    found: _Evidence, wanted: Mapping[str, Sequence[Wanted]], room: Room, *, with_truth: bool
) -> dict[tuple[int, tuple[int, int] | None, str], Shot]:
    """Return the views ``wanted`` of each image: whole, or of a confusion."""
    out: dict[tuple[int, tuple[int, int] | None, str], Shot] = {}
    rows = [image for id_, image in found.by_id.items() if id_ in wanted]
    with progress("examples", len(rows)) as tick:
        for maps, images in _each_shard(found, rows, found.truth if with_truth else ""):
            for image in images:
                drawing = _Drawing(image, maps, found.study.classes, room)
                for j, pair in wanted[image.id]:
                    model = found.models[j]
                    out[j, pair, image.id] = (
                        drawing.worst(model) if pair is None else drawing.confusion(model, pair)
                    )
                tick(1)
    return out


def _each_shard(
    found: _Evidence, images: Sequence[Image], truth: str
) -> Iterator[tuple[ShardMaps, list[Image]]]:
    """Yield the maps and images of one shard after the other."""
    for rows in shards(list(images)).values():
        yield ShardMaps(found.study, found.models, truth, rows), rows


class _Drawing:
    """The views of one image, each made once."""

    def __init__(self, image: Image, maps: ShardMaps, classes: Classes, room: Room) -> None:
        self._image = image
        self._maps = maps
        self._classes = classes
        self._room = room
        self._size = fit(image.width, image.height, _LONGEST)
        self._photo = _photo(image)

    def worst(self, model: str) -> Shot:
        """Return an image with its truth and a model's map."""
        shot = self._whole()
        truth = self._maps.truth(self._image.id)
        seen = self._maps.of(model, self._image.id)
        return replace(shot, truth=self._map(truth), map=self._map(seen))

    def confusion(self, model: str, pair: tuple[int, int]) -> Shot:
        """Return an image with a close-up of a confusion: image, truth and map."""
        shot = self._whole()
        truth = self._maps.truth(self._image.id)
        seen = self._maps.of(model, self._image.id)
        if truth is None or seen is None:
            return shot
        box = model_sections.confusion_box(truth, seen, pair)
        size = fit(box[2] - box[0], box[3] - box[1], _LONGEST)
        size = (max(size[0], 1) * _LONGEST // max(size), max(size[1], 1) * _LONGEST // max(size))
        close = (
            self._crop(box, truth.shape, size),
            self._map(truth[box[1] : box[3], box[0] : box[2]], size),
            self._map(seen[box[1] : box[3], box[0] : box[2]], size),
        )
        height, width = truth.shape
        part = (box[0] / width, box[1] / height, (box[2] - box[0]) / width, (box[3] - box[1]) / height)
        return replace(shot, box=tuple(round(100 * x, 2) for x in part), close=close, close_size=size)

    def _whole(self) -> Shot:
        uri = "" if self._photo is None else self._room.take(photo_uri(self._photo, self._size))
        return Shot(self._image.id, "", uri, "", "", *self._size)

    def _map(self, label_map: np.ndarray | None, size: tuple[int, int] | None = None) -> str:
        if label_map is None:
            return ""
        return self._room.take(map_uri(np.ascontiguousarray(label_map), self._classes, size or self._size))

    def _crop(self, box: Box, shape: tuple[int, ...], size: tuple[int, int]) -> str:
        if self._photo is None:
            return ""
        high = self._photo.shape[0] / shape[0]
        wide = self._photo.shape[1] / shape[1]
        rows = slice(int(box[1] * high), max(round(box[3] * high), int(box[1] * high) + 1))
        columns = slice(int(box[0] * wide), max(round(box[2] * wide), int(box[0] * wide) + 1))
        return self._room.take(photo_uri(self._photo[rows, columns], size))


def _photo(image: Image) -> np.ndarray | None:
    """Return the pixels of an image; None if it has no readable file."""
    try:
        return read_photo(image)[0] if image.source else None
    except ImageError:
        return None


def _with_photo(shot: Shot, by_id: Mapping[str, Image], room: Room) -> Shot:
    image = by_id.get(shot.image)
    rgb = None if image is None else _photo(image)
    if rgb is None:
        return shot
    width, height = fit(rgb.shape[1], rgb.shape[0], _LONGEST)
    return replace(shot, photo=room.take(photo_uri(rgb, (width, height))), width=width, height=height)
