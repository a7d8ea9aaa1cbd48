"""A selection is replaced or removed: what nobody labelled for goes, what is labelled is kept under a dated
name; each line says what becomes stale.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import ModelError, SelectionError, counted
from faultscape.nouns import JsonObject
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.rank import artefact as standings_artefact
from faultscape.verbs.select import artefact as selection_artefact
from faultscape.verbs.status.change_result import Changed
from refusals import refused, refused_line, refused_text
from undoing import (
    FEW,
    WHEN_FINISHED,
    bytes_of,
    copy_of,
    finished,
    follow,
    kept,
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


def test_a_selection_that_nobody_labelled_is_replaced_and_nothing_is_kept(study: str) -> None:
    before = selections.read_selection(Path(study))[0]
    tried_first(
        study, fs.select, replace=True, per_class=2, sampling=fs.options.Sampling(spares=1), engine="local"
    )
    now = selections.read_selection(Path(study))[0]
    assert now.definition["per_class"] == 2
    assert now.definition["spares"] == 1  # which never shrinks where a selection is extended
    assert before.definition["spares"] == 3
    assert selections.names(Path(study)) == ["main"]


@pytest.mark.parametrize("spares_alone", [False, True])
def test_how_many_of_its_images_have_labels_is_said_without_spares(
    study: str, corpus: made.Corpus, spares_alone: bool
) -> None:
    slots = selections.read_selection(Path(study))[0]
    assert slots.spares
    fs.label.import_(study, str(corpus.truth))  # all of them, spares too
    if spares_alone:
        fs.label.remove(study, *slots.images)
    few = len(slots.images)
    said = fs.select(study, replace=True, per_class=2, dry_run=True, engine="local")
    gone = fs.select(study, remove="main", dry_run=True)
    assert isinstance(said, Changed)
    assert isinstance(gone, Changed)
    number = "only spares have" if spares_alone else counted(few, "image has", "images have")
    assert f"; the old one, of which {number} labels, is main-" in said.done
    of_it = (
        "only spares of it have" if spares_alone else f"{few} of its images {'has' if few == 1 else 'have'}"
    )
    assert f"; {of_it} labels, which are kept" in gone.done


@WHEN_FINISHED
@pytest.mark.slow
def test_a_labelled_selection_that_is_replaced_is_kept_under_a_dated_name(study: str) -> None:
    before, ranked = (
        selections.read_selection(Path(study))[0],
        json.loads((Path(study) / "standings.json").read_text()),
    )
    said = tried_first(
        study, fs.select, replace=True, maps=fs.options.MapRules(concordance="fwiou"), engine="local"
    )
    assert "standings of main: the selection was extended or replaced" in said.stale
    assert any(words.startswith("report of main") for words in said.stale)
    old = kept(study)[0]
    assert selections.read_selection(Path(study), old)[0].rows == before.rows
    assert selections.read_selection(Path(study))[0].definition["concordance"] == "fwiou"
    # they name their selection, and nobody has to rank it again
    assert ("standings", old) not in states(study)
    assert states(study)["standings", "main"] == "stale"
    assert states(study)["labels", "main"] == "done"  # labels are of images
    assert "label" not in follow(study)
    fs.rank(study, selection=old, **ranked["provenance"].get("arguments", {}))
    again = json.loads((Path(study) / f"standings-{old}.json").read_text())
    assert (again["rankings"], again["definitions"]["selection"]) == (ranked["rankings"], old)
    assert states(study)["standings", old] == "done"
    fs.select(study, replace=True, engine="local")
    assert sorted(kept(study)) == [old, f"{old}-2"]
    assert "label" not in follow(study)


@pytest.mark.slow
def test_what_was_said_of_a_selection_stands_in_the_line_that_makes_it_anew(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    scale = str(tmp_path / "scale.json")
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=scale)
    fs.select(study, as_="sized", maps=fs.options.MapRules(scale=scale), engine="local")
    fs.select(study, as_="free", maps=fs.options.MapRules(constraints="none"), per_class=2, engine="local")
    fs.select(study, goal="order", budget=3, engine="local")
    before = {
        name: selections.read_selection(Path(study), name)[0].definition
        for name in ("sized", "free", "order")
    }
    Path(scale).unlink()
    fs.collect(study, remove=[read_corpus(Path(study))[0].id])
    follow_selections(study)
    for name, definition in before.items():
        assert states(study)["selection", name] == "done"
        assert selections.read_selection(Path(study), name)[0].definition == definition


def test_a_dry_run_chooses_as_the_line_itself_does_so_that_it_says_the_same_becomes_stale(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.label.import_(study, str(corpus.truth))
    fs.label.remove(
        study,
        *(
            i.id
            for i in read_corpus(Path(study))
            if i.id not in selections.read_selection(Path(study))[0].images
        ),
    )
    fs.rank(study, **FEW)
    same = tried_first(study, fs.select, replace=True, seed=0, engine="local")
    assert not any(words.startswith("standings") for words in same.stale)  # the same images are chosen again
    capsys.readouterr()
    other = tried_first(study, fs.select, replace=True, per_class=3, engine="local")
    assert any(words.startswith("labels of main: ") for words in other.stale)
    told = capsys.readouterr().out
    assert all(words in told for words in other.stale)


def test_what_a_dry_run_refuses_and_says_names_the_study_and_never_the_rehearsal(
    study: str, corpus: made.Corpus
) -> None:
    fs.predict(study, {"late": list(corpus.models.values())[2]}, engine="local")
    line = ["select", study, "--replace", "--engine", "local"]
    said = refused_text(*line, "--dry-run")
    assert said == refused_text(*line)
    assert f"run `faultscape compare {study}`" in said
    spaced = Path(study).rename(Path(study).parent / "a study")
    assert f"run `faultscape compare '{spaced}'`" in refused_text("select", spaced, *line[2:], "--dry-run")


@pytest.mark.slow
def test_what_was_said_of_duels_of_classifiers_stands_in_the_line_that_makes_them_anew_and_in_what_run_does(
    tmp_path: Path,
) -> None:
    study, names = made_answers.study(tmp_path / "made").study, made_answers.NAMES
    far, parents = tmp_path / "far.csv", tmp_path / "parents.csv"
    far.write_text(
        "\n".join(
            [
                ",".join(["", *names]),
                *(",".join([a, *("0" if a == b else "7" for b in names)]) for a in names),
            ]
        )
        + "\n"
    )
    parents.write_text(
        "".join(f"{name},{'low' if k < 2 else 'high'}\n" for k, name in enumerate(names))
        + "low,all\nhigh,all\n"
    )
    few = fs.options.ClassifierRules(confidence=0.2, cap=5, cap_rule="scanned", without=[names[0]])
    fs.select(
        study,
        top=4,
        classifiers=replace(few, distance=str(far)),
        sampling=fs.options.Sampling(spares=1),
        seed=3,
    )
    fs.select(study, as_="path", top=4, classifiers=replace(few, distance="path", hierarchy=str(parents)))
    fs.select(study, as_="above", top=4, classifiers=fs.options.ClassifierRules(hierarchy=str(parents)))
    fs.select(
        study,
        as_="drawn",
        budget=5,
        classifiers=fs.options.ClassifierRules(distance=str(far)),
        sampling=fs.options.Sampling(temperature=0.5),
    )
    before = {
        name: selections.read_selection(Path(study), name)[0].definition
        for name in selections.names(Path(study))
    }
    fs.collect(study, remove=[read_corpus(Path(study))[0].id])
    assert before["main"]["distance"] == str(far)
    fs.run(study)
    follow_selections(study)
    for name, definition in before.items():
        assert states(study)["selection", name] == "done"
        assert selections.read_selection(Path(study), name)[0].definition == definition, name


def follow_selections(study: str) -> None:
    for _ in range(5):
        if (line := fs.status(study).next).startswith("faultscape select"):
            assert main(shlex.split(line)[1:]) == 0, line


@pytest.mark.slow
def test_a_selection_is_removed_and_what_was_labelled_for_it_stays(study: str, corpus: made.Corpus) -> None:
    fs.select(study, as_="other", maps=fs.options.MapRules(concordance="fwiou"), engine="local")
    tried_first(study, fs.select, remove="other")
    assert selections.names(Path(study)) == ["main"]
    assert not (Path(study) / "removed").exists()
    finished(study, corpus)
    files = {
        name: (Path(study) / name).read_bytes() for name in ("selection.csv", "standings.json", "report.html")
    }
    labels = bytes_of(study, "truth")
    tried_first(study, fs.select, remove="main")
    folder = next((Path(study) / "removed").iterdir())
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert not any((Path(study) / name).exists() for name in files)
    assert bytes_of(study, "truth") == labels
    assert fs.status(study).next == f"faultscape select {study}"
    assert [set(slots.images) for slots in selections.read_removed(Path(study))]


@pytest.mark.parametrize(
    "drawn",
    [
        {"selector": "random", "budget": 6, "seed": 3},
        {"goal": "order", "budget": 6},
        {"sampling": fs.options.Sampling(temperature=0.5), "budget": 6},
    ],
    ids=["by a selector", "for a goal", "with a temperature"],
)
@pytest.mark.parametrize("name", ["r", "main"])
def test_draws_are_made_anew_as_draws_by_the_line_that_select_names_and_never_become_duels_for_want_of_a_selector(
    tmp_path: Path, drawn: dict[str, Any], name: str
) -> None:
    it = made_answers.study(tmp_path / "it is made", images=40)
    before = fs.select(it.study, as_=name, engine="local", **drawn)
    made_answers.import_labels(it, list(before.images))
    fs.predict(it.study, remove=["model-2"])
    asked, told = ["--as", name] if name != "main" else [], ("selector", "goal", "seed", "temperature")
    said = refused_text("select", it.study, *asked, "--replace")
    again = said.split("`")[1]
    assert again == selection_artefact.line_again(Study(Path(it.study)), name), said
    assert again == fs.status(it.study).next
    assert refused_text("select", it.study, *asked, "--replace", "--dry-run") == said
    assert selections.read_selection(Path(it.study), name)[0].rows == before.rows
    assert main(shlex.split(again)[1:]) == 0
    now = selections.read_selection(Path(it.study), name)[0]
    assert len(now.draws) == 6
    assert [now.definition.get(key) for key in told] == [before.definition.get(key) for key in told]
    # who wants duels there says so
    assert main(["select", it.study, "--as", name, "--selector", "mad", "--replace"]) == 0
    assert selections.read_selection(Path(it.study), name)[0].pairs


def test_duels_of_a_model_that_is_gone_are_not_ranked_and_the_line_makes_them_anew(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path, images=40)
    fs.select(it.study, top=3, engine="local")
    made_answers.import_labels(it)
    fs.predict(it.study, remove=["model-2"])
    said = refused_text("rank", it.study)
    assert said.endswith(
        f"; redraw it with `faultscape select {it.study} --top 3 --replace` (labels count for both)"
    )
    assert main(shlex.split(said.split("`")[1])[1:]) == 0
    old = next(kept for kept in selections.names(Path(it.study)) if kept.startswith("main-2"))
    assert refused_text("rank", it.study, "--selection", old).endswith("; main took its place")
    fs.predict(it.study, remove=["model-1"])
    said = refused_text("rank", it.study)
    assert said.endswith(f"; model-0 is left, and `faultscape measure {it.study}` scores it against labels")


def test_a_name_that_no_selection_has_is_told_where_one_is_replaced(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is made: a line that was killed between the old and the new is run again."""
    for dry_run in (True, False):
        capsys.readouterr()
        said = fs.select(study, as_="mian", replace=True, dry_run=dry_run, engine="local")
        told = capsys.readouterr().out + repr(said)
        assert (
            "there was no selection mian to replace; it was drawn; selections of this study: main. Did you mean 'main'?"
            in told
        )
    assert selections.names(Path(study)) == ["main", "mian"]


@WHEN_FINISHED
def test_what_is_left_of_a_selection_can_be_chosen_again(study: str) -> None:
    table = Path(study) / "selection.csv"
    table.unlink()
    with refused(
        SelectionError,
        r"is damaged: there is no selection\.csv; .*remove both with `faultscape select .* --remove main` and select again with `faultscape select ",
    ):
        fs.select(study, replace=True, engine="local")
    table.with_suffix(".json").unlink()
    fs.select(study, engine="local")
    assert states(study)["labels", "main"] == "done"


def test_a_selection_that_holds_a_drawn_image_twice_is_damaged_and_can_be_removed(study: str) -> None:
    for name in ("drawn", "other"):
        fs.select(study, selector="random", as_=name, budget=3, engine="local")
        table = Path(study) / f"selection-{name}.csv"
        head, first, _, third = table.read_text().splitlines(keepends=True)
        table.write_text(f"{head}{first}{third}{third}")
    held = table.read_bytes()
    wrong = r"is damaged: it holds '.*' twice.*--remove drawn` and select again"
    assert re.search(wrong, refused_line("select", study, "--remove", "main"))
    told = fs.status(study)
    assert [state for verb, state, words in told.stages if re.search(wrong, words)] == ["damaged"]
    assert told.next.endswith("--remove drawn")
    assert main(["select", study, "--remove", "drawn"]) == 0
    assert fs.status(study).next.endswith("--remove other")
    assert "labels are kept" in fs.select(study, remove="other", dry_run=True).done
    said = fs.select(study, remove="other")
    assert said.next == fs.status(study).next
    assert selections.names(Path(study)) == ["main"]
    (kept_as,) = (Path(study) / "removed").glob("*/damaged-selection-other.csv")
    assert kept_as.read_bytes() == held


def test_run_makes_main_anew_where_nobody_labelled_for_it(study: str, corpus: made.Corpus) -> None:
    name, other = next(iter(corpus.models)), list(corpus.models.values())[2]
    fs.predict(study, {name: other}, engine="local")
    done = fs.run(study, engine="local")
    assert not any("choose again" in line for line in done.done)
    assert states(study)["selection", "main"] == "done"
    assert selections.names(Path(study)) == ["main"]


def test_a_model_that_never_came_to_maps_is_taken_out_by_the_line_that_says_so(study: str) -> None:
    """Its line was interrupted before its first map."""
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text() + '\n[models.late]\nkind = "folder"\nsource = "gone"\n')
    with refused(
        ModelError, f"late: no maps yet; .* or remove them: `faultscape predict {study} --remove late`"
    ) as found:
        fs.compare(study, engine="local")
    line = str(found.value).split("`")[-2]
    assert main(shlex.split(line)[1:]) == 0
    fs.compare(study, engine="local")


def test_a_removed_selection_stays_whatever_is_written_later_and_what_a_kill_left_beside_it_goes(
    study: str, corpus: made.Corpus
) -> None:
    fs.label.import_(study, corpus.truth)
    fs.select(study, remove="main")
    (kept_in,) = [path for path in (Path(study) / "removed").iterdir() if path.is_dir()]
    held = {path.name: path.read_bytes() for path in kept_in.iterdir()}
    (kept_in / ".writing-left").write_bytes(b"half")
    fs.select(study, engine="local")
    assert {path.name: path.read_bytes() for path in kept_in.iterdir()} == held


@WHEN_FINISHED
def test_a_selection_is_digested_and_its_standings_are_read_once_a_look_however_many_things_follow_from_it(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.select(study, as_="second", per_class=2, engine="local")
    fs.rank(study, selection="second", against=["main"], **FEW)
    made_ = list[str]()
    digest_of = selection_artefact.key_of

    def counted(*what: object) -> str:
        made_.append("once")
        return digest_of(*what)

    monkeypatch.setattr(selection_artefact, "key_of", counted)
    whole, read = standings_artefact.from_json, list[str]()

    def read_whole(held: JsonObject) -> Standings:
        read.append("once")
        return whole(held)

    monkeypatch.setattr(standings_artefact, "from_json", read_whole)
    assert {state for (kind, _), state in states(study).items() if kind == "standings"} == {"done"}
    assert len(made_) == 2  # main and second
    assert len(read) == 2
