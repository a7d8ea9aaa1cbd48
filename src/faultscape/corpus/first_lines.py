"""Whether the first line of a table of images is a header or an image, for lists of ids and tables of answers
alike.

Conventions: a line with a known column name is a header. A line is an image if its first cell looks like one:
it has the ending of an image, is a digest, or resembles the lines below. A line that looks like neither, or
like both, is ambiguous and refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from faultscape.corpus.sources import HEADS, IMAGE_ENDINGS

_DIGEST = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f-]{12,}", re.IGNORECASE)


def what_is(
    line: Sequence[str],
    below: Iterable[str],
    *,
    columns: Collection[str] = HEADS,
    images: Collection[str] = (),
) -> Literal["columns", "image", "unclear"]:
    """Return what a first line is; ``below`` are the first cells of the lines below, ``columns`` are column
    names in lower case, ``images`` known images.

    >>> (
    ...     what_is(["image", "ID"], ["b"]),
    ...     what_is(["img_1", "cat"], ["img_2"]),
    ...     what_is(["fn", "pred"], ["img_1"]),
    ... )
    ('columns', 'image', 'unclear')
    """
    names = any(word.strip().lower() in columns for word in line)
    image = bool(line) and (
        line[0].strip() in images or (not _are_places(line) and shows_image(line[0].strip(), below))
    )
    return "unclear" if names == image else "columns" if names else "image"


def shows_image(name: str, others: Iterable[str]) -> bool:
    """Whether a cell, by itself or compared with the ``others`` of its column, must be the name of an image:
    no column name looks like this.

    >>> (
    ...     shows_image("a.jpg", []),
    ...     shows_image("img_1", ["img_2"]),
    ...     shows_image("cats/one", ["cats/two"]),
    ...     shows_image("top1", ["img_2"]),
    ... )
    (True, True, True, False)
    """
    folder = name.rpartition("/")[0]
    numbered = any(map(str.isdecimal, name))
    if os.path.splitext(name)[1].lower() in IMAGE_ENDINGS or _DIGEST.fullmatch(name) or (folder and numbered):
        return True
    if numbered:
        return any(_without_numbers(other.strip()) == _without_numbers(name) for other in others)
    return bool(folder) and any(other.strip().startswith(f"{folder}/") for other in others)


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "0", name)


def _are_places(line: Sequence[str]) -> bool:
    """Whether cells number the columns 0, 1, 2, ..., as libraries do for columns without names."""
    return [cell.strip() for cell in line] == [str(place) for place in range(len(line))]
