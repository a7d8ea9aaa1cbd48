"""What people answer about classes: majorities, ties, images too difficult, the latest answer, and files that
hold something else.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import LabellingError, StudyError
from faultscape.labelling import answers as said
from faultscape.study.answers.labels import Answers
from refusals import refused


def of(image: str, class_: str, words: str) -> list[said.Answer]:
    """Answers of annotators a, b, c ...: y, n or u."""
    meaning = {"y": "yes", "n": "no", "u": "unsure"}
    return [(image, class_, who, meaning[word]) for who, word in zip("abcdefghijkl", words, strict=False)]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("y", True),
        ("n", False),
        ("yyn", True),
        ("ynn", False),
        ("yn", None),
        ("yynn", None),
        ("u", None),
        ("yu", True),
        ("nuuu", False),
        ("yynnu", None),
    ],
)
def test_more_yes_than_no_is_yes_and_as_many_is_a_tie(words: str, verdict: bool | None) -> None:
    assert said.majority(of("x", "cat", words)) == {("x", "cat"): verdict}


@given(
    st.lists(
        st.tuples(*[st.sampled_from(w) for w in ("xy", "cd", "ab", ("yes", "no", "unsure"))]), max_size=30
    )
)
def test_of_one_person_and_question_the_latest_answer_counts(rows: list[said.Answer]) -> None:
    last: dict[tuple[str, str, str], str] = {}
    for image, class_, who, word in rows:
        last[image, class_, who] = word
    for question, verdict in said.majority(rows).items():
        words = [word for key, word in last.items() if key[:2] == question]
        yes, no = words.count("yes"), words.count("no")
        assert verdict == (None if yes == no else yes > no)
    assert {row[:2] for row in rows} == said.majority(rows).keys()


@pytest.mark.parametrize(
    ("words", "thrown"),
    [
        ("uuu", False),
        ("uuuu", True),
        ("uuuy", False),
        ("uuuuy", True),
        ("uuuuyy", True),
        ("uuuuyyy", False),
        ("uuuunnnn", False),
        ("uuuuuuyyyy", False),  # exactly three of five
        ("yyyyy", False),
    ],
)
def test_more_than_three_and_more_than_three_of_five_unsure_annotators_discard_an_image(
    words: str, thrown: bool
) -> None:
    assert bool(said.difficult(of("x", "cat", words))) == thrown


def test_an_annotator_who_is_unsure_of_either_class_is_unsure_of_the_image_once() -> None:
    rows = of("x", "cat", "uuyyy") + of("x", "dog", "uuuun")
    assert said.difficult(rows) == {"x": "4 of 5 annotators were unsure"}
    assert said.difficult([*rows, ("x", "dog", "d", "no")]) == {}


def test_questions_go_out_as_csv_and_come_back_answered(tmp_path: Path) -> None:
    asked = [('a, "b"', "cat"), ("é\n", "dog")]
    table = said.question_table(asked, {"cat": "a feline, small"})
    path = tmp_path / "q.csv"
    path.write_text(table, encoding="utf-8")
    assert said.columns(path) == said.QUESTIONS
    assert said.read(path) == ([], [])  # nobody answered yet
    filled = table.replace('"a feline, small",,', '"a feline, small",ann,YES').replace(
        "dog,,,", "dog,,bob,unsure"
    )
    path.write_text(
        "\ufeff" + filled.replace("image,class,gloss,annotator,answer", "Image,Class,Gloss,Annotator,Answer"),
        encoding="utf-8",
    )
    rows, wrong = said.read(path)
    assert wrong == []
    assert [row for _, row in rows] == [('a, "b"', "cat", "ann", "yes"), ("é", "dog", "bob", "unsure")]
    assert rows[0][0] == 2


@pytest.mark.parametrize(
    ("line", "image", "why"),
    [
        ("x,cat,ann,perhaps", "x", "the answer 'perhaps' is not known; use yes, no, unsure"),
        ("x,cat,ann,y", "x", "the answer 'y' is not known; use yes, no, unsure"),
        ("x,cat,,yes", "x", "expected an image, a class and an annotator for each answer"),
        ("x,cat", "x", "has 2 columns, the first line 4; quote cells that hold a comma"),
        ("x,cat, or dog,ann,yes", "x", "has 5 columns, the first line 4; quote cells that hold a comma"),
    ],
)
def test_a_line_that_is_no_answer_is_named_and_the_others_are_taken(
    tmp_path: Path, line: str, image: str, why: str
) -> None:
    (tmp_path / "a.csv").write_text(
        f"image,class,annotator,answer\nw,cat,ann, Yes \n{line}\nz,cat,ann,UNSURE\n"
    )
    good, wrong = said.read(tmp_path / "a.csv")
    assert good == [(2, ("w", "cat", "ann", "yes")), (4, ("z", "cat", "ann", "unsure"))]
    assert wrong == [(3, image, why)]


def test_a_file_without_a_column_of_answers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("image,class,annotator\n")
    with refused(LabellingError, "'answer' is missing"):
        said.read(tmp_path / "a.csv")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"image,class,annotator,answer\nx,\xff,ann,yes\n")
    with refused(LabellingError, "cannot be read"):
        said.read(tmp_path / "a.csv")
    with refused(LabellingError, "cannot be read"):
        said.columns(tmp_path / "gone.csv")


def test_answers_are_kept_as_they_came_and_only_what_is_new_counts(tmp_path: Path) -> None:
    held = Answers(tmp_path)
    assert held.answers() == []
    assert not (tmp_path / "answers.sqlite").exists()
    first = of("x", "cat", "yn")
    assert held.answer(first, "one") == 2
    assert held.answer(first, "again") == 0
    assert held.answer([("x", "cat", "b", "yes"), ("x", "dog", "b", "yes")], "two") == 2
    assert said.majority(held.answers()) == {("x", "cat"): True, ("x", "dog"): True}
    assert len(held.answers()) == 4
    assert held.discard([("x", "blurred")], "two") == 1
    assert held.discarded() == {"x": "blurred"}


def test_answers_of_two_truths_never_meet(tmp_path: Path) -> None:
    held = Answers(tmp_path)
    assert held.answer(of("x", "cat", "y"), "one", "experts") == 1
    assert held.answer(of("x", "cat", "n"), "two", "crowd") == 1  # the same person's name, in another group
    assert (held.answers("experts"), held.answers("crowd"), held.answers()) == (
        of("x", "cat", "y"),
        of("x", "cat", "n"),
        [],
    )
    assert held.answer(of("x", "cat", "y"), "again", "experts") == 0


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database at all" * 100)
    with refused(StudyError, r"cannot read .*answers.sqlite"):
        Answers(tmp_path).answers()


def test_of_answers_that_come_together_the_last_one_counts_whatever_was_there(tmp_path: Path) -> None:
    held = Answers(tmp_path)
    yes, no = (("x", "cat", "ann", word) for word in ("yes", "no"))
    held.answer([yes, no, yes], "first")
    assert said.majority(held.answers()) == {("x", "cat"): True}
    held.answer([no, yes], "second")
    assert said.majority(held.answers()) == {("x", "cat"): True}
    assert held.answer([yes, no], "third") == 1
    assert said.majority(held.answers()) == {("x", "cat"): False}
