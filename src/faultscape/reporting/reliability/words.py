"""What `reliability` prints: the row of each model, what is missing, and where to find the rest."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faultscape.errors import counted
from faultscape.reporting.reliability.document import (
    CORRUPTED,
    RANDOM,
    Card,
    CardModel,
    CardRecommended,
    CardRequirement,
    CardThreshold,
    find_cell,
    first_holdout,
    in_distribution_text,
    pixels_words,
)
from faultscape.reporting.reliability.partial_means import STAR, shares_text
from faultscape.reporting.reliability.tables import main_scorer, scorer_to_use, views_of
from faultscape.reporting.view import Table
from faultscape.terminal_lines import WIDTH, wrapped

CHECKED = 10  # labelled images that say whether models are ranked upside down without labels
_HEAD = 12  # columns of a head, which is wrapped
_GAP = 3
_HARD = "\x00"  # stands for a space at which no line ends


def card_text(path: str, card: Card) -> str:
    """Return the card's first table, its notes, what is missing with the commands that make it, and what was
    written.
    """
    lines = requirement_lines(card)
    for view in views_of(card)[:1]:
        width = max(5, *(len(row.model) for row in view.rows))
        for shown in _blocks([_head(column.title) for column in view.columns], WIDTH - width):
            lines += _block_lines(view, shown, width)
        if told := shares_text(view.rows):
            lines += wrapped(told)
        if any(column.metric == "corruption_error" for column in view.columns):
            lines += wrapped(
                f"mCE: mean corruption error relative to {card.get('reference', '')}; lower is better"
            )
    if told := in_distribution_text(card):
        lines += wrapped(told)
    agreement: Any = dict(card.get("ranking") or {}).get("agreement") or {}
    if agreement := {name: value for name, value in agreement.items() if value is not None}:
        said = pixels_words(card, first_holdout(card))
        told = ", ".join(f"{value:.2f} with mIoU {name}{said}" for name, value in agreement.items())
        lines += wrapped(f"without labels, the ranking by consistency has a rank correlation of {told}")
    lines += wrapped(doubt_text(card.get("ranking") or {}))
    lines += recommended_lines(card)
    lines += [
        line
        for model in card["models"]
        if model.get("kind") == "submission"
        for line in submission_lines(model)
    ]
    lines += [line for note in card.get("notes", []) for line in wrapped(f"note: {note}")]
    for gap in card.get("gaps", []):
        where = (
            f" on {', '.join(gap['conditions'][:4])}{', ...' if len(gap['conditions']) > 4 else ''}"
            if gap["conditions"]
            else ""
        )
        lines += wrapped(
            f"missing: {gap['model']}{where}: {gap['why']}{'; to add it:' if gap['line'] else ''}"
        )
        lines += [f"  {gap['line']}"] if gap["line"] else []
    number = len(card["conditions"])
    lines += wrapped(
        f"{Path(path) / 'report.html'}; beside it reliability.json, cells.csv and tables"
        f" ({counted(number, 'condition')}, {counted(len(card['models']), 'model')})"
    )
    return "\n".join(lines)


def doubt_text(ranking: Mapping[str, Any]) -> str:
    """Return why nobody should trust the ranking by consistency, '' if labels bear it out.

    The sign of its correlation with ten labels finds nine in ten of orders that are upside down, and doubts
    one in ten of others (docs/benchmarks/reliability.md).

    >>> doubt_text({"order": ["a", "b", "c"], "labelled": 12, "agreement": {"clean": -0.5}})
    'do not trust the ranking by consistency here: 12 labelled images order the models the other way'
    >>> doubt_text({"order": ["a", "b", "c"], "labelled": 12, "agreement": {"clean": 0.5}})
    ''
    """
    if not ranking.get("order"):
        return ""
    labelled = ranking.get("labelled", 0)
    agreement = (ranking.get("agreement") or {}).get("clean")
    if agreement is not None and agreement < 0:
        told = f"{counted(labelled, 'labelled image')} order the models the other way"
        return f"do not trust the ranking by consistency here: {told}"
    if agreement is None or labelled < CHECKED:
        least = f"three models and {CHECKED} labelled images check it"
        return f"do not trust the ranking by consistency before {least}"
    return ""


def requirement_lines(card: Card) -> list[str]:
    """Return how many requirements are met, and a line on each; none without requirements."""
    rows = card.get("requirements", [])
    lines = wrapped(f"requirements: {requirements_counted(rows)}") if rows else []
    for row in rows:
        lines += wrapped(f"{row['standing']}: {row['requirement']}: {requirement_text(row)}")
    return lines


def requirements_counted(rows: Sequence[CardRequirement]) -> str:
    """Return how many requirements are met, missed and not known.

    >>> requirements_counted([{"standing": "met"}, {"standing": "missed"}, {"standing": "met"}])
    '2 met, 1 missed'
    """
    counts = {word: sum(row["standing"] == word for row in rows) for word in ("met", "missed", "not known")}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def requirement_text(row: CardRequirement) -> str:
    """Return what a requirement is about, with its number and interval, and why it is not known."""
    about = ", ".join(word for word in (row["model"], row["scorer"], row["condition"]) if word)
    value = "" if row["value"] is None else f" {row['value']:.3f}"
    ends = "" if row["low"] is None or row["high"] is None else f" ({row['low']:.3f} to {row['high']:.3f})"
    said = f"{about}{value}{ends}"
    return f"{said}; {row['why']}" if row["why"] else said


def recommended_lines(card: Card) -> list[str]:
    """Return which scorer to use for each model, or why none is recommended, and the thresholds to use; none
    without sets with anomalies.
    """
    if not any(condition["kind"] == "anomaly" for condition in card["conditions"]):
        return []
    lines = list[str]()
    rows = [one for one in card.get("recommended", []) if one["scorer"]]
    for one in rows:
        lines += wrapped(f"recommended: {recommended_text(one)}")
    for why in dict.fromkeys(one["why"] for one in card.get("recommended", []) if not one["scorer"]):
        names = [one["model"] for one in card["recommended"] if one["why"] == why]
        lines += wrapped(f"no scorer is recommended for {', '.join(names)}: {why}")
    for name in [one["name"] for one in card["models"]]:
        scorer = scorer_to_use(card, name)
        held = [t for t in card.get("thresholds", []) if (t["model"], t["scorer"]) == (name, scorer)]
        if held:
            told = thresholds_text(held).replace(" %", f"{_HARD}%")
            lines += [line.replace(_HARD, " ") for line in wrapped(f"thresholds: {name}, {scorer}: {told}")]
    return lines


def recommended_text(one: CardRecommended) -> str:
    """Return which scorer is recommended for a model, and by what."""
    told = f"{one['scorer']} for {one['model']}, by an AP of {one['average_precision']:.3f}"
    told += f" on {', '.join(one['sets'])}"
    if one["difference"] is None:
        return told
    ends = "" if one["low"] is None else f" ({one['low']:+.3f} to {one['high']:+.3f})"
    return f"{told}, {one['difference']:+.3f}{ends} from {one['instead_of']}"


def thresholds_text(held: Sequence[CardThreshold]) -> str:
    """Return the thresholds of a scorer, and the rates that they turned out to have."""
    said = [f"{100 * one['rate']:g} % from {score_text(one['score'])}" for one in held]
    told = f"false alarms on {counted(held[0]['images'], 'validation image')}: {', '.join(said)}"
    for k, on in enumerate(held[0]["on"]):
        rates = [one["on"][k]["false_alarms"] for one in held]
        shown = ["-" if rate is None else f"{100 * rate:.1f} %" for rate in rates]
        told += f"; on {on['condition']} {', '.join(shown)}"
    return told


def score_text(score: float | None) -> str:
    """Return a score in five digits.

    >>> score_text(0.9876543), score_text(-12.5)
    ('0.98765', '-12.5')
    """
    return "-" if score is None else f"{score:.5g}"


def _block_lines(view: Table, shown: Sequence[int], width: int) -> list[str]:
    """Return some columns of a table: their heads, on several lines where they are long, and a line a row."""
    heads = [_head(view.columns[k].title) for k in shown]
    high = max(map(len, heads))
    tops = [[""] * (high - len(head)) + head for head in heads]
    table = [("", [(top[k], "") for top in tops]) for k in range(high)]
    for row in view.rows:
        marks = [row.marks[k] for k in shown]
        if row.model == RANDOM and all(m.value is None for m in marks):
            continue
        texts = [("-", "") if m.value is None else (f"{m.value:.4f}", STAR if m.share else "") for m in marks]
        table.append((row.model, texts))
    room = [_width(head) - _GAP for head in heads]
    return [
        (
            f"{first:<{width}}"
            + "".join(f"  {text:>{of}}{star or ' '}" for (text, star), of in zip(texts, room, strict=True))
        ).rstrip()
        for first, texts in table
    ]


def _head(title: str) -> list[str]:
    """Return the lines of a column's head; what is in parentheses stays on one.

    >>> _head("calibration AUROC corrupted"), _head("mCE (fcn = 1)")
    (['calibration', 'AUROC', 'corrupted'], ['mCE', '(fcn = 1)'])
    """
    held = re.sub(r"\([^)]*\)", lambda found: found[0].replace(" ", _HARD), title)
    lines = textwrap.wrap(held, _HEAD, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_HARD, " ") for line in lines]


def _width(head: Sequence[str]) -> int:
    """Return how many columns of a terminal a column takes, with two spaces before it and a star behind."""
    return _GAP + max(6, *map(len, head))


def _blocks(heads: Sequence[Sequence[str]], room: int) -> list[list[int]]:
    """Return the places of columns in blocks that fit into a terminal."""
    blocks: list[list[int]] = [[]]
    for k in range(len(heads)):
        if blocks[-1] and sum(_width(heads[place]) for place in (*blocks[-1], k)) > room:
            blocks.append([])
        blocks[-1].append(k)
    return blocks


def act_text(card: Card) -> list[str]:
    """Summarize a card in a few lines: clean and corrupted mIoU of each model, best first, and the AP of its
    doubt on the first anomaly set.
    """
    clean = next((condition["name"] for condition in card["conditions"] if condition["kind"] == "clean"), "")
    anomaly = next((condition for condition in card["conditions"] if condition["kind"] == "anomaly"), None)
    holdout = first_holdout(card)
    kept = {
        one["name"]: find_cell(card, one["name"], CORRUPTED, "miou", holdout=holdout)
        for one in card["models"]
    }
    order = sorted(kept, key=lambda name: -((kept[name] or {}).get("value") or 0.0))
    scenes = next(
        (condition["images"] for condition in card["conditions"] if condition["kind"] == "clean"), 0
    )
    head = (
        f"3. What do they know of their errors?  {counted(len(card['conditions']), 'condition')}, clean to"
        f" unknown objects, of {scenes} other scenes"
    )
    lines = [head, f"   {'':<24} {'mIoU':>8} {'corrupted':>10}" + (f" {'AP unknown':>11}" if anomaly else "")]
    for name in order:
        cells = [find_cell(card, name, clean, "miou", holdout=holdout), kept[name]]
        if anomaly:
            cells.append(find_cell(card, name, anomaly["name"], "average_precision", main_scorer(card, name)))
        texts = ["-" if cell is None or cell["value"] is None else f"{cell['value']:.4f}" for cell in cells]
        lines.append(f"   {name:<24} {texts[0]:>8} {texts[1]:>10}" + (f" {texts[2]:>11}" if anomaly else ""))
    if anomaly and anomaly.get("anomalous") is not None:
        lines.append(f"   {'chance':<24} {'':>8} {'':>10} {anomaly['anomalous']:>11.4f}")
    return lines


def submission_lines(model: CardModel) -> list[str]:
    """Return what is known about a submission: what was hidden from it and what was open, what it declares,
    and whether its claims were accepted.
    """
    hidden = ", ".join(model.get("hidden", []))
    open_ = ", ".join(model.get("open", []))
    declared = model.get("declared", "")
    said = {"": "nothing about unknown objects in training", "none": "no unknown objects in training"}.get(
        declared.lower(), f"unknown objects in training: {declared}"
    )
    published = f"; {link}" if (link := model.get("publication", "")) else ""
    lines = [
        f"{model['name']}: could not read {hidden or 'nothing'}; could read {open_}",
        f"{model['name']}: declares {said}{published}",
    ]
    return lines + [
        f"{model['name']}: {text}"
        for accepted in (True, False)
        for text in claims_text(model, accepted=accepted)
    ]


def claims_text(model: CardModel, *, accepted: bool) -> list[str]:
    """Return texts on the claims of a submission that were accepted, or on those that were not."""
    out = []
    for claim in model.get("claims", []):
        pairs = (
            ("AP", claim["average_precision"], claim["measured_average_precision"]),
            ("FPR95", claim["fpr95"], claim["measured_fpr95"]),
        )
        text = " and ".join(
            f"{name} {claimed:.4f} (measured {'-' if found is None else format(found, '.4f')})"
            for name, claimed, found in pairs
        )
        if claim["accepted"] == accepted:
            out.append(f"claims {text} on {claim['condition']}: {claim['why'] or 'confirmed'}")
    return out
