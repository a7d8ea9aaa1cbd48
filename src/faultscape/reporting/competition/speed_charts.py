"""Plot the time per frame against scores: one dot per model, and the models that no other beats in both.

Conventions: times are medians in milliseconds of the model only; their line spans the middle half of the
frames. Scores are those of the headline's ranking, with its intervals. Times on different devices cannot be
compared, so each device has its own chart. A model is on the Pareto front if no other is at least as fast and
at least as good and better in one of the two. The time axis is logarithmic if the slowest model takes over
``_WIDE`` times as long as the fastest.
Source: Yan et al. 2021, section 4.1.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from faultscape.reporting import charts
from faultscape.reporting.competition import standing_tables
from faultscape.reporting.view import ChartPoint, Line, Mark, axes_of, dot, log_axis
from faultscape.standings import Standings
from faultscape.study.tables.timings import FrameTimes

_WIDE = 5.0
_AXES = "milliseconds per image", "score"


@dataclass(frozen=True)
class SpeedChart:
    """The chart of one device: the title of the ranking, the drawing, the models on the front, fastest first,
    and the models without a score or time.
    """

    device: str
    ranking: str
    drawing: Markup
    front: tuple[str, ...]
    logarithmic: bool
    left_out: tuple[str, ...]


def speed_charts(times: Sequence[FrameTimes], standings: Standings | None) -> list[SpeedChart]:
    """Return a chart for each device on which at least two models with a score were timed."""
    if standings is None or not (counted := standing_tables.claiming(standings)):
        return []
    name, ranking = next(iter(counted.items()))
    title = standing_tables.words_of(name, standings.definitions)["title"]
    out = []
    for device in dict.fromkeys(row.device for row in times):
        rows = [
            r
            for r in times
            if r.device == device and standing_tables.known(ranking.scores.get(r.name)) is not None
        ]
        if len(rows) < 2:
            continue
        on_front = pareto_front([r.model[1] for r in rows], [ranking.scores[r.name] for r in rows])
        front = {r.name for r, on in zip(rows, on_front, strict=True) if on}
        fastest_end = min(r.model[0] for r in rows)
        log = fastest_end > 0 and max(r.model[1] for r in rows) > _WIDE * min(r.model[1] for r in rows)
        dots = [
            _dot(r, ranking.scores[r.name], ranking.score_interval.get(r.name), on_front=r.name in front)
            for r in rows
        ]
        steps = _steps([one for one in dots if one.name in front])
        on_x = log_axis([end for r in rows for end in r.model]) if log else axes_of(dots)[0]
        drawing = charts.scatter([steps, *dots], *_AXES, on_x=on_x, height=280)
        fastest = sorted((r for r in rows if r.name in front), key=lambda r: r.model[1])
        left = tuple(m for m in standings.models if m not in {r.name for r in rows})
        out.append(SpeedChart(device, title, drawing, tuple(r.name for r in fastest), log, left))
    return out


def pareto_front(times: Sequence[float], scores: Sequence[float]) -> list[bool]:
    """Return whether no other model is at least as fast and at least as good and better in one of the two.

    >>> pareto_front([1.0, 2.0, 3.0, 3.0], [0.2, 0.5, 0.4, 0.5])
    [True, True, False, False]
    """
    t = np.round(np.asarray(times, float), 12)
    s = np.round(np.asarray(scores, float), 12)
    as_fast, as_good = t[:, None] <= t, s[:, None] >= s  # [other, model]
    better = (t[:, None] < t) | (s[:, None] > s)
    beaten = (as_fast & as_good & better).any(0)
    return [not one for one in np.atleast_1d(beaten).tolist()]


def _dot(row: FrameTimes, score: float, interval: Sequence[float] | None, *, on_front: bool) -> Line:
    known = [standing_tables.known(end) for end in interval or ()]
    low, high = known if len(known) == 2 else (None, None)
    time = Mark(row.model[1], row.model[0], row.model[2])
    drawn = dot(row.name, time, Mark(score, low, high), _AXES, kind="strong" if on_front else "plain")
    assert drawn is not None
    return drawn


def _steps(front: Sequence[Line]) -> Line:
    """Return the steps of a front, from left to right and never down."""
    places = sorted((one.known[0].x, one.known[0].y) for one in front)
    ends = [ChartPoint(x, y) for x, y in places]
    corners = [ChartPoint(after.x, before.y) for before, after in itertools.pairwise(ends)]
    points = [point for pair in itertools.zip_longest(ends, corners) for point in pair if point is not None]
    return Line("front", tuple(points), kind="front", dots=False)
