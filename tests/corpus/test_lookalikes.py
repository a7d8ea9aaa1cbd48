"""Copies of an object look like it, other objects do not."""

import cv2
import numpy as np
import pytest

from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.objects.drawn import drawn_cutout


def copy_of(cutout: Cutout, factor: float, *, mirrored: bool = False) -> Cutout:
    """Return a copy of another size, saved as a JPEG in between, with a hard mask."""
    size = tuple(max(1, round(side * factor)) for side in cutout.alpha.shape[::-1])
    _, code = cv2.imencode(".jpg", cv2.resize(cutout.pixels, size, interpolation=cv2.INTER_AREA), [1, 60])
    pixels = cv2.imdecode(code, cv2.IMREAD_COLOR)
    mask = np.where(cv2.resize(cutout.alpha, size, interpolation=cv2.INTER_AREA) > 127, 255, 0)
    step = -1 if mirrored else 1
    return Cutout(pixels[:, ::step].copy(), mask[:, ::step].astype(np.uint8).copy(), "a copy")


@pytest.mark.parametrize("factor", [0.6, 1.6])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_copy_of_other_size_and_quality_mirrored_or_not_looks_like_its_original(
    factor: float, mirrored: bool
) -> None:
    originals = {name: drawn_cutout(name) for name in ("cow", "chair", "bottle")}
    copies = {name: look_of(copy_of(cutout, factor, mirrored=mirrored)) for name, cutout in originals.items()}
    theirs = [(name, look_of(cutout)) for name, cutout in originals.items()]
    assert lookalikes(copies, theirs) == {name: name for name in originals}


def test_another_shape_or_another_colour_does_not() -> None:
    cow = drawn_cutout("cow")
    other = Cutout(255 - cow.pixels, cow.alpha, "a cow of other colours")
    mine = {"chair": look_of(drawn_cutout("chair")), "other": look_of(other)}
    assert lookalikes(mine, [("cow", look_of(cow))]) == {}
    assert lookalikes(mine, []) == {}
