"""What a model's stored maps follow from: its files, options and label mapping, and a stamp a shard that changes with any of them.

Conventions: a stamp is ``CONTENT:RULES``, of networks and programs ``NETWORK:CONTENT:RULES``, by which label_maps sees shards of different networks. Another CONTENT (files, those of confidence too, network, photos, options) makes every map anew; other RULES (what is accepted: mapping,
classes, size) only the shards of which some maps were refused. Stamps hold times of files and lie outside every law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultscape.classes import mapping as label_names
from faultscape.corpus.matches import match
from faultscape.corpus.photos import back
from faultscape.formats.confidence import beside
from faultscape.prediction.sources import folder
from faultscape.study.parts import key_of
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.label_maps import photos_key

# what a model may be told, by its kind, and what of it changes no label map
FOLDER = ("pattern", "resize_maps")
PROGRAM = ("resize_maps",)
NETWORK = (
    "size", "mean", "std", "layout", "multiple", "batch", "threads", "window", "stride", "flip", "scales", "precision", "unmapped", "keep", "revision", "crop",
)  # fmt: skip
BESIDE = ("labels", "unmapped", "keep")


def known(kind: str) -> tuple[str, ...]:
    """Return the options that a model of this kind can have."""
    return {"folder": FOLDER, "program": PROGRAM, "table": ()}.get(kind, NETWORK)


Shards = Callable[[], Iterable[tuple[int, Sequence[Any]]]]  # reads the corpus shard by shard, whenever it is called


@dataclass(frozen=True)
class Origin:
    """The options and label mapping that a model is stored with, {shard: stamp}, {shard: {image id: map file}} of a folder, {shard: key}, and what to say."""

    options: dict[str, Any]
    labels: dict[str, str]
    stamps: dict[int, str]
    files: dict[int, dict[str, str]] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


def of_folder(
    source: str,
    settings: Settings,
    shards: Shards,
    options: dict[str, Any],
    given: dict[str, str],
    held: dict[str, str],
) -> Origin:
    """Return the origin of a folder of maps; ``given`` is a mapping that somebody gave, ``held`` one that was found out before."""
    words: list[str] = []
    maps = Path(source, "labels") if Path(source, "labels").is_dir() else Path(source)
    ids = [image.id for _, rows in shards() for image in rows]
    files = match(maps, ids, pattern=options.get("pattern"), say=words.append)
    coloured = folder.coded_by_colour(list(files.values()))
    found = label_names.of_colours(settings) if coloured else held or label_names.of_label_ids(settings.class_list, files)
    labels = given or found
    colours = settings.classes.model_dump(include={"names", "ids", "colours", "void"}) if coloured else None
    about = key_of(options.get("resize_maps", False), colours)
    rules = key_of(labels, settings.size, settings.classes.ids, settings.classes.void)
    stamps, by_shard, maps, with_sure = {}, {}, len(files), 0
    for s, rows in shards():
        mine = [files.get(image.id, "") for image in rows]
        sure = [found for path in mine if path and (found := beside(source, path))]
        with_sure += len(sure)
        stamps[s] = f"{folder.fingerprint(source, mine + sure)}-{about}:{rules}"
        by_shard[s] = {image.id: files.pop(image.id) for image in rows if image.id in files}
    if 0 < with_sure < maps:
        words.append(f"{source}: confidence found for {with_sure} of {maps} maps")
    return Origin(options, labels, stamps, by_shard, words=tuple(words))


def of_photos(
    digest: str,
    settings: Settings,
    shards: Shards,
    options: dict[str, Any],
    mapping: dict[str, str],
    words: tuple[str, ...] = (),
) -> Origin:
    """Return the origin of a network or program, whose maps follow from photos; ``digest`` is that of its files."""
    rules = key_of(mapping, settings.classes.ids, settings.classes.void)
    used = {key: value for key, value in options.items() if key not in BESIDE}  # a mapping is applied when maps are read
    if settings.classifies:  # whose answers hold so many probabilities
        used["probabilities"] = [word for word in options.get("keep", []) if word.startswith("probabilities")]
    keys = {s: photos_key(settings.size, rows) for s, rows in shards()}
    stamps = {s: f"{key_of(digest, used)[:16]}:{key_of(digest, used, key)}:{rules}" for s, key in keys.items()}
    return Origin(options, mapping, stamps, keys=keys, words=words)


def again(images: Sequence[Image], failures: Sequence[tuple[str, str]]) -> bool:
    """Whether the picture of an image that failed is there again, as it was collected."""
    why = dict(failures)
    return any(image.id in why and back(image, why[image.id]) for image in images) if why else False


def outdated(before: str, now: str, *, refused: bool) -> bool:
    """Whether a part with this stamp must be made anew; ``refused``: some of its maps were.

    >>> outdated("a:x", "a:y", refused=False), outdated("a:x", "a:y", refused=True), outdated("a:x", "n:b:x", refused=False)
    (False, True, True)
    """
    (content, rules), (content_now, rules_now) = (["", *stamp.split(":")][-2:] for stamp in (before, now))
    return content != content_now or (refused and rules != rules_now)
