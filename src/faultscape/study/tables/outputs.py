"""predictions/NAME/KIND: outputs of a model kept besides its labels (confidence, probabilities, logits,
embeddings), several parts per shard.

Conventions: one row per image that has a label map: id and one code per array (maps.array_codes). Parts of a
shard are named ``SHARD.NUMBER`` and hold about 64 MB each, which limits memory when writing and reading.
Their key is the checksum of the label part they were made with: with other labels they do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faultscape.maps import array_codes
from faultscape.study.part_folders import made
from faultscape.study.parts import (
    ManifestReader,
    Part,
    put_part,
    read_manifest,
    read_part,
    read_small,
    there,
)
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.label_maps import predictions

_AT_ONCE = 64 << 20  # bytes of a part
_COLUMNS = ("values", "classes")


@dataclass(frozen=True)
class KeptPart:
    """A part that was written but does not count yet: its name, checksum and rows."""

    part: str
    sha256: str
    rows: int


class Chunks:
    """Writes one kind of output of one shard, part by part, as rows come in corpus order."""

    def __init__(self, folder: Path, shard: int) -> None:
        self._folder = folder
        self._shard = shard
        self._rows: list[tuple[str, tuple[bytes, ...]]] = []
        self._held = 0
        self.parts: list[KeptPart] = []

    def add(self, id_: str, codes: tuple[bytes, ...]) -> None:
        """Add an image's codes."""
        self._rows.append((id_, codes))
        self._held += sum(map(len, codes))
        if self._held >= _AT_ONCE:
            self._put()

    def finish(self) -> list[KeptPart]:
        """Write the remaining rows and return the parts, at least one, as JSON."""
        if self._rows or not self.parts:
            self._put()
        return self.parts

    def _put(self) -> None:
        count = max((len(codes) for _, codes in self._rows), default=1)
        columns: dict[str, Any] = {"id": pa.array([id_ for id_, _ in self._rows], pa.string())}
        for place in range(count):
            columns[_COLUMNS[place]] = pa.array([codes[place] for _, codes in self._rows], pa.large_binary())
        name = f"{part_name(self._shard)}.{len(self.parts):03d}"
        sha = put_part(self._folder, name, pa.table(columns), group=8)
        self.parts.append(KeptPart(name, sha, len(self._rows)))
        self._rows = []
        self._held = 0


def complete(folder: Path) -> dict[str, str]:
    """Return {name of a shard: checksum of the label part that its parts were made with} for one kind, for
    shards with no missing part.
    """
    named = read_manifest(folder)
    held = there(folder)
    lost = {name.partition(".")[0] for name in named if name not in held}
    return {shard: part.key for name, part in held.items() if (shard := name.partition(".")[0]) not in lost}


def of_shard(manifest: dict[str, Part], shard: int, labels: str) -> list[KeptPart]:
    """Return the parts of a shard that were made with the label part of this checksum, as `Chunks` returns
    them.
    """
    mine = {
        name: part
        for name, part in manifest.items()
        if name.startswith(f"{part_name(shard)}.") and part.key == labels
    }
    return [KeptPart(name, part.sha256, part.rows) for name, part in mine.items()]


def with_shard(manifest: dict[str, Part], shard: int, labels: str, parts: list[KeptPart]) -> dict[str, Part]:
    """Return a manifest with these parts of a shard instead of its own."""
    others = {name: part for name, part in manifest.items() if not name.startswith(f"{part_name(shard)}.")}
    return others | {p.part: Part(p.sha256, p.rows, labels) for p in parts}


def kinds(root: Path, name: str, manifest: ManifestReader = read_manifest) -> list[str]:
    """Return the kept kinds of output of a model, sorted: confidence, probabilities, logits,
    embedding-LAYER.
    """
    here = predictions(root, name)
    return sorted(path.name for path in made(root, "predictions") if path.parent == here and manifest(path))


def ids(root: Path, name: str, kind: str, parts: Iterable[tuple[str, Part]]) -> list[str]:
    """Return the images that some parts of a kind hold."""
    folder = predictions(root, name) / kind
    return [id_ for part, entry in parts for id_ in read_small(folder, part, entry, ["id"])["id"].to_pylist()]


def read_kept(root: Path, name: str, kind: str, shard: int) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield (image id, array_codes) of a shard in corpus order; nothing if the kind was not kept, or was made
    with other labels than the model's current ones.
    """
    yield from read_parts(predictions(root, name) / kind, parts_by_shard(root, name, kind).get(shard, []))


def read_parts(
    folder: Path, parts: Iterable[tuple[str, Part]]
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield (image id, array_codes) of some parts of a kind."""
    for part, entry in parts:
        table = read_part(folder, part, entry)
        for k, id_ in enumerate(table["id"].to_pylist()):
            yield (
                id_,
                tuple(array_codes.decode(table[column][k].as_py()) for column in table.column_names[1:]),
            )


def read_some(
    root: Path,
    name: str,
    kind: str,
    shard: int,
    images: Collection[str],
    manifest: ManifestReader = read_manifest,
) -> dict[str, tuple[np.ndarray, ...]]:
    """Return {image id: array_codes} for some images of a shard, as `read_kept`, reading only parts that hold
    one of them and decoding no other images.
    """
    folder = predictions(root, name) / kind
    out = dict[str, tuple[np.ndarray, ...]]()
    for part, entry in parts_by_shard(root, name, kind, manifest).get(shard, []):
        here = read_small(folder, part, entry, ["id"])["id"].to_pylist()
        wanted = [(k, id_) for k, id_ in enumerate(here) if id_ in images]
        if wanted:
            table = read_part(folder, part, entry)
            for k, id_ in wanted:
                out[id_] = tuple(
                    array_codes.decode(table[column][k].as_py()) for column in table.column_names[1:]
                )
    return out


def parts_by_shard(
    root: Path, name: str, kind: str, manifest: ManifestReader = read_manifest
) -> dict[int, list[tuple[str, Part]]]:
    """Return {shard: its parts of a kind that belong to the model's current labels, in order}."""
    labels = manifest(predictions(root, name))
    out = {}
    for part, entry in sorted(manifest(predictions(root, name) / kind).items()):
        number = part.partition(".")[0]
        if number in labels and entry.key == labels[number].sha256:
            out.setdefault(int(number), []).append((part, entry))
    return out
