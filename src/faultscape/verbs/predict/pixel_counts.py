"""Pixel counts for `reliability`: made during prediction (`predict --measure`) or from stored outputs, with
the keys of their parts.

Conventions: a score is rounded once to float16, from the float32 that would be stored, so that both ways give
the same bytes. Images with neither anomaly labels nor anomalies of a holdout keep one place of 16. Keys
identify a model by the checksum of its label maps or, for made sets whose maps were dropped, by what they
were made from.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.classes.class_lists import allowed, meaning, narrow, table
from faultscape.errors import StudyError
from faultscape.maps.counts import confusions
from faultscape.maps.resize import nearest
from faultscape.metrics import calibration
from faultscape.metrics.scorers import SUBMITTED, plain_name, rounded, scorer_named
from faultscape.metrics.scores.grouped_counts import count_groups, encode_counts, group_pixels
from faultscape.metrics.scores.inputs import VOID
from faultscape.prediction.keep import OTHERS, doubt_folder
from faultscape.reading.image_truths import Judge, View, find_judged, made_from
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of, read_manifest, there, write_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.pixel_counts import MAPS, ClassBins, MapCounts
from faultscape.study.tables.removed_images import whole_corpus

MSP = doubt_folder("msp")
METHOD = 3  # raised when the same maps and scores give different counts


@dataclass(frozen=True)
class Counting:
    """What to count for a model: the truth, and the scorers {folder: (word, offset or None, number of
    channels)}, as JSON values.
    """

    truth: str = ""
    scorers: dict[str, tuple[str, float | None, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class CountedPart:
    """The written parts of one shard's counts: {kind: (checksum, rows)}."""

    parts: dict[str, tuple[str, int]] = field(default_factory=dict)


class PixelCounter:
    """Counts the images of one shard and model; `of_answer` may be called in several threads."""

    def __init__(
        self,
        study: Study,
        name: str,
        shard: int,
        counting: Counting,
        labels: Mapping[str, str],
        kinds: Collection[str] = (),
    ) -> None:
        images = whole_corpus(study.corpus)
        judged = find_judged(study, images, counting.truth)
        mine = {id_: image for id_, image in images.items() if image.shard == shard}
        size = study.settings.working_size
        self._root = study.root
        self._name = name
        self._shard = shard
        self._classes = study.classes
        self._sizes = {id_: size or (image.width, image.height) for id_, image in mine.items()}
        self._judged = {id_: judged[id_] for id_ in mine}
        self._judge = Judge(study, self._judged)
        self._places = narrow(table(self._classes, dict(labels)))
        self._scorers = {
            folder: (scorer_named(word), offset, channels)
            for folder, (word, offset, channels) in counting.scorers.items()
        }
        self._kinds = set(kinds) or {MAPS, *counting.scorers}
        self._parents: tuple[int, StoredMaps | None] = (-1, None)
        self._rows: dict[str, MapCounts] = {}
        self._scores: dict[str, list[tuple[str, str, bytes]]] = {kind: [] for kind in self._kinds - {MAPS}}

    def of_answer(self, id_: str, label_map: np.ndarray, scores: Mapping[str, np.ndarray]) -> bytes:
        """Return the counts of one image as bytes, from its map (h, w) in the model's own labels and scores
        {folder: (H, W) float32}, which may include its confidence in 255 steps.

        If the MSP score (1 - the largest probability) is given too, the confidence is 1 - that. Images that
        left the corpus are counted too, because parts cover whole shards. StudyError for scores of a
        different size.
        """
        size = self._sizes[id_]
        for kind, score in scores.items():
            if score.shape != (size[1], size[0]):
                raise StudyError(
                    f"{self._name}, {kind}: image {id_} is {score.shape[1]} x {score.shape[0]}, but the"
                    f" study's working size is now {size[0]} x {size[1]}; run `faultscape predict` again with"
                    " the same --scorer"
                )
        confidence = scores.get("confidence")
        if confidence is not None:
            confidence = confidence.astype(np.float32) / 255
        if (others := scores.get(OTHERS)) is not None:
            confidence = 1 - others
        map_ = nearest(self._places[label_map], size)
        views = self._judge.views(id_, size)
        plain = next((view for view in views if not view.holdout), None)
        held = MapCounts(*self._of_map(map_, plain, confidence)) if MAPS in self._kinds else MapCounts()
        codes = [
            (folder, view.holdout, code)
            for view in views
            for folder, code in self._of_view(view, map_, scores, views, id_)
        ]
        return _written(held, codes)

    def take(self, id_: str, code: bytes) -> None:
        """Add the counts of one image; images come in corpus order."""
        held, codes = _read(code)
        self._rows[id_] = held
        for folder, holdout, counts in codes:
            if folder in self._scores:
                self._scores[folder].append((id_, holdout, counts))

    def compare(self, id_: str, label_map: np.ndarray) -> None:
        """Count how an image's map (h, w), in the model's own labels, agrees with the model's map of its
        parent, if stored.
        """
        parent = self._judged[id_].parent
        if parent is None or MAPS not in self._kinds or id_ not in self._rows:
            return
        shard, other = parent
        if self._parents[0] != shard:
            where = label_maps.predictions(self._root, self._name)
            known = part_name(shard) in there(where, [part_name(shard)])
            self._parents = (
                shard,
                StoredMaps(where, shard, self._places, allowed(self._classes)) if known else None,
            )
        stored = self._parents[1]
        before = None if stored is None else stored.read(other, self._sizes[id_])
        if before is not None:
            both = [before, nearest(self._places[label_map], self._sizes[id_])]
            held = self._rows[id_]
            self._rows[id_] = MapCounts(held.cells, confusions(both, len(self._classes) + 1)[0], held.bins)

    def finish(self) -> CountedPart:
        """Write the shard's parts and return them."""
        parts = {}
        if MAPS in self._kinds:
            where = pixel_counts.counts_folder(self._root, self._name, MAPS)
            parts[MAPS] = (pixel_counts.put_map_counts(where, self._shard, self._rows), len(self._rows))
        for kind, rows in self._scores.items():
            where = pixel_counts.counts_folder(self._root, self._name, kind)
            parts[kind] = (pixel_counts.put_score_counts(where, self._shard, rows), len(rows))
        return CountedPart(parts)

    def _of_map(
        self, map_: np.ndarray, plain: View | None, confidence: np.ndarray | None
    ) -> tuple[np.ndarray | None, None, ClassBins | None]:
        if plain is None or plain.semantic is None:
            return None, None, None
        truth = (
            plain.semantic
            if plain.anomaly is None
            else np.where(plain.anomaly == 1, len(self._classes), plain.semantic)
        )
        cells = confusions([truth.astype(map_.dtype, copy=False), map_], len(self._classes) + 1)[0]
        cells[-1] = 0  # void in the truth is not an error
        if confidence is None:
            return cells, None, None
        right = plain.semantic == map_
        bins = calibration.counts_by_class(
            np.minimum(confidence, 1), right, plain.semantic, len(self._classes)
        )
        there = np.flatnonzero(bins[:, 0].any(1))
        if not len(there):
            there = np.array([0])  # an image that is void everywhere is counted too
        return cells, None, ClassBins(there, bins[there])

    def _of_view(
        self, view: View, map_: np.ndarray, scores: Mapping[str, np.ndarray], views: Sequence[View], id_: str
    ) -> Iterable[tuple[str, bytes]]:
        void = len(self._classes)
        wrong = (
            None
            if view.semantic is None
            else np.where(view.semantic == void, VOID, view.semantic != map_).astype(np.uint8)
        )
        groups, objects = group_pixels(view.anomaly, wrong, view.pasted)
        coarse = all(one.anomaly is None for one in views)
        for folder, score in scores.items():
            if folder in self._scorers:
                scorer, offset, channels = self._scorers[folder]
                half = rounded(scorer, score, channels, offset)
                yield folder, encode_counts(count_groups(half, groups, objects, coarse=coarse, where=id_))


def _written(held: MapCounts, codes: Sequence[tuple[str, str, bytes]]) -> bytes:
    """Return the counts of one image as bytes: a line of JSON, then the codes."""
    sparse = (
        None
        if held.cells is None
        else [len(held.cells), np.flatnonzero(held.cells).tolist(), held.cells[held.cells > 0].tolist()]
    )
    head = [
        sparse,
        None if held.bins is None else [held.bins.classes.tolist(), held.bins.bins.tolist()],
        [(folder, holdout, len(code)) for folder, holdout, code in codes],
    ]
    return json.dumps(head).encode() + b"\n" + b"".join(code for _, _, code in codes)


def _read(code: bytes) -> tuple[MapCounts, list[tuple[str, str, bytes]]]:
    head, _, rest = code.partition(b"\n")
    sparse, bins, listed = json.loads(head)
    cells = None
    if sparse is not None:
        side, at, numbers = sparse
        cells = np.zeros(side * side, np.int64)
        cells[at] = numbers
        cells = cells.reshape(side, side)
    out = []
    at = 0
    for folder, holdout, size in listed:
        out.append((folder, holdout, rest[at : at + size]))
        at += size
    return MapCounts(cells, None, None if bins is None else _bins(*bins)), out


def _bins(classes: list[int], bins: list[list[list[float]]]) -> ClassBins:
    return ClassBins(np.array(classes, np.int64), np.array(bins).reshape(len(classes), 3, calibration.BINS))


def state_of_maps(part: Part, stamp: str) -> str:
    """Return a text that identifies the answers of a shard: the checksum of its maps and, for a network, its
    digest, because a different one may give the same maps; if the maps were dropped, what they were made
    from.

    >>> (
    ...     state_of_maps(Part("abc", 2, ""), "net:images:rules"),
    ...     state_of_maps(Part("abc", 2, ""), "times:rules"),
    ... )
    ('abc of net:images', 'abc')
    >>> state_of_maps(Part("abc", 0, ""), "net:images:rules")
    'of net:images:rules'
    """
    if not part.rows:
        return f"of {stamp}"
    network, _, _ = stamp.rpartition(":")
    return f"{part.sha256} of {network}" if ":" in network else part.sha256


def counting_of(settings: Settings, name: str, truth: str, words: Sequence[str]) -> Counting:
    """Return what to count for a model by a truth, with some scorers."""
    model = settings.models[name]
    offsets = model.options.get("offsets", {})
    channels = len(model.labels) or len(settings.class_list)
    between = {SUBMITTED.name} if "between" in model.options else set[str]()

    def offset(word: str) -> float | None:
        return None if word in between else float(offsets.get(word, 0.0))

    # a method's word includes its digest
    asked = {plain_name(word): word for word in model.options.get("scorer", [])}
    words = [asked.get(word, word) for word in words]
    return Counting(truth, {doubt_folder(word): (word, offset(word), channels) for word in words})


class CountParts:
    """The counts of a study by one truth: finds missing parts of a model, and enters new ones."""

    def __init__(self, study: Study, truth: str) -> None:
        self._study = study
        self._settings = study.settings
        images = whole_corpus(study.corpus)
        self.judged = find_judged(study, images, truth)
        self._holdouts = study.stress.holdouts
        self._by_shard: dict[int, list[Image]] = {}
        for image in images.values():
            self._by_shard.setdefault(image.shard, []).append(image)
        self._labels: dict[int, str] = {}
        self._stored: dict[
            tuple[str, str], dict[int, list[str]]
        ] = {}  # {(model, kind): {shard: checksums of its stored scores}}

    def parents(self, shard: int) -> set[int]:
        """Return the shards that hold the parents of a shard's images; maps are compared with those of the
        parents.
        """
        held = (self.judged[image.id].parent for image in self._by_shard.get(shard, ()))
        return {parent[0] for parent in held if parent is not None}

    def lacking(self, name: str, shard: int, state: str, counting: Counting) -> list[str]:
        """Return the kinds of counts of a model's shard that are missing or stale; ``state`` identifies its
        maps (`state_of_maps`).
        """
        kinds = [MAPS, *counting.scorers]
        held = {kind: self.made(name, kind, [part_name(shard)]) for kind in kinds}
        return [
            kind
            for kind in kinds
            if (part := held[kind].get(part_name(shard))) is None
            or part.key != self.key(name, shard, kind, state, counting)
        ]

    def made(self, name: str, kind: str, only: Iterable[str] | None = None) -> dict[str, Part]:
        """Return the existing counts of one kind of a model, of all shards or only some parts."""
        where = pixel_counts.counts_folder(self._study.root, name, kind)
        return there(where, only, self._study.manifest(where))

    def uncounted(self, name: str, states: Mapping[int, str], counting: Counting) -> list[int]:
        """Return those of the shards, {number: state of their maps}, whose counts are missing or stale."""
        kinds = [MAPS, *counting.scorers]
        held = {kind: self.made(name, kind) for kind in kinds}
        return [
            shard
            for shard, state in states.items()
            if any(
                (part := held[kind].get(part_name(shard))) is None
                or part.key != self.key(name, shard, kind, state, counting)
                for kind in kinds
            )
        ]

    def counts_key(self, shard: int, counting: Counting) -> str:
        """Return a key of the inputs of a shard's counts other than the model."""
        settings = self._settings
        about = [settings.classes.counted, settings.size, self._labels_of(shard), self._holdouts_of(shard)]
        return key_of(METHOD, about, counting.truth, sorted(counting.scorers.items()))

    def enter(self, name: str, made: Iterable[tuple[int, str, Counting, CountedPart]]) -> None:
        """Enter parts of (shard, state of its maps, what was counted, part), with one write per kind."""
        self._study.reread()  # maps, and outputs stored with them, are new too
        self._stored.clear()
        new: dict[str, dict[str, Part]] = {}
        for shard, state, counting, counted in made:
            for kind, (sha, rows) in counted.parts.items():
                new.setdefault(kind, {})[part_name(shard)] = Part(
                    sha, rows, self.key(name, shard, kind, state, counting)
                )
        for kind, parts in new.items():
            where = pixel_counts.counts_folder(self._study.root, name, kind)
            write_manifest(where, read_manifest(where) | parts)

    def key(self, name: str, shard: int, kind: str, state: str, counting: Counting) -> str:
        """Return the key of the inputs of one kind of counts of a model's shard."""
        settings = self._settings
        about = [
            METHOD,
            settings.classes.counted,
            settings.size,
            meaning(settings.class_list, settings.models[name].labels),
            state,
            self._labels_of(shard),
        ]
        if kind == MAPS:
            maps = self._study.manifest(label_maps.predictions(self._study.root, name))
            parents = [
                maps[part_name(number)].sha256
                for number in sorted(self.parents(shard))
                if part_name(number) in maps
            ]
            sure = (
                []
                if state.startswith("of ")
                else [self._stored_of(name, kind_, shard) for kind_ in (MSP, "confidence")]
            )
            return key_of(about, parents, sure)
        word, *rounding = counting.scorers[kind]
        own = kind if ".py:" in word else word  # its folder contains the digest of its file
        return key_of(about, own, rounding, self._holdouts_of(shard), self._stored_of(name, kind, shard))

    def _stored_of(self, name: str, kind: str, shard: int) -> list[str]:
        """Return the checksums of a model's stored scores of one kind in a shard."""
        if (name, kind) not in self._stored:
            parts = outputs.parts_by_shard(self._study.root, name, kind, self._study.manifest)
            self._stored[name, kind] = {
                number: [entry.sha256 for _, entry in held] for number, held in parts.items()
            }
        return self._stored[name, kind].get(shard, [])

    def _holdouts_of(self, shard: int) -> dict[str, list[str]]:
        """Return the holdouts that a shard's counts depend on: all of the study's if the shard has collected
        images, labels or anomaly labels.
        """
        some = [(image, self.judged[image.id]) for image in self._by_shard.get(shard, ())]
        judged = any(not image.parent or of.semantic or of.anomaly for image, of in some)
        return {name: list(words) for name, words in self._holdouts.items()} if judged else {}

    def _labels_of(self, shard: int) -> str:
        """Return a digest of the labels of a shard's images."""
        if shard not in self._labels:
            rows = self._by_shard.get(shard, [])
            ids = sorted((image.id, image.parent) for image in rows)
            judged = (self.judged[image.id] for image in rows)
            self._labels[shard] = key_of(list(made_from(self._study, judged)), ids)
        return self._labels[shard]
