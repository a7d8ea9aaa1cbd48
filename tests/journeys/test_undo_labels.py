"""Labels, answers and discards are taken back by rows behind them: nothing that people said is deleted."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.reading.study import Study
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_ids
from faultscape.verbs.report import write
from refusals import refused
from undoing import WHEN_FINISHED, bytes_of, copy_of, digest, shared_corpus


@pytest.fixture
def corpus() -> made.Corpus:
    return shared_corpus()


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return copy_of(getattr(request, "param", "chosen"), tmp_path / "study")


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "answers", images=30)


@WHEN_FINISHED
def test_masks_are_taken_back_and_can_be_imported_again(study: str, corpus: made.Corpus) -> None:
    stored, standings = bytes_of(study, "truth"), (Path(study) / "standings.json").read_bytes()
    gone = selections.read_selection(Path(study))[0].images[0]
    before = digest(study)
    said = fs.label.remove(study, gone, dry_run=True)
    assert digest(study) == before
    done = fs.label.remove(study, gone)
    assert (done.done, done.stale) == (said.done, said.stale)
    assert done.done == "1 label removed from truth 'labels' (kept in truth/labels/removed)"
    assert {words.split(":")[0] for words in done.stale} == {
        "labels of main",
        "standings of main",
        "measures",
        "report of main",
    }
    assert "labels of main: 0 of 1 image labelled (truth labels)" in done.stale
    held = {
        row.id
        for n in (0, 1, 2)
        for row in label_maps.read_stored(label_maps.truth(Path(study), "labels") / "removed", n)
    }
    assert held == {gone}  # nothing is lost
    assert fs.status(study).stages
    with refused(LabellingError, "nothing to take back: none of 1 image has such a label or answer"):
        fs.label.remove(study, gone)
    fs.label.import_(study, str(corpus.truth))
    now = bytes_of(study, "truth")
    assert {name: now[name] for name in stored} == stored
    assert (Path(study) / "standings.json").read_bytes() == standings
    assert fs.status(study).next == ""  # all is as it was before
    fs.label.remove(study, all_=True)
    assert Study(Path(study)).truths == []


def test_labels_that_others_replace_are_kept(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    """The maps of a model, imported as labels by mistake."""
    where = label_maps.truth(Path(study), "labels")
    fs.label.import_(study, str(corpus.truth))
    right = [row for n in (0, 1, 2) for row in label_maps.read_stored(where, n)]
    for again in (corpus.truth, corpus.models["model-0"], corpus.models["model-0"], corpus.truth):
        capsys.readouterr()
        fs.label.import_(study, str(again))
    assert "is replaced, and kept in truth/labels/removed" in capsys.readouterr().out
    assert [row for n in (0, 1, 2) for row in label_maps.read_stored(where, n)] == right
    kept = [row for n in (0, 1, 2) for row in label_maps.read_stored(where / "removed", n)]
    assert len(kept) == 12  # what people drew, and the maps, each once
    assert all(row in kept for row in right)


@WHEN_FINISHED
def test_what_is_not_tried_out_is_read_off_the_graph(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, settings = digest(study), read_settings(Path(study))
    monkeypatch.setattr(
        "faultscape.study.snapshot.read_settings",
        lambda _: settings.model_copy(update={"store": "s3://bucket/study"}),
    )
    # labels in a store are never written for a dry run
    said = fs.label.remove(study, all_=True, dry_run=True)
    assert digest(study) == before
    monkeypatch.undo()
    done = fs.label.remove(study, all_=True)
    assert {words.split(":")[0] for words in said.stale} == {words.split(":")[0] for words in done.stale}


def test_answers_are_taken_back_by_rows_behind_them(answers: made_answers.Answers, tmp_path: Path) -> None:
    study = answers.study
    fs.select(study, top=2)
    fs.label.export(study, str(tmp_path / "q.csv"))
    head, *rows = (tmp_path / "q.csv").read_text().splitlines()
    people = tmp_path / "people"
    people.mkdir()
    for who, answer in (("ann", "yes"), ("bob", "no")):
        (people / f"{who}.csv").write_text(
            "\n".join([head, *(re.sub(",,$", f",{who},{answer}", row) for row in rows)]) + "\n"
        )
    fs.label.import_(study, str(people))
    everything = Answers(Path(study)).answers()
    image = everything[0][0]
    before = digest(study)
    said = fs.label.remove(study, all_=True, by="bob", dry_run=True)
    assert digest(study) == before
    done = fs.label.remove(study, all_=True, by="bob")
    assert (done.done, done.stale) == (said.done, said.stale)
    assert done.done == f"{len(rows)} answers removed from truth 'labels'"
    assert Answers(Path(study)).answers() == [row for row in everything if row[2] == "ann"]
    class_ = next(row[1] for row in everything if row[0] == image)
    fs.label.remove(study, image, class_=class_)
    left = Answers(Path(study)).answers()
    assert (image, class_, "ann", "yes") not in left
    assert len(left) == len(rows) - 1
    fs.label.import_(study, str(people))
    assert sorted(Answers(Path(study)).answers()) == sorted(everything)
    fs.label.remove(study, selection="main")
    assert Answers(Path(study)).truths() == []


def test_discards_are_taken_back(answers: made_answers.Answers, tmp_path: Path) -> None:
    study = answers.study
    fs.select(study, top=2)
    image = selections.read_selection(Path(study))[0].images[0]
    (tmp_path / "discard.csv").write_text(f"image,reason\n{image},blurred\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    assert image not in Study(Path(study)).selection("main").now.images
    assert fs.label.remove(study, image, discards=True).done == "1 image is no longer discarded"
    assert image in Study(Path(study)).selection("main").now.images
    with refused(LabellingError, "none of 1 image is discarded"):
        fs.label.remove(study, image, discards=True)
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    assert Answers(Path(study)).discarded() == {image: "blurred"}


def test_a_table_of_discards_may_come_alone(study: str, tmp_path: Path) -> None:
    image = selections.read_selection(Path(study))[0].images[0]
    table = tmp_path / "not these.csv"
    table.write_text(f"image,reason\n{image},blurred\n")
    assert repr(fs.label.import_(study, str(table))).startswith("discards: 1 newly discarded\n")
    assert Answers(Path(study)).discarded() == {image: "blurred"}
    assert repr(fs.label.import_(study, str(table))).startswith("discards: nothing new\n")
    with refused(OptionError, "--labels applies to labels; .*not these.csv holds discards"):
        fs.label.import_(study, str(table), labels="255=void")
    table.write_text("image,reason\nnope,blurred\n")
    with refused(LabellingError, "'nope' is not an image of the study"):
        fs.label.import_(study, str(table))


@pytest.mark.parametrize("classifies", [False, True])
def test_a_folder_imported_again_discards_nothing_that_was_taken_back(
    study: str,
    answers: made_answers.Answers,
    corpus: made.Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    classifies: bool,
) -> None:
    folder = tmp_path / "answered"
    if classifies:
        folder.mkdir()
        study = answers.study
        fs.select(study, top=2)
    else:
        shutil.copytree(corpus.truth, folder)
    back, gone = selections.read_selection(Path(study))[0].rows[0].image, read_ids_of(study)[-1]
    table = folder / "discard.csv"
    table.write_text(f"image,reason\n{back},blurred\n{gone},empty\n")
    fs.label.import_(study, str(folder))
    fs.label.remove(study, back, discards=True)
    capsys.readouterr()
    fs.label.import_(study, str(folder))  # with more labels than before, say
    assert Answers(Path(study)).discarded() == {gone: "empty"}
    line = shlex.join(["faultscape", "label", "import", study, str(table)])
    said = f"1 discard was taken back and stays so, the first: {back}; to discard again: `{line}`"
    assert said in capsys.readouterr().out
    table.write_text(f"image,reason\n{back},too dark\n")  # which is another decision
    assert fs.label.import_(study, str(folder)).discarded == 1
    fs.label.remove(study, back, discards=True)
    fs.label.import_(study, str(table))
    assert back in Answers(Path(study)).discarded()


def read_ids_of(study: str) -> list[str]:
    return sorted(read_ids(Path(study)))


def test_an_image_that_people_are_unsure_about_is_discarded_again_only_by_new_answers(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    study, unsure = answers.study, tmp_path / "unsure.csv"
    fs.select(study, top=2)
    fs.label.export(study, str(tmp_path / "q.csv"))
    head, row = (tmp_path / "q.csv").read_text().splitlines()[:2]
    people = [re.sub(",,$", f",{who},unsure", row) for who in ("ann", "bob", "cyd", "dan")]
    unsure.write_text("\n".join([head, *people]) + "\n")
    assert fs.label.import_(study, str(unsure)).discarded == 1
    fs.label.remove(study, all_=True, discards=True)
    assert fs.label.import_(study, str(unsure)).discarded == 0
    fs.label.remove(study, all_=True)
    assert fs.label.import_(study, str(unsure)).discarded == 1


def test_answers_whose_discards_are_taken_back_survive_a_full_disk(
    answers: made_answers.Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = answers.study
    fs.select(study, top=2)
    fs.label.export(study, str(tmp_path / "q.csv"))
    head, row = (tmp_path / "q.csv").read_text().splitlines()[:2]
    people = [re.sub(",,$", f",{who},unsure", row) for who in ("ann", "bob", "cyd", "dan")]
    (tmp_path / "unsure.csv").write_text("\n".join([head, *people]) + "\n")
    fs.label.import_(study, str(tmp_path / "unsure.csv"))
    assert list(Answers(Path(study)).discarded().values()) == ["4 of 4 annotators were unsure"]
    put, rows = Database.add, []

    def fill_disk(self: Database, table: Any, more: list[dict[str, Any]]) -> None:
        rows.append(more)
        if len(rows) == 2:
            raise StudyError("cannot write answers.sqlite: the disk is full")
        put(self, table, more)

    monkeypatch.setattr(Database, "add", fill_disk)
    with refused(StudyError, "the disk is full"):
        fs.label.remove(study, all_=True)
    fs.label.remove(study, all_=True)
    assert (Answers(Path(study)).answers(), Answers(Path(study)).discarded()) == ([], {})


def test_a_report_holds_the_study_from_its_first_look_on(
    study: str, corpus: made.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes in while it is made would be missing from a page that says it was made from it."""
    whole, tried = write.page.page, []

    def page(facts: Any) -> str:
        with refused(StudyError, "another faultscape is writing"):
            fs.label.import_(study, str(corpus.truth))
        tried.append(facts)
        return whole(facts)

    monkeypatch.setattr(write.page, "page", page)
    fs.report(study)
    assert len(tried) == 1
