"""predictions/NAME and truth/NAME: label maps as runs, in the model's own labels, one part per shard.

Conventions: one row per image that has a map: id, ``runs`` (see maps.runs; its head holds the map's own size;
for a classifier, its answer: see maps.class_answers) and, if the corpus knows an image only by its store's
tag, ``photo``: SHA-256 of the bytes it was made from; ``instances`` (see maps.instances), with classes in the
same labels, where the source had them. A missing or unusable map has no row but a failure in
the manifest. Withdrawn or replaced labels are kept in truth/NAME/removed for people, and never read. The maps
of a network, or a program, depend on the images and the working size, which their key identifies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from faultscape.errors import StudyError
from faultscape.study.folder import check_name
from faultscape.study.json_text import read_object
from faultscape.study.part_folders import made
from faultscape.study.parts import (
    ROWS_IN_GROUP,
    ManifestReader,
    Part,
    key_of,
    put_part,
    read_cell,
    read_manifest,
    read_part,
    read_small,
    write_manifest,
)
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image, part_name

_SMALL = 2048  # bytes of a code: a classifier's answer is never longer, and a shard of these is read at once


OTHER_KINDS = ("anomaly", "instance")  # of truths that are not about classes
TAKEN_BACK = "removed"  # the folder of a truth's labels that no longer count


@dataclass(frozen=True)
class StoredMap:
    """One stored label map."""

    id: str
    runs: bytes
    photo: str | None = None
    instances: bytes | None = None


def predictions(root: Path, name: str) -> Path:
    """Return the folder of a model's maps."""
    return root / "predictions" / check_name(name)


def truth(root: Path, name: str) -> Path:
    """Return the folder of a truth's maps."""
    return root / "truth" / check_name(name, "truth")


def truths(root: Path, manifest: ManifestReader = read_manifest) -> list[str]:
    """Return the names of the class truths that hold something, sorted, without labels of anomaly and
    instances.
    """
    folders = made(root, "truth")
    return sorted(folder.name for folder in folders if _kind(folder, manifest) not in (None, *OTHER_KINDS))


def anomaly_truths(root: Path) -> list[str]:
    """Return the names of the anomaly truths (0 known, 1 anomalous, 255 void), sorted."""
    return sorted(folder.name for folder in made(root, "truth") if _kind(folder, read_manifest) == "anomaly")


def _kind(folder: Path, manifest: ManifestReader) -> str | None:
    """Return the kind of a truth's labels, from its first part: '' if its manifest is damaged, which its
    reader reports, None if it has no part.
    """
    try:
        return next((part.key for part in manifest(folder).values()), None)
    except StudyError:
        return ""


def photos_key(size: str, images: Sequence[Image]) -> str:
    """Return the key of a part that a network made from these images at this working size."""
    return digests_key(size, [(image.id, image.digest) for image in images])


def digests_key(size: str, images: Sequence[tuple[str, str]]) -> str:
    """Return the key of `photos_key` for images that are known only by (id, digest)."""
    return key_of(size, images)


def classes_key(settings: Settings) -> str:
    """Return the beginning of the key of a part whose words became ids of these classes."""
    return key_of(settings.classes.first_names or settings.classes.names, settings.classes.ids)[:16]


def stamps_of(where: Path) -> dict[str, str]:
    """Return what each shard of a model was made from (prediction.stamps); not covered by the laws, since it
    holds times of files.
    """
    try:
        return {
            name: stamp
            for name, stamp in read_object((where / ".stamps.json").read_bytes()).items()
            if isinstance(stamp, str)
        }
    except (OSError, ValueError):
        return {}


def outdated(
    root: Path,
    settings: Settings,
    shards: Iterable[tuple[int, Sequence[tuple[str, str]]]],
    manifest: ManifestReader = read_manifest,
) -> list[str]:
    """Return the networks with maps that were made at another working size, from images that changed since,
    by another network than the rest, or without the temperature that was fitted since.

    ``shards`` are (number, (id, digest) of its images), as `corpus.each_digest` yields them. For tables:
    those whose words became ids of other classes than the current ones.
    """
    parts_of = {name: manifest(predictions(root, name)) for name in settings.models}
    networks = {
        name: parts for name, parts in parts_of.items() if any(_of_photos(part) for part in parts.values())
    }
    old = [name for name, parts in parts_of.items() if of_other_classes(settings, parts.values())]
    for name, parts in networks.items():  # jobs of an array read the file separately
        made_by = _made_by(root, name, parts)
        if len(made_by) > 1 or made_by & _without_temperature(root, name):
            old.append(name)
    for shard, images in shards if networks else ():
        key = digests_key(settings.size, images)
        part = part_name(shard)
        old += [name for name, made in networks.items() if part in made and made[part].key != key]
    return [name for name in settings.models if name in old]


def lacks_temperature(root: Path, name: str, manifest: ManifestReader = read_manifest) -> bool:
    """Return whether some maps of a network were made before its temperature was fitted."""
    return bool(_made_by(root, name, manifest(predictions(root, name))) & _without_temperature(root, name))


def _made_by(root: Path, name: str, parts: Iterable[str]) -> set[str]:
    """Return the networks that made these parts, as stamps identify them."""
    stamps = stamps_of(predictions(root, name))
    return {stamps[part].split(":")[0] for part in parts if stamps.get(part, "").count(":") == 2}


def _without_temperature(root: Path, name: str) -> set[str]:
    """Return the networks, as stamps identify them, whose maps predate the fitted temperature."""
    try:
        held = read_object((root / "methods" / name / "temperature.json").read_bytes()).get("maps_without_it")
    except (OSError, ValueError, StudyError):
        return set()
    return {str(word) for word in held} if isinstance(held, list) else set()


def of_other_classes(settings: Settings, parts: Iterable[Part]) -> bool:
    """Return whether some of these parts hold words that became ids of other classes than the current
    ones.
    """
    today = classes_key(settings)
    return any(_of_words(part) and not part.key.startswith(today) for part in parts)


def _of_words(part: Part) -> bool:
    return ":" in part.key


def _of_photos(part: Part) -> bool:
    """Return whether a part's key identifies its images; that of maps that came as files does not."""
    return bool(part.key) and not _of_words(part)


def table_of(maps: list[StoredMap]) -> pa.Table:
    """Return the table of one part."""
    columns = {
        "id": pa.array([m.id for m in maps], pa.string()),
        "runs": pa.array([m.runs for m in maps], pa.binary()),
    }
    if any(m.photo is not None for m in maps):
        columns["photo"] = pa.array([m.photo for m in maps], pa.string())
    if any(m.instances is not None for m in maps):
        columns["instances"] = pa.array([m.instances for m in maps], pa.binary())
    return pa.table(columns)


def put_maps(folder: Path, shard: int, maps: list[StoredMap]) -> str:
    """Write one shard's maps and return the checksum."""
    small = all(len(m.runs) <= _SMALL for m in maps)
    return put_part(
        folder, part_name(shard), table_of(maps), group=max(1, len(maps)) if small else ROWS_IN_GROUP
    )


def read_maps(folder: Path, shard: int, part: Part | None = None) -> dict[str, bytes]:
    """Return the runs of every map of a shard by image id."""
    part = part or read_manifest(folder).get(part_name(shard))
    if part is None:
        return {}
    table = read_part(folder, part_name(shard), part, ["id", "runs"])
    return dict(zip(table["id"].to_pylist(), table["runs"].to_pylist(), strict=True))


def read_map(folder: Path, shard: int, part: Part, image: str) -> bytes | None:
    """Return the runs of one image's map without reading the other maps of its shard, and so without checking
    the part's checksum (runs have their own). None if there is no map; errors as read_part.
    """
    return read_cell(folder, part_name(shard), part, image, "runs")


def read_instances(folder: Path, shard: int, part: Part) -> dict[str, bytes]:
    """Return the code of the instances of every image of a shard that has them, by image id."""
    columns = read_part(folder, part_name(shard), part, ["id", "instances"]).to_pydict()
    rows = zip(columns["id"], columns.get("instances", []), strict=False)
    return {id_: code for id_, code in rows if code is not None}


def read_ids(folder: Path, shard: int, part: Part) -> list[str]:
    """Return the ids of the images of a shard that have a map, without reading a map."""
    return read_small(folder, part_name(shard), part, ["id"])["id"].to_pylist()


def read_photos(folder: Path, shard: int) -> dict[str, str]:
    """Return the SHA-256 of the image that each map of a shard was made from, if it was recorded."""
    part = read_manifest(folder).get(part_name(shard))
    columns = read_small(folder, part_name(shard), part, ["id", "photo"]).to_pydict() if part else {}
    return {
        id_: photo
        for id_, photo in zip(columns.get("id", []), columns.get("photo", []), strict=False)
        if photo
    }


def read_stored(folder: Path, shard: int, parts: Mapping[str, Part] | None = None) -> list[StoredMap]:
    """Return every map of a shard with all stored fields; ``parts`` is the folder's manifest, if it was read
    already.
    """
    part = (read_manifest(folder) if parts is None else parts).get(part_name(shard))
    if part is None:
        return []
    return [
        StoredMap(row["id"], row["runs"], row.get("photo"), row.get("instances"))
        for row in read_part(folder, part_name(shard), part).to_pylist()
    ]


def keep_taken_back(folder: Path, maps: Mapping[int, Sequence[StoredMap]], key: str) -> None:
    """Add labels of a truth, {shard: maps}, to those that no longer count: withdrawn, or replaced. No answer
    of a person is deleted.
    """
    kept = folder / TAKEN_BACK
    parts = read_manifest(kept) if any(maps.values()) else {}
    new = {}
    for shard, rows in maps.items():
        earlier = read_stored(kept, shard, parts) if rows else []
        whole = list(dict.fromkeys([*earlier, *rows]))
        if len(whole) > len(earlier):
            new[part_name(shard)] = Part(put_maps(kept, shard, whole), len(whole), key)
    if new:
        write_manifest(kept, parts | new)


def content_digest(folder: Path) -> str:
    """Return a digest of all maps of a folder that depends only on ids and runs."""
    digest = hashlib.sha256()
    rows = []
    for name, part in sorted(read_manifest(folder).items()):
        table = read_part(folder, name, part, ["id", "runs"])
        rows += zip(table["id"].to_pylist(), table["runs"].to_pylist(), strict=True)
    for id_, runs in sorted(rows):
        digest.update(id_.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(runs).digest())
    return digest.hexdigest()
