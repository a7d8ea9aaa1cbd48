"""Laws of the joint counts: every pair's cells equal np.bincount, whatever the maps, their number and their
type.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.comparison import sparse_counts
from faultscape.comparison.kernels import plain_codes
from faultscape.errors import LabelMapError, StudyError
from faultscape.maps import counts
from faultscape.maps.kernels import plain_joint_runs
from refusals import refused


def twin(maps: np.ndarray, n: int, pairs: np.ndarray) -> np.ndarray:
    flat = maps.reshape(len(maps), -1).astype(np.int64)
    return np.array(
        [np.bincount(flat[i] * n + flat[j], minlength=n * n).reshape(n, n) for i, j in pairs]
    ).reshape(-1, n, n)


def made(rng: np.random.Generator, j: int, n: int, kind: str, dtype: type) -> np.ndarray:
    shape = (j, int(rng.integers(1, 20)), int(rng.integers(1, 40)))
    if kind == "noise":
        return rng.integers(0, n, shape).astype(dtype)
    coarse = rng.integers(0, n, (j, 4, 4)).repeat(6, 1).repeat(11, 2)[:, : shape[1], : shape[2]]
    return np.ascontiguousarray(
        np.where(rng.random(coarse.shape) < 0.05, rng.integers(0, n, coarse.shape), coarse).astype(dtype)
    )


@pytest.mark.slow
@given(
    st.integers(0, 100_000),
    st.sampled_from([1, 2, 3, 10, 17, 40]),
    st.sampled_from([2, 6, 22, 256]),
    st.sampled_from(["noise", "blocks"]),
)
@settings(max_examples=80)
def test_all_pairs_equal_bincount(seed: int, j: int, n: int, kind: str) -> None:
    maps = made(np.random.default_rng(seed), j, n, kind, np.uint8)
    pairs = counts._all_pairs(j)
    want = twin(maps, n, pairs)
    assert (counts.confusions(maps, n) == want).all()
    both, totals = counts.intersections(maps, n)
    assert (both == np.diagonal(want, axis1=1, axis2=2)).all()
    assert (totals == [np.bincount(m.ravel(), minlength=n) for m in maps]).all()


@pytest.mark.slow
@given(st.integers(0, 100_000), st.sampled_from([2, 9, 20]), st.sampled_from([300, 5000]))
@settings(max_examples=15)
def test_more_than_256_labels(seed: int, j: int, n: int) -> None:
    maps = made(np.random.default_rng(seed), j, n, "blocks", np.uint16)
    pairs = counts._all_pairs(j)[:3]
    flat = maps.reshape(j, -1).astype(np.int64)
    got = counts.confusions(maps, n, pairs)
    for cells, (a, b) in zip(got, pairs, strict=True):
        seen = np.unique(flat[a] * n + flat[b], return_counts=True)
        assert (cells.ravel()[seen[0]] == seen[1]).all()
        assert cells.sum() == maps[0].size
    both, _ = counts.intersections(maps, n, pairs)
    assert (both == np.diagonal(got, axis1=1, axis2=2)).all()


@pytest.mark.slow
@given(
    st.integers(0, 100_000),
    st.sampled_from([1, 2, 3, 4, 7, 11]),
    st.sampled_from([2, 5, 12, 30]),
    st.booleans(),
)
@settings(max_examples=50)
def test_every_method_by_itself_is_exact(seed: int, j: int, n: int, wide: bool) -> None:
    rng = np.random.default_rng(seed)
    maps = made(rng, j, n, "blocks", np.uint16 if wide else np.uint8)
    if seed % 3 == 0:  # rows of more than a word, so that what lies above is looked up
        maps = np.tile(maps, (1, 2, 7))
    pairs = np.array([(a, b) for a in range(j) for b in range(j)])  # both ways and each with itself
    want = twin(maps, n, pairs)
    stack = counts._stack(maps)
    space = counts._space(stack)
    columns, pixels, distinct = counts._tuples(stack, space, n)
    if j > 1:
        blocks = counts._blocks(j, n, pairs.tobytes())
        for given, weights in ((stack, np.empty(0, np.int64)), (list(columns), pixels)):
            assert (counts._from_blocks(given, weights, n, pairs, blocks) == want).all()
    out = np.zeros((len(pairs), n * n), np.int64)
    counts._cells().cells_of_tuples(columns, pixels, distinct, n, pairs, counts._room(n * n), out)
    assert (out.reshape(want.shape) == want).all()
    out[:] = 0
    plain_joint_runs.cells_of_tuples(*plain_joint_runs.joint_tuples(stack, n), n, pairs, out)
    assert (out.reshape(want.shape) == want).all()
    diagonal, histograms = (
        np.diagonal(want, axis1=1, axis2=2),
        [np.bincount(m.ravel(), minlength=n) for m in maps],
    )
    for way in (
        lambda both, totals: counts._cells().both_of_tuples(columns, pixels, distinct, pairs, both, totals),
        lambda both, totals: plain_joint_runs.both_of_tuples(
            *plain_joint_runs.joint_tuples(stack, n), pairs, both, totals
        ),
        lambda both, totals: counts._from_planes(stack, n, pairs, both, totals),
    ):
        both, totals = np.zeros((len(pairs), n), np.int64), np.zeros((j, n), np.int64)
        way(both, totals)
        assert (both == diagonal).all()
        assert (totals == histograms).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (1, 63), (1, 64), (1, 65), (64, 1), (200, 1), (3, 64), (5, 63), (70, 65), (9, 200), (2, 4500)],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_words_of_64_pixels_meet_every_width(shape: tuple[int, int], dtype: type) -> None:
    rng = np.random.default_rng(shape[1])
    maps = np.repeat(rng.integers(0, 9, (10, shape[0], -(-shape[1] // 3))), 3, axis=2)[
        :, :, : shape[1]
    ].astype(dtype)
    maps[:, 1::2] = maps[:, :-1:2]  # half of the rows repeat the row above
    want = twin(maps, 9, counts._all_pairs(10))
    assert (counts.confusions(maps, 9) == want).all()
    assert (counts.intersections(list(maps), 9)[0] == np.diagonal(want, axis1=1, axis2=2)).all()


@pytest.mark.slow
@given(st.integers(0, 100_000), st.integers(2, 12))
@settings(max_examples=30)
def test_any_pairs_in_any_order_and_maps_of_no_pair(seed: int, j: int) -> None:
    rng = np.random.default_rng(seed)
    maps = made(rng, j, 7, "noise" if seed % 2 else "blocks", np.uint8)
    pairs = rng.integers(0, j, (int(rng.integers(0, 9)), 2))
    assert (counts.confusions([m[::1] for m in maps], 7, pairs) == twin(maps, 7, pairs)).all()
    turned = [np.asfortranarray(m).astype(np.uint16 if k % 2 else np.uint8) for k, m in enumerate(maps)]
    assert (counts.confusions(turned, 7, pairs) == twin(maps, 7, pairs)).all()
    assert (
        counts.intersections(turned, 7, pairs)[0] == np.diagonal(twin(maps, 7, pairs), axis1=1, axis2=2)
    ).all()


def test_every_pair_lies_in_a_block_and_blocks_are_few() -> None:
    for j in (3, 4, 10, 13):
        blocks = counts._blocks(j, 12, counts._all_pairs(j).tobytes()).maps.tolist()
        assert {len(block) for block in blocks} == {min(4, j)}
        assert {p for b in blocks for p in combinations(b, 2)} == set(combinations(range(j), 2))
    # the least there can be; pairs are 45
    assert len(counts._blocks(10, 22, counts._all_pairs(10).tobytes()).maps) == 17
    one = np.array([[k, 9] for k in range(9)])
    assert len(counts._blocks(10, 22, one.tobytes()).maps) == 5  # only the pairs asked for


def test_a_table_that_grows_is_exact_and_the_next_image_starts_clean() -> None:
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 22, (10, 120, 160)).astype(np.uint8)
    for maps in (noise, noise[::-1]):
        stack = counts._stack(maps)
        columns, pixels, distinct = counts._tuples(stack, counts._space(stack), 22)
        assert distinct == 120 * 160 > counts._SLOTS
        assert (pixels[:distinct] == 1).all()
        assert (columns == maps.reshape(10, -1)).all()  # all different: in order of appearance
    calm = np.zeros((10, 5, 5), np.uint8)
    assert counts.confusions(calm, 22)[:, 0, 0].tolist() == [25] * 45
    stack = counts._stack(calm)
    assert counts._tuples(stack, counts._space(stack), 22)[2] == 1


def test_threads_do_not_share_a_workspace() -> None:
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(2)
    stacks = [rng.integers(0, 5, (6, 90, 130)).astype(np.uint8).repeat(2, axis=2) for _ in range(12)]
    want = [counts.confusions(s, 5) for s in stacks]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda s: counts.confusions(s, 5), stacks))
    assert all((a == b).all() for a, b in zip(want, got, strict=True))


def test_labels_are_checked_before_any_kernel() -> None:
    for maps in (np.full((2, 3, 3), 5, np.uint8), np.full((2, 3, 3), 700, np.uint16)):
        with refused(LabelMapError, "allowed are 0 to 4"):
            counts.confusions(maps, 5)
        with refused(LabelMapError, "allowed are 0 to 4"):
            counts.intersections(maps, 5)
        calm = np.zeros((10, 200, 300), maps.dtype)  # joint runs, where kernels find the label themselves
        calm[7, 150, 299] = maps[0, 0, 0]
        with refused(LabelMapError, r"map 7 holds the label .* allowed are 0 to 4"):
            counts.confusions(calm, 5)
        with refused(LabelMapError, "allowed are 0 to 4"):
            counts.confusions(calm, 5, np.array([[0, 1]]))
    with refused(LabelMapError, "one size"):
        counts.confusions([np.zeros((2, 2), np.uint8), np.zeros((3, 2), np.uint8)], 2)
    with refused(LabelMapError, "a pair names map 4; there are 2"):
        counts.confusions(np.zeros((2, 2, 2), np.uint8), 2, np.array([[0, 4]]))


def packed(seed: int, n: int, partners: int) -> tuple[list[bytes], list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    codes, all_cells, all_present = [], [], []
    for _ in range(int(rng.integers(1, 6))):
        totals = rng.integers(0, 300_000, n) * (rng.random(n) < 0.7)
        present = rng.random(partners) < 0.8
        cells = np.zeros((partners, n, n), np.int64)
        for q in np.flatnonzero(present):
            cells[q] = np.stack([rng.multinomial(t, rng.dirichlet(np.full(n, 0.2))) for t in totals], axis=1)
        codes.append(sparse_counts.pack(cells, present, totals))
        all_cells.append(cells)
        all_present.append(present)
    return codes, all_cells, all_present


@given(st.integers(0, 100_000), st.sampled_from([2, 12, 22]), st.sampled_from([0, 1, 5]))
@settings(max_examples=40)
def test_packed_counts_are_exact_by_every_reader(seed: int, n: int, partners: int) -> None:
    import pyarrow as pa

    codes, cells, present = packed(seed, n, partners)
    column = pa.array(codes, pa.binary())
    both, rows, columns, totals, there = sparse_counts.unpack(column, partners, n)
    other = [np.zeros_like(x) for x in (both, rows, columns, totals, there)]
    offsets = np.cumsum([0, *map(len, codes)])
    assert plain_codes.unpack_block(np.frombuffer(b"".join(codes), np.uint8), offsets, *other)
    for mine, theirs in zip((both, rows, columns, totals, there), other, strict=True):
        assert (mine == theirs).all()
    for i, code in enumerate(codes):
        got, here = sparse_counts.unpack_cells(code, partners, n)
        assert (got == cells[i]).all()
        assert (here == present[i]).all()
        assert (both[:, i] == np.diagonal(cells[i], axis1=1, axis2=2)).all()
        assert (rows[:, i] == cells[i].sum(2)).all()
        assert plain_codes.pack_cells(cells[i], present[i], totals[i]).tobytes() == code


@given(st.integers(0, 100_000))
@settings(max_examples=100)
def test_damaged_counts_are_one_error_and_never_a_crash(seed: int) -> None:
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    code = bytearray(packed(seed, 6, 3)[0][0])
    code = code[: rng.integers(1, len(code))] if seed % 2 else code
    code[rng.integers(0, len(code))] ^= 1 << rng.integers(0, 8)
    try:
        both, *_ = sparse_counts.unpack(pa.array([bytes(code)], pa.binary()), 3, 6)
    except StudyError:
        return
    assert (both >= 0).all()
