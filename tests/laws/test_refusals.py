"""What holds refusals in every other test sees what is none."""

from __future__ import annotations

import pytest

from faultscape.errors import ModelError, StudyError
from refusals import refused, refused_line, told


def refuse(error: Exception) -> None:
    raise error


def test_a_refusal_is_one_line_of_the_right_error_with_the_right_words() -> None:
    with refused(StudyError, "^no stu.y$") as found:
        refuse(StudyError("no study"))
    assert str(found.value) == "no study"
    with pytest.raises(ModelError), refused(StudyError):
        refuse(ModelError("no model"))
    for wrong, says in (
        (lambda: None, "nothing was refused"),
        (lambda: refuse(StudyError("a\nb")), "is not one line"),
        (lambda: refuse(StudyError("")), "is not one line"),
        (lambda: refuse(StudyError("other")), "expected 'words'"),
    ):
        with (
            pytest.raises(AssertionError, match=says),
            refused(StudyError, "words" if "expected" in says else ""),
        ):
            wrong()


def test_a_line_that_is_done_is_not_refused_and_one_that_is_refused_is_not_done() -> None:
    assert any("collect" in line for line in told("--help"))
    assert refused_line("selekt").startswith("faultscape: unknown verb 'selekt'")
    with pytest.raises(AssertionError, match="status 0"):
        refused_line("--help")
    with pytest.raises(AssertionError, match="status 2"):
        told("selekt")
