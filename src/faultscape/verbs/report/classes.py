"""Gather the facts of a page about classifiers: pairs of them, or images drawn for all of them.

Conventions: ``common`` is what every page shows. An image that is missing or cannot be read is shown as a
placeholder with its id.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.comparison import semantic_distances
from faultscape.comparison.distance_definitions import class_hierarchy
from faultscape.corpus.photos import read_photo
from faultscape.errors import FaultscapeError, ImageError
from faultscape.labelling.answers import majority
from faultscape.nouns import Classes, Definition, Predictions, Slots
from faultscape.progress import progress
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.study import Study
from faultscape.reporting.competition import class_cards, references
from faultscape.reporting.competition.class_cards import ClassCard
from faultscape.reporting.competition.page import DrawFacts, Facts, PairFacts
from faultscape.reporting.pictures import ROOM, Room, fit, photo_uri
from faultscape.study.tables.corpus import Image
from faultscape.verbs.report.maps import pictured
from faultscape.verbs.report.sections import sections_of_classifiers

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions

_CHARACTERS, _AN_ANSWER = 700, 150  # characters per pair and per answer on the page


def class_facts(study: Study, common: Facts, options: ReportOptions, *, pairs: bool) -> PairFacts | DrawFacts:
    """Return the facts of a page about classifiers: of pairs, or of draws."""
    slots = common.slots
    classes = common.classes
    known = [m for m in slots.models if m in study.models]
    said = read_predictions(study, known, list(slots.images))
    if len(known) < len(slots.models):
        said = _filled(said, slots.models)
    correct = {image: common.values[:, k] for k, image in enumerate(common.labelled)}
    truths = _truths(study, common.truth, list(slots.images))
    way = _ways(classes, slots.definition) if pairs else lambda _a, _b: ()
    cards, left_out = class_cards.class_cards(slots.pairs or slots.draws, said, correct, truths, way)
    by_id = study.image_rows if cards else {}
    text = sum(_CHARACTERS * (1 + len(card.met)) + _AN_ANSWER * len(card.answers) for card in cards)
    room = Room(max(ROOM - text, 0))  # text has priority
    found = references.find(options.reference_images, classes) if options.reference_images else {}
    shown = pictured(found, _chosen_for(slots, said), by_id, room)
    _photos(cards, by_id, options.thumbnail, room)
    more: dict[str, Any] = {
        "references": shown,
        "pictures_left_out": room.left_out,
        "images_left_out": left_out,
        "sections": sections_of_classifiers(study, common, said, by_id or study.image_rows),
    }
    if pairs:
        return PairFacts(**(vars(common) | more), cards=cards, groups=study.groups)
    return DrawFacts(**(vars(common) | more), classifies=True, class_cards=cards)


def _filled(said: Predictions, models: tuple[str, ...]) -> Predictions:
    """Return the answers of all models, empty for models that are no longer in the study."""
    row = [said.models.index(m) if m in said.models else -1 for m in models]
    labels = np.vstack([said.labels, np.full((1, len(said.images)), -1, said.labels.dtype)])[row]
    sure = np.vstack([said.probabilities, np.full((1, len(said.images)), np.nan, said.probabilities.dtype)])[
        row
    ]
    return Predictions(said.classes, models, said.images, labels, sure)


def _truths(study: Study, truth: str, images: list[str]) -> dict[str, str]:
    """Return a text for the label of each image: its classes, or the answers to the questions about it."""
    names = study.classes.names
    out = {}
    words = {True: "yes", False: "no", None: "undecided"}
    asked: dict[str, list[str]] = {}
    for (image, class_), verdict in sorted(majority(study.answers.answers(truth)).items()):
        asked.setdefault(image, []).append(f"{class_}? {words[verdict]}")
    sets = read_label_sets(study, truth, images) if truth in study.label_folders else [None] * len(images)
    for image, places in zip(images, sets, strict=True):
        if places is not None:
            out[image] = " or ".join(names[k] for k in sorted(places)) or "none of the classes"
        elif image in asked:
            out[image] = "; ".join(asked[image])
    return out


def _ways(classes: Classes, definition: Definition) -> Callable[[str, str], tuple[str, ...]]:
    """Return a function from two labels to the path in the hierarchy that gives their distance; empty without
    a hierarchy.
    """
    if definition.get("distance") != "wordnet":
        return lambda _a, _b: ()
    try:
        found = class_hierarchy(classes, definition.get("hierarchy"))
    except (FaultscapeError, OSError):  # its file is gone, but the selection holds the distances
        found = None
    if found is None:
        return lambda _a, _b: ()
    hierarchy, places = found
    at = dict(zip(classes.names, (int(p) for p in places), strict=True))

    @functools.cache
    def way(first: str, second: str) -> tuple[str, ...]:
        if first not in at or second not in at:
            return ()
        return semantic_distances.word_path(hierarchy, at[first], at[second])

    return way


def _chosen_for(slots: Slots, said: Predictions) -> Callable[[str], list[tuple[str, str]]]:
    """Return a function from a class to the chosen images that some model assigns to it, the largest distance
    first.
    """
    of: dict[str, dict[str, str]] = {}
    if slots.pairs:
        for row in sorted(slots.pairs, key=lambda row: (-row.distance, row.step)):
            caption = f"{row.model_a}: {row.label_a}; {row.model_b}: {row.label_b}"
            for name in (row.label_a, row.label_b):
                of.setdefault(name, {}).setdefault(row.image, caption)
    else:
        for k, image in enumerate(said.images):
            for j, place in enumerate(said.labels[:, k].tolist()):
                if place >= 0:
                    name = said.classes.names[place]
                    of.setdefault(name, {}).setdefault(image, f"{said.models[j]}: {name}")
    return lambda name: list(of.get(name, {}).items())


def _photos(cards: list[ClassCard], by_id: dict[str, Image], longest: int, room: Room) -> None:
    """Add images to the cards that have any."""
    pictured = [card for card in cards if card.image in by_id and by_id[card.image].source]
    with progress("pictures", len(pictured)) as tick:
        for card in pictured:
            try:
                rgb = read_photo(by_id[card.image])[0]
                card.width, card.height = fit(rgb.shape[1], rgb.shape[0], longest)
                card.photo = room.take(photo_uri(rgb, (card.width, card.height)))
            except ImageError:
                card.photo = ""
            tick(1)
