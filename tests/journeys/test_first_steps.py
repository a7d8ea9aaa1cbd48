"""What somebody stumbles over in the first hour is said in words that help: verbs, sources, names and
examples of the right task.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.study.tables.logs import read_failures
from refusals import refused_line


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=8, errors=(0.2,))


def test_one_model_and_one_image_are_counted_in_the_singular(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    assert repr(fs.predict(answers.study, {"model-0": answers.tables["model-0"]})).startswith(
        f"{answers.study}: 1 model\n"
    )
    corpus = made.corpus(tmp_path / "corpus", images=1, models=1)
    assert "one: 1 image\n" in repr(fs.collect(tmp_path / "one", corpus.photos, classes=corpus.classes))
    assert fs.status(str(tmp_path / "one")).stages[0][2] == "1 image"


def test_arrays_for_a_model_are_taken_by_predict(answers: made_answers.Answers, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", said=np.zeros(8, np.int64), images=np.array(answers.images))
    assert fs.predict(answers.study, {"net": f"{tmp_path / 'p.npz'}:said"}).models == {"net": (8, 0)}


def test_what_the_confidence_shuts_out_is_counted_where_pairs_are_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_answers.study(tmp_path, images=60, sure=True)
    labels = list(made.labels.values())
    sure = [
        [float(line.split(",")[2]) for line in Path(table).read_text().splitlines()[1:]]
        for table in made.tables.values()
    ]
    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    apart = [(a, b, k) for a, b in pairs for k in range(60) if labels[a][k] != labels[b][k]]
    out = sum(min(sure[a][k], sure[b][k]) < np.float32(0.8) for a, b, k in apart)
    fs.select(made.study, top=30)
    assert (
        f"note: of {len(apart)} answers in which two models differ, {out} are left out, because one of "
        "the two is below --confidence 0.8" in capsys.readouterr().out
    )
    fs.select(made.study, as_="all", classifiers=fs.options.ClassifierRules(confidence=0.0), top=30)
    assert "below --confidence" not in capsys.readouterr().out
    fs.select(made.study, as_="few", top=1)
    assert "below --confidence" not in capsys.readouterr().out


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
    fs.collect(study, tmp_path / "one.png", task="classification", classes=tmp_path / "made" / "classes.txt")
    said = refused_line("predict", study, f"x={tmp_path / 'own.py'}:word")
    assert (
        "own.py:word: returned 'cat'; expected one label (a whole number 0 to 65535) or logits (C numbers, one per class)"
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
