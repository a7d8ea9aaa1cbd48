"""Networks that `train` made: one instance per folder of STUDY/models, including interrupted trainings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from faultscape import plug
from faultscape.errors import FaultscapeError
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import (
    METHOD,
    Artefact,
    Input,
    Instance,
    by_method,
    command,
    files_key,
    texts,
)
from faultscape.reading.study import Study
from faultscape.study.folder import put
from faultscape.study.json_text import read_object
from faultscape.study.parts import key_of
from faultscape.study.trained_images import ON, images_of
from faultscape.uncertainty.catalogue import HEADS
from faultscape.uncertainty.sealed_files import is_sealed
from faultscape.verbs.inputs import CLASSES, SETS
from faultscape.verbs.train.label_parts import key_of_boxes, key_of_labels, label_parts
from faultscape.verbs.train.options import MEMBER_BLOCKS
from faultscape.verbs.train.withheld import find_withheld

METHOD_NUMBER = 4  # raised when the same options give a different training
MODELS = "models"
NETWORK = "network.json"
WEIGHTS = "weights.safetensors"
BEGUN = "begun.json"
OWN_FILE = "backbone.py"


def rename_parent(root: Path, old: str, new: str) -> None:
    """Let the networks of a study that started from one of them, or run its code, name it by its new name,
    before its folder is moved; twice is as good as once.
    """
    was, now = (os.path.abspath(root / MODELS / name) for name in (old, new))
    for file in (of for name in (NETWORK, BEGUN) for of in sorted(root.glob(f"{MODELS}/*/{name}"))):
        with suppress(OSError, ValueError):  # a damaged one stays as it is
            held = read_object(file.read_bytes())
            made = held.get("provenance")
            options = made.get("arguments") if isinstance(made, dict) else held
            if not isinstance(options, dict):
                continue
            moved: JsonObject = {"init": new} if options.get("init") == old else {}
            if (own := str(options.get("backbone", ""))).startswith(f"{was}/"):
                moved["backbone"] = now + own.removeprefix(was)
            if not moved:
                continue
            options.update(moved)
            put(file, (json.dumps(held, indent=1, ensure_ascii=False) + "\n").encode())


def _folder(study: Study, name: str) -> Path:
    return study.root / MODELS / name


def _withheld(made: Instance) -> str:
    withhold = made.options.get("withhold")
    study = made.study
    try:
        withheld = find_withheld(
            study.stress, study.settings.class_list, None if withhold is None else str(withhold)
        ).names
    except FaultscapeError:  # the holdout is gone, or there are several now
        withheld = ("?",)
    return key_of(list(withheld))


def _start(made: Instance) -> str | None:
    init = made.options.get("init")
    return NETWORKS.key(made.study, str(init)) if init else None


def _labels(made: Instance) -> str:
    study = made.study
    if made.truth not in study.truths:
        return ""
    return key_of_labels(label_parts(study, made.truth, made.record))


def _trained_on(made: Instance) -> str | None:
    """Return a key of the images that trained a network on a selection, as they are now, without those that
    were discarded.
    """
    if not made.record.get("selections"):
        return None
    wanted = images_of(made.record, ON).keys() - made.study.discarded.keys()
    return key_of(sorted((image.id, image.key) for image in made.study.corpus.images(wanted)))


def _negatives(made: Instance) -> str | None:
    place = str(made.options.get("negatives", ""))
    return files_key(place) if os.path.isabs(place) else None


class _Networks(Artefact):
    def instances(self, study: Study) -> list[str]:
        folders = sorted(study.root.glob(f"{MODELS}/*/"))
        return [
            folder.name for folder in folders if (folder / NETWORK).is_file() or (folder / BEGUN).is_file()
        ]

    def key(self, study: Study, name: str) -> str:
        """Return the key of a network, a digest of what it was trained from, or '' if it does not exist."""
        return str((self.record(study, name) or {}).get("key", ""))

    def sources(self, study: Study) -> dict[str, str]:
        """Return {name: source for `predict` of the trained networks}; those with your own backbone are named
        by the function in their folder.
        """
        out = {}
        for name in self.instances(study):
            if self.exists(study, name):
                backbone = str(self._network(study, name).get("backbone", ""))
                own = f"/{OWN_FILE}:{backbone.rpartition(':')[2]}" if plug.is_own(backbone) else ""
                out[name] = f"{study.place}/{MODELS}/{name}{own}"
        return out

    def _network(self, study: Study, name: str) -> JsonObject:
        about = (study.document(self.path(study, name)) or {}).get("network")
        return about if isinstance(about, dict) else {}

    def made_from(self, study: Study, name: str = "") -> dict[str, str] | None:
        weights = _folder(study, name) / WEIGHTS
        held = super().made_from(study, name) if weights.is_file() else None
        if held is None:
            return None
        unsealed = {} if is_sealed(weights) else {METHOD: "0"}
        begun = {"begun": "again"} if (_folder(study, name) / BEGUN).is_file() else {}
        return held | unsealed | begun

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        begun = study.document(_folder(study, name) / BEGUN)
        recorded = begun if begun is not None else self.options(study, name)
        names = {MEMBER_BLOCKS, *(option for head in HEADS for option in head.options)}
        given = {key: value for key, value in recorded.items() if key not in names}
        if of_head := {key: value for key, value in recorded.items() if key in names}:
            given["head_options"] = of_head
        return given, ()

    def line(self, study: Study, name: str = "") -> str:
        return command(study, "train", self.options_again(study, name)[0], name)

    def describe(self, study: Study, name: str) -> str:
        if not (about := self._network(study, name)):
            return f"{name}: training was interrupted; to continue: `{self.line(study, name)}`"
        record = self.record(study, name) or {}
        chosen = texts(record.get("selections"))
        parent = self.options(study, name).get("init")
        from_ = f", continues {parent} on selection {', '.join(chosen)}" if chosen else ""
        return f"{name}: {about.get('backbone')} with head {about.get('head')}{from_}"

    def in_the_way(self, study: Study, name: str, options: Mapping[str, object]) -> str:
        parent = options.get("init")
        if parent and not self.exists(study, str(parent)):
            return (
                f"{parent}, from which it started, is gone; train that again, or remove"
                f" {_folder(study, name)} (predictions stay)"
            )
        for chosen in texts((self.record(study, name) or {}).get("selections")):
            if chosen not in study.selections:
                return f"selection {chosen}, on which it was trained, is gone; restore its files"
        return super().in_the_way(study, name, options)

    def waits(self, _study: Study, _name: str) -> bool:
        return True


NETWORKS = _Networks(
    "networks",
    verb="train",
    follows=("corpus", "sets"),
    where=f"{MODELS}/NAME/{NETWORK}",
    reads=(
        SETS,
        Input("labels", _labels, "labels changed"),
        Input("boxes", lambda made: key_of_boxes(made.study, made.record), "boxes changed"),
        Input("trained on", _trained_on, "images that trained it changed, left or were discarded"),
        Input("holdout", _withheld, "the withheld classes changed"),
        CLASSES,
        Input("start", _start, "the network that it started from changed"),
        Input("negatives", _negatives, "images of the folder of --negatives changed"),
        by_method(METHOD_NUMBER, "an earlier version trained it"),
    ),
    own_files=("backbone", "negatives"),
    reasons={"begun": "retraining was interrupted"},
)
