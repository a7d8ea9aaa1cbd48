"""All images of a study as columns: what the corpus, the labels, the discards, the selections and the tags
contain for each.

Conventions: an image is its position in the corpus, 0..I-1; text that many images share is stored as a code
into a list. Nothing here opens an image or a label map. An image has a tag if a person gave it to the image,
to a region of it, or to a model's prediction for either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faultscape.errors import StudyError
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, duplicates_column, images_of

_MOST_TAGS = 200


@dataclass(frozen=True, eq=False)
class Words:
    """One text per image: ``codes`` (I,) into ``words``, which are sorted."""

    codes: np.ndarray
    words: tuple[str, ...]

    def is_(self, word: str) -> np.ndarray:
        """Return (I,) whether an image has a text."""
        return self.codes == self.words.index(word) if word in self.words else np.zeros(len(self.codes), bool)

    def at(self, place: int) -> str:
        """Return the text of an image."""
        return self.words[self.codes[place]]


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known about I images without opening one: ``labelled`` {truth: (I,)}, ``chosen`` {selection:
    (I,)} as it counts now, ``tags`` {tag: (I,)}, ``reasons`` of discards by position, ``alike`` (I,) the
    position of the image of which each is a near-duplicate, its own where there is no other.
    """

    root: Path
    table: pa.Table
    ids: pa.ChunkedArray
    words: Mapping[str, Words]  # set, role, condition, group
    widths: np.ndarray
    heights: np.ndarray
    shards: np.ndarray
    alike: np.ndarray
    labelled: Mapping[str, np.ndarray] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    chosen: Mapping[str, np.ndarray] = field(default_factory=dict)
    tags: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shards)

    def id_at(self, place: int) -> str:
        """Return the id of an image."""
        return self.ids[place].as_py()

    def ids_at(self, places: np.ndarray) -> list[str]:
        """Return the ids of images, in the order of their positions."""
        return self.ids.take(pa.array(places)).to_pylist() if len(places) else []

    def image(self, place: int) -> Image:
        """Return the row of an image."""
        return images_of(self.table.slice(place, 1), self.root)[0]

    def digest(self, place: int) -> str:
        """Return the digest of an image."""
        return self.table["digest"][place].as_py()

    def each_shard(self) -> Iterable[tuple[slice, list[Image]]]:
        """Yield the positions and the images of every shard."""
        starts = (
            np.flatnonzero(np.r_[True, self.shards[1:] != self.shards[:-1]]).tolist() if len(self) else []
        )
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            yield slice(start, end), images_of(self.table.slice(start, end - start), self.root)

    def place_of(self, id_: str) -> np.ndarray:
        """Return the position of an image; empty if the study does not have it."""
        return np.flatnonzero(self.among([id_]))

    def among(self, ids: Iterable[str]) -> np.ndarray:
        """Return (I,) whether the id of an image is among some."""
        wanted = pa.array(list(ids), pa.string())
        return pc.call_function("is_in", [self.ids], pc.SetLookupOptions(value_set=wanted)).to_numpy()


def read_all(study: Study) -> Columns:
    """Return what is known about every image of a study now; StudyError if it has none, or one of its files
    is damaged.
    """
    root = study.root
    if not (root / "corpus.parquet").exists():
        raise StudyError(f"{root} has no images; run `faultscape collect {root} IMAGES` first")
    table = study.corpus.whole
    grouped = duplicates_column(table.column_names) != "group"  # else near-duplicates of earlier versions
    words = {
        name: _words(table[name]) for name in ("set", "role", "condition", *(["group"] if grouped else []))
    }
    none = Words(np.zeros(len(table), np.int32), ("",))
    numbers = [table[name].to_numpy() for name in ("width", "height", "shard")]
    bare_ = Columns(root, table, table["id"], {"group": none} | words, *numbers, alike=_alike(table))
    discards = study.discarded
    places = np.flatnonzero(bare_.among(discards)) if discards else np.zeros(0, np.int64)
    reasons = {place: discards[id_] for place, id_ in zip(places.tolist(), bare_.ids_at(places), strict=True)}
    return replace(
        bare_,
        labelled={truth: bare_.among(_labelled(study, truth)) for truth in study.truths},
        reasons=reasons,
        chosen={name: bare_.among(made.now.images) for name, made in study.selections.items()},
        tags={tag: bare_.among(ids) for tag, ids in _tags(study).items()},
    )


def _tags(study: Study) -> dict[str, list[str]]:
    """Return {tag: ids of images} of the tags that people gave, in alphabetical order; if there are more than
    200, those with the most images.
    """
    found: dict[str, set[str]] = {}
    for one in study.tags:
        found.setdefault(one.tag, set()).add(one.image)
    most = sorted(found, key=lambda tag: (-len(found[tag]), tag))[:_MOST_TAGS]
    return {tag: sorted(found[tag]) for tag in sorted(most)}


def _labelled(study: Study, truth: str) -> set[str]:
    """Return the ids of images that have a label of a truth, or an answer."""
    where = label_maps.truth(study.root, truth)
    out = {
        id_
        for name, part in study.manifest(where).items()
        for id_ in label_maps.read_ids(where, int(name), part)
    }
    return out | ({row[0] for row in study.answers.answers(truth)} if study.classifies else set())


def _alike(table: pa.Table) -> np.ndarray:
    """Return (I,) the position of the image of which each is a near-duplicate, or its own."""
    first = table[duplicates_column(table.column_names)]
    found = pc.call_function("index_in", [first], pc.SetLookupOptions(value_set=table["id"].combine_chunks()))
    own = pa.array(np.arange(len(table), dtype=np.int32))
    return pc.call_function("coalesce", [found, own]).to_numpy()


def _words(column: pa.ChunkedArray) -> Words:
    """Return a column of texts as codes into its sorted texts."""
    found = column.combine_chunks().dictionary_encode()
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    held = found.dictionary.to_pylist()
    order = sorted(range(len(held)), key=held.__getitem__)
    rank = np.empty(len(held), np.int32)
    rank[order] = np.arange(len(held))
    return Words(rank[found.indices.to_numpy()], tuple(held[k] for k in order))
