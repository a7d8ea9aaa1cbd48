"""The images of a selection on which two models differ, as a person reads them: who says what, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from faultscape.maps.resize import nearest
from faultscape.nouns import Slots
from faultscape.questions.answers import Case
from faultscape.questions.given import Key
from faultscape.reading.study import LABELS, Study


def cases(study: Study, slots: Slots, keys: Mapping[str, Key]) -> tuple[Case, ...]:
    """Return the chosen rows of duels or pairs as cases, the lowest concordance first; rows as good as others
    stay in the order of the selection.
    """
    found = [*_of_maps(study, slots, keys), *_of_answers(study, slots, keys)]
    return tuple(sorted(found, key=lambda case: case.concordance))


def _of_maps(study: Study, slots: Slots, keys: Mapping[str, Key]) -> Iterator[Case]:
    names = [*study.classes.names, "void"]
    truth = study.labels() if slots.duels and LABELS in study.truths else {}
    maps = {model: study.maps(model) for model in slots.models} if slots.duels else {}
    for row in slots.duels:
        mine = maps[row.defender][row.image]
        theirs = nearest(maps[row.attacker][row.image], mine.shape[::-1])
        true = nearest(truth[row.image], mine.shape[::-1]) if row.image in truth else None
        yield Case(
            keys[row.image],
            row.defender,
            row.attacker,
            row.class_,
            row.concordance,
            *_most_confused(mine, theirs, true, names),
        )


def _most_confused(
    mine: np.ndarray, theirs: np.ndarray, true: np.ndarray | None, names: list[str]
) -> tuple[str, str, float, str]:
    """Return the two classes that two maps say on most of the pixels where they differ, the part of the
    image, and the class that the truth shows most often there.
    """
    differ = mine != theirs
    if not differ.any():
        return "", "", 0.0, ""
    pairs = mine[differ].astype(np.int64) * len(names) + theirs[differ]
    most = int(np.bincount(pairs).argmax())
    one, other = divmod(most, len(names))
    there = (mine == one) & (theirs == other)
    shown = "" if true is None else names[int(np.bincount(true[there]).argmax())]
    return names[one], names[other], float(there.mean()), shown


def _of_answers(study: Study, slots: Slots, keys: Mapping[str, Key]) -> Iterator[Case]:
    truth = study.labels() if slots.pairs and LABELS in study.truths else {}
    for row in slots.pairs:
        yield Case(
            keys[row.image],
            row.model_a,
            row.model_b,
            row.label_a,
            -row.distance,
            row.label_a,
            row.label_b,
            1.0,
            "|".join(sorted(truth[row.image])) if row.image in truth else "",
        )
