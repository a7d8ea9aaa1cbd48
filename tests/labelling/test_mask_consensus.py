"""The consensus of annotators' maps equals a vote a pixel at a time, and finds the truth that each of them
missed.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made
from faultscape.errors import LabelMapError, OptionError
from faultscape.labelling.people.mask_consensus import Tie, consensus, dispute, images_to_discuss
from refusals import refused


def a_pixel_at_a_time(
    maps: np.ndarray, classes: int, tie: str, weights: list[float], skill: list[float]
) -> np.ndarray:
    out = np.zeros_like(maps[0])
    order = sorted(range(len(maps)), key=lambda a: -skill[a])
    for at in np.ndindex(out.shape):
        votes = np.zeros(classes + 1)
        for a, weight in enumerate(weights):
            votes[maps[(a, *at)]] += weight
        most = votes.max()
        if most > sum(weights) / 2 + 1e-9:
            out[at] = votes.argmax()
        else:
            out[at] = (
                classes
                if tie == "void"
                else next(maps[(a, *at)] for a in order if votes[maps[(a, *at)]] > most - 1e-9)
            )
    return out


@given(
    seed=st.integers(0, 10_000),
    people=st.integers(1, 6),
    classes=st.integers(1, 5),
    tie=st.sampled_from(["void", "skill"]),
    weighted=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_it_is_a_vote_a_pixel_at_a_time(
    seed: int, people: int, classes: int, tie: Tie, *, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    maps = rng.integers(0, classes + 1, (people, 6, 7)).astype(np.uint8)
    weights = rng.choice([0.1, 0.2, 0.3, 1.0], people).tolist() if weighted else [1.0] * people
    skill = rng.choice([0.5, 0.7, 0.9], people).tolist()
    found = consensus(maps, classes, tie=tie, weights=weights, skill=skill)
    assert found.dtype == maps.dtype
    assert np.array_equal(found, a_pixel_at_a_time(maps, classes, tie, weights, skill))


@given(seed=st.integers(0, 10_000), people=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_neither_the_order_of_annotators_nor_the_numbers_of_classes_matter_and_one_alone_is_the_consensus(
    seed: int, people: int
) -> None:
    rng = np.random.default_rng(seed)
    maps, names, order = (
        rng.integers(0, 4, (people, 5, 5)).astype(np.uint8),
        rng.permutation(3),
        rng.permutation(people),
    )
    moved = np.append(names, 3).astype(np.uint8)
    assert np.array_equal(consensus(moved[maps][order], 3), moved[consensus(maps, 3)])
    assert np.array_equal(consensus(maps[:1], 3), maps[0])
    assert np.array_equal(consensus(np.repeat(maps[:1], 3, 0), 3), maps[0])


def test_the_consensus_of_three_who_err_in_different_places_is_nearer_the_truth_than_any_of_them() -> None:
    rng = np.random.default_rng(0)
    alone, together = [], []
    for _ in range(10):
        truth = made.blobs(rng, (60, 80))
        maps = np.stack([made.disturbed(rng, truth, 3) for _ in range(3)])
        alone.append(min((one != truth).mean() for one in maps))
        together.append((consensus(maps, 5, tie="skill") != truth).mean())
    assert np.mean(together) < 0.5 * np.mean(alone)


def test_the_more_skilled_decides_between_two_and_the_heavier_vote_outweighs_both_others() -> None:
    maps = np.array([[[0, 1]], [[1, 1]]], np.uint8)
    assert consensus(maps, 2).tolist() == [[2, 1]]
    assert consensus(maps, 2, tie="skill", skill=[0.6, 0.8]).tolist() == [[1, 1]]
    assert consensus(maps, 2, tie="skill", skill=[0.8, 0.8]).tolist() == [[0, 1]]
    assert consensus(np.concatenate([maps, maps[1:]]), 2, weights=[3, 1, 1]).tolist() == [[0, 1]]


def test_images_to_discuss_are_those_on_which_annotators_disagree_worst_first() -> None:
    rng = np.random.default_rng(1)
    truths = [made.blobs(rng, (40, 50)) for _ in range(6)]
    errors = (0, 1, 12, 0, 5, 0)
    found = [
        dispute(np.stack([made.disturbed(rng, t, e) for _ in range(3)]), 5)
        for t, e in zip(truths, errors, strict=True)
    ]
    assert [one for one in found if one.disputed == 0] == [found[0], found[3], found[5]]
    assert found[0].miou == 1
    listed = images_to_discuss(found)
    assert set(listed) >= {2, 4}
    assert not set(listed) & {0, 3, 5}
    assert [found[k].miou for k in listed] == sorted(found[k].miou for k in listed)
    assert images_to_discuss(found, share=1.0, least_miou=0.0) == []


def test_the_share_of_disputed_pixels_and_the_miou_are_those_of_every_pixel() -> None:
    rng = np.random.default_rng(2)
    maps = rng.integers(0, 4, (3, 9, 8)).astype(np.uint8)
    each = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        known = (maps[a] < 3) & (maps[b] < 3)
        x, y = maps[a][known], maps[b][known]
        each.append(np.mean([((x == c) & (y == c)).sum() / ((x == c) | (y == c)).sum() for c in range(3)]))
    found = dispute(maps, 3)
    assert found.disputed == (maps != maps[0]).any(0).mean()
    assert found.miou == pytest.approx(np.mean(each))
    alone = dispute(maps[:1], 3)
    assert alone.disputed == 0
    assert np.isnan(alone.miou)


def test_large_maps_take_a_fraction_of_a_second() -> None:
    rng = np.random.default_rng(3)
    truth = made.blobs(rng, (1000, 2000))
    maps = np.stack([made.disturbed(rng, truth, 4) for _ in range(5)])
    start = time.process_time()
    consensus(maps, 20)
    assert time.process_time() - start < 1.5


def test_what_are_no_maps_of_one_image_is_refused_in_one_line() -> None:
    maps = np.zeros((2, 3, 3), np.uint8)
    with refused(LabelMapError, "expected maps of the same size"):
        consensus([maps[0], maps[0, :2]], 2)
    with refused(LabelMapError, "map 0 holds the label 5; allowed are 0 to 2"):
        dispute(maps + np.uint8(5), 2)
    with refused(LabelMapError, "expected maps of one type, uint8 or uint16; got"):
        consensus(maps.astype(float), 2)
    with refused(OptionError, "tie 'skil' is not known; use void or skill. Did you mean 'skill'"):
        consensus(maps, 2, tie="skil")  # pyright: ignore[reportArgumentType]
    with refused(OptionError, r"skill: expected a finite number for each of 2 annotators; got \[1.\]"):
        consensus(maps, 2, skill=[1.0])
    with refused(OptionError, "weights: expected numbers above 0; got -1"):
        consensus(maps, 2, weights=[1, -1])
