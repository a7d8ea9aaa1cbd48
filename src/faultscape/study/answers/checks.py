"""The second round: errors that people find in each other's masks, and how they were resolved (Yan et al.
2021, section 4.1.4).

Conventions: a check opens with a row whose ``of`` is 0: a position in pixels of the image (or none), a kind
of error and a comment on the mask of an image in a truth. Later rows refer to it by ``of`` and comment on it,
resolve it or reopen it: the latest ``state`` counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from faultscape.study.answers.database import Database
from faultscape.study.answers.schema import CHECKS

OPEN = "open"
RESOLVED = "resolved"
COMMENT = "comment"
STATES = (OPEN, RESOLVED, COMMENT)
KINDS = (
    "wrong class",
    "missed object",
    "object that is not there",
    "inexact border",
    "torn apart",
    "run together",
    "other",
)
NOTHING = "nothing found"  # the kind of a row that records a check without findings
_COLUMNS = (
    "number",
    "key",
    "truth",
    "image",
    "of",
    "x",
    "y",
    "kind",
    "comment",
    "state",
    "annotator",
    "time",
)


@dataclass(frozen=True)
class Check:
    """One finding, with the comments on it, oldest first, each (annotator, comment, state)."""

    number: int
    truth: str
    image: str
    x: float
    y: float
    kind: str
    annotator: str
    resolved: bool
    comments: tuple[tuple[str, str, str], ...]
    key: str = ""
    comment_keys: tuple[str, ...] = ()
    times: tuple[float, ...] = ()  # of the comments


class Checks:
    """The checks of one study."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    def open(
        self,
        truth: str,
        image: str,
        kind: str,
        comment: str,
        annotator: str,
        *,
        at: tuple[float, float] | None,
        source: str,
        key: str,
        time: float = 0.0,
    ) -> bool:
        """Add one finding, with the current time if no ``time`` is given; returns False if one with its key
        exists.
        """
        x, y = at or (None, None)
        state = RESOLVED if kind == NOTHING else OPEN
        row = {
            "truth": truth,
            "image": image,
            "of": 0,
            "x": x,
            "y": y,
            "kind": kind,
            "comment": comment,
            "state": state,
        }
        return self._held.add_once(
            CHECKS, {**row, "annotator": annotator, "source": source, "key": key, **_at(time)}
        )

    def answer(
        self,
        check: Check,
        state: str,
        comment: str,
        annotator: str,
        *,
        source: str,
        key: str,
        time: float = 0.0,
    ) -> bool:
        """Comment on a finding, resolve it, or reopen it; returns False if a row with its key exists."""
        row = {
            "truth": check.truth,
            "image": check.image,
            "of": check.number,
            "x": None,
            "y": None,
            "kind": check.kind,
        }
        return self._held.add_once(
            CHECKS,
            {
                **row,
                "comment": comment,
                "state": state,
                "annotator": annotator,
                "source": source,
                "key": key,
                **_at(time),
            },
        )

    def checks(self, truth: str | None = None) -> list[Check]:
        """Return all findings in order of arrival, for one truth or all."""
        found: dict[int, Check] = {}
        for number, key, of_truth, image, of, x, y, kind, comment, state, annotator, time in self._held.read(
            CHECKS, *_COLUMNS
        ):
            said = (annotator, comment, state)
            if not of:
                x, y = (math.nan if v is None else v for v in (x, y))  # noqa: PLW2901 - NaN where the mask as a whole is meant
                keys = {"key": key or "", "comment_keys": (key or "",)}
                found[number] = Check(
                    number,
                    of_truth,
                    image,
                    x,
                    y,
                    kind,
                    annotator,
                    resolved=False,
                    comments=(said,),
                    times=(time,),
                    **keys,
                )
            elif before := found.get(of):
                resolved = before.resolved if state == COMMENT else state == RESOLVED
                found[of] = replace(
                    before,
                    resolved=resolved,
                    comments=(*before.comments, said),
                    comment_keys=(*before.comment_keys, key or ""),
                    times=(*before.times, time),
                )
        return [one for one in found.values() if truth is None or one.truth == truth]


def _at(time: float) -> dict[str, float]:
    return {"time": time} if time else {}
