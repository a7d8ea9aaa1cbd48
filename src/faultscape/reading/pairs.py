"""Pair parts of a study: which should exist, how a shard is counted, and how it is read as Pairs.

Conventions: `wanted` depends only on the manifests, so missing and stale parts are found without reading a
map. Counting and reading handle one shard at a time; nothing here ever holds more.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import allowed, meaning, table
from faultscape.comparison import combinations, counts, sparse_counts
from faultscape.errors import ClassesError, StudyError
from faultscape.nouns import Definition, Pairs
from faultscape.reading.instances.shard_segments import ShardSegments
from faultscape.reading.maps import ShardMaps, StoredMaps
from faultscape.study.parts import Part, key_of, there
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables import pairs as pair_table
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.pairs import PairPart
from faultscape.study.tables.pool import pool_digest

if TYPE_CHECKING:
    from faultscape.reading.study import Study


def wanted(study: Study, shards: Sequence[int], truths: Sequence[str]) -> list[PairPart]:
    """Return every pair part that the study's maps require, with the key it should have. Sets made by
    `stress` require none.
    """
    root = study.root
    settings = study.settings
    models = list(study.models)
    manifests = {name: study.manifest(label_maps.predictions(root, name)) for name in models}
    truth_parts = {name: study.manifest(label_maps.truth(root, name)) for name in truths}
    about = [settings.classes.counted, settings.size, settings.cells]
    labels = {name: meaning(study.classes, settings.models[name].labels) for name in models}
    parts = list[PairPart]()
    for shard in [shard for shard in shards if shard not in study.corpus.aside]:
        number = part_name(shard)
        made = {
            name: (manifests[name][number].sha256 if number in manifests[name] else None, labels[name])
            for name in models
        }
        for place, name in enumerate(models):
            if made[name][0] is None:
                continue
            before = tuple(other for other in models[:place] if made[other][0] is not None)
            parts.append(
                PairPart(name, shard, before, None, key_of(about, made[name], [(b, made[b]) for b in before]))
            )
            for truth in truths:
                if number in truth_parts[truth]:
                    key = key_of(about, made[name], truth, truth_parts[truth][number].sha256)
                    parts.append(PairPart(name, shard, (truth,), truth, key))
    return parts


def missing(study: Study, parts: Sequence[PairPart]) -> list[PairPart]:
    """Return the parts that do not exist or are stale."""
    asked: dict[str, list[str]] = {}
    for part in parts:
        asked.setdefault(part.name, []).append(part.part)
    # avoids listing a folder of thousands of parts
    one = len({part.shard for part in parts}) == 1
    folders = {name: pair_table.folder(study.root, name) for name in asked}
    held = {
        name: there(folder, asked[name] if one else None, study.manifest(folder))
        for name, folder in folders.items()
    }
    return [p for p in parts if (entry := held[p.name].get(p.part)) is None or entry.key != p.key]


def corpus_key(study: Study, models: Sequence[str]) -> str:
    """Return a key of everything that a selection over these models is drawn from, without the images that
    trained any of them.
    """
    settings = study.settings
    aside = {part_name(shard) for shard in study.corpus.aside}
    held = [sorted(study.manifest(label_maps.predictions(study.root, model)).items()) for model in models]
    parts = [[(name, part.sha256) for name, part in of_model if name not in aside] for of_model in held]
    labels = [meaning(study.classes, settings.models[m].labels) for m in models]
    about = settings.classes.counted
    trained = [sorted(study.trained_on(model)) for model in models]
    also = [trained] if any(trained) else []
    return key_of(pool_digest(study.corpus), list(models), parts, labels, about, settings.size, *also)


def count_shard(
    root: Path,
    settings: Settings,
    images: Sequence[Image],
    parts: Sequence[PairPart],
    maps: Mapping[str, str],
    truth_maps: Mapping[str, str],
    tick: Callable[[int], None],
    begin: Callable[[str], None],
) -> dict[tuple[str, str], Part]:
    """Count and write the missing ``parts`` of one shard in one pass over its images, calling ``begin`` with
    each; return their manifest entries by (NAME, part).

    ``maps`` are the checksums of the models' parts of maps, ``truth_maps`` those of the truths'.
    """
    classes = settings.class_list
    n = len(classes) + 1
    shard = parts[0].shard
    models = [name for name in settings.models if name in maps]
    truths = sorted(truth_maps)
    labels = {m: settings.models[m].labels for m in models}
    for m in models:
        try:
            table(classes, labels[m])
        except ClassesError as error:
            raise StudyError(
                f"{m}: {error} Run `faultscape predict {shlex.quote(str(root))}"
                f" {shlex.quote(f'{m}={settings.models[m].source}')} --labels FILE`"
                " with a mapping to today's classes"
            ) from None
    sources = [
        StoredMaps(
            label_maps.predictions(root, m),
            shard,
            table(classes, labels[m]),
            allowed(classes, labels[m]),
            maps[m],
        )
        for m in models
    ]
    sources += [
        StoredMaps(label_maps.truth(root, t), shard, table(classes), allowed(classes), truth_maps[t])
        for t in truths
    ]
    thin = [part for part in parts if part.truth is None and settings.cells == "diagonal"]
    whole = [part for part in parts if part not in thin]
    about_whole = _spans(whole, models, truths)
    about_thin = _spans(thin, models, truths)
    rows: dict[PairPart, list[tuple[str, bytes]]] = {part: [] for part in parts}
    for image in images:
        begin(image.id)
        size = settings.working_size or (image.width, image.height)
        stack = [source.read(image.id, size) for source in sources]
        for part, code in chain(
            _cells(*about_whole, models, stack, n, image.id),
            _intersections(*about_thin, models, stack, n, image.id),
        ):
            rows[part].append((image.id, code))
        tick(1)
    made = {}
    for part in parts:
        ids = [r[0] for r in rows[part]]
        codes = [r[1] for r in rows[part]]
        sha = pair_table.put_counts(pair_table.folder(root, part.name), part, ids, codes)
        made[part.name, part.part] = Part(sha, len(ids), part.key)
    return made


def read_block(
    study: Study,
    images: Sequence[Image],
    models: Sequence[str],
    truths: Sequence[str] = (),
) -> Pairs:
    """Return the counts of one shard's images, those that trained a model as if it had no map of them;
    StudyError if a part is missing (verbs make them first).
    """
    classes = study.classes
    shard = images[0].shard
    n = len(classes) + 1
    place = {image.id: k for k, image in enumerate(images)}
    pairs = counts.pair_places(len(models), len(truths))
    names = [*models, *truths]
    where = {(names[a], names[b]): p for p, (a, b) in enumerate(pairs.tolist())}
    shape = (len(pairs), len(images))
    both = np.zeros((*shape, n - 1), np.int64)
    rows = np.zeros((*shape, n), np.int64)
    columns = np.zeros((*shape, n), np.int64)
    present = np.zeros(shape, bool)
    totals = np.zeros((len(models), len(images), n), np.int64)
    wanted_parts = {(p.name, p.part): p for p in wanted(study, [shard], truths)}
    for (name, _), part in wanted_parts.items():
        if name not in models:
            continue
        folder = pair_table.folder(study.root, name)
        entry = study.manifest(folder).get(part.part)
        if entry is None or entry.key != part.key:
            raise StudyError(f"pairs of {name} are missing or stale; run `faultscape compare {study.place}`")
        ids, packed = pair_table.read_counts(folder, part, entry)
        # other images of the shard left the corpus, or were not requested
        mine = np.array([i in place for i in ids], bool)
        at = np.array([place[i] for i in ids if i in place], np.int64)
        b, r, c, t, has = sparse_counts.unpack(packed, len(part.others), n)
        if not mine.all():
            b = b[:, mine]
            r = r[:, mine]
            c = c[:, mine]
            t = t[mine]
            has = has[:, mine]
        if part.truth is None:
            totals[models.index(name), at] = t
        for q, other in enumerate(part.others):
            if (p := where.get((other, name))) is None:
                if (p := where.get((name, other))) is None:
                    continue  # a model that was not requested
                both[p, at], rows[p, at], columns[p, at], present[p, at] = b[q][:, :-1], c[q], r[q], has[q]
            else:
                both[p, at], rows[p, at], columns[p, at], present[p, at] = b[q][:, :-1], r[q], c[q], has[q]
    if study.settings.cells == "diagonal":  # the other side's marginals are then its own histogram
        for p, (a, b) in enumerate(pairs.tolist()):
            if a < len(models):
                rows[p] = np.where(present[p][:, None], totals[a], 0)
                columns[p] = np.where(present[p][:, None], totals[b], 0)
    for k, model in enumerate(models):
        void = np.array([place[id_] for id_ in study.trained_on(model) if id_ in place], np.int64)
        for counted in (both, rows, columns, present):
            counted[np.ix_((pairs == k).any(1), void)] = 0
        totals[k, void] = 0
    return Pairs(
        classes,
        tuple(models),
        tuple(truths),
        tuple(image.id for image in images),
        pairs,
        both,
        rows,
        columns,
        totals,
        present,
    )


def read_on_maps(
    study: Study, images: Sequence[Image], models: Sequence[str], define: Definition
) -> dict[str, np.ndarray]:
    """Return {measure: (J, J, I)} of one shard's images, of the measures of a definition that are made from
    the maps themselves.
    """
    names = combinations.measures(combinations.spelt(define))
    classes = study.classes
    found: dict[str, list[np.ndarray]] = {}
    if combinations.REGIONS in names:
        maps = ShardMaps(study, models, "", images)
        found[combinations.REGIONS] = [
            combinations.of_regions([maps.of(m, image.id) for m in models], classes) for image in images
        ]
    if combinations.PQ in names:
        segments = ShardSegments(study, models, "", images)
        found[combinations.PQ] = [
            combinations.of_segments([segments.of(m, image.id) for m in models], classes) for image in images
        ]
    return {name: np.stack(values, axis=-1) for name, values in found.items()}


class PairCounts:
    """Where the models of a study disagree with each other and with truths, as `compare` counted it."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def block(self, shard: int, models: Sequence[str] = (), truths: Sequence[str] = ()) -> Pairs:
        """Return the counts of one shard's images between some models, all by default, and against some
        truths; StudyError if a part is missing.
        """
        study = self._study
        return read_block(study, study.corpus.shard(shard), models or study.models, truths)


_Spans = list[tuple[PairPart, slice]]


def _spans(parts: Sequence[PairPart], models: list[str], truths: list[str]) -> tuple[_Spans, np.ndarray]:
    """Return the range of pairs that belongs to each part, and the (P, 2) indices of all pairs into
    the maps.
    """
    pairs = [
        (
            len(models) + truths.index(part.truth) if part.truth is not None else models.index(other),
            models.index(part.name),
        )
        for part in parts
        for other in part.others
    ]
    ends = np.cumsum([0, *(len(part.others) for part in parts)]).tolist()
    spans = [slice(*span) for span in pairwise(ends)]
    return list(zip(parts, spans, strict=True)), np.array(pairs, np.int64).reshape(-1, 2)


def _cells(
    spans: _Spans, pairs: np.ndarray, models: list[str], stack: list[np.ndarray | None], n: int, image: str
) -> Iterator[tuple[PairPart, bytes]]:
    """Yield the encoded confusion matrices of each part for an image; void pixels of a truth never change a
    metric and are dropped.
    """
    if not spans:
        return
    cells, totals, present = counts.count_image(stack, n, pairs, len(models), image)
    cells[pairs[:, 0] >= len(models), -1] = 0
    for part, span in spans:
        model = models.index(part.name)
        if stack[model] is None or (part.truth is not None and not present[span].any()):
            continue
        yield (
            part,
            sparse_counts.pack(
                cells[span], present[span], totals[model] if part.truth is None else cells[span][0].sum(0)
            ),
        )


def _intersections(
    spans: _Spans, pairs: np.ndarray, models: list[str], stack: list[np.ndarray | None], n: int, image: str
) -> Iterator[tuple[PairPart, bytes]]:
    """Yield the encoded intersections of each part for an image."""
    if not spans:
        return
    both, totals, present = counts.intersect_image(stack[: len(models)], n, pairs, len(models), image)
    for part, span in spans:
        model = models.index(part.name)
        if stack[model] is not None:
            yield part, sparse_counts.pack_diagonal(both[span], totals[model], present[span])
