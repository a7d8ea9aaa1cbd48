"""Measuring on images that were chosen because models differ: numbers are of these images, and nothing is
said of data to come.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.verbs.measure import lists, sets
from refusals import refused


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=36)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    root = str(made.collected(corpus, tmp_path / "chosen", 16))
    fs.predict(root, {name: corpus.models[name] for name in ("model-0", "model-3")}, engine="local")
    return root


def label(
    study: str, corpus: made.Corpus, images: tuple[str, ...], tmp_path: Path, truth: str = "labels"
) -> None:
    for id_ in images:
        made.write(tmp_path / truth / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
    fs.label.import_(study, str(tmp_path / truth), truth=truth)


def measured(study: str, truth: str = "labels") -> tuple[str, str]:
    found = fs.measure(
        study, truth=truth, engine="local", definitions=fs.options.Definitions(boundaries=False), worst=0
    )
    return repr(found), (Path(found.path) / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["mad", "disputed"])
def test_images_chosen_because_models_differ_are_told_and_nobody_is_best(
    study: str, corpus: made.Corpus, tmp_path: Path, selector: str
) -> None:
    fs.compare(study, engine="local")
    slots = (
        fs.select(study, per_class=4, engine="local")
        if selector == "mad"
        else fs.select(study, selector=selector, budget=8, engine="local")
    )
    label(study, corpus, slots.images, tmp_path)
    text, page = measured(study)
    said = (
        f"all the {len(slots.images)} images of truth labels were chosen, or drawn with unequal"
        " probabilities, because models differ"
    )
    assert text.split("note: ")[1].startswith(said)
    assert "*" not in text
    assert said in page
    assert "descriptive intervals, since images were chosen" in page
    assert "<h1>2 models, measured on images that were chosen because models differ</h1>" in page
    assert "of data to come: " not in page
    assert 'class="tied"' not in page
    label(study, corpus, corpus.ids, tmp_path, "everything")
    text, page = measured(study, "everything")
    assert "were chosen" not in text + page
    assert "*" in text
    assert "95 % intervals for data to come" in page


def test_random_draws_that_are_labelled_whole_are_of_data_to_come(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.compare(study, engine="local")
    drawn = fs.select(study, selector="random", budget=12, engine="local")
    fs.select(study, engine="local")
    label(study, corpus, drawn.images, tmp_path)
    text, page = measured(study)
    assert "were chosen" not in text + page
    assert "95 % intervals for data to come" in page


@pytest.mark.slow
def test_measures_are_stale_once_a_selection_chose_what_was_measured(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.compare(study, engine="local")
    chosen = fs.select(study, as_="first", per_class=4, engine="local").images
    fs.select(study, remove="first")  # nobody labelled for it, so that nothing of it stays
    label(study, corpus, chosen[:4], tmp_path)
    assert "were chosen" not in measured(study)[0]
    assert made.states(study)["measure"] == "done"
    fs.select(study, per_class=4, engine="local")
    (words,) = [words for stage, _, words in fs.status(study).stages if stage == "measure"]
    assert words == "against labels; selections now cover other measured images"
    assert "were chosen" in measured(study)[0]
    assert made.states(study)["measure"] == "done"


def test_measure_holds_the_study_from_its_first_look_on(
    study: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(study, corpus, corpus.ids[:6], tmp_path)
    first_look = sets.of_study

    def looked(of: fs.Study, truth: str, *part: str) -> sets.DataSet:
        with refused(StudyError, "another faultscape is writing"):
            fs.label.remove(study, corpus.ids[0])
        return first_look(of, truth, *part)

    monkeypatch.setattr(lists, "of_study", looked)
    measured(study)
    monkeypatch.undo()
    fs.label.remove(study, corpus.ids[0])
    assert made.states(study)["measure"] == "stale"
