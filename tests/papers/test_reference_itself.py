"""The reference is worth something only if it agrees with arithmetic done by hand."""

import numpy as np
import pytest
from mad_reference import (
    bradley_terry,
    competition,
    confusion,
    fwiou,
    matrices,
    miou,
    mpa,
    performance,
    quartiles,
    reuse,
    select,
    thurstone,
)
from scipy.special import log_ndtr, ndtr

A_MAP = np.array([[0, 0, 0], [1, 2, 2]])
B_MAP = np.array([[0, 0, 1], [1, 2, 0]])


def toy(models, images=12, classes=4, seed=5):
    """Random 6x8 maps with truth; every class may be selected at any share."""
    rng = np.random.default_rng(seed)
    ids = [f"x/{k:02d}" for k in range(images)]
    truth = {k: rng.integers(0, classes, (6, 8)) for k in ids}
    maps = {
        f: {k: np.where(rng.random((6, 8)) < 0.2 + 0.1 * m, truth[k], 0) for k in ids}
        for m, f in enumerate(models)
    }
    return maps, truth, classes, dict.fromkeys(range(1, classes), (0.0, 1.0))


def test_confusion_of_two_small_maps_by_hand():
    assert confusion(A_MAP, B_MAP, 3).tolist() == [[2, 1, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]


def test_concordances_of_two_small_maps_by_hand():
    table = confusion(A_MAP, B_MAP, 3)  # IoU: 2 of 4, 1 of 2, 1 of 2
    assert miou(table) == pytest.approx(1 / 2)
    assert fwiou(table) == pytest.approx(1 / 2)
    assert mpa(table) == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert mpa(table.T) == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    other = confusion(A_MAP, [[0, 0, 0], [1, 1, 1]], 3)  # IoU: 3 of 3, 1 of 3, 0 of 2
    assert miou(other) == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert fwiou(other) == pytest.approx((3 * 1 + 1 * 1 / 3 + 2 * 0) / 6)
    assert fwiou(other.T) == pytest.approx((3 * 1 + 3 * 1 / 3) / 6)
    assert mpa(other) == pytest.approx((1 + 1 + 0) / 3)
    assert mpa(other.T) == pytest.approx((1 + 1 / 3) / 2)


def test_a_class_in_neither_map_does_not_count():
    assert [m(confusion(A_MAP, A_MAP, 9)) for m in (miou, fwiou, mpa)] == pytest.approx([1, 1, 1])
    assert [float(m(confusion(A_MAP, B_MAP, 9))) for m in (miou, fwiou, mpa)] == [
        float(m(confusion(A_MAP, B_MAP, 3))) for m in (miou, fwiou, mpa)
    ]


def test_void_truth_is_dropped_and_predicted_void_is_a_miss():
    table = confusion([[0, 0, 255], [1, 1, 255]], [[0, 255, 0], [1, 1, 1]], 2)  # IoU: 1 of 2, 2 of 2
    assert miou(table) == pytest.approx(3 / 4)
    assert fwiou(table) == pytest.approx((2 * 1 / 2 + 2 * 1) / 4)
    assert mpa(table) == pytest.approx(3 / 4)
    assert all(np.isnan(m(confusion([[255]], [[0]], 2))) for m in (miou, fwiou, mpa))


def test_quartiles_are_over_masks_that_hold_the_class_with_void_below_the_line():
    masks = [np.array([1] * k + [255] * (10 - k)) for k in (0, 1, 2, 3, 5)] + [np.array([2, 0])]
    scale = quartiles(masks, 4, background=0)
    assert scale == {1: pytest.approx((0.175, 0.35)), 2: pytest.approx((0.5, 0.5))}


def test_selection_keeps_the_closed_interval_and_breaks_ties_by_image_id():
    shares = np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [0.0, 0.31], [0.0, 0.0], [0.0, 0.2]])
    concordance = np.array([0.5, 0.4 + 1e-14, 0.4, 0.1, 0.0, np.nan])
    images = ["e", "a", "b", "c", "d", "f"]
    assert select(concordance, shares, images, {1: (0.1, 0.3)}, 2) == {1: [("a", 0.4), ("b", 0.4)]}
    assert select(concordance, shares, images, {1: (0.1, 0.3)}, 9) == {
        1: [("a", 0.4), ("b", 0.4), ("e", 0.5)]
    }
    assert select(concordance, shares, images, {1: (0.0, 0.05)}) == {1: []}


def test_equation_four_is_a_mean_of_means_over_groups_that_hold_a_label():
    values = {"a": 0.2, "b": 0.4, "c": 0.9, "void": float("nan")}
    assert performance(values, [["a", "b"], ["c", "void"], [], ["unlabelled"]]) == pytest.approx(
        (0.3 + 0.9) / 2
    )
    assert np.isnan(performance(values, [[], ["unlabelled"]]))


def test_equations_three_and_five_by_hand():
    values = {"f": {"a": 0.2, "b": 0.6}, "g": {"a": 0.5, "b": 0.3}}
    slots = {("f", "g"): {1: ["a"]}, ("g", "f"): {1: ["a"], 2: ["b"]}}
    attack, resist = matrices(["f", "g"], slots, values, epsilon=0.01)
    assert attack == pytest.approx(np.array([[1, 0.41 / 0.41], [0.51 / 0.21, 1]]))
    assert resist == pytest.approx(np.array([[1, 0.21 / 0.51], [0.41 / 0.41, 1]]))


@pytest.mark.parametrize("concordance", ["miou", "fwiou", "mpa"])
def test_resistance_is_the_elementwise_inverse_of_transposed_aggressiveness(concordance):
    run = competition(*toy(["p", "q", "r"]), concordance=concordance, per_class=2)
    assert run["A"].diagonal().tolist() == [1, 1, 1]
    assert run["A"] * run["R"].T == pytest.approx(np.ones((3, 3)))


def test_each_slot_holds_the_lowest_concordance_with_the_defenders_map_as_reference():
    maps, truth, classes, scale = toy(["p", "q", "r"])
    run = competition(maps, truth, classes, scale, concordance="mpa")
    assert len(run["slots"]) + run["empty"] == 3 * 2 * 3
    for defender, attacker, y, image, value in run["slots"]:
        every = {k: float(mpa(confusion(maps[defender][k], maps[attacker][k], classes))) for k in truth}
        assert value == pytest.approx(min(v for k, v in every.items() if (maps[defender][k] == y).any()))
        assert value == pytest.approx(every[image])


def test_one_more_model_leaves_the_old_block_as_it_was():
    maps, truth, classes, scale = toy(["p", "q", "r", "s"])
    full = competition(maps, truth, classes, scale)
    part = competition({f: maps[f] for f in "pqr"}, truth, classes, scale)
    assert [slot for slot in full["slots"] if "s" not in slot[:2]] == part["slots"]
    assert np.array_equal(full["A"][:3, :3], part["A"])
    assert np.array_equal(full["R"][:3, :3], part["R"])


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 1), (0.2, 7.5), (1000, 0.001)])
def test_two_models_have_a_closed_form(a, b):
    scores = thurstone([[1, a], [b, 1]])
    assert scores.sum() == pytest.approx(1, abs=1e-12)
    assert ndtr(scores[0] - scores[1]) == pytest.approx(a / (a + b), rel=1e-9)


def test_balanced_cycle_gives_equal_scores():
    assert thurstone([[1, 4, 1], [1, 1, 4], [4, 1, 1]]) == pytest.approx(np.full(3, 1 / 3), abs=1e-12)


def test_weights_drawn_from_known_scores_give_them_back():
    known = np.array([0.9, 0.5, 0.2, -0.6])
    assert thurstone(ndtr(known[:, None] - known[None, :])) == pytest.approx(known, abs=1e-10)


def test_the_maximum_is_flat_lower_around_and_blind_to_diagonal_and_common_factor():
    weights = np.exp(np.random.default_rng(0).normal(size=(5, 5)))
    scores = thurstone(weights)

    def likelihood(s):
        return (weights * log_ndtr(s[:, None] - s[None, :])).sum()

    for direction in np.eye(5):
        up, down = likelihood(scores + 1e-4 * direction), likelihood(scores - 1e-4 * direction)
        assert abs(up - down) < 1e-9
        assert max(up, down) < likelihood(scores)
    assert thurstone(7 * weights + np.diag(range(5))) == pytest.approx(scores, abs=1e-10)


def test_a_model_that_never_wins_has_no_finite_score():
    with pytest.raises(ValueError, match="no finite maximum"):
        thurstone([[1, 2], [0, 1]])


def test_bradley_terry_of_two_and_of_a_chain_by_hand():
    assert bradley_terry([[0, 3], [1, 0]]) == pytest.approx(np.log(3.5 / 1.5) * np.array([0.5, -0.5]))
    first, second = np.log(2.5 / 0.5), np.log(1.5 / 0.5)  # a beats b twice, b beats c once, a never meets c
    scores = bradley_terry([[0, 2, 0], [0, 0, 1], [0, 0, 0]])
    assert -np.diff(scores) == pytest.approx([first, second])
    assert scores.sum() == pytest.approx(0, abs=1e-12)


def test_reuse_counts_every_labelled_image_once_and_halves_equal_ones():
    values = {"f": {"a": 0.5, "b": 0.7, "c": 0.4}, "g": {"a": 0.5, "b": 0.1, "c": 0.3}}
    mean, strengths = reuse(["f", "g"], ["a", "b", "c", "unlabelled"], values)
    assert mean == pytest.approx([1.6 / 3, 0.3])
    assert strengths[0] - strengths[1] == pytest.approx(np.log((2.5 + 0.5) / (0.5 + 0.5)))
