"""sets.json: the sets of a study that were made from its other sets, those that are data sets of a known
layout, and the held-out classes.

Conventions: a set has a name, as in corpus.parquet, whose rows hold the recipes of its images. This file
records how it was made: the ``kind`` of stress, the set that it was made ``of``, the ``line`` of options that
were given, the ``parameters`` that decide what is made, and the ``inputs`` that it depends on. ``labels`` is
"parents" if no pixel moves, so that labels of the parents apply, "own" if they are in stress/SET, "none" if
there are none. For a data set ``fingerprints`` identify the files that the truth of each shard was read from.
A held-out class list is a name and the names of the classes that it withholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import pydantic

from faultscape.errors import StudyError, closest
from faultscape.study.folder import check_name, put

_FILE = "sets.json"
Kind = Literal["corrupt", "blend", "fog"]
Held = dict[str, pydantic.JsonValue]
Labels = Literal["parents", "own", "none"]


class StressSet(pydantic.BaseModel):
    """One set that was made: see the conventions above."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    kind: Kind
    of: str
    labels: Labels = "parents"
    truth: str = ""  # the labels that it was made with, if they are its own
    line: Held = {}
    parameters: Held = {}
    inputs: dict[str, str] = {}
    families: tuple[str, ...] = ()  # of the unknown objects of a blended set, by name


class DataSource(pydantic.BaseModel):
    """Where a set of a known layout came from."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    layout: str
    path: str
    split: str
    fingerprints: dict[str, str] = {}


class StressSets(pydantic.BaseModel):
    """All that sets.json holds."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    sets: dict[str, StressSet] = {}
    data: dict[str, DataSource] = {}
    holdouts: dict[str, list[str]] = {}


def read_stress(root: Path) -> StressSets:
    """Return the content of sets.json, empty if there is none; StudyError if it is damaged."""
    path = root / _FILE
    try:
        return StressSets.model_validate_json(path.read_bytes()) if path.exists() else StressSets()
    except (OSError, ValueError):
        raise StudyError(
            f"{path} is damaged; delete it and run the lines of `faultscape stress` and `collect --layout`"
            " again"
        ) from None


def add_sets(root: Path, sets: Mapping[str, StressSet]) -> None:
    """Enter sets that were made, replacing those of the same name."""
    held = read_stress(root)
    _put(root, held.model_copy(update={"sets": {**held.sets, **sets}}))


def drop_sets(root: Path, names: Iterable[str]) -> None:
    """Remove the entries of sets without images."""
    held = read_stress(root)
    gone = set(names)
    if gone & held.sets.keys():
        _put(
            root,
            held.model_copy(
                update={"sets": {name: about for name, about in held.sets.items() if name not in gone}}
            ),
        )


def add_source(root: Path, name: str, source: DataSource) -> None:
    """Enter the source of a set of a known layout."""
    held = read_stress(root)
    _put(root, held.model_copy(update={"data": {**held.data, name: source}}))


def add_holdout(root: Path, name: str, classes: Iterable[str]) -> None:
    """Enter held-out classes under a name."""
    held = read_stress(root)
    _put(
        root,
        held.model_copy(update={"holdouts": {**held.holdouts, check_name(name, "holdout"): list(classes)}}),
    )


def drop_holdout(root: Path, name: str) -> tuple[str, ...]:
    """Remove a holdout and return the classes that it withheld; StudyError if it does not exist."""
    held = read_stress(root)
    if name not in held.holdouts:
        there = f"are {', '.join(held.holdouts)}" if held.holdouts else "is none"
        raise StudyError(f"{root} has no holdout {name!r}; there {there}.{closest(name, [*held.holdouts])}")
    _put(
        root,
        held.model_copy(
            update={"holdouts": {other: of for other, of in held.holdouts.items() if other != name}}
        ),
    )
    return tuple(held.holdouts[name])


def rename_held_classes(root: Path, renamed: Mapping[str, str]) -> None:
    """Rename classes, {old name: new name}: those that are held out, and the ego vehicle of blended sets."""
    held = read_stress(root) if renamed else StressSets()

    def called(words: Held) -> Held:
        ego = words.get("ego")
        return {**words, "ego": renamed[ego]} if isinstance(ego, str) and ego in renamed else words

    holdouts = {name: [renamed.get(word, word) for word in words] for name, words in held.holdouts.items()}
    sets = {
        name: about.model_copy(update={"line": called(about.line), "parameters": called(about.parameters)})
        for name, about in held.sets.items()
    }
    if (sets, holdouts) != (held.sets, held.holdouts):
        _put(root, held.model_copy(update={"sets": sets, "holdouts": holdouts}))


def labels_folder(root: Path, name: str) -> Path:
    """Return the folder of the own labels of a set, as label maps in parts."""
    return root / "stress" / check_name(name, "set")


def _put(root: Path, held: StressSets) -> None:
    put(root / _FILE, (held.model_dump_json(indent=1) + "\n").encode())
