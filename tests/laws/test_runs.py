"""Laws of the label-map code: exact for every map, deterministic, and safe on any bytes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faultscape.errors import LabelMapError
from faultscape.maps import compiled, plain, runs

MAPS = st.one_of(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=24), elements=st.integers(0, 3)),
    hnp.arrays(np.uint16, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 65535)),
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 65535)),
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


@given(MAPS)
@settings(max_examples=60)
def test_the_plain_twin_writes_and_reads_the_same(label_map: np.ndarray) -> None:
    label_map = label_map.astype(np.uint16)
    ours, theirs = compiled.find_runs(label_map), plain.find_runs(label_map)
    for a, b in zip(ours, theirs, strict=True):
        assert (a == b).all()
    for a, b in zip(compiled.predict(*ours), plain.predict(*theirs), strict=True):
        assert (a == b).all()
    steps, marks = compiled.predict(*ours)
    ends, values = np.empty(len(steps), np.int32), np.empty_like(marks)
    assert plain.restore(ours[0], steps, marks, label_map.shape[1], ends, values)
    assert (plain.fill(ends, values, *label_map.shape) == label_map).all()


def test_a_table_is_applied_and_unknown_labels_are_named() -> None:
    code = runs.encode(np.array([[3, 3, 9]]))
    table = np.full(10, runs.UNKNOWN, np.uint16)
    table[[3, 9]] = 1, 0
    assert runs.decode(code, table).tolist() == [[1, 1, 0]]
    table[9] = runs.UNKNOWN
    with pytest.raises(LabelMapError, match="label 9, which means nothing"):
        runs.decode(code, table)
    with pytest.raises(LabelMapError, match="holds the label 9; the largest known is 4"):
        runs.decode(code, table[:5])


@given(st.integers(0, 10_000), st.integers(0, 3))
@settings(max_examples=150)
def test_any_damage_is_one_error_or_another_whole_map(seed: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    code = bytearray(runs.encode(rng.integers(0, 4, (6, 11)).astype(np.uint8)))
    if kind == 0:
        code = code[: rng.integers(0, len(code))]
    elif kind == 1:
        code[rng.integers(0, len(code))] ^= 1 << rng.integers(0, 8)
    elif kind == 2:
        code[4:24] = rng.integers(0, 256, 20).astype(np.uint8).tobytes()
    else:
        raw = rng.integers(0, 4, 12 + 3 * 20).astype(np.uint8).tobytes()  # streams that were never runs
        head = runs._HEAD.pack(b"FR", 1, 1, 6, 11, 20, len(raw))
        code = bytearray(head + runs._codec(3).compress(raw, asbytes=True))
    try:
        out = runs.decode(bytes(code))
    except LabelMapError:
        return
    assert out.ndim == 2


def test_what_is_no_label_map_is_refused() -> None:
    for bad in (np.zeros((2, 2)), np.zeros((2, 2, 2), int), np.zeros((0, 3), int), np.full((1, 1), -1), np.full((1, 1), 65536)):
        with pytest.raises(LabelMapError):
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
    assert subprocess.run([sys.executable, "-c", blocked], check=True, capture_output=True, text=True).stdout.strip() == "True"
    env = {**os.environ, "FAULTSCAPE_NUMBA": "0"}
    assert (
        subprocess.run([sys.executable, "-c", WORDS], check=True, capture_output=True, text=True, env=env).stdout.strip()
        == "False"
    )


def test_it_works_where_no_folder_is_writable() -> None:
    """numba then finds no place for its cache."""
    closed = "import numba.core.caching as c\nc.CacheImpl._locator_classes = []\n" + WORDS
    assert subprocess.run([sys.executable, "-c", closed], check=True, capture_output=True, text=True).stdout.strip() == "True"
