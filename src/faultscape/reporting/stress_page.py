"""The contact sheet of made sets: the same few images under each condition, and blended objects with their
labels.

Conventions: one self-contained HTML file with small images. Anomaly labels are drawn on their own: 0
blue-grey, 1 orange, 255 black, colours that colour-blind people can distinguish.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image as Pillow

from faultscape.reporting.template import template

_WIDEST = 300  # pixels of a thumbnail's longer side
_COLOURS = ((0, (96, 125, 160)), (1, (230, 120, 40)), (255, (0, 0, 0)))  # of anomaly labels


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


def _photo(image: np.ndarray) -> str:
    small = Pillow.fromarray(image)
    small.thumbnail((_WIDEST, _WIDEST), Pillow.Resampling.BOX)  # averaging preserves the look of noise
    return _uri(small, "WEBP", quality=82)


def _labels(labels: np.ndarray) -> str:
    painted = np.zeros((*labels.shape, 3), np.uint8)
    for value, colour in _COLOURS:
        painted[labels == value] = colour
    small = Pillow.fromarray(painted)
    small.thumbnail((_WIDEST, _WIDEST), Pillow.Resampling.NEAREST)
    return _uri(small, "PNG", optimize=True)


def _uri(image: Pillow.Image, form: str, **options: object) -> str:
    out = io.BytesIO()
    image.save(out, format=form, **options)  # type: ignore[arg-type]
    return f"data:image/{form.lower()};base64,{base64.b64encode(out.getvalue()).decode()}"
