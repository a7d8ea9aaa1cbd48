"""Contact sheets: made sets, the same few images under each condition and blended objects with their labels;
and the cut-outs to blend, each of which can be switched off.

Conventions: one self-contained HTML file with small images. Anomaly labels are drawn on their own: 0
blue-grey, 1 orange, 255 black, colours that colour-blind people can distinguish. Objects are sorted by class
and digest; the browser holds what is switched off until a button saves switched-off.csv.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image as Pillow

from faultscape.reporting.anomaly_frames import label_picture
from faultscape.reporting.pictures import data_uri
from faultscape.reporting.template import template
from faultscape.stressors.objects.cutout import Cutout

_WIDEST = 300  # pixels of a thumbnail's longer side
_LONGEST = 160  # of an object's


@dataclass(frozen=True, eq=False)
class Cell:
    """One image (H, W, 3) uint8 of a sheet with its caption, and its anomaly labels (H, W), if any."""

    caption: str
    image: np.ndarray = field(repr=False)
    labels: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Row:
    """Images that belong together: a corruption at its severities, or a blended set."""

    title: str
    note: str
    cells: tuple[Cell, ...]


def stress_page(study: str, rows: Sequence[Row]) -> str:
    """Return the HTML of a contact sheet."""
    shown = [
        {
            "title": row.title,
            "note": row.note,
            "cells": [
                {
                    "caption": cell.caption,
                    "image": _photo(cell.image),
                    "labels": "" if cell.labels is None else _labels(cell.labels),
                }
                for cell in row.cells
            ],
        }
        for row in rows
    ]
    return template("review/stress.html.jinja").render(study=study, rows=shown)


def rounds_page(
    study: str, rounds: Sequence[Mapping[str, object]], fails: float, colours: Mapping[str, str]
) -> str:
    """Return the HTML of the rounds of a loop: {title, row, kinds}, each kind {title, about, cells}, each
    cell {caption, views}, its views (name, score or None, data URI); ``fails`` is the score below which an
    image is a failure, ``colours`` are those of the classes.
    """
    return template("review/rounds.html.jinja").render(
        study=study, rounds=rounds, fails=fails, colours=[*colours.items()]
    )


def _photo(image: np.ndarray) -> str:
    small = Pillow.fromarray(image)
    small.thumbnail((_WIDEST, _WIDEST), Pillow.Resampling.BOX)  # averaging preserves the look of noise
    return data_uri(small, "WEBP", quality=82)


def _labels(labels: np.ndarray) -> str:
    small = Pillow.fromarray(label_picture(labels))
    small.thumbnail((_WIDEST, _WIDEST), Pillow.Resampling.NEAREST)
    return data_uri(small, "PNG", optimize=True)


def objects_page(study: str, cutouts: Sequence[Cutout]) -> str:
    """Return the HTML of the contact sheet of some cut-outs."""
    ordered = sorted(cutouts, key=lambda cutout: (cutout.use, cutout.class_, cutout.digest))
    cards = [
        {
            "digest": one.digest,
            "name": one.name,
            "class": one.class_,
            "use": one.use,
            "size": f"{one.alpha.shape[1]} × {one.alpha.shape[0]}",
            "uri": _object(one),
        }
        for one in ordered
    ]
    return template("review/objects.html.jinja").render(study=study, cards=cards)


def _object(one: Cutout) -> str:
    """Return a thumbnail of a cut-out, keeping its transparency."""
    image = Pillow.fromarray(np.dstack([one.pixels, one.alpha]))
    image.thumbnail((_LONGEST, _LONGEST))
    return data_uri(image, "PNG", optimize=True)
