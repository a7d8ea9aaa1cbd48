"""Drawn scenes: laws that pictures, truth, instances and depth keep."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError
from faultscape.scenes import street
from faultscape.scenes.street import (
    CLASSES,
    LIGHTS,
    SIZE,
    corpus_scene,
    scene,
    training_scene,
    training_truth,
)
from refusals import refused

SMALL = (128, 80)
SKY, ROAD, CAR, PERSON, ANIMAL = 0, 2, 5, 7, 10


@pytest.fixture(scope="module")
def corpus():
    return [corpus_scene(index) for index in range(60)]


@pytest.mark.slow
def test_a_scene_follows_from_its_arguments(corpus):
    again = corpus_scene(3)
    for name in ("image", "truth", "instances", "depth"):
        np.testing.assert_array_equal(getattr(corpus[3], name), getattr(again, name))
    assert again.light == corpus[3].light


@pytest.mark.slow
def test_a_truth_without_its_image_is_that_of_the_scene() -> None:
    for index in range(20):
        np.testing.assert_array_equal(training_truth(index), training_scene(index).truth)


@pytest.mark.parametrize("other", [{"index": 6}, {"seed": 1}])
def test_another_number_or_seed_is_another_street(other):
    first, second = scene(5), scene(**{"index": 5, **other})
    assert (first.truth != second.truth).mean() > 0.05


@pytest.mark.parametrize("size", [SIZE, (128, 80), (101, 67)])
def test_shapes_and_types(size):
    drawn = scene(2, size=size)
    width, height = size
    assert drawn.image.shape == (height, width, 3)
    assert drawn.truth.shape == drawn.instances.shape == drawn.depth.shape == (height, width)
    assert (drawn.image.dtype, drawn.truth.dtype, drawn.instances.dtype, drawn.depth.dtype) == (
        np.uint8,
        np.uint8,
        np.uint16,
        np.float32,
    )


def test_classes_are_numbered_from_0_with_names_and_colours_of_their_own():
    ids, names, colours = zip(*CLASSES, strict=True)
    assert ids == tuple(range(len(CLASSES)))
    assert len(set(names)) == len(set(colours)) == len(CLASSES)


def test_every_pixel_has_a_class_and_every_class_occurs(corpus):
    seen = np.bincount(np.concatenate([s.truth.ravel() for s in corpus]))
    assert len(seen) == len(CLASSES)
    assert (seen > 500).all()


@pytest.mark.slow
def test_every_class_occurs_in_training_too():
    seen = np.bincount(
        np.concatenate([training_scene(index).truth.ravel() for index in range(25)]), minlength=len(CLASSES)
    )
    assert (seen > 50).all()


def test_an_instance_has_one_class_and_only_things_have_instances(corpus):
    for drawn in corpus:
        pairs = np.flatnonzero(
            np.bincount(drawn.instances.ravel().astype(np.int64) * 16 + drawn.truth.ravel())
        )
        instance, kind = pairs // 16, pairs % 16
        assert len(set(instance[instance > 0])) == (instance > 0).sum()
        assert (kind[instance > 0] >= CAR).all()
        assert (kind[instance == 0] < CAR).all()


def test_an_instance_stands_at_one_depth(corpus):
    for drawn in corpus[:20]:
        for number in np.unique(drawn.instances[drawn.instances > 0]):
            assert np.ptp(drawn.depth[drawn.instances == number]) == 0


def test_the_ground_lies_farther_away_the_higher_it_is_in_the_picture(corpus):
    for drawn in corpus:
        both = (drawn.truth[1:] == ROAD) & (drawn.truth[:-1] == ROAD)
        assert (drawn.depth[:-1][both] > drawn.depth[1:][both]).all()


def test_depth_is_finite_and_nothing_is_farther_than_the_sky(corpus):
    for drawn in corpus:
        sky = drawn.truth == SKY
        assert np.isfinite(drawn.depth).all()
        assert drawn.depth.min() > 0.4
        np.testing.assert_allclose(drawn.depth[sky], 1000, rtol=1e-6)
        assert (drawn.depth[~sky] <= 1000.001).all()


def test_what_is_near_looks_large(corpus):
    near, far = [], []
    for drawn in corpus:
        for number in np.unique(drawn.instances[drawn.truth == PERSON]):
            spot = drawn.instances == number
            rows = np.flatnonzero(spot.any(axis=1))
            if rows[-1] < drawn.truth.shape[0] - 1:
                (near if drawn.depth[spot][0] < 12 else far).append(np.ptp(rows) + 1)
    assert min(len(near), len(far)) > 10
    assert np.median(near) > 2 * np.median(far)


def test_training_is_daylight_and_the_corpus_is_mixed(corpus):
    assert {training_scene(index).light for index in range(10)} == {"day"}
    assert {s.light for s in corpus} == set(LIGHTS)
    assert (training_scene(0).truth != corpus[0].truth).any()


@pytest.mark.slow
def test_light_changes_the_picture():
    brightness = {
        light: np.mean([np.median(scene(index, light=light).image) for index in range(4)]) for light in LIGHTS
    }
    assert max(brightness["night"], brightness["dusk"]) < 0.75 * brightness["day"]
    contrast = {light: scene(4, light=light).image[40:120].std() for light in ("day", "fog")}
    assert contrast["fog"] < contrast["day"]


@pytest.mark.slow
def test_beasts_come_where_rare_things_are_asked_for():
    share = [
        np.mean([(scene(index, rare=rare, size=SMALL).truth == ANIMAL).mean() for index in range(25)])
        for rare in (False, True)
    ]
    assert share[1] > 1.5 * share[0]


def test_an_unknown_light_names_what_is_known():
    with refused(OptionError, "light 'moon' is not known; use mixed or one of day, dusk"):
        scene(0, light="moon")


def test_pictures_are_not_near_duplicates(corpus):
    small = np.stack([s.image[::8, ::8].astype(np.float32) for s in corpus]).reshape(len(corpus), -1)
    apart = np.abs(small[:, None] - small[None]).mean(axis=2) + np.eye(len(corpus)) * 255
    assert apart.min() > 5
    assert street.SIZE == (256, 160)
