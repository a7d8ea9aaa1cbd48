"""What a made image needs beside its parent: each file is what it was when the image was made of it, or
nothing is made.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import made
from faultscape.corpus.objects.cutout_files import write_cutout
from faultscape.corpus.photos import back, digest_of, read_photo
from faultscape.corpus.stress.files import (
    depth_digest,
    read_depth,
    read_object,
    read_textures,
    read_void,
    textures_digest,
    void_digest,
    write_void,
)
from faultscape.corpus.stress.recipes import CorruptStep, FogStep, Recipe
from faultscape.errors import ImageError
from faultscape.stressors.fog import Fog, add_fog
from faultscape.stressors.objects.cutout import Cutout
from faultscape.study.tables.corpus import Image
from refusals import refused

PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def image_of(recipe: Recipe) -> Image:
    return Image("a", recipe.source, "fog-3", "test", "fog-3", "p", 6, 4, recipe.made_digest, None, "a", 0)


def cutout(grey: int) -> Cutout:
    return Cutout(np.full((5, 6, 3), grey, np.uint8), np.full((5, 6), 255, np.uint8), "a box", "box")


def test_depth_is_metres_of_npy_and_256ths_of_16_bit_png_at_the_size_of_the_image(tmp_path: Path) -> None:
    metres = np.array([[1.5, 20.25, 0.0], [255.0, 3.0, 7.5]], np.float32)
    np.save(tmp_path / "d.npy", metres)
    made.write(tmp_path / "d.png", (metres * 256).astype(np.uint16))
    for name in ("d.npy", "d.png"):
        np.testing.assert_array_equal(read_depth(str(tmp_path / name), "", (2, 3)), metres)
        np.testing.assert_array_equal(
            read_depth(str(tmp_path / name), "", (4, 6)), metres.repeat(2, 0).repeat(2, 1)
        )


def test_depth_that_changed_is_refused_and_where_it_lies_is_no_part_of_what_is_made(tmp_path: Path) -> None:
    file, photo = tmp_path / "d.npy", tmp_path / "a.png"
    np.save(file, depth := np.full((4, 6), 40, np.float32))
    made.write(photo, PIXELS)
    recipe = Recipe(str(photo), digest_of(str(photo)), FogStep(0.01, 200, str(file), depth_digest(str(file))))
    np.testing.assert_array_equal(
        read_photo(image_of(recipe))[0], add_fog(PIXELS, Fog(0.01, (200, 200, 200)), depth=depth)
    )
    elsewhere = replace(recipe, step=replace(recipe.step, depth="/elsewhere/d.npy"))
    assert elsewhere.made_digest == recipe.made_digest
    assert replace(recipe, step=replace(recipe.step, depth_digest="0")).made_digest != recipe.made_digest
    np.save(file, depth + 1)
    with refused(ImageError, "the depth changed since images were made from it"):
        read_photo(image_of(recipe))


def test_textures_are_those_of_their_bytes_in_whatever_order_their_names_stand(tmp_path: Path) -> None:
    for k, name in enumerate("abc"):
        made.write(tmp_path / "one" / f"{name}.png", PIXELS + k)
        made.write(tmp_path / "two" / f"{'cab'[k]}.png", PIXELS + k)
    digest = textures_digest(str(tmp_path / "one"))
    assert digest == textures_digest(str(tmp_path / "two"))
    one, two = (read_textures(str(tmp_path / name), digest) for name in ("one", "two"))
    assert len(one) == 3
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left, right)
    made.write(tmp_path / "three" / "a.png", PIXELS)
    with refused(ImageError, "the textures of frost changed"):
        read_textures(str(tmp_path / "three"), digest)


def test_an_object_and_a_mask_of_void_are_what_their_names_say(tmp_path: Path) -> None:
    box, other, mask = cutout(90), cutout(91), np.eye(4, 6) > 0
    (tmp_path / f"{box.digest}.png").write_bytes(write_cutout(box))
    (tmp_path / f"void-{void_digest(mask)}.png").write_bytes(write_void(mask))
    assert read_object(str(tmp_path), box.digest).digest == box.digest
    np.testing.assert_array_equal(read_void(str(tmp_path), void_digest(mask)), mask)
    (tmp_path / f"{other.digest}.png").write_bytes(write_cutout(box))
    (tmp_path / f"void-{void_digest(~mask)}.png").write_bytes(write_void(mask))
    with refused(ImageError, "is another object than when images were made of it"):
        read_object(str(tmp_path), other.digest)
    with refused(ImageError, "is another mask than when images were made of it"):
        read_void(str(tmp_path), void_digest(~mask))


def test_an_image_made_of_a_made_one_asks_for_the_very_image_that_it_was_made_of(tmp_path: Path) -> None:
    made.write(photo := tmp_path / "a.png", PIXELS)
    inner = Recipe(str(photo), digest_of(str(photo)), FogStep(0.01, 200))
    outer = Recipe(inner.source, inner.made_digest, CorruptStep("contrast", 2, 0, "k"))
    read_photo(image_of(outer))
    thicker = replace(inner, step=FogStep(0.02, 200))
    with refused(ImageError, "changed since images were made from it"):
        read_photo(image_of(replace(outer, of=thicker.source)))
    assert digest_of(outer.source) == outer.made_digest


def test_an_image_is_back_when_its_parent_is_what_it_was(tmp_path: Path) -> None:
    made.write(photo := tmp_path / "a.png", PIXELS)
    bytes_ = photo.read_bytes()
    image = image_of(Recipe(str(photo), digest_of(str(photo)), CorruptStep("contrast", 2, 0, "k")))
    made.write(photo, PIXELS + 1)
    assert digest_of(image.source) != image.digest
    with pytest.raises(ImageError) as changed:
        read_photo(image)
    assert not back(image, str(changed.value))
    photo.unlink()
    with pytest.raises(ImageError) as gone:
        read_photo(image)
    photo.write_bytes(bytes_)
    assert back(image, str(changed.value))
    assert back(image, str(gone.value))
    assert not back(image, "its map has another size")
