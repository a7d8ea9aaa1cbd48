"""A study as an object: what it holds, read on first use, each file once. Public as ``fs.Study``.

Conventions: a study reads, joins and caches; it estimates nothing and writes nothing. It describes one
moment: `reread` forgets what changed on disk since. What needs a metric, a vote or a selector is a function
that takes a study (`reading.evidence`, `reading.label_counts`). One study belongs to one thread; another
process gets it as a path, and reads for itself.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from faultscape.errors import DamagedSelectionError, RankingError, StudyError, closest
from faultscape.nouns import MAIN, Classes, Slots
from faultscape.ranking.standings_json import from_json
from faultscape.reading.answers import class_rows
from faultscape.reading.choices import choice_rows
from faultscape.reading.label_counts import LabelCount, Selection, count_labels, truth_of_round
from faultscape.reading.maps import StoredLabels
from faultscape.reading.pairs import PairCounts, corpus_key, wanted
from faultscape.reading.points.truths import answer_rows
from faultscape.reading.scorers import fitted_again
from faultscape.reading.second_round import SecondRound, second_round
from faultscape.study import trained_images
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.points import PointAnswers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.folder import existing
from faultscape.study.parts import Part, key_of, there
from faultscape.study.snapshot import Snapshot, once
from faultscape.study.tables import label_maps, pairs, selections
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.pool import read_groups
from faultscape.study.tables.removed_images import each_whole_digest, read_removed, removed_by_shard
from faultscape.study.tables.stress_sets import StressSets, read_stress

if TYPE_CHECKING:
    from faultscape.standings import Standings

LABELS = "labels"  # the default name of a truth
_YET = ("yet", "of classes, only of unknown objects, by which `faultscape reliability` judges scores")


class Study(Snapshot):
    """The study in the folder ``root``, named ``called`` in commands. Damaged selections raise, or are left
    out, and named in ``damaged``, where one only looks (``skip_damaged``). People's answers are read from a
    ``database`` that is open already, if one is given. StudyError if there is no study, or a file of it is
    damaged, when it is read.

    >>> Study("nowhere")
    <Study 'nowhere': no study yet>
    """

    def selection(self, name: str = MAIN) -> Selection:
        """Return a selection (main stands for the only one where there is no main); SelectionError if there
        is none of this name, DamagedSelectionError if it is damaged.
        """
        return self._read_selection(selections.the_name(self.root, name), seen=False)

    @once
    def _read_selection(self, name: str, *, seen: bool) -> Selection:
        file = selections.path(self.root, name, "json")
        slots, drawn_from = self._file(file, lambda: selections.read_selection(self.root, name, seen=seen))
        return Selection(self, name, slots, drawn_from)

    @property
    def classifies(self) -> bool:
        """Whether models give an image one class, rather than each of its pixels."""
        return self.settings.classifies

    @cached_property
    def classes(self) -> Classes:
        """The class list."""
        return self.settings.class_list

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order in which they came."""
        return tuple(self.settings.models)

    @property
    def images(self) -> Sequence[str]:
        """The ids of all images, in corpus order."""
        return self.corpus.ids

    @cached_property
    def image_count(self) -> int:
        """How many images there are."""
        return sum(self.shard_sizes.values())

    @property
    def shard_sizes(self) -> dict[int, int]:
        """{number of a shard: how many images it has}."""
        return self.corpus.sizes

    @cached_property
    def ids(self) -> set[str]:
        """The ids of all images, to look one up."""
        return set(self.corpus.ids)

    @cached_property
    def groups(self) -> dict[str, str]:
        """{id: group}, without images of made sets, which share their parents' groups."""
        return {id_: group for id_, group in read_groups(self.corpus).items() if id_ not in self._aside}

    @cached_property
    def _aside(self) -> frozenset[str]:
        """The ids of made images whose role is not pool."""
        shards = self.corpus.aside
        outside = self.corpus.rows_outside(shards, "id")["id"].to_pylist() if shards else self.ids
        return frozenset(self.ids.difference(outside))

    @once
    def _photos_key(self, images: tuple[str, ...] | None) -> str:
        if images is not None:
            rows = self.corpus.rows_of(images, "id", "digest")
        else:
            # made images do not enter any number of the study
            rows = self.corpus.rows_outside(self.corpus.aside, "id", "digest")
        return key_of(*(column.to_pylist() for column in rows.columns))

    def photos_key(self, images: Collection[str] | None = None) -> str:
        """Return a key of what some or all images were when they were collected, which decides ties and what
        pages show.
        """
        return self._photos_key(None if images is None else tuple(sorted(images)))

    @cached_property
    def stress(self) -> StressSets:
        """The sets made from other sets, and the classes that are held out."""
        return read_stress(self.root)

    @cached_property
    def _rows_of_sets(self) -> dict[str, list[tuple[str, str]]]:
        """{set: (id, digest) of each of its images}."""
        rows = dict[str, list[tuple[str, str]]]()
        for name, id_, digest in self.corpus.each_row("set", "id", "digest"):
            rows.setdefault(name, []).append((id_, digest))
        return rows

    @cached_property
    def sets(self) -> dict[str, tuple[str, ...]]:
        """{set: the ids of its images}, of collected and made sets."""
        return {name: tuple(id_ for id_, _ in rows) for name, rows in self._rows_of_sets.items()}

    @cached_property
    def set_keys(self) -> dict[str, str]:
        """{set: a key of its images and their digests}, of the sets that have images."""
        return {name: key_of(sorted(rows)) for name, rows in self._rows_of_sets.items()}

    def maps(self, model: str) -> StoredLabels:
        """Return {image: what a model says about it}: a map (H, W) of places in `classes`, of its own size,
        their number where it says nothing; for a classifier the name of the class. StudyError for an unknown
        model.
        """
        if model not in self.models:
            raise StudyError(
                f"there is no model {model!r}; available: {', '.join(self.models) or 'none yet'}."
                f"{closest(model, self.models)}"
            )
        return StoredLabels.of_model(self, model)

    @once
    def trained_on(self, model: str) -> frozenset[str]:
        """Return the images that do not judge a model: those that trained it, or resemble these:
        near-duplicates, images of their groups, and images made from them.
        """
        record = trained_images.read_record(label_maps.predictions(self.root, model))
        return trained_images.standing_for(self.corpus, frozenset(record.values()))

    @cached_property
    def stored_maps(self) -> dict[str, Mapping[str, Part]]:
        """{model: its existing parts that are in its manifest}."""
        folders = {model: label_maps.predictions(self.root, model) for model in self.models}
        return {model: there(folder, parts=self.manifest(folder)) for model, folder in folders.items()}

    @cached_property
    def outdated_models(self) -> frozenset[str]:
        """The models whose maps were made at a different working size, from different images or classes, or
        partly by a different network.
        """
        shards = each_whole_digest(self.corpus)
        return frozenset(label_maps.outdated(self.root, self.settings, shards, self.manifest))

    @cached_property
    def fitted_again(self) -> frozenset[str]:
        """The models with a method that was refitted since it scored."""
        return frozenset(name for name in self.models if fitted_again(self, name))

    @property
    def pairs(self) -> PairCounts:
        """Where models disagree with each other and with truths."""
        return PairCounts(self)

    @cached_property
    def stored_pairs(self) -> dict[str, Mapping[str, Part]]:
        """{model: its existing parts of counts}."""
        folders = {model: pairs.folder(self.root, model) for model in self.models}
        return {model: there(folder, parts=self.manifest(folder)) for model, folder in folders.items()}

    @cached_property
    def wanted_pairs(self) -> list[pairs.PairPart]:
        """Every part of counts between models that the stored maps call for, with the key that it should
        have.
        """
        return wanted(self, sorted(self.shard_sizes), [])

    @once
    def drawn_from(self, models: Sequence[str]) -> str:
        """Return the current key of everything that a selection over these models is drawn from."""
        return corpus_key(self, models)

    def pool_key(self, slots: Slots) -> str:
        """Return the current key of everything that a selection depends on: points, which speak about any
        model, stay what they are if predictions change.
        """
        return self.drawn_from(() if slots.points else slots.models)

    def knows(self, models: Sequence[str]) -> bool:
        """Whether the study still has all of these models."""
        return all(model in self.settings.models for model in models)

    @cached_property
    def selections(self) -> dict[str, Selection]:
        """{name: selection}, main first."""
        return {
            name: self._read_selection(name, seen=True)
            for name in selections.names(self.root)
            if name not in self.damaged
        }

    @cached_property
    def damaged(self) -> dict[str, str]:
        """{name of a damaged selection that is left out: what is wrong with it, and what to do}."""
        found = dict[str, str]()
        for name in selections.names(self.root) if self._skip_damaged else ():
            try:
                self._read_selection(name, seen=True)
            except DamagedSelectionError as error:
                found[name] = str(error)
        return found

    @cached_property
    def removed_selections(self) -> list[Slots]:
        """The removed selections with labels."""
        return selections.read_removed(self.root)

    @cached_property
    def drawn(self) -> list[Slots]:
        """All selections, including removed ones with labels."""
        return [selection.slots for selection in self.selections.values()] + self.removed_selections

    @cached_property
    def database(self) -> Database:
        """Where people's answers are stored."""
        if self._open_database is not None:
            return self._open_database
        return Database(self.root, settings=self.settings.answers if self.exists else None)

    @cached_property
    def answers(self) -> Answers:
        """The yes/no answers, and the discards."""
        return Answers(self.root, self.database, lambda: self.settings.classes)

    @cached_property
    def choices(self) -> Choices:
        """The choices between two models."""
        return Choices(self.root, self.database)

    @cached_property
    def point_answers(self) -> PointAnswers:
        """What people see at single pixels."""
        return PointAnswers(self.root, self.database, lambda: self.settings.classes)

    @cached_property
    def discarded(self) -> dict[str, str]:
        """{discarded image: reason}."""
        return self.answers.discarded()

    @cached_property
    def tags(self) -> list[Tag]:
        """The kinds of failure that people gave to images."""
        return Tags(self.root, self.database).tags()

    @cached_property
    def second_round(self) -> SecondRound:
        """What people found in each other's masks."""
        return second_round(self)

    def tags_key(self, images: Collection[str] | None = None) -> str:
        """Return a key of the tags of some or all images, including whose tags they are; '' without tags."""
        given = sorted(astuple(tag) for tag in self.tags if images is None or tag.image in images)
        return key_of(given) if given else ""

    @cached_property
    def label_folders(self) -> list[str]:
        """The truths with labels that were imported or drawn, sorted; those of answers alone are in
        `truths`.
        """
        _ = self._has_store  # or study.toml would be opened twice, the first time for its store alone
        return label_maps.truths(self.root, self.manifest)

    @cached_property
    def truths(self) -> list[str]:
        """The names under which labels are stored, sorted; answers to questions and points, and choices
        between two models, count as labels.
        """
        if self.classifies:
            return sorted({*self.label_folders, *self.answers.truths()})
        return sorted({*self.label_folders, *self.choices.truths(), *self.point_answers.truths()})

    def find_truth(self, asked: str | None = None) -> str:
        """Return the truth that counts: the one asked for, else `labels`, else the only one; '' if there is
        none, or several.
        """
        if asked is not None:
            return asked if asked in self.truths else ""
        return LABELS if LABELS in self.truths else self.truths[0] if len(self.truths) == 1 else ""

    def truth(self, asked: str | None = None) -> str:
        """Return the truth that counts: the one asked for, else `labels`, else the only one; otherwise
        StudyError with a list of the truths.
        """
        if truth := self.find_truth(asked):
            return truth
        known = self.truths
        if not known:
            others = bool(label_maps.anomaly_truths(self.root))
            asks = next((name for name, made in self.selections.items() if made.slots.points), "")
            serve = f", or answer points with `faultscape label serve {self.place} --selection {asks}`"
            raise StudyError(
                f"there is no truth {asked or LABELS!r}; there are no labels {_YET[others]}; import some with"
                f" `faultscape label import {self.place} SOURCE`{serve if asks else ''}"
            )
        if asked is not None:
            raise StudyError(
                f"there is no truth {asked!r}; available: {', '.join(known)}.{closest(asked, known)}"
            )
        # how to merge them is told by an artefact, which reads studies
        from faultscape.reading.annotator_truths import lines_to_merge

        merging = "".join(f", or merge them: `{line}`" for line in lines_to_merge(self))
        raise StudyError(
            f"there are several truths ({', '.join(known)}), and none is called {LABELS!r}; choose one with"
            f" --truth{merging}"
        )

    @cached_property
    def likely_truth(self) -> str:
        """The truth that counts by default, or the first by name; `labels` if there is none."""
        return self.find_truth() or (self.truths[0] if self.truths else LABELS)

    @once
    def truth_of(self, selection: str) -> str:
        """Return the truth that counts for a selection by default: that of the rounds of `loop` for which it
        was drawn, else the likely one.
        """
        return truth_of_round(self, selection) or self.likely_truth

    def labels(self, truth: str | None = None) -> StoredLabels:
        """Return {image: its label} under a truth, by default the one that counts: a map (H, W) of places in
        `classes`, their number for void; for classifiers the names of the classes it shows.
        """
        return StoredLabels.of_truth(self, self.truth(truth))

    @once
    def labels_gone(self, truth: str) -> dict[int, list[str]]:
        """Return {shard: its images that have a label of a truth and left the corpus}; their labels are kept
        but not counted.
        """
        if not (removed := removed_by_shard(self.corpus)):
            return {}
        where = label_maps.truth(self.root, truth)
        parts = self.manifest(where)
        out: dict[int, list[str]] = {}
        for shard, images in removed.items():
            if part := parts.get(part_name(shard)):
                held = set(label_maps.read_ids(where, shard, part))
                if mine := sorted(image.id for image in images if image.id in held):
                    out[shard] = mine
        return out

    @once
    def truth_key(self, truth: str) -> str:
        """Return a key of all labels of a truth, and of the answers that count with it."""
        parts = self.manifest(label_maps.truth(self.root, truth))
        labels = [(name, part.sha256) for name, part in sorted(parts.items())]
        removed = {image.id for image in read_removed(self.corpus)}
        answers = class_rows(self, truth, removed) if self.classifies else []
        gone = sorted(self.labels_gone(truth).items()) if removed else []
        chosen = [] if self.classifies else choice_rows(self, truth, removed)
        points = [] if self.classifies else answer_rows(self, truth, removed)
        return key_of(
            labels,
            *([answers] if answers or gone else []),
            *([gone] if gone else []),
            *([["choices", *chosen]] if chosen else []),
            *([["points", *points]] if points else []),
        )

    @once
    def label_count(self, selection: str, truth: str = "") -> LabelCount:
        """Return how many images of a selection are labelled under a truth, by default its own."""
        if not truth:
            return self.label_count(selection, self.truth_of(selection))
        now = self.selection(selection).now
        return count_labels(self, now, truth) if truth in self.truths else LabelCount(0, 0, False)

    def standings(self, selection: str = MAIN) -> Standings:
        """Return the standings that `rank` wrote for a selection (main stands for the only one where there is
        no main); RankingError if there are none, or they cannot be read.
        """
        selection = selections.the_name(self.root, selection)
        document = self.document(selections.path(self.root, selection, "json", stem="standings"))
        if document is None:
            of = "" if selection == MAIN else f" --selection {shlex.quote(selection)}"
            raise RankingError(
                f"selection {selection!r} has no standings yet; run `faultscape rank {self.place}{of}`"
            )
        return from_json(document)

    @cached_property
    def failures(self) -> int:
        """How many rows failures.csv has."""
        return len(read_failures(self.root))

    @cached_property
    def image_rows(self) -> dict[str, Image]:
        """{id: its row} of all images, in corpus order; `corpus` reads less of them."""
        return {image.id: image for image in self.corpus.images()}

    def _about(self) -> dict[str, str]:
        """Return {what: how many or which} for people; {} without a study."""
        if not self.exists:
            return {}
        ranked = [
            name
            for name in selections.names(self.root)
            if selections.path(self.root, name, "json", stem="standings").exists()
        ]
        return {
            "task": self.settings.task,
            "classes": str(len(self.classes)),
            "images": f"{self.image_count:,}",
            "models": ", ".join(self.models),
            "truths": ", ".join(self.truths),
            "selections": ", ".join(selections.names(self.root)),
            "ranked": ", ".join(ranked),
        }

    def __repr__(self) -> str:
        about = {name: words for name, words in self._about().items() if words}
        said = "; ".join(f"{name}: {words}" for name, words in about.items())
        return f"<Study {str(self.root)!r}: {said or 'no study yet'}>"

    def _repr_html_(self) -> str:
        left = " style='text-align:left'"
        rows = [
            f"<tr><th{left}>{name}</th><td{left}>{escape(words) or '-'}</td></tr>"
            for name, words in self._about().items()
        ]
        about = "".join(rows) or "<tr><td>no study yet</td></tr>"
        return f"<table><caption>{escape(str(self.root))}</caption>{about}</table>"


def opened(place: str | os.PathLike[str]) -> Study:
    """Return the study in a folder; StudyError if there is none."""
    return Study(existing(place), os.fspath(place))
