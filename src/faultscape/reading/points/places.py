"""Where in an image the pixels of its maps at working size lie."""

from __future__ import annotations

from faultscape.study.tables.corpus import Image


def place_in_image(image: Image, working: tuple[int, int] | None, pixel: int) -> tuple[int, int]:
    """Return the row and the column in an image of a ``pixel`` of its maps at working size, as nearest
    neighbour takes it (`maps.resize.nearest`).
    """
    width, height = working or (image.width, image.height)
    row, column = divmod(pixel, width)
    return (2 * row + 1) * image.height // (2 * height), (2 * column + 1) * image.width // (2 * width)
