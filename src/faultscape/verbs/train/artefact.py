"""Networks that `train` made: one instance per folder of STUDY/models, including interrupted trainings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultscape import plug
from faultscape.errors import FaultscapeError
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import (
    METHOD,
    Again,
    Artefact,
    Provenance,
    arguments_of,
    gone_file,
    provenance_of,
)
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.terminal_lines import option_words
from faultscape.uncertainty.catalogue import HEADS
from faultscape.uncertainty.sealed_files import is_sealed
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.train.options import MEMBER_BLOCKS
from faultscape.verbs.train.withheld import find_withheld

METHOD_NUMBER = 3  # raised when the same options give a different training
MODELS = "models"
NETWORK = "network.json"
WEIGHTS = "weights.safetensors"
BEGUN = "begun.json"
OWN_FILE = "backbone.py"


def inputs_of(study: Study, sets: Sequence[str], truth: str, arguments: JsonObject) -> dict[str, str]:
    """Return what a network depends on, as far as a quick check shows: its sets, all labels of a truth, the
    classes that it learns, and the network that it started from.
    """
    withhold = arguments.get("withhold")
    init = arguments.get("init")
    try:
        withheld = find_withheld(
            study.stress, study.settings.class_list, None if withhold is None else str(withhold)
        ).names
    except FaultscapeError:  # the holdout is gone, or there are several now
        withheld = ("?",)
    return {
        "images": key_of({name: study.set_keys.get(name, "") for name in sets}),
        "labels": labels.key(study, truth),
        "holdout": key_of(list(withheld)),
        "classes": key_of(study.settings.classes.counted),
        **({"start": key(study, str(init))} if init else {}),
        METHOD: str(METHOD_NUMBER),
    }


def _held(study: Study, name: str) -> JsonObject:
    return study.document(_folder(study, name) / NETWORK) or {}


def _folder(study: Study, name: str) -> Path:
    return study.root / MODELS / name


def key(study: Study, name: str) -> str:
    """Return the key of a network, a digest of what it was trained from, or '' if it does not exist."""
    held = _held(study, name).get("provenance")
    return str(held.get("key", "")) if isinstance(held, dict) else ""


def _provenance(study: Study, name: str) -> Provenance | None:
    return provenance_of(_held(study, name))


def sources(study: Study) -> dict[str, str]:
    """Return {name: source for `predict`} of the trained networks; those with your own backbone are named by
    the function in their folder.
    """
    out = {}
    for name in _instances(study):
        if (_folder(study, name) / NETWORK).is_file():
            about = _held(study, name).get("network")
            backbone = str(about.get("backbone", "")) if isinstance(about, dict) else ""
            own = f"/{OWN_FILE}:{backbone.rpartition(':')[2]}" if plug.is_own(backbone) else ""
            out[name] = f"{study.place}/{MODELS}/{name}{own}"
    return out


def _instances(study: Study) -> list[str]:
    folders = sorted(study.root.glob(f"{MODELS}/*/"))
    return [folder.name for folder in folders if (folder / NETWORK).is_file() or (folder / BEGUN).is_file()]


def _made_from(study: Study, name: str) -> dict[str, str] | None:
    folder = _folder(study, name)
    if not (folder / NETWORK).is_file() or not (folder / WEIGHTS).is_file():
        return None
    held = _provenance(study, name)
    inputs = (
        {"file": "damaged"}
        if held is None
        else {str(key): str(value) for key, value in held["inputs"].items()}
    )
    if not is_sealed(folder / WEIGHTS):
        inputs[METHOD] = "0"
    return {**inputs, **({"begun": "again"} if (folder / BEGUN).is_file() else {})}


def _made_from_now(study: Study, name: str) -> dict[str, str]:
    held = _provenance(study, name)
    if held is None:
        return {}
    found = _held(study, name)["provenance"]
    sets = [str(word) for word in found.get("sets", [])] if isinstance(found, dict) else []  # type: ignore[union-attr]
    return inputs_of(study, sets, str(held.get("truth", "")), arguments_of(held))


def again(study: Study, name: str) -> Again:
    """Return how to train a network again, or continue: with its recorded options."""
    begun = study.document(_folder(study, name) / BEGUN)
    recorded = begun if begun is not None else arguments_of(_provenance(study, name))
    names = {MEMBER_BLOCKS, *(option for head in HEADS for option in head.options)}
    given = {key: value for key, value in recorded.items() if key not in names}
    if of_head := {key: value for key, value in recorded.items() if key in names}:
        given["head_options"] = of_head
    return Again(given, (), gone_file(given, ("backbone",), "train"))


def _line(study: Study, name: str) -> str:
    return " ".join([f"faultscape train {study.place} {name}", *option_words(again(study, name).options)])


def _describe(study: Study, name: str) -> str:
    about = _held(study, name).get("network")
    if not isinstance(about, dict):
        return f"{name}: training was interrupted; to continue: `{_line(study, name)}`"
    return f"{name}: {about.get('backbone')} with head {about.get('head')}"


NETWORKS = Artefact(
    name="networks",
    verb="train",
    inputs=("corpus", "sets"),
    reasons={
        "images": "images of its sets changed",
        "labels": "labels changed",
        "holdout": "the withheld classes changed",
        "classes": "classes changed",
        "start": "the network that it started from changed",
        "begun": "retraining was interrupted",
        METHOD: "an earlier version trained it",
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
