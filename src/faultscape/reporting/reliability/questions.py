"""The questions that a card answers, who leads each, and what may be claimed: a model is ahead of another
only if the paired interval of their difference excludes 0.

Conventions: differences are oriented so that above 0 the first model is better. For scores, each model is
represented by its own row's scorer (`tables.main_scorer`). Means over corruptions are compared only if both
models were judged under the same corrupted conditions. A model is *unbeaten* if no other is ahead of it and
it was compared with the leader; the *best* is ahead of every other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultscape.reporting.reliability.document import (
    CORRUPTED,
    RANDOM,
    TITLES,
    Card,
    CardCell,
    first_holdout,
    holdouts_of,
    pixels_words,
    training_sets,
)
from faultscape.reporting.reliability.tables import conditions_of, main_scorer
from faultscape.reporting.view import Mark, TableRow, listed

_FEW = 4  # most models that a sentence names


@dataclass(frozen=True)
class Question:
    """One number under one condition: how a sentence about it begins, the heading if one model is ``best``
    ({} is its name), and the heading if none is; in distribution if it has a ``holdout``. ``left_out`` are
    models that it does not compare, and ``caveat`` is a sentence about models.
    """

    title: str
    condition: str
    metric: str
    best: str
    none: str
    holdout: str = ""
    left_out: tuple[str, ...] = ()
    caveat: str = ""

    @property
    def scored(self) -> bool:
        """Whether it is about scorers."""
        return TITLES[self.metric].of != "maps"


@dataclass(frozen=True, eq=False)
class Standing:
    """The models on a question: their cells with a value, {(FIRST, SECOND): difference}, and who is
    unbeaten.
    """

    question: Question
    cells: Mapping[str, CardCell]
    gaps: Mapping[tuple[str, str], Mark]

    @property
    def leader(self) -> str:
        """The model with the best number."""
        sign = 1 if TITLES[self.question.metric].better == "high" else -1
        return max(self.cells, key=lambda name: sign * _value(self.cells[name]))

    @property
    def decided(self) -> bool:
        """Whether any difference has an interval, so that models could be distinguished."""
        return any(gap.low is not None for gap in self.gaps.values())

    def ahead(self, one: str, other: str) -> bool:
        """Whether the interval of the difference shows that the first model is better."""
        low = self.gaps.get((one, other), Mark(None)).low
        return low is not None and low > 0

    @property
    def unbeaten(self) -> list[str]:
        """The leader and the models compared with it that no other is ahead of."""
        return [name for name in self.cells if name not in self.behind and name not in self.apart]

    @property
    def behind(self) -> list[str]:
        """The models that some other is ahead of."""
        return [name for name in self.cells if any(self.ahead(other, name) for other in self.cells)]

    @property
    def apart(self) -> list[str]:
        """The models that none is ahead of, but whose difference to the leader has no interval, so that
        nothing is claimed about them.
        """
        leader = self.leader
        behind = self.behind
        there = [n for n in self.cells if n != leader and n not in behind]
        return [n for n in there if self.gaps.get((leader, n), Mark(None)).low is None]

    @property
    def best(self) -> str:
        """The model that is ahead of every other, or ''."""
        return next(
            (
                n
                for n in self.cells
                if len(self.cells) > 1 and all(self.ahead(n, o) for o in self.cells if o != n)
            ),
            "",
        )


class CardIndex:
    """Looks up the cells and differences of a card."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.models = [one["name"] for one in card["models"]]
        self._scorers = {name: main_scorer(card, name) for name in self.models}
        self._cells = {
            (c["model"], c["condition"], c["metric"], c.get("scorer", ""), c.get("holdout", "")): c
            for c in card["cells"]
        }
        self._gaps: dict[tuple[str, str, str, str, str, str, str], Mark] = {}
        for row in card.get("paired", []):
            if row["difference"] is not None:
                gap = Mark(row["difference"], row.get("low"), row.get("high"))
                about = (row["metric"], row["condition"], row.get("holdout", ""))
                scorer = row.get("scorer", "")
                first = (row["first"], scorer)
                second = (row["second"], row.get("second_scorer", scorer))
                self._gaps[*about, *first, *second] = gap
                self._gaps[*about, *second, *first] = gap.turned

    def scorer(self, model: str) -> str:
        """Return the scorer of a model's own row."""
        return self._scorers.get(model, "")

    def cell(
        self, model: str, condition: str, metric: str, scorer: str | None = None, holdout: str = ""
    ) -> CardCell | None:
        """Return a cell with a value, or None; for scores that of the model's own row, unless a scorer is
        named; in distribution if a ``holdout`` is.
        """
        if scorer is None:
            scorer = self.scorer(model) if TITLES[metric].of != "maps" else ""
        found = self._cells.get((model, condition, metric, scorer, holdout))
        return found if found is not None and found["value"] is not None else None

    def stand(self, question: Question) -> Standing:
        """Return the standing of all models on a question."""
        cells = {
            name: cell
            for name in self.models
            if name not in question.left_out
            and (cell := self.cell(name, question.condition, question.metric, holdout=question.holdout))
        }
        gaps = dict[tuple[str, str], Mark]()
        under = (
            {name: self._corrupted(name, question) for name in cells}
            if question.condition == CORRUPTED
            else {}
        )
        for one in cells:
            for other in cells:
                if one == other or (under and under[one] != under[other]):
                    continue
                first, second = (
                    (name, self.scorer(name) if question.scored else "") for name in (one, other)
                )
                about = question.metric, question.condition, question.holdout
                gap = self._gaps.get((*about, *first, *second))
                if gap is not None:
                    gaps[one, other] = gap if TITLES[question.metric].better == "high" else gap.turned
        return Standing(question, cells, gaps)

    def _corrupted(self, model: str, question: Question) -> frozenset[str]:
        """Return the corrupted conditions that enter a model's mean."""
        metric = question.metric if question.scored or question.metric == "consistency" else "miou"
        return frozenset(
            name
            for name in conditions_of(self.card, "corrupted")
            if self.cell(model, name, metric, holdout=question.holdout)
        )


def questions(card: Card) -> list[Question]:
    """Return the questions for which a card has numbers, the heading's first; none about copies of training
    images.
    """
    clean = next(iter(conditions_of(card, "clean")), "")
    training = training_sets(card)
    sets = [c["name"] for c in card["conditions"] if c["kind"] == "anomaly" and not c.get("holdout")]
    sets = [name for name in sets if name not in training]
    asked = [
        Question(
            "mIoU under corruption",
            CORRUPTED,
            "miou",
            "{} is the most accurate under corruption",
            "No model is conclusively best under corruption",
        ),
        Question(
            "Relative drop under corruption",
            CORRUPTED,
            "relative_drop",
            "{} loses least under corruption",
            "No model conclusively loses least under corruption",
        ),
        *(
            Question(
                f"Finding anomalies in {name}",
                name,
                "average_precision",
                f"{{}} finds the anomalies of {name} best",
                "No model is conclusively best at finding anomalies",
            )
            for name in sets
        ),
        *_of_held_out(card),
        Question(
            "Finding wrong pixels, clean",
            clean,
            "error_auroc",
            "{} knows its own errors best",
            "No model conclusively knows its own errors best",
        ),
        Question(
            "Finding wrong pixels under corruption",
            CORRUPTED,
            "error_auroc",
            "{} knows its own errors best under corruption",
            "No model conclusively knows its own errors best under corruption",
        ),
        Question(
            "mIoU, clean",
            clean,
            "miou",
            "{} is the most accurate on clean images",
            "No model is conclusively the most accurate",
        ),
        Question(
            "Consistency",
            CORRUPTED,
            "consistency",
            "{} is the most consistent under corruption",
            "No model is conclusively the most consistent",
        ),
    ]
    there: dict[tuple[str, str, str], set[str]] = {}
    for cell in card["cells"]:
        if cell["value"] is not None and cell["model"] != RANDOM:
            about = cell["condition"], cell["metric"], cell.get("holdout", "")
            there.setdefault(about, set()).add(cell["model"])
    every = [
        replace(question, title=_title(card, question, holdout, there), holdout=holdout)
        for question in asked
        for holdout in [*holdouts_of(card), ""]
    ]
    return [
        one
        for one in every
        if there.get((one.condition, one.metric, one.holdout), set()).difference(one.left_out)
    ]


def _title(card: Card, question: Question, holdout: str, there: Collection[tuple[str, str, str]]) -> str:
    """Return the title of a question in distribution, or over all classes where it is also asked in
    distribution.
    """
    about = question.condition, question.metric
    both = any((*about, name) in there for name in holdouts_of(card))
    said = pixels_words(card, holdout) if both else ""
    return f"{question.title},{said}" if said else question.title


def _of_held_out(card: Card) -> list[Question]:
    """Return the questions about finding classes that a holdout withholds, among the models that are not
    known to have learnt them.
    """
    out = []
    for condition in card["conditions"]:
        if not condition.get("holdout"):
            continue
        trained = trained_on(card, condition.get("withheld", []))
        learnt = tuple(trained["with"])
        said = [f"Left out, since trained with held-out classes: {listed(learnt)}."] if learnt else []
        if unknown := trained["unknown"]:
            said.append(
                f"Not known to be trained without these classes: {_named(unknown, len(card['models']))}."
            )
        name = condition["name"]
        out.append(
            Question(
                f"Finding held-out classes, {name}",
                name,
                "average_precision",
                f"{{}} finds the held-out classes of {name} best",
                "No model is conclusively best at finding held-out classes",
                left_out=learnt,
                caveat=" ".join(said),
            )
        )
    return out


def trained_on(card: Card, withheld: Sequence[str]) -> dict[str, Any]:
    """Return {"with": {model: the withheld classes that it was trained with}, "without": models trained by
    `train` without them, "unknown": models of unknown training}.
    """
    learnt = dict[str, list[str]]()
    without = list[str]()
    unknown = list[str]()
    for model in card["models"]:
        if "training" not in model:
            unknown.append(model["name"])
        elif classes := [name for name in withheld if name not in model["training"]["withheld"]]:
            learnt[model["name"]] = classes
        else:
            without.append(model["name"])
    return {"with": learnt, "without": without, "unknown": unknown}


def headline(index: CardIndex, standings: Sequence[Standing]) -> str:
    """Return a heading that claims no more than the paired intervals of the first question allow."""
    if not standings:
        return "Nothing to report yet"
    within = ", within few groups of images" if (index.card.get("units") or {}).get("same_groups") else ""
    if len(index.models) == 1:
        return _of_one_model(index, index.models[0]) + within
    first = standings[0]
    said = first.question.best.format(first.best) if first.best else first.question.none
    if first.best and len(first.cells) < len(index.models):
        return f"Among the {len(first.cells)} models evaluated, {said}{within}"
    return said + within


def _of_one_model(index: CardIndex, model: str) -> str:
    drop = index.cell(model, CORRUPTED, "relative_drop", holdout=first_holdout(index.card))
    if drop is None:
        return f"{model}, evaluated"
    low = drop.get("low")
    lost = _value(drop)
    if low is None or low <= 0:
        return f"{model} does not conclusively lose accuracy under corruption"
    return f"{model} loses {100 * lost:.0f} % of its mIoU under corruption"


def best_value(standing: Standing) -> str:
    """Return the best number on a question, for a card without any interval."""
    leader = standing.leader
    said = f"Best value: {leader} {_value(standing.cells[leader]):.3f}.".replace("-", "−")
    return f"{said} {standing.question.caveat}".rstrip()


def verdict(standing: Standing) -> str:
    """Return the sentences that a question allows: which model is best, or which ones are undecided, with the
    best number.
    """
    return f"{_verdict(standing)} {standing.question.caveat}".rstrip()


def _verdict(standing: Standing) -> str:
    cells = standing.cells
    leader = standing.leader
    text = lambda name: f"{_value(cells[name]):.3f}{_range(cells[name])}".replace("-", "−")  # noqa: E731
    if len(cells) == 1:
        done = "compared" if standing.question.left_out else "evaluated"
        return f"{leader} {text(leader)}. No other model was {done}."
    if best := standing.best:
        sign = 1 if TITLES[standing.question.metric].better == "high" else -1
        second = max((name for name in cells if name != best), key=lambda name: sign * _value(cells[name]))
        return f"{best} is conclusively best, {text(best)}. Next is {second}, {text(second)}."
    if not standing.decided:
        if standing.gaps or standing.question.condition != CORRUPTED:
            return f"Undecided, since differences have no intervals. Best value: {leader} {text(leader)}."
        return "Not comparable: no two models were run on the same corrupted sets."
    unbeaten = standing.unbeaten
    behind = standing.behind
    apart = standing.apart
    said = [f"Undecided between {_named(unbeaten, len(cells))}."] if len(unbeaten) > 1 else []
    said.append(f"Best value: {leader} {text(leader)}.")
    said += [f"Conclusively worse: {_named(behind, len(cells))}."] if behind else []
    return " ".join([*said, *([f"Not compared with it: {_named(apart, len(cells))}."] if apart else [])])


def above_chance(index: CardIndex, condition: str, share: float | None) -> list[str] | None:
    """Return the models whose AP on a set is conclusively above the share of anomalous pixels, the AP of a
    random score; None without intervals.
    """
    lows = {
        m: cell.get("low") for m in index.models if (cell := index.cell(m, condition, "average_precision"))
    }
    if share is None or not any(low is not None for low in lows.values()):
        return None
    return [name for name, low in lows.items() if low is not None and low > share]


def others_above(rows: Sequence[TableRow], metrics: Sequence[str], share: float | None) -> list[str]:
    """Return "model (scorer)" for the rows other than models' own whose AP is conclusively above the share of
    anomalous pixels.
    """
    if share is None or "average_precision" not in metrics:
        return []
    place = metrics.index("average_precision")
    others = [row for row in rows if "main" not in row.kind]
    lows = [(row.marks[place].low, f"{row.model} ({row.words[0]})") for row in others]
    return [name for low, name in lows if low is not None and low > share]


def _named(names: Sequence[str], of: int) -> str:
    return (
        listed(names)
        if len(names) <= _FEW
        else f"all {of} models"
        if len(names) == of
        else f"{len(names)} of {of} models"
    )


def _range(cell: CardCell) -> str:
    low = cell.get("low")
    high = cell.get("high")
    return "" if low is None or high is None else f" ({low:.3f} to {high:.3f})".replace("-", "−")


def _value(cell: CardCell) -> float:
    value = cell["value"]
    assert value is not None
    return value
