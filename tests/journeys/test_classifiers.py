"""Classifiers from their tables to labels: as typed, with more places, more models, discards, other names,
other classes, and answers of several people.
"""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import children
import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import FaultscapeError, LabellingError, OptionError, SelectionError
from faultscape.reading.answers import read_label_sets
from faultscape.reading.study import Study
from faultscape.selection import classifier_duels
from faultscape.study.answers.labels import Answers
from faultscape.study.settings import read_settings
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.verb import group_options
from refusals import refused

WORDS = ("cat", "dog", "hen", "cow", "owl")
IMAGES = 60
COVERED = ("corpus.parquet", "predictions", "selection*", "failures.csv")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of images, a class list with glosses, and the tables of four models."""
    root, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    ids = [f"set {k % 2}/p{k}" for k in range(IMAGES)]
    (root / "ids.csv").write_text("image\n" + "\n".join(ids))
    entries = ", ".join(f'{{"name": "{word}", "gloss": "a kind of {word}"}}' for word in WORDS)
    (root / "classes.json").write_text(f'{{"classes": [{entries}]}}')
    truth = rng.integers(0, 5, IMAGES)
    (root / "labels.csv").write_text(
        "image,label\n" + "\n".join(f"{i},{WORDS[t]}" for i, t in zip(ids, truth, strict=True))
    )
    for m in range(4):
        said = np.where(rng.random(IMAGES) < 0.75, truth, rng.integers(0, 5, IMAGES))
        lines = [
            f"{i},{WORDS[y]},{p:.3f}" for i, y, p in zip(ids, said, rng.uniform(0.7, 1, IMAGES), strict=True)
        ]
        (root / f"m{m}.csv").write_text("image,label,probability\n" + "\n".join(lines))
    return root


def begun(tables: Path, study: Path, models: int = 3) -> str:
    fs.collect(
        study,
        tables / "ids.csv",
        task="classification",
        classes=tables / "classes.json",
        storage=fs.options.Storage(shard_size=25),
    )
    fs.predict(str(study), {f"m{m}": str(tables / f"m{m}.csv") for m in range(models)})
    return str(study)


@pytest.fixture
def study(tables: Path, tmp_path: Path) -> str:
    return begun(tables, tmp_path / "study")


def questions(path: Path) -> list[dict[str, str]]:
    """The rows of a table of questions."""
    head, *rows = csv.reader(path.read_text().splitlines())
    assert head == ["image", "class", "gloss", "annotator", "answer"]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_lines_as_typed_are_the_verbs_of_python(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed, called = str(tmp_path / "typed"), begun(tables, tmp_path / "called")
    fs.select(called, top=4, classifiers=fs.options.ClassifierRules(cap=2))
    for words in (
        [
            "collect",
            typed,
            tables / "ids.csv",
            "--task",
            "classification",
            "--classes",
            tables / "classes.json",
            "--shard-size",
            "25",
        ],
        ["predict", typed, *(f"m{m}={tables / f'm{m}.csv'}" for m in range(3))],
        ["select", typed, "--top", "4", "--cap", "2", "-v"],
        ["label", "export", typed, tmp_path / "questions.csv", "--format", "csv"],
        ["label", "import", typed, tables / "labels.csv"],
    ):
        assert main([str(word) for word in words]) == 0
    said = capsys.readouterr().out
    assert "distance: 01 (classes have no WordNet ids)" in said
    assert " images to label\n" in said
    assert "at most J(J-1)/2 k = 3 x 2 / 2 x 4 = 12 slots" in said
    assert "60 images labelled" in said
    assert made.bytes_under(Path(typed), *COVERED) == made.bytes_under(Path(called), *COVERED)
    rows = [tuple(row.values())[:3] for row in questions(tmp_path / "questions.csv")]
    slots = read_selection(Path(typed), "main")[0]
    assert {(row[0], row[1]) for row in rows} == {
        (s.image, word) for s in slots.chosen for word in (s.label_a, s.label_b)
    }
    assert {row[1:] for row in rows} <= {(word, f"a kind of {word}") for word in WORDS}


def test_doing_it_again_changes_nothing(tables: Path, study: str) -> None:
    fs.select(study, top=3)
    before = made.bytes_under(Path(study), *COVERED)
    begun(tables, Path(study))
    fs.select(study)
    assert made.bytes_under(Path(study), *COVERED) == before


def test_more_places_extend_a_selection_and_leave_its_rows(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old = fs.select(study, top=3, sampling=fs.options.Sampling(spares=2))
    new = fs.select(study, top=6)
    assert new.rows[: len(old.rows)] == old.rows
    assert {row.round for row in new.rows[len(old.rows) :]} == {2}
    whole = fs.select(study, as_="whole", top=6, sampling=fs.options.Sampling(spares=2))
    first, second = (
        sorted((*row.cell, row.place, row.image) for row in rows) for rows in (new.rows, whole.rows)
    )
    assert first == second
    capsys.readouterr()
    assert fs.select(study, top=2).rows == new.rows
    assert "cannot shrink: top stays 6" in capsys.readouterr().out
    for options in (
        {"confidence": 0.1},
        {"cap": 5},
        {"cap_rule": "scanned"},
        {"distance": "hops"},
        {"without": ["cat"]},
    ):
        with pytest.raises((SelectionError, OptionError), match=r"is fixed: use --as NAME|needs a hierarchy"):
            fs.select(study, **group_options(fs.select, options))  # type: ignore[arg-type]


def test_an_extension_says_how_many_slots_near_duplicates_move_as_its_printed_line_does(
    study: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = classifier_duels.slots
    monkeypatch.setattr(classifier_duels, "slots", lambda *given: replace(drawn(*given), moved=7))
    for top in (3, 6):
        assert fs.select(study, top=top).moved == 7
        assert "near-duplicates: 7 choices" in capsys.readouterr().out


def test_another_model_adds_its_pairs_alone(tables: Path, study: str) -> None:
    old = fs.select(study, top=3)
    fs.predict(study, f"m3={tables / 'm3.csv'}")
    new = fs.select(study)
    assert new.rows[: len(old.rows)] == old.rows
    assert {row.cell for row in new.rows[len(old.rows) :]} == {("m0", "m3"), ("m1", "m3"), ("m2", "m3")}
    fs.predict(study, remove=["m3"])
    with refused(SelectionError, "which is no longer in the study"):
        fs.select(study)


def test_predictions_that_changed_are_not_mixed_into_a_selection(tables: Path, study: str) -> None:
    fs.select(study, top=3)
    fs.predict(study, f"m0={tables / 'm3.csv'}")
    assert made.states(study)["select"] == "stale"
    with refused(SelectionError, "images or predictions changed since"):
        fs.select(study, top=4)
    assert fs.select(study, as_="new", top=3).rows


def test_a_model_is_renamed_and_removed_and_the_study_is_what_it_would_be(
    tables: Path, study: str, tmp_path: Path
) -> None:
    fs.select(study, top=3)
    fs.predict(study, rename={"m0": "zero"})
    (tmp_path / "straight").mkdir()
    straight = str(tmp_path / "straight" / "study")
    fs.collect(
        straight,
        tables / "ids.csv",
        task="classification",
        classes=tables / "classes.json",
        storage=fs.options.Storage(shard_size=25),
    )
    fs.predict(straight, {"zero": tables / "m0.csv", "m1": tables / "m1.csv", "m2": tables / "m2.csv"})
    fs.select(straight, top=3)
    assert made.bytes_under(Path(study), *COVERED) == made.bytes_under(Path(straight), *COVERED)
    fs.predict(study, remove=["zero"])
    assert list(read_settings(Path(study)).models) == ["m1", "m2"]
    assert not (Path(study) / "predictions" / "zero").exists()


def test_discarded_images_leave_their_pairs_and_the_next_ones_behind_are_asked_about(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slots = fs.select(
        study, top=3, sampling=fs.options.Sampling(spares=3), classifiers=fs.options.ClassifierRules(cap=60)
    )
    gone = slots.chosen[0].image
    (tmp_path / "discard.csv").write_text(f"image,reason\n{gone},too blurred\n")
    assert fs.label.import_(study, str(tmp_path / "discard.csv")).discarded == 1
    now = {
        row.image
        for cell in {row.cell for row in slots.rows}
        for row in [row for row in slots.rows if row.cell == cell and row.image != gone][:3]
    }
    moved = len(now - set(slots.images))
    assert moved
    told = f"1 chosen image is discarded, and {moved} spare image{' moves' if moved == 1 else 's move'} up"
    assert f"selection main: {told}\n" in capsys.readouterr().out
    fs.label.export(study, str(tmp_path / "q.csv"))
    asked = {row["image"] for row in questions(tmp_path / "q.csv")}
    assert gone not in asked
    for cell in {row.cell for row in slots.rows}:
        mine = [row for row in slots.rows if row.cell == cell and row.image != gone]
        assert {row.image for row in mine[:3]} <= asked
    (tmp_path / "discard.csv").write_text("image,reason\nnope,too blurred\n")
    with refused(LabellingError, "the discarded 'nope' is not an image of the study"):
        fs.label.import_(study, str(tmp_path / "discard.csv"))


def test_questions_go_out_until_somebody_answered_them_or_their_image_has_a_label(
    study: str, tmp_path: Path
) -> None:
    slots = fs.select(study, top=2, classifiers=fs.options.ClassifierRules(cap=60))
    out = tmp_path / "q"
    first = fs.label.export(study, str(out))
    rows = questions(out / "questions.csv")
    assert (first.questions, first.images) == (len(rows), len(slots.images))
    (tmp_path / "answers").mkdir()
    for who, words in (("ann", ("yes", "no")), ("bob", ("yes", "yes"))):
        lines = [f"{rows[k]['image']},{rows[k]['class']},{who},{word}" for k, word in enumerate(words)]
        (tmp_path / "answers" / f"{who}.csv").write_text("image,class,annotator,answer\n" + "\n".join(lines))
    took = fs.label.import_(study, str(tmp_path / "answers"))
    assert (took.answers, took.ties, took.failures) == (4, 1, 0)
    assert "4 new answers, 1 question undecided" in repr(took)
    again = fs.label.import_(study, str(tmp_path / "answers"))
    assert again.answers == 0
    (tmp_path / "labels.csv").write_text(f"image,label\n{rows[-1]['image']},{WORDS[0]}|{WORDS[3]}\n")
    fs.label.import_(study, str(tmp_path / "labels.csv"))
    assert fs.label.export(study, str(out)).answered >= 3
    left = questions(out / "questions.csv")
    answered = {(row["image"], row["class"]) for row in rows[:2]}
    assert [(r["image"], r["class"]) for r in left] == [
        (r["image"], r["class"])
        for r in rows
        if (r["image"], r["class"]) not in answered and r["image"] != rows[-1]["image"]
    ]
    filled = (out / "questions.csv").read_text().replace(",,\n", ",ann,yes\n", 1)
    (out / "questions.csv").write_text(filled)
    with refused(LabellingError, r"1 line is filled in .* give another file"):
        fs.label.export(study, str(out))
    assert (out / "questions.csv").read_text() == filled
    fs.label.import_(study, str(out))
    fs.label.export(study, str(tmp_path / "more.csv"))


def test_images_that_most_annotators_cannot_judge_are_discarded(study: str, tmp_path: Path) -> None:
    row = fs.select(study, top=2).chosen[0]
    lines = [f"{row.image},{row.label_a},{who},unsure" for who in "abcd"] + [
        f"{row.image},{row.label_a},e,yes"
    ]
    (tmp_path / "a.csv").write_text("\n".join(["image,class,annotator,answer", *lines]))
    assert fs.label.import_(study, str(tmp_path / "a.csv")).discarded == 1
    assert Answers(Path(study)).discarded() == {row.image: "4 of 5 annotators were unsure"}


def test_labels_are_sets_of_classes_and_none_of_them(study: str, tmp_path: Path) -> None:
    images = ["set 0/p0", "set 1/p1", "set 0/p2", "set 1/p3"]
    path = tmp_path / "labels.csv"
    path.write_text(
        f"image,label\n{images[0]},dog|cat\n{images[1]},none\n{images[2]},2\n{images[3]},zebra\nnope,cat\n{images[3]},\n"
    )
    took = fs.label.import_(study, str(path))
    assert (took.new, took.replaced, took.failures) == (3, 0, 3)
    found = read_label_sets(Study(Path(study)), "labels", images)
    assert found == [frozenset({0, 1}), frozenset(), frozenset({2}), None]
    why = sorted(f.reason for f in read_failures(Path(study)) if f.stage == "label")
    assert why == [
        "labels.csv, line 5: 'zebra' is not a class of the study.",
        "labels.csv, line 6: 'nope' is not an image of the study",
        "labels.csv, line 7: it has no class",
    ]
    path.write_text(f"image,label\n{images[0]},dog\n")
    took = fs.label.import_(study, str(path))
    assert (took.new, took.replaced) == (0, 1)
    path.write_text(f"image,label\n{images[0]},dog\n{images[0]},cat\n")
    with refused(LabellingError, r"line 3: 'set 0/p0' has a different label above; join several by \|"):
        fs.label.import_(study, str(path))
    folder = tmp_path / "two files"
    folder.mkdir()
    for name, word in (("a", "dog"), ("b", "cat")):
        (folder / f"{name}.csv").write_text(f"image,label\n{images[0]},{word}\n")
    with refused(
        LabellingError, r"b\.csv: 'set 0/p0' has a different label in an earlier file; join several by \|"
    ):
        fs.label.import_(study, str(folder))
    path.write_text("image,label\nnope,dog\n")
    with refused(LabellingError, "no line could be used; the first"):
        fs.label.import_(study, str(path))


def test_the_confidence_constraint_is_left_out_where_nobody_says_how_sure_and_that_is_said(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for m in range(2):
        lines = [",".join(line.split(",")[:2]) for line in (tables / f"m{m}.csv").read_text().splitlines()]
        (tmp_path / f"m{m}.csv").write_text("\n".join(lines))
    study = begun(tables, tmp_path / "study", models=3)
    fs.predict(study, f"m0={tmp_path / 'm0.csv'}")
    capsys.readouterr()
    fs.select(study, as_="one")
    assert (
        "confidence: m0 has no probabilities, so the constraint is not applied there"
        in capsys.readouterr().out
    )
    fs.predict(study, {"m0": str(tmp_path / "m0.csv"), "m1": str(tmp_path / "m1.csv")}, remove=["m2"])
    capsys.readouterr()
    fs.select(study, as_="all")
    assert "confidence: no model has probabilities" in capsys.readouterr().out
    fs.select(study, as_="none", classifiers=fs.options.ClassifierRules(confidence=0))
    assert "confidence" not in capsys.readouterr().out


def test_only_some_classes_are_asked_about_and_a_word_may_be_left_out(
    tables: Path, study: str, tmp_path: Path
) -> None:
    (tmp_path / "only.txt").write_text("cat\ndog\nhen\n")
    fs.collect(study, str(tables / "ids.csv"), only_classes=str(tmp_path / "only.txt"))
    slots = fs.select(study)
    assert {word for row in slots.rows for word in (row.label_a, row.label_b)} == {"cat", "dog", "hen"}
    slots = fs.select(study, as_="fewer", classifiers=fs.options.ClassifierRules(without=["hen", "owl"]))
    assert {word for row in slots.rows for word in (row.label_a, row.label_b)} == {"cat", "dog"}
    with refused(FaultscapeError, r"--without: 'hem' is not a class of the study. Did you mean 'hen'"):
        fs.select(study, as_="more", classifiers=fs.options.ClassifierRules(without=["hem"]))


KILLED = """
import os, sys
import faultscape as fs
from faultscape.study.tables import label_maps
put, left = label_maps.put_maps, [int(sys.argv[2])]
def dying(*given):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    return put(*given)
label_maps.put_maps = dying
fs.predict(sys.argv[1], *sys.argv[3:])
"""


@pytest.mark.slow
def test_killed_while_tables_are_read_and_started_again_gives_the_same_bytes(
    tables: Path, tmp_path: Path
) -> None:
    whole = begun(tables, tmp_path / "whole")
    expected = made.bytes_under(Path(whole), *COVERED)
    study = tmp_path / "study"
    shutil.copytree(whole, study)
    shutil.rmtree(study / "predictions")
    (study / "study.toml").write_text((study / "study.toml").read_text().split("[models.m0]")[0])
    models = [f"m{m}={tables / f'm{m}.csv'}" for m in range(3)]
    for after in (0, 2, 2):
        children.python("-c", KILLED, study, after, *models, status=9)
    fs.predict(str(study), *models)
    assert made.bytes_under(study, *COVERED) == expected
