"""The gallery: each chosen image with its truth and every model's prediction. A map is embedded once, however
many duels chose its image.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultscape.nouns import Slot


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
