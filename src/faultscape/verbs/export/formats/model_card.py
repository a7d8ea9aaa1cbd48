"""model-card: a README.md for each model, whose front matter holds the numbers of `measure` and of the
reliability card as the Hugging Face Hub reads evaluation results (model-index).

Conventions: each condition of the card is a result of its own, distinguished by the config of its data
set, since the Hub merges results of one config. A number that is undefined is left out. Numbers are those of
the study's last `measure` and `reliability`; stale ones are refused. No licence is named, since that is the
model's.
Source: the documentation of the Hugging Face Hub (model cards, model-index).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from faultscape.errors import StudyError, counted
from faultscape.metrics.catalogue import named
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study
from faultscape.reporting.measure.document import Document
from faultscape.reporting.reliability.document import TITLES, Card
from faultscape.verbs import graph
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.front_matter import yaml_lines
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.reliability.artefact import RELIABILITY

_TASK = "image-segmentation"
_SOURCE = {"name": "Faultscape", "url": "https://github.com/faultscape/faultscape"}


@dataclass(frozen=True)
class CardNumber:
    """One number of a model, and under which condition it holds."""

    condition: str  # the truth that `measure` compared with, or a condition of the card
    metric: str
    title: str
    value: float
    low: float | None  # 95 %
    high: float | None
    scorer: str  # that of doubt; '' for maps
    images: int | None
    says: str  # its definition


def write(folder: Path, contents: Contents) -> None:
    """Write a card for each model that has numbers; StudyError if there are none, or they are stale."""
    study = contents.study
    measured = _document(study, MEASURES)
    card = _document(study, RELIABILITY)
    if measured is None and card is None:
        labels = "" if study.truths else f"`faultscape label import {study.place} LABELS`, then "
        raise StudyError(
            f"{study.called}: nothing is measured yet; run {labels}`faultscape measure {study.place}`, then"
            " this line again"
        )
    for model in contents.models:
        numbers = [*_measured(measured, model), *_of_card(card, model)]
        if numbers:
            (folder / model).mkdir()
            (folder / model / "README.md").write_text(_text(study, model, numbers), encoding="utf-8")


def _document(study: Study, artefact: Artefact) -> dict[str, Any] | None:
    """Return what an artefact holds, or None if it does not exist; StudyError if it is stale."""
    if not artefact.instances(study) or not artefact.exists(study, ""):
        return None
    made = graph.node(study, artefact, "")
    if made.state == "stale":
        again = f"run `{made.line}`, then this line again" if made.line else "make it again"
        raise StudyError(
            f"{study.called}: what {artefact.verb} wrote is out of date: {', '.join(made.why)}; {again}"
        )
    return cast("dict[str, Any] | None", study.document(artefact.path(study)))


def _measured(document: dict[str, Any] | None, model: str) -> Iterator[CardNumber]:
    """Yield what `measure` found, in its order."""
    if document is None:
        return
    found = cast("Document", document)
    titles = named()
    truth = str(found.get("provenance", {}).get("truth", "labels"))
    for metric, entry in found["models"].get(model, {}).items():
        if (value := entry["value"]) is not None:
            # a title is that of the error, which is not the value where more is better
            own = entry.get("title", metric) if entry["better"] == "low" else metric
            title = titles[metric].called if metric in titles else own
            images = found.get("images", {}).get(model)
            interval = (entry.get("low"), entry.get("high"))
            yield CardNumber(truth, metric, title, value, *interval, "", images, entry.get("definition", ""))


def _of_card(document: dict[str, Any] | None, model: str) -> Iterator[CardNumber]:
    """Yield the cells of the reliability card, in its order."""
    if document is None:
        return
    for cell in cast("Card", document)["cells"]:
        value = cell.get("value")
        if cell.get("model") != model or value is None or cell["metric"] not in TITLES:
            continue
        metric = TITLES[cell["metric"]]
        holdout = cell.get("holdout")
        condition = cell["condition"] + (f", without {holdout}" if holdout else "")
        interval = (cell.get("low"), cell.get("high"))
        scorer = cell.get("scorer", "")
        yield CardNumber(
            condition, metric.name, metric.title, value, *interval, scorer, cell.get("images"), metric.says
        )


def _text(study: Study, model: str, numbers: list[CardNumber]) -> str:
    """Return the text of a model's card."""
    of: dict[str, list[CardNumber]] = {}
    for number in numbers:
        of.setdefault(number.condition, []).append(number)
    name = study.root.resolve().name
    results = [_result(name, condition, some) for condition, some in of.items()]
    front = {
        "pipeline_tag": _TASK,
        "tags": ["faultscape"],
        "model-index": [{"name": model, "results": results}],
    }
    lines = ["---", *yaml_lines(front), "---", ""]
    lines += [f"# {model}", "", f"Measured with Faultscape on the study `{name}`."]
    for condition, some in of.items():
        images = next((number.images for number in some if number.images is not None), None)
        on = f", {counted(images, 'image')}" if images is not None else ""
        lines += [
            "",
            f"## {condition}{on}",
            "",
            "| metric | value | 95 % interval | what it is |",
            "|---|---|---|---|",
        ]
        lines += [_row(number) for number in some]
    return "\n".join(lines) + "\n"


def _result(study: str, condition: str, numbers: list[CardNumber]) -> dict[str, Any]:
    """Return one result of a model-index."""
    return {
        "task": {"type": _TASK},
        "dataset": {"type": study, "name": f"{study}, {condition}", "config": condition},
        "metrics": [
            {
                "type": number.metric,
                "name": number.title + (f" ({number.scorer})" if number.scorer else ""),
                "value": number.value,
                "args": _args(number),
            }
            for number in numbers
        ],
        "source": _SOURCE,
    }


def _args(number: CardNumber) -> dict[str, Any]:
    """Return what else is known about a number, without what is not."""
    found = {
        "low": number.low,
        "high": number.high,
        "scorer": number.scorer or None,
        "images": number.images,
        "definition": number.says,
    }
    return {name: value for name, value in found.items() if value is not None}


def _row(number: CardNumber) -> str:
    known = number.low is not None and number.high is not None
    interval = f"{number.low:.4g} to {number.high:.4g}" if known else ""
    title = number.title + (f" ({number.scorer})" if number.scorer else "")
    cells = (title, f"{number.value:.4g}", interval, number.says)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


MODEL_CARD = ExportFormat(
    "model-card",
    title="a README.md for each model, with what was measured as evaluation results of the Hugging Face Hub",
    write=write,
    opens="huggingface_hub.ModelCard.load({out} + '/{model}/README.md')",
    tasks=("segmentation",),
    image_files=("none",),
    no_ways="which holds no images",
    of_images=False,
)
