"""Whose answers and choices count in a ranking, and how much each person's do.

Conventions: people are known by their pseudonyms. Leaving people out changes nothing that is stored.
Weights are those of `labelling.people.answer_weights`, estimated from the answers that count, of repeated
choices from the first. The order of the two models of a choice means nothing to the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.labelling.answers import WORDS, Answer, latest
from faultscape.study.answers.choices import Choice

_CLASSES = {"no": 0, "yes": 1}
_SIDES = {"first": 0, "second": 1}
assert set(_CLASSES) < set(WORDS)


@dataclass(frozen=True)
class Voices:
    """All people but those ``without``; ``weighted`` by estimated accuracy, or all the same."""

    without: frozenset[str] = frozenset()
    weighted: bool = False

    def answers(self, rows: Sequence[Answer]) -> list[Answer]:
        """Return the answers of those who count."""
        return [row for row in rows if row[2] not in self.without]

    def choices(self, rows: Sequence[Choice]) -> list[Choice]:
        """Return the choices of those who count."""
        return [row for row in rows if row.annotator not in self.without]

    def weights_of_answers(self, rows: Sequence[Answer]) -> Mapping[str, float] | None:
        """Return {person: weight} by these answers; None if all count the same."""
        if not self.weighted:
            return None
        said = [row for row in latest(rows) if row[3] in _CLASSES]
        return _weights(
            [row[:2] for row in said],
            [row[2] for row in said],
            [_CLASSES[row[3]] for row in said],
            symmetric=False,
        )

    def weights_of_choices(self, rows: Sequence[Choice]) -> Mapping[str, float] | None:
        """Return {person: weight} by these choices; None if all count the same."""
        if not self.weighted:
            return None
        turned = (one if one.first <= one.second else one.turned for one in rows if not one.repeat)
        said = [one for one in turned if one.chosen in _SIDES]
        return _weights(
            [(one.image, one.first, one.second) for one in said],
            [one.annotator for one in said],
            [_SIDES[one.chosen] for one in said],
            symmetric=True,
        )


EVERYBODY = Voices()


def _weights(
    items: Sequence[tuple[str, ...]], people: Sequence[str], classes: Sequence[int], *, symmetric: bool
) -> dict[str, float] | None:
    # only where it was asked for, as its estimate loads scipy
    from faultscape.labelling.people.answer_weights import answer_weights

    numbers = {item: k for k, item in enumerate(dict.fromkeys(items))}
    who, person = np.unique(np.array(people, dtype=np.str_), return_inverse=True)
    found = answer_weights([numbers[item] for item in items], person, classes, symmetric=symmetric)
    if np.isnan(found.accuracy).all():
        return None
    return dict(zip(who.tolist(), found.weight.round(6).tolist(), strict=True))


def weights_note(weights: Mapping[str, float] | None) -> str:
    """Return a sentence on weights that were asked for."""
    if weights is None:
        return (
            "people's answers count the same: nobody's accuracy can be estimated, which takes 20 items in"
            " common with each of two others, who share 20 with each other"
        )
    listed = ", ".join(f"{who} {weight:.2f}" for who, weight in sorted(weights.items()))
    return f"answers are weighted by the estimated accuracy of who gave them (log-odds: {listed})"
