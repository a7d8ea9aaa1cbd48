"""Requirements of a card: read them, refuse those that fit no card or no study, and say which are met.

Conventions: a requirement is ``[WHERE: ]NAME>=BOUND``, or ``<=`` for a number of which less is better. WHERE
is up to one set, one model and one scorer in any order, between commas; a word that names several of these is
the first of them that is not taken. Without a model it is about all models, those with scorers for a number
of scores. Without a set, numbers of anomalies are required on every set with anomalies that is not for
validation or training, others on the clean set or over all corruptions. Without a scorer it is the
recommended one, which was not chosen on these sets, or that of the model's own row. A requirement is met if
the whole interval meets it, missed if none of the interval does, and otherwise not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from faultscape.errors import OptionError, closest
from faultscape.reporting.reliability.document import (
    CORRUPTED,
    FOUND_AT,
    TITLES,
    Card,
    CardRequirement,
    find_cell,
    first_holdout,
)
from faultscape.reporting.reliability.tables import conditions_of, scorer_to_use
from faultscape.verbs.reliability.conditions import Condition

NAMES = {  # of the numbers, as a requirement writes them
    "ap": "average_precision",
    "auroc": "auroc",
    "fpr95": "fpr95",
    **{TITLES[name].short: name for name in FOUND_AT},
    "component_f1": "component_f1",
    "miou": "miou",
    "ece": "ece",
    "drop": "relative_drop",
    "mce": "corruption_error",
    "consistency": "consistency",
    "error_ap": "error_ap",
    "error_auroc": "error_auroc",
    "error_fpr95": "error_fpr95",
}
_OVER_CORRUPTIONS = ("relative_drop", "corruption_error", "consistency")
_SIGNED = re.compile(r"(?P<left>.*?)(?P<sign>>=|<=)(?P<bound>.*)", re.DOTALL)
_EXAMPLE = '--require "ap>=.5"'


@dataclass(frozen=True)
class Requirement:
    """A requirement as it was given: the words of WHERE, the metric, and the bound that it should be
    ``above`` or below.
    """

    text: str
    where: tuple[str, ...]
    metric: str
    above: bool
    bound: float


@dataclass(frozen=True)
class _Place:
    """What a requirement names; '' where it names none."""

    condition: str = ""
    model: str = ""
    scorer: str = ""


def read_requirements(texts: Sequence[str]) -> list[Requirement]:
    """Return requirements, each once; OptionError for one that no card could meet or miss.

    >>> read_requirements(["blend: AP >= .5"])[0].where, read_requirements(["fpr95<=.3"])[0].above
    (('blend',), False)
    """
    return [_read(text) for text in dict.fromkeys(texts)]


def _read(text: str) -> Requirement:
    given = f"--require {text}:"
    found = _SIGNED.fullmatch(text)
    if found is None:
        raise OptionError(
            f"{given} is not NUMBER>=BOUND or NUMBER<=BOUND, for example {_EXAMPLE}; without quotes the shell"
            " takes > for a file"
        )
    where, _, name = found["left"].rpartition(":")
    name = name.strip().lower()
    metric = NAMES.get(name, name)
    if metric not in TITLES:
        raise OptionError(
            f"{given} the card has no number {name or 'without a name'}; it has"
            f" {', '.join(NAMES)}.{closest(name, list(NAMES))}"
        )
    try:
        bound = float(found["bound"])
    except ValueError:
        bound = found["bound"].strip() or "nothing"
        raise OptionError(f"{given} {bound} is not a number; give a share, such as .5") from None
    above = found["sign"] == ">="
    if above != (TITLES[metric].better == "high"):
        better = "more" if TITLES[metric].better == "high" else "less"
        other = f"{name}{'<=' if above else '>='}{found['bound'].strip()}"
        raise OptionError(f"{given} of {name}, {better} is better; write {other}")
    most = float("inf") if metric == "corruption_error" else 1.0
    if not 0 <= bound <= most:
        raise OptionError(f"{given} {name} is between 0 and {'infinity' if most > 1 else '1'}")
    words = tuple(word.strip() for word in where.split(",")) if where.strip() else ()
    return Requirement(text, words, metric, above, bound)


def refuse_unknown_places(
    requirements: Sequence[Requirement], conditions: Sequence[Condition], scorers: Mapping[str, Sequence[str]]
) -> None:
    """Raise OptionError for a requirement that names no set, model or scorer of the study, {model: its
    scorers}, or a set without anomalies for a number of anomalies.
    """
    kinds = {condition.name: condition.kind for condition in conditions}
    for one in requirements:
        place = _place(one, [*kinds, CORRUPTED], scorers)
        if (
            place.condition
            and TITLES[one.metric].of == "anomalies"
            and kinds.get(place.condition) != "anomaly"
        ):
            there = ", ".join(name for name, kind in kinds.items() if kind == "anomaly") or "none"
            raise OptionError(
                f"--require {one.text}: {place.condition} is not a set with anomalies; the card has {there}"
            )
        if place.scorer and TITLES[one.metric].of == "maps":
            raise OptionError(
                f"--require {one.text}: {TITLES[one.metric].title} is a number of maps, not of a scorer;"
                f" remove {place.scorer}"
            )


def _place(one: Requirement, conditions: Sequence[str], scorers: Mapping[str, Sequence[str]]) -> _Place:
    every = list(dict.fromkeys(word for of in scorers.values() for word in of))
    known: dict[str, Sequence[str]] = {"condition": conditions, "model": [*scorers], "scorer": every}
    taken: dict[str, str] = {}
    for word in one.where:
        kind = next((kind for kind, words in known.items() if word in words and kind not in taken), None)
        if kind is None:
            words = list(dict.fromkeys(word for of in known.values() for word in of))
            why = "is named twice" if word in words else "is not a set, model or scorer of the card"
            raise OptionError(
                f"--require {one.text}: {word or 'an empty word'} {why}; it has"
                f" {', '.join(words)}.{closest(word, words)}"
            )
        taken[kind] = word
    return _Place(**taken)


def judge_requirements(card: Card, requirements: Sequence[Requirement]) -> list[CardRequirement]:
    """Return what became of requirements: a row for each model and set that they are about."""
    scorers = {one["name"]: one.get("scorers", []) for one in card["models"]}
    conditions = [condition["name"] for condition in card["conditions"]]
    out = list[CardRequirement]()
    for one in requirements:
        place = _place(one, [*conditions, CORRUPTED], scorers)
        names = [place.condition] if place.condition else _conditions(card, one.metric)
        # masked maps, for example, have none
        scored = [name for name in scorers if scorers[name] or TITLES[one.metric].of == "maps"]
        for model in [place.model] if place.model else scored or scorers:
            scorer = place.scorer or scorer_to_use(card, model)
            scorer = "" if TITLES[one.metric].of == "maps" else scorer
            out += [_judged(card, one, model, scorer, name) for name in names or [""]]
    return out


def _conditions(card: Card, metric: str) -> list[str]:
    """Return the conditions of a requirement that names none."""
    if TITLES[metric].of == "anomalies":
        return [
            one["name"]
            for one in card["conditions"]
            if one["kind"] == "anomaly" and not (one.get("validation") or one.get("training"))
        ]
    return [CORRUPTED] if metric in _OVER_CORRUPTIONS else conditions_of(card, "clean")[:1]


def _judged(card: Card, one: Requirement, model: str, scorer: str, condition: str) -> CardRequirement:
    of_anomalies = TITLES[one.metric].of == "anomalies"
    holdout = "" if of_anomalies or one.metric == "consistency" else first_holdout(card)
    cell = find_cell(card, model, condition, one.metric, scorer, holdout)
    value, low, high = (None if cell is None else cell.get(key) for key in ("value", "low", "high"))
    standing: Literal["met", "missed", "not known"] = "not known"
    why = ""
    if not condition:
        why = "no set with anomalies is for test" if of_anomalies else "there is no labelled set"
    elif not scorer and TITLES[one.metric].of != "maps":
        why = "the model has no scorer"
    elif value is None:
        why = "it was not measured"
    elif low is None or high is None:
        why = "it has no interval"
    elif (low >= one.bound) if one.above else (high <= one.bound):
        standing = "met"
    elif (high < one.bound) if one.above else (low > one.bound):
        standing = "missed"
    else:
        why = "the interval includes the bound"
    return {
        "requirement": one.text,
        "model": model,
        "scorer": scorer,
        "condition": condition,
        "metric": one.metric,
        "holdout": holdout,
        "above": one.above,
        "bound": one.bound,
        "value": value,
        "low": low,
        "high": high,
        "standing": standing,
        "why": why,
    }
