"""Laws of the label-map code: exact for every map, deterministic, and safe on any bytes."""

from __future__ import annotations

import os
import types
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import children
from faultscape.errors import LabelMapError
from faultscape.maps import runs
from faultscape.maps.kernels import plain_rows
from refusals import refused

MAPS = st.one_of(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=24), elements=st.integers(0, 3)),
    hnp.arrays(
        np.uint16, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 65535)
    ),
    hnp.arrays(
        np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 65535)
    ),
)


@given(MAPS)
@settings(max_examples=120)
def test_what_is_encoded_is_decoded(label_map: np.ndarray) -> None:
    code = runs.encode(label_map)
    assert (runs.decode(code) == label_map).all()
    assert runs.shape(code) == label_map.shape
    assert runs.labels(code).tolist() == np.unique(label_map).tolist()
    assert runs.encode(label_map.copy(order="F")) == code


@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (5000, 1), (3, 40_000)])
def test_odd_shapes_and_wide_rows(shape: tuple[int, int]) -> None:
    label_map = np.random.default_rng(0).integers(0, 3, shape).astype(np.uint8)
    assert (runs.decode(runs.encode(label_map)) == label_map).all()


def moving(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Rows of runs whose ends walk, that come and go, with rows that repeat and rows of noise."""
    out = np.empty((height, width), np.uint8)
    ends = np.sort(rng.integers(0, width, 6))
    names = rng.integers(0, 5, 7)
    for y in range(height):
        what = rng.random()
        if what < 0.1:
            out[y] = rng.integers(0, 5, width)
            continue
        if what < 0.3 and y:
            out[y] = out[y - 1]
            continue
        if what < 0.5:
            ends, names = np.sort(rng.integers(0, width, rng.integers(0, 8))), rng.integers(0, 5, 9)
        ends = np.sort(np.clip(ends + rng.integers(-3, 4, len(ends)), 0, width))
        out[y] = names[np.searchsorted(ends, np.arange(width), side="right")]
    return out


@given(st.integers(0, 100_000), st.integers(1, 40), st.sampled_from([1, 9, 64, 200, 300, 700]))
@settings(max_examples=80)
def test_every_way_to_tell_a_row(seed: int, height: int, width: int) -> None:
    label_map = moving(np.random.default_rng(seed), height, width)
    assert (runs.decode(runs.encode(label_map)) == label_map).all()
    assert (
        runs.decode(runs.encode(label_map.astype(np.uint16) * 300)) == label_map.astype(np.uint16) * 300
    ).all()
    code, labels = runs.encode_with_labels(label_map)
    assert code == runs.encode(label_map)
    assert runs.labels(code).tolist() == labels.tolist() == np.unique(label_map).tolist()


@given(st.integers(0, 100_000))
@settings(max_examples=25)
def test_the_plain_twin_writes_and_reads_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label_map = moving(rng, int(rng.integers(1, 20)), int(rng.integers(1, 90)))
    with pytest.MonkeyPatch.context() as patch:
        code = runs.encode(label_map)
        patch.setattr(runs, "_kernels", lambda *_: plain_rows)
        assert runs.encode(label_map) == code
        assert (runs.decode(code) == label_map).all()


def test_streets_take_few_bytes() -> None:
    rng = np.random.default_rng(3)
    steps = rng.integers(-1, 2, (300, 9)).cumsum(0) + np.arange(40, 400, 40)
    label_map = (np.arange(400) >= np.sort(steps)[..., None]).sum(1).astype(np.uint8)
    assert len(runs.encode(label_map)) < 1100  # 2700 ends, log2(3) bits each, are 535 bytes


def test_a_table_is_applied_and_unknown_labels_are_named() -> None:
    code = runs.encode(np.array([[3, 3, 9]]))
    table = np.full(10, runs.UNKNOWN, np.uint16)
    table[[3, 9]] = 1, 0
    assert runs.decode(code, table).tolist() == [[1, 1, 0]]
    table[9] = runs.UNKNOWN
    with refused(LabelMapError, "label 9, which means nothing"):
        runs.decode(code, table)
    with refused(LabelMapError, "holds the label 9; the largest known is 4"):
        runs.decode(code, table[:5])


@given(st.integers(0, 10_000), st.integers(0, 1))
@settings(max_examples=100)
def test_any_damage_is_found(seed: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    code = bytearray(runs.encode(moving(rng, 12, 40)))
    if kind == 0:
        code = code[: rng.integers(0, len(code))]
    else:
        code[rng.integers(0, len(code))] ^= 1 << rng.integers(0, 8)
    for read in (runs.decode, runs.labels):
        with refused(LabelMapError):
            read(bytes(code))


class Strict(np.ndarray):
    def __getitem__(self, at):
        assert not isinstance(at, int | np.integer) or at >= 0
        return super().__getitem__(at)

    def __setitem__(self, at, value):
        assert not isinstance(at, slice) or 0 <= at.start <= at.stop <= len(self)
        super().__setitem__(at, value)


def strictly(raw, *rest):
    """Draw rows as plain Python that refuses indices outside an array, also those before its start."""
    return plain_rows.draw_rows(raw.view(Strict), *rest[:-1], rest[-1].view(Strict))


def sealed(head: list[int], raw: bytearray) -> bytes:
    start = runs._HEAD.pack(b"FR", 2, *head)
    body = runs._codec.compress(bytes(raw), 3)
    return start + runs._SUM.pack(zlib.crc32(body, zlib.crc32(start))) + body


def forged(label_map: np.ndarray, rng: np.random.Generator) -> tuple[bytes, np.ndarray | None]:
    """Change streams or head at random; returns the code, with a right checksum, and a table to decode it
    with.
    """
    head, raw = runs._streams(runs.encode(label_map))
    head, raw, n_told = list(head), bytearray(raw), head[1] + head[4]
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.75:
            told = n_told if rng.random() < 0.8 else len(raw)  # most often ways and ops
            raw[rng.integers(0, told)] = rng.choice(
                [0, 1, 2, 3, 127, 128, 249, 250, 251, 252, 253, 254, 255, int(rng.integers(256))]
            )
        else:
            place = int(rng.integers(1, 7))
            head[place] = (
                max(0, head[place] + int(rng.integers(-3, 4)))
                if rng.random() < 0.7
                else int(rng.integers(0, 1 << 20))
            )
    return sealed(head, raw), None if rng.random() < 0.5 else np.arange(3, dtype=np.uint16)


def decoded(code: bytes, table: np.ndarray | None) -> list[list[int]] | str:
    """The map that a code tells, or what is said of it; every other error passes."""
    try:
        out = runs.decode(code, table)
    except LabelMapError as error:
        return str(error)
    assert out.shape == runs.shape(code)
    return out.tolist()


@given(st.integers(0, 100_000))
@settings(max_examples=400)
def test_a_forged_code_is_one_error_or_another_whole_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code, table = forged(moving(rng, int(rng.integers(1, 14)), int(rng.integers(1, 90))), rng)
    told = decoded(code, table)
    if isinstance(told, str):
        assert told.startswith(
            (
                "the code of a label map is damaged",
                "a label map of",
                "holds the label",
                "these bytes are not the code",
            )
        )
    else:  # then it is a map as any other
        again = runs.encode(np.array(told))
        assert decoded(again, None) == told


@pytest.mark.slow
@given(st.integers(0, 100_000))
@settings(max_examples=500)
def test_forged_codes_never_leave_their_arrays(seed: int) -> None:
    """The same loops as plain Python, where NumPy checks every index (reads before an array's start are
    refused too), find what the compiled ones find.
    """
    rng = np.random.default_rng(seed)
    code, table = forged(moving(rng, int(rng.integers(1, 8)), int(rng.integers(1, 30))), rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_kernels", lambda *_: types.SimpleNamespace(draw_rows=strictly))
        plain = decoded(code, table)
    assert decoded(code, table) == plain


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_that_need_more_than_the_head_says(compiled: bool) -> None:
    label_map = np.tile((np.arange(30, dtype=np.uint8) % 2).repeat(4), (20, 1))
    label_map = np.pad(label_map, ((0, 0), (0, 100)), mode="edge")  # room for ends that move
    head, raw = runs._streams(runs.encode(label_map))
    moved = bytearray(raw)
    moved[1:20] = bytes([plain_rows.MOVED]) * 19  # each then needs 29 ops that are not there
    narrow = [list(head[:3]) + [w] + list(head[4:]) for w in (1, 28, 29)]  # the widest row has 30 runs
    short = sealed([*head[:6], head[6] - 1], bytearray(raw[:-1]))  # the last length is not there
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(runs, "_kernels", lambda *_: types.SimpleNamespace(draw_rows=strictly))
        assert (runs.decode(sealed(list(head), bytearray(raw))) == label_map).all()
        for bad in (short, sealed(list(head), moved), *(sealed(h, bytearray(raw)) for h in narrow)):
            with refused(LabelMapError, "do not fill its rows"):
                runs.decode(bad)


def test_what_is_no_label_map_is_refused() -> None:
    for bad in (
        np.zeros((2, 2)),
        np.zeros((2, 2, 2), int),
        np.zeros((0, 3), int),
        np.full((1, 1), -1),
        np.full((1, 1), 65536),
    ):
        with refused(LabelMapError):
            runs.encode(bad)


WORDS = """
import numpy as np, sys
from faultscape.maps import counts, runs
rng = np.random.default_rng(0)
maps = rng.integers(0, 5, (4, 9, 9)).astype(np.uint8)
assert (runs.decode(runs.encode(maps[0])) == maps[0]).all()
want = [np.bincount(maps[i].ravel().astype(int) * 5 + maps[j].ravel(), minlength=25) for i in range(4) for j in range(i + 1, 4)]
assert (counts.confusions(maps, 5).reshape(6, 25) == want).all()
print("numba" in sys.modules)
"""


def test_it_works_where_numba_cannot_be_imported() -> None:
    blocked = "import sys; sys.modules['numba'] = None\n" + WORDS
    assert children.python("-c", blocked) == "True\n"
    env = {**os.environ, "FAULTSCAPE_NUMBA": "0"}
    assert children.python("-c", WORDS, env=env) == "False\n"


@pytest.mark.slow
def test_it_works_where_no_folder_is_writable() -> None:
    """numba then finds no place for its cache."""
    closed = "import numba.core.caching as c\nc.CacheImpl._locator_classes = []\n" + WORDS
    assert children.python("-c", closed) == "True\n"


@given(st.integers(0, 100_000))
@settings(max_examples=40)
def test_a_map_is_drawn_over_another_and_nowhere_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label_map = moving(rng, int(rng.integers(1, 12)), int(rng.integers(1, 300)))
    room = np.full(2 * label_map.size + 400, 77, np.uint8)  # what lies behind the map stays as it is
    out = room[: label_map.size].reshape(label_map.shape)
    assert runs.decode(runs.encode(label_map), out=out) is out
    assert (out == label_map).all()
    assert (room[label_map.size :] == 77).all()
    for unfit in (
        np.zeros((0, 1), np.uint8),
        np.zeros(label_map.shape, np.uint16),
        room[: 2 * label_map.size : 2].reshape(label_map.shape),
    ):
        drawn = runs.decode(runs.encode(label_map), out=unfit)
        assert drawn is not unfit
        assert (drawn == label_map).all()
