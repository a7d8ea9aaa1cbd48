"""Withdraw everything that one person said: choices, yes/no answers and answers to points, including those of
training, boxes, tags, and votes to discard.

Conventions: nothing is deleted; new rows withdraw the old ones. Masks, findings in other people's masks and
comments on them stay, as do decided discards.
"""

from __future__ import annotations

from dataclasses import replace

from faultscape.study.answers.boxes import BoxAnswers
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.points import PointAnswers
from faultscape.study.answers.schema import TRAINING
from faultscape.study.answers.tags import Tags


def take_back_all(database: Database, annotator: str, source: str) -> int:
    """Withdraw everything that an annotator said; returns how many answers counted."""
    choices = Choices(database.root, database)
    answers = Answers(database.root, database)
    tags = Tags(database.root, database)
    chosen = [
        one
        for truth in (*choices.truths(), TRAINING)
        for one in choices.choices(truth)
        if one.annotator == annotator
    ]
    choices.take_back(chosen, source)
    answered = 0
    for truth in (*answers.truths(), TRAINING):
        mine = [row[:3] for row in answers.answers(truth) if row[2] == annotator]
        answered += answers.take_back(mine, source, truth)
    points = PointAnswers(database.root, database)
    for truth in (*points.truths(), TRAINING):
        seen = [one for one in points.answers(truth) if one.annotator == annotator]
        answered += points.take_back(seen, source)
    boxes = BoxAnswers(database.root, database)
    for truth in boxes.truths():
        drawn = [one for one in boxes.answers(truth) if one.annotator == annotator]
        answered += boxes.take_back(drawn, source)
    tagged = tags.add_all(
        [replace(one, given=False) for one in tags.tags() if one.annotator == annotator], source
    )
    return len(chosen) + answered + tagged + answers.take_back_votes(annotator, source)
