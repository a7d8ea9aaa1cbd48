"""Duels of classifiers (S2 2.1, 3.1): against a plain twin, by hand, and what discards, more places and more
models change.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import KEPT_OUT, Predictions, Slots
from faultscape.selection.classifier_duels import class_duels
from faultscape.selection.classifier_duels import slots as class_slots
from faultscape.selection.spares import effective, extended
from made import tie
from refusals import refused

NAN = float("nan")


def predictions(
    labels: list[list[int]], shares: list[list[float]] | None = None, images: tuple[str, ...] = ()
) -> Predictions:
    said = np.array(labels)
    sure = np.full(said.shape, NAN) if shares is None else np.array(shares, np.float32)
    names = images or tuple("zyxwvutsrqponmlkjihgfedcba"[k] for k in range(said.shape[1]))
    return Predictions(fs.classes.resolve(6), tuple("abcdef"[: len(said)]), names, said, sure)


def apart(classes: int = 6) -> np.ndarray:
    """Class y is |y - z| from class z."""
    return np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))).astype(float)


def plain(
    said: Predictions, distances: np.ndarray, allowed: list[bool], families: list[int], **define: object
) -> list[tuple]:
    """Every pair of models, image by image: S2 Algorithm 1 lines 5-10 in words."""
    rows = []
    for a in range(len(said.models)):
        for b in range(a + 1, len(said.models)):
            candidates = []
            for k, image in enumerate(said.images):
                x, y = int(said.labels[a, k]), int(said.labels[b, k])
                known = [
                    float(p) for p in (said.probabilities[a, k], said.probabilities[b, k]) if not np.isnan(p)
                ]
                if (
                    x != y
                    and x >= 0
                    and y >= 0
                    and allowed[x]
                    and allowed[y]
                    and all(p >= np.float32(define["confidence"]) for p in known)
                ):
                    candidates.append(
                        (-distances[x, y], -min(known, default=0.0), tie(image), image, x, y, families[k])
                    )
            seen: set[int] = set()
            taken, pool = [], 0
            first: dict[int, int] = {}
            second: dict[int, int] = {}
            either: dict[int, int] = {}
            pairs: set[frozenset[int]] = set()
            for far, _, _, image, x, y, family in sorted(candidates):
                if family in seen:
                    continue
                seen.add(family)
                pool += 1
                if define["cap_rule"] == "accepted":
                    good = first.get(x, 0) < define["cap"] and second.get(y, 0) < define["cap"]
                    if good:
                        first[x], second[y] = first.get(x, 0) + 1, second.get(y, 0) + 1
                else:
                    either[x], either[y] = either.get(x, 0) + 1, either.get(y, 0) + 1
                    good = (
                        either[x] <= define["cap"]
                        and either[y] <= define["cap"]
                        and frozenset((x, y)) not in pairs
                    )
                    pairs |= {frozenset((x, y))} if good else set()
                if good:
                    taken.append((image, -far, x, y))
            taken = taken[: define["top"] + define["spares"]]
            rows += [
                (said.models[a], said.models[b], place, *row, pool) for place, row in enumerate(taken, 1)
            ]
    return rows


@st.composite
def competitions(draw: st.DrawFn) -> tuple[Predictions, np.ndarray, list[bool], list[int]]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    models, images = draw(st.integers(2, 4)), draw(st.integers(1, 25))
    labels = rng.integers(-1, 6, (models, images))
    shares = rng.choice([0.5, 0.8, 0.9, 1.0, NAN], (models, images), p=[0.2, 0.3, 0.2, 0.2, 0.1])
    said = predictions(labels.tolist(), shares.tolist(), tuple(f"i{k}" for k in rng.permutation(images)))
    distances = rng.choice([0.5, 1.0, 2.0], (6, 6))
    return (
        said,
        np.maximum(distances, distances.T),
        (rng.random(6) < 0.85).tolist(),
        rng.integers(0, images, images).tolist(),
    )


@given(
    competitions(),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.8, 0.85]),
    st.booleans(),
)
def test_the_slots_are_those_of_the_plain_algorithm(
    made: tuple[Predictions, np.ndarray, list[bool], list[int]],
    top: int,
    spares: int,
    cap: int,
    confidence: float,
    scanned: bool,
) -> None:
    said, distances, allowed, families = made
    define = {
        "top": top,
        "spares": spares,
        "cap": cap,
        "confidence": confidence,
        "cap_rule": "scanned" if scanned else "accepted",
    }
    wanted = plain(said, distances, allowed, families, **define)
    try:
        slots = class_duels(said, distances, allowed=np.array(allowed), families=np.array(families), **define)
    except SelectionError:
        assert not wanted
        return
    names = said.classes.names
    got = [
        (
            r.model_a,
            r.model_b,
            r.place,
            r.image,
            r.distance,
            names.index(r.label_a),
            names.index(r.label_b),
            r.pool,
        )
        for r in slots.rows
        if r.place <= KEPT_OUT
    ]
    assert got == wanted
    assert [row.step for row in slots.rows] == list(range(1, len(slots.rows) + 1))


@pytest.mark.slow
@given(competitions(), st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.randoms())
def test_a_discarded_image_frees_its_labels_and_no_slot_stays_empty_while_an_image_has_room(
    made: tuple[Predictions, np.ndarray, list[bool], list[int]], top: int, spares: int, cap: int, rng: Random
) -> None:
    """What remains stays, then the next images in the order of the pair, at most ``cap`` of a label."""
    said, distances, allowed, _ = made
    told = {"confidence": 0, "cap": cap, "allowed": np.array(allowed)}
    try:
        slots = class_duels(said, distances, top=top, spares=spares, **told)
    except SelectionError:
        return
    every = class_duels(said, distances, top=100, spares=0, **{**told, "cap": 100}).rows
    gone = set(rng.sample(slots.images, min(spares, len(slots.images))))
    now = effective(slots, gone)
    for cell in {row.cell for row in slots.rows}:
        held = [row for row in slots.rows if row.cell == cell and row.place <= KEPT_OUT]
        kept = [row.image for row in held if row.image not in gone]
        labels = {row.image: (row.label_a, row.label_b) for row in every if row.cell == cell}
        for row in every:
            if row.cell == cell and row.image not in gone and row.image not in kept:
                counts = [sum(labels[k][m] == labels[row.image][m] for k in kept) for m in (0, 1)]
                if len(held) < top + spares and max(counts) < cap:
                    kept.append(row.image)
        assert [row.image for row in now.chosen if row.cell == cell] == kept[:top]


def test_the_cap_counts_no_discarded_image() -> None:
    """Four images of one label under a cap of three: the fourth takes the place of a discarded one."""
    said = predictions([[0, 0, 0, 0], [1, 2, 3, 4]])
    slots = class_duels(said, apart(), top=3, spares=2)
    assert [row.image for row in slots.chosen] == ["w", "x", "y"]
    assert [row.image for row in effective(slots, ["x"]).chosen] == ["w", "y", "z"]
    assert [row.place for row in effective(slots, ["x"]).chosen] == [1, 2, 3]
    assert [row.image for row in effective(slots).rows] == ["w", "x", "y"]
    assert (slots.slots, slots.spares, repr(slots)) == (
        3,
        0,
        "3 images to label",
    )  # the fourth waits for a label
    assert class_duels(said, apart(), top=2, spares=2).spares == 1
    assert class_duels(said, apart(), top=3, spares=0).spares == 0  # none are wanted


def images_of(slots: Slots) -> list[str]:
    return [row.image for row in slots.rows]


def test_ties_go_to_the_larger_of_the_lesser_confidences_and_then_by_chance_of_the_id_or_the_key() -> None:
    said = predictions([[0, 0, 0, 0], [1, 1, 1, 1]], [[0.95, 0.85, 0.9, 0.9], [0.85, 0.99, 0.9, 0.9]])
    slots = class_duels(said, apart(), cap=9)  # z 0.85, y 0.85, x 0.9, w 0.9
    assert images_of(slots) == [*sorted("wx", key=tie), *sorted("yz", key=tie)]
    keys = dict(zip("zyxw", ("one", "two", "three", "four"), strict=True))
    named = class_duels(said, apart(), cap=9, keys=[keys[image] for image in said.images], seed=3)
    assert images_of(named) == [
        *sorted("wx", key=lambda i: tie(keys[i], 3)),
        *sorted("yz", key=lambda i: tie(keys[i], 3)),
    ]
    assert [row.confidence for row in slots.rows] == pytest.approx([0.9, 0.9, 0.85, 0.85])


def test_the_farthest_classes_come_first_and_classes_that_agree_not_at_all() -> None:
    said = predictions([[0, 1, 2, 3], [0, 3, 5, 4]])
    assert [(row.image, row.distance) for row in class_duels(said, apart()).rows] == [
        ("x", 3.0),
        ("y", 2.0),
        ("w", 1.0),
    ]


def test_both_must_be_as_sure_as_asked_and_exactly_so_is_enough() -> None:
    said = predictions([[0, 0, 0], [1, 1, 1]], [[0.8, 0.7999, 1], [0.8, 1, 0.7999]])
    assert images_of(class_duels(said, apart())) == ["z"]
    assert len(class_duels(said, apart(), confidence=0).rows) == 3


def test_a_model_that_says_no_probabilities_is_taken_at_its_word_and_the_other_is_not() -> None:
    said = predictions([[0, 0], [1, 1]], [[0.9, 0.5], [NAN, NAN]])
    (row,) = class_duels(said, apart()).rows
    assert (row.image, row.confidence) == ("z", pytest.approx(0.9))
    row, _ = class_duels(predictions([[0, 0], [1, 1]]), apart()).rows
    assert np.isnan(row.confidence)


def test_at_most_three_images_have_one_label_of_a_model_and_what_was_passed_over_does_not_count() -> None:
    # five times (0, 5), then (0, 4) and (1, 5): the first model has said 0 three times, the second 5 three
    # times
    said = predictions([[0, 0, 0, 0, 0, 0, 1, 1], [5, 5, 5, 5, 5, 4, 5, 4]])
    slots = class_duels(said, apart())
    assert [(r.label_a, r.label_b) for r in slots.chosen] == [("class-0", "class-5")] * 3 + [
        ("class-1", "class-4")
    ]
    # the authors' code: of one pair of labels one image, and (1, 4) is not looked at too late
    code = class_duels(said, apart(), cap_rule="scanned")
    assert [(r.label_a, r.label_b) for r in code.rows] == [("class-0", "class-5"), ("class-1", "class-4")]
    swapped = predictions([[0, 5, 0, 5], [5, 0, 4, 1]])  # the cap counts for each model apart
    assert len(class_duels(swapped, apart(), cap=1).chosen) == 2
    first = {"z": "class-0", "y": "class-5"}[min("zy", key=tie)]
    assert [r.label_a for r in class_duels(swapped, apart(), cap=1, cap_rule="scanned").rows] == [first]


def test_of_near_duplicates_a_pair_takes_one() -> None:
    said = predictions([[0, 0, 0], [1, 5, 2]])
    found = class_duels(said, apart(), families=[7, 7, 8])
    assert images_of(found) == ["y", "x"]
    assert found.moved == 1  # z would be the third
    assert class_duels(said, apart(), top=1, families=[7, 7, 8]).moved == 0


def test_classes_that_are_not_asked_about_are_no_candidates_of_either_model() -> None:
    said = predictions([[0, 1, 2], [1, 0, 3]])
    assert images_of(class_duels(said, apart(), allowed=np.array([False, True, True, True, True, True]))) == [
        "x"
    ]


def test_the_expected_discrepancy_is_over_all_classes_that_both_name() -> None:
    labels, shares = (
        np.array([[[0, 1], [0, 5]], [[1, 0], [1, 0]]]),
        np.array([[[0.5, 0.5], [0.9, 0.1]], [[0.5, 0.5], [0.8, 0.2]]]),
    )
    said = Predictions(
        fs.classes.resolve(6), ("a", "b"), ("x", "y"), labels[..., 0], shares[..., 0], (labels, shares)
    )
    slots = class_duels(said, apart(), confidence=0, discrepancy="expected")
    assert slots.definition["temperatures"] == {}
    # x: (0 or 1) against (1 or 0): .5 * 1; y: .9 * .8 * 1 + .1 * .8 * 4 + .1 * .2 * 5
    assert [(r.image, round(r.distance, 6)) for r in slots.rows] == [("y", 1.14), ("x", 0.5)]
    with refused(OptionError, "needs probabilities of more than one class"):
        class_duels(replace(said, top=None), apart(), confidence=0, discrepancy="expected")


def plain_expected(p: np.ndarray, q: np.ndarray, distances: np.ndarray, t: float, u: float) -> float:
    """Sum over all pairs of classes, in plain Python, of what is left of each after its temperature."""
    first, second = ([float(x) ** (1 / s) for x in row] for row, s in ((p, t), (q, u)))
    return sum(
        x / sum(first) * (y / sum(second)) * float(distances[i, j])
        for i, x in enumerate(first)
        for j, y in enumerate(second)
    )


@pytest.mark.parametrize("temperatures", [{}, {"a": 2.5}, {"a": 2.5, "b": 0.7}])
def test_the_expected_discrepancy_is_over_all_images_and_calibrated(temperatures: dict[str, float]) -> None:
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(6, 0.4), (2, 40))
    shares[:, 0] = np.eye(6)[3]  # both sure of one class: nothing is to be expected between the two
    order = np.argsort(-shares, axis=2)
    top = order.astype(np.int32), np.take_along_axis(shares, order, 2)
    names = tuple(f"i{k}" for k in range(40))
    said = Predictions(fs.classes.resolve(6), ("a", "b"), names, top[0][..., 0], top[1][..., 0], top)
    slots = class_duels(
        said, apart(), confidence=0, cap=99, top=99, discrepancy="expected", temperatures=temperatures
    )
    scale = [temperatures.get(m, 1.0) for m in "ab"]
    wanted = {
        image: plain_expected(shares[0, k], shares[1, k], apart(), *scale)
        for k, image in enumerate(names)
        if k
    }
    assert {r.image: r.distance for r in slots.rows} == pytest.approx(wanted)
    assert [r.image for r in slots.rows] == sorted(wanted, key=lambda i: -wanted[i])
    assert any(r.label_a == r.label_b for r in slots.rows)
    assert slots.definition["temperatures"] == temperatures
    # as earlier versions wrote it
    older = {key: value for key, value in slots.definition.items() if key != "temperatures"}
    before = class_slots(said, apart(), older, np.arange(40))
    apart_ = np.flatnonzero(said.labels[0] != said.labels[1])
    plainly = {names[k]: plain_expected(shares[0, k], shares[1, k], apart(), 1, 1) for k in apart_}
    assert {r.image: r.distance for r in before.rows} == pytest.approx(plainly)


def test_a_temperature_is_a_number_above_0() -> None:
    with refused(OptionError, "a temperature is a number above 0; got 0"):
        class_duels(predictions([[0], [1]]), apart(), discrepancy="expected", temperatures={"a": 0})


@pytest.mark.slow
@given(competitions(), st.integers(1, 3), st.integers(0, 3))
def test_more_places_and_more_models_leave_the_old_rows_as_they_were(
    made: tuple[Predictions, np.ndarray, list[bool], list[int]], top: int, more: int
) -> None:
    said, distances, _, _ = made
    fewer = replace(
        said, models=said.models[:-1], labels=said.labels[:-1], probabilities=said.probabilities[:-1]
    )
    whole = class_duels_or_none(said, distances, top=top + more)
    small = class_duels_or_none(said, distances, top=top)
    if whole is None or small is None:
        return
    held = {(*row.cell, row.place): row.image for row in whole.rows}
    assert all(held[(*row.cell, row.place)] == row.image for row in small.rows)
    if len(said.models) > 2 and (old := class_duels_or_none(fewer, distances, top=top)):
        fresh = extended(old, small)
        # S2 Algorithm 2: the new model's pairs alone
        assert {said.models[-1] in row.cell for row in fresh} <= {True}
        # as words, since a confidence that is not known is NaN, which equals nothing
        assert [repr(replace(row, round=1, step=0)) for row in old.rows] == [
            repr(replace(row, round=1, step=0)) for row in small.rows if said.models[-1] not in row.cell
        ]


def class_duels_or_none(said: Predictions, distances: np.ndarray, **options: int) -> Slots | None:
    try:
        return class_duels(said, distances, confidence=0, spares=2, **options)
    except SelectionError:
        return None


def test_a_discarded_image_is_replaced_by_the_next_one_behind_in_its_pair_alone() -> None:
    said = predictions([[0, 1, 2, 3], [5, 5, 5, 5], [4, 4, 5, 4]])
    slots = class_duels(said, apart(), top=2, cap=9)

    def chosen(slots: Slots) -> dict[tuple[str, ...], list[str]]:
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in slots.chosen:
            cells.setdefault(row.cell, []).append(row.image)
        return {cell: cells[cell] for cell in sorted(cells)}

    first, second, third = sorted("wyz", key=tie)  # of b and c all but x are one class apart
    assert chosen(slots) == {("a", "b"): ["z", "y"], ("a", "c"): ["z", "x"], ("b", "c"): [first, second]}
    left = [image for image in (first, second, third) if image != "z"][:2]
    assert chosen(effective(slots, {"z"})) == {
        ("a", "b"): ["y", "x"],
        ("a", "c"): ["x", "y"],
        ("b", "c"): left,
    }


def test_what_cannot_be_chosen_from_is_refused_with_what_to_do() -> None:
    with refused(SelectionError, "try a lower --confidence"):
        class_duels(predictions([[0], [0]]), apart())
    with refused(SelectionError, "a duel needs two models; there is a"):
        class_duels(predictions([[0]]), apart())
    for options in ({"top": 0}, {"cap": 0}, {"spares": -1}, {"confidence": 1.1}, {"confidence": -0.1}):
        with refused(OptionError):
            class_duels(predictions([[0], [1]]), apart(), **options)
    for options in ({"cap_rule": "counted"}, {"discrepancy": "mean"}):
        with refused(OptionError, "is not known; use"):
            class_duels(predictions([[0], [1]]), apart(), **options)
