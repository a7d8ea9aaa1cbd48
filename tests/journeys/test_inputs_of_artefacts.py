"""Whatever can change the bytes of standings, plans, measures or pages is among their inputs, and nothing
else is told as the reason.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import anew
import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import ClassesError
from faultscape.study.settings import read_settings
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.verb import group_options
from refusals import refused

FEW: dict[str, Any] = {"resamples": 20, "engine": "local"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a line writes to OUT lies beside the study."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "answers", images=40, errors=(0.1, 0.3, 0.5))


@pytest.fixture
def maps(corpus: made.Corpus, study: str) -> str:
    """A study of label maps whose pairs are counted."""
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    return study


def select(study: str, **options: Any) -> None:
    fs.select(study, engine="local", **group_options(fs.select, options))


def discard(study: str, image: str, tmp_path: Path) -> None:
    folder = tmp_path / "discards"
    folder.mkdir()
    (folder / "discard.csv").write_text(f'image,reason\n"{image}",blurred\n')
    fs.label.import_(
        study, str(folder / "discard.csv") if read_settings(Path(study)).classifies else str(folder)
    )


def follow(study: str) -> None:
    for _ in range(12):
        if not (line := fs.status(study).next):
            return
        assert main(shlex.split(line)[1:]) == 0, line
    raise AssertionError(line)


def stale(study: str, kind: str, name: str = "") -> tuple[str, ...]:
    """Why one artefact is stale, once it is seen that all that is called done is what would be made anew."""
    assert anew.differing(study) == []
    return anew.whys(study)[kind, name]


@pytest.mark.parametrize(
    ("options", "why"),
    [({"all_labels": True}, "images were discarded"), ({"against": ["random"]}, "selection random changed")],
    ids=["all-labels", "against"],
)
def test_discards_outside_a_selection_count_where_standings_look_there(
    answers: made_answers.Answers, options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    study = answers.study
    select(study, top=3, spares=2)
    select(study, selector="random", budget=10)
    made_answers.import_labels(answers)
    fs.rank(study, **options, **FEW)
    assert anew.differing(study) == []
    mine = {row.image for row in read_selection(Path(study))[0].rows}
    discard(
        study,
        next(image for image in read_selection(Path(study), "random")[0].images if image not in mine),
        tmp_path,
    )
    assert stale(study, "standings", "main") == (why,)


@pytest.mark.slow
def test_photos_that_changed_make_what_shows_or_orders_them_stale_and_leave_selections(
    maps: str, corpus: made.Corpus
) -> None:
    select(maps)
    fs.label.import_(maps, str(corpus.truth))
    fs.rank(maps, **FEW)
    fs.plan(maps, engine="local")
    fs.measure(maps, resamples=20, engine="local")
    fs.report(maps)
    for path in corpus.photos.rglob("*.*"):
        Image.fromarray(255 - np.asarray(Image.open(path))).save(path)
    fs.collect(maps, str(corpus.photos))
    assert stale(maps, "standings", "main") == ("files of labelled images changed",)
    assert stale(maps, "plan")[0] == "image files changed"
    assert stale(maps, "measures") == ("image files changed",)
    assert "images that it shows changed" in stale(maps, "report", "main")
    assert anew.states(maps)["selection", "main"] == "done"  # who is chosen among equals fell once
    follow(maps)
    assert anew.differing(maps) == []


@pytest.mark.slow
def test_measures_and_plans_are_made_again_against_the_truth_that_they_were_made_against(
    maps: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    select(maps)
    fs.plan(maps, engine="local")
    fs.label.import_(maps, str(corpus.truth), truth="gt")
    assert stale(maps, "plan") == ("labels changed",)  # without a truth it was made of the one that counts
    fs.plan(maps, engine="local")
    fs.measure(maps, resamples=20, engine="local")
    few = tmp_path / "few"
    shutil.copytree(corpus.truth, few)
    next(few.rglob("*.png")).unlink()
    fs.label.import_(maps, str(few), truth="labels")
    assert anew.states(maps)["measures", ""] == anew.states(maps)["plan", ""] == "done"
    assert anew.differing(maps) == []
    fs.label.remove(maps, corpus.ids[0], truth="gt")
    lines = {node.artefact: node.line for node in _nodes(maps)}
    assert lines["measures"] == f"faultscape measure {maps} --truth gt --resamples 20"
    assert lines["plan"] == f"faultscape plan {maps} --truth gt"
    fs.run(maps, engine="local")
    assert json.loads(Path(maps, "measures", "measure.json").read_text())["provenance"]["truth"] == "gt"
    assert json.loads(Path(maps, "plan.json").read_text())["provenance"]["truth"] == "gt"


def _nodes(study: str) -> Any:
    from faultscape.reading.study import Study
    from faultscape.verbs import graph

    return graph.nodes(Study(Path(study), study))


OWN_CONCORDANCE = 'from faultscape.metrics.catalogue import CONCORDANCES\nmine = CONCORDANCES["miou"]\n'
OWN_SELECTOR = (
    "from dataclasses import replace\nfrom faultscape.selection.catalogue import find_selector\n"
    'mine = replace(find_selector("vma"), name="mine", goals=())\n'
)


@pytest.mark.slow
def test_a_concordance_of_a_persons_own_that_changed_makes_its_selection_stale_with_a_line_that_works(
    maps: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN_CONCORDANCE)
    select(maps, concordance=f"{own}:mine")
    fs.label.import_(maps, str(corpus.truth))
    fs.rank(maps, **FEW)
    own.write_text(OWN_CONCORDANCE.replace("miou", "dice"))
    assert stale(maps, "selection", "main") == ("the file of its concordance changed, or is gone",)
    follow(maps)
    assert anew.differing(maps) == []


def test_a_selector_of_a_persons_own_that_changed_makes_its_selection_and_the_plan_stale(
    maps: str, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN_SELECTOR)
    select(maps, selector=f"{own}:mine", budget=4)
    fs.plan(maps, engine="local")
    own.write_text(OWN_SELECTOR.replace('"vma"', '"random"'))
    assert stale(maps, "selection", "mine") == ("the file of its selector changed, or is gone",)
    assert stale(maps, "plan") == ("the file of a selector or of a concordance changed, or is gone",)


@pytest.mark.slow
def test_a_hierarchy_that_changed_makes_the_report_stale_and_with_its_distances_the_selection(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    study, parents = answers.study, tmp_path / "parents.csv"
    rows = "cat,animal\ndog,animal\ncar,vehicle\nboat,vehicle\ntree,plant\nanimal,thing\nplant,thing\nvehicle,thing\n"
    parents.write_text(f"class,parent\n{rows}")
    select(study, hierarchy=str(parents), top=3)
    made_answers.import_labels(answers)
    fs.rank(study, **FEW)
    fs.report(study)
    parents.write_text(f"class,parent\n{rows.replace('animal', 'beast')}")
    assert stale(study, "report", "main") == ("the hierarchy of classes changed, or is gone",)
    assert anew.states(study)["selection", "main"] == "done"  # distances are as they were
    parents.write_text(f"class,parent\n{rows.replace('tree,plant', 'tree,animal')}")
    assert stale(study, "selection", "main") == ("distances between classes changed, or their file is gone",)
    fs.predict(study, {"new": answers.tables["model-0"]})
    follow(study)
    assert read_selection(Path(study))[0].models[-1] == "new"


@pytest.mark.slow
def test_a_report_that_shows_no_outcomes_is_stale_once_labels_were_compared_with_the_models(
    maps: str, corpus: made.Corpus
) -> None:
    select(maps)
    fs.label.import_(maps, str(corpus.truth))
    fs.report(maps)
    assert anew.states(maps)["report", "main"] == "done"
    fs.plan(maps, engine="local")  # which counts them
    assert stale(maps, "report", "main") == ("labels were compared with the models since",)


@pytest.mark.slow
def test_a_report_of_duels_shows_what_constraints_choose_so_that_every_discard_counts(
    maps: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    select(maps, constraints="none", spares=0)
    fs.label.import_(maps, str(corpus.truth))
    fs.rank(maps, **FEW)
    fs.report(maps)
    mine = {row.image for row in read_selection(Path(maps))[0].rows}
    discard(maps, next(image for image in corpus.ids if image not in mine), tmp_path)
    assert stale(maps, "report", "main") == ("images were discarded",)
    assert anew.states(maps)["standings", "main"] == "done"


@pytest.mark.slow
def test_a_replaced_selection_does_not_take_the_place_of_what_replaced_it(
    maps: str, corpus: made.Corpus
) -> None:
    select(maps)
    fs.label.import_(maps, str(corpus.truth))
    fs.collect(maps, remove=[corpus.ids[0]])
    follow(maps)  # main is made anew, and the labelled one kept under a dated name
    fs.collect(maps, str(corpus.photos))  # all is as the kept one had it
    assert anew.states(maps)["selection", "main"] == "stale"
    follow(maps)
    assert anew.states(maps)["selection", "main"] == anew.states(maps)["report", "main"] == "done"


def test_a_selection_whose_scale_lacks_a_class_names_the_line_that_a_person_can_complete(
    maps: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    scale, raw = tmp_path / "scale.json", json.loads(corpus.classes.read_text())
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(scale))
    select(maps, scale=str(scale))
    raw["classes"].append({"id": 77, "name": "dog"})
    corpus.classes.write_text(json.dumps(raw))
    fs.collect(maps, classes=str(corpus.classes))
    fs.compare(maps, engine="local")
    assert fs.status(maps).next == f"faultscape select {maps} --scale SCALE --replace"
    with refused(
        ClassesError,
        "the usual sizes do not include class 'dog'.*make a file for these classes with `faultscape scale`",
    ):
        select(maps, replace=True)
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(scale))
    select(maps, replace=True, scale=str(scale))
    assert anew.states(maps)["selection", "main"] == "done"
