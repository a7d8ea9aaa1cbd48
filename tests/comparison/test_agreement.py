"""How far models agree before any label: the table is a plain mean, and what is misplaced is named, in real
networks and in none that are as they should be.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.classes.class_lists import resolve
from faultscape.comparison.agreement import alike, mean_agreement, table_text
from faultscape.comparison.agreement_words import warnings
from faultscape.comparison.candidate_orders import NONE
from faultscape.comparison.concordance import concordances
from faultscape.comparison.misplacement import find_misplaced
from faultscape.nouns import Predictions


def iou(one: np.ndarray, other: np.ndarray) -> float:
    """mIoU over the classes of either map, pixel by pixel."""
    values = [
        ((one == c) & (other == c)).sum() / ((one == c) | (other == c)).sum()
        for c in range(3)
        if c in one or c in other
    ]
    return float(np.mean(values))


def test_the_table_is_the_mean_over_images_that_two_models_have() -> None:
    rng = np.random.default_rng(3)
    maps: dict[str, list] = {name: list(rng.integers(0, 3, (6, 12, 20))) for name in "abc"}
    maps["d"] = [m.copy() for m in maps["a"]]
    maps["b"][2] = None
    whole = fs.comparison.count(maps, classes=3)
    parts = [
        fs.comparison.count({n: m[s] for n, m in maps.items()}, classes=3) for s in (slice(0, 4), slice(4, 6))
    ]
    for found in (mean_agreement(whole), mean_agreement(parts)):
        assert found.images[0].tolist() == [0, 5, 6, 6]
        wanted = np.mean([iou(x, y) for x, y in zip(maps["a"], maps["b"], strict=True) if y is not None])
        assert found.mean[0, 1] == pytest.approx(wanted, abs=1e-12)
        assert found.mean[1, 0] == found.mean[0, 1]
        assert alike(found) == [("a", "d")]
    maps["d"][5][0, 0] = (maps["d"][5][0, 0] + 1) % 3
    assert alike(mean_agreement(fs.comparison.count(maps, classes=3))) == []  # one pixel of 1,440 is enough
    # and is not rounded away
    assert " .99" in table_text(mean_agreement(fs.comparison.count(maps, classes=3))).splitlines()[2]


def test_agreement_is_the_mean_of_both_directions_where_a_concordance_has_two() -> None:
    rng = np.random.default_rng(4)
    maps = {name: list(rng.integers(0, 3, (4, 6, 8))) for name in "ab"}
    both = fs.comparison.count(maps, classes=3)
    values = concordances(both, "fwiou")
    assert (values[0, 1] != values[1, 0]).all()
    found = mean_agreement(both, "fwiou").mean
    assert found[0, 1] == found[1, 0] == pytest.approx((values[0, 1] + values[1, 0]).mean() / 2, abs=1e-12)


def test_maps_are_alike_only_where_both_have_no_class_on_the_same_pixels() -> None:
    one = np.random.default_rng(5).integers(0, 3, (4, 6, 8)).astype(np.uint8)
    one[:, 0] = 255
    less = one.copy()
    less[1, 3, 3] = 255  # says nothing of one more pixel
    for other, pairs in ((one.copy(), [("a", "b")]), (less, [])):
        for first, second in ((one, other), (other, one)):
            assert (
                alike(
                    mean_agreement(
                        fs.comparison.count({"a": first, "b": second}, classes=resolve(3, void=255))
                    )
                )
                == pairs
            )


def test_an_image_of_which_one_classifier_says_nothing_counts_for_no_pair_of_it() -> None:
    labels = np.array([[0, 1, -1, 2, -1], [0, 2, 1, 2, -1], [0, 2, 1, -1, 0]])
    found = mean_agreement(
        Predictions(resolve(3), tuple("abc"), tuple("vwxyz"), labels, np.full((3, 5), np.nan))
    )
    assert found.images[np.triu_indices(3, 1)].tolist() == [3, 2, 3]
    assert found.mean[np.triu_indices(3, 1)] == pytest.approx([2 / 3, 1 / 2, 1])
    assert alike(found) == [("b", "c")]


def test_a_duel_of_two_models_that_agree_everywhere_has_no_slot() -> None:
    rng = np.random.default_rng(3)
    maps = {name: rng.integers(0, 3, (6, 4, 5)) for name in "ab"}
    maps["c"] = maps["a"].copy()
    maps["c"][:2] = maps["b"][:2]
    slots = fs.selection.duels(fs.comparison.count(maps, classes=3), per_class=4, spares=2)
    chosen = {(row.defender, row.attacker): set() for row in slots.rows}
    for row in slots.rows:
        chosen[row.defender, row.attacker].add(row.image)
    assert chosen["a", "c"] == {"0", "1"}
    assert chosen["b", "c"] == {"2", "3", "4", "5"}


def people(
    rng: np.random.Generator, models: int = 5, images: int = 600, classes: int = 6, error: float = 0.3
) -> np.ndarray:
    """(J, N, 1, 1) answers whose errors fall by chance."""
    truth = rng.integers(0, classes, (1, images, 1, 1))
    shape = (models, images, 1, 1)
    return np.where(rng.random(shape) < error, rng.integers(0, classes, shape), truth).astype(np.uint16)


@pytest.mark.parametrize("seed", range(3))
def test_classifiers_that_are_as_they_should_be_are_not_accused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert find_misplaced(people(rng)) == []
    assert find_misplaced(people(rng, models=2)) == []
    assert find_misplaced(people(rng, images=12)) == []
    by_class = np.sort(people(rng, error=0.0), axis=1)  # sorted by class, as most data sets lie
    noisy = np.where(rng.random(by_class.shape) < 0.3, rng.integers(0, 6, by_class.shape), by_class)
    assert find_misplaced(noisy) == []


@pytest.mark.slow
def test_what_is_wrong_with_a_classifier_is_named() -> None:
    rng = np.random.default_rng(8)
    said = people(rng)

    def found(model: int, answers: np.ndarray, keys: tuple[str, ...] = ()) -> list[tuple[int, str, int]]:
        changed = said.copy()
        changed[model] = answers
        return [(f.model, f.kind, f.shift) for f in find_misplaced(changed, keys=keys)]

    assert found(1, np.roll(said[1], 2, 0)) == [(1, "shift", 2)]
    assert found(1, np.roll(said[1], -170, 0)) == [(1, "shift", -170)]
    assert found(3, said[3][::-1]) == [(3, "reversed", 0)]
    assert found(0, (said[0] + 2) % 6)[0][:2] == (0, "classes")
    swapped = np.array([0, 3, 2, 1, 4, 5], np.uint16)[said[2]]
    changed = said.copy()
    changed[2] = swapped
    (finding,) = find_misplaced(changed)
    assert finding.classes == ((1, 3), (3, 1))
    assert finding.would > 0.5 > finding.agreement
    changed[2] = np.roll(said[2], -170, 0)
    (finding,) = find_misplaced(changed)
    right = mean_agreement(of_people(said))
    assert finding.would == pytest.approx(np.nanmean(right.mean[2]))  # what it had before it was turned
    assert found(4, rng.permutation(said[4])) == [(4, "chance", 0)]
    assert found(4, np.full_like(said[4], 2)) == [(4, "chance", 0)]
    # in corpus order img10 stands before img2; these answers were written in counting order
    keys = tuple(f"img{k}" for k in range(600))
    order = sorted(range(600), key=lambda k: keys[k])
    counted = np.empty_like(said[1])
    counted[order] = said[1]
    assert found(1, counted, tuple(sorted(keys)))[0][:2] == (1, "names")


@pytest.mark.slow
def test_of_several_shifted_models_each_is_named_and_no_other() -> None:
    said = people(np.random.default_rng(2), models=7)
    for m in (1, 4, 5):
        said[m] = np.roll(said[m], 1, 0)
    assert sorted((f.model, f.shift) for f in find_misplaced(said)) == [(1, 1), (4, 1), (5, 1)]
    said[2, :50] = NONE  # a model that has nothing to say of some images is no worse for it
    assert sorted((f.model, f.shift) for f in find_misplaced(said)) == [(1, 1), (4, 1), (5, 1)]


def test_a_shift_within_short_runs_is_put_right_run_by_run() -> None:
    said = people(np.random.default_rng(4))
    as_it_was = mean_agreement(of_people(said)).mean[2]
    for low in range(0, 600, 10):
        said[2, low : low + 10] = np.roll(said[2, low : low + 10], 3, 0)
    (finding,) = find_misplaced(said, starts=range(0, 600, 10))
    assert (finding.model, finding.kind, finding.shift) == (2, "shift", 3)
    # ends of runs count for nothing, and not as other scenes
    assert finding.would == pytest.approx(np.nanmean(as_it_was), abs=0.02)


def test_two_words_that_are_said_nearly_always_are_not_taken_for_one() -> None:
    rng = np.random.default_rng(6)
    said = np.where(rng.random((5, 600, 1, 1)) < 0.05, 0, (rng.random((1, 600, 1, 1)) < 0.9).astype(int))
    said[1] = rng.random((600, 1, 1)) < 0.1  # a guess, nearly always 0 where the others say 1
    assert "classes" not in [f.kind for f in find_misplaced(said)]
    said[1] = (said[0] == 0) ^ (rng.random((600, 1, 1)) < 0.02)  # one that does say 0 for 1
    assert [(f.model, f.kind, f.classes) for f in find_misplaced(said)] == [(1, "classes", ((0, 1), (1, 0)))]


def filtered(rng: np.random.Generator, models: int, classes: int, *, in_classes: bool) -> np.ndarray:
    """Answers on the images on which no two models agree; of sound models, whose images may be sorted by
    class.
    """
    said = people(rng, models, 1200, classes)
    if in_classes:
        truth = np.sort(rng.integers(0, classes, (1, 1200, 1, 1)), axis=1)
        said = np.where(rng.random(said.shape) < 0.3, rng.integers(0, classes, said.shape), truth).astype(
            np.uint16
        )
    return said[:, np.all([(one != other)[:, 0, 0] for one, other in combinations(said, 2)], axis=0)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("images", ["mixed", "sorted by class"])
def test_any_order_lifts_what_lies_below_chance_and_none_is_told(seed: int, images: str) -> None:
    rng = np.random.default_rng(seed)
    for classes in (3, 5):
        truth = rng.integers(0, classes, (1, 600, 1, 1))
        if images != "mixed":
            truth = np.sort(truth, axis=1)
        good = np.where(rng.random((3, 600, 1, 1)) < 0.2, rng.integers(0, classes, (3, 600, 1, 1)), truth)
        wrong = (
            truth + rng.integers(1, classes, truth.shape)
        ) % classes  # never right, and each wrong class as often
        assert [(f.model, f.kind) for f in find_misplaced(np.concatenate([good, wrong]))] == [(3, "below")]
        pair = find_misplaced(filtered(rng, 2, classes, in_classes=images != "mixed"))
        three = find_misplaced(filtered(rng, 3, classes, in_classes=images != "mixed"))
        assert {f.kind for f in [*pair, *three]} <= {"below", "chance"}
        assert [f.kind for f in pair] == ["below"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_confusions_in_a_pool_of_images_on_which_models_differ_are_no_mix_up_of_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for models, classes in ((2, 2), (2, 6), (3, 2), (3, 6)):
        truth = rng.integers(0, classes, (1, 1200, 1, 1))
        # pairs of classes are taken for each other
        said = np.where(rng.random((models, 1200, 1, 1)) < 0.25, truth ^ 1, truth)
        differ = said[:, (said[0] != said[1])[:, 0, 0]]
        assert {f.kind for f in find_misplaced(differ)} <= {"below", "chance", "nobody"}


def test_a_shift_by_one_class_is_told_though_models_then_agree_nowhere() -> None:
    said = np.repeat(np.random.default_rng(1).integers(0, 6, (1, 300, 1, 1)), 2, axis=0)
    said[1] = (said[1] + 1) % 6
    (finding,) = find_misplaced(said)
    assert finding.classes == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))


@pytest.mark.slow
def test_neighbours_that_fit_both_ways_are_no_shift() -> None:
    rng = np.random.default_rng(2)
    truth = np.repeat(rng.integers(0, 40, 150), 20)
    one, other = (np.where(rng.random(3000) < 0.6, truth, rng.integers(0, 40, 3000)) for _ in range(2))
    # 2 or more images on each agree far above chance
    said = np.stack([one, other])[:, one != other, None, None]
    assert [f.kind for f in find_misplaced(said)] == ["below"]
    moved = np.stack([one, np.roll(other, 9)])[:, :, None, None]
    assert [(f.kind, abs(f.shift)) for f in find_misplaced(moved)] == [("shift", 9)]


@pytest.mark.slow
def test_less_agreement_than_by_chance_is_told_without_an_order() -> None:
    said = filtered(np.random.default_rng(0), 2, 5, in_classes=False)
    table = mean_agreement(of_people(said))
    words = warnings(table, find_misplaced(said), resolve(6))[0]
    assert words.startswith("a and b agree .00, less than with shuffled images (.19): no order of images")
    assert "the images were chosen because models differ" in words
    three = filtered(np.random.default_rng(0), 3, 5, in_classes=False)
    words = warnings(mean_agreement(of_people(three)), find_misplaced(three), resolve(6))[0]
    assert words.startswith(
        "a agrees with the others less than shuffled images would: .00, where these give "
    )


def of_people(said: np.ndarray) -> Predictions:
    """The answers of classifiers as predictions."""
    j, n = said.shape[:2]
    return Predictions(
        resolve(6),
        tuple("abcdefg"[:j]),
        tuple(map(str, range(n))),
        said[..., 0, 0].astype(int),
        np.full((j, n), np.nan),
    )


def blocks(rng: np.random.Generator, images: int) -> np.ndarray:
    """Maps of four classes (N, 16, 16) that are the same in fields of 4 x 4 pixels."""
    return rng.integers(0, 4, (images, 4, 4)).repeat(4, 1).repeat(4, 2)


def test_an_order_of_maps_is_found_where_there_is_one_and_not_in_maps_of_other_scenes() -> None:
    rng = np.random.default_rng(9)
    truth = blocks(rng, 60)
    said = np.where(rng.random((5, *truth.shape)) < 0.3, rng.integers(0, 4, (5, *truth.shape)), truth)
    assert find_misplaced(said) == []
    good = said[3].copy()
    said[3] = rng.permutation(good)
    (finding,) = find_misplaced(said)
    assert (finding.model, finding.kind) == (3, "permutation")
    said[3] = good
    for seed in range(3):  # an order that fits best there always is
        said[1] = blocks(np.random.default_rng(seed), 60)
        assert [(f.model, f.kind) for f in find_misplaced(said)] == [(1, "chance")]


@pytest.fixture(scope="module")
def zoo(data: Path) -> tuple[list[str], np.ndarray]:
    """Ten real networks' maps of 120 CamVid images, every eighth pixel."""
    if not (data / "camvid-zoo").is_dir():
        pytest.skip(f"no camvid-zoo in {data}")
    names = sorted(path.name for path in (data / "camvid-zoo").iterdir() if path.is_dir())
    files = [sorted((data / "camvid-zoo" / name / "labels").glob("*.png"))[:120] for name in names]
    return names, np.array(
        [[np.asarray(Image.open(path))[4::8, 4::8] for path in row] for row in files], np.uint16
    )


@pytest.mark.slow
def test_real_networks_are_not_accused(zoo: tuple[list[str], np.ndarray]) -> None:
    assert find_misplaced(zoo[1]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("model", "shift"), [("fcn", 1), ("pixel", 1), ("unet", -3)])
def test_a_shift_of_ids_among_ten_real_networks_is_named(
    zoo: tuple[list[str], np.ndarray], model: str, shift: int
) -> None:
    names, maps = zoo
    m = names.index(model)
    shifted = maps.copy()
    shifted[m] = np.roll(maps[m], shift, 0)
    (finding,) = find_misplaced(shifted)
    assert (finding.model, finding.kind, finding.shift) == (m, "shift", shift)
    assert finding.would > finding.agreement + 0.03
    few = mean_agreement(
        Predictions(resolve(11), tuple(names), ("x",), np.zeros((10, 1), int), np.ones((10, 1)))
    )
    words = warnings(few, [finding], resolve(11))[0]
    assert words.startswith(model)
    assert f"with image i {'+-'[shift < 0]} {abs(shift)} it would agree" in words
