"""What `reliability` prints: 80 columns, the mean corruption error explained, no empty rows."""

from __future__ import annotations

import pytest

from faultscape.reporting.reliability.document import CORRUPTED
from faultscape.reporting.reliability.words import card_text
from made_card import card


@pytest.mark.parametrize("models", [1, 3, 12])
def test_the_card_fits_80_columns_but_for_lines_to_paste(models: int) -> None:
    what = card(models)
    lines = card_text("study/reliability", what).splitlines()
    pasted = {f"  {gap['line']}" for gap in what.get("gaps", []) if gap["line"]}
    assert [line for line in lines if len(line) > 80 and line not in pasted] == []


def test_the_corruption_error_names_its_reference_and_says_what_it_is() -> None:
    what = card(3)
    model = what["models"][0]["name"]
    what["cells"].append({"model": model, "condition": CORRUPTED, "metric": "corruption_error", "value": 1.0})
    text = card_text("study/reliability", what)
    assert f"mCE ({what['reference']} = 1)" in text
    assert f"mCE: mean corruption error relative to {what['reference']}; lower is better" in " ".join(
        text.split()
    )


def test_no_row_is_empty() -> None:
    rows = [line.split() for line in card_text("out", card(3)).splitlines() if line.startswith("random ")]
    assert rows
    assert all(set(row[1:]) != {"-"} for row in rows)
