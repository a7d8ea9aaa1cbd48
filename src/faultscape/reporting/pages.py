"""The page: facts in, one HTML file out, with nothing loaded from anywhere.

Conventions: the template, its style and its script lie beside this file and travel inside the page; a content policy forbids everything else. Jinja2 escapes
whatever is inserted. Unknown numbers are shown as a dash. No clock: the same facts give the same bytes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.nouns import Classes, Slots, Standings
from faultscape.reporting import figures, outcomes
from faultscape.reporting.constraints import Drawn, size_labels
from faultscape.reporting.gallery import Card
from faultscape.reporting.templates import template
from faultscape.study.timings import FrameTimes

RANKINGS = {  # title, what it says, source, kind, short title
    "resistance": (
        "Resistance",
        "how well a model stands on the images it was attacked with",
        "S0 eq. 5, 6",
        "faithful",
        "Resist.",
    ),
    "aggressiveness": ("Aggressiveness", "how well a model exposes the failures of others", "S0 eq. 3, 6", "faithful", "Aggr."),
    "reuse_mean": (
        "Mean over all labels",
        "each labelled image scores every model",
        "mean concordance with the truth",
        "re-use",
        "Mean",
    ),
    "reuse_bradley_terry": (
        "Bradley–Terry",
        "each labelled image is won or lost between every pair of models",
        "strengths on a log scale",
        "re-use",
        "B–T",
    ),
}
METRICS = {
    "miou": "mIoU",
    "fwiou": "frequency-weighted IoU",
    "mpa": "mean pixel accuracy",
    "pixel_accuracy": "pixel accuracy",
    "dice": "Dice",
}
CONSTRAINTS = {"none": "no constraint", "class": "class", "class+scale": "class and scale"}


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a page shows; ``values`` (J, I) are concordances with the truth on the ``labelled`` chosen images."""

    study: str
    selection: str
    slots: Slots
    classes: Classes
    pool: int
    state: str
    standings: Standings | None
    truth: str
    labelled: list[str]
    values: np.ndarray
    bands: tuple[float, ...]
    better: float
    cards: list[Card]
    slot_values: np.ndarray
    compared: list[Drawn]
    why_not_compared: str
    references: list[Any]
    discarded: int = 0
    failures: int = 0
    pictures_left_out: int = 0
    remarks: tuple[str, ...] = ()
    times: tuple[FrameTimes, ...] = ()


def page(facts: Facts) -> str:
    """Return the page as HTML."""
    return template("report.html.jinja", number=number, rank=rank_range, percent=percent).render(f=facts, **_context(facts))


def number(value: Any, digits: int = 3) -> str:
    """Return a number as people read it; a dash for what is unknown.

    >>> number(-0.12345), number(None), number(float("nan"), 1)
    ('−0.123', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f}".replace("-", "−")


def rank_range(bounds: Any) -> str:
    """Return a range of ranks: one number where both ends are one.

    >>> rank_range([1, 3]), rank_range([2, 2]), rank_range(None)
    ('1–3', '2', '–')
    """
    if not bounds or any(b is None or not math.isfinite(b) for b in bounds):
        return "–"
    low, high = bounds
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def percent(part: float, whole: float) -> str:
    """Return a share in per cent; a dash of nothing.

    >>> percent(1, 3), percent(1, 0)
    ('33 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else "–"


def verdict(standings: Standings) -> tuple[str, str]:
    """Return a headline and a sentence that claim no more than the intervals allow."""
    best = {name: ranking["tied_for_best"] for name, ranking in standings.rankings.items()}
    if not any(best.values()):
        return (
            "No intervals yet",
            "Scores stand without intervals, so nothing can be said of who is best. Run rank with --resamples 1000.",
        )
    leaders = [m for m in standings.models if any(m in tied for tied in best.values())]
    known = [tied for tied in best.values() if tied]
    level = f"{100 * standings.definitions.get('level', 0.95):g} %"
    if len(leaders) == 1:
        many = "all four rankings" if len(known) == 4 else f"the {len(known)} rankings with intervals"
        return (
            f"{leaders[0]} leads",
            f"It is first in {many}, and the {level} interval of its lead over every other model excludes zero.",
        )
    always = [m for m in leaders if all(m in tied for tied in known)]
    names = f"{', '.join(leaders[:-1])} and {leaders[-1]}"
    tail = f" {_listed(always)} {'is' if len(always) == 1 else 'are'} among the best in every ranking." if always else ""
    return f"{names} are tied for best", f"These labels do not tell them apart in every ranking (at {level}).{tail}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _context(facts: Facts) -> dict[str, Any]:
    from importlib.metadata import version

    standings = facts.standings
    fail = facts.bands[0]
    groups = [""] if facts.slots.definition["constraints"] == "none" else [facts.classes.names[g] for g in facts.classes.groups]
    models = facts.slots.models
    counts = outcomes.band_counts(facts.values, facts.bands)
    boxes = outcomes.chosen_boxes(models, facts.slots.chosen, facts.labelled, facts.values)
    ends = [e for pair in boxes for b in pair if b for e in (b.low, b.high)]
    steps = len(facts.bands)
    return {
        "fig": figures,
        "version": version("faultscape"),
        "level": f"{100 * standings.definitions.get('level', 0.95):g} %" if standings else "95 %",
        "verdict": verdict(standings) if standings else None,
        "rankings": [ranking_rows(name, r, models) for name, r in standings.rankings.items()] if standings else [],
        "matrices": [_matrix(name, m) for name, m in standings.matrices.items()] if standings else [],
        "correlation": _correlation(standings) if standings else None,
        "titles": {name: words[0] for name, words in RANKINGS.items()},
        "fail": fail,
        "metric": METRICS.get(facts.slots.definition["concordance"], facts.slots.definition["concordance"]),
        "band_names": _band_names(facts.bands),
        "band_inks": [f"b{round(4 * k / steps)}" for k in range(steps + 1)],
        "band_rows": [(m, row.tolist(), int(row.sum())) for m, row in zip(models, counts, strict=True)],
        "band_total": counts.sum(0).tolist(),
        "boxes": list(zip(models, boxes, strict=True)),
        "box_axis": figures.axis([*ends, 0.0] if ends else [0.0, 1.0]),
        "cases": outcomes.cases(models, facts.slots.chosen, facts.slot_values, fail, facts.better),
        "transfer": outcomes.transfer(models, facts.slots.chosen, facts.labelled, facts.values, fail),
        "sizes": size_labels(),
        "constraint_names": CONSTRAINTS,
        "model_place": {m: k for k, m in enumerate(models)},
        "group_place": {g: k for k, g in enumerate(groups)},
        "groups": groups,
        "colours": [
            (n, "#{:02x}{:02x}{:02x}".format(*c)) for n, c in zip(facts.classes.names, facts.classes.colours, strict=True)
        ],
        "parents": _parents(standings) if standings else [],
    }


def ranking_rows(name: str, ranking: dict[str, Any], models: Any) -> dict[str, Any]:
    """Return one ranking as a table: rows in its order, models without a score at the end, and a common axis."""
    title, what, source, kind, short = RANKINGS.get(name, (name, "", "", "", name))
    order = [*ranking["order"], *(m for m in models if m not in ranking["order"] and m in ranking["scores"])]
    rows, span = [], []
    for place, model in enumerate(order, 1):
        score = _known(ranking["scores"].get(model))
        low, high = (_known(x) for x in (ranking["score_interval"].get(model) or (None, None)))
        span += [score, low, high]
        tied = model in ranking["tied_for_best"]
        ranks = ranking["rank_interval"].get(model)
        rows.append(
            {
                "place": place if score is not None else None,
                "model": model,
                "score": score,
                "low": low,
                "high": high,
                "ranks": ranks,
                "tied": tied,
            }
        )
    words = {"name": name, "title": title, "short": short, "what": what, "source": source, "kind": kind}
    return words | {"rows": rows, "axis": figures.axis(span), "tied": ranking["tied_for_best"]}


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _matrix(name: str, matrix: Any) -> dict[str, Any]:
    known = [abs(math.log(x)) for row in matrix for x in row if _known(x) and x > 0]
    rows = [[(_known(x), *figures.heat(_known(x), max(known, default=0.0))) for x in row] for row in matrix]
    return {"name": name, "rows": rows}


def _correlation(standings: Standings) -> float | None:
    from faultscape.ranking.agreement import spearman

    if not {"aggressiveness", "resistance"} <= set(standings.rankings):
        return None
    first, second = ([standings.rankings[n]["scores"].get(m) for m in standings.models] for n in ("aggressiveness", "resistance"))
    return _known(spearman(*([math.nan if x is None else x for x in scores] for scores in (first, second))))


def _band_names(bands: tuple[float, ...]) -> list[str]:
    middle = [f"{a:g}–{b:g}" for a, b in itertools.pairwise(bands)]
    return [f"below {bands[0]:g}", *middle, f"{bands[-1]:g} and above"]


def _parents(standings: Standings) -> list[tuple[str, int, list[dict[str, Any]]]]:
    return [
        (name, part.get("labels", {}).get("used", 0), [ranking_rows(n, r, standings.models) for n, r in part["rankings"].items()])
        for name, part in standings.parents.items()
    ]
