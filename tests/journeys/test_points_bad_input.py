"""Tables of points from elsewhere, and what people do to a study after they answered: right, or one line that
says what is wrong, and no answer is lost.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import LabellingError, StudyError
from faultscape.reading.points.evidence import read_point_evidence
from faultscape.reading.study import Study
from faultscape.study.tables.logs import read_failures
from made_point_study import (
    answer_all,
    by_truth,
    fill,
    lines,
    pointed,
    points_of,
    put_lines,
    some,
    take_classes,
    with_models,
    with_own_photos,
)
from refusals import refused, refused_line, told

ODD_PERSON = "=cmd|' /C calc'!A0"


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    return pointed(tmp_path / "a study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


@pytest.fixture
def corpus(made_once: tuple[str, made.Corpus]) -> made.Corpus:
    return made_once[1]


def pixels(study: str, number: int) -> list[tuple[str, int, int]]:
    return list(dict.fromkeys((p.image, p.row, p.column) for p in points_of(study)))[:number]


def said(study: str, truth: str = "labels") -> list[str]:
    held = {(one.image, one.row, one.column): one for one in Study(study).point_answers.answers(truth)}
    return [held[pixel].answer if pixel in held else "" for pixel in pixels(study, 10**6)]


def reasons(study: str) -> list[str]:
    return [one.reason for one in read_failures(Path(study)) if one.stage == "label"]


ANSWERS = ("2", "CAR", "Tree|road", "Cannot_tell", "VOID", "3.0", "", "sky")
MEANT = ["car", "car", "tree|road", "cannot tell", "void", "person", "", "sky"]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("order", ["image row column answer", "answer note column annotator row image"])
def test_a_table_from_elsewhere_may_be_laid_out_otherwise(
    study: str, tmp_path: Path, mark: str, order: str
) -> None:
    names = order.split()
    rows = [mark.join(names).upper()]
    for (image, row, column), answer in zip(pixels(study, len(ANSWERS)), ANSWERS, strict=True):
        cells = {"image": f"{image}.jpg", "row": f"{row}.0", "column": f" {column} ", "answer": answer}
        rows.append(mark.join(cells.get(name, "x") for name in names))
    table = tmp_path / "said.csv"
    table.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).encode())
    found = fs.label.import_(study, str(table))
    assert (found.new, found.failures) == (len(ANSWERS) - 1, 0)
    assert said(study)[: len(ANSWERS)] == MEANT
    assert {one.annotator for one in Study(study).point_answers.answers()} == {"x" if "note" in order else ""}


MISTAKEN = {
    "can't tell": "\"can't tell\" is not an answer. Did you mean 'cannot tell'?",
    "Cant tell": "'Cant tell' is not an answer. Did you mean 'cannot tell'?",
    "cannot": "'cannot' is not an answer. Did you mean 'cannot tell'?",
    "car/road": "'car/road' is not an answer. Did you mean 'car|road'?",
    "road and CAR": "'road and CAR' is not an answer. Did you mean 'road|car'?",
    "border:tree:road": "'border:tree:road' is not an answer. Did you mean 'tree|road'?",
    "road|tere": "'road|tere': 'tere' is not a class of the study. Did you mean 'tree'?",
    "car|CAR": "'car|CAR' names one class twice.",
    "raod": "'raod' is not a class of the study. Did you mean 'road'?",
}


def test_an_answer_that_means_nothing_is_told_with_what_was_probably_meant(
    study: str, tmp_path: Path
) -> None:
    rows = [
        {"image": image, "row": str(row), "column": str(column), "answer": answer}
        for (image, row, column), answer in zip(pixels(study, len(MISTAKEN)), MISTAKEN, strict=True)
    ]
    table = put_lines(tmp_path / "said.csv", rows)
    assert MISTAKEN["can't tell"] in refused_line("label", "import", study, table)
    ends = [one.partition(": ")[2] for one in reasons(study)]
    accepted = "Or answer void, cannot tell, or A|B on a border"
    assert sorted(ends) == sorted(f"{words} {accepted}" for words in MISTAKEN.values())


def test_a_border_may_have_a_column_of_its_own(study: str, tmp_path: Path) -> None:
    first, second, third = pixels(study, 3)
    table = tmp_path / "said.csv"
    table.write_text(
        "image,row,column,answer,border\n"
        f"{first[0]},{first[1]},{first[2]},car,road\n"
        f"{second[0]},{second[1]},{second[2]},car,\n"
        f"{third[0]},{third[1]},{third[2]},,road\n"
    )
    assert (fs.label.import_(study, str(table)).new, said(study)[:3]) == (2, ["car|road", "car", ""])
    assert any("said.csv, line 4" in one for one in reasons(study))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "image,row,answer\nx,1,car\n",
            "answers to points \\(image, row, column, answer\\)",
        ),
        ("", "answers to points \\(image, row, column, answer\\)"),
        ("image,row,column,answer\n", "no answer could be used; no point is answered"),
        ("image,row,column,answer,answer\nx,1,1,car,sky\n", "has the column 'answer' twice"),
        ("image,row,column,answer\nx," + "9" * 5000 + ",1,car\n", "expected a row and a column, from 0"),
        ("image,row,column,answer\nx,-1,1,car\n", "expected a row and a column, from 0; got '-1'"),
        ("image,row,column,answer\nx,1,1\n", "has 3 columns, the first line 4"),
        (
            "image,row,column,answer\n" + "x" * (2 << 20),
            "line 1: cannot be read: a line has more than 1,048,576",
        ),
        ("," * (2 << 20), "cannot be read: a line has more than 1,048,576 characters"),
        ('image,row,column,answer\n"' + "x\n" * 100_000, "field larger than field limit"),
        ("image\trow\tcolumn\tanswer\n".encode("utf-16"), "save the table as CSV in UTF-8"),
    ],
    ids=["missing", "empty", "head", "twice", "long", "minus", "short", "line", "commas", "quote", "utf-16"],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_line(
    study: str, tmp_path: Path, content: str | bytes, words: str
) -> None:
    table = tmp_path / "said.csv"
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert re.search(words, refused_line("label", "import", study, table))
    assert Study(study).truths == []


def test_names_that_a_spreadsheet_would_run_are_names(study: str, tmp_path: Path) -> None:
    (image, row, column), (other, *place) = pixels(study, 2)
    table = tmp_path / "said.csv"
    table.write_text(
        "image,row,column,annotator,answer\n"
        f"'=1+1,1,1,ann,car\n../../etc/passwd,1,1,ann,car\n{other},{place[0]},{place[1]},ann,=HYPERLINK(1)\n"
        f'{image},{row},{column},"{ODD_PERSON}",car\n'
    )
    found = fs.label.import_(study, str(table))
    assert (found.new, found.failures) == (1, 3)
    assert [one.annotator for one in Study(study).point_answers.answers()] == [ODD_PERSON]
    kept = (Path(study) / "failures.csv").read_text()
    assert "\nlabel,labels,'=1+1," in kept
    fs.label.answers(study, str(tmp_path / "said.jsonl"))
    assert json.loads((tmp_path / "said.jsonl").read_text())["annotator"] == ODD_PERSON


def test_a_person_may_say_the_same_twice_and_change_an_answer_but_not_contradict_it_in_one_file(
    study: str, tmp_path: Path
) -> None:
    image, row, column = pixels(study, 1)[0]

    def table(*rows: tuple[str, str]) -> str:
        lines_ = [f"{image},{row},{column},{who},{answer}" for who, answer in rows]
        (tmp_path / "t.csv").write_text("\n".join(["image,row,column,annotator,answer", *lines_]))
        return str(tmp_path / "t.csv")

    assert fs.label.import_(study, table(("ann", "car"), ("ann", "CAR"), ("ben", "sky"))).new == 2
    with refused(LabellingError, r"different answers: 'car' here, 'road' in t.csv, line 3"):
        fs.label.import_(study, table(("ann", "car"), ("ann", "road")))
    assert fs.label.import_(study, table(("ann", "road"))).new == 1
    held = Study(study).point_answers
    assert {(one.annotator, one.answer) for one in held.answers()} == {("ann", "road"), ("ben", "sky")}
    assert len(held.rows()) == 3  # nothing is overwritten


@pytest.mark.slow
def test_answers_with_a_class_that_left_the_list_are_open_again(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    table = answer_all(study, corpus, tmp_path / "all") / "points.csv"
    trees = sum(answer == "tree" for answer in said(study))
    assert trees > 5
    classes = json.loads(corpus.classes.read_text())
    del classes["classes"][4]
    (tmp_path / "four.json").write_text(json.dumps(classes))
    take_classes(study, tmp_path / "four.json")
    labels = {str(k): name for k, name in enumerate(("sky", "road", "car", "person", "void"))}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    models = some(corpus, "model-0", "model-1", "model-2")
    with_models(study, models, labels=str(tmp_path / "labels.json"))
    asked = len(pixels(study, 10**6))
    status = {stage: words for stage, _, words in fs.status(study).stages}
    drawn = [(p.image, p.row, p.column) for p in points_of(study)]
    open_ = sum(said(study)[pixels(study, 10**6).index(pixel)] == "tree" for pixel in drawn)
    assert f"{len(drawn) - open_} of {len(drawn)} points answered" in status["label"]
    again = fs.label.export(study, str(tmp_path / "again"), selection="points", anyway=True)
    assert again.points == trees
    # the old table says nothing new, and loses nothing
    found = fs.label.import_(study, str(table))
    assert (found.new, found.failures) == (0, trees)
    fill(tmp_path / "again" / "points.csv", lambda _: "void")
    assert fs.label.import_(study, str(tmp_path / "again")).new == trees
    assert sum(answer == "void" for answer in said(study)) == trees
    assert fs.label.export(study, str(tmp_path / "more"), selection="points", anyway=True).points == 0
    take_classes(study, corpus.classes)  # the class comes back, and what people said last stays
    assert asked == len([answer for answer in said(study) if answer])


@pytest.mark.slow
def test_points_of_an_image_that_left_or_has_another_size_are_refused_until_they_are_redrawn(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study, photos = with_own_photos(corpus, tmp_path, 60)
    answer_all(study, corpus, tmp_path / "all")
    image = points_of(study)[0].image
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(photos / f"{image}.png")
    fs.collect(study, str(photos))
    assert made.states(study)["select"] == "stale"
    assert "images of it have another size now" in repr(fs.status(study))
    assert "which has another size now: redraw them with" in refused_line("rank", study)
    assert "images changed since" in refused_line("select", study, "--as", "points", "--more", "5")
    assert "images of it have another size now" in refused_line("label", "export", study, tmp_path / "x")
    fs.label.export(study, str(tmp_path / "y"), anyway=True)  # of the other images
    held = len(Study(study).point_answers.answers())
    assert "lies outside of" in fs.label.import_(study, str(tmp_path / "all")).first
    told("collect", study, "--remove", image)
    assert "which left the corpus: redraw them with" in refused_line("rank", study)
    assert len(Study(study).point_answers.answers()) == held
    fs.select(study, sampling=fs.options.Sampling(points=60), replace=True, engine="local")
    answer_all(study, corpus, tmp_path / "anew")
    assert fs.rank(study, selection="points").rankings["points"].order[0] == "model-0"


@pytest.mark.slow
def test_answers_under_several_names_and_of_another_study_are_kept_apart(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    table = answer_all(study, corpus, tmp_path / "all") / "points.csv"
    rows = lines(table)
    wrong = put_lines(tmp_path / "ben.csv", [row | {"answer": "sky"} for row in rows])
    fs.label.import_(study, str(wrong), truth="ben")
    assert fs.rank(study, truth="labels").rankings["points"].order[0] == "model-0"
    assert set(said(study, "ben")) == {"sky"}
    assert said(study)[0] != "sky" or len(set(said(study))) > 1
    assert "is the name of a model" in refused_line("label", "import", study, table, "--truth", "model-1")
    assert "differ only in upper and lower case" in refused_line(
        "label", "import", study, table, "--truth", "BEN"
    )
    elsewhere = str(made.collected(corpus, tmp_path / "elsewhere", shard_size=4))
    assert "was not drawn: no selection has it" in refused_line("label", "import", elsewhere, table)


@pytest.mark.slow
def test_tables_of_two_rounds_come_in_any_order(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    fs.label.export(study, str(tmp_path / "first"), selection="points")
    fs.select(study, as_="points", more=20, engine="local")
    fs.label.export(study, str(tmp_path / "both"), selection="points")
    for name in ("both", "first"):
        fill(tmp_path / name / "points.csv", by_truth(corpus))
    first = fs.label.import_(study, str(tmp_path / "first")).new
    rest = fs.label.import_(study, str(tmp_path / "both")).new
    assert first + rest == len(pixels(study, 10**6)) == len(lines(tmp_path / "both" / "points.csv"))
    assert fs.label.import_(study, str(tmp_path / "first")).new == 0


def test_a_damaged_database_is_told_and_left_as_it_is(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    table = answer_all(study, corpus, tmp_path / "all") / "points.csv"
    database = Path(study) / "answers.sqlite"
    half = database.read_bytes()[: database.stat().st_size // 2]
    database.write_bytes(half)
    for words in (("status", study), ("rank", study), ("label", "import", study, table)):
        assert "answers.sqlite: DatabaseError: database disk image is malformed" in refused_line(*words)
    assert database.read_bytes() == half


@pytest.mark.slow
def test_a_mask_answers_every_point_of_its_image_once_whatever_people_said_there(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    image = points_of(study)[0].image
    mask = corpus.truths[corpus.ids.index(image)].copy()
    mask[:5] = 255
    file = tmp_path / "masks" / f"{image}.png"
    file.parent.mkdir(parents=True)
    Image.fromarray(mask).save(file)
    never = str(shutil.copytree(study, tmp_path / "never"))
    fs.label.export(study, str(tmp_path / "all"), selection="points")
    right = by_truth(corpus)
    rows = fill(tmp_path / "all" / "points.csv", lambda row: "sky" if row["image"] == image else right(row))
    fs.label.import_(study, str(tmp_path / "all"))
    apart = put_lines(tmp_path / "others.csv", [row for row in rows if row["image"] != image])
    fs.label.import_(never, str(apart))
    for one in (study, never):
        fs.label.import_(one, str(tmp_path / "masks"))
    found, expected = (
        read_point_evidence(Study(one), "points", "labels", engine="local") for one in (study, never)
    )
    np.testing.assert_array_equal(found.shares[found.answered], expected.shares[expected.answered])
    assert not found.inside[[drawn == image for drawn in found.drawn_in]].any()
    tables = [fs.rank(one).rankings["points"] for one in (study, never)]
    assert tables[0].scores == tables[1].scores
    assert tables[0].score_interval == tables[1].score_interval


@pytest.mark.slow
def test_answers_to_points_are_taken_back_only_where_they_are_asked_for(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    image = points_of(study)[0].image
    answer_all(study, corpus, tmp_path / "all")
    everything = Study(study).point_answers.answers()
    mask = tmp_path / "masks" / f"{image}.png"
    mask.parent.mkdir(parents=True)
    Image.fromarray(corpus.truths[corpus.ids.index(image)]).save(mask)
    fs.label.import_(study, str(tmp_path / "masks"))
    there = sum(one.image == image for one in everything)
    stay = f"{there} answers to points there stay: --selection takes those of a selection back"
    line = f"{study}: 1 label removed from truth 'labels' (kept in truth/labels/removed); {stay}"
    assert line in told("label", "remove", study, image)
    assert (
        Study(study).point_answers.answers() == everything
    )  # they count again, now that the image has no mask
    assert f"nothing to take back: none of 1 image has such a label or answer in truth 'labels'; {stay}" in (
        refused_line("label", "remove", study, image)
    )
    words = f"{len(everything)} answers to points removed from truth 'labels'"
    assert f"{study}: {words}" in told("label", "remove", study, "--selection", "points")
    assert Study(study).point_answers.answers() == []
    fs.label.import_(study, str(tmp_path / "all"))
    fs.label.import_(study, str(tmp_path / "masks"))
    fs.select(study, remove="points")
    line = f"{study}: 1 label and {words} (kept in truth/labels/removed)"
    assert line in told("label", "remove", study, "--all")
    assert Study(study).point_answers.answers() == []


def test_answers_to_points_are_no_masks(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    answer_all(study, corpus, tmp_path / "all")
    with refused(StudyError, "truth 'labels' holds answers to points, and no mask"):
        fs.labels(study)
    assert "holds answers to points, and no mask" in refused_line(
        "label", "export", study, tmp_path / "done", "--done"
    )
    assert "--pattern applies to names of masks" in refused_line(
        "label", "import", study, tmp_path / "all", "--pattern", "{id}.png"
    )
    assert "--labels applies to mask files only" in refused_line(
        "label", "import", study, tmp_path / "all", "--labels", "255=car"
    )
