"""Read frames of scores, long or wide, as tables of scores.

Conventions: a frame is {column: values}, or an object of any library that gives Arrow (`__arrow_c_stream__`).
Columns are found by their names, in any case: ``case`` (or image), ``model`` (algorithm), ``score`` (value),
``group``, ``class``, ``rater`` (annotator), ``metric``. A frame with a model column is long: without a score
column, every other column is a metric. A frame without one is wide, and every other column is a model. An
empty cell, NaN or NA is a missing score; other text that is not a number is an error, which names its row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from faultscape.errors import OptionError, RankingError, closest
from faultscape.ranking.tables.score_table import ScoreTable, score_table

ROLES = {  # {role: the names of its column}
    "case": ("case", "image"),
    "model": ("model", "algorithm"),
    "score": ("score", "value"),
    "group": ("group",),
    "class": ("class",),
    "rater": ("rater", "annotator"),
    "metric": ("metric",),
}
MISSING = ("", "na", "nan", "n/a", "null", "none")
LESS = re.compile(  # names of metrics of which less is better, if nothing else is said
    r"(?i)(^|[_\W])(hd\d*|hausdorff|m?assd|asd|msd|error|err|loss|rmse|mae|mse|wer|cer|ece|nll|brier|perplexity"
    r"|distance|fpr\d*|time|seconds|latency)($|[_\W])"
)
EXPECTED = (
    "expected columns case, model and score (and perhaps group, class, rater, metric), or a column of scores"
    " for each model"
)


def tables_of(
    frame: Any,
    *,
    better: str | Mapping[str, str] | None = None,
    missing: float | str | Mapping[str, float] | None = None,
) -> list[ScoreTable]:
    """Return the tables of a frame, one for each metric; RankingError for columns or cells that do not fit.

    >>> frame = {
    ...     "case": ["x", "x", "y", "y"],
    ...     "model": ["a", "b", "a", "b"],
    ...     "dice": ["0.9", "0.8", "0.7", "0.6"],
    ... }
    >>> [(table.metric, table.models, table.scores.shape) for table in tables_of(frame)]
    [('dice', ('a', 'b'), (2, 2))]
    """
    columns = columns_of(frame)
    roles = _roles(columns)
    others = [name for name in columns if name not in roles.values()]
    read = _long_parts if "model" in roles else _wide_parts
    parts = read(columns, roles, others)
    metrics = [metric for metric, _ in parts]
    directions = _directions(metrics, better)
    counts = _counts(metrics, missing)
    return [_table(metric, rows, directions[metric], counts.get(metric)) for metric, rows in parts]


def columns_of(frame: Any) -> dict[str, Sequence[Any]]:
    """Return {column: values} of a frame."""
    if isinstance(frame, Mapping):
        found: dict[str, Sequence[Any]] = {
            str(name): _listed(values, str(name)) for name, values in frame.items()
        }
    else:
        try:
            table = pa.table(frame)
        except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
            raise RankingError(
                f"a frame of scores is a DataFrame, or {{column: values}}; got {type(frame).__name__};"
                f" {EXPECTED}"
            ) from None
        # the unnamed index of pandas numbers the rows
        names = [name for name in table.column_names if not name.startswith("__index_level_")]
        if more := next((name for name in names if names.count(name) > 1), None):
            raise RankingError(f"there are two columns named {more!r}; rename or remove one")
        found = {str(name): table.column(name).to_pylist() for name in names}
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise RankingError(f"columns have different lengths: {shown}")
    if not lengths or not next(iter(lengths.values())):
        raise RankingError(f"there are no scores; {EXPECTED}")
    return found


Rows = tuple[
    Sequence[str], Sequence[str], Sequence[Any], dict[str, Sequence[str]]
]  # models, cases, scores, and the other roles


def _listed(values: Any, name: str) -> list[Any]:
    try:
        array = values.tolist() if hasattr(values, "tolist") else list(values)
    except TypeError:
        array = None
    if not isinstance(array, list) or isinstance(values, str | bytes | Mapping):
        raise RankingError(f"column {name!r}: expected a list of values; got {values!r:.60}")
    return array


def _roles(columns: Iterable[str]) -> dict[str, str]:
    """Return {role: column}; RankingError if two columns have one role."""
    found: dict[str, str] = {}
    for role, names in ROLES.items():
        mine = [name for name in columns if name.strip().lower() in names]
        if len(mine) > 1:
            raise RankingError(
                f"columns {mine[0]!r} and {mine[1]!r} both name the {role}; rename or remove one"
            )
        if mine:
            found[role] = mine[0]
    return found


def _long_parts(
    columns: Mapping[str, Sequence[Any]], roles: Mapping[str, str], others: Sequence[str]
) -> list[tuple[str, Rows]]:
    if "case" not in roles:
        raise RankingError(f"there is no column of cases among {', '.join(columns)}; {EXPECTED}")
    models = _words(columns, roles["model"])
    cases = _words(columns, roles["case"])
    more = _more(columns, roles)
    if "score" not in roles:
        if not others:
            raise RankingError(f"there is no column of scores among {', '.join(columns)}; {EXPECTED}")
        if "metric" in roles:
            raise RankingError(
                f"a column of metrics needs one of scores, and there is none among {', '.join(columns)}"
            )
        return [(name, (models, cases, columns[name], more)) for name in others]
    if others:
        raise RankingError(
            f"columns {', '.join(map(repr, others))} have no meaning beside {roles['score']!r}; remove them,"
            f" or rename one to {', '.join(role for role in ROLES if role not in roles)}"
        )
    scores = columns[roles["score"]]
    if "metric" not in roles:
        return [("", (models, cases, scores, more))]
    metrics = _words(columns, roles["metric"])
    parts = []
    for metric in dict.fromkeys(metrics):
        rows = [k for k, name in enumerate(metrics) if name == metric]
        kept = {role: [values[k] for k in rows] for role, values in more.items()}
        parts.append(
            (metric, ([models[k] for k in rows], [cases[k] for k in rows], [scores[k] for k in rows], kept))
        )
    return parts


def _wide_parts(
    columns: Mapping[str, Sequence[Any]], roles: Mapping[str, str], others: Sequence[str]
) -> list[tuple[str, Rows]]:
    if "score" in roles:
        raise RankingError(f"there is no column of models among {', '.join(columns)}; {EXPECTED}")
    if len(others) < 2:
        raise RankingError(
            f"there are scores of {', '.join(others) or 'no model'}, and a ranking needs two models;"
            f" {EXPECTED}"
        )
    count = len(columns[others[0]])
    cases = _words(columns, roles["case"]) if "case" in roles else [str(k + 1) for k in range(count)]
    more = _more(columns, roles)
    metrics = _words(columns, roles["metric"]) if "metric" in roles else [""] * count
    parts = []
    for metric in dict.fromkeys(metrics):
        rows = [k for k, name in enumerate(metrics) if name == metric]
        models = [model for model in others for _ in rows]
        scores = [columns[model][k] for model in others for k in rows]
        kept = {role: [values[k] for k in rows] * len(others) for role, values in more.items()}
        parts.append((metric, (models, [cases[k] for k in rows] * len(others), scores, kept)))
    return parts


def _more(columns: Mapping[str, Sequence[Any]], roles: Mapping[str, str]) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {
        role: _words(columns, roles[role]) for role in ("class", "rater") if role in roles
    }
    if "group" in roles:
        found["group"] = [
            "" if _is_missing(value) else str(value).strip() for value in columns[roles["group"]]
        ]
    return found


def _words(columns: Mapping[str, Sequence[Any]], name: str) -> list[str]:
    words = []
    for k, value in enumerate(columns[name]):
        if value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip():
            raise RankingError(f"row {k + 1}: column {name!r} is empty; every row needs its {name}")
        whole = isinstance(value, float) and value.is_integer()
        words.append(str(int(value)) if whole else str(value).strip())
    return words


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return isinstance(value, float) and math.isnan(value)


def _number(value: Any, k: int, of: str) -> float:
    if _is_missing(value):
        return float("nan")
    try:
        found = float(value)
    except (TypeError, ValueError):
        comma = (
            "; write decimal points"
            if isinstance(value, str) and re.fullmatch(r"\s*-?\d*,\d+\s*", value)
            else ""
        )
        raise RankingError(
            f"row {k + 1}: the score of {of} is {value!r:.40}, which is not a number; leave the cell empty if"
            f" it is missing{comma}"
        ) from None
    if math.isinf(found):
        raise RankingError(
            f"row {k + 1}: the score of {of} is infinite; expected a number, or an empty cell if it is"
            " missing"
        )
    return found


def _table(metric: str, rows: Rows, better: str, missing: float | None) -> ScoreTable:
    models, cases, values, more = rows
    levels = [more.get(role, [""] * len(cases)) for role in ("class", "rater")]
    cells: dict[tuple[str, str, str], int] = {}
    places: dict[str, int] = {}
    groups: dict[str, str] = {}
    known: dict[tuple[int, int], float] = {}
    for k, (model, case, class_, rater, value) in enumerate(zip(models, cases, *levels, values, strict=True)):
        cell = cells.setdefault((case, class_, rater), len(cells))
        place = places.setdefault(model, len(places))
        if (place, cell) in known:
            which = "".join(
                f", {role} {word}" for role, word in (("class", class_), ("rater", rater)) if word
            )
            raise RankingError(
                f"there are two scores of {model!r} on case {case!r}{which}{metric and f' by {metric}'}; give"
                " one (a column class, rater or metric tells them apart)"
            )
        known[place, cell] = _number(value, k, f"{model!r} on {case!r}")
        if "group" in more and groups.setdefault(case, more["group"][k]) != more["group"][k]:
            raise RankingError(
                f"case {case!r} is in two groups, {groups[case]!r} and {more['group'][k]!r}; give it one"
            )
    scores = np.full((len(places), len(cells)), np.nan)
    for (place, cell), score in known.items():
        scores[place, cell] = score
    named = [*cells]
    return score_table(
        [*places],
        scores,
        cases=[case for case, _, _ in named],
        groups=[groups[case] for case, _, _ in named] if groups else None,
        better=better,
        missing=missing,
        metric=metric,
        classes=[class_ for _, class_, _ in named] if "class" in more else (),
        raters=[rater for _, _, rater in named] if "rater" in more else (),
    )


def _directions(metrics: Sequence[str], better: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return {metric: high or low}."""
    said = _said(metrics, better, "better")
    for name, way in said.items():
        if way not in ("high", "low"):
            raise OptionError(
                f"better must be high or low, or METRIC=high,METRIC=low; got {way!r}"
                f"{name and f' for {name}'}.{closest(str(way), ('high', 'low'))}"
            )
    found = {}
    for metric in metrics:
        way = said.get(metric, said.get("", ""))
        if not way and LESS.search(metric):
            others = f"; of several metrics: {metric}=low" if len(metrics) > 1 else ""
            raise OptionError(f"better: is less better in {metric!r}? say low, or high{others}")
        found[metric] = str(way) or "high"
    return found


def _counts(
    metrics: Sequence[str], missing: float | str | Mapping[str, float] | None
) -> dict[str, float | None]:
    """Return {metric: what a missing score counts as}, None where it is not said."""
    said = _said(metrics, missing, "missing")
    found: dict[str, float | None] = {}
    for metric in metrics:
        value = said.get(metric, said.get(""))
        try:
            found[metric] = None if value is None else float(value)
        except (TypeError, ValueError):
            raise OptionError(f"missing must be a score, or METRIC=SCORE; got {value!r}") from None
        if not math.isfinite(found[metric] or 0):
            raise OptionError(f"missing must be a finite score; got {value!r}")
    return found


def _said(metrics: Sequence[str], given: Any, option: str) -> dict[str, Any]:
    """Return {metric, or '' for all: what was said}; OptionError for a metric that is not there."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        said = {str(name): value for name, value in given.items()}
    elif isinstance(given, str):
        parts = [part.strip().rpartition("=") for part in given.split(",")]
        said = {name.strip(): value.strip() for name, _, value in parts}
    else:
        said = {"": given}
    known = [metric for metric in metrics if metric]
    if odd := next((name for name in said if name and name not in known), None):
        raise OptionError(
            f"{option}: no metric is named {odd!r}; there are {', '.join(known) or 'no named ones'}."
            f"{closest(odd, known)}"
        )
    return said
