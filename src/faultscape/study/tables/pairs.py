"""pairs/NAME: packed sparse counts of NAME against every earlier model, and against each truth; one part per
shard.

Conventions: part ``SHARD.models`` holds the earlier models, ``SHARD.truth-T`` one truth; one row per image
that has a map of NAME (and of T): id and ``counts`` (see comparison.sparse_counts; row = the other, column =
NAME). J folders, not J^2. The manifest's key identifies the maps, classes and size that a part was made from,
so a stale part is detected without reading it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from faultscape.study.folder import check_name
from faultscape.study.parts import Part, put_part, read_part
from faultscape.study.tables.corpus import part_name

_GROUP = 1024  # counts are read a shard at a time, and larger groups compress better


@dataclass(frozen=True)
class PairPart:
    """One part that a study should have: NAME against ``others`` (models, or one truth) in a shard."""

    name: str
    shard: int
    others: tuple[str, ...]
    truth: str | None
    key: str

    @property
    def part(self) -> str:
        """The part's name in the manifest of pairs/NAME."""
        return f"{part_name(self.shard)}.{'models' if self.truth is None else f'truth-{self.truth}'}"


def folder(root: Path, name: str) -> Path:
    """Return the folder of a model's pairs."""
    return root / "pairs" / check_name(name)


def put_counts(where: Path, part: PairPart, ids: list[str], counts: list[bytes]) -> str:
    """Write one part and return its checksum."""
    table = pa.table({"id": pa.array(ids, pa.string()), "counts": pa.array(counts, pa.binary())})
    return put_part(where, part.part, table, compression="zstd", group=_GROUP)


def read_counts(where: Path, part: PairPart, entry: Part) -> tuple[list[str], pa.BinaryArray]:
    """Return the ids and the packed counts of a part."""
    table = read_part(where, part.part, entry)
    column = table["counts"].combine_chunks()
    return table["id"].to_pylist(), column.chunk(0) if hasattr(column, "chunk") else column
