"""A partner is cut out of packed counts as if it had never been there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from faultscape.comparison import sparse_counts
from faultscape.errors import StudyError
from refusals import refused


def made_up(rng: np.random.Generator, partners: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells whose columns sum to one histogram, with counts of one byte and of several; some partners have no
    map.
    """
    totals = rng.integers(0, 10 ** rng.integers(1, 8), n)
    cells = np.stack(
        [
            np.stack([rng.multinomial(t, rng.dirichlet(np.full(n, 0.2))) for t in totals], axis=1)
            for _ in range(partners)
        ]
    )
    return cells, rng.random(partners) < 0.7, totals


@pytest.mark.parametrize("mode", ["full", "diagonal"])
def test_what_is_left_is_what_packing_it_alone_gives(mode: str) -> None:
    rng = np.random.default_rng(5)
    for n, partners in ((2, 3), (5, 4), (20, 2)):
        for _ in range(5):
            cells, present, totals = made_up(rng, partners, n)

            def packed(places: list[int], cells=cells, present=present, totals=totals) -> bytes:
                if mode == "full":
                    return sparse_counts.pack(cells[places], present[places], totals)
                return sparse_counts.pack_diagonal(
                    np.diagonal(cells[places], axis1=1, axis2=2), totals, present[places]
                )

            code = packed([*range(partners)])
            for count in range(partners + 1):
                for gone in itertools.combinations(range(partners), count):
                    left = [q for q in range(partners) if q not in gone]
                    assert sparse_counts.without(code, gone, partners, n) == packed(left)


def test_a_damaged_code_is_said() -> None:
    n = 3
    cells, _, totals = made_up(np.random.default_rng(1), 2, n)
    code = sparse_counts.pack(cells, np.array([True, True]), totals)
    for harm in (code[:-1], code + b"\1", code[:2]):
        with refused(StudyError, "packed counts are damaged"):
            sparse_counts.without(harm, {0}, 2, n)
    with refused(StudyError, "packed counts are damaged"):
        sparse_counts.without(code, {0}, 3, n)
