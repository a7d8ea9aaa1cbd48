"""Kinds of failure: keys that are each one's own, proposals that follow from what can be measured, counts and
differences as a plain loop makes them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage, stats

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.tags import proposals
from faultscape.labelling.tags.kinds import KINDS, kinds_of
from faultscape.labelling.tags.proposals import Light, Thresholds
from faultscape.labelling.tags.tag_counts import FEW, Tagged, explain, holm, tag_counts, tagged
from faultscape.nouns import Classes, Scale
from faultscape.study.answers.tags import Tag
from refusals import refused

CLASSES = Classes(("sky", "car", "person"), (0, 1, 2), ((0, 0, 0), (1, 1, 1), (2, 2, 2)), background=0)


def test_every_kind_has_a_key_and_a_sentence_of_its_own() -> None:
    for part in ({kind.key for kind in KINDS}, {kind.name for kind in KINDS}, {kind.says for kind in KINDS}):
        assert len(part) == len(KINDS)
    assert all(len(kind.key) == 1 and kind.says.endswith(".") for kind in KINDS)


def test_a_list_of_ones_own_takes_the_place_of_the_default_one() -> None:
    found = kinds_of({"wet road": "w", "dark": "D"})
    assert [(kind.name, kind.key) for kind in found] == [("wet road", "w"), ("dark", "D")]
    assert found[1].says  # what is known of a kind stays


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"wet": "ww"}, "the key of 'wet' is 'ww'; expected one character, such as 'a'"),
        ({"wet": ""}, "expected one character"),
        ({"wet": " "}, "expected one character"),
        ({"wet": "\n"}, "expected one character"),
        ({"a": "x", "b": "x"}, "'a' and 'b' have the same key 'x'"),
        ({" wet": "w"}, "is not a valid name"),
        ({"": "w"}, "is not a valid name"),
        ({"a\nb": "w"}, "is not a valid name"),
        ({str(k): chr(0x4E00 + k) for k in range(201)}, "at most 200 are allowed"),
    ],
)
def test_a_key_or_name_that_cannot_be_used_is_refused(own: dict[str, str], says: str) -> None:
    with refused(LabellingError, says):
        kinds_of(own)


def photo(level: float = 0.5, sigma: float = 0.0, seed: int = 0, side: int = 96) -> np.ndarray:
    """A photo of noise around a level, blurred."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(side, side)), sigma)
    return np.clip(255 * (level + 0.1 * noise / noise.std()), 0, 255).astype(np.uint8)[..., None].repeat(3, 2)


def test_sharpness_falls_with_blur_and_not_with_light_or_contrast() -> None:
    sharp, blurred = proposals.light_of(photo()), proposals.light_of(photo(sigma=2))
    assert blurred.sharpness < sharp.sharpness / 5
    darker = proposals.light_of((photo() // 2).astype(np.uint8))
    assert darker.light == pytest.approx(sharp.light / 2, rel=0.05)
    assert darker.sharpness == pytest.approx(sharp.sharpness, rel=0.05)


@settings(max_examples=20, deadline=None)
@given(arrays(np.uint8, (7, 9, 3)))
def test_light_and_sharpness_are_those_of_a_plain_loop(pixels: np.ndarray) -> None:
    luma = (0.299 * pixels[..., 0] + 0.587 * pixels[..., 1] + 0.114 * pixels[..., 2]) / 255
    found = proposals.light_of(pixels)
    assert found.light == pytest.approx(luma.mean())
    laplace = [
        luma[y - 1, x] + luma[y + 1, x] + luma[y, x - 1] + luma[y, x + 1] - 4 * luma[y, x]
        for y in range(1, 6)
        for x in range(1, 8)
    ]
    assert (
        math.isnan(found.sharpness)
        if luma.var() < 1e-6
        else found.sharpness == pytest.approx(np.var(laplace) / luma.var())
    )


def test_large_photos_are_measured_at_one_size() -> None:
    small = photo(sigma=3, side=256)
    assert proposals.light_of(small.repeat(4, 0).repeat(4, 1)).sharpness == pytest.approx(
        proposals.light_of(small).sharpness, rel=1e-6
    )


def test_what_is_dark_bright_or_blurred_follows_from_the_pool() -> None:
    pool = [Light(k / 100, (k * 37 % 101) / 100) for k in range(101)]
    ends = proposals.thresholds(pool)
    said = {k: [one.tag for one in proposals.propose_light(light, ends)] for k, light in enumerate(pool)}
    assert [k for k in said if "dark" in said[k]] == [0, 1, 2, 3, 4]
    assert [k for k in said if "bright" in said[k]] == [96, 97, 98, 99, 100]
    assert sum("blurred" in tags for tags in said.values()) == 5
    # all alike: none is darker
    assert not any(proposals.propose_light(light, proposals.thresholds([light] * 9)) for light in pool)
    assert proposals.propose_light(Light(0.0, math.nan), proposals.thresholds([])) == []


def test_a_share_of_the_pool_that_is_none_is_refused() -> None:
    with refused(OptionError, "dark must be a share of the pool from 0 to 0.5; got 0.6"):
        proposals.thresholds([], dark=0.6)
    assert proposals.thresholds([Light(0.5, 1.0)], dark=0, bright=0, blurred=0) == Thresholds(0.5, 0.5, 1.0)


@pytest.mark.parametrize(
    ("pixels", "proposed"), [(9, True), (10, False), (30, False), (31, True), (0, False)]
)
def test_extreme_is_outside_of_the_quartiles(pixels: int, proposed: bool) -> None:
    label_map = (np.arange(100) < pixels).astype(np.uint8).reshape(10, 10)
    scale = Scale(("sky", "car", "person"), (9, 9, 0), (0.9, 0.1, math.nan), (0.95, 0.3, math.nan))
    found = proposals.propose_scale(label_map, CLASSES, scale)
    assert (set(found) == {"car"}) == proposed  # sky is background
    assert not proposals.propose_scale(np.full((4, 4), 2), CLASSES, scale)  # no mask said what is usual
    assert set(proposals.propose_scale(label_map, CLASSES, scale, of=["person"])) == set()


def test_an_object_is_cut_where_the_border_runs_along_it() -> None:
    label_map = np.zeros((20, 20), np.uint8)
    label_map[8:12, 0:4] = 1  # half of a car
    label_map[0, 10] = label_map[1:5, 8:13] = 2  # a person that touches
    found = proposals.propose_cut(label_map, CLASSES)
    assert set(found) == {"car"}
    assert found["car"].measure == 1.0
    assert found["car"].reason == "4 of 16 pixels of the largest region of car lie on the border"
    label_map[14:19, 14:19] = 1  # a larger one, whole
    assert proposals.propose_cut(label_map, CLASSES) == {}
    assert set(proposals.propose_cut(np.full((9, 9), 9), CLASSES)) == set()  # void
    assert set(proposals.propose_cut(np.ones((1, 9), np.uint8), CLASSES)) == {"car"}


def test_a_class_that_is_cut_on_half_of_the_images_that_hold_it_is_said_to_be_cut_often() -> None:
    whole = np.pad(np.ones((6, 6), np.uint8), 3)
    cut = np.where(np.arange(12)[:, None] < 6, np.ones((12, 12), np.uint8), 0)
    # which is there on all of them
    assert proposals.often_cut([whole, whole, whole, cut, cut], CLASSES) == {"sky"}
    assert proposals.often_cut([whole, whole, cut, cut], CLASSES) == set()  # too few to tell
    assert proposals.often_cut([whole, whole, whole, cut, cut, cut], CLASSES) == {"sky", "car"}
    # void holds none
    assert proposals.often_cut([*[np.full((12, 12), 2)] * 4, np.full((12, 12), 9)], CLASSES) == set()


def plain(mine: np.ndarray, losses: np.ndarray) -> tuple[float, float]:
    """The difference and Welch's p-value, from scipy."""
    known = ~np.isnan(losses)
    one, other = losses[mine & known], losses[~mine & known]
    return one.mean() - other.mean(), float(np.asarray(stats.ttest_ind(one, other, equal_var=False))[1])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(14, 40))
def test_differences_are_those_of_welch_and_holm(seed: int, images: int) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.random((2, images))
    losses[rng.random(losses.shape) < 0.1] = np.nan
    members = rng.random((4, 2, images)) < 0.5
    found = explain(Tagged(tuple("abcd"), members, np.asarray(members.any(1))), losses)
    for j in range(2):
        p_values = {}
        for t in range(4):
            known = ~np.isnan(losses[j])
            numbers = int((members[t, j] & known).sum()), int((~members[t, j] & known).sum())
            assert found.images[t, j] == numbers[0]
            if min(numbers) < FEW:
                assert np.isnan([found.difference[t, j], *found.interval[t, j], found.p_value[t, j]]).all()
                continue
            gap, p_values[t] = plain(members[t, j], losses[j])
            assert found.difference[t, j] == pytest.approx(gap)
            low, high = found.interval[t, j]
            assert (low <= 0 <= high) == (p_values[t] >= 0.05)
        running = 0.0
        for place, t in enumerate(sorted(p_values, key=p_values.__getitem__)):
            running = max(running, min(1.0, (len(p_values) - place) * p_values[t]))
            assert found.p_value[t, j] == pytest.approx(running)


def test_right_and_wrong_answers_that_do_not_vary_leave_something_open() -> None:
    mine = np.arange(30) < 6
    found = explain(Tagged(("dark",), mine[None, None], mine[None]), mine.astype(float)[None])
    assert found.difference[0, 0] == 1
    assert found.interval[0, 0].round(3).tolist() == pytest.approx([0.586, 1.0], abs=2e-3)
    assert found.p_value[0, 0] == pytest.approx(1 / math.comb(30, 6))


@pytest.mark.slow
def test_intervals_of_shares_hold_the_difference_as_often_as_they_say() -> None:
    rng, held, repeats = np.random.default_rng(4), 0, 1500
    mine = np.arange(60) < 15
    for _ in range(repeats):
        losses = (rng.random(60) < np.where(mine, 0.6, 0.2)).astype(float)
        low, high = explain(Tagged(("dark",), mine[None, None], mine[None]), losses[None]).interval[0, 0]
        held += low <= 0.4 <= high
    assert 0.93 < held / repeats < 0.975


def test_groups_are_the_unit_where_images_belong_together() -> None:
    rng, held, alone, repeats, losses, low, high = (
        np.random.default_rng(5),
        0,
        0,
        500,
        np.zeros(120),
        0.0,
        0.0,
    )
    groups = [f"g{k // 6}" for k in range(120)]
    mine = np.arange(120) % 120 < 60  # ten groups each
    for _ in range(repeats):
        losses = np.repeat(rng.normal(size=20), 6) + 0.3 * rng.normal(size=120)
        both = Tagged(("night",), mine[None, None], mine[None])
        (low, high), (near, far) = (
            explain(both, losses[None], groups).interval[0, 0],
            explain(both, losses[None]).interval[0, 0],
        )
        held, alone = held + (low <= 0 <= high), alone + (near <= 0 <= far)
    assert held / repeats > 0.91
    gaps = [
        (losses[k * 6 : k * 6 + 6] - losses[(k // 10) * 60 : (k // 10) * 60 + 60].mean()).sum() / 60
        for k in range(20)
    ]
    assert (high - low) / 2 == pytest.approx(
        stats.t.ppf(0.975, 19) * math.sqrt(20 / 19 * sum(gap**2 for gap in gaps))
    )
    assert alone / repeats < 0.75  # images alone are too sure
    few = explain(
        Tagged(("night",), mine[None, None], mine[None]), rng.random((1, 120)), ["a"] * 60 + ["b"] * 60
    )
    assert not np.isnan(few.difference).any()
    assert np.isnan(few.interval).all()


def test_graded_losses_that_do_not_vary_carry_no_interval() -> None:
    mine = np.arange(20) < 10
    found = explain(Tagged(("dark",), mine[None, None], mine[None]), np.full((1, 20), 0.25))
    assert found.difference[0, 0] == 0
    assert np.isnan(found.interval).all()
    assert np.isnan(found.p_value).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_never_below_the_value_itself_and_keeps_the_order(p_values: list[float]) -> None:
    found = holm(np.array(p_values))
    assert (found >= np.array(p_values)).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_a_tag_of_one_model_counts_for_that_model_alone() -> None:
    given = [
        Tag("x", "dark", "ann"),
        Tag("x", "dark", "bea"),
        Tag("y", "blurred", "ann", model="b"),
        Tag("z", "dark", "ann", region="0,0,2,2"),
        Tag("gone", "odd", "ann"),
        Tag("x", "odd", "ann", model="gone"),
    ]
    held = tagged(given, ["x", "y", "z"], ["a", "b"])
    assert held.names == ("blurred", "dark")
    assert held.of_models[1].astype(int).tolist() == [[1, 0, 1], [1, 0, 1]]
    failed = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, np.nan]])
    counts = tag_counts(held, failed)
    assert counts.images.count.tolist() == [1, 2]
    assert counts.failures.count.tolist() == [[0, 1], [1, 0]]
    assert counts.failures.of.tolist() == [[2, 1], [2, 1]]
    # model a's prediction was not tagged as blurred: it is not known that none of its failures is
    assert np.isnan(counts.failures.value).tolist() == [[True, False], [False, False]]
    assert np.isnan(counts.failures.interval[0, 0]).all()
    assert counts.failures.value[1].tolist() == [0.5, 0]


def test_losses_that_do_not_fit_are_refused() -> None:
    held = tagged([Tag("x", "dark", "ann")], ["x", "y"], ["a"])
    for values, says in ((np.zeros((1, 3)), "got shape"), (np.array([[1.0, np.inf]]), "with infinity")):
        with refused(LabellingError, says):
            explain(held, values)
    with refused(LabellingError, "expected one group per image; got 1 for 2"):
        explain(held, np.zeros((1, 2)), ["a"])
