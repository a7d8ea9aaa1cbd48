"""What is suggested can be done: with one model, in a tiny pool, with options of another verb, beside a damaged
selection, and for a name with two letters exchanged.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import SelectionError
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.select import duels
from refusals import refused


def test_with_one_model_the_next_line_adds_another(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path, images=12, errors=(0.1, 0.3))
    fs.predict(it.study, remove=["model-1"])
    assert fs.status(it.study).next == f"faultscape predict {it.study} NAME=SOURCE"


def test_a_tiny_pool_is_not_asked_for_more_images_than_it_has(tmp_path: Path) -> None:
    it = made.corpus(tmp_path, images=3, models=2)
    study = str(tmp_path / "study")
    fs.run(study, it.photos, it.models, classes=it.classes, engine="local")
    assert len(read_selection(Path(study), "order")[0].images) == 3


def test_run_names_lines_of_select_for_options_that_a_selection_cannot_change(
    corpus: made.Corpus, study: str
) -> None:
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
    line = f"faultscape select {study} --concordance fwiou"
    with refused(SelectionError, "does not choose again with --concordance fwiou") as told:
        fs.run(study, concordance="fwiou", engine="local")
    assert f"beside it: `{line} --as NAME`, in its place: `{line} --replace`" in str(told.value)
    assert main(shlex.split(f"{line} --replace")[1:]) == 0


def test_run_passes_on_any_other_reason_for_which_nothing_can_be_chosen(
    corpus: made.Corpus, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")

    def search(*_: object, **__: object) -> None:
        raise SelectionError("no image is left")

    monkeypatch.setattr(duels, "search", search)
    with refused(SelectionError, "^no image is left$"):
        fs.run(study, per_class=2, engine="local")


def test_status_shows_a_damaged_selection_and_the_others(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path)
    fs.select(it.study, top=3)
    fs.select(it.study, selector="random", budget=12)
    (Path(it.study) / "selection.csv").unlink()
    found = fs.status(it.study)
    said = {words.split(":")[0]: (state, words) for verb, state, words in found.stages if verb == "select"}
    assert said["random"][0] == "done"
    state, words = said["main"]
    assert state == "damaged"
    assert "there is no selection.csv; restore them from a copy, or remove both with" in words
    assert found.next == f"faultscape select {it.study} --remove main"
    assert main(shlex.split(found.next)[1:]) == 0
    assert not any(state == "damaged" for _, state, _ in fs.status(it.study).stages)


@pytest.mark.slow
def test_run_names_the_file_of_a_plan_made_again_and_does_not_print_it(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path)
    fs.select(it.study, selector="random", budget=20)
    fs.plan(it.study)
    made_answers.import_labels(it)
    done = fs.run(it.study).done
    assert [part for part in done if "plan" in part] == [
        f"{Path(it.study) / 'plan.json'}: planned again; `faultscape plan {it.study}` prints it"
    ]


@pytest.mark.parametrize(("typed", "meant"), [("mian", "main"), ("mani", "main")])
def test_a_name_with_letters_exchanged_is_the_nearest(tmp_path: Path, typed: str, meant: str) -> None:
    it = made_answers.study(tmp_path)
    fs.select(it.study, top=3)
    fs.select(it.study, selector="random", budget=5, as_="mine")
    made_answers.import_labels(it)
    with refused(SelectionError, f"Did you mean '{meant}'"):
        fs.rank(it.study, selection=typed)
