"""Photos that networks look at one after another are decoded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultscape.corpus import photos
from faultscape.corpus.photos import DECODED, Decoded, read_photo_again
from faultscape.errors import ImageError
from faultscape.formats import png
from faultscape.study.tables.corpus import Image
from refusals import refused

PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were decoded, in turn."""
    found = list[str]()
    real = photos.rgb_of

    def rgb_of(data: bytes, source: str) -> np.ndarray:
        found.append(source)
        return real(data, source)

    monkeypatch.setattr(photos, "rgb_of", rgb_of)
    return found


def test_the_first_photos_stay_decoded_and_nobody_can_change_them(decoded: list[str]) -> None:
    held = Decoded(2 * PIXELS.nbytes)
    files = {name: png.encode_pixels(PIXELS + k) for k, name in enumerate("abc")}
    for _ in range(3):
        for k, (name, data) in enumerate(files.items()):
            photo = held.read(data, name, name)
            np.testing.assert_array_equal(photo, PIXELS + k)
            if photo.flags.writeable:  # a network may do with it as it likes
                photo[:] = 0
    assert decoded == ["a", "b", "c", "c", "c"]
    held.forget()
    held.read(files["a"], "a", "a")
    assert decoded[5:] == ["a"]


def test_a_file_that_changed_is_never_taken_for_the_one_that_is_held(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(png.encode_pixels(PIXELS))
    image = Image(
        "a", str(file), "main", "pool", "clean", "", 6, 4, photos.digest_of(str(file)), None, "a", 0
    )
    try:
        np.testing.assert_array_equal(read_photo_again(image)[0], PIXELS)
        file.write_bytes(png.encode_pixels(PIXELS + 1))
        with refused(ImageError, "changed since it was collected"):
            read_photo_again(image)
    finally:
        DECODED.forget()
