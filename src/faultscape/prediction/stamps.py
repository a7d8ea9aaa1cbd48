"""Stamps: what the answers of a model in a shard were made from, and when they must be remade.

Conventions: a stamp is ``CONTENT:RULES``, or ``NETWORK:CONTENT:RULES`` for models that see images, which lets
label_maps detect shards of different networks. If CONTENT changes (files, including confidence, network,
images, options), every answer is remade; if RULES change (what is accepted: mapping, classes, size), only
shards with refused answers are. Stamps contain file times and are not covered by any law. Digests depend only
on content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.photos import back
from faultscape.prediction import bounds
from faultscape.study.parts import key_of
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.label_maps import photos_key

_BESIDE = (  # options that do not affect label maps
    "labels",
    "unmapped",
    "keep",
    "scorer",
    "offsets",
    "ood_data",
    "publication",
    "claims",
    "program",
    "between",
    "hidden",
    "open",
)
_PIECE = 1 << 22  # bytes


@dataclass(frozen=True)
class OfImages:
    """{shard: stamp} and {shard: key} of a model that sees images."""

    stamps: dict[int, str]
    keys: dict[int, str]


def of_images(
    digest: str,
    settings: Settings,
    shards: Iterable[tuple[int, Sequence[Image]]],
    options: ModelOptions,
    mapping: dict[str, str],
) -> OfImages:
    """Return the stamps and keys of a model whose answers are computed from images; ``digest`` is that of the
    model itself.
    """
    rules = key_of(mapping, settings.classes.ids, settings.classes.void)
    used = _used(options)
    if settings.classifies:  # a classifier's answers contain the probabilities kept
        used["probabilities"] = [word for word in options.get("keep", []) if word.startswith("probabilities")]
    keys = {shard: photos_key(settings.size, images) for shard, images in shards}
    about = key_of(digest, used)[:16]  # the first field of a stamp, as `about_of` returns it
    return OfImages(
        {shard: f"{about}:{key_of(digest, used, key)}:{rules}" for shard, key in keys.items()}, keys
    )


def about_of(digest: str, options: ModelOptions) -> str:
    """Return the first field of the stamps of label maps made by a model with these options."""
    return key_of(digest, _used(options))[:16]


def _used(options: ModelOptions) -> dict[str, object]:
    """Return the options that affect label maps, without the mapping, which is applied when maps are read."""
    return {key: value for key, value in options.items() if key not in _BESIDE}


def again(images: Sequence[Image], failures: Sequence[tuple[str, str]]) -> bool:
    """Whether the file of an image that failed exists again, as it was collected."""
    why = dict(failures)
    return any(image.id in why and back(image, why[image.id]) for image in images) if why else False


def outdated(before: str, now: str, *, refused: bool) -> bool:
    """Whether a part with this stamp must be remade; ``refused``: some of its maps were refused.

    >>> (
    ...     outdated("a:x", "a:y", refused=False),
    ...     outdated("a:x", "a:y", refused=True),
    ...     outdated("a:x", "n:b:x", refused=False),
    ... )
    (False, True, True)
    """
    (content, rules), (content_now, rules_now) = (["", *stamp.split(":")][-2:] for stamp in (before, now))
    return content != content_now or (refused and rules != rules_now)


def digest_of_place(place: str, options: ModelOptions) -> str:
    """Return a digest of the file, or of all files in the folder, at a place; of the text itself if there is
    neither.
    """
    del options
    path = Path(place)
    if not path.exists():
        return hashlib.sha256(place.encode()).hexdigest()
    files = (
        sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        if path.is_dir()
        else [path]
    )
    return digest_of_files(place, [(file, file.stat().st_size) for file in files])


def digest_of_files(source: str, files: Sequence[tuple[Path, int]]) -> str:
    """Return a digest of the given number of bytes of each of a model's files; ModelError if they exceed the
    memory.
    """
    bounds.check_files(source, files)
    digest = hashlib.sha256()
    for file, most in files:
        digest.update(file.name.encode() + b"\0")
        left = most
        with file.open("rb") as stream:
            while piece := stream.read(min(left, _PIECE)):
                digest.update(piece)
                left -= len(piece)
    return digest.hexdigest()
