"""Means over corrupted sets of which a model lacks some that another has: they are marked wherever they are
shown, since means over unequal sets are not comparable.

Conventions: a share is (sets of the mean, corrupted sets that any model has); None where that is all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from faultscape.reporting.reliability.document import CORRUPTED, TITLES, Card
from faultscape.reporting.view import TableRow

Share = tuple[int, int]
STAR = "*"
_OF_MIOU = ("relative_drop", "corruption_error")  # which are made of the mIoU of each set


class PartialMeans:
    """The means over corrupted sets of a card that are over fewer sets than those of other models."""

    def __init__(self, card: Card) -> None:
        self._reference = card.get("reference", "")
        names = {one["name"] for one in card["conditions"] if one["kind"] == "corrupted"}
        self._sets: dict[tuple[str, str, str, str], set[str]] = {}
        for cell in card["cells"]:
            if cell["condition"] in names and cell["value"] is not None:
                row = cell["metric"], cell.get("holdout", ""), cell["model"], cell.get("scorer", "")
                self._sets.setdefault(row, set()).add(cell["condition"])
        self._of = {
            about: set[str]().union(*(held for row, held in self._sets.items() if row[:2] == about))
            for about in {row[:2] for row in self._sets}
        }

    def share(
        self, model: str, condition: str, metric: str, scorer: str = "", holdout: str = ""
    ) -> Share | None:
        """Return the share of the sets that a mean is over; None where it is complete, or no such mean.

        >>> cells = [("a", "fog-1"), ("a", "fog-2"), ("b", "fog-1")]
        >>> card = {
        ...     "conditions": [{"name": name, "kind": "corrupted"} for name in ("fog-1", "fog-2")],
        ...     "cells": [{"model": m, "condition": c, "metric": "miou", "value": 0.5} for m, c in cells],
        ... }
        >>> PartialMeans(card).share("b", "all corruptions", "miou")
        (1, 2)
        """
        return self.share_within(None, model, metric, scorer, holdout) if condition == CORRUPTED else None

    def share_within(
        self, names: Collection[str] | None, model: str, metric: str, scorer: str = "", holdout: str = ""
    ) -> Share | None:
        """Return the share of a mean over the sets of some names only; of all for None."""
        about = "miou" if metric in _OF_MIOU else metric, holdout
        mine = self._sets.get((*about, model, scorer if TITLES[metric].of != "maps" else ""), set())
        if metric == "corruption_error":
            mine = mine & self._sets.get((*about, self._reference, ""), set())
        whole = self._of.get(about, set())
        if names is not None:
            mine = mine.intersection(names)
            whole = whole.intersection(names)
        return (len(mine), len(whole)) if 0 < len(mine) < len(whole) else None


def shares_text(rows: Iterable[TableRow]) -> str:
    """Return what the star beside means says, for the rows of a table; '' where there are none.

    >>> from faultscape.reporting.view import Mark
    >>> shares_text([TableRow("fcn", (Mark(0.5, share=(1, 76)),))])
    '* mean over 1 of 76 corrupted sets: not comparable with means over more of them'
    >>> starred = [
    ...     TableRow(name, (Mark(0.5, share=share),)) for name, share in (("a", (1, 9)), ("b", (3, 9)))
    ... ]
    >>> shares_text(starred)
    '* mean over 1 of 9 (a) or 3 of 9 (b) corrupted sets: not comparable with means over more of them'
    """
    models: dict[Share, list[str]] = {}
    for model, share in dict.fromkeys((row.model, mark.share) for row in rows for mark in row.marks):
        if share:
            models.setdefault(share, []).append(model)
    if not models:
        return ""
    said = [
        f"{sets} of {of}" + (f" ({', '.join(names)})" if len(models) > 1 else "")
        for (sets, of), names in models.items()
    ]
    over = " or ".join(said)
    return f"{STAR} mean over {over} corrupted sets: not comparable with means over more of them"
