"""Which ranking stands first, and which images to draw for a ranking: what measurements on real models recommend.

Conventions: decided by the table of docs/benchmarks-labels.md and by nothing else; when the table changes, this does. `select` itself stays with MAD's duels: they show where models fail, which is
another question.
Source: ours; benchmarks/label_efficiency.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIRST = ("margins", "reuse_bradley_terry")  # the first of these that standings have
SELECTION = "--selector mad --temperature 1"


def ordered(rankings: Mapping[str, Any]) -> dict[str, Any]:
    """Return rankings with the one first that lies nearest to the ranking by all labels.

    >>> list(ordered({"perron": 1, "reuse_bradley_terry": 2, "reuse_mean": 3}))
    ['reuse_bradley_terry', 'perron', 'reuse_mean']
    """
    first = next((name for name in FIRST if name in rankings), None)
    return dict(rankings) if first is None else {first: rankings[first], **rankings}
