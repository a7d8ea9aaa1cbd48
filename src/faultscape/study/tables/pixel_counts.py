"""reliability/counts/MODEL/KIND: pixel counts of each image: by true and predicted class (kind ``maps``), and
by score (one kind per scorer, ``doubt-msp``); one part per shard.

Conventions: ``maps`` has one row per image: id, the confusion matrix with labels (row = truth, places 0..C, C
= void) and that with the model's own map of the image it was made from, both sparse (place and value of each
non-zero cell; null if there is nothing to compare with), and, for each true class that occurs, pixels,
correct pixels and summed confidence of each bin of equal width (null without confidence). A scorer's parts
have one row per image and holdout ('' for none): the code of its counts (metrics.scores.grouped_counts). The
manifest's key identifies what a part was made from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from faultscape.study.folder import check_name
from faultscape.study.parts import ManifestReader, Part, put_part, read_manifest, read_part
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

MAPS = "maps"
_GROUP = 1024
_LISTS = {"bin_count": pa.int64(), "bin_right": pa.int64(), "bin_confidence": pa.float64()}


@dataclass(frozen=True, eq=False)
class ClassBins:
    """Calibration bins (K, 3, B) of the K true ``classes`` (K,) that an image has: pixels, right pixels and
    summed confidence.
    """

    classes: np.ndarray
    bins: np.ndarray

    def without(self, withheld: np.ndarray | None) -> np.ndarray:
        """Return the bins (3, B) of all pixels but those of ``withheld`` classes (C,)."""
        return (self.bins if withheld is None else self.bins[~withheld[self.classes]]).sum(0)


@dataclass(frozen=True, eq=False)
class MapCounts:
    """The counts of one image's map: (C + 1, C + 1) cells against its labels and against the map of its
    parent, and calibration bins; None if there is nothing to count.
    """

    cells: np.ndarray | None = None
    agreement: np.ndarray | None = None
    bins: ClassBins | None = None


def counts_folder(root: Path, name: str, kind: str) -> Path:
    """Return the folder of a kind of a model's counts."""
    return root / "reliability" / "counts" / check_name(name) / kind


def dropped(
    root: Path,
    name: str,
    shards: Collection[int] | None = None,
    manifest: ManifestReader = read_manifest,
) -> int:
    """Return the number of images, of all or some shards, whose maps were counted but not kept."""
    maps = manifest(label_maps.predictions(root, name))
    wanted = maps.keys() if shards is None else maps.keys() & set(map(part_name, shards))
    counts = manifest(counts_folder(root, name, MAPS))
    return sum(part.rows for number, part in counts.items() if number in wanted and not maps[number].rows)


def put_map_counts(where: Path, shard: int, rows: Mapping[str, MapCounts]) -> str:
    """Write one shard's counts of maps, and return the checksum."""
    columns: dict[str, pa.Array] = {"id": pa.array(list(rows), pa.string())}
    for name in ("cells", "agreement"):
        held = [getattr(row, name) for row in rows.values()]
        at = [None if cells is None else np.flatnonzero(cells) for cells in held]
        columns[f"{name}_at"] = pa.array(at, pa.list_(pa.int32()))
        columns[name] = pa.array(
            [
                None if cells is None else cells.ravel()[where_]
                for cells, where_ in zip(held, at, strict=True)
            ],
            pa.list_(pa.int64()),
        )
    of_classes = [None if row.bins is None else row.bins.classes for row in rows.values()]
    columns["bin_class"] = pa.array(of_classes, pa.list_(pa.int32()))
    for number, (name, kind) in enumerate(_LISTS.items()):
        values = [
            None if row.bins is None else row.bins.bins[:, number].ravel().astype(kind.to_pandas_dtype())
            for row in rows.values()
        ]
        columns[name] = pa.array(values, pa.list_(kind))
    return put_part(where, part_name(shard), pa.table(columns), compression="zstd", group=_GROUP)


def read_map_counts(
    where: Path, classes: int, parts: Mapping[str, Part] | None = None
) -> dict[str, MapCounts]:
    """Return {image id: counts} of all parts that count, or of some; ``classes`` is C."""
    out: dict[str, MapCounts] = {}
    for name, part in sorted((read_manifest(where) if parts is None else parts).items()):
        table = read_part(where, name, part).to_pydict()
        for k, id_ in enumerate(table["id"]):
            cells, agreement = (
                _dense(table[f"{of}_at"][k], table[of][k], classes + 1) for of in ("cells", "agreement")
            )
            bins = _bins(table["bin_class"][k], [table[of][k] for of in _LISTS])
            out[id_] = MapCounts(cells, agreement, bins)
    return out


def _dense(at: list[int] | None, numbers: list[int] | None, side: int) -> np.ndarray | None:
    if at is None or numbers is None:
        return None
    cells = np.zeros(side * side, np.int64)
    cells[at] = numbers
    return cells.reshape(side, side)


def _bins(classes: list[int] | None, numbers: list[list[float]]) -> ClassBins | None:
    if classes is None:
        return None
    held = np.array(numbers, float).reshape(len(_LISTS), len(classes), -1)
    return ClassBins(np.array(classes, np.int64), held.swapaxes(0, 1))


def put_score_counts(where: Path, shard: int, rows: Sequence[tuple[str, str, bytes]]) -> str:
    """Write one shard's counts of a scorer, (image id, holdout, code), and return the checksum."""
    ids, holdouts, codes = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "holdout": pa.array(holdouts, pa.string()),
            "code": pa.array(codes, pa.large_binary()),
        }
    )
    return put_part(where, part_name(shard), table, compression="zstd", group=64)


def read_score_counts(where: Path, part: str, entry: Part) -> list[tuple[str, str, bytes]]:
    """Return the (image id, holdout, code) of one part."""
    table = read_part(where, part, entry).to_pydict()
    return list(zip(table["id"], table["holdout"], table["code"], strict=True))
