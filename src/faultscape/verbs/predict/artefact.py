"""Each model's prediction for every image: label maps, or answers of classifiers, one part per shard and
model.
"""

from __future__ import annotations

import shlex

from faultscape.errors import counted
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import part_name
from faultscape.verbs.train import artefact as networks

_HELD = "held"
_OTHER = "other"


def _made_from(study: Study, _name: str) -> dict[str, str] | None:
    """Return the existing parts; what they were made from is compared in one pass over the corpus
    (`Study.outdated_models`).
    """
    if not study.models:
        return None
    return {f"{model} {part}": _HELD for model, parts in study.stored_maps.items() for part in parts}


def _made_from_now(study: Study, _name: str) -> dict[str, str]:
    wanted = {}
    for model in study.models:
        state = _OTHER if model in study.outdated_models or model in study.fitted_again else _HELD
        wanted |= {f"{model} {part_name(shard)}": state for shard in study.shard_sizes}
    return wanted


def lacking_parts(study: Study) -> dict[str, int]:
    """Return {model: shards without a part} for models that lack some or are outdated."""
    lacking = {
        m: sum(part_name(s) not in study.stored_maps[m] for s in study.shard_sizes) for m in study.models
    }
    return {
        m: number
        for m, number in lacking.items()
        if number or m in study.outdated_models or m in study.fitted_again
    }


def _describe(study: Study, _name: str) -> str:
    models = study.models
    late = lacking_parts(study)
    if late:
        number = sum(late.values())
        why = (
            f"{counted(number, 'shard')} to do"
            if number
            else "the working size, images, the network, its temperature or a fitted method changed since"
        )
        return f"{', '.join(late)}: {why}"
    if len(models) < 2:
        return f"{len(models) or 'no'} model{'s' * (not models)}; at least two are needed"
    empty = [m for m in models if not any(part.rows for part in study.stored_maps[m].values())]
    words = f"; no map of {', '.join(empty)} could be used (failures.csv)" if empty else ""
    return f"{counted(len(models), 'model')}: {', '.join(models)}{words}"


def _line(study: Study, _name: str) -> str:
    models = study.settings.models
    lacking = {name: models[name].source for name in lacking_parts(study)}
    trained = {name: source for name, source in networks.sources(study).items() if name not in models}
    sources = [shlex.quote(f"{name}={source}") for name, source in (lacking or trained).items()]
    return f"faultscape predict {study.place} {' '.join(sources or ['NAME=SOURCE'] * (2 - len(models)))}"


MAPS = Artefact(
    name="maps",
    verb="predict",
    inputs=("corpus",),
    reasons={},
    instances=lambda _: [""],
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=_describe,
    line=_line,
    in_parts=True,
)
