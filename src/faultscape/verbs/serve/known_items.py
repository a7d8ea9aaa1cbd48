"""Items with a known answer, which everyone is asked first and then told the expected answer.

Conventions: a CSV file: image, model, other, expected (a model's name, or both good, both bad, not sure) for
choices; image, class, answer (yes, no, unsure) for questions. Training answers count only for a person's
skill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultscape.errors import LabellingError
from faultscape.labelling import answers
from faultscape.study.answers.choices import WORDS
from faultscape.study.answers.schema import TRAINING
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image
from faultscape.verbs.serve.asked_items import ChoiceItem, Item, QuestionItem, item_id


@dataclass(frozen=True)
class TrainingItem:
    """An item and the expected answer: for a choice `first`, `second` or an answer that means neither."""

    item: Item
    expected: str


def read_training(
    path: str, settings: Settings, images: Mapping[str, Image], *, forced: bool = False
) -> list[TrainingItem]:
    """Return the training items of a file in order; for a ``forced`` choice only those that expect a model.
    LabellingError names the file, the line and what is wrong.
    """
    wanted = ("image", "class", "answer") if settings.classifies else ("image", "model", "other", "expected")
    rows, wrong = answers.rows(path, wanted)
    if wrong:
        raise LabellingError(f"{path}, line {wrong[0][0]}: {wrong[0][2]}")
    out = []
    for line, row in rows:
        where = f"{path}, line {line}"
        if row[0] not in images:
            raise LabellingError(f"{where}: {row[0]!r} is not an image of the study")
        out.append(
            _question(where, row, settings) if settings.classifies else _choice(where, row, settings, forced)
        )
    if not out:
        raise LabellingError(f"{path}: contains no training items")
    return out


def _choice(where: str, row: tuple[str, ...], settings: Settings, forced: bool) -> TrainingItem:
    image, model, other, expected = row
    for name in (model, other):
        if name not in settings.models:
            raise LabellingError(
                f"{where}: {name!r} is not a model of the study; available: {', '.join(settings.models)}"
            )
    first, second = sorted((model, other))
    if first == second:
        raise LabellingError(f"{where}: a choice needs two different models")
    said = {first: "first", second: "second"}.get(expected, expected)
    if forced and said not in WORDS[:2]:
        raise LabellingError(
            f"{where}: expected {model} or {other}, the only answers with --forced; got {expected!r}"
        )
    if said not in WORDS[:-1]:
        raise LabellingError(
            f"{where}: expected {model}, {other}, both good, both bad or not sure; got {expected!r}"
        )
    return TrainingItem(ChoiceItem(item_id(TRAINING, image, first, second), image, first, second), said)


def _question(where: str, row: tuple[str, ...], settings: Settings) -> TrainingItem:
    image, class_, answer = row
    if class_ not in settings.classes.names:
        raise LabellingError(f"{where}: {class_!r} is not a class of the study")
    if answer not in answers.WORDS:
        raise LabellingError(f"{where}: the answer {answer!r} is not known; use {', '.join(answers.WORDS)}")
    return TrainingItem(QuestionItem(item_id(TRAINING, image, class_), image, class_), answer)
