"""The gallery: each chosen image with its truth and every model's prediction, small enough to embed in one
file.

Conventions: everything is a data URI: images as WebP, label maps as palette PNG in the colours of the
classes. A map is embedded once, however many duels chose its image. ``Room`` limits the characters per page;
what no longer fits is left out and counted.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image, features

from faultscape.maps.paint import palette
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes, Slot

ROOM = 12_000_000  # characters of embedded images on one page


@dataclass(frozen=True)
class Duel:
    """One slot of an image with its outcome: values of defender and attacker (None without a label) and the
    case.
    """

    slot: Slot
    defender: float | None = None
    attacker: float | None = None
    case: str = ""


@dataclass
class Card:
    """One chosen image: duels (the lowest concordance first), maps by model, values by model (None =
    unknown).
    """

    image: str
    width: int
    height: int
    duels: list[Duel]
    values: dict[str, float | None]
    labelled: bool
    photo: str = ""
    truth: str = ""
    maps: dict[str, str] = field(default_factory=dict)
    left_out: int = 0


class Room:
    """The number of characters of images and maps that may still be embedded."""

    def __init__(self, characters: int = ROOM) -> None:
        self.left = characters
        self.left_out = 0

    def take(self, uri: str) -> str:
        """Return the data URI if it fits into the room left, else ''."""
        if len(uri) > self.left:
            self.left_out += 1
            return ""
        self.left -= len(uri)
        return uri


def fit(width: int, height: int, longest: int) -> tuple[int, int]:
    """Return (width, height) with the longer side at most ``longest``.

    >>> fit(960, 720, 320), fit(100, 50, 320)
    ((320, 240), (100, 50))
    """
    shrink = min(1.0, longest / max(width, height))
    return max(1, round(width * shrink)), max(1, round(height * shrink))


def photo_uri(rgb: np.ndarray, size: tuple[int, int], quality: int = 72) -> str:
    """Return an (H, W, 3) image as a WebP data URI of (width, height); JPEG if Pillow cannot write WebP."""
    picture = Image.fromarray(np.ascontiguousarray(rgb)).resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    kind = "webp" if features.check("webp") else "jpeg"
    picture.save(out, format=kind.upper(), quality=quality)
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode()}"


def distinct(colours: np.ndarray) -> np.ndarray:
    """Return (K, 3) distinct uint8 colours, the last (void) unchanged: a repeated colour moves by one
    invisible step, so that a page can identify classes by colour.

    >>> distinct(np.array([[9, 9, 255], [9, 9, 255], [0, 0, 0]], np.uint8)).tolist()
    [[9, 9, 255], [9, 9, 254], [0, 0, 0]]
    """
    out = colours.astype(int)
    taken = {tuple(colours[-1].tolist())}
    for k, row in enumerate(out[:-1].tolist()):
        code = (row[0] << 16) + (row[1] << 8) + row[2]
        near = (code + sign * step for step in range(1 << 24) for sign in (-1, 1))
        free = next(n for n in near if 0 <= n < 1 << 24 and (n >> 16, n >> 8 & 255, n & 255) not in taken)
        out[k] = free >> 16, free >> 8 & 255, free & 255
        taken.add(tuple(out[k].tolist()))
    return out.astype(np.uint8)


def map_uri(label_map: np.ndarray, classes: Classes, size: tuple[int, int]) -> str:
    """Return an (H, W) map of places as a PNG data URI of (width, height) in the colours of its classes."""
    small = np.minimum(nearest(label_map, size), len(classes))
    if len(classes) < 256:
        picture = Image.frombytes("P", size, small.astype(np.uint8).tobytes())
        picture.putpalette(distinct(palette(classes)).tobytes())
    else:
        picture = Image.fromarray(distinct(palette(classes))[small])
    out = io.BytesIO()
    picture.save(out, format="PNG", compress_level=7, **({"bits": 4} if len(classes) < 16 else {}))
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"


def cards(
    chosen: tuple[Slot, ...],
    values: np.ndarray,
    which: list[str],
    by_model: dict[str, dict[str, float | None]],
    sizes: Any,
) -> list[Card]:
    """Return the cards without thumbnails, the image with most duels first; ``values`` (S, 2) and ``which``
    case belong to the slots.

    ``by_model`` is {image: {model: value}} of the labelled images, ``sizes`` {image: (width, height)}.
    """
    duels: dict[str, list[Duel]] = {}
    for row, pair, case in zip(chosen, values.tolist(), which, strict=True):
        known = [None if np.isnan(v) else v for v in pair]
        duels.setdefault(row.image, []).append(Duel(row, known[0], known[1], case))
    made = []
    for image, of in duels.items():
        of.sort(key=lambda duel: (duel.slot.concordance, duel.slot.step))
        width, height = sizes.get(image, (4, 3))
        made.append(Card(image, width, height, of, by_model.get(image, {}), image in by_model))
    return sorted(made, key=lambda card: -len(card.duels))
