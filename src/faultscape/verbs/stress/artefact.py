"""Sets made from a study's other sets: one instance per `stress` command, named after its first set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from faultscape.corpus.stress.recipe_versions import METHOD, code_of, method_of_blending
from faultscape.errors import ImageError, counted
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import METHOD as METHOD_INPUT
from faultscape.reading.artefact import Artefact, command, files_key
from faultscape.reading.study import Study
from faultscape.study.tables.stress_sets import StressSet
from faultscape.verbs.inputs import labels_key


def own_files(parameters: Mapping[str, object]) -> dict[str, str]:
    """Return the current digests of your own files that a set is made with; a file that is gone has none and
    blocks the set.
    """
    name = str(parameters.get("corruption", ""))
    textures = str(parameters.get("textures", ""))
    if ".py:" in name:
        return {"code": code_of(name)} if Path(name.rpartition(":")[0]).is_file() else {}
    if depth := str(parameters.get("depth", "")):
        # only names and sizes; the bytes are checked when an image is made
        return {"depth": files_key(depth)} if Path(depth).is_dir() else {}
    if not textures:
        return {}
    from faultscape.corpus.stress.files import textures_digest

    try:
        return {"textures": textures_digest(textures)}
    except ImageError:
        return {}


def method_number(parameters: Mapping[str, object]) -> str:
    """Return the version of the computation that makes a set's images."""
    version = parameters.get("blending")
    return str(method_of_blending(f"fishyscapes-{version}") if version else METHOD)


def _lines(study: Study) -> dict[str, dict[str, StressSet]]:
    """Return {first set: {set: what made it}} of the sets that one command made."""
    found: dict[str, dict[str, StressSet]] = {}
    first: dict[str, str] = {}
    for name, about in study.stress.sets.items():
        head = first.setdefault(f"{about.kind} {about.of} {sorted(about.line.items())}", name)
        found.setdefault(head, {})[name] = about
    return found


def _unknown(study: Study) -> list[str]:
    """Return the sets of made images that sets.json does not describe: it was deleted, or restored from an
    earlier copy.
    """
    made = {set_ for set_, parent in study.corpus.each_row("set", "parent") if parent}
    return sorted(made - study.stress.sets.keys())


def _now(study: Study, about: StressSet) -> dict[str, str]:
    """Return what a set would be made from; sets with moved pixels or added objects also depend on labels."""
    own = {"labels": labels_key(study, about.truth)} if about.truth else {}
    return {
        "images": study.set_keys.get(about.of, ""),
        METHOD_INPUT: method_number(about.parameters),
        **own,
        **own_files(about.parameters),
    }


def is_outdated(study: Study, name: str) -> bool:
    """Return whether a set was made from other images, labels or files than the current ones; a collected set
    never is.
    """
    about = study.stress.sets.get(name)
    return about is not None and about.inputs != _now(study, about)


def _and_more(name: str, sets: int) -> str:
    return f"{name} and {counted(sets - 1, 'more set', 'more sets')}" if sets > 1 else name


class _Sets(Artefact):
    def instances(self, study: Study) -> list[str]:
        return [*_lines(study), *_unknown(study)[:1]]

    def made_from(self, study: Study, name: str = "") -> dict[str, str] | None:
        """Return what the sets of a command were made from; None if one has no images, was not finished, or
        is not in sets.json.
        """
        if name not in study.stress.sets:
            return None
        sets = _lines(study)[name]
        if any(set_ not in study.set_keys or not about.inputs for set_, about in sets.items()):
            return None
        held = self.made_from_now(study, name)
        for about in sets.values():
            now = _now(study, about)
            held |= {
                key: about.inputs.get(key, "")
                for key in {*now, *about.inputs}
                if about.inputs.get(key) != now.get(key)
            }
        return held

    def made_from_now(self, study: Study, name: str = "") -> dict[str, str]:
        sets = _lines(study).get(name, {}).values()
        return {key: value for about in sets for key, value in _now(study, about).items()}

    def describe(self, study: Study, name: str) -> str:
        if name not in study.stress.sets:
            return f"{_and_more(name, len(_unknown(study)))}: made images"
        sets = _lines(study)[name]
        return f"{_and_more(name, len(sets))}: {sets[name].kind} of {sets[name].of}"

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        about = study.stress.sets.get(name)
        return {} if about is None else {**about.line}, ()

    def in_the_way(self, study: Study, name: str, options: Mapping[str, object]) -> str:
        remove = f"`faultscape collect {study.place} --remove {shlex.quote(f'{name}/*')}`"
        about = study.stress.sets.get(name)
        if about is None:
            return (
                "sets.json no longer describes this set; run the same `faultscape stress` command again"
                f" (log.jsonl has it), or {remove}"
            )
        if about.of not in study.set_keys:
            return (
                f"set {about.of}, which it was made from, no longer has images; collect it again, or remove"
                f" this set too: {remove}"
            )
        return super().in_the_way(study, name, options)

    def line(self, study: Study, name: str = "") -> str:
        about = study.stress.sets[name]
        return command(study, f"stress {about.kind}", about.line)


SETS = _Sets(
    "sets",
    verb="stress",
    follows=("corpus",),
    own_files=("frost_textures", "objects", "depth", "without", "corruption"),
    reasons={
        "images": "images of its source set were added, changed or removed",
        "labels": "labels changed",
        "code": "the file of a corruption changed",
        "textures": "textures of frost changed",
        "depth": "files of depth changed",
        METHOD_INPUT: "an earlier version made them",
    },
)
