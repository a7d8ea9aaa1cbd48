"""A study as it is on disk now: each file is read once, on first use.

Conventions: nothing is written, and no maps or counts are opened. A study describes one moment; take a new
one after changing the study.
"""

from __future__ import annotations

import shlex
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.errors import DamagedSelectionError
from faultscape.nouns import JsonObject, Slots
from faultscape.reading import evidence
from faultscape.reading.label_counts import LabelCount, count_labels
from faultscape.reading.pairs import corpus_key, wanted
from faultscape.reading.scorers import fitted_again
from faultscape.reading.second_round import SecondRound, second_round
from faultscape.selection.spares import effective
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.json_text import read_object
from faultscape.study.parts import Part, key_of, there
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps, pairs, selections
from faultscape.study.tables.corpus import read_columns, read_ids, shard_sizes, stress_shards
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.pool import read_groups
from faultscape.study.tables.removed_images import each_whole_digest
from faultscape.study.tables.stress_sets import StressSets, read_stress

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Study:
    """The contents of the study at ``root``; ``place`` is how a command names it. Damaged selections raise,
    or are left out, and named in ``damaged``, where one only looks (``skip_damaged``).
    """

    def __init__(self, root: Path, place: str = "", *, skip_damaged: bool = False) -> None:
        self.root = root
        self._skip_damaged = skip_damaged
        self.place = shlex.quote(place or str(root))
        self._current: dict[str, Slots] = {}
        self._keys: dict[tuple[str, ...], str] = {}
        self._truth_keys: dict[str, str] = {}
        self._photos_keys: dict[tuple[str, ...] | None, str] = {}
        # cache of verbs.select.artefact.key: many artefacts depend on one selection
        self.selection_keys: dict[str, str] = {}
        self._label_counts: dict[tuple[str, str], LabelCount] = {}

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.root)

    @cached_property
    def models(self) -> tuple[str, ...]:
        return tuple(self.settings.models)

    @cached_property
    def shard_sizes(self) -> dict[int, int]:
        return shard_sizes(self.root) if (self.root / "corpus.parquet").exists() else {}

    @cached_property
    def image_count(self) -> int:
        return sum(self.shard_sizes.values())

    @cached_property
    def ids(self) -> set[str]:
        return read_ids(self.root) if self.image_count else set()

    @cached_property
    def stress(self) -> StressSets:
        """The sets made from other sets, and the classes that are held out."""
        return read_stress(self.root)

    @cached_property
    def set_keys(self) -> dict[str, str]:
        """{set: a key of its images and their digests}, of the sets that have images."""
        rows: dict[str, list[tuple[str, str]]] = {}
        columns = (
            read_columns(self.root, ["set", "id", "digest"]).to_pydict()
            if self.image_count
            else {"set": [], "id": [], "digest": []}
        )
        for name, id_, digest in zip(columns["set"], columns["id"], columns["digest"], strict=True):
            rows.setdefault(name, []).append((id_, digest))
        return {name: key_of(sorted(mine)) for name, mine in rows.items()}

    @cached_property
    def stored_maps(self) -> dict[str, Mapping[str, Part]]:
        """{model: its existing parts that are in its manifest}."""
        return {model: there(label_maps.predictions(self.root, model)) for model in self.models}

    @cached_property
    def outdated_models(self) -> frozenset[str]:
        """The models whose maps were made at a different working size, from different images or classes, or
        partly by a different network.
        """
        return frozenset(label_maps.outdated(self.root, self.settings, each_whole_digest(self.root)))

    @cached_property
    def fitted_again(self) -> frozenset[str]:
        """The models with a method that was refitted since it scored."""
        return frozenset(name for name in self.models if fitted_again(self.root, self.settings, name))

    @cached_property
    def stored_pairs(self) -> dict[str, Mapping[str, Part]]:
        return {model: there(pairs.folder(self.root, model)) for model in self.models}

    @cached_property
    def wanted_pairs(self) -> list[pairs.PairPart]:
        """Every part of counts between models that the stored maps call for, with the key that it should
        have.
        """
        return wanted(self.root, self.settings, sorted(self.shard_sizes), [])

    @cached_property
    def selections(self) -> dict[str, tuple[Slots, str]]:
        """{name: (slots, the key of what they were drawn from)}, main first."""
        return {
            name: selections.read_selection(self.root, name, seen=True)
            for name in selections.names(self.root)
            if name not in self.damaged
        }

    @cached_property
    def damaged(self) -> dict[str, str]:
        """{name of a damaged selection that is left out: what is wrong with it, and what to do}."""
        found = dict[str, str]()
        for name in selections.names(self.root) if self._skip_damaged else ():
            try:
                selections.read_selection(self.root, name, seen=True)
            except DamagedSelectionError as error:
                found[name] = str(error)
        return found

    @cached_property
    def drawn(self) -> list[Slots]:
        """All selections, including removed ones with labels."""
        return [slots for slots, _ in self.selections.values()] + selections.read_removed(self.root)

    @cached_property
    def discarded(self) -> dict[str, str]:
        return Answers(self.root).discarded()

    @cached_property
    def tags(self) -> list[Tag]:
        """The kinds of failure that people gave to images."""
        return Tags(self.root).tags()

    @cached_property
    def second_round(self) -> SecondRound:
        """What people found in each other's masks."""
        return second_round(self.root)

    def tags_key(self, images: Collection[str] | None = None) -> str:
        """Return a key of the tags of some or all images, including whose tags they are; '' without tags."""
        given = sorted(astuple(tag) for tag in self.tags if images is None or tag.image in images)
        return key_of(given) if given else ""

    @cached_property
    def truths(self) -> list[str]:
        return evidence.truths(self.root)

    @cached_property
    def truth(self) -> str:
        """The truth that counts by default, or the first by name."""
        return evidence.find_truth(self.root) or (self.truths[0] if self.truths else evidence.LABELS)

    @cached_property
    def failures(self) -> int:
        """How many rows failures.csv has."""
        return len(read_failures(self.root))

    @cached_property
    def groups(self) -> dict[str, str]:
        """{id: group}, without images of made sets, which share their parents' groups."""
        return {id_: group for id_, group in read_groups(self.root).items() if id_ not in self._aside}

    @cached_property
    def _aside(self) -> frozenset[str]:
        """The ids of made images whose role is not pool."""
        if not (shards := stress_shards(self.root)):
            return frozenset()
        return frozenset(read_columns(self.root, ["id"], [("shard", "in", shards)])["id"].to_pylist())

    def current(self, selection: str) -> Slots:
        """Return a selection as it counts now: images that were discarded or left the corpus are replaced by
        spares, and draws do without models that left the study.
        """
        if selection not in self._current:
            slots = evidence.with_models_left(self.selections[selection][0], self.settings.models)
            gone = {row.image for row in slots.rows} - self.ids
            self._current[selection] = effective(
                slots, {**self.discarded, **dict.fromkeys(gone, "left the corpus")}
            )
        return self._current[selection]

    def label_count(self, selection: str, truth: str = "") -> LabelCount:
        """Return how many images of a selection are labelled under a truth, by default the one that
        counts.
        """
        which = selection, truth or self.truth
        if which not in self._label_counts:
            there, now = which[1] in self.truths, self.current(selection)
            self._label_counts[which] = (
                count_labels(self.root, self.settings, now, which[1]) if there else LabelCount(0, 0, False)
            )
        return self._label_counts[which]

    def drawn_from(self, models: Sequence[str]) -> str:
        """Return the current key of everything that a selection over these models is drawn from."""
        if (names := tuple(models)) not in self._keys:
            self._keys[names] = corpus_key(self.root, self.settings, names)
        return self._keys[names]

    def knows(self, models: Sequence[str]) -> bool:
        """Whether the study still has all of these models."""
        return all(model in self.settings.models for model in models)

    def truth_key(self, truth: str) -> str:
        """Return the key of all labels of a truth, and of the answers that count with it."""
        if truth not in self._truth_keys:
            self._truth_keys[truth] = evidence.truth_key(self.root, truth)
        return self._truth_keys[truth]

    def photos_key(self, images: Collection[str] | None = None) -> str:
        """Return a key of what some or all images were when they were collected, which decides ties and what
        pages show.
        """
        wanted = None if images is None else tuple(sorted(images))
        if wanted not in self._photos_keys:
            chosen = None if wanted is None else [("id", "in", wanted)]
            if wanted is None and (aside := stress_shards(self.root)):
                # made images do not enter any number of the study
                chosen = [("shard", "not in", aside)]
            rows = read_columns(self.root, ["id", "digest"], chosen)
            self._photos_keys[wanted] = key_of(*(column.to_pylist() for column in rows.columns))
        return self._photos_keys[wanted]

    def document(self, path: Path) -> JsonObject | None:
        """Return the JSON object of a file of the study, or None if it cannot be read."""
        try:
            return read_object(path.read_bytes()) if path.exists() else None
        except (OSError, ValueError):
            return None
