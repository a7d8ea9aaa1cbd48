"""Methods that `fit` fitted to a network: one instance per file of STUDY/methods, MODEL/NAME."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from faultscape.errors import ModelError
from faultscape.reading.artefact import METHOD, Again, Artefact, Provenance, arguments_of
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.uncertainty.method_files import ENDING, MethodAbout, fit_line, read_about
from faultscape.uncertainty.sealed_files import is_sealed
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.train import artefact as networks

if TYPE_CHECKING:
    from pathlib import Path

METHOD_NUMBER = 2  # raised when the same options give a different fit
_NUMBERS = {"flow": 3}  # of methods that changed alone
FOLDER = "methods"


def inputs_of(
    study: Study,
    method: str,
    model: str,
    sets: Sequence[str],
    truth: str,
    validation: str,
    source: str = "",
) -> dict[str, str]:
    """Return what a fitted method depends on, as far as a quick check shows: its sets, the set it was
    searched with ('' for none), all labels of a truth, the withheld classes, and the network that it was
    fitted to, from a ``source`` if it is not a model of the study yet.
    """
    return {
        "images": key_of({name: study.set_keys.get(name, "") for name in sets}),
        "labels": labels.key(study, truth),
        "holdout": key_of({name: list(words) for name, words in study.stress.holdouts.items()}),
        "classes": key_of(study.settings.classes.counted),
        **({"validation": study.set_keys.get(validation, "")} if validation else {}),
        "network": _network(study, model, source),
        METHOD: str(_NUMBERS.get(method, METHOD_NUMBER)),
    }


def _network(study: Study, model: str, source: str) -> str:
    """Return the key of a trained network, or the source of a model that is another file: it may have the
    name of a trained network.
    """
    held = study.settings.models.get(model)
    file = held.source if held else source
    # the study may have moved since its source was stored
    is_trained = not file or f"/{networks.MODELS}/{model}/" in f"/{file}/"
    return (networks.key(study, model) if is_trained else "") or file


def _path(study: Study, name: str) -> Path:
    return study.root / FOLDER / f"{name}{ENDING}"


def _about(study: Study, name: str) -> MethodAbout | None:
    try:
        return read_about(_path(study, name))
    except ModelError:
        return None


def _provenance(study: Study, name: str) -> Provenance | None:
    about = _about(study, name)
    return cast("Provenance", about.provenance) if about and "inputs" in about.provenance else None


def _instances(study: Study) -> list[str]:
    return [f"{path.parent.name}/{path.stem}" for path in sorted((study.root / FOLDER).glob(f"*/*{ENDING}"))]


def _made_from(study: Study, name: str) -> dict[str, str]:
    held = _provenance(study, name)
    if held is None:
        return {"file": "damaged"}
    return {**held["inputs"], **({} if is_sealed(_path(study, name)) else {METHOD: "0"})}


def _made_from_now(study: Study, name: str) -> dict[str, str]:
    about = _about(study, name)
    if about is None:
        return {}
    return inputs_of(
        study,
        about.method,
        name.partition("/")[0],
        about.sets,
        str(about.provenance.get("truth", "")),
        about.validation,
        str(about.provenance.get("source", "")),
    )


def again(study: Study, name: str) -> Again:
    """Return how to fit a method again: with its recorded options."""
    return Again(arguments_of(_provenance(study, name)))


def _line(study: Study, name: str) -> str:
    about = _about(study, name)
    model = name.partition("/")[0]
    return "" if about is None else fit_line(study.place, model, about, study.settings.models)


def _describe(study: Study, name: str) -> str:
    about, (model, _, called) = _about(study, name), name.partition("/")
    where = f" at {', '.join(about.layers)}" if about and about.layers else ""
    return f"{model}: {called}{where}"


METHODS = Artefact(
    name="methods",
    verb="fit",
    inputs=("corpus", "sets", "networks"),
    reasons={
        "images": "images of its sets changed",
        "labels": "labels changed",
        "holdout": "the withheld classes changed",
        "classes": "classes changed",
        "network": "its network changed",
        "validation": "images of the set that it was searched with changed",
        "file": "its file is damaged",
        METHOD: "an earlier version fitted it",
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=_describe,
    line=_line,
    again=again,
    waits=lambda _study, _name: True,
    method=METHOD_NUMBER,
)
