"""`fs.Study`: what it shows, that it reads once and only what is asked for, and what it forgets."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.study.settings import read_settings, write_settings
from opened_files import opened
from refusals import refused


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=6, models=3)


@pytest.fixture(scope="module")
def ranked(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is ranked, to be copied."""
    root = Path(made.compared_study(corpus, tmp_path_factory.mktemp("ranked") / "study", shard_size=4))
    fs.select(root, maps=fs.options.MapRules(constraints="class"))
    fs.label.import_(root, str(corpus.truth))
    fs.rank(root, resamples=20, engine="local")
    return root


@pytest.fixture
def study(ranked: Path, tmp_path: Path) -> fs.Study:
    return fs.Study(shutil.copytree(ranked, tmp_path / "study"))


def test_it_shows_what_the_study_holds(study: fs.Study, corpus: made.Corpus) -> None:
    assert set(study.images) == set(corpus.ids) == set(study.sets["main"])
    assert study.models == tuple(corpus.models)
    assert (study.truths, study.truth(), study.classes.names) == (["labels"], "labels", made.NAMES)
    image = corpus.ids[4]
    for name, maps in corpus.maps.items():
        assert set(study.maps(name)) == set(corpus.ids)
        np.testing.assert_array_equal(study.maps(name)[image], maps[4])
    labelled = study.labels()
    assert set(study.selection("main").now.images) <= set(labelled)
    for id_ in labelled:
        np.testing.assert_array_equal(labelled[id_], corpus.truths[corpus.ids.index(id_)])
    assert study.pairs.block(1).images == tuple(study.images[4:])
    assert study.standings().models == study.models
    said = repr(study)
    assert all(word in said for word in ("images: 6", "model-0, model-1", "ranked: main"))
    assert "<th style='text-align:left'>models</th>" in study._repr_html_()


def test_what_is_not_there_is_refused_in_one_line(study: fs.Study, tmp_path: Path) -> None:
    with pytest.raises(fs.errors.StudyError, match=r"no model 'model-O'.*Did you mean"):
        study.maps("model-O")
    with pytest.raises(fs.errors.StudyError, match=r"no truth 'crowd'; available: labels"):
        study.labels("crowd")
    with pytest.raises(fs.errors.SelectionError, match=r"no selection 'more'"):
        study.selection("more")
    with pytest.raises(fs.errors.RankingError, match=r"faultscape rank .* --selection more"):
        study.standings("more")
    assert "gone" not in study.maps("model-0")
    assert repr(fs.Study(tmp_path / "nowhere")).endswith("no study yet>")
    with pytest.raises(fs.errors.StudyError, match="is not a study"):
        fs.Study(tmp_path / "nowhere").models  # noqa: B018 - read for its error
    with pytest.raises(fs.errors.StudyError, match=rf"--classes NAME`\. Did you mean '{study.root.name}'\?"):
        fs.status(f"{study.root}x")


def test_each_file_is_opened_once_and_only_when_it_is_asked_for(study: fs.Study) -> None:
    with opened(study.root) as found:
        assert not found
        for _ in range(2):
            _ = study.images, study.models, study.selections, study.truths, study.groups
            study.drawn_from(study.models)
            study.truth_key("labels")
    assert found["study.toml"] == found["corpus.parquet"] == found["selection.json"] == 1
    assert max(times for file, times in found.items() if not file.startswith("answers")) == 1
    assert not any(file.endswith(".parquet") and file.startswith("predictions") for file in found)


def test_reread_forgets_what_changed_and_nothing_else(study: fs.Study) -> None:
    assert (len(study.models), len(study.images)) == (3, 6)
    settings = read_settings(study.root)
    del settings.models["model-1"]
    write_settings(study.root, settings)
    assert len(study.models) == 3  # one moment
    with opened(study.root) as found:
        assert study.reread().models == ("model-0", "model-2")
        assert len(study.images) == 6
    assert dict(found) == {"study.toml": 1}


def test_a_selection_counts_without_images_and_models_that_left(study: fs.Study) -> None:
    fs.select(study, selector="random", budget=4)
    image = study.selection("random").now.images[0]
    fs.collect(str(study.root), remove=[image])
    settings = read_settings(study.root)
    del settings.models["model-2"]
    write_settings(study.root, settings)
    drawn = study.reread().selection("random")
    assert (len(drawn.slots.images), drawn.slots.models) == (4, ("model-0", "model-1", "model-2"))
    assert drawn.now.models == ("model-0", "model-1")  # a draw can do without a model, a duel cannot
    assert [*drawn.now.images] == [one for one in drawn.slots.images if one != image]
    assert study.selection("main").now.models == study.selection("main").slots.models


def test_labels_of_images_that_left_change_a_truth_and_images_without_a_label_do_not(
    study: fs.Study, corpus: made.Corpus, tmp_path: Path
) -> None:
    labelled, other = corpus.ids[0], corpus.ids[2]  # of one shard
    made.write(tmp_path / "few" / f"{labelled}.png", corpus.truths[0])
    fs.label.import_(study.root, str(tmp_path / "few"), truth="few")
    before = study.reread().truth_key("few")
    fs.collect(str(study.root), remove=[other])
    assert (study.reread().labels_gone("few"), study.truth_key("few")) == ({}, before)
    fs.collect(str(study.root), remove=[labelled])
    assert [*study.reread().labels_gone("few").values()] == [[labelled]]
    assert study.truth_key("few") != before


def test_images_of_made_sets_are_in_no_group_and_enter_no_number_of_the_study(
    study: fs.Study, corpus: made.Corpus
) -> None:
    fs.collect(str(study.root), str(corpus.photos), grouping=fs.options.Grouping(group="{group}/*"))
    before = study.reread().photos_key()
    fs.stress.corrupt(str(study.root), corruption=["brightness"], severities="1")
    assert len(study.reread().images) == 12
    assert study.groups == {id_: id_.partition("/")[0] for id_ in corpus.ids}
    assert study.photos_key() == before


def test_a_verb_takes_a_study_which_then_shows_what_it_made(study: fs.Study) -> None:
    before = study.standings().provenance["arguments"]
    fs.rank(study, resamples=10, engine="local")
    assert study.standings().provenance["arguments"] != before


def test_a_writer_holds_the_study_and_sees_it_as_it_is_then(study: fs.Study) -> None:
    assert len(study.models) == 3
    settings = read_settings(study.root)
    del settings.models["model-1"]
    write_settings(study.root, settings)
    with study.writing() as held:
        assert held is study
        assert held.models == ("model-0", "model-2")
        with pytest.raises(fs.errors.StudyError, match="another faultscape is writing"), study.writing():
            pass
        del settings.models["model-2"]
        write_settings(study.root, settings)
    assert study.models == ("model-0",)  # and as it left it


def test_it_crosses_to_another_process_as_a_path(study: fs.Study) -> None:
    assert (len(study.models), len(study.images)) == (3, 6)
    other = pickle.loads(pickle.dumps(study))
    with opened(study.root) as found:
        assert (other.root, other.models) == (study.root, study.models)
    assert found["study.toml"] == 1  # nothing that was read went along
    (study.root / "selection.json").write_text("{")
    with pytest.raises(fs.errors.DamagedSelectionError):
        _ = study.reread().selections
    looking = pickle.loads(pickle.dumps(study.skipping_damaged()))
    assert (looking.selections, [*looking.damaged]) == ({}, ["main"])


def test_main_stands_for_the_only_selection_and_its_standings(study: fs.Study) -> None:
    main = study.standings()
    for stem, ending in (("selection", "csv"), ("selection", "json"), ("standings", "json")):
        (study.root / f"{stem}.{ending}").rename(study.root / f"{stem}-few.{ending}")
    assert study.reread().selection().name == "few"
    assert study.standings().rankings.keys() == main.rankings.keys()


@pytest.mark.parametrize("root", [None, 3, ["study"]])
def test_what_is_no_folder_is_refused(root: object) -> None:
    with refused(StudyError, "Study: expected the path of a study's folder; got "):
        fs.Study(root)  # type: ignore[arg-type]
