"""every-eval-ever: one file of results for each model, as the database of Every Eval Ever collects them.

Conventions: a file lies in data/faultscape-STUDY/DEVELOPER/MODEL, under a random UUID. Results are the
numbers of `measure` and of the reliability card, and the score of the recommended ranking. The developer is
that of a model of the Hugging Face Hub, and ``local`` for any other. What a study does not know has the word
that the schema has for it (unknown, other), or is left out.
Source: the schema of Every Eval Ever, version 0.3.0.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from pathlib import Path
from typing import Any

from faultscape import __version__
from faultscape.ranking.catalogue import score_words
from faultscape.verbs.export.contents import Contents, ModelRank
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.model_numbers import Measures, ModelNumber, nothing_measured

SCHEMA_VERSION = "0.3.0"
_SOURCE = {
    "source_name": "Faultscape",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}
_LIBRARY = {"name": "faultscape", "version": __version__}


def write(folder: Path, contents: Contents) -> None:
    """Write a file of results for each model that has any; StudyError if none has, or numbers are stale."""
    study = contents.study
    measures = Measures.of(study)
    ranks = {rank.model: rank for rank in contents.ranks if rank.score is not None}
    if not measures and not ranks:
        raise nothing_measured(study)
    name = _portable(study.root.resolve().name)
    collection = folder / "data" / f"faultscape-{name}"
    for model in contents.models:
        results = [_of_number(number, name) for number in measures.numbers(model)]
        if model in ranks:
            results.append(_of_rank(ranks[model], contents, name))
        if results:
            id_ = _model_id(study.settings.models[model].source, model)
            place = collection / id_
            place.mkdir(parents=True, exist_ok=True)  # two models may be one of the Hub
            record = _record(model, id_, name, results)
            text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
            (place / f"{uuid.uuid4()}.json").write_text(f"{text}\n", encoding="utf-8")


def _record(model: str, id_: str, study: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of a model's file."""
    now = f"{time.time():.3f}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"faultscape-{study}/{id_}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": _SOURCE,
        "eval_library": _LIBRARY,
        "model_info": {
            "name": model,
            "id": id_,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
    }


def _of_number(number: ModelNumber, study: str) -> dict[str, Any]:
    """Return a number as a result, with its interval."""
    what = number.metric + (f"/{number.scorer}" if number.scorer else "")
    config: dict[str, Any] = {
        "evaluation_description": number.says,
        "metric_id": f"faultscape.{number.metric}",
        "metric_name": number.title,
        "lower_is_better": number.less_is_better,
    }
    if number.scorer:
        config["metric_parameters"] = {"scorer": number.scorer}
    if number.least is not None and number.most is not None:
        ends = {"min_score": number.least, "max_score": number.most}
        config |= {"score_type": "continuous"}
        config |= {name: "Infinity" if end == math.inf else end for name, end in ends.items()}
    return {
        "evaluation_result_id": f"{number.condition}/{what}",
        "evaluation_name": f"{study}.{number.condition}",
        "source_data": _data(study, number.condition, number.images),
        "metric_config": config,
        "score_details": {
            "score": number.value,
            **_uncertainty(number.low, number.high, number.images),
        },
    }


def _of_rank(rank: ModelRank, contents: Contents, study: str) -> dict[str, Any]:
    """Return the score of the recommended ranking as a result, with the ranks beside it."""
    ranks = {"rank": rank.rank, "rank_low": rank.rank_low, "rank_high": rank.rank_high}
    details = {name: str(value) for name, value in ranks.items() if value is not None}
    if rank.could_be_best is not None:
        details["could_be_best"] = "yes" if rank.could_be_best else "no"
    says = score_words(rank.ranking, contents.metric)
    return {
        "evaluation_result_id": f"{contents.selection}/{rank.ranking}",
        "evaluation_name": f"{study}.{contents.selection}",
        "source_data": _data(study, f"selection {contents.selection}", None),
        "metric_config": {
            "evaluation_description": says or f"score of {rank.ranking}, relative to the other models",
            "metric_id": f"faultscape.{rank.ranking}",
            "metric_name": rank.ranking,
            "lower_is_better": False,
        },
        "score_details": {
            "score": rank.score,
            "details": details,
            **_uncertainty(rank.score_low, rank.score_high, None),
        },
    }


def _data(study: str, condition: str, images: int | None) -> dict[str, Any]:
    """Return what the images were: those of a study are not published."""
    details = {"condition": condition} | ({} if images is None else {"images": str(images)})
    return {"dataset_name": study, "source_type": "other", "additional_details": details}


def _uncertainty(low: float | None, high: float | None, images: int | None) -> dict[str, Any]:
    """Return the 95 % interval of a score; {} without one."""
    if low is None or high is None:
        return {}
    found: dict[str, Any] = {"confidence_interval": {"lower": low, "upper": high, "confidence_level": 0.95}}
    return {"uncertainty": found | ({} if images is None else {"num_samples": images})}


def _model_id(source: str, model: str) -> str:
    """Return a model's name as the Hub has it.

    >>> _model_id("hf:nvidia/segformer@1a2b", "seg"), _model_id("maps/", "unet")
    ('nvidia/segformer', 'local/unet')
    """
    if of_hub := re.fullmatch(r"hf:([\w.-]+/[\w.-]+)(@.*)?", source):
        return of_hub[1]
    return f"local/{_portable(model)}"


def _portable(name: str) -> str:
    """Return a name that can be a folder on every system.

    >>> _portable("my study: 2."), _portable("unet")
    ('my-study-2', 'unet')
    """
    return re.sub(r"[^\w+.-]+", "-", name).strip("-.") or "study"


EVERY_EVAL_EVER = ExportFormat(
    "every-eval-ever",
    title="a file of results for each model, with intervals, in the schema of Every Eval Ever",
    write=write,
    opens=(
        "[every_eval_ever.eval_types.EvaluationLog.model_validate_json(file.read_text())"
        ' for file in pathlib.Path({out}).rglob("*.json")]'
    ),
    image_files=("none",),
    no_ways="which holds no images",
    of_images=False,
)
