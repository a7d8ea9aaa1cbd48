"""`status` is asked often and reads little: it loads little."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import children
import undoing

HEAVY = ("scipy", "pandas", "cv2", "sqlalchemy", "numba", "jinja2", "onnxruntime", "PIL")


def loaded(study: str) -> list[str]:
    code = f"""if True:
        import sys
        from faultscape.cli import main
        main(["status", sys.argv[1]])
        print([m for m in {HEAVY!r} if m in sys.modules])"""
    said = children.python("-c", code, study)
    assert "predict  done" in said
    return ast.literal_eval(said.splitlines()[-1])


@pytest.mark.slow
def test_status_loads_nothing_that_images_answers_or_rankings_need(tmp_path: Path) -> None:
    study = Path(undoing.copy_of("chosen", tmp_path / "study"))
    for file in study.glob("selection*"):
        file.unlink()
    assert loaded(str(study)) == []


@pytest.mark.slow
def test_status_reads_a_verdict_without_the_libraries_that_made_it(tmp_path: Path) -> None:
    assert loaded(undoing.copy_of("finished", tmp_path / "study")) == []
