"""The tables of the card: models in rows, sets in columns, as in Buchanan et al. 2022 and Blum et al. 2021;
written as CSV, Markdown and LaTeX.

Conventions: numbers have three digits (times one) in Markdown and LaTeX and twelve in CSV; an empty cell is a
dash. The scorer of a model's own row is max probability if counted, else the first: it is never chosen by the
numbers shown. CSV also has the ends of intervals.
Source: Buchanan et al. 2022, Tables 2 and 3; Blum et al. 2021, Tables 1 and 3.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from faultscape.reporting.reliability.document import (
    ALL_OBJECTS,
    CORRUPTED,
    FOUND_AT,
    RANDOM,
    TITLES,
    Card,
    CardCell,
    find_cell,
    flags_of_score,
    holdouts_of,
    in_distribution_text,
    minutes_of_score,
    own_scorer,
    pixels_words,
    recommended_scorer,
    training_sets,
)
from faultscape.reporting.reliability.partial_means import STAR, PartialMeans, Share, shares_text
from faultscape.reporting.view import Column, Mark, Table, TableRow
from faultscape.study.folder import put

VIEWS = (
    "models",
    "corruptions",
    "classes",
    "table-s3",
    "table-s4",
    "objects",
    "thresholds",
    "errors",
    "requirements",
)  # the names of all tables
_FOUND = "objects@5%"
_TEX = {
    **{mark: f"\\{mark}" for mark in "&%#_${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


# a column, and the function that returns the number of a row (model, scorer) in it, if there is one
_Asked = tuple[Column, Callable[[str, str], Mark | None]]


def views_of(card: Card) -> list[Table]:
    """Return the tables for which a card has numbers; the ends of intervals are those of the cells."""
    made = [
        _models(card),
        _corruptions(card),
        _classes(card),
        _table_of_s3(card),
        _table_of_s4(card),
        _objects(card),
        _thresholds(card),
        _errors(card),
        _requirements(card),
    ]
    return [view for view in made if view is not None]


def main_scorer(card: Card, model: str) -> str:
    """Return the scorer of a model's own row; '' without one."""
    return own_scorer(next((one.get("scorers", []) for one in card["models"] if one["name"] == model), []))


def scorer_to_use(card: Card, model: str) -> str:
    """Return the recommended scorer of a model, or else that of its own row."""
    return recommended_scorer(card, model) or main_scorer(card, model)


def conditions_of(card: Card, *kinds: str) -> list[str]:
    """Return the names of the conditions of some kinds."""
    return [condition["name"] for condition in card["conditions"] if condition["kind"] in kinds]


def _kept(card: Card, made: Callable[[str, str], _Asked]) -> list[_Asked]:
    """Return the columns of a number: in distribution for each holdout, then over all classes; ``made``
    takes the holdout and the words for a title.
    """
    return [made(holdout, pixels_words(card, holdout)) for holdout in [*holdouts_of(card), ""]]


def _of_maps(card: Card, title: str, condition: str, metric: str, holdout: str = "") -> _Asked:
    return _asked(card, _column(title, condition, metric, holdout), lambda _model, _scorer: "")


def _of_score(
    card: Card, title: str, condition: str, metric: str, holdout: str = "", *, main: bool = False
) -> _Asked:
    def shown(model: str, scorer: str) -> str:
        return main_scorer(card, model) if main and model != RANDOM else scorer

    return _asked(card, _column(title, condition, metric, holdout), shown)


def _column(title: str, condition: str, metric: str, holdout: str) -> Column:
    about = TITLES[metric]
    return Column(
        title, better=about.better, says=about.says, metric=metric, group=condition, holdout=holdout
    )


def _asked(card: Card, column: Column, shown: Callable[[str, str], str]) -> _Asked:
    means = PartialMeans(card) if column.group == CORRUPTED else None

    def mark(model: str, scorer: str) -> Mark | None:
        row = (model, column.group, column.metric, shown(model, scorer), column.holdout)
        return _mark(find_cell(card, *row), means.share(*row) if means else None)

    return column, mark


def _mark(cell: CardCell | None, share: Share | None) -> Mark | None:
    if cell is None:
        return None
    known = cell["value"] is not None
    return Mark(cell["value"], cell.get("low"), cell.get("high"), share=share if known else None)


def _table(
    texts: tuple[str, str, str],
    asked: Sequence[_Asked],
    rows: Sequence[tuple[str, str]],
    heads: tuple[str, ...] = ("model",),
    flags: Mapping[tuple[str, str], str] | None = None,
) -> Table | None:
    """Return a table (its name, title and description) of the columns in which some row has a number; None
    without any. ``flags`` are those of rows, where their column has a head.
    """
    marks = [[made(*row) for _, made in asked] for row in rows]
    there = [k for k in range(len(asked)) if any(of[k] is not None for of in marks)]
    made = [
        TableRow(
            row[0],
            tuple(of[k] or Mark(None) for k in there),
            words=(row[1], (flags or {}).get(row, ""))[: len(heads) - 1],
        )
        for row, of in zip(rows, marks, strict=True)
    ]
    return Table(tuple(asked[k][0] for k in there), tuple(made), heads, *texts) if there else None


def _clean(card: Card) -> str:
    return next(iter(conditions_of(card, "clean")), "")


def _said(card: Card, says: str) -> str:
    """Return the description of a view, with what InD means if it has such numbers."""
    told = in_distribution_text(card)
    return f"{says} {told}." if told else says


def _models(card: Card) -> Table | None:
    rows = tuple((one["name"], "") for one in card["models"])
    clean = _clean(card)
    reference = card.get("reference", "")

    def of_maps(title: str, condition: str, metric: str, end: str = "") -> list[_Asked]:
        return _kept(card, lambda of, said: _of_maps(card, f"{title}{said}{end}", condition, metric, of))

    def of_score(title: str, condition: str, metric: str) -> list[_Asked]:
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
            column
            for name in conditions_of(card, "anomaly")
            if name not in training_sets(card)
            for column in (
                _of_score(card, f"AP {name}", name, "average_precision", main=True),
                _of_score(card, f"{_FOUND} {name}", name, FOUND_AT[1], main=True),
            )
        ),
    ]
    if any(column.metric == "average_precision" and made(RANDOM, RANDOM) for column, made in columns):
        rows = (*rows, (RANDOM, RANDOM))
    says = "One row a model. Doubt is 1 - max probability, unless a model has no such scorer."
    return _table(("models", "The card", _said(card, says)), columns, rows)


def _corruptions(card: Card) -> Table | None:
    names = list(
        dict.fromkeys(
            str(c["corruption"])
            for c in card["conditions"]
            if c["kind"] == "corrupted" and c.get("corruption")
        )
    )
    rows = tuple((one["name"], "") for one in card["models"])

    means = PartialMeans(card)

    def mean(name: str, holdout: str, said: str) -> _Asked:
        conditions = [
            c["name"] for c in card["conditions"] if c.get("corruption") == name and c["kind"] == "corrupted"
        ]

        def mark(model: str, _scorer: str) -> Mark | None:
            found = [find_cell(card, model, one, "miou", holdout=holdout) for one in conditions]
            values = [one["value"] for one in found if one is not None and one["value"] is not None]
            share = means.share_within(conditions, model, "miou", holdout=holdout)
            return Mark(sum(values) / len(values), share=share) if values else None

        return _column(name + said, name, "miou", holdout), mark

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
    says = "Mean over the severities of each corruption; the last column is the mean of these."
    texts = ("corruptions", "mIoU under corruption", _said(card, says))
    return _table(texts, columns, rows) if names else None


def _classes(card: Card) -> Table | None:
    """Return the IoU of each class, a column a condition."""
    held: dict[tuple[str, str], dict[str, Mark]] = {}
    for one in card.get("classes", []):
        mark = Mark(one["value"], one.get("low"), one.get("high"))
        held.setdefault((one["model"], one["class_"]), {})[one["condition"]] = mark
    names = list(dict.fromkeys(name for marks in held.values() for name in marks))
    names.sort(key=CORRUPTED.__eq__)  # the mean is last
    columns = tuple(Column(name, better="high", metric="miou", group=name) for name in names)
    rows = tuple(
        TableRow(model, tuple(marks.get(name, Mark(None)) for name in names), words=(class_,))
        for (model, class_), marks in held.items()
    )
    says = "IoU of each class; of a corruption the mean over severities, and of all the mean of these."
    title = "IoU of each class"
    return Table(columns, rows, ("model", "class"), "classes", title, _said(card, says)) if rows else None


def _table_of_s3(card: Card) -> Table | None:
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
    says = "Doubt is max probability where it was counted, else the first scorer. AUC-PR is the step sum."
    title = "As Buchanan et al. 2022, Tables 2 and 3"
    table = _table(("table-s3", title, _said(card, says)), columns, rows)
    return table if table and len(table.columns) > 1 else None


def _score_rows(card: Card) -> tuple[tuple[str, str], ...]:
    return tuple((one["name"], scorer) for one in card["models"] for scorer in one.get("scorers", []))


def _table_of_s4(card: Card) -> Table | None:
    """Return the table of Blum et al. 2021, Table 1: AP, FPR95 and AUROC per set, beside them the objects
    found, then the mIoU that the method leaves, and its times.
    """
    rows = ((RANDOM, RANDOM), *_score_rows(card))
    anomalies = conditions_of(card, "anomaly")
    columns = [
        _of_score(card, f"{name} {TITLES[m].short or TITLES[m].title}", name, m)
        for name in anomalies
        for m in ("average_precision", "fpr95", "auroc", *FOUND_AT)
    ]
    clean = _clean(card)
    columns += _kept(card, lambda of, said: _of_maps(card, f"mIoU {clean}{said}", clean, "miou", of))
    columns += _times_of_scores(card)
    flags = {row: ", ".join(said) for row in rows if (said := flags_of_score(card, *row))}
    says = _said(
        card,
        "Every scorer of every model, all pixels of a set pooled; the AP of chance is the share of anomalous"
        " pixels. Minutes: to fit the method, or to train the network of any other scorer; ms: to predict an"
        " image with labels and this score.",
    )
    heads = ("model", "scorer", "flags") if flags else ("model", "scorer")
    table = _table(("table-s4", "As Blum et al. 2021, Table 1", says), columns, rows, heads, flags)
    return table if table and any(column.group in anomalies for column in table.columns) else None


def _times_of_scores(card: Card) -> list[_Asked]:
    """Return the minutes to train or fit, and the time of an image on each device."""

    def minutes(model: str, scorer: str) -> Mark | None:
        taken = minutes_of_score(card, model, scorer)
        return None if taken is None else Mark(taken)

    def of_device(device: str) -> _Asked:
        held = {row["model"]: row for row in card.get("times", []) if row["device"] == device}

        def milliseconds(model: str, scorer: str) -> Mark | None:
            row = held.get(model)
            spread = row and row.get("methods_ms", {}).get(scorer, row.get("plain_ms"))
            return Mark(spread[1], spread[0], spread[2]) if spread else None

        title = f"ms an image, {device}" if len(devices) > 1 else "ms an image"
        return Column(title, better="low", says="median and quartiles", digits=1), milliseconds

    devices = list(dict.fromkeys(row["device"] for row in card.get("times", [])))
    return [(Column("minutes to train or fit", better="low", digits=1), minutes), *map(of_device, devices)]


def _objects(card: Card) -> Table | None:
    """Return the table of anomalous objects by size and place, with the pixel metrics of the same objects."""
    columns = [
        *(_column(TITLES[m].short, "", m, "") for m in FOUND_AT),
        Column("pixels found at 5 %", better="high", says="mean share of an object's pixels"),
        _column("AP", "", "average_precision", ""),
    ]
    cells = {
        (c["model"], c.get("scorer", ""), c["condition"], c["metric"]): c
        for c in card["cells"]
        if c["metric"] in FOUND_AT
    }
    rows = []
    for row in card.get("objects", []):
        about = (row["model"], row["scorer"], row["condition"])
        whole = [cells.get((*about, m)) if row["objects"] == ALL_OBJECTS else None for m in FOUND_AT]
        marks = [
            _mark(cell, None) or Mark(row.get(m))  # type: ignore[arg-type]
            for m, cell in zip(FOUND_AT, whole, strict=True)
        ]
        marks += [Mark(row["recall"]), Mark(row["average_precision"])]
        rows.append(
            TableRow(row["model"], tuple(marks), words=(*about[1:], row["objects"], str(row["count"])))
        )
    says = (
        "Anomalous objects of every scorer and set, by quarter of size and third of the frame's height. An"
        " object is found if at least half of its pixels are flagged, where 1, 5 or 10 % of the known pixels"
        " are. The AP of their pixels depends on their share."
    )
    heads = ("model", "scorer", "set", "objects", "number")
    return Table(tuple(columns), tuple(rows), heads, "objects", "Objects found", says) if rows else None


def _thresholds(card: Card) -> Table | None:
    """Return the table of thresholds, and of what each flags on the sets that it was not learnt from."""
    rows = card.get("thresholds", [])
    sets = list(dict.fromkeys(on["condition"] for row in rows for on in row["on"]))
    shares = {"false_alarms": "false alarms", "pixels": "pixels found", "objects": "objects found"}
    columns = [Column("from"), *(Column(f"{name} {said}") for name in sets for said in shares.values())]
    made = []
    for row in rows:
        on: dict[str, Mapping[str, object]] = {one["condition"]: dict(one) for one in row["on"]}
        marks = [Mark(on.get(name, {}).get(key)) for name in sets for key in shares]  # type: ignore[arg-type]
        words = (row["scorer"], f"{row['rate']:g}", str(row["images"]))
        made.append(TableRow(row["model"], (Mark(row["score"]), *marks), words=words))
    says = (
        "The lowest score that is flagged, so that no more than that rate of the known pixels of the"
        " validation images is, and the shares that it flags on sets that it was not learnt from."
    )
    heads = ("model", "scorer", "rate", "images")
    title = "Thresholds for a false-alarm rate"
    return Table(tuple(columns), tuple(made), heads, "thresholds", title, says) if rows else None


def _requirements(card: Card) -> Table | None:
    """Return what became of each requirement."""
    rows = [
        TableRow(
            row["model"],
            (Mark(row["value"], row["low"], row["high"]),),
            words=(row["scorer"], row["condition"], row["requirement"], row["standing"], row["why"]),
        )
        for row in card.get("requirements", [])
    ]
    says = "A requirement is met or missed by the whole interval of its number, and otherwise not known."
    heads = ("model", "scorer", "set", "requirement", "standing", "why")
    table = Table((Column("value"),), tuple(rows), heads, "requirements", "Requirements", says)
    return table if rows else None


def _errors(card: Card) -> Table | None:
    """Return the table of misclassification detection, Blum et al. 2021, appendix A."""
    rows = _score_rows(card)
    columns = [
        _of_score(card, f"{name}{pixels_words(card, of)} {TITLES[m].title}", name, m, of)
        for name in [*conditions_of(card, "clean", "misclassified", "natural"), CORRUPTED]
        for of in [*holdouts_of(card), ""]
        for m in ("error_ap", "error_auroc", "error_fpr95")
    ]
    says = (
        "Wrong pixels among the known ones are the positives (Blum et al. 2021, appendix A). A void-class"
        " score is left out here: it asks what is unknown, not what is wrong."
    )
    texts = ("errors", "Finding wrong pixels", _said(card, says))
    return _table(texts, columns, rows, ("model", "scorer"))


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


def csv_text(view: Table) -> str:
    """Return a view as CSV, each number followed by the ends of its interval."""
    head = [
        *view.heads,
        *(f"{column.title}{of}" for column in view.columns for of in ("", " low", " high")),
    ]
    rows = [
        [row.model, *row.words, *(_plain(x) for m in row.marks for x in (m.value, m.low, m.high))]
        for row in view.rows
    ]
    return _csv([head, *rows])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _plain(value: object) -> str:
    return "" if value is None else str(value)


def markdown_text(view: Table) -> str:
    """Return a view as a Markdown table."""
    head = [*view.heads, *(column.title for column in view.columns)]
    lines = [f"| {' | '.join(map(_escaped, head))} |", f"|{'---|' * len(head)}"]
    for row, cells in _texts(view):
        lines.append(f"| {' | '.join(map(_escaped, [*row, *cells]))} |")
    told = shares_text(view.rows)
    lines += ["", told.replace(STAR, f"\\{STAR}", 1)] if told else []
    return f"**{view.title}.** {view.says}\n\n" + "\n".join(lines) + "\n"


def latex_text(view: Table) -> str:
    r"""Return a view as a LaTeX table (booktabs)."""
    words = len(view.heads)
    head = [*view.heads, *(f"{_tex(column.title)} {_arrow(column)}" for column in view.columns)]
    lines = [
        f"% {view.title}. {view.says}",
        rf"\begin{{tabular}}{{{'l' * words}{'r' * len(view.columns)}}}",
        r"\toprule",
    ]
    lines += [" & ".join(head) + r" \\", r"\midrule"]
    lines += [" & ".join([*map(_tex, row), *cells]) + r" \\" for row, cells in _texts(view, dash="--")]
    told = shares_text(view.rows)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *([f"% {told}"] if told else [])]) + "\n"


def _texts(view: Table, dash: str = "–") -> list[tuple[list[str], list[str]]]:
    return [
        (
            [row.model, *row.words],
            [
                dash if m.value is None else f"{m.value:.{column.digits}f}{STAR if m.share else ''}"
                for column, m in zip(view.columns, row.marks, strict=True)
            ],
        )
        for row in view.rows
    ]


def _arrow(column: Column) -> str:
    return {"high": "$\\uparrow$", "low": "$\\downarrow$"}.get(column.better, "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _tex(text: str) -> str:
    return "".join(_TEX.get(mark, mark) for mark in text)
