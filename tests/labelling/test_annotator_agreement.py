"""Alpha is Krippendorff's, by his own example and pair by pair; kappa is Cohen's; masks are compared over the
images both labelled.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made
from faultscape.errors import LabellingError, LabelMapError, OptionError
from faultscape.labelling.people.annotator_agreement import (
    SCALES,
    Scale,
    alpha,
    mask_agreement,
    mask_counts,
    pair_agreement,
)
from refusals import refused

# Krippendorff's example: four observers, twelve units, values 1 to 5, . a vote that is missing
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def example() -> tuple[list[int], list[int], list[int]]:
    rows = [(u, a, int(v) - 1) for a, row in enumerate(OBSERVERS) for u, v in enumerate(row) if v != "."]
    item, who, label = zip(*rows, strict=True)
    return list(item), list(who), list(label)


def alpha_by_pairs(item: np.ndarray, label: np.ndarray, scale: str) -> float:
    """One minus the mean distance of pairs within items over that of all pairs, each item's pairs weighing as
    one vote less than it has.
    """
    kept = [i for i in np.unique(item) if (item == i).sum() > 1]
    votes = np.concatenate([label[item == i] for i in kept]) if kept else np.zeros(0, int)
    n = len(votes)

    def apart(c: int, k: int) -> float:
        if scale == "nominal":
            return float(c != k)
        if scale == "interval":
            return float(c - k) ** 2
        low, high = min(c, k), max(c, k)
        return (
            float(
                ((votes >= low) & (votes <= high)).sum() - ((votes == low).sum() + (votes == high).sum()) / 2
            )
            ** 2
        )

    within = sum(
        sum(apart(c, k) for c in label[item == i] for k in label[item == i]) / ((item == i).sum() - 1)
        for i in kept
    )
    among = sum(apart(c, k) for c in votes for k in votes)
    return 1 - within * (n - 1) / among if among else float("nan")


@pytest.mark.parametrize(
    ("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_example_is_what_he_published(scale: Scale, published: float) -> None:
    found = alpha(*example(), scale)
    assert round(found.value, 3) == published
    assert (found.items, found.votes) == (11, 40)
    assert found.interval[0] < found.value < found.interval[1] <= 1


@given(
    seed=st.integers(0, 10_000),
    items=st.integers(1, 12),
    labels=st.integers(1, 5),
    scale=st.sampled_from(SCALES),
)
@settings(max_examples=80, deadline=None)
def test_alpha_is_that_of_all_pairs(seed: int, items: int, labels: int, scale: Scale) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.random((items, 4)) < 0.7
    item, who = np.nonzero(cells)
    label = np.where(rng.random(len(item)) < 0.5, item % labels, rng.integers(0, labels, len(item)))
    assert alpha(item, who, label, scale, resamples=0).value == pytest.approx(
        alpha_by_pairs(item, label, scale), nan_ok=True
    )


def test_alpha_is_near_zero_of_votes_by_chance_one_of_full_agreement_and_undefined_of_one_value_alone() -> (
    None
):
    rng = np.random.default_rng(0)
    item, who = np.repeat(np.arange(400), 3), np.tile([0, 1, 2], 400)
    for scale in SCALES:
        chance = alpha(item, who, rng.integers(0, 3, 1200), scale, resamples=300)
        assert abs(chance.value) < 0.06
        assert chance.interval[0] < 0 < chance.interval[1]
        assert alpha(item, who, item % 3, scale, resamples=0).value == pytest.approx(1)
        nothing = alpha(item, who, np.ones(1200, int), scale)
        assert np.isnan(nothing.value)
        assert np.isnan(nothing.interval).all()
    alone = alpha([0, 1, 2], [0, 0, 0], [0, 1, 2])
    assert (alone.items, alone.votes) == (0, 0)
    assert np.isnan(alone.value)


def test_alpha_of_an_interval_scale_takes_the_numbers_that_labels_stand_for() -> None:
    item, who, label = example()
    stretched = alpha(item, who, label, "interval", values=[10, 20, 30, 40, 50], resamples=0).value
    assert stretched == pytest.approx(alpha(item, who, label, "interval", resamples=0).value)
    assert alpha(item, who, label, "interval", values=[0, 0, 0, 0, 9], resamples=0).value != pytest.approx(
        stretched
    )


def test_the_interval_of_alpha_holds_the_alpha_of_all_items_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 40_000)
    votes = np.where(rng.random((40_000, 3)) < 0.75, truth[:, None], rng.integers(0, 3, (40_000, 3)))
    whole = alpha(
        np.repeat(np.arange(40_000), 3), np.tile([0, 1, 2], 40_000), votes.ravel(), resamples=0
    ).value
    held = 0
    for k in range(200):
        low, high = alpha(
            np.repeat(np.arange(80), 3),
            np.tile([0, 1, 2], 80),
            votes[80 * k : 80 * k + 80].ravel(),
            resamples=300,
            seed=k,
        ).interval
        held += low <= whole <= high
    assert 180 <= held <= 198


def test_of_several_votes_of_one_annotator_on_an_item_the_last_counts() -> None:
    item, who, label = example()
    before = alpha([*item[:3], *item], [*who[:3], *who], [4, 4, 4, *label], resamples=0)
    assert before.value == alpha(item, who, label, resamples=0).value


@given(seed=st.integers(0, 10_000), people=st.integers(2, 4), labels=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_kappa_of_each_two_is_that_of_their_common_items(seed: int, people: int, labels: int) -> None:
    rng = np.random.default_rng(seed)
    item, who = np.nonzero(rng.random((14, people)) < 0.8)
    label = np.where(rng.random(len(item)) < 0.6, item % labels, rng.integers(0, labels, len(item)))
    said = pair_agreement(item, who, label, annotators=people)
    table = np.full((14, people), -1)
    table[item, who] = label
    for a in range(people):
        for b in range(people):
            both = (table[:, a] >= 0) & (table[:, b] >= 0)
            x, y = table[both, a], table[both, b]
            assert said.common[a, b] == both.sum()
            alike = (x == y).mean() if both.any() else float("nan")
            assert said.alike[a, b] == pytest.approx(alike, nan_ok=True)
            chance = (
                sum((x == c).mean() * (y == c).mean() for c in range(labels)) if both.any() else float("nan")
            )
            wanted = (
                (alike - chance) / (1 - chance) if both.sum() >= 6 and chance < 1 - 1e-12 else float("nan")
            )
            assert said.kappa[a, b] == pytest.approx(wanted, nan_ok=True)


def test_masks_are_compared_over_the_images_both_labelled_and_void_of_either_counts_for_nothing() -> None:
    rng = np.random.default_rng(2)
    truths = [made.blobs(rng, (20, 24)) for _ in range(6)]
    labelled = []
    for k, truth in enumerate(truths):
        who = [0, 1] if k < 4 else [1, 2]
        maps = np.stack([made.disturbed(rng, truth, 1 + a) for a in who])
        maps[rng.random(maps.shape) < 0.1] = 5
        labelled.append((who, maps))
    counts, images = mask_counts(iter(labelled), 4, 5)
    found = mask_agreement(counts, images)
    assert images.tolist() == [[4, 4, 0, 0], [4, 6, 2, 0], [0, 2, 2, 0], [0, 0, 0, 0]]
    x, y = (np.concatenate([maps[k].ravel() for who, maps in labelled if who == [0, 1]]) for k in (0, 1))
    x, y = x[(x < 5) & (y < 5)], y[(x < 5) & (y < 5)]
    classes = [c for c in range(5) if (x == c).any() or (y == c).any()]
    wanted = np.mean([((x == c) & (y == c)).sum() / ((x == c) | (y == c)).sum() for c in classes])
    assert found.miou[0, 1] == found.miou[1, 0] == pytest.approx(wanted)
    assert np.isnan(found.miou[[0, 0, 2, 3], [2, 3, 3, 3]]).all()
    assert np.array_equal(counts[1, 2], counts[2, 1].T)
    assert not np.array_equal(counts[1, 2], counts[2, 1])


def test_people_who_classified_the_same_images_agree_beyond_chance(data: Path) -> None:
    """Five of 82 raters an item of reassessed ImageNet, who said no, maybe or yes."""
    votes = np.load(data / "classifiers" / "reassessed-imagenet" / "votes.npz", allow_pickle=False)
    found = alpha(votes["vote_pair"], votes["vote_rater"], votes["vote_answer"], "ordinal", resamples=200)
    assert found.items == 15_801
    assert found.value == pytest.approx(0.516, abs=0.001)
    assert found.interval[0] < found.value < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.03


def test_what_cannot_be_compared_is_refused_in_one_line() -> None:
    with refused(
        OptionError, "scale 'ordnal' is not known; use nominal, ordinal, interval. Did you mean 'ordinal'"
    ):
        alpha([0], [0], [0], "ordnal")  # pyright: ignore[reportArgumentType]
    with refused(OptionError, "values: expected a finite number for each of 2 labels; got 1"):
        alpha([0, 0], [0, 1], [0, 1], "interval", values=[1.0])
    maps = np.zeros((2, 2, 2), np.uint8)
    with refused(LabellingError, "annotators of image 0: row 1 holds 7; expected whole numbers from 0 to 1"):
        mask_counts([((0, 7), maps)], 2, 2)
    with refused(LabellingError, r"image 0: expected one map per annotator; got 2 maps for \[1, 1\]"):
        mask_counts([((1, 1), maps)], 2, 2)
    with refused(LabelMapError, "holds the label 3; allowed are 0 to 2"):
        mask_counts([((0, 1), maps + 3)], 2, 2)
