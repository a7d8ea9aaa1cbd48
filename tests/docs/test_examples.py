"""The examples in the package's docstrings run and give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MODULES = [
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SRC.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8") and path.name != "signature.py"  # these need a study
]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert shown.attempted
    assert not shown.failed, capsys.readouterr().out
