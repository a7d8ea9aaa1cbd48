"""Corruptions of images: what holds for all, and what for the published nineteen."""

import itertools
import re

import numpy as np
import pytest

import faultscape as fs
from corrupted_images import GOLDEN, NAMES, PUBLISHED, digests, drawn_image, without_numba
from faultscape.errors import ImageError, LabelMapError, OptionError
from faultscape.stressors.catalogue import entry, preset
from faultscape.stressors.corruptions.digital import displacements
from faultscape.stressors.definition import Corruption
from faultscape.stressors.streams import stream_start

corrupt, move_labels = fs.stressors.corrupt, fs.stressors.move_labels
RANDOM = tuple(each.name for each in fs.stressors.CORRUPTIONS if each.random)


@pytest.mark.slow
def test_the_bytes_are_these_on_every_machine() -> None:
    assert digests(PUBLISHED) == GOLDEN


def test_the_published_nineteen_stand_in_their_order_with_five_severities_each() -> None:
    published = """gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness contrast elastic_transform pixelate
        jpeg_compression speckle_noise gaussian_blur spatter saturate"""
    assert list(NAMES[:19]) == list(PUBLISHED) == published.split()
    for each in fs.stressors.CORRUPTIONS:
        assert len(each.parameters) == len(set(each.parameters)) == 5
        assert {len(numbers) for numbers in each.parameters} == {len(each.means)}
        assert entry(each.name) is each


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_images_of_any_size_keep_their_shape_and_type_and_are_not_written_to(name: str) -> None:
    with without_numba():  # the same bytes, by another law, and no wait for a compiler
        for kind in (np.uint8, np.uint16):
            for high, wide, channels in ((1, 1, 3), (1, 9, 1), (8, 1, 3), (2, 3, 1), (19, 22, 3)):
                image = drawn_image(high, wide, channels, kind)
                image.setflags(write=False)
                severity = 1 + (high + wide) % 5
                made = corrupt(image, name, severity)
                assert made.shape == image.shape
                assert made.dtype == kind
                assert made.flags.writeable
                assert (
                    made == corrupt(image[:, ::-1][:, ::-1], name, severity)
                ).all()  # whatever its strides


@pytest.mark.parametrize("name", NAMES)
def test_sixteen_bits_are_corrupted_as_eight_are_on_a_finer_scale(name: str) -> None:
    for channels in (1, 3):
        small = drawn_image(31, 40, channels)
        with without_numba():  # which spares a compiler; the twins of 16 bits are another law
            fine = corrupt(small.astype(np.uint16) * 257, name, 3, key="a").astype(int) / 257
        assert np.abs(fine - corrupt(small, name, 3, key="a").astype(int)).max() < (
            2.01 if name == "glass_blur" else 1.01
        )


def test_sixteen_bits_are_not_eight_in_disguise() -> None:
    image = drawn_image(31, 40, 3, np.uint16) + np.uint16(77)
    with without_numba():
        assert {name for name in NAMES if not (corrupt(image, name, 3) % 257).any()} == {"jpeg_compression"}


@pytest.mark.parametrize("name", NAMES)
def test_chance_follows_from_seed_key_name_and_severity_and_from_nothing_else(name: str) -> None:
    image = drawn_image(40, 41)
    first = corrupt(image, name, 2, seed=1, key="a")
    others = [corrupt(image, name, 2, seed=2, key="a"), corrupt(image, name, 2, seed=1, key="b")]
    assert (first == corrupt(image, name, 2, seed=1, key="a")).all()
    assert [bool((first == other).all()) for other in others] == [name not in RANDOM] * 2
    keyless = corrupt(image, name, 2)
    assert (keyless == corrupt(image.copy(), name, 2)).all()


def test_no_two_corruptions_or_severities_draw_the_same_numbers() -> None:
    starts = {stream_start(0, "a", name, severity) for name in NAMES for severity in range(1, 6)}
    assert len(starts) == 5 * len(NAMES)
    flat = np.full((30, 30), 128, np.uint8)
    noise = [
        corrupt(flat, name, 1, key="a").astype(float).ravel() for name in ("gaussian_noise", "speckle_noise")
    ]
    assert abs(np.corrcoef(noise)[0, 1]) < 0.15


@pytest.mark.parametrize(
    "name",
    [
        "defocus_blur",
        "glass_blur",
        "motion_blur",
        "zoom_blur",
        "elastic_transform",
        "pixelate",
        "gaussian_blur",
    ],
)
def test_what_only_moves_or_mixes_pixels_leaves_a_plain_image_as_it_is(name: str) -> None:
    for severity in range(1, 4 if name == "defocus_blur" else 6):
        # wider discs sum to a little more than 1, as published
        for value in (0, 1, 77, 254, 255):
            flat = np.full((21, 34, 3), value, np.uint8)
            assert (corrupt(flat, name, severity) == flat).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_severity_is_never_milder(name: str) -> None:
    image = drawn_image(64, 80)
    errors = [
        np.square(corrupt(image, name, severity, key="a").astype(float) - image).mean()
        for severity in range(1, 6)
    ]
    if name == "saturate":  # paler, paler, stronger, stronger
        assert errors[0] < errors[1]
        assert errors[2] < errors[3] < errors[4]
    else:
        assert errors[4] > 1.2 * errors[0] > 0
        # each draws anew
        assert all(b > 0.85 * a for a, b in itertools.pairwise(errors)) or name in (
            "snow",
            "frost",
            "glass_blur",
            "motion_blur",
            "spatter",
            "fog",
        )


def test_grey_images_are_corrupted_as_colour_images_of_greys_are_where_nothing_is_random_or_coloured() -> (
    None
):
    grey = drawn_image(33, 50, 1)
    colour = np.repeat(grey[..., None], 3, axis=2)
    for name in (
        "defocus_blur",
        "motion_blur",
        "zoom_blur",
        "fog",
        "brightness",
        "contrast",
        "elastic_transform",
        "pixelate",
        "gaussian_blur",
        "glass_blur",
        "snow",
    ):
        assert (
            np.abs(corrupt(grey, name, 3, key="a")[..., None] - corrupt(colour, name, 3, key="a").astype(int))
            <= 1
        ).all(), name
    assert (corrupt(grey, "saturate", 5) == grey).all()


@pytest.mark.parametrize(
    ("image", "name", "severity", "error", "message"),
    [
        (
            np.zeros((4, 4), np.uint8),
            "fogg",
            1,
            OptionError,
            "corruption 'fogg' is not known; known are .*fog",
        ),
        (
            np.zeros((4, 4), np.uint8),
            "fog",
            0,
            OptionError,
            "severity 0 of fog: give a whole number from 1 to 5",
        ),
        (
            np.zeros((4, 4), np.uint8),
            "fog",
            6,
            OptionError,
            "severity 6 of fog: give a whole number from 1 to 5",
        ),
        (
            np.zeros((4, 4), np.uint8),
            "fog",
            2.0,
            OptionError,
            "severity 2.0 of fog: give a whole number from 1 to 5",
        ),
        (
            np.zeros((4, 4), np.uint8),
            "fog",
            True,
            OptionError,
            "severity True of fog: give a whole number from 1 to 5",
        ),
        (
            np.zeros((4, 4)),
            "fog",
            1,
            ImageError,
            r"the image is float64; expected uint8 \(0..255\) or uint16 \(0..65535\)",
        ),
        (
            np.zeros((4, 4, 4), np.uint8),
            "fog",
            1,
            ImageError,
            r"the image has the shape \(4, 4, 4\); expected \(H, W\) or \(H, W, 3\)",
        ),
        (
            np.zeros(4, np.uint8),
            "fog",
            1,
            ImageError,
            r"the image has the shape \(4,\); expected \(H, W\) or \(H, W, 3\)",
        ),
        (
            np.zeros((0, 4), np.uint8),
            "fog",
            1,
            ImageError,
            r"the image has the shape \(0, 4\), which is empty; expected 1 x 1 pixel or more",
        ),
    ],
)
def test_what_cannot_be_corrupted_is_refused_in_one_line(
    image: np.ndarray, name: str, severity: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}") as caught:
        corrupt(image, name, severity)
    assert "\n" not in str(caught.value)


def test_presets_name_known_corruptions_and_severities() -> None:
    lists = {
        name: dict(preset(name).corruptions)
        for name in ("hendrycks15", "hendrycks19", "s3-config", "s3-data", "kamann")
    }
    assert tuple(lists["hendrycks15"]) == NAMES[:15]
    assert tuple(lists["hendrycks19"]) == PUBLISHED
    assert list(lists["s3-config"]) == ["gaussian_noise"]
    assert list(lists["s3-data"]) == ["gaussian_noise", "brightness", "contrast", "fog"]
    for each in lists.values():
        assert set(each) <= set(NAMES)
    noises = {each.name for each in fs.stressors.CORRUPTIONS if each.family == "noise"}
    assert len(lists["kamann"]) == 16
    assert all(
        severities == ((1, 2, 3) if name in noises else (1, 2, 3, 4, 5))
        for name, severities in lists["kamann"].items()
    )
    with pytest.raises(OptionError, match=r"preset 'kaman' is not known.*kamann"):
        preset("kaman")


def test_a_corruption_of_ones_own_is_taken_from_a_file(tmp_path: object) -> None:
    path = f"{tmp_path}/mine.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "from faultscape.stressors import Corruption\ndef lift(pixels, parameters, start):\n    return"
            " pixels | int(parameters[0])\ndef lose(pixels, parameters, start):\n    return pixels[:1]\nLIFT"
            " = Corruption('lift', 'Lift', 'digital', ('bits',), ((1,), (2,), (4,), (8,), (16,)), lift,"
            " random=False)\ndef turn(pixels, parameters, start):\n    return pixels.swapaxes(0, 1)\nTURN ="
            " Corruption('turn', 'Turn', 'digital', ('bits',), ((1,),), turn, random=False)\nLOSE ="
            " Corruption('lose', 'Lose', 'digital', ('bits',), ((1,),), lose, random=False)\n"
        )
    assert corrupt(np.zeros((1, 2), np.uint8), f"{path}:LIFT", 4).tolist() == [[8, 8]]
    assert isinstance(entry(f"{path}:LIFT"), Corruption)
    with pytest.raises(OptionError, match="severity 2 of lose: give a whole number from 1 to 1"):
        corrupt(np.zeros((2, 2), np.uint8), f"{path}:LOSE", 2)
    with pytest.raises(
        OptionError,
        match=re.escape(
            "corruption lose returned uint8 (1, 2, 1) for uint8 (2, 2); it must keep shape and type"
        ),
    ):
        corrupt(np.zeros((2, 2), np.uint8), f"{path}:LOSE", 1)
    with pytest.raises(
        OptionError,
        match=re.escape("corruption turn returned uint8 (3, 2, 1) for uint8 (2, 3); it must keep shape"),
    ):
        corrupt(np.zeros((2, 3), np.uint8), f"{path}:TURN", 1)
    with pytest.raises(OptionError, match="holds no Corruption called 'lift'"):
        entry(f"{path}:lift")


def test_frost_takes_textures_of_any_size_and_refuses_what_is_none() -> None:
    image = np.full((20, 30, 3), 100, np.uint8)
    white, small = np.full((500, 400), 200, np.uint8), np.zeros((3, 2, 3), np.uint8)
    assert np.unique(corrupt(image, "frost", 3, textures=[white])).tolist() == [210]  # .7 x 100 + .7 x 200
    assert np.unique(corrupt(image, "frost", 3, textures=[small])).tolist() == [70]
    chosen = {
        int(corrupt(image, "frost", 3, seed=seed, textures=[white, small])[0, 0, 0]) for seed in range(20)
    }
    assert chosen == {70, 210}
    red = np.zeros((40, 40, 3), np.uint8) + np.array([200, 0, 0], np.uint8)
    assert corrupt(image, "frost", 3, textures=[red])[0, 0].tolist() == [210, 70, 70]
    # .7 x 100 + .7 x int(.2989 x 200)
    assert int(corrupt(image[..., 0], "frost", 3, textures=[red])[0, 0]) == 111
    with pytest.raises(ImageError, match="frost: textures is empty"):
        corrupt(image, "frost", 3, textures=[])
    with pytest.raises(ImageError, match=r"frost: texture 1 is float64 \(2, 2\); expected uint8"):
        corrupt(image, "frost", 3, textures=[np.zeros((2, 2))])
    for one in (white, red):
        with pytest.raises(
            ImageError,
            match=r"frost: textures is a single array .*; give a list of images, \[texture\] for one",
        ):
            corrupt(image, "frost", 3, textures=one)
    assert (
        corrupt(image, "frost", 3, textures=red[None]) == corrupt(image, "frost", 3, textures=[red])
    ).all()
    with pytest.raises(OptionError, match="fog does not take textures"):
        corrupt(image, "fog", 3, textures=[white])


def test_drawn_ice_is_six_textures_of_bright_ferns_on_darker_glass() -> None:
    from faultscape.stressors.corruptions.weather import frost_texture

    textures = [frost_texture(number) for number in range(6)]
    means, deviations = [t.mean() for t in textures], [t.std() for t in textures]
    assert 85 < min(means) < max(means) < 210
    assert 20 < min(deviations) < max(deviations) < 50
    used = {corrupt(np.zeros((8, 8, 3), np.uint8), "frost", 1, seed=seed).tobytes() for seed in range(30)}
    assert len(used) > 15


def test_labels_move_where_pixels_move_and_nowhere_else() -> None:
    labels = (np.indices((60, 80)).sum(axis=0) // 16 % 2).astype(np.uint8)
    image = labels * np.uint8(255)
    moving = {each.name for each in fs.stressors.CORRUPTIONS if each.move}
    assert moving & {*PUBLISHED} == {"glass_blur", "zoom_blur", "elastic_transform"}
    for name in NAMES:
        moved = move_labels(labels, name, 4, seed=3, key="a")
        assert moved.dtype == labels.dtype
        assert (moved is labels) == (name not in moving)
        seen = corrupt(image, name, 4, seed=3, key="a") > 127
        if name in moving:
            assert ((moved > 0) == seen).mean() > max(0.85, 0.03 + ((labels > 0) == seen).mean()), name


def test_labels_from_beyond_the_border_are_mirrored_as_the_image_is_or_filled() -> None:
    labels = np.ones((200, 60), np.int32)
    filled = move_labels(labels, "elastic_transform", 5, key="a", fill=255)
    assert set(np.unique(filled)) == {1, 255}
    down, right = displacements(200, 60, 30.0, stream_start(0, "a", "elastic_transform", 5))
    y, x = np.rint(np.arange(200)[:, None] + down / 2048 + 1e-9), np.rint(np.arange(60) + right / 2048 + 1e-9)
    assert ((filled == 255) == ((y < 0) | (y > 199) | (x < 0) | (x > 59))).all()
    assert (filled[40:-40, 20:-20] == 1).all()
    assert (move_labels(labels, "elastic_transform", 5, key="a") == 1).all()
    for bad, message in (
        (labels[0], "labels are int32"),
        (labels + 0.5, "labels are float64"),
        (labels[:0], "labels are int32"),
    ):
        with pytest.raises(LabelMapError, match=message):
            move_labels(bad, "fog", 1, key="a")
    with pytest.raises(LabelMapError, match="labels of int8 cannot hold the fill 255"):
        move_labels(labels.astype(np.int8), "elastic_transform", 1, key="a", fill=255)
