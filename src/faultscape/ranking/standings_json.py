"""Standings as JSON and back: 12 significant digits, null for what is undefined, one order of keys.

Conventions: the keys are those of ``Standings``; those of ``_WHEN_THERE`` only if they are not empty.
NaN and infinity become null, whole-number ranks stay integers.
``from_json(to_json(s))`` has the same JSON as ``s``.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from faultscape.errors import RankingError
from faultscape.nouns import JsonObject
from faultscape.standings import (
    Benchmark,
    Failing,
    Gap,
    ModelRanking,
    OtherSelection,
    OtherTruth,
    ParentStandings,
    Stability,
    Standings,
    WithoutModel,
)

_KEYS = (
    "models",
    "labels",
    "matrices",
    "rankings",
    "to_come",
    "failing",
    "by_truth",
    "against",
    "benchmark",
    "parents",
    "stability",
    "definitions",
    "notes",
    "details",
    "provenance",
)
_OF_RANKING = {"order": list, "scores": dict, "score_interval": dict, "rank_interval": dict}
_WHEN_THERE = ("to_come", "failing", "by_truth", "against", "benchmark", "parents", "stability", "details")
# where null means an undefined number
_NUMBERS = ("matrices", "rankings", "to_come", "failing", "against", "benchmark", "parents", "stability")


def to_json(standings: Standings) -> JsonObject:
    """Return the content of standings.json.

    >>> raw = to_json(
    ...     Standings(("a",), {"used": 1}, {"resistance": [[float("nan")]]}, {}, {"epsilon": 0.1 + 0.2})
    ... )
    >>> raw["matrices"], raw["definitions"]
    ({'resistance': [[None]]}, {'epsilon': 0.3})
    """
    return {
        key: written(value) for key in _KEYS if (value := getattr(standings, key)) or key not in _WHEN_THERE
    }


def from_json(raw: JsonObject) -> Standings:
    """Return the standings that ``to_json`` wrote; RankingError if a part is missing or of the wrong
    type.
    """
    held = cast("dict[str, Any]", raw)
    anew = "rerun `faultscape rank STUDY`"
    if missing := [
        key for key in ("models", "labels", "matrices", "rankings", "definitions") if key not in held
    ]:
        raise RankingError(f"these are not standings: {missing[0]!r} is missing; {anew}")
    lists = ("models", "notes")
    kinds: dict[str, type] = {"models": list, "notes": list, "details": int}
    if odd := next(
        (key for key in _KEYS if key in held and not isinstance(held[key], kinds.get(key, dict))),
        "",
    ):
        raise RankingError(f"these are not standings: {odd} is {str(held[odd])[:40]!r}; {anew}")
    parts = {"": held, "to_come": {"rankings": held.get("to_come", {})}} | held.get("parents", {})
    if odd := next((name for name, part in parts.items() if not isinstance(part, dict)), ""):
        raise RankingError(f"these are not standings: parent group {odd[:40]!r} is damaged; {anew}")
    for part in parts.values():
        for name, ranking in part.get("rankings", {}).items():
            if not isinstance(ranking, dict) or not (
                isinstance(ranking.get("unusable"), str) or _is_whole(ranking)
            ):
                raise RankingError(f"these are not standings: ranking {name[:40]!r} is damaged; {anew}")
    if not all(isinstance(word, str) for key in lists for word in held.get(key, ())):
        raise RankingError(f"these are not standings: models or notes are not texts; {anew}")
    values: dict[str, Any] = {
        key: _read(held[key]) if key in _NUMBERS else held[key] for key in _KEYS if key in held
    }
    values |= {"models": tuple(held["models"]), "notes": tuple(held.get("notes", ()))}
    try:
        built = _built(values)
    except (TypeError, AttributeError, KeyError) as error:
        raise RankingError(f"these are not standings: {str(error)[:80]}; {anew}") from error
    if odd := _odd_part(built):
        raise RankingError(f"these are not standings: {odd} is damaged; {anew}")
    return built


def is_whole(raw: JsonObject) -> bool:
    """Return whether a JSON object holds standings that can be read."""
    try:
        from_json(raw)
    except RankingError:
        return False
    return True


def _odd_part(standings: Standings) -> str:
    """Return the name of a part whose values are of the wrong type, '' if there is none."""
    rankings = [*standings.rankings.values(), *standings.to_come.values()]
    if not all(isinstance(one.speaks_of, str) for one in rankings):
        return "what rankings speak of"
    if not all(_is_gap(gap) for one in rankings for gap in one.gaps):
        return "a difference of two models"
    named = {
        name for one in rankings for name in [*one.order, *(m for g in one.gaps for m in (g.model, g.other))]
    }
    if not named <= {*standings.models}:
        return "the list of models"
    failing = standings.failing
    if failing is not None and not (
        all(
            isinstance(word, str) for word in (failing.model, failing.worst, failing.taken_for, failing.image)
        )
        and all(isinstance(one, int | float) for one in (failing.score, failing.images, failing.share))
    ):
        return "failing"
    if not all(
        isinstance(one.leader, str) and isinstance(one.images, int) for one in standings.by_truth.values()
    ):
        return "by_truth"
    return "" if all(isinstance(number, int) for number in standings.labels.values()) else "labels"


def _is_gap(gap: Gap) -> bool:
    numbers = [gap.difference, *gap.interval] if isinstance(gap.interval, list) else []
    return (
        isinstance(gap.model, str)
        and isinstance(gap.other, str)
        and isinstance(gap.settled, bool)
        and len(numbers) == 3
        and all(isinstance(number, int | float) for number in numbers)
    )


def _built(values: dict[str, Any]) -> Standings:
    """Return standings whose rankings, parents, stability and comparisons are dataclasses, from parsed
    JSON.
    """
    values["rankings"] = _rankings(values["rankings"])
    values["to_come"] = _rankings(values.get("to_come", {}))
    if "failing" in values:
        values["failing"] = Failing(**values["failing"])
    values["by_truth"] = {name: OtherTruth(**said) for name, said in values.get("by_truth", {}).items()}
    if parents := values.get("parents"):
        values["parents"] = {
            name: ParentStandings(
                part["labels"],
                part.get("matrices", {}),
                _rankings(part["rankings"]),
                tuple(part.get("notes", ())),
            )
            for name, part in parents.items()
        }
    if against := values.get("against"):
        values["against"] = {name: OtherSelection(**other) for name, other in against.items()}
    if benchmark := values.get("benchmark"):
        values["benchmark"] = Benchmark(**benchmark)
    if stability := values.get("stability"):
        left = {model: WithoutModel(**said) for model, said in stability["leave_one_out"].items()}
        places = stability.get("top_k_places") or list(range(1, len(stability["top_k"]) + 1))
        values["stability"] = Stability(**stability | {"leave_one_out": left, "top_k_places": places})
    return Standings(**values)


def _rankings(raw: dict[str, Any]) -> dict[str, ModelRanking]:
    known = {field.name for field in fields(ModelRanking)}
    out = {}
    for name, said in raw.items():
        own: dict[str, Any] = {key: said[key] for key in said.keys() & known}
        own["gaps"] = [Gap(**gap) for gap in own.get("gaps", [])]
        out[name] = ModelRanking(**own)
    return out


def written(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers with 12 digits, None for undefined; for a dataclass only
    the fields that are set.

    >>> written({"a": (np.float64(1 / 3), np.nan), 2: -0.0})
    {'a': [0.333333333333, None], '2': 0.0}
    """
    if is_dataclass(value) and not isinstance(value, type):
        held = [(field, getattr(value, field.name)) for field in fields(value)]
        return {
            field.name: written(item)
            for field, item in held
            if item not in (None, "") or item != field.default  # such defaults carry no information
        }
    if isinstance(value, dict):
        return {str(key): written(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [written(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        # adding 0 turns -0.0 into 0.0
        return float(f"{value:.12g}") + 0.0 if math.isfinite(value) else None
    return value


def _is_whole(ranking: dict[str, Any]) -> bool:
    """Return whether a ranking has an order, numeric scores, and intervals that are pairs of numbers, each
    for all of its models or none.
    """
    if not all(isinstance(ranking.get(key), kind) for key, kind in _OF_RANKING.items()):
        return False
    intervals = [value for key, value in ranking.items() if key.endswith("_interval")]
    order = ranking["order"]
    sets = [ranking.get(key, []) for key in ("tied_for_best", "best_set")]
    if not all(
        isinstance(words, list) and all(isinstance(word, str) for word in words) for words in (order, *sets)
    ):
        return False
    if not all(
        isinstance(interval, dict) and (not interval or interval.keys() >= set(order))
        for interval in intervals
    ):
        return False
    pairs = [pair for interval in intervals for pair in interval.values()]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return False
    numbers = [*ranking["scores"].values(), *(number for pair in pairs for number in pair)]
    return all(number is None or isinstance(number, int | float) for number in numbers)


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_read(item) for item in value]
    return float("nan") if value is None else value
