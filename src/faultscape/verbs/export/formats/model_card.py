"""model-card: a README.md for each model, whose front matter holds the numbers of `measure` and of the
reliability card as the Hugging Face Hub reads evaluation results (model-index).

Conventions: each condition of the card is a result of its own, distinguished by the config of its data
set, since the Hub merges results of one config. A number that is undefined is left out. Numbers are those of
the study's last `measure` and `reliability`; stale ones are refused. No licence is named, since that is the
model's.
Source: the documentation of the Hugging Face Hub (model cards, model-index).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultscape.errors import counted
from faultscape.reading.study import Study
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.front_matter import yaml_lines
from faultscape.verbs.export.model_numbers import Measures, ModelNumber, nothing_measured

_TASK = "image-segmentation"
_SOURCE = {"name": "Faultscape", "url": "https://github.com/faultscape/faultscape"}


def write(folder: Path, contents: Contents) -> None:
    """Write a card for each model that has numbers; StudyError if there are none, or they are stale."""
    study = contents.study
    measures = Measures.of(study)
    if not measures:
        raise nothing_measured(study)
    for model in contents.models:
        if numbers := measures.numbers(model):
            (folder / model).mkdir()
            (folder / model / "README.md").write_text(_text(study, model, numbers), encoding="utf-8")


def _text(study: Study, model: str, numbers: list[ModelNumber]) -> str:
    """Return the text of a model's card."""
    of: dict[str, list[ModelNumber]] = {}
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


def _result(study: str, condition: str, numbers: list[ModelNumber]) -> dict[str, Any]:
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


def _args(number: ModelNumber) -> dict[str, Any]:
    """Return what else is known about a number, without what is not."""
    found = {
        "low": number.low,
        "high": number.high,
        "scorer": number.scorer or None,
        "images": number.images,
        "definition": number.says,
    }
    return {name: value for name, value in found.items() if value is not None}


def _row(number: ModelNumber) -> str:
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
