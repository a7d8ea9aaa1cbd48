"""The labels that a network was trained and validated on, as digests of the parts that hold them.

Conventions: only labels of its own images count, and of other images of its sets, which would be new to it.
Where a part is the one that was read before, its digest is what was recorded then, so that `status` reads no
labels that did not change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from faultscape.nouns import JsonObject
from faultscape.reading.artefact import texts
from faultscape.reading.boxes.evidence import boxes_key
from faultscape.reading.choices import map_digest
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.study.trained_images import ON, images_of


def label_parts(study: Study, truth: str, record: Mapping[str, object]) -> JsonObject:
    """Return {part: [its checksum, a digest of the labels in it that a network depends on]} of a truth;
    ``record`` is what is recorded about the network.
    """
    held = record.get("label_parts")
    before = held if isinstance(held, dict) else {}
    by_shard = dict[int, set[str]]()
    for id_, shard in study.corpus.shards_of(_wanted(study, record)).items():
        by_shard.setdefault(shard, set()).add(id_)
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder)
    found: JsonObject = {}
    for shard, ids in sorted(by_shard.items()):
        if (part := parts.get(part_name(shard))) is None:
            continue
        known = texts(before.get(part_name(shard)))
        if known[:1] != [part.sha256]:
            digests = label_digests(folder, shard, part.sha256, ids)
            known = [part.sha256, key_of(sorted(digests.items())) if digests else ""]
        found[part_name(shard)] = known
    return found


def label_digests(folder: Path, shard: int, checksum: str, ids: Collection[str]) -> dict[str, str]:
    """Return {id: a digest of its label} of some of the labels in a part of a truth's folder."""
    maps = label_maps.read_maps(folder, shard, Part(checksum, 0, ""))
    return {id_: map_digest(maps[id_]) for id_ in ids if id_ in maps}


def key_of_labels(parts: JsonObject) -> str:
    """Return a key of the labels of a network from its `label_parts`.

    >>> key_of_labels({"00000": ["a", "x"], "00001": ["b", ""]}) == key_of_labels({"00000": ["c", "x"]})
    True
    """
    found = ((name, digest) for name, held in parts.items() for digest in texts(held)[1:])
    return key_of(sorted((name, digest) for name, digest in found if digest))


def key_of_boxes(study: Study, record: Mapping[str, object]) -> str | None:
    """Return a key of the boxes that a network depends on: of images that have no mask among its own and
    those of its sets. None for a network that learnt from none.
    """
    truth = record.get("box_truth")
    if not truth:
        return None
    masked = images_of(record, ON).keys() - {*texts(record.get("boxed"))}
    return boxes_key(study, str(truth), {*_wanted(study, record)} - masked)


def _wanted(study: Study, record: Mapping[str, object]) -> Collection[str]:
    """Return the images whose labels a network depends on: its own, those of its sets, and what made images
    have their labels from.
    """
    out = {*images_of(record, ON)}
    waiting = texts(record.get("sets"))
    for name in waiting:
        out.update(study.sets.get(name, ()))
        about = study.stress.sets.get(name)
        if about is not None and about.labels == "parents":
            waiting.append(about.of)
    return out
