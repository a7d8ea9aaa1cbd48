"""Each model's prediction for every image: label maps, or answers of classifiers, one part per shard and
model.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from faultscape.errors import counted
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import part_name
from faultscape.verbs.train.artefact import NETWORKS

_HELD = "held"
_OTHER = "other"


def lacking_parts(study: Study) -> dict[str, int]:
    """Return {model: shards without a part} for models that lack some or are outdated."""
    lacking = {
        m: sum(part_name(s) not in study.stored_maps[m] for s in study.shard_sizes) for m in study.models
    }
    return {m: number for m, number in lacking.items() if number or _is_outdated(study, m)}


def _is_outdated(study: Study, model: str) -> bool:
    return model in study.outdated_models or model in study.fitted_again


def _were_in_memory(study: Study, names: Iterable[str]) -> list[str]:
    """Return those of some models that were given as arrays or functions, which no command can give again."""
    return [name for name in names if study.settings.models[name].was_in_memory]


def _in_memory_words(names: Sequence[str]) -> str:
    given = ", ".join(f'"{name}": ...' for name in names)
    return (
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} in memory: fs.predict(STUDY, {{{given}}})"
    )


class _Maps(Artefact):
    def instances(self, _study: Study) -> list[str]:
        return [""]

    def made_from(self, study: Study, _name: str = "") -> dict[str, str] | None:
        """Return the existing parts; what they were made from is compared in one pass over the corpus
        (`Study.outdated_models`).
        """
        if not study.models:
            return None
        return {f"{model} {part}": _HELD for model, parts in study.stored_maps.items() for part in parts}

    def made_from_now(self, study: Study, _name: str = "") -> dict[str, str]:
        return {
            f"{model} {part_name(shard)}": _OTHER if _is_outdated(study, model) else _HELD
            for model in study.models
            for shard in study.shard_sizes
        }

    def describe(self, study: Study, _name: str) -> str:
        models = study.models
        late = lacking_parts(study)
        if late:
            number = sum(late.values())
            why = (
                f"{counted(number, 'shard')} to do"
                if number
                else "the working size, images, the network, its temperature or a fitted method changed since"
            )
            again = f"; {_in_memory_words(gone)}" if (gone := _were_in_memory(study, late)) else ""
            return f"{', '.join(late)}: {why}{again}"
        measured = any(made.slots.points for made in study.selections.values())  # by points: one is enough
        if len(models) < (1 if measured else 2):
            return f"{len(models) or 'no'} model{'s' * (not models)}; at least two are needed"
        empty = [m for m in models if not any(part.rows for part in study.stored_maps[m].values())]
        words = f"; no map of {', '.join(empty)} could be used (failures.csv)" if empty else ""
        gone = _were_in_memory(study, models)
        kept = f"; {', '.join(gone)}: the source is no longer there (it was in memory): predictions are kept"
        return f"{counted(len(models), 'model')}: {', '.join(models)}{words}{kept if gone else ''}"

    def line(self, study: Study, _name: str = "") -> str:
        models = study.settings.models
        lacking = {name: models[name].source for name in lacking_parts(study)}
        lacking |= dict.fromkeys(_were_in_memory(study, lacking), "SOURCE")
        trained = {name: source for name, source in NETWORKS.sources(study).items() if name not in models}
        sources = [shlex.quote(f"{name}={source}") for name, source in (lacking or trained).items()]
        return f"faultscape predict {study.place} {' '.join(sources or ['NAME=SOURCE'] * (2 - len(models)))}"


MAPS = _Maps("maps", verb="predict", follows=("corpus",), in_parts=True)
