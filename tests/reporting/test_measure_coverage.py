"""What a metric's definition says of its interval is what the page of measurements has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faultscape.metrics.units import units_of
from faultscape.reporting.measure_coverage import ENOUGH, GROUPS, HELD, IMAGES, SIZES, held

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks-intervals.md"
NAMED = {"ROM": ["rom"], "SQ": ["sq"], "ECE": ["ece"], "FPR95, incorrect": ["fpr95", "misclassification_fpr95"]}
ROW = re.compile(r"^\| (maps|groups|scores) \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_shares_are_those_of_the_page() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) == 24
    low = {}
    for population, title, cells in rows:
        shares = tuple(float(cell.strip(" *")) for cell in cells.split("|")[::2])
        if min(shares) < ENOUGH:
            low |= {(name, GROUPS if population == "groups" else IMAGES): shares for name in NAMED[title]}
    assert low == HELD


@pytest.mark.parametrize("count", [*SIZES, 250, 5000])
def test_a_share_that_more_images_do_not_mend_is_told_of_any_number(count: int) -> None:
    assert "95 % intervals hold the truth" in held("sq", units_of(count))


def test_groups_are_told_what_was_measured_on_groups() -> None:
    def grouped(count: int) -> str:
        return held("sq", units_of([str(k // 2) for k in range(2 * count)]))

    assert grouped(10) == "; of some 10 groups 57 % of its 95 % intervals hold the truth in simulation"
    assert grouped(100) == grouped(400) == ""
    assert held("fpr95", units_of(["a", "a", "b", "b"])) == ""
