"""The tables of the card: models in rows, sets in columns, as in Buchanan et al. 2022 and Blum et al. 2021;
written as CSV, Markdown and LaTeX.

Conventions: numbers have three digits in Markdown and LaTeX and twelve in CSV; an empty cell is a dash. The
scorer of a model's own row is max probability if counted, else the first: it is never chosen by the numbers
shown. CSV also has the ends of intervals.
Source: Buchanan et al. 2022, Tables 2 and 3; Blum et al. 2021, Tables 1 and 3.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faultscape.reporting.reliability.document import (
    CORRUPTED,
    RANDOM,
    TITLES,
    Card,
    CardCell,
    find_cell,
    flags_of_score,
    holdouts_of,
    in_distribution_text,
    own_scorer,
    pixels_words,
)
from faultscape.reporting.reliability.partial_means import STAR, PartialMeans, Share, shares_text
from faultscape.study.folder import put

VIEWS = ("models", "corruptions", "table-s3", "table-s4", "errors")  # the names of all tables
_TEX = {
    **{mark: f"\\{mark}" for mark in "&%#_${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Column:
    """A column of a view: its header, its condition ('' for none), its metric, and functions that return the
    cell of a row (model, scorer), and, for a mean over fewer corrupted sets than others, the share of them;
    its numbers are in distribution if it has a ``holdout``.
    """

    title: str
    condition: str
    metric: str
    cell: Callable[[str, str], CardCell | None]
    share: Callable[[str, str], Share | None] = lambda _model, _scorer: None
    holdout: str = ""

    @property
    def better(self) -> str:
        """Whether high or low is better, '' for neither."""
        return TITLES[self.metric].better if self.metric in TITLES else ""


@dataclass(frozen=True)
class View:
    """A table: the name of its files, its title and description, its columns, its rows (model, scorer), and
    their flags, if any.
    """

    name: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str], ...]
    with_scorers: bool = False
    flags: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def shares(self, columns: Sequence[Column] | None = None) -> list[tuple[str, Share]]:
        """Return (model, share) of the means over fewer corrupted sets than others, of some columns only
        where they are given.
        """
        shown = self.columns if columns is None else columns
        found = ((row[0], c.share(*row)) for row in self.rows for c in shown if c.cell(*row) is not None)
        return [(model, share) for model, share in found if share is not None]

    def words(self, row: tuple[str, str]) -> list[str]:
        """Return the text cells of a row: model, scorer if it has a column, and flags if any row has some."""
        return [*(row if self.with_scorers else row[:1]), *([self.flags.get(row, "")] if self.flags else [])]

    @property
    def head(self) -> list[str]:
        """The headers of the text cells."""
        return ["model", *(["scorer"] if self.with_scorers else []), *(["flags"] if self.flags else [])]


def views_of(card: Card) -> list[View]:
    """Return the tables for which a card has numbers."""
    made = [_models(card), _corruptions(card), _table_of_s3(card), _table_of_s4(card), _errors(card)]
    return [view for view in made if view is not None]


def main_scorer(card: Card, model: str) -> str:
    """Return the scorer of a model's own row; '' without one."""
    return own_scorer(next((one.get("scorers", []) for one in card["models"] if one["name"] == model), []))


def conditions_of(card: Card, *kinds: str) -> list[str]:
    """Return the names of the conditions of some kinds."""
    return [condition["name"] for condition in card["conditions"] if condition["kind"] in kinds]


def _kept(card: Card, made: Callable[[str, str], Column]) -> list[Column]:
    """Return the columns of a number: in distribution for each holdout, then over all classes; ``made``
    takes the holdout and the words for a title.
    """
    return [made(holdout, pixels_words(card, holdout)) for holdout in [*holdouts_of(card), ""]]


def _of_maps(card: Card, title: str, condition: str, metric: str, holdout: str = "") -> Column:
    means = PartialMeans(card) if condition == CORRUPTED else None
    return Column(
        title,
        condition,
        metric,
        lambda model, _scorer: find_cell(card, model, condition, metric, holdout=holdout),
        lambda model, _scorer: (
            means.share(model, condition, metric, holdout=holdout) if means is not None else None
        ),
        holdout,
    )


def _of_score(
    card: Card, title: str, condition: str, metric: str, holdout: str = "", *, main: bool = False
) -> Column:
    means = PartialMeans(card) if condition == CORRUPTED else None

    def shown(model: str, scorer: str) -> str:
        return main_scorer(card, model) if main and model != RANDOM else scorer

    return Column(
        title,
        condition,
        metric,
        lambda model, scorer: find_cell(card, model, condition, metric, shown(model, scorer), holdout),
        lambda model, scorer: (
            means.share(model, condition, metric, shown(model, scorer), holdout) if means else None
        ),
        holdout,
    )


def _filled(columns: Sequence[Column], rows: Sequence[tuple[str, str]]) -> tuple[Column, ...]:
    """Return the columns in which some row has a number."""
    return tuple(column for column in columns if any(column.cell(*row) for row in rows))


def _clean(card: Card) -> str:
    return next(iter(conditions_of(card, "clean")), "")


def _said(card: Card, says: str) -> str:
    """Return the description of a view, with what InD means if it has such numbers."""
    told = in_distribution_text(card)
    return f"{says} {told}." if told else says


def _models(card: Card) -> View | None:
    rows = tuple((one["name"], "") for one in card["models"])
    clean = _clean(card)
    reference = card.get("reference", "")

    def of_maps(title: str, condition: str, metric: str, end: str = "") -> list[Column]:
        return _kept(card, lambda of, said: _of_maps(card, f"{title}{said}{end}", condition, metric, of))

    def of_score(title: str, condition: str, metric: str) -> list[Column]:
        return _kept(card, lambda of, said: _of_score(card, title + said, condition, metric, of, main=True))

    columns = [
        *of_maps(f"mIoU {clean}", clean, "miou"),
        *of_maps("mIoU corrupted", CORRUPTED, "miou"),
        *of_maps("relative drop", CORRUPTED, "relative_drop"),
        *of_maps("mCE", CORRUPTED, "corruption_error", f" ({reference} = 1)"),
        _of_maps(card, "consistency", CORRUPTED, "consistency"),
        *(
            column
            for name in conditions_of(card, "natural", "foggy")
            for column in of_maps(f"mIoU {name}", name, "miou")
        ),
        *of_maps(f"ECE {clean}", clean, "ece"),
        *of_score("calibration AUROC", clean, "error_auroc"),
        *of_score("calibration AUROC corrupted", CORRUPTED, "error_auroc"),
        *(
            _of_score(card, f"AP {name}", name, "average_precision", main=True)
            for name in conditions_of(card, "anomaly")
        ),
    ]
    if any(column.metric == "average_precision" and column.cell(RANDOM, RANDOM) for column in columns):
        rows = (*rows, (RANDOM, RANDOM))
    filled = _filled(columns, rows)
    says = "One row a model. Doubt is 1 - max probability, unless a model has no such scorer."
    return View("models", "The card", _said(card, says), filled, rows) if filled else None


def _corruptions(card: Card) -> View | None:
    names = list(
        dict.fromkeys(
            str(c["corruption"])
            for c in card["conditions"]
            if c["kind"] == "corrupted" and c.get("corruption")
        )
    )
    rows = tuple((one["name"], "") for one in card["models"])

    means = PartialMeans(card)

    def mean(name: str, holdout: str, said: str) -> Column:
        conditions = [
            c["name"] for c in card["conditions"] if c.get("corruption") == name and c["kind"] == "corrupted"
        ]

        def cell(model: str, _scorer: str) -> CardCell | None:
            found = [find_cell(card, model, one, "miou", holdout=holdout) for one in conditions]
            values = [one["value"] for one in found if one is not None and one["value"] is not None]
            return (
                {"model": model, "condition": name, "metric": "miou", "value": sum(values) / len(values)}
                if values
                else None
            )

        return Column(
            name + said,
            name,
            "miou",
            cell,
            lambda model, _scorer: means.share_within(conditions, model, "miou", holdout=holdout),
            holdout,
        )

    columns = [
        column
        for holdout in [*holdouts_of(card), ""]
        for said in [pixels_words(card, holdout)]
        for column in (
            _of_maps(card, f"clean{said}", _clean(card), "miou", holdout),
            *(mean(name, holdout, said) for name in names),
            _of_maps(card, f"mean{said}", CORRUPTED, "miou", holdout),
        )
    ]
    filled = _filled(columns, rows)
    says = "Mean over the severities of each corruption; the last column is the mean of these."
    title = "mIoU under corruption"
    return View("corruptions", title, _said(card, says), filled, rows) if names and filled else None


def _table_of_s3(card: Card) -> View | None:
    """Return the table with the columns of Buchanan et al. 2022, Tables 2 and 3."""
    rows = tuple((one["name"], "") for one in card["models"])
    clean = _clean(card)
    of_maps = [
        (
            _of_maps(card, f"{clean}{said} mIoU", clean, "miou", holdout),
            _of_score(card, f"{clean}{said} calibration AUC", clean, "error_auroc", holdout, main=True),
            _of_maps(card, f"corrupted{said} mIoU", CORRUPTED, "miou", holdout),
        )
        for holdout in [*holdouts_of(card), ""]
        for said in [pixels_words(card, holdout)]
    ]
    of_anomalies = [
        column
        for name in conditions_of(card, "anomaly")
        for column in (
            _of_score(card, f"{name} AUC-ROC", name, "auroc", main=True),
            _of_score(card, f"{name} AUC-PR", name, "average_precision", main=True),
        )
    ]
    # the paper's columns first, then those over all classes of a study with holdouts
    first = of_maps[:-1] or of_maps
    columns = [column for of in (*first, of_anomalies, *of_maps[len(first) :]) for column in of]
    filled = _filled(columns, rows)
    says = "Doubt is max probability where it was counted, else the first scorer. AUC-PR is the step sum."
    title = "As Buchanan et al. 2022, Tables 2 and 3"
    return View("table-s3", title, _said(card, says), filled, rows) if len(filled) > 1 else None


def _score_rows(card: Card) -> tuple[tuple[str, str], ...]:
    return tuple((one["name"], scorer) for one in card["models"] for scorer in one.get("scorers", []))


def _table_of_s4(card: Card) -> View | None:
    """Return the table of Blum et al. 2021, Table 1: AP, FPR95 and AUROC per set, then the mIoU that the
    method leaves.
    """
    rows = ((RANDOM, RANDOM), *_score_rows(card))
    columns = list[Column]()
    for name in conditions_of(card, "anomaly"):
        columns += [
            _of_score(card, f"{name} {TITLES[m].title}", name, m)
            for m in ("average_precision", "fpr95", "auroc")
        ]
    filled = _filled(columns, rows)
    if not filled:
        return None
    clean = _clean(card)
    columns = [
        *filled,
        *_kept(card, lambda of, said: _of_maps(card, f"mIoU {clean}{said}", clean, "miou", of)),
    ]
    flags = {row: ", ".join(said) for row in rows if (said := flags_of_score(card, *row))}
    says = _said(
        card,
        "Every scorer of every model, all pixels of a set pooled; the AP of chance is the share of anomalous"
        " pixels.",
    )
    title = "As Blum et al. 2021, Table 1"
    return View("table-s4", title, says, _filled(columns, rows), rows, with_scorers=True, flags=flags)


def _errors(card: Card) -> View | None:
    """Return the table of misclassification detection, Blum et al. 2021, appendix A."""
    rows = _score_rows(card)
    columns = list[Column]()
    for name in [*conditions_of(card, "clean", "misclassified", "natural"), CORRUPTED]:
        columns += [
            _of_score(card, f"{name}{pixels_words(card, of)} {TITLES[m].title}", name, m, of)
            for of in [*holdouts_of(card), ""]
            for m in ("error_ap", "error_auroc", "error_fpr95")
        ]
    filled = _filled(columns, rows)
    if not filled:
        return None
    says = (
        "Wrong pixels among the known ones are the positives (Blum et al. 2021, appendix A). A void-class"
        " score is left out here: it asks what is unknown, not what is wrong."
    )
    return View("errors", "Finding wrong pixels", _said(card, says), filled, rows, with_scorers=True)


def write_tables(out: Path, card: Card) -> None:
    """Write every number as cells.csv, and each table as CSV, Markdown and LaTeX."""
    put(out / "cells.csv", _cells_text(card).encode("utf-8", "surrogateescape"))
    views = views_of(card)
    for name in {*VIEWS} - {view.name for view in views}:
        for ending in ("csv", "md", "tex"):
            (out / f"{name}.{ending}").unlink(missing_ok=True)  # from an earlier card
    for view in views:
        put(out / f"{view.name}.csv", csv_text(view).encode("utf-8", "surrogateescape"))
        put(out / f"{view.name}.md", markdown_text(view).encode("utf-8", "surrogateescape"))
        put(out / f"{view.name}.tex", latex_text(view).encode("utf-8", "surrogateescape"))


def _cells_text(card: Card) -> str:
    names = ("model", "scorer", "condition", "metric", "value", "low", "high", "images", "holdout")
    return _csv([list(names), *([_plain(dict(cell).get(name)) for name in names] for cell in card["cells"])])


def csv_text(view: View) -> str:
    """Return a view as CSV, each number followed by the ends of its interval."""
    head = view.head
    for column in view.columns:
        head += [column.title, f"{column.title} low", f"{column.title} high"]
    rows = []
    for row in view.rows:
        line = view.words(row)
        for column in view.columns:
            cell = column.cell(*row) or {}
            line += [_plain(cell.get(key)) for key in ("value", "low", "high")]
        rows.append(line)
    return _csv([head, *rows])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _plain(value: object) -> str:
    return "" if value is None else str(value)


def markdown_text(view: View) -> str:
    """Return a view as a Markdown table."""
    head = [*view.head, *(column.title for column in view.columns)]
    lines = [f"| {' | '.join(map(_escaped, head))} |", f"|{'---|' * len(head)}"]
    for row, cells in _texts(view):
        lines.append(f"| {' | '.join(map(_escaped, [*row, *cells]))} |")
    told = shares_text(view.shares())
    lines += ["", told.replace(STAR, f"\\{STAR}", 1)] if told else []
    return f"**{view.title}.** {view.says}\n\n" + "\n".join(lines) + "\n"


def latex_text(view: View) -> str:
    r"""Return a view as a LaTeX table (booktabs)."""
    words = len(view.head)
    head = [*view.head, *(f"{_tex(column.title)} {_arrow(column)}" for column in view.columns)]
    lines = [
        f"% {view.title}. {view.says}",
        rf"\begin{{tabular}}{{{'l' * words}{'r' * len(view.columns)}}}",
        r"\toprule",
    ]
    lines += [" & ".join(head) + r" \\", r"\midrule"]
    lines += [" & ".join([*map(_tex, row), *cells]) + r" \\" for row, cells in _texts(view, dash="--")]
    told = shares_text(view.shares())
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *([f"% {told}"] if told else [])]) + "\n"


def _texts(view: View, dash: str = "–") -> list[tuple[list[str], list[str]]]:
    out = []
    for row in view.rows:
        cells = [column.cell(*row) for column in view.columns]
        texts = [
            dash
            if cell is None or cell["value"] is None
            else f"{cell['value']:.3f}{STAR if column.share(*row) else ''}"
            for cell, column in zip(cells, view.columns, strict=True)
        ]
        out.append((view.words(row), texts))
    return out


def _arrow(column: Column) -> str:
    return {"high": "$\\uparrow$", "low": "$\\downarrow$"}.get(column.better, "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _tex(text: str) -> str:
    return "".join(_TEX.get(mark, mark) for mark in text)
