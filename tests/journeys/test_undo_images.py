"""Images leave a study and come back with all that was said of them; each line says what becomes stale, and
--dry-run says it and changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import OptionError
from faultscape.reading.evidence import accuracies
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import Corpus, read_corpus
from faultscape.study.tables.pool import read_pool
from refusals import refused
from undoing import (
    FEW,
    WHEN_FINISHED,
    bytes_of,
    copy_of,
    digest,
    follow,
    shared_corpus,
    states,
    tried_first,
)


@pytest.fixture
def corpus() -> made.Corpus:
    return shared_corpus()


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return copy_of(getattr(request, "param", "chosen"), tmp_path / "study")


@WHEN_FINISHED
@pytest.mark.slow
def test_images_leave_the_corpus_and_come_back_with_all_that_was_said_of_them(
    study: str, corpus: made.Corpus
) -> None:
    gone = selections.read_selection(Path(study))[0].images[0]
    corpus_before, standings = read_corpus(Path(study)), (Path(study) / "standings.json").read_bytes()
    stored = {room: bytes_of(study, room) for room in ("predictions", "pairs", "truth")}
    keys = [image.key for image in corpus_before]
    said = tried_first(study, fs.collect, remove=[gone])
    assert any(
        words.startswith("selection of main: images or predictions changed since, images of it left")
        for words in said.stale
    )
    assert any(words.startswith("standings of main") for words in said.stale)
    assert any(words.startswith("measures") for words in said.stale)
    assert gone not in {image.id for image in read_corpus(Path(study))}
    assert gone not in read_pool(Corpus(Path(study))).ids.to_pylist()
    assert gone not in {row.image for row in Study(Path(study)).selection("main").now.rows}
    assert states(study)["maps", ""] == "done"
    assert states(study)["pairs", ""] == "done"
    fs.predict(study, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(study, engine="local")
    assert {
        room: bytes_of(study, room) for room in stored
    } == stored  # nothing was predicted or counted again
    settings = read_settings(Path(study))
    assert (
        gone
        not in accuracies(
            Study(Path(study)), tuple(settings.models), "labels", {"concordance": "miou", "over": "union"}
        )[0]
    )
    follow(study)
    fs.collect(study, str(corpus.photos))
    assert read_corpus(Path(study)) == corpus_before
    assert [image.key for image in read_corpus(Path(study))] == keys
    assert {room: bytes_of(study, room) for room in stored} == stored
    assert states(study)["labels", "main"] == "done"
    follow(study)
    fs.select(study, replace=True, engine="local")
    fs.rank(study, **FEW)
    assert (
        json.loads((Path(study) / "standings.json").read_text())["rankings"]
        == json.loads(standings)["rankings"]
    )


def test_a_model_that_came_while_an_image_was_out_has_its_map_when_it_is_back(
    study: str, corpus: made.Corpus
) -> None:
    gone = read_corpus(Path(study))[0].id
    name, source = list(corpus.models.items())[2]
    tried_first(study, fs.collect, remove=[gone])
    made_ = fs.predict(study, {name: source}, engine="local")
    assert f"{name} 5" in repr(made_) or "5 maps" in repr(made_)
    fs.compare(study, engine="local")
    fs.collect(study, str(corpus.photos))
    assert states(study)["maps", ""] == "done"
    assert states(study)["pairs", ""] == "done"
    whole = str(Path(study).parent / "whole")
    made.collected(corpus, whole, 2)
    fs.predict(whole, dict(list(corpus.models.items())[:3]), engine="local")
    fs.compare(whole, engine="local")
    for room in ("predictions", "pairs"):
        assert bytes_of(study, room) == bytes_of(whole, room)


def test_a_shard_that_left_whole_is_not_cut_again(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    last = [image.id for image in read_corpus(Path(study)) if image.shard == 2]
    (tmp_path / "out.txt").write_text("\n".join(last))
    tried_first(study, fs.collect, remove=[str(tmp_path / "out.txt")])
    assert {image.shard for image in read_corpus(Path(study))} == {0, 1}
    assert states(study)["maps", ""] == states(study)["pairs", ""] == "done"
    fs.collect(study, str(next(iter(sorted(Path(corpus.photos).rglob("*.*"))))), set_="extra")
    assert {image.shard for image in read_corpus(Path(study)) if image.set == "extra"} == {3}


@pytest.mark.slow
@WHEN_FINISHED
def test_the_lines_as_a_person_types_them(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (
        ["collect", study, "--remove", "part0/*", "--remove", "part1/photo 001"],
        ["select", study, "--replace", "--per-class", "2"],
        ["select", study, "--remove", "main"],
        ["label", "remove", study, "part0/*"],
    ):
        before = digest(study)
        capsys.readouterr()
        assert main([*line, "--dry-run"]) == 0
        said = capsys.readouterr().out
        assert "  stale  " in said
        assert said.endswith("--dry-run: nothing was changed\n")
        assert digest(study) == before
    assert main(["select", study, "--remove", "main"]) == 0
    assert capsys.readouterr().out.endswith(f"next: faultscape select {study}\n")
    assert main(["select", study, "--remove", "main"]) == 2


@WHEN_FINISHED
@pytest.mark.slow
def test_what_is_measured_while_a_model_answers_leaves_removed_images_out(
    study: str, corpus: made.Corpus
) -> None:
    gone = read_corpus(Path(study))[0].id
    fs.collect(study, remove=[gone])
    name, source = list(corpus.models.items())[2]
    fs.predict(study, {name: source}, measure=True, engine="local")
    fs.measure(study, resamples=0, engine="local")
    held = (Path(study) / "measures" / "measure.json").read_text()
    assert json.loads(held)["images"] == 5 or '"images": 5' in held
    fs.collect(study, str(corpus.photos))
    assert states(study)["measures", ""] == "stale"
    fs.measure(study, resamples=0, engine="local")
    assert '"images": 6' in (Path(study) / "measures" / "measure.json").read_text()


def test_a_list_of_images_is_given_word_by_word(study: str) -> None:
    before = digest(study)
    with refused(OptionError, r"images must be text; got \['night/1'\]; a list is written \*LIST"):
        fs.label.remove(study, ["night/1"])  # type: ignore[arg-type]
    assert digest(study) == before
