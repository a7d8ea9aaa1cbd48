"""The file in which a study keeps a cut-out: what is written comes back, and nothing else is taken."""

import io
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import faultscape as fs
from faultscape.corpus.objects.cutout_files import KEY
from faultscape.errors import ImageError
from faultscape.stressors.objects.cutout import Cutout
from refusals import refused

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=20)


def made(seed: int = 0, height: int = 5, width: int = 7) -> Cutout:
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 4), dtype=np.uint8)
    values[::2, ::3, 3] = 0
    return Cutout(
        values[..., :3].copy(),
        values[..., 3].copy(),
        "a thing",
        "thing",
        "test",
        "known",
        (4, 2),
        (50, 60),
        3,
    )


@pytest.mark.slow
@settings(max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(1, 9),
    WORDS,
    WORDS,
    st.sampled_from(["", "validation", "test"]),
    st.sampled_from(["known", "anomaly"]),
)
def test_a_cutout_comes_back_with_every_pixel_also_where_nothing_is_seen_of_it(
    seed: int, height: int, width: int, name: str, class_: str, split: str, use: str
) -> None:
    cutout = replace(made(seed, height, width), name=name, class_=class_, split=split, use=use)
    again = fs.corpus.read_cutout(fs.corpus.write_cutout(cutout))
    assert (again.pixels == cutout.pixels).all()
    assert (again.alpha == cutout.alpha).all()
    for field in ("name", "class_", "split", "use", "corner", "frame", "border", "digest"):
        assert getattr(again, field) == getattr(cutout, field), field


def test_the_file_is_an_image_with_transparency_which_any_viewer_shows() -> None:
    image = Image.open(io.BytesIO(fs.corpus.write_cutout(made())))
    assert (image.format, image.mode, image.size) == ("PNG", "RGBA", (7, 5))


def told(change: Callable[[dict[str, object]], object]) -> bytes:
    """A file whose text was changed."""
    image = Image.open(io.BytesIO(fs.corpus.write_cutout(made())))
    words = json.loads(image.text[KEY])
    change(words)
    text = PngInfo()
    text.add_text(KEY, json.dumps(words))
    out = io.BytesIO()
    image.save(out, "PNG", pnginfo=text)
    return out.getvalue()


def as_png(image: Image.Image, text: str = "") -> bytes:
    out, info = io.BytesIO(), PngInfo()
    info.add_text(KEY, text)
    image.save(out, "PNG", pnginfo=info)
    return out.getvalue()


GOOD = fs.corpus.write_cutout(made())
SEEN = Image.open(io.BytesIO(GOOD))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a readable image"),
        (b"nothing", "not a readable image"),
        (GOOD[: len(GOOD) // 2], "[Tt]runcated|broken"),
        (as_png(SEEN.convert("RGB")), "expected a PNG with transparency"),
        (as_png(SEEN), "its text faultscape-cutout is not"),
        (as_png(SEEN, "[" * 100_000), "its text faultscape-cutout is not"),
        (as_png(SEEN, "[]"), "its text faultscape-cutout is not"),
        (told(lambda words: words.pop("class")), "is not what write_cutout writes"),
        (told(lambda words: words.update(use="other")), "is not what write_cutout writes"),
        (told(lambda words: words.update(corner=[-1, 0])), "is not what write_cutout writes"),
        (told(lambda words: words.update(frame=[1e400, 0])), "is not what write_cutout writes"),
        (told(lambda words: words.update(border=True)), "is not what write_cutout writes"),
        (told(lambda words: words.update(name="two\nlines")), "is not what write_cutout writes"),
        (told(lambda words: words.update(name="x" * 5000)), "is not what write_cutout writes"),
        (told(lambda words: words.update(corner=[5, 2])), "is damaged: its pixels have the digest"),
        (told(lambda words: words.update({"class": "other"})), "is damaged"),
    ],
)
def test_what_is_no_cutout_of_a_study_is_refused_in_one_line(data: bytes, says: str) -> None:
    with refused(ImageError, f"kept.png: .*({says})"):
        fs.corpus.read_cutout(data, "kept.png")


def test_a_cutout_whose_pixel_was_changed_is_refused() -> None:
    pixels = np.array(SEEN)
    pixels[2, 3, 0] ^= 1
    with refused(ImageError, "is damaged"):
        fs.corpus.read_cutout(as_png(Image.fromarray(pixels), SEEN.text[KEY]))
