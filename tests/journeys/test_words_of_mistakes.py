"""What the command line says of files and words that are not what they should be: what was given, what was
expected, what to do.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.study.tables.logs import read_failures
from refusals import refused_line


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=8, errors=(0.2, 0.4))


def test_a_network_needs_pictures_and_a_classifier_that_is_a_function_returns_one_label(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        "def word(photo):\n    return 'cat'\n\n\ndef right(photo):\n    return 1\n"
    )
    said = refused_line("predict", answers.study, f"x={tmp_path / 'own.py'}:right")
    assert (
        "needs images, and the study has none (it was collected from a list of ids); give a table of "
        "answers" in said
    )
    assert not [row for row in read_failures(Path(answers.study)) if row.name == "x"]
    Image.new("RGB", (8, 8)).save(tmp_path / "one.png")
    study = str(tmp_path / "pictures")
    fs.collect(
        study,
        str(tmp_path / "one.png"),
        task="classification",
        classes=str(tmp_path / "made" / "classes.txt"),
    )
    said = refused_line("predict", study, f"x={tmp_path / 'own.py'}:word")
    assert (
        "the function returned 'cat'; expected one label (a whole number 0 to 65535) or logits (C numbers, one per class)"
        in said
    )


def test_flags_that_are_off_unless_given_have_one_form_and_those_that_a_study_remembers_have_two(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["predict", "--help"])
    shown = capsys.readouterr().out
    assert "--flip, --no-flip" in shown
    assert "--no-measure" not in shown


def test_the_help_speaks_of_classifiers_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    assert "Choose between segmentation models, or image classifiers" in " ".join(
        capsys.readouterr().out.split()
    )
    main(["predict", "--help"])
    assert "label maps or classes: NAME=SOURCE, a folder of maps, a table of answers" in " ".join(
        capsys.readouterr().out.split()
    )


def test_letters_that_a_terminal_has_not_are_printed_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under LC_ALL=C without UTF-8: what cannot be encoded, and what a terminal obeys, ends no line in a
    traceback.
    """
    (tmp_path / "x.csv").write_text("id,n\nKöln \N{DOG FACE}\x1b[2J,1\n", encoding="utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["show", str(tmp_path / "x.csv")]) == 0
    assert terminal.buffer.getvalue().decode("ascii").splitlines()[2].startswith(r"K\xf6ln \U0001f436\x1b[2J")  # type: ignore[attr-defined]
    with pytest.raises(UnicodeEncodeError):  # and such a stream it was
        terminal.write("ö")
