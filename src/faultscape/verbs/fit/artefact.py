"""Methods that `fit` fitted to a network: one instance per file of STUDY/methods, MODEL/NAME."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from faultscape.errors import ModelError
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import METHOD, Artefact, Input, Instance, files_key, texts
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.uncertainty.method_files import (
    ENDING,
    MethodAbout,
    digest,
    fit_line,
    fitted_parts,
    read_about,
)
from faultscape.uncertainty.sealed_files import is_sealed
from faultscape.verbs.inputs import CLASSES, LABELS, SETS
from faultscape.verbs.train.artefact import MODELS, NETWORKS

_METHOD_NUMBER = 2  # raised when the same options give a different fit
_NUMBERS = {"flow": 3}  # of methods that changed alone
FOLDER = "methods"


def _network(made: Instance) -> str:
    """Return the key of a trained network, or the source of a model that is another file: it may have the
    name of a trained network.
    """
    model = made.name.partition("/")[0]
    held = made.study.settings.models.get(model)
    file = held.source if held else str(made.record.get("source", ""))
    # the study may have moved since its source was stored
    is_trained = not file or f"/{MODELS}/{model}/" in f"/{file}/"
    return (NETWORKS.key(made.study, model) if is_trained else "") or file


def _validation(made: Instance) -> str | None:
    searched = made.record.get("validation")
    return made.study.set_keys.get(str(searched), "") if searched else None


def _negatives(made: Instance) -> str | None:
    taught = made.record.get("negatives")
    return made.study.set_keys.get(str(taught), "") if taught else None


def _backbone(made: Instance) -> str | None:
    """Return the key of the files of a backbone, by content where they are small; its name, with a commit, if
    it is of the hub.
    """
    source = str(made.record.get("backbone") or "")
    if not source or source.startswith("hf:"):
        return source or None
    folder = Path(source)
    weights = [[file.name, file.stat().st_size] for file in sorted(folder.glob("*.safetensors"))]
    return key_of(weights, [files_key(str(file)) for file in sorted(folder.glob("*.json"))])


def _parts(made: Instance) -> str | None:
    """Return a key of the files of the methods that are parts of it."""
    parts = texts(made.record.get("parts"))
    folder = made.study.root / FOLDER / made.name.partition("/")[0]
    files = {name: folder / f"{name}{ENDING}" for name in parts}
    return (
        key_of({name: digest(file) if file.is_file() else "" for name, file in files.items()})
        if parts
        else None
    )


class _Methods(Artefact):
    def instances(self, study: Study) -> list[str]:
        files = sorted((study.root / FOLDER).glob(f"*/*{ENDING}"))
        return [f"{path.parent.name}/{path.stem}" for path in files]

    def _about(self, study: Study, name: str) -> MethodAbout | None:
        try:
            return read_about(self.path(study, name))
        except ModelError:
            return None

    def read(self, study: Study, name: str) -> JsonObject | None:
        about = self._about(study, name)
        if about is None:
            return None
        more = {
            "method": about.method,
            "sets": list(about.sets),
            "validation": about.validation,
            "negatives": about.negatives,
            "backbone": about.layers[0] if about.backbone else "",
            "parts": fitted_parts(about),
        }
        return cast("JsonObject", {"inputs": {}, **about.provenance, **more})

    def made_from(self, study: Study, name: str = "") -> dict[str, str] | None:
        held = super().made_from(study, name)
        if held is None or self.record(study, name) is None or is_sealed(self.path(study, name)):
            return held
        return held | {METHOD: "0"}

    def line(self, study: Study, name: str = "") -> str:
        about = self._about(study, name)
        model = name.partition("/")[0]
        return "" if about is None else fit_line(study.place, model, about, study.settings.models)

    def describe(self, study: Study, name: str) -> str:
        about = self._about(study, name)
        model, _, called = name.partition("/")
        where = f" at {', '.join(about.layers)}" if about and about.layers else ""
        return f"{model}: {called}{where}"

    def waits(self, _study: Study, _name: str) -> bool:
        return True


METHODS = _Methods(
    "methods",
    verb="fit",
    follows=("corpus", "sets", "networks"),
    where=f"{FOLDER}/NAME{ENDING}",
    reads=(
        SETS,
        LABELS,
        Input(
            "holdout",
            lambda made: key_of({of: list(words) for of, words in made.study.stress.holdouts.items()}),
            "the withheld classes changed",
        ),
        CLASSES,
        Input("validation", _validation, "images of the set that it was searched with changed"),
        Input("negatives", _negatives, "images of the unknown objects that taught it changed"),
        Input("backbone", _backbone, "its backbone changed"),
        Input("parts", _parts, "a method that it is made of was fitted again or removed"),
        Input("network", _network, "its network changed"),
        Input(
            METHOD,
            lambda made: str(_NUMBERS.get(str(made.record.get("method")), _METHOD_NUMBER)),
            "an earlier version fitted it",
        ),
    ),
)
