"""What a metric's definition says of its interval is what the page of measurements has."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from faultscape.reporting.measure.coverage import ENOUGH, GROUPS, HELD, IMAGES, SIZES, held

MEASURED = Path(__file__).parents[2] / "docs" / "benchmarks" / "data" / "intervals.csv"
PAGE = MEASURED.parents[1] / "intervals.md"
NAMED = {
    "ROM": "rom",
    "SQ": "sq",
    "mIoU": "miou",
    "AP, incorrect": "misclassification_ap",
    "FPR95, incorrect": "misclassification_fpr95",
    "AP, anomalous": "average_precision",
    "AUROC, anomalous": "auroc",
    "FPR95, anomalous": "fpr95",
}


def test_shares_are_those_of_the_page() -> None:
    with MEASURED.open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    assert len(rows) == 35
    low = {}
    lines = []
    for population, title, *cells in rows:
        shares = [float(cell) for cell in cells]
        if min(shares) < ENOUGH:
            low[NAMED[title], GROUPS if "groups" in population else IMAGES] = (
                tuple(shares[::2]),
                tuple(shares[1::2]),
            )
            told = (c if ENOUGH <= s <= 0.98 else f"**{c}**" for c, s in zip(cells, shares, strict=True))
            lines.append(f"| {population} | {title} | {' | '.join(told)} |")
    assert low == HELD
    assert re.findall(r"^\| (?!population|---).*", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == lines


@pytest.mark.parametrize("count", [*SIZES, 250, 5000])
def test_a_share_that_more_images_do_not_mend_is_told_of_any_number(count: int) -> None:
    assert re.search(
        r"\d % of its 95 % intervals, and .* of differences, hold the truth", held("sq", count, grouped=False)
    )


def test_groups_are_told_what_was_measured_on_groups() -> None:
    def grouped(count: int) -> str:
        return held("sq", count, grouped=True)

    assert (
        grouped(10)
        == "; of some 10 groups 59.1 % of its 95 % intervals, and 81.8 % of those of differences, hold the"
        " truth in simulation"
    )
    assert grouped(100) == grouped(400) == ""
    assert held("fpr95", 2, grouped=True) == ""
    said = held("miou", 2, grouped=True)
    assert (
        said
        == "; of some 10 groups 91.8 % of the 95 % intervals of its differences hold the truth in simulation"
    )
