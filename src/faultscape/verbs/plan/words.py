"""Print a plan: tables that fit 80 columns, and the next command.

Conventions: takes the plan as written to plan.json and the name of the study, returns text. Times below two
hours are in minutes.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

from faultscape.errors import counted
from faultscape.ranking.planning.label_needs import PREDICTABLE
from faultscape.ranking.planning.point_needs import many_points
from faultscape.selection.catalogue import POINTS, find_selector
from faultscape.standings import MOST_POINTS
from faultscape.terminal_lines import duration, hours_range, number_word, wrapped
from faultscape.verbs.plan.advice import WIDE
from faultscape.verbs.plan.result import (
    Costs,
    LabelPlan,
    LabelsUsed,
    MixNumbers,
    Needed,
    PointNumbers,
    PoolOutlook,
    Recommended,
    Worth,
)

QUESTIONS = {
    "best": "Which model is best, with 95 % confidence",
    "order": "The order of all models, with 95 % confidence",
    "scores": "The score of each model, within {within:g} of 100 points, with 95 % confidence",
}
ASKED = {  # the questions that points and maps answer
    "best_proved": "the best model",
    "order_proved": "the order of all",
    "scores": "scores within {within:g}",
}
HELD = {  # docs/benchmarks/plan.md
    "classification": "On held-out data sets, ranges contained the number really needed in 7 to 9 of 10 "
    "cases.",
    "segmentation": "On held-out data sets, ranges contained the number really needed in 7 to 8 of 10 cases.",
}
CLOSE = "models 1.5 apart"
INDEPENDENT = "Numbers assume independent images and apply to this pool."


def text(found: LabelPlan) -> str:
    """Return the plan as text."""
    if len(found.models) == 1 and found.points is not None:
        return "\n".join(_of_one(found, found.points))
    lines = wrapped(_head(found))
    rows = [row for name in QUESTIONS for row in found.questions[name].values()]
    if all(row["labels"] is None for row in rows):
        lines += ["", *wrapped(f"No number of labels answers these questions: {rows[0]['why']}.")]
    else:
        lines += [
            *wrapped(f"{HELD[found.task]} {INDEPENDENT}"),
            *wrapped(_cost(found.costs, classes=_classifies(found))),
        ]
        lines += [] if found.points is None else ["", *_points(found, found.points)]
        lines += [] if found.mix is None else ["", *_mix(found, found.mix)]
        lines += [line for name in QUESTIONS for line in ("", *_question(found, name))]
    if found.duels:
        lines += ["", *_duels(found)]
    lines += [] if found.pool is None else ["", *_pool(found.pool)]
    lines += [line for note in found.notes for line in ("", *wrapped(f"Note: {note}"))]
    return "\n".join([*lines, *(["", *_next(found)] if found.recommended else [])])


def about(found: LabelPlan) -> str:
    """Return what a plan says beside its numbers: what it is made from, notes, and the next command."""
    lines = [_head(found), *(f"Note: {note}" for note in found.notes)]
    return "\n".join([*lines, *(_next(found) if found.recommended else [])])


def title(found: LabelPlan, question: str) -> str:
    """Return the heading of a question."""
    if question in QUESTIONS:
        return QUESTIONS[question].format(within=found.provenance["within"]).partition(", with 95 %")[0]
    name, _, how = question.rpartition("_")
    test = {"proved": "shown by a test", "anytime": "looking after every label"}
    of = QUESTIONS.get(name, question).partition(",")[0]
    return f"{of}, {test[how]}" if how in test else question.replace("_", " ")


def _of_one(found: LabelPlan, points: PointNumbers) -> list[str]:
    """Return the lines of a plan for a model alone."""
    answered = points["answered"]
    known = f"from {counted(answered, 'answered point')}" if answered else "a rough forecast"
    head = f"Points needed to measure {found.models[0]} on {counted(found.images, 'image')}, {known}."
    rows = [
        (f"within {row['within']:g}", *_drawn_points(found, row["points"], row["points"]))
        for row in points["half_widths"]
    ]
    said = (
        "With 95 % confidence, in points of 100 of pooled mIoU on this pool. A point takes"
        f" {duration(found.costs['point'] / 3600)}. Two models that are compared need other points."
    )
    lines = [*wrapped(head), "", *table(("its mIoU", "points", "work"), rows), *wrapped(said, "  ")]
    lines += [line for note in found.notes for line in ("", *wrapped(f"Note: {note}"))]
    return [*lines, *(["", *_next(found)] if found.recommended else [])]


def _classifies(found: LabelPlan) -> bool:
    return found.task == "classification"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table with the first column left-aligned and all others right-aligned.

    >>> table(("by", "labels", "work"), [("vma", "7", "2 h"), ("mad", "none", "")])
    ['  by   labels  work', '  vma       7   2 h', '  mad    none']
    """
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]


def command(found: LabelPlan) -> str:
    """Return the complete recommended command, ready to paste."""
    advice = found.recommended
    truth = found.provenance["truth"]
    assert advice is not None
    place = shlex.quote(found.study)
    name = advice["selection"]
    selector = advice["selector"]
    other = "" if truth in ("", "labels") else f" --truth {shlex.quote(truth)}"
    if advice["verb"] == "rank":
        return f"faultscape rank {place} --selection {name}{other}"
    if selector == POINTS:
        return _command_of_points(advice, place, other)
    if advice["verb"] == "label":
        options = f"--format {'csv' if _classifies(found) else 'png'} --selection {name}{other}"
        again = " --again" if advice.get("again") else ""
        return f"faultscape label export {place} {advice.get('file', 'to-label/')} {options}{again}"
    if goal := advice["goal"]:
        as_ = "" if name == goal else f" --as {name}"
        learns = other if goal != "order" and found.labels["used"] else ""
        if advice["round"] and advice["begun"]:
            return f"faultscape select {place} --as {name}{learns} --more {advice['round']}"
        if advice["round"]:
            return f"faultscape select {place}{as_} --goal {goal}{learns}"
        return f"faultscape select {place}{as_} --goal {goal}{learns} --budget {advice['budget']}"
    as_ = "" if name == selector else f" --as {name}"
    warm = "" if advice["temperature"] is None else f" --temperature {number_word(advice['temperature'])}"
    learning = find_selector(selector).learns_of("classification" if _classifies(found) else "segmentation")
    learns = other if learning and found.labels["used"] else ""
    return f"faultscape select {place}{as_} --selector {selector}{warm}{learns} --budget {advice['budget']}"


def _command_of_points(advice: Recommended, place: str, truth: str) -> str:
    name = advice["selection"]
    if advice["verb"] == "label":
        return f"faultscape label serve {place} --selection {name}{truth}"
    if advice["verb"] == "measure":
        return f"faultscape measure {place} --selection {name}{truth}"
    if advice["begun"]:
        return f"faultscape select {place} --as {name}{truth} --more {advice['round']}"
    goal = "" if advice["goal"] in (None, "order") else f" --goal {advice['goal']}"
    return f"faultscape select {place}{goal} --points {advice['budget']}"


def _head(found: LabelPlan) -> str:
    used = found.labels["used"]
    known = "a rough forecast from the predictions alone"
    if used:
        known = (
            f"from the predictions and {used:,} label{'s' * (used != 1)} of selection"
            f" {found.labels['selection']}"
        )
    elif found.points is not None and found.points["answered"]:
        known = f"from the predictions and {counted(found.points['answered'], 'answered point')}"
    return (
        f"Labels needed to compare {len(found.models)} models on {counted(found.images, 'image')}, {known}."
    )


def _cost(costs: Costs, *, classes: bool) -> str:
    one = duration(costs["question" if classes else "mask"] / 3600)
    what = (
        f"A question takes {one}, and an image one for each class that a model names"
        if classes
        else f"A label map takes {one}"
    )
    return what + ("." if costs["wage"] is None else f"; an hour costs {costs['wage']:g}.")


def _points(found: LabelPlan, points: PointNumbers) -> list[str]:
    """Return the lines that compare points with maps."""
    rows = [
        (
            f"models {row['apart']:g} apart",
            *_drawn_points(found, row["points"], row["points"]),
            *(("", "") if row["maps"] is None else _maps(found, row["maps"], row["maps"])),
        )
        for row in points["apart"]
    ]
    by = points["maps_by"]
    for name, words in ASKED.items():
        if name.startswith("order") and len(found.models) == 2:
            continue  # it is that of the best
        own = _of_points(found, points["questions"][name])
        rows.append((words.format(within=found.provenance["within"]), *own, *_of_maps(found, name, by)))
    answered = points["answered"]
    known = f"Points are forecast from {counted(answered, 'answer')}"
    if not answered:
        known = "Before any answer, numbers of points may be off by a factor of two (docs/benchmarks/plan.md)"
    said = (
        f"{known}. A point takes {duration(found.costs['point'] / 3600)}. Points rank by pooled mIoU, of 100;"
        f" maps, drawn by {by}, by the mean over images.{_boxes(points)}"
    )
    return [
        "Points or maps: to tell models apart, all pairs at once, with 95 % confidence",
        *table(("", "points", "work", "maps", "work"), rows),
        *wrapped(said, "  "),
    ]


def _mix(found: LabelPlan, mix: MixNumbers) -> list[str]:
    """Return the lines on the cheapest answers, and on what those so far were worth."""
    within = found.provenance["within"]
    called = {"points": "points alone", "masks": "masks alone", "mix": "masks and choices"}
    rows = [
        (
            ASKED[row["question"]].format(within=within) if row["question"] in ASKED else CLOSE,
            *("" if hours is None else duration(hours) for hours in (row["point_hours"], row["mask_hours"])),
            (
                ""
                if row["mix_hours"] is None
                else f"{duration(row['mix_hours'])}: {row['mix_masks']:,} and {row['mix_choices']:,}"
            ),
            called[row["cheapest"]],
        )
        for row in mix["rows"]
    ]
    share = mix["assumed"] if mix["explained"] is None else mix["explained"]
    known = "are taken to explain" if mix["explained"] is None else "explain"
    each = duration(found.costs["choice"] / 3600)
    pairs = counted(mix["pairs"], "pair")
    said = (
        "Points tell the pooled mIoU, masks and choices the mean over images: two numbers, which are never"
        f" added up. Choices ({each}) are asked about {pairs} of models on each image, also on those with"
        f" masks, and {known} {100 * share:.0f} % of what masks leave open. Where the column is empty, they"
        " do not pay."
    )
    name = found.labels["selection"]
    if name is not None and any(row["mix_hours"] is not None for row in mix["rows"]):
        said += f" `faultscape label serve {shlex.quote(found.study)} --selection {name}` asks for them."
    return [
        "The cheapest answers",
        *table(("", "points alone", "masks alone", "masks and choices", "cheapest"), rows),
        *wrapped(said, "  "),
        *(wrapped(worth, "  ") if (worth := _worth(mix["worth"])) else []),
    ]


def _worth(rows: Sequence[Worth]) -> str:
    """Return what the answers so far were worth; '' without any.

    >>> masks = Worth(kind="mask", answers=40, hours=16.7, half_width=3.1, masks=None)
    >>> choices = Worth(kind="choice", answers=400, hours=1.1, half_width=2.5, masks=61.0)
    >>> print(_worth([masks, choices]))
    So far 40 masks (16.7 h) tell how far two models are apart to ±3.1 of 100 points in the mean over images;
    400 choices (66 min) make that ±2.5, as 61 masks would: a minute of choices saved 8.0 of masks.
    """
    of = {row["kind"]: row for row in rows}
    said = list[str]()
    if masks := of.get("mask"):
        told = (
            f"{counted(masks['answers'], 'mask')} ({duration(masks['hours'])}) tell how far two models are"
            f" apart to ±{masks['half_width']:.1f} of 100 points in the mean over images"
        )
        if choices := of.get("choice"):
            worth = choices["masks"] or 0.0
            saved = (worth - masks["answers"]) / masks["answers"] * masks["hours"] / choices["hours"]
            told += f"; {counted(choices['answers'], 'choice')} ({duration(choices['hours'])})"
            told += (
                f" make that ±{choices['half_width']:.1f}, as {worth:.0f} masks would: a minute of choices"
                f" saved {saved:.1f} of masks"
                if round(worth) > masks["answers"]
                else " do not make that more exact"
            )
        said.append(told)
    if points := of.get("point"):
        told = f"{counted(points['answers'], 'answered point')} ({duration(points['hours'])}) tell it to"
        told += f" ±{points['half_width']:.1f} in pooled mIoU"
        if masks:
            more = (masks["half_width"] / points["half_width"]) ** 2 * masks["hours"] / points["hours"]
            told += f": a minute of points told as much of it as {more:.0f} of masks of that mean"
        said.append(told)
    return f"So far {'; '.join(said)}." if said else ""


def _boxes(points: PointNumbers) -> str:
    """Return a sentence on boxes that are there, or would pay.

    >>> _boxes({"boxes": {"images": 200, "boxed": 40, "objects": None}})
    ' Boxes in 40 of 200 images count already.'
    """
    there = points.get("boxes")
    if there is None:
        return ""
    if there["boxed"]:
        return f" Boxes in {there['boxed']:,} of {counted(there['images'], 'image')} count already."
    if there["objects"] is None or there["objects"] < 1:
        return ""
    return (
        " Boxes around all objects would save about half of the points, and pay with fewer than"
        f" {there['objects']:g} objects an image."
    )


def _of_points(found: LabelPlan, row: Needed) -> tuple[str, str]:
    if row["labels"] is None:
        return "none", ""
    return _drawn_points(found, int(row["low"] or 0), int(row["high"] or 0))


def _drawn_points(found: LabelPlan, low: int, high: int) -> tuple[str, str]:
    hours = [min(number, MOST_POINTS) * found.costs["point"] / 3600 for number in (low, high)]
    ends = dict.fromkeys([many_points(low), many_points(high)])
    return " to ".join(ends), hours_range(hours[0], hours[1], at_least=high > MOST_POINTS)


def _of_maps(found: LabelPlan, question: str, by: str) -> tuple[str, str]:
    row = found.questions[question][by]
    return ("none", "") if row["labels"] is None else _maps(found, row["low"] or 0, row["high"] or 0)


def _maps(found: LabelPlan, low: int, high: int) -> tuple[str, str]:
    ends = dict.fromkeys([f"{low:,}", f"{high:,}"])
    each = found.costs["mask"] / 3600
    return " to ".join(ends), hours_range(low * each, high * each)


def _question(found: LabelPlan, name: str) -> list[str]:
    """Return the lines of one question: one line per selector, or why it has no number."""
    rows = found.questions[name]
    proved = found.questions.get(f"{name}_proved")
    title = QUESTIONS[name].format(within=found.provenance["within"])
    whys = list(dict.fromkeys(row["why"] for row in rows.values() if row["labels"] is None))
    if name == "order" and rows == found.questions["best"]:
        return [title, "  the same numbers"]
    used = found.labels["used"]
    before = f"from {counted(used, 'label')}" if used else "before any label"
    if all(row["predictable"] is False for row in rows.values()):
        return [title, *wrapped(_unknown(rows, proved, before), "  ")]
    money = found.costs["wage"] is not None
    head = ("drawn by", "labels", *(("range",) if proved else ()), "work", *(("money",) if money else ()))
    cells = []
    for selector, row in rows.items():
        own: tuple[str, ...] = ("none", *(("",) if proved else ()), "", *(("",) if money else ()))
        if row["labels"] is not None and not row["predictable"]:
            own = ("?", *((_range(row),) if proved else ()), "", *(("",) if money else ()))
        elif row["labels"] is not None:
            own = (f"{row['labels']:,}", *((_range(row),) if proved else ()), duration(row["hours"] or 0))
            own = (*own, f"{row['money']:,.0f}") if money else own
        tested = proved[selector]["labels"] if proved and proved[selector]["predictable"] else None
        cells.append(
            (
                _called(selector, found.labels),
                *own,
                *(("" if tested is None else f"{tested:,}",) if proved else ()),
            )
        )
    lines = table((*head, *(("significant with",) if proved else ())), cells)
    said = [f"none: {why}" for why in whys]
    if any(row["predictable"] is False for row in rows.values()):
        said.append(f"?: cannot be predicted {before}: the range spans more than a factor of {PREDICTABLE}")
    said += [_looked(tests)] if (tests := found.questions.get(f"{name}_anytime")) else []
    advised = found.recommended
    if rows != found.questions[advised["question"] if advised else "best"]:
        # for that question, the recommendation already says it
        said += [more] if (more := fewer(rows, advised["selector"] if advised else None)) else []
    return [title, *lines, *(line for text in said for line in wrapped(text, "  "))]


def _looked(rows: dict[str, Needed]) -> str:
    """Return after how many labels those who look at any time are expected to stop.

    >>> row = {"labels": 60, "low": 50, "high": 183, "predictable": True}
    >>> _looked({"random": row, "mad": row | {"labels": 90}})
    'looking after every label (rank --anytime) is expected to stop after 60 to 90'
    """
    known = {name: row for name, row in rows.items() if row["predictable"]}
    if not known:
        return "when looking after every label (rank --anytime) would stop cannot be predicted"
    ends = _range({"labels": None, "low": _least(known, "labels"), "high": _most(known, "labels")})
    return f"looking after every label (rank --anytime) is expected to stop after {ends}"


def _unknown(rows: dict[str, Needed], proved: dict[str, Needed] | None, before: str) -> str:
    """Return what is known where no selector has a number for a question.

    >>> row = {"labels": 30, "low": 2, "high": 183, "predictable": False}
    >>> _unknown({"random": row, "mad": row | {"high": 90}}, None, "before any label")
    'How many labels that takes cannot be predicted before any label: 2 to 183, however images are drawn.'
    """
    ends = _range({"labels": None, "low": _least(rows, "low"), "high": _most(rows, "high")})
    said = f"How many labels that takes cannot be predicted {before}: {ends}, however images are drawn."
    tests = {name: row for name, row in (proved or {}).items() if row["predictable"]}
    if not tests:
        return said
    ends = _range({"labels": None, "low": _least(tests, "labels"), "high": _most(tests, "labels")})
    return f"{said} It is significant with {ends}."


def _least(rows: dict[str, Needed], key: Literal["labels", "low"]) -> int:
    return min(row[key] or 0 for row in rows.values())


def _most(rows: dict[str, Needed], key: Literal["labels", "high"]) -> int:
    return max(row[key] or 0 for row in rows.values())


def fewer(rows: dict[str, Needed], selector: str | None) -> str:
    """Return a sentence if another selector needs at most half as many labels as the recommended one, else
    ''.

    >>> fewer({"random": {"labels": 40}, "mad": {"labels": 90}}, "mad")
    'random needs at most half as many labels as mad: 40 instead of 90'
    """
    known = {name: row["labels"] for name, row in rows.items() if row["labels"] is not None}
    if selector not in known:
        return ""
    best = min(known, key=lambda name: known[name])
    if WIDE * known[best] > known[selector]:
        return ""
    return (
        f"{best} needs at most half as many labels as {selector}: {known[best]:,} instead of "
        f"{known[selector]:,}"
    )


def _range(row: Needed) -> str:
    low = row["low"] or 0
    high = row["high"] or 0
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"


def _called(selector: str, labels: LabelsUsed) -> str:
    if not find_selector(selector).duels:
        return selector
    return f"{selector}, temperature {labels['temperature'] if labels['selector'] == selector else 1.0:g}"


def _duels(found: LabelPlan) -> list[str]:
    """Return the lines about the work for duels."""
    pairs = _classifies(found)
    money = found.costs["wage"] is not None
    head = (f"images a {'pair' if pairs else 'cell'}", "at most", "slots", "distinct images", "work")
    head = (*head, *(("money",) if money else ()), *(() if pairs else ("or choices only",)))
    rows = [
        (
            *(f"{row[key]:,}" for key in ("per_cell", "bound", "slots", "images")),
            duration(row["hours"] or 0),
            *((f"{row['money']:,.0f}",) if money else ()),
            *(() if pairs else (duration(row["choice_hours"]),)),
        )
        for row in found.duels
    ]
    bound = "J(J-1)/2 k" if pairs else "J(J-1)|Y|K"
    return [
        f"Duels, which show where models fail: at most {bound} slots",
        *table(head, [(r[0].rjust(13), *r[1:]) for r in rows]),
    ]


def _pool(found: PoolOutlook) -> list[str]:
    """Return the lines about pools of other sizes and of another make."""
    ranked = any(row["spearman"] is not None for row in found["sizes"])
    head = ("images", "pools", "chosen", "concordance", *(("order as in twice as many",) if ranked else ()))
    twice = found["twice"]
    rows = [
        (
            f"{row['images']:,}",
            f"{row['pools']}",
            f"{row['chosen']:,.0f}",
            f"{row['concordance']:.3f}",
            *((("" if row["spearman"] is None else f"{row['spearman']:.2f}"),) if ranked else ()),
        )
        for row in reversed(found["sizes"])
    ]
    said = [f"Of {twice['images']:,} images, {100 * twice['new']:.0f} % of the slots would hold new ones."]
    if (fall := twice["concordance"]) is not None:
        said.append(
            f"The mean concordance of the slots would be {fall[0]:.3f} [{fall[1]:.3f}, {fall[2]:.3f}]; now it"
            f" is {found['sizes'][0]['concordance']:.3f}."
        )
    if (order := twice["spearman"]) is not None:
        said.append(
            "The order of the models by their mean on the chosen images would agree with today's by Spearman"
            f" {order[0]:.2f} [{order[1]:.2f}, {order[2]:.2f}]."
        )
    else:
        said.append(
            "What that does to the order of the models is unknown until nearly all images that parts of the"
            f" pool choose have labels; of those that the whole pool chooses, {100 * found['labelled']:.0f} %"
            " have one."
        )
    lines = [
        "Would twice as many images change the outcome? Duels in random parts of the pool",
        *table(head, [(row[0].rjust(6), *row[1:]) for row in rows]),
        *wrapped(" ".join(said), "  "),
    ]
    if found["make"]:
        made = [
            (
                row["make"],
                f"{row['images']:,}",
                f"{row['concordance']:.3f}",
                f"{row['random'][0]:.3f} [{row['random'][1]:.3f}, {row['random'][2]:.3f}]",
            )
            for row in found["make"]
        ]
        lines += ["", *table(("part of the pool", "images", "concordance", "random parts of its size"), made)]
    return lines


def _next(found: LabelPlan) -> list[str]:
    advice = found.recommended
    assert advice is not None
    lines = ["Recommended:", f"  {command(found)}", *wrapped(advice["why"], "  ")]
    if "new" in advice and "labelled" in advice:
        new = advice["new"]
        labelled = advice["labelled"]
        are = "is" if labelled == 1 else "are"
        lines += wrapped(
            f"{labelled:,} of the {counted(new, 'image')} that it adds {are} labelled already.", "  "
        )
    return lines + (wrapped(advice["instead"], "  ") if advice["instead"] else [])
