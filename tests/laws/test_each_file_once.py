"""A verb opens each file of a study once: the settings, the corpus, a selection, a manifest."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.reading import pool
from faultscape.study.answers.labels import Answers
from faultscape.verbs.select import duels
from opened_files import opened, unheard

ONCE = re.compile(r"study\.toml|corpus\.parquet|selection.*|standings.*\.json|.*/manifest\.json")


MODELS = dict[str, Any]()  # of the study: {name: source}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is labelled and ranked."""
    folder = tmp_path_factory.mktemp("once")
    corpus = made.corpus(folder / "corpus", images=6, models=3)
    root = folder / "study"
    MODELS.update(corpus.models)
    made.compared_study(corpus, root, shard_size=4)
    fs.select(root, maps=fs.options.MapRules(constraints="class"))
    fs.label.import_(root, str(corpus.truth))
    fs.rank(root, resamples=20, engine="local")
    return root


def _often(found: Counter[str]) -> dict[str, int]:
    """Return how often the files that count were opened."""
    often = {file: times for file, times in found.items() if ONCE.fullmatch(file)}
    print(sorted(often.items()))
    assert "study.toml" in often
    return often


def test_rank_opens_each_file_once(study: Path) -> None:
    with opened(study) as found:
        fs.rank(study, resamples=20, engine="local")
    assert set(_often(found).values()) == {1}


def test_predict_opens_each_file_once_where_nothing_is_left_to_do(study: Path) -> None:
    with opened(study) as found:
        fs.predict(study, MODELS, engine="local")
    assert set(_often(found).values()) == {1}


def test_report_opens_each_file_once(study: Path) -> None:
    with opened(study) as found:
        fs.report(study)
    assert set(_often(found).values()) == {1}


@pytest.mark.parametrize(
    "options", [{"per_class": 2}, {"goal": "order", "budget": 3}], ids=["duels", "draws"]
)
def test_select_opens_each_file_once(
    study: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duels, "shard", unheard(duels.shard))
    monkeypatch.setattr(pool, "shard", unheard(pool.shard))
    with opened(study) as found:
        fs.select(study, engine="local", **options)
    often = _often(found)
    written = {file: often.pop(file) for file in [*often] if file.startswith("selection")}
    assert set(often.values()) == {1}
    assert max(written.values()) <= 2  # as it was, and as it is now


def test_label_import_opens_each_file_once(study: Path, tmp_path: Path) -> None:
    fs.label.export(study, tmp_path / "masks", done=True)
    fs.label.import_(study, tmp_path / "masks", truth="others")
    with opened(study) as found:
        again = fs.label.import_(study, tmp_path / "masks", truth="others")
    assert repr(again).startswith("truth others: 6 unchanged")  # so nothing is written in between
    assert set(_often(found).values()) == {1}


def test_rank_opens_each_file_of_classifiers_once_whose_answers_have_names_of_classes(tmp_path: Path) -> None:
    root = Path(made_answers.study(tmp_path / "made", images=60).study)
    fs.select(root, top=8, engine="local")
    asked = fs.Study(root).selection().now.pairs
    Answers(root).answer([(pair.image, pair.label_a, "ann", "yes") for pair in asked], "test")
    with opened(root) as found:
        fs.rank(root, resamples=20, engine="local")
    assert set(_often(found).values()) == {1}


@pytest.mark.parametrize("verb", ["measure", "reliability"])
def test_measures_and_cards_open_each_file_once(study: Path, verb: str) -> None:
    """Also their own statistics and counts, which the second run finds."""
    line: dict[str, Any] = {"resamples": 20, "worst": 1, "engine": "local"}
    getattr(fs, verb)(study, **line)
    with opened(study) as found:
        getattr(fs, verb)(study, **line)
    often = _often(found)
    assert {"corpus.parquet", "predictions/model-0/manifest.json"} <= often.keys()
    assert any(re.match(r"measures|reliability", file) for file in often)
    assert set(often.values()) == {1}


def test_a_study_that_was_measured_shows_what_was_made(study: Path) -> None:
    given = fs.Study(study)
    before = given.document(given.root / "measures" / "measure.json")
    fs.measure(given, seed=3, resamples=0, worst=0, engine="local")
    assert given.document(given.root / "measures" / "measure.json") != before


PAGES = {  # {page of `label serve`: files that it opens again once all have changed}
    "/api/items?number=1": ("study.toml", "corpus.parquet", "selection.json"),
    "/checks": ("study.toml", "truth/labels/manifest.json", "truth/labels-eve/manifest.json"),
    "/check/0?truth=labels": ("study.toml", "truth/labels/manifest.json"),
    "/mask/0/fill?truth=labels": ("study.toml", "truth/labels/manifest.json"),
    "/tags/0?model=okapinet": ("study.toml", "truth/labels/manifest.json"),
    "/model/0/fill?model=okapinet": ("study.toml", "predictions/okapinet/manifest.json"),
    "/results": ("study.toml", "corpus.parquet", "selection.json"),
    "/masks": ("study.toml",),
    "/people": (),
}


@pytest.mark.parametrize(
    "page",
    [
        "/image/0?show=model:model-0&as=right",
        "/pair?image=0&a=model-0&b=model-1",
        "/overlay/0?show=pair&a=model-0&b=model-1&size=320",
    ],
)
def test_a_page_of_view_opens_each_file_at_most_once(study: Path, page: str) -> None:
    pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")
    import made_view

    client = made_view.client(study)
    with opened(study) as found:
        _changed(study)
        assert client.get(page).status_code == 200
    often = {file: times for file, times in found.items() if ONCE.fullmatch(file)}
    assert often["predictions/model-0/manifest.json"] == 1
    assert set(often.values()) == {1}


def _changed(root: Path) -> None:
    """Give files that count another time, as if others had written them."""
    for file in root.rglob("*"):
        if ONCE.fullmatch(file.relative_to(root).as_posix()):
            os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))


def test_a_page_of_label_serve_opens_each_file_at_most_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a study that others wrote to meanwhile: a page shows it as it is now, and at one moment."""
    pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")
    import made_entrance
    from faultscape.study.answers.annotators import ORGANISER
    from faultscape.verbs.serve import campaign

    monkeypatch.setattr(campaign, "_LOOKED", 0.0)
    root = made_entrance.study(tmp_path)
    with made_entrance.entrance(root) as entrance:
        olga = entrance.invited("olga", ORGANISER)
        picture = olga.items(1)[0]["left"]["fill"]
        for page, files in {**PAGES, picture: ("study.toml",)}.items():
            _changed(root)
            with opened(root) as found:
                assert olga.get(page).status_code == 200
            often = {file: times for file, times in found.items() if ONCE.fullmatch(file)}
            assert set(often) >= set(files), page
            assert set(often.values()) <= {1}, (page, often)
            with opened(root) as found:
                assert olga.get(page).status_code == 200
            assert bool(files) or not found, page
        with opened(root) as found:
            assert olga.get("/work").status_code == 200
        assert not any(ONCE.fullmatch(file) for file in found)


def test_stress_opens_each_file_once(study: Path) -> None:
    line: dict[str, Any] = {"corruption": ["elastic_transform"], "severities": "2", "move_labels": True}
    fs.stress.corrupt(study, engine="local", **line)
    with opened(study) as found:
        again = fs.stress.corrupt(study, engine="local", **line)
    assert "unchanged" in repr(again)
    assert set(_often(found).values()) == {1}
