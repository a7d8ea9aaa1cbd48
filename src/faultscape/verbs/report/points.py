"""Gather the facts of a page about points: what was asked and answered, what it says about every class, and
the points that most models get wrong.

Conventions: numbers of classes and confusions are computed from the answers of now; the standings are those
that were written. A point whose image cannot be read is shown without its crop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, RankingError
from faultscape.progress import progress
from faultscape.reading.choices import Voices
from faultscape.reading.points.evidence import PointEvidence, read_point_evidence
from faultscape.reading.points.truths import answers_of
from faultscape.reading.study import Study
from faultscape.reporting.competition.page import Facts, PointFacts
from faultscape.reporting.competition.point_gallery import PointCard, guesses, hardest
from faultscape.reporting.pictures import Room, photo_uri
from faultscape.reporting.point_crops import SIDE, crop_around
from faultscape.study.answers.points import BORDER, classes_seen
from faultscape.verbs.measure.points import read_measures
from faultscape.verbs.rank.artefact import STANDINGS

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions


def point_facts(study: Study, common: Facts, options: ReportOptions) -> PointFacts:
    """Return the facts of a page about points; without sections of numbers where too few are answered."""
    truth = common.truth or study.likely_truth
    count = study.label_count(options.selection, truth)
    facts = PointFacts(
        **vars(common), answered=count.by_people, drawn=len(common.slots.points) - count.masked
    )
    # as the standings count people's answers
    voices = Voices(weighted=bool(STANDINGS.options(study, options.selection).get("weight_annotators")))
    try:
        found = read_point_evidence(study, options.selection, truth, voices=voices, engine="local")
    except RankingError as error:  # it was drawn from other images than the study has now
        return replace(facts, remarks=(*common.remarks, f"{error}"))
    room = Room()
    cards = _cards(study, found, options, truth, room)
    facts = replace(facts, cards=cards, pictures_left_out=room.left_out)
    try:
        return replace(facts, document=read_measures(study, found, options.selection, truth))
    except RankingError:  # too few answers so far, which the page says anyway
        return facts


def _cards(
    study: Study, found: PointEvidence, options: ReportOptions, truth: str, room: Room
) -> list[PointCard]:
    """Return the cards of the points that most models get wrong, with their crops."""
    points = study.selection(options.selection).slots.points
    names = study.classes.names
    said = found.pool.said
    told = np.flatnonzero(found.answered)
    places = [(points[k].image, points[k].pixel) for k in told.tolist()]
    chosen = hardest(said[:, told], found.shares[told], places)
    answers = answers_of(study, truth)
    out = []
    for k in told[chosen].tolist():
        point = points[k]
        answered = Counter(one.answer for one in answers.get((point.image, point.row, point.column), ()))
        words = ", ".join(
            f"{_word(answer, names)}{f' ({n} people)' if n > 1 else ''}"
            for answer, n in answered.most_common()
        )
        guessed = guesses(found.models, said[:, k].tolist(), found.shares[k], names)
        out.append(PointCard(point.image, point.row, point.column, words, guessed))
    return _with_crops(study, out, options.thumbnail, room)


def _word(answer: str, names: tuple[str, ...]) -> str:
    """Return an answer in words.

    >>> _word("road|car", ("road", "car"))
    'border of road and car'
    """
    seen = classes_seen(answer, names) or ()
    return f"border of {' and '.join(seen)}" if len(seen) > 1 else answer.replace(BORDER, " or ")


def _with_crops(study: Study, cards: list[PointCard], longest: int, room: Room) -> list[PointCard]:
    """Return cards with their crops, each image read once."""
    photos = dict[str, np.ndarray | None]()
    out = []
    with progress("crops", len(cards)) as tick:
        for card in cards:
            if card.image not in photos:
                photos[card.image] = _photo(study, card.image)
            out.append(_with_crop(card, photos[card.image], longest, room))
            tick(1)
    return out


def _with_crop(card: PointCard, photo: np.ndarray | None, longest: int, room: Room) -> PointCard:
    if photo is None:
        return card
    crop = crop_around(photo, card.row, card.column, SIDE, longest)
    height, width = crop.shape[:2]
    return replace(card, photo=room.take(photo_uri(crop, (width, height))), width=width, height=height)


def _photo(study: Study, image: str) -> np.ndarray | None:
    """Return the pixels of an image; None if it has no readable file."""
    row = study.image_rows.get(image)
    try:
        return read_photo(row)[0] if row and row.source else None
    except ImageError:
        return None
