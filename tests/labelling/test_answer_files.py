"""Files of labels and answers of classifiers: what is good in them is taken, what is not is named, and what
nobody decided can be asked again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.errors import LabellingError, OptionError
from faultscape.study.answers.labels import Answers
from faultscape.study.tables.logs import read_failures
from refusals import refused, refused_line

HEAD = "image,class,annotator,answer\n"


@pytest.fixture
def made(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=12)


def why(study: str) -> list[str]:
    """What failures.csv says of labels."""
    return sorted(f.reason for f in read_failures(Path(study)) if f.stage == "label")


def test_one_wrong_answer_costs_its_line_alone(made: made_answers.Answers, tmp_path: Path) -> None:
    one, two = made.images[:2]
    lines = [
        f"{one},cat,ann, YES ",
        f"{one},dog,ann,y",
        f"{two},zebra,ann,no",
        "nope,cat,ann,no",
        f"{two},dog,ann",
        f"{two},cat,ann,No",
    ]
    path = tmp_path / "ann.csv"
    path.write_text(HEAD + "\n".join(lines))
    took = fs.label.import_(made.study, str(path))
    assert Answers(Path(made.study)).answers() == [(one, "cat", "ann", "yes"), (two, "cat", "ann", "no")]
    assert why(made.study) == [
        "ann.csv, line 3: the answer 'y' is not known; use yes, no, unsure",
        "ann.csv, line 4: 'zebra' is not a class of the study.",
        "ann.csv, line 5: 'nope' is not an image of the study",
        "ann.csv, line 6: has 3 columns, the first line 4; quote cells that hold a comma",
    ]
    assert "2 new answers" in repr(took)
    assert "4 lines not usable (failures.csv); the first: ann.csv, line 3: " in repr(took)
    path.write_text(HEAD + "\n".join(line for line in lines if line.endswith(("YES ", "No"))))
    assert fs.label.import_(made.study, str(path)).failures == 0
    assert why(made.study) == []  # the lines that were mended or struck out are forgotten


def test_a_file_without_one_good_answer_is_an_error_that_says_the_first(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    (tmp_path / "ann.csv").write_text(
        HEAD + f"{made.images[0]},cat,ann,y\nnowhere,dog,ann,no\n{made.images[0]},dog,ann,n\n"
    )
    said = (
        r"no line could be used; the first: ann.csv, line 2: the answer 'y' is not known; use yes, no, unsure"
        r" \(3 lines in failures.csv\)"
    )
    with refused(LabellingError, said):
        fs.label.import_(made.study, str(tmp_path / "ann.csv"))
    assert sorted(text.partition(": ")[0] for text in why(made.study)) == [
        "ann.csv, line 2",
        "ann.csv, line 3",
        "ann.csv, line 4",
    ]
    assert Answers(Path(made.study)).answers() == []


def test_labels_may_stand_in_another_column(made: made_answers.Answers, tmp_path: Path) -> None:
    path = tmp_path / "gt.csv"
    path.write_text("id,Truth,taken\n" + "\n".join(f"{image},cat,2020" for image in made.images))
    with refused(
        LabellingError,
        r"has no column `label`; name the one with the labels as .*gt.csv:COLUMN; it has id, truth, taken \(",
    ):
        fs.label.import_(made.study, str(path))
    with refused(LabellingError, r"has no column 'thruth'; it has id, truth, taken. Did you mean 'truth'\?"):
        fs.label.import_(made.study, f"{path}:thruth")
    took = fs.label.import_(made.study, f"{path}:Truth")
    assert (took.new, took.failures) == (12, 0)
    assert repr(took).startswith("truth labels: 12 images labelled")
    with refused(LabellingError, r"gone.csv: no such file"):
        fs.label.import_(made.study, f"{tmp_path / 'gone.csv'}:Truth")


def test_labels_name_images_and_columns_as_tables_of_predictions_do(
    made: made_answers.Answers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, path = made.images, tmp_path / "labels.csv"

    def new(text: str, file: Path = path) -> int:
        file.write_text(text)
        return fs.label.import_(made.study, str(file)).new

    assert new(f"filename,label\n{images[0]}.jpg,cat\n") == 1
    assert f"{path}: images from 'filename', labels from 'label'" in capsys.readouterr().out
    assert new(f"Id,Class\n{images[1]},dog\n") == 1
    assert new(f"image\tlabel\n{images[2]}.png\tcat\n", tmp_path / "labels.tsv") == 1
    (tmp_path / "odd.tsv").write_text(f"path\twhat\n{images[3]}.jpg\tcat\n")
    assert fs.label.import_(made.study, f"{tmp_path / 'odd.tsv'}:what").new == 1
    assert new(f"image,class,annotator,answer\n{images[4]}.jpg,cat,ann,yes\n") == 0
    fs.label.import_(made.study, str(path))
    path.write_text(f"image,class,reason\n{images[5]}.jpg,cat,blurred\n")
    assert fs.label.import_(made.study, str(path)).discarded == 1
    with refused(
        LabellingError,
        rf"names 1 image both with and without an extension, or with two \('{images[6]}.jpg' and '{images[6]}'\)",
    ):
        new(f"image,label\n{images[6]}.jpg,cat\n{images[6]},cat\n")


def test_one_thing_is_counted_in_the_singular(made: made_answers.Answers, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(f"image,label\n{made.images[0]},cat\nnope,cat\n")
    said = repr(fs.label.import_(made.study, str(tmp_path / "l.csv")))
    assert "1 image labelled" in said
    assert "1 line not usable" in said


def test_undecided_questions_are_counted_and_go_out_again_where_that_is_asked_for(
    made: made_answers.Answers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.select(made.study, top=2, sampling=fs.options.Sampling(spares=0))
    path = tmp_path / "q.csv"
    fs.label.export(made.study, str(path))
    asked = [tuple(line.split(",")[:2]) for line in path.read_text().splitlines()[1:]]
    words = [("yes", "no"), ("unsure", "unsure"), ("no", "no"), ("unsure", "yes")]
    lines = [
        f"{i},{c},{who},{word}"
        for (i, c), said in zip(asked, words, strict=False)
        for who, word in zip("ab", said, strict=True)
    ]
    (tmp_path / "answers.csv").write_text(HEAD + "\n".join(lines))
    fs.label.import_(made.study, str(tmp_path / "answers.csv"))
    plain = fs.label.export(made.study, str(path))
    assert (plain.questions, plain.undecided) == (len(asked) - 4, 2)
    assert "2 questions undecided (a tie, or everyone was unsure): --again asks them again" in repr(plain)
    capsys.readouterr()
    assert main(["label", "export", made.study, str(path), "--again"]) == 0
    assert "2 questions undecided (a tie, or everyone was unsure): asked again" in capsys.readouterr().out
    assert [tuple(line.split(",")[:2]) for line in path.read_text().splitlines()[1:]] == [
        *asked[:2],
        *asked[4:],
    ]
    (tmp_path / "third.csv").write_text(HEAD + "".join(f"{i},{c},c,yes\n" for i, c in asked[:2]))
    fs.label.import_(made.study, str(tmp_path / "third.csv"))
    last = fs.label.export(made.study, str(path), again=True)
    assert (last.questions, last.undecided) == (len(asked) - 4, 0)
    assert "a tie" not in repr(last)


def test_a_label_settles_a_question_that_answers_left_open(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    fs.select(made.study, top=1, sampling=fs.options.Sampling(spares=0))
    path = tmp_path / "q.csv"
    fs.label.export(made.study, str(path))
    image, class_ = path.read_text().splitlines()[1].split(",")[:2]
    (tmp_path / "a.csv").write_text(f"{HEAD}{image},{class_},ann,unsure\n")
    fs.label.import_(made.study, str(tmp_path / "a.csv"))
    assert fs.label.export(made.study, str(path)).undecided == 1
    made_answers.import_labels(made, [image])
    assert fs.label.export(made.study, str(path), again=True).undecided == 0


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("words", [",ann,perhaps\n", ",ann,yes\n", ",ann,\n"])
def test_what_somebody_filled_in_is_never_written_over(
    made: made_answers.Answers, tmp_path: Path, words: str, taken: bool
) -> None:
    fs.select(made.study, top=2, sampling=fs.options.Sampling(spares=0))
    path = tmp_path / "q.csv"
    fs.label.export(made.study, str(path))
    fs.label.export(made.study, str(path))  # nobody filled anything in yet
    path.write_text(path.read_text().replace(",,\n", words, 1))
    held = path.read_bytes()
    if taken and words == ",ann,yes\n":
        fs.label.import_(made.study, str(path))
    said = refused_line("label", "export", made.study, str(path))
    assert "q.csv: 1 line is filled in and never overwritten; give another file" in said
    assert path.read_bytes() == held
    with refused(OptionError, "--prefill applies to masks only"):
        fs.label.export(made.study, str(path), prefill="model-0")


def test_an_export_ends_with_the_line_that_goes_on_and_writes_nothing_where_nothing_is_open(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    fs.select(made.study, top=2, sampling=fs.options.Sampling(spares=0))
    path = tmp_path / "my questions.csv"
    said = repr(fs.label.export(made.study, str(path))).splitlines()
    assert said[-1] == f"  faultscape label import {made.study} '{path}'"
    made_answers.import_labels(made)
    path.unlink()
    done = fs.label.export(made.study, str(path))
    assert repr(done).startswith("no questions are open; no file was written; ")
    assert "label import" not in repr(done)
    assert not path.exists()


def test_questions_about_names_that_a_spreadsheet_would_run_come_back(tmp_path: Path) -> None:
    """Ids and classes that are formulas stand marked in questions.csv, and are known again without their
    mark.
    """
    (tmp_path / "ids.csv").write_text("image\n=1+1\n@x\n")
    (tmp_path / "classes.txt").write_text("=cat\n-dog\n")
    for name, labels in (("one", ("=cat", "-dog")), ("two", ("-dog", "=cat"))):
        (tmp_path / f"{name}.csv").write_text(f"image,label\n=1+1,{labels[0]}\n@x,{labels[1]}\n")
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "ids.csv"), task="classification", classes=str(tmp_path / "classes.txt"))
    fs.predict(study, {name: str(tmp_path / f"{name}.csv") for name in ("one", "two")})
    fs.select(study)
    asked = fs.label.export(study, str(tmp_path / "questions.csv"), format="csv")
    assert asked.questions == 4
    head, *lines = (tmp_path / "questions.csv").read_text().splitlines()
    assert {line[:3] for line in lines} == {"'=1", "'@x"}
    (tmp_path / "questions.csv").write_text(
        "\n".join([head, *(line.rstrip(",") + ",,ann,yes" for line in lines)])
    )
    assert fs.label.import_(study, str(tmp_path / "questions.csv")).answers == 4
    assert {row[:2] for row in Answers(Path(study)).answers()} == {
        (i, c) for i in ("=1+1", "@x") for c in ("=cat", "-dog")
    }
