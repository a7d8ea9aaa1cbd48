"""Python refuses options of another kind as the command line does: in one line that names the option, before
anything is read or written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError, SelectionError
from refusals import refused

WRONG: list[tuple[str, Callable[[str], Any], str]] = [
    ("study", lambda _: fs.status(None), "got None"),
    ("study", lambda _: fs.compare(None), "got None"),
    ("study", lambda _: fs.rank(5), "got 5"),
    ("images", lambda s: fs.collect(s, None), "got None"),
    ("classes", lambda _: fs.collect("new", "photos", classes=3.5), "a number of classes; got 3.5"),
    ("remove", lambda s: fs.collect(s, remove=5), "must be text, or a list of texts; got 5"),
    ("size", lambda s: fs.collect(s, size=5), "must be WIDTHxHEIGHT, or (width, height); got 5"),
    ("set_", lambda s: fs.collect(s, "photos", set_=5), "must be text; got 5"),
    (
        "role",
        lambda s: fs.collect(s, "photos", role=5),
        "must be pool, train, validation, test or reference; got 5",
    ),
    (
        "shard_size",
        lambda s: fs.collect(s, storage=fs.options.Storage(shard_size="4")),
        "must be a whole number; got '4'",
    ),
    (
        "block",
        lambda s: fs.collect(s, grouping=fs.options.Grouping(block=2.5)),
        "must be a whole number; got 2.5",
    ),
    ("urls", lambda s: fs.collect(s, web=fs.options.WebImages(urls=["u"])), "text or a path; got ['u']"),
    ("models", lambda s: fs.predict(s, {"x": None}), "must be NAME=SOURCE, or {NAME: SOURCE}"),
    ("models", lambda s: fs.predict(s, {"x": 5}), "got {'x': 5}"),
    ("models", lambda s: fs.predict(s, {3: "maps"}), "got {3: 'maps'}"),
    ("rename", lambda s: fs.predict(s, rename={"a": 5}), "must be OLD=NEW"),
    ("keep", lambda s: fs.predict(s, keep=5), "must be text, or a list of texts; got 5"),
    ("workers", lambda s: fs.predict(s, workers="2"), "must be a whole number; got '2'"),
    ("workers", lambda s: fs.predict(s, workers=1.5), "must be a whole number; got 1.5"),
    ("mean", lambda s: fs.predict(s, shown=fs.options.Shown(mean=[0.5, "x"])), "must be a number; got 'x'"),
    ("engine", lambda s: fs.compare(s, engine=None), "must be text; got None"),
    ("classes", lambda _: fs.scale("truth", classes=None), "got None"),
    ("output", lambda _: fs.scale("truth", classes=5, output=5), "got 5"),
    ("per_class", lambda s: fs.select(s, per_class="1"), "must be a whole number; got '1'"),
    ("per_class", lambda s: fs.select(s, per_class=1.5), "must be a whole number; got 1.5"),
    ("per_class", lambda s: fs.select(s, per_class=True), "must be a whole number; got True"),
    ("budget", lambda s: fs.select(s, goal="order", budget=5.0), "must be a whole number; got 5.0"),
    ("goal", lambda s: fs.select(s, goal=["order"]), "must be order, best or values; got ['order']"),
    ("seed", lambda s: fs.select(s, seed="1"), "must be a whole number; got '1'"),
    ("as_", lambda s: fs.select(s, as_=5), "must be text; got 5"),
    (
        "scale",
        lambda s: fs.select(s, maps=fs.options.MapRules(scale=5)),
        "must be a Scale, or the name of its file; got 5",
    ),
    ("replace", lambda s: fs.select(s, replace="yes"), "must be True or False; got 'yes'"),
    ("selection", lambda s: fs.label.export(s, "out", selection=None), "must be text; got None"),
    ("out", lambda s: fs.label.export(s, None), "got None"),
    ("source", lambda s: fs.label.import_(s, None), "got None"),
    ("images", lambda s: fs.label.remove(s, 5), "must be text; got 5"),
    ("class_", lambda s: fs.label.remove(s, "a", class_=5), "must be text, or a list of texts; got 5"),
    ("resamples", lambda s: fs.rank(s, resamples="5"), "must be a whole number; got '5'"),
    ("epsilon", lambda s: fs.rank(s, epsilon="x"), "must be a number; got 'x'"),
    ("against", lambda s: fs.rank(s, against=5), "must be text, or a list of texts; got 5"),
    ("within", lambda s: fs.plan(s, within="1"), "must be a number; got '1'"),
    ("cost", lambda s: fs.plan(s, cost=5), "must be mask=5400,choice=10, or {kind of work: seconds}; got 5"),
    ("worst", lambda s: fs.measure(s, worst="3"), "must be a whole number; got '3'"),
    (
        "divisor",
        lambda s: fs.measure(s, definitions=fs.options.Definitions(divisor="2")),
        "must be a whole number; got '2'",
    ),
    (
        "connectivity",
        lambda s: fs.measure(s, definitions=fs.options.Definitions(connectivity=True)),
        "must be 8 or 4; got True",
    ),
    ("bands", lambda s: fs.report(s, bands="high"), "must be a number; got 'high'"),
    ("bands", lambda s: fs.report(s, bands=[0.5, "a"]), "must be a number; got 'a'"),
    ("thumbnail", lambda s: fs.report(s, thumbnail="320"), "must be a whole number; got '320'"),
    ("rows", lambda s: fs.show(s, rows="3"), "must be a whole number; got '3'"),
    ("arguments", lambda s: fs.run(s, ""), "is empty"),
    ("study", lambda _: fs.run(None), "expected the name of a file or folder"),
    ("scenes", lambda s: fs.demo(s, scenes=2.5), "must be a whole number; got 2.5"),
]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, made.Corpus]:
    """A study that has labels, so that no line is refused for what lacks, and the corpus that it is of."""
    folder = tmp_path_factory.mktemp("kinds")
    corpus = made.corpus(folder / "corpus", images=6, models=2)
    study = made.compared_study(corpus, folder / "study", shard_size=4)
    fs.select(study, engine="local")
    fs.label.import_(study, corpus.truth)
    fs.rank(study, resamples=20, engine="local")
    return study, corpus


def held(study: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(Path(study).rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("option", "call", "says"), WRONG, ids=[f"{k}-{option}" for k, (option, _, _) in enumerate(WRONG)]
)
def test_a_value_of_another_kind_is_refused(
    option: str,
    call: Callable[[str], Any],
    says: str,
    ready: tuple[str, made.Corpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = held(ready[0])
    with refused(OptionError, rf"^{option}\b") as found:
        call(ready[0])
    assert says in str(found.value)
    assert held(ready[0]) == before
    assert not [*tmp_path.iterdir()]


def test_numbers_of_numpy_serve_as_numbers(ready: tuple[str, made.Corpus]) -> None:
    study, corpus = ready
    sampling, maps = fs.options.Sampling(spares=np.int32(2)), fs.options.MapRules(over=None)
    slots = fs.select(
        study,
        as_="numpy",
        per_class=np.int64(1),
        seed=np.uint8(3),
        sampling=sampling,
        maps=maps,
        engine="local",
    )
    again = fs.select(
        study, as_="numpy", per_class=1, seed=3, sampling=fs.options.Sampling(spares=2), engine="local"
    )
    assert (slots.rows, slots.definition) == (again.rows, again.definition)
    fs.rank(study, selection="numpy", epsilon=np.float32(0.5), resamples=np.int64(20), engine="local")
    page = fs.report(
        study, selection="numpy", bands=np.array([0.2, 0.4]), better=np.float64(0.1), thumbnail=np.int16(64)
    )
    assert page.size
    measured = fs.measure(
        study,
        output=None,
        resamples=np.int64(20),
        definitions=fs.options.Definitions(bins=np.int8(5)),
        engine="local",
    )
    assert measured.models
    assert len(fs.show(f"{study}/corpus.parquet", rows=np.int64(3)).rows) == 3
    assert fs.scale(corpus.truth, classes=np.int64(5)) == fs.scale(corpus.truth, classes=5)


def test_a_whole_number_serves_where_any_number_is_expected(ready: tuple[str, made.Corpus]) -> None:
    assert fs.rank(ready[0], epsilon=1, resamples=20, engine="local").models


def test_a_size_serves_as_text_or_as_a_pair(tmp_path: Path, ready: tuple[str, made.Corpus]) -> None:
    _, corpus = ready
    for study, size in ((tmp_path / "text", "24x16"), (tmp_path / "pair", (24, np.int64(16)))):
        fs.collect(study, corpus.photos, classes=5, size=size)
    assert (tmp_path / "text" / "study.toml").read_bytes() == (tmp_path / "pair" / "study.toml").read_bytes()


def test_one_name_serves_where_several_may_stand(ready: tuple[str, made.Corpus]) -> None:
    study, _ = ready
    fs.select(study, as_="more", per_class=2, engine="local")
    assert list(fs.rank(study, against="more", resamples=20, engine="local").against) == ["more"]
    with refused(SelectionError, "'fewer'"):
        fs.rank(study, against="fewer")
