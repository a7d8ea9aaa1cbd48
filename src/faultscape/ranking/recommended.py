"""Which ranking stands first, and which images to draw for a ranking: what measurements on real models recommend.

Conventions: decided by the table of docs/benchmarks-choice.md, which leaves one data set out, and by nothing else; when the table changes, this does. What stands first depends on how the
images were chosen: ``chance`` (drawn with known probabilities), ``best`` (so drawn for the one question which model is best), ``top`` (for all models, without probabilities: entropy,
model-picker), ``duels``. Whether answers are right or wrong or graded makes no difference.
`select` itself stays with MAD's duels: they show where models fail, which is another question.
Source: ours; benchmarks/leave_one_out.py and choice_table.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from faultscape.nouns import Draw

CHANCE, BEST, TOP, DUELS = "chance", "best", "top", "duels"
FIRST = {  # the first of these that standings have, and that can be used
    CHANCE: ("prediction_powered", "lure", "reuse_mean"),
    BEST: ("reuse_margins", "margins", "reuse_mean"),
    TOP: ("reuse_mean",),  # control after choices without probabilities can collapse
    DUELS: ("reuse_bradley_terry", "reuse_mean"),
}
SELECTION = "--goal order"


def chosen_by(rows: Sequence[Any]) -> str:
    """Return how the images of a selection were chosen: by ``chance`` where every draw has a probability.

    >>> chosen_by([Draw("random", 1, 1, "x", 1.0, 0.5, 2)]), chosen_by([Draw("entropy", 1, 1, "x", 1.0, math.nan, 2)])
    ('chance', 'top')
    """
    if not rows or not isinstance(rows[0], Draw):
        return DUELS
    return CHANCE if all(math.isfinite(row.probability) for row in rows) else TOP


def ordered(rankings: Mapping[str, Any], chosen: str, goal: str | None = None) -> dict[str, Any]:
    """Return rankings with the recommended one first, which is never one that cannot be used; the ``goal`` is that of draws by chance.

    >>> list(ordered({"lure": {"unusable": "too few"}, "reuse_mean": {}, "margins": {"unusable": "too few"}}, "chance"))
    ['reuse_mean', 'lure', 'margins']
    """
    usable = [name for name, said in rankings.items() if not said.get("unusable")]
    chosen = BEST if chosen == CHANCE and goal == "best" else chosen
    first = next((name for name in FIRST[chosen] if name in usable), next(iter(usable), None))
    return dict(rankings) if first is None else {first: rankings[first], **rankings}
