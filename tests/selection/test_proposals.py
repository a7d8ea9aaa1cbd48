"""What each selector prefers, on four images that can be reckoned by hand."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError, SelectionError
from faultscape.selection import proposals
from refusals import refused

# four models on four images: all agree; three against one; two against two; all differ
LABELS = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 1, 3]])
FIRST, SECOND = np.triu_indices(4, 1)
DIFFERS = (LABELS[FIRST] != LABELS[SECOND]).astype(float)
EXPECTED = np.array([[0, 0.25, 0.5, 0.75], [0, 0.25, 0.5, 0.75], [0, 0.25, 0.5, 0.75], [0, 0.75, 0.5, 0.75]])


def test_votes_are_the_distribution_that_losses_are_expected_under() -> None:
    assert (proposals.expected_of_labels(LABELS) == EXPECTED).all()
    votes = np.array([[(column == c).mean() for c in range(4)] for column in LABELS.T])
    assert (proposals.expected_of_probabilities(votes, LABELS) == EXPECTED).all()


def test_the_others_stand_for_the_truth_of_a_label_map() -> None:
    concordance = np.full((3, 3, 1), np.nan)
    concordance[0, 1], concordance[2, 1] = 0.8, 0.6  # towards model 1, each of the others as the truth
    concordance[1, 0], concordance[1, 2] = 0.1, 0.2
    concordance[2, 0], concordance[0, 2] = np.nan, 0.4  # a map that one comparison lacks
    concordance[1, 1] = 1.0  # nobody is a truth for itself
    assert proposals.expected_of_concordances(concordance)[:, 0] == pytest.approx([0.9, 0.3, 0.7])
    concordance[1, 0] = np.nan
    with refused(SelectionError, "1 images have a model that no other"):
        proposals.expected_of_concordances(concordance)


def test_the_others_stand_for_the_truth_as_far_as_each_is_trusted() -> None:
    concordance = np.full((3, 3, 1), np.nan)
    concordance[0, 1], concordance[2, 1] = 0.8, 0.6
    concordance[1, 0], concordance[0, 2] = 0.1, 0.4
    trusted = proposals.expected_of_concordances(concordance, np.array([3.0, 5.0, 1.0]))
    assert trusted[:, 0] == pytest.approx([0.9, 1 - (3 * 0.8 + 0.6) / 4, 0.6])
    alike = proposals.expected_of_concordances(concordance, np.full(3, 7.0))
    assert alike == pytest.approx(proposals.expected_of_concordances(concordance))


def test_what_only_untrusted_models_dispute_weighs_the_floor() -> None:
    labels = np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 1, 2, 1], [0, 2, 3, 3, 0]])
    trust = np.array([2.0, 0.2, 0.19, 0.001])  # a tenth of the heaviest is trusted still
    assert proposals.disputed_among_trusted(labels, trust).tolist() == pytest.approx([0, 0.05, 1, 1, 0.05])
    assert proposals.disputed_among_trusted(labels, trust, floor=0.4).tolist() == pytest.approx(
        [0, 0.2, 1, 1, 0.2]
    )
    assert proposals.disputed_among_trusted(labels, np.ones(4)).tolist() == [0, 1, 1, 1, 1]
    # all alike below chance
    assert proposals.disputed_among_trusted(labels, np.full(4, 0.001)).tolist() == [0, 1, 1, 1, 1]
    # with whom should it differ
    assert proposals.disputed_among_trusted(labels, np.array([1, 0, 0, 0])).tolist() == [0, 1, 1, 1, 1]
    with refused(SelectionError, "no two models differ"):
        proposals.disputed_among_trusted(labels[:, :1], trust)


def test_random_prefers_nothing_and_disputed_asks_only_whether_any_two_differ() -> None:
    assert proposals.uniform(4).tolist() == [1, 1, 1, 1]
    assert proposals.disputed(DIFFERS, graded=False).tolist() == [0, 1, 1, 1]
    # pairs that differ, of six
    assert proposals.disputed(DIFFERS).tolist() == pytest.approx([0, 3 / 6, 4 / 6, 6 / 6])


def test_expected_loss_is_the_mean_over_models_with_a_floor_under_it() -> None:
    means = np.array([0, 0.375, 0.5, 0.75])
    floor = 0.1 * means.mean()
    assert proposals.expected_loss(EXPECTED) == pytest.approx([floor, *means[1:]])
    assert proposals.expected_loss(EXPECTED, floor=0.0).tolist() == means.tolist()
    assert proposals.expected_loss(EXPECTED, where=DIFFERS.any(0)).tolist() == [0, *means[1:]]
    with refused(OptionError, r"floor must lie in \[0, 1\)"):
        proposals.expected_loss(EXPECTED, floor=1.0)


def test_vma_sums_the_differences_of_expected_losses_over_pairs() -> None:
    # only image 1 has unequal votes: the odd model is .5 from each of the three others
    floor = 0.1 * 1.5 / 4
    assert proposals.vma(EXPECTED) == pytest.approx([floor, 1.5, floor, floor])
    assert proposals.vma(EXPECTED, where=DIFFERS.any(0)) == pytest.approx([0, 1.5, 0.05, 0.05])
    random = np.random.default_rng(0).random((6, 5))
    plainly = [sum(abs(column[a] - column[b]) for a in range(6) for b in range(a)) for column in random.T]
    assert proposals.vma(random, floor=0.0) == pytest.approx(plainly)


def test_nothing_to_expect_is_drawn_evenly() -> None:
    assert proposals.vma(np.full((3, 2), 0.5)).tolist() == [1, 1]


def test_mad_gives_every_pair_the_same_share_of_the_draws() -> None:
    pairs = np.array([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.01, 0.01]])  # the second pair is much more alike
    assert proposals.mad(pairs) == pytest.approx([4 * 0.45, 4 * 0.05, 4 * 0.25, 4 * 0.25])
    assert proposals.mad(np.vstack([pairs, np.zeros(4)])) == pytest.approx(proposals.mad(pairs))


def test_a_low_temperature_is_the_top_image_of_each_pair() -> None:
    pairs = np.array([[0.9, 0.8, 0.0], [0.2, 0.4, 0.6]])
    assert proposals.mad(pairs, 0.5) == pytest.approx(
        1.5 * np.array([0.81 / 1.45 + 0.04 / 0.56, 0.64 / 1.45 + 0.16 / 0.56, 0.36 / 0.56])
    )
    assert proposals.mad(pairs, 0.001) == pytest.approx([1.5, 0, 1.5], abs=1e-9)
    with refused(OptionError, "temperature must be a number above 0"):
        proposals.mad(pairs, 0.0)
    with refused(SelectionError, "no two models differ"):
        proposals.mad(np.zeros((2, 3)))


def test_entropy_is_that_of_the_ensemble_and_its_top_is_taken_in_order() -> None:
    by_hand = [0, -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), np.log(2), np.log(4)]
    assert proposals.entropy_of_labels(LABELS) == pytest.approx(by_hand)
    votes = np.array([[(column == c).mean() for c in range(4)] for column in LABELS.T])
    assert proposals.entropy(votes) == pytest.approx(by_hand)
    assert proposals.top(np.array([1.0, 2.0, 2.0, 3.0]), 3).tolist() == [3, 1, 2]
    assert proposals.top(np.array([1.0, 2.0, 2.0, 3.0]), 3, taken=np.array([3])).tolist() == [1, 2, 0]
    # what rounding leaves is a tie
    assert proposals.top(np.array([0.3, 0.1 + 0.2, 0.3 + 1e-11]), 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("wrong", [np.array([[np.nan, 1.0]]), np.array([[-0.1, 1.0]]), np.ones(3)])
def test_discrepancies_that_are_none_are_refused(wrong: np.ndarray) -> None:
    with refused(SelectionError, "one finite discrepancy, not below 0"):
        proposals.disputed(wrong)
