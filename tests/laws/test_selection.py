"""Laws of selection: any cut of the corpus, any order of models, compiled or plain, gives the cells of a
brute-force search.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.comparison.concordance import concordances, shares
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import Slots
from faultscape.selection.best import Best
from faultscape.selection.kernels import plain_best
from faultscape.selection.spares import effective, extended
from refusals import refused


def brute(keys: np.ndarray, member: np.ndarray, ranks: np.ndarray, families: np.ndarray, depth: int) -> dict:
    """Every cell by sorting all of its candidates, best of each family first."""
    out = {}
    for d, a, g in np.ndindex(keys.shape[0], keys.shape[1], member.shape[2]):
        rows = [i for i in range(member.shape[1]) if member[d, i, g] and not np.isnan(keys[d, a, i])]
        rows.sort(key=lambda i: (round(keys[d, a, i] * 1e12), ranks[i]))
        kept: list[int] = []
        for i in rows:
            if families[i] not in [families[k] for k in kept]:
                kept.append(i)
        out[d, a, g] = kept[:depth]
    return out


def blocks(draw_seed: int, images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw_seed)
    concordance = rng.integers(0, 6, (3, 3, images)) / 7.0  # many ties
    concordance[rng.random(concordance.shape) < 0.1] = np.nan
    member = rng.random((3, images, 2)) < 0.6
    return concordance, member, rng.permutation(images), rng.integers(0, max(1, images // 2), images)


def cells(best: Best) -> dict:
    return {cell: [int(i) for i in best.images[cell] if i >= 0] for cell in np.ndindex(best.pools.shape)}


@pytest.mark.slow
@given(
    st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5), st.lists(st.integers(0, 40), max_size=4)
)
@settings(max_examples=60)
def test_any_cut_of_the_corpus_gives_the_brute_force_cells(
    seed: int, images: int, depth: int, cuts: list[int]
) -> None:
    concordance, member, ranks, families = blocks(seed, images)
    want = brute(concordance, member, ranks, families, depth)
    edges = sorted({0, images, *(c for c in cuts if c < images)})
    streamed, merged = Best(3, 2, depth), Best(3, 2, depth)
    for start, stop in itertools.pairwise(edges):
        at = np.arange(start, stop)
        block = (concordance[:, :, at], member[:, at], at, ranks[at], families[at])
        streamed.offer(*block)
        alone = Best(3, 2, depth)
        alone.offer(*block)
        merged.merge(alone)
    assert cells(streamed) == want
    assert cells(merged) == want
    assert (streamed.pools == merged.pools).all()
    assert streamed.pools.sum() == sum(
        member[d, i, g] and not np.isnan(concordance[d, a, i])
        for d, a, g in np.ndindex(3, 3, 2)
        for i in range(images)
    )


@given(st.integers(0, 10_000), st.integers(1, 30))
@settings(max_examples=30)
def test_the_plain_twin_equals_the_compiled_kernel(seed: int, images: int) -> None:
    concordance, member, ranks, families = blocks(seed, images)
    compiled, plain = Best(3, 2, 3), Best(3, 2, 3)
    compiled.offer(concordance, member, np.arange(images), ranks, families)
    keys = np.where(
        np.isnan(concordance), plain_best.EMPTY, np.rint(np.nan_to_num(concordance) * 1e12).astype(np.int64)
    )
    numbers = np.stack([ranks, families, np.arange(images)])
    plain_best.offer(plain.entries, plain.pools, keys, member, numbers)
    assert (compiled.entries == plain.entries).all()
    assert (compiled.pools == plain.pools).all()


@pytest.fixture(scope="module")
def maps() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, (12, 8, 9)).astype(np.uint8)
    return {
        n: np.where(rng.random(truth.shape) < e, rng.integers(0, 4, truth.shape), truth).astype(np.uint8)
        for n, e in zip("abc", (0.1, 0.3, 0.5), strict=True)
    }


def key(slots: Slots) -> list[tuple]:
    return sorted((r.defender, r.attacker, r.class_, r.place, r.image, r.concordance) for r in slots.rows)


def test_permuting_images_models_or_class_ids_changes_nothing_but_order(maps: dict[str, np.ndarray]) -> None:
    ids = [f"i{k:02d}" for k in range(12)]
    base = fs.selection.duels(fs.comparison.count(maps, classes=4, images=ids))
    order = np.random.default_rng(1).permutation(12)
    moved = fs.comparison.count(
        {n: m[order] for n, m in maps.items()}, classes=4, images=[ids[k] for k in order]
    )
    assert key(fs.selection.duels(moved)) == key(base)
    turned = fs.comparison.count({n: maps[n] for n in "cab"}, classes=4, images=ids)
    assert key(fs.selection.duels(turned)) == key(base)
    new = np.array([2, 0, 3, 1], np.uint8)
    renamed = fs.selection.duels(
        fs.comparison.count({n: new[m] for n, m in maps.items()}, classes=4, images=ids)
    )
    names = {f"class-{new[k]}": f"class-{k}" for k in range(4)}
    assert sorted((d, a, names[c], p, i, v) for d, a, c, p, i, v in key(renamed)) == key(base)


def test_a_scale_holds_its_closed_interval_and_only_that(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    share = shares(pairs)
    low, high = share[0, 3, 2], share[0, 7, 2]
    bounds = fs.nouns.Scale(
        tuple(f"class-{k}" for k in range(4)), (1,) * 4, (min(low, high),) * 4, (max(low, high),) * 4
    )
    slots = fs.selection.duels(pairs, scale=bounds, spares=20)
    for row in slots.rows:
        value = share[pairs.models.index(row.defender), int(row.image), int(row.class_[-1])]
        assert min(low, high) <= value <= max(low, high)
    on_the_bound = {r.image for r in slots.rows if r.defender == "a" and r.class_ == "class-2"}
    assert {"3", "7"} <= on_the_bound


def test_none_is_equation_1_and_the_chosen_concordance_is_the_lowest(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    agreement = concordances(pairs)
    slots = fs.selection.duels(pairs, constraints="none", per_class=2, spares=0)
    assert len(slots.chosen) == 3 * 2 * 2
    for row in slots.rows:
        d, a = pairs.models.index(row.defender), pairs.models.index(row.attacker)
        assert row.concordance == pytest.approx(np.sort(agreement[d, a])[row.place - 1], abs=1e-12)
        assert row.pool == 12


def test_asymmetric_concordance_takes_the_defenders_map_as_reference(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    agreement = concordances(pairs, "mpa")
    d, a = maps["a"][5], maps["c"][5]
    want = np.mean([np.mean(a[d == y] == y) for y in range(4) if (d == y).any()])
    assert agreement[0, 2, 5] == pytest.approx(want)
    assert agreement[0, 2, 5] != pytest.approx(agreement[2, 0, 5])


def test_a_discarded_image_leaves_every_cell_and_the_next_spare_moves_up(maps: dict[str, np.ndarray]) -> None:
    slots = fs.selection.duels(fs.comparison.count(maps, classes=4), spares=2)
    gone = slots.images[0]
    now = effective(slots, [gone])
    assert gone not in {r.image for r in now.rows}
    for cell in {(r.defender, r.attacker, r.class_) for r in slots.chosen if r.image == gone}:
        spare = next(
            r.image for r in slots.rows if (r.defender, r.attacker, r.class_) == cell and r.place == 2
        )
        assert next(r.image for r in now.chosen if (r.defender, r.attacker, r.class_) == cell) == spare
    assert effective(slots).rows == slots.rows


def test_extending_adds_deeper_places_as_a_new_round(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    small, large = fs.selection.duels(pairs, spares=0), fs.selection.duels(pairs, per_class=3, spares=0)
    rows = extended(small, large)
    assert [(row.round, row.step) for row in rows] == [(2, step) for step in range(1, len(rows) + 1)]
    assert {r.round for r in rows} == {2}
    assert {r.place for r in rows} == {2, 3}
    merged = sorted((r.defender, r.attacker, r.class_, r.place, r.image) for r in (*small.rows, *rows))
    assert merged == sorted((r.defender, r.attacker, r.class_, r.place, r.image) for r in large.rows)


def test_concordances_have_twelve_digits_so_that_another_machine_writes_the_same(
    maps: dict[str, np.ndarray],
) -> None:
    slots = fs.selection.duels(fs.comparison.count(maps, classes=4))
    assert {round(row.concordance, 12) for row in slots.rows} == {row.concordance for row in slots.rows}
    assert any(round(row.concordance, 11) != row.concordance for row in slots.rows)


def test_near_duplicates_leave_one_image_a_cell(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    families = np.arange(12) // 3
    slots = fs.selection.duels(pairs, per_class=4, spares=0, families=families)
    for cell in {(r.defender, r.attacker, r.class_) for r in slots.rows}:
        groups = [int(r.image) // 3 for r in slots.rows if (r.defender, r.attacker, r.class_) == cell]
        assert len(groups) == len(set(groups))
    alone = fs.selection.duels(pairs, per_class=4, spares=0)
    ours, papers = ({(r.cell, r.image) for r in found.rows} for found in (slots, alone))
    assert slots.moved == len(papers - ours) > 0
    assert alone.moved == 0


def test_options_that_cannot_be_are_refused(maps: dict[str, np.ndarray]) -> None:
    pairs = fs.comparison.count(maps, classes=4)
    with refused(OptionError, r"class\+scale need the quartiles"):
        fs.selection.duels(pairs, constraints="class+scale")
    with refused(OptionError, "Did you mean 'miou'"):
        fs.selection.duels(pairs, "moiu")
    never = fs.nouns.Scale(tuple(f"class-{k}" for k in range(4)), (0,) * 4, (0.99,) * 4, (1.0,) * 4)
    with refused(SelectionError, "no image satisfies the constraints"):
        fs.selection.duels(pairs, scale=never)
    with refused(SelectionError, "needs two models"):
        fs.selection.duels(fs.comparison.count({"a": maps["a"]}, classes=4))


def test_steps_count_the_slots_and_ties_those_that_an_equal_image_could_have() -> None:
    truth = np.tile(np.arange(4, dtype=np.uint8) % 3, (6, 4, 1))
    other = truth.copy()
    other[:4, 0, 0] = 1  # four images alike in what they tell apart, two without a difference
    pairs = fs.comparison.count({"a": truth, "b": other}, 3)
    slots = fs.selection.duels(pairs, "miou", constraints="none", per_class=1, spares=1)
    assert [row.step for row in slots.rows] == list(range(1, len(slots.rows) + 1))
    assert slots.tied == 2  # of each of two duels the one slot
    few = fs.selection.duels(pairs, "miou", constraints="none", per_class=5, spares=1)
    assert few.tied == 0  # nobody waits behind the last
