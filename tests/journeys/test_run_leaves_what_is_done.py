"""`run` does what is undone and nothing else; what it is asked besides is done, or refused in a line."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError, SelectionError
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.selections import read_selection
from golden import STUDY, copied
from refusals import refused


def _done(corpus: made.Corpus, study: str) -> str:
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.run(study, engine="local")
    assert fs.status(study).next == ""
    return study


@pytest.fixture
def own(corpus: made.Corpus, tmp_path: Path) -> str:
    """A study in which all is done, of a corpus that may change."""
    return _done(corpus, str(tmp_path / "study"))


@pytest.fixture
def done(tmp_path: Path) -> str:
    """A study in which all is done."""

    def make(folder: Path) -> None:
        _done(made.corpus(folder / "corpus", images=6, models=3), str(folder / STUDY))

    return copied("done", make, tmp_path / "study")[0]


@pytest.mark.slow
def test_maps_that_are_there_stay_whatever_became_of_their_sources(own: str, corpus: made.Corpus) -> None:
    before = made.bytes_under(Path(own))
    gone, half = corpus.models["model-0"], corpus.models["model-1"]
    shutil.rmtree(gone)
    for file in sorted(half.rglob("*.png"))[::2]:
        file.unlink()
    fs.run(own, engine="local")
    assert made.bytes_under(Path(own)) == before


def test_a_model_that_lacks_maps_is_predicted_and_no_other(own: str, corpus: made.Corpus) -> None:
    held = made.bytes_under(Path(own), "predictions/model-1")
    for file in sorted(corpus.models["model-1"].rglob("*.png"))[::2]:
        file.unlink()
    shutil.rmtree(Path(own) / "predictions" / "model-0")
    fs.run(own, engine="local")
    assert made.bytes_under(Path(own), "predictions/model-1") == held
    assert fs.status(own).next == ""


def test_classes_that_are_named_for_a_study_that_is_there_are_entered(own: str, corpus: made.Corpus) -> None:
    raw = json.loads(corpus.classes.read_text())
    raw["classes"][1]["name"], raw["parents"] = "renamed", {}
    corpus.classes.write_text(json.dumps(raw))
    fs.run(own, classes=str(corpus.classes), engine="local")
    assert "renamed" in read_settings(Path(own)).classes.names


@pytest.mark.slow
def test_a_labelled_selection_is_not_made_anew_for_an_option_and_run_says_how(
    done: str, corpus: made.Corpus
) -> None:
    fs.collect(done, remove=[corpus.ids[0]])
    with refused(
        SelectionError,
        "selection main is labelled and stale.*to choose again with --per-class 3: `faultscape select"
        " .*--replace`",
    ):
        fs.run(done, per_class=3, engine="local")


@pytest.mark.slow
def test_an_option_that_a_verb_no_longer_has_is_named(done: str) -> None:
    path = Path(done) / "standings.json"
    held = json.loads(path.read_text())
    held["provenance"]["arguments"] = {"nope": 1}
    held["provenance"]["inputs"]["labels"] = "others"
    path.write_text(json.dumps(held))
    with refused(
        OptionError,
        "rank no longer has the recorded option 'nope'; run `faultscape rank .*` with the options",
    ):
        fs.run(done, engine="local")


@pytest.mark.slow
def test_a_selection_that_is_made_anew_says_which_options_are_others(
    done: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.select(done, as_="freq", maps=fs.options.MapRules(concordance="fwiou"), engine="local")
    capsys.readouterr()
    said = fs.select(done, as_="freq", replace=True, per_class=2, dry_run=True, engine="local")
    assert (
        "selection freq was redrawn (concordance fwiou before, miou now; per_class 1 before, 2 now)"
        in repr(said)
    )
    assert read_selection(Path(done), "freq")[0].definition["concordance"] == "fwiou"


def test_made_sets_follow_the_images_that_are_named(corpus: made.Corpus, tmp_path: Path) -> None:
    study, photos = str(tmp_path / "study"), sorted(corpus.photos.iterdir())
    fs.collect(study, *map(str, photos[:-1]), classes=str(corpus.classes))
    fs.stress.fog(study, beta=[0.02])
    fs.stress.corrupt(study, corruption=["contrast"], severities="3", set_="foggy-0.02")
    fs.run(study, *map(str, photos), corpus.models, engine="local")
    of_set = Counter(image.set for image in read_corpus(Path(study)))
    assert of_set == {"main": 6, "foggy-0.02": 6, "foggy-0.02-contrast-3": 6}
