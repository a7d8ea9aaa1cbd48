"""The least time that a person needs for an answer; one that took less is marked, and counts all the same.

Sources: people tell whether an image shows an animal in 445 ms at the median, and hardly ever in less than
250 ms (Thorpe, Fize and Marlot 1996; VanRullen and Thorpe 2001). Two maps are looked at one after the other,
and the movement of the eyes between them takes another 230 ms (Carpenter 1988).
"""

from __future__ import annotations

import json

from faultscape.study.answers.schema import ANSWERS, CHOICES, POINTS

LEAST_SECONDS = {ANSWERS: 0.25, POINTS: 0.25, CHOICES: 0.5}
_MARK = "too_quick"


def too_quick(table: str, seconds: float | None, shown: str = "") -> bool:
    """Return whether an answer in a table, or what was ``shown`` for it, is marked: it took less than a
    person needs. An answer whose time is unknown is not.

    >>> too_quick("choices", 0.008), too_quick("choices", None), too_quick("answers", 0.3)
    (True, False, False)
    >>> too_quick("choices", 3.0, '{"too_quick": true}')
    True
    """
    if seconds is not None and seconds < LEAST_SECONDS[table]:
        return True
    try:
        held = json.loads(shown or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and held.get(_MARK) is True


def mark_of(table: str, seconds: float | None, since_handed: float) -> dict[str, bool]:
    """Return the mark that is stored with an answer, empty if it took long enough: by its page, and by the
    time since the item was handed out, which no page can change.

    >>> mark_of("choices", 3.0, 0.1), mark_of("choices", 3.0, 4.0), mark_of("choices", 0.1, 4.0)
    ({'too_quick': True}, {}, {'too_quick': True})
    """
    taken = since_handed if seconds is None else min(seconds, since_handed)
    return {_MARK: True} if taken < LEAST_SECONDS[table] else {}
