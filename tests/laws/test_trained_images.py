"""The law of trained images: an image that trained a model, or stands for one that did, does not judge it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import faultscape as fs
import golden
import made
from faultscape.nouns import Definition
from faultscape.reading import choices, evidence
from faultscape.reading.points.pool import drawable
from faultscape.reading.study import Study
from faultscape.study.answers.choices import Choice
from faultscape.study.tables.corpus import Corpus, Image, write_corpus
from faultscape.study.trained_images import FILE, put_record, standing_for

MODEL = "model-1"


def _image(id_: str, **more: Any) -> Image:
    base = Image(id_, f"{id_}.png", "main", "pool", "", "", 8, 8, f"digest of {id_}", 1, id_, 0)
    return replace(base, **more)


def test_near_duplicates_groups_and_made_images_stand_for_an_image(tmp_path: Path) -> None:
    rows = [
        _image("a"),
        _image("alike", near_duplicate_of="a"),
        _image("b", group="north"),
        _image("c", group="north"),
        _image("foggy", parent="c", set="fog-3"),
        _image("d", group="south"),
        _image("e"),
    ]
    write_corpus(tmp_path, rows)

    def stand_for(*ids: str) -> list[str]:
        return sorted(standing_for(Corpus(tmp_path), frozenset(f"digest of {id_}" for id_ in ids)))

    assert stand_for("a") == stand_for("alike") == ["a", "alike"]
    assert stand_for("b") == stand_for("foggy") == ["b", "c", "foggy"]
    assert stand_for("d", "nowhere") == ["d"]
    assert stand_for() == []


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study in which an image trained model-1."""
    found = Study(golden.copied("made and compared", made.compared, tmp_path / golden.STUDY)[0])
    first = found.image_rows[found.images[0]]
    put_record(found.root / "predictions" / MODEL, {first.id: first.key})
    return found.reread()


def test_a_model_has_no_counts_of_an_image_that_trained_it(study: Study) -> None:
    whole = study.pairs.block(0)
    here = (whole.pairs == study.models.index(MODEL)).any(1)
    np.testing.assert_array_equal(whole.present[:, 0], ~here)
    assert not whole.rows[here, 0].any()
    assert whole.present[:, 1:].all()
    note = "1 image trained model-1 or resembles an image that did: it does not judge model-1"
    assert evidence.trained_notes(study, study.models, study.images, "image") == [note]


def test_no_point_is_drawn_in_an_image_that_trained_a_model(study: Study) -> None:
    first = study.images[0]
    define: Definition = {"selector": "points", "seed": 0, "keep_duplicates": True}
    assert first not in drawable(study, study.models, define)
    assert first in drawable(study, ["model-0"], define)


def test_no_choice_counts_on_an_image_that_trained_one_of_the_two(study: Study) -> None:
    first, second = study.images[:2]
    said = [
        Choice(image, "model-0", other, "first", "ann")
        for image in (first, second)
        for other in ("model-1", "model-2")
    ]
    study.choices.add_all(said, "test")
    counted, _ = choices.counting(study.reread(), "labels", study.models)
    assert {(one.image, one.second) for one in counted} == {
        (first, "model-2"),
        (second, "model-1"),
        (second, "model-2"),
    }


def _numbers(study: str, goal: Literal["order", "best"]) -> list[Any]:
    """Everything that a study says of its models: what it selects, every ranking, and every measure."""
    fs.compare(study, engine="local")
    fs.select(study, engine="local", replace=True)
    fs.select(study, goal=goal, as_=goal, budget=8, engine="local", replace=True)
    found: list[Any] = []
    for name in ("main", goal):
        found.append([vars(row) for row in Study(study).selection(name).slots.rows])
        for whole in (False, True):
            fs.rank(study, selection=name, all_labels=whole, resamples=20, engine="local")
            ranked = Study(study).standings(name)
            found.append((ranked.rankings, ranked.matrices, ranked.labels))
    measured = fs.measure(study, resamples=20, engine="local").document
    return [*found, measured["models"], measured["paired"], measured["confusion"]]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_maps_and_labels_of_images_that_trained_models_change_no_number(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corpus = made.corpus(tmp_path / "corpus", images=14, models=3, seed=seed)
    study = str(made.collected(corpus, tmp_path / "study", shard_size=5))
    rows = Study(study).image_rows
    trained = rng.choice(corpus.ids, 3, replace=False).tolist()
    folder = Path(corpus.models[MODEL])
    put_record(folder, {id_: rows[id_].key for id_ in trained})
    fs.predict(study, corpus.models, engine="local")
    assert Study(study).trained_on(MODEL) == set(trained)
    fs.label.import_(study, str(corpus.truth))
    goal: Literal["order", "best"] = "best" if seed == 1 else "order"
    before = _numbers(study, goal)
    for id_ in trained:  # the model's maps of what trained it
        made.write(folder / f"{id_}.png", made.blobs(rng, (36, 48)))
    fs.predict(study, {MODEL: folder}, engine="local")
    assert _numbers(study, goal) == before
    for name in corpus.models:  # which trained all of them now: their labels
        put_record(Path(corpus.models[name]), {id_: rows[id_].key for id_ in trained})
        shutil.copy(corpus.models[name] / FILE, Path(study, "predictions", name) / FILE)
    before = _numbers(study, goal)
    for id_ in trained:
        made.write(corpus.truth / f"{id_}.png", made.blobs(rng, (36, 48)))
    fs.label.import_(study, str(corpus.truth))
    assert _numbers(study, goal) == before
