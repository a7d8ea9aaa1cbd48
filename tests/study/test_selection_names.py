"""Which selection is meant where none is named."""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.study.tables.selections import the_name


def selection(root: Path, name: str, replaced_by: str = "") -> None:
    about = {"definition": {"replaced_by": replaced_by} if replaced_by else {}}
    (root / f"selection{f'-{name}' if name != 'main' else ''}.json").write_text(json.dumps(about))


def test_the_only_selection_that_none_replaced_is_meant(tmp_path: Path) -> None:
    selection(tmp_path, "order")
    assert the_name(tmp_path, "main") == "order"
    selection(tmp_path, "order-2026-11-30", replaced_by="order")
    assert the_name(tmp_path, "main") == "order"
    selection(tmp_path, "best")
    assert the_name(tmp_path, "main") == "main"  # which is refused where it is read, with what there is
    assert the_name(tmp_path, "best") == "best"


def test_one_whose_heir_is_gone_counts_and_a_damaged_one_too(tmp_path: Path) -> None:
    selection(tmp_path, "order-2026-11-30", replaced_by="order")
    selection(tmp_path, "best")
    assert the_name(tmp_path, "main") == "main"
    (tmp_path / "selection-order-2026-11-30.json").write_text("{")
    assert the_name(tmp_path, "main") == "main"
