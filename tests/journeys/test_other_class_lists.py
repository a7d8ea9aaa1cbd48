"""Another class list for a study that is there: refused where models and labels would mean something else,
and nothing is counted again for colours, groups and names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
from faultscape.errors import ClassesError
from faultscape.nouns import Slots
from faultscape.study.settings import read_settings
from faultscape.study.tables import selections
from refusals import refused
from undoing import WHEN_FINISHED, chosen, copy_of, digest, finished, follow, shared_corpus, states


@pytest.fixture
def corpus() -> made.Corpus:
    return shared_corpus()


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return copy_of(getattr(request, "param", "chosen"), tmp_path / "study")


def classes_of(corpus: made.Corpus, folder: Path, change: Callable[[Any], Any]) -> str:
    held = json.loads(Path(corpus.classes).read_text())
    path = folder / "changed.json"
    path.write_text(json.dumps(change(held)))
    return str(path)


def test_a_class_list_of_another_study_is_refused(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    def others(held: Any) -> Any:
        held["classes"] = [{**entry, "name": f"other {entry['name']}"} for entry in held["classes"]]
        return {**held, "parents": {}}

    before, classes = digest(study), classes_of(corpus, tmp_path, others)
    with refused(
        ClassesError,
        r"shares no name with the study's \(sky, road, car \.\.\.\).*anyway: .*--replace-classes",
    ):
        fs.collect(study, classes=classes)
    assert digest(study) == before
    fs.collect(study, classes=classes, replace_classes=True)
    assert "other sky" in (Path(study) / "study.toml").read_text()


def test_a_class_or_two_in_common_make_no_list_of_the_same_study(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    """CamVid and VOC have a car in common."""
    before, names = digest(study), json.loads(Path(corpus.classes).read_text())["classes"]
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("\n".join(["car", *(f"other {k}" for k in range(len(names) + 3))]) + "\n")
    with refused(
        ClassesError,
        rf"shares 1 of {len(names)} names with .*check that this is the right list, or use it anyway: .*--replace-classes",
    ):
        fs.collect(study, classes=str(foreign))
    assert digest(study) == before
    fs.collect(study, classes=str(foreign), replace_classes=True)
    assert "other 0" in (Path(study) / "study.toml").read_text()


def test_all_classes_but_one_may_be_renamed(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    """What keeps its ids and colours means what it meant."""

    def translated(held: Any) -> Any:
        return {
            "classes": [
                {**e, "name": e["name"] if e["name"] == "car" else f"mein {e['name']}"}
                for e in held["classes"]
            ]
        }

    held = json.loads(Path(corpus.classes).read_text())
    rest = {k: v for k, v in held.items() if k not in ("classes", "parents")}
    fs.collect(study, classes=classes_of(corpus, tmp_path, lambda held: {**rest, **translated(held)}))
    assert states(study)["pairs", ""] == "done"


def test_a_list_that_gives_labelled_classes_other_ids_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels of classifiers hold ids: without the first line of a list each would be of the class before."""
    study, table = str(tmp_path / "animals"), tmp_path / "a.csv"
    for name, words in (
        ("three.txt", "cat\ndog\nhen\n"),
        ("two.txt", "dog\nhen\n"),
        ("four.txt", "cat\ndog\nhen\ncow\n"),
    ):
        (tmp_path / name).write_text(words)
    (tmp_path / "two.json").write_text(
        json.dumps({"classes": [{"name": "dog", "id": 1}, {"name": "hen", "id": 2}]})
    )
    table.write_text("image,label\n" + "".join(f"p{k},{'dog' if k < 3 else 'hen'}\n" for k in range(6)))
    fs.collect(study, str(table), task="classification", classes=str(tmp_path / "three.txt"))
    fs.predict(study, {"a": str(table)})
    fs.collect(study, classes=str(tmp_path / "two.txt"))  # nothing is labelled yet
    fs.collect(study, classes=str(tmp_path / "three.txt"))
    fs.label.import_(study, str(table))
    before = digest(study)
    with refused(
        ClassesError, "'dog' has the id 0 in this list but 1 in the study, .*; .* or add --replace-classes"
    ):
        fs.collect(study, classes=str(tmp_path / "two.txt"))
    assert digest(study) == before
    fs.collect(study, classes=str(tmp_path / "four.txt"))
    fs.collect(study, classes=str(tmp_path / "two.json"))
    capsys.readouterr()
    fs.collect(study, classes=str(tmp_path / "two.txt"), replace_classes=True)
    assert "'dog' has a new id: labels still have the old id; import them again" in capsys.readouterr().out


def jobs_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks of all jobs that an engine is given from now on."""
    from faultscape import engine

    ran: list[str] = []
    run = engine.run

    def noted(task: str, calls: Any, **options: Any) -> Any:
        ran.extend([task] * len(calls))
        return run(task, calls, **options)

    monkeypatch.setattr(engine, "run", noted)
    return ran


CHANGES: dict[str, Callable[[Any], Any]] = {
    "colours": lambda held: {
        **held,
        "classes": [{**e, "color": [e["color"][2], 9, e["color"][0]]} for e in held["classes"]],
    },
    "groups": lambda held: {**held, "parents": {"outside": ["sky", "tree"]}},
    "names": lambda held: {
        **held,
        "classes": [{**e, "name": "lorry" if e["name"] == "car" else e["name"]} for e in held["classes"]],
        "parents": {"ground": ["road"], "things": ["lorry", "person"]},
    },
}


@WHEN_FINISHED
@pytest.mark.slow
@pytest.mark.parametrize("what", list(CHANGES))
def test_colours_groups_and_names_count_nothing_again_and_need_no_images(
    study: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    ran = jobs_run(monkeypatch)
    made_ = fs.collect(study, classes=classes_of(corpus, tmp_path, CHANGES[what]))
    assert made_.images == 6
    assert states(study)["pairs", ""] == "done"
    assert states(study)["selection", "main"] == "done"
    if what == "colours":
        assert states(study)["report", "main"] == "stale"
    fs.compare(study, engine="local")
    fs.measure(study, resamples=0, engine="local")
    assert [task for task in ran if "gather" not in task] == []
    assert "label" not in follow(study)
    if what == "names":
        rows = selections.read_selection(Path(study))[0].rows
        assert "car" not in {row.class_ for row in rows}
        assert "lorry" in (Path(study) / "measures" / "measure.json").read_text()
        fs.collect(study, classes=str(corpus.classes))  # and back
        assert "first_names" not in (Path(study) / "study.toml").read_text()
        fs.compare(study, engine="local")
        assert [task for task in ran if "count" in task] == []


def renamed(corpus: made.Corpus, folder: Path, **names: str) -> str:
    """A list of the same classes, of which some are called something else."""

    def change(held: Any) -> Any:
        return {
            **held,
            "classes": [{**e, "name": names.get(e["name"], e["name"])} for e in held["classes"]],
            "parents": {},
        }

    return classes_of(corpus, folder, change)


@pytest.mark.slow
@pytest.mark.parametrize("names", [[{"road": "street"}], [{"road": "lane"}, {"road": "street"}]])
def test_duels_that_grow_go_by_the_new_names_of_classes(
    study: str, corpus: made.Corpus, tmp_path: Path, names: list[dict[str, str]]
) -> None:
    for one in names:
        fs.collect(study, classes=renamed(corpus, tmp_path, **one))
    held = chosen(replace(corpus, classes=Path(renamed(corpus, tmp_path, **names[-1]))), tmp_path / "held")
    assert vars(selections.read_selection(Path(study))[0]) == vars(selections.read_selection(Path(held))[0])
    for one in (study, held):
        fs.select(one, per_class=2, engine="local")
        fs.predict(one, dict(list(corpus.models.items())[2:]), engine="local")
        fs.compare(one, engine="local")
        fs.select(one, engine="local")
    assert vars(selections.read_selection(Path(study))[0]) == vars(selections.read_selection(Path(held))[0])
    finished(study, corpus)


@pytest.mark.slow
def test_duels_whose_classes_an_earlier_version_renamed_grow_under_todays_names(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    """It left the old names in the definition."""
    before = selections.read_selection(Path(study))[0].definition["groups"]
    fs.collect(study, classes=renamed(corpus, tmp_path, road="street"))
    slots, drawn_from = selections.read_selection(Path(study))
    selections.write_selection(
        Path(study), Slots(slots.models, {**slots.definition, "groups": before}, slots.rows), drawn_from
    )
    grown = fs.select(study, per_class=2, engine="local")
    assert grown.definition["groups"] == ["street" if name == "road" else name for name in before]
    cells = [(*row.cell, row.place) for row in grown.rows]
    assert len(set(cells)) == len(cells)
    assert "road" not in {row.class_ for row in grown.duels}
    finished(study, corpus)


def test_another_meaning_of_an_id_counts_again(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    def swapped(held: Any) -> Any:
        index = {"car": 3, "person": 2}
        held["classes"] = [
            {**entry, "index": index.get(entry["name"], entry["index"])} for entry in held["classes"]
        ]
        return held

    fs.collect(study, classes=classes_of(corpus, tmp_path, swapped))
    assert states(study)["pairs", ""] == "stale"


def test_before_there_are_models_or_labels_another_list_is_taken_without_a_word(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing follows from it yet: a class of the same id is not a renamed one, and nothing is stale."""
    study = str(tmp_path / "study")
    fs.collect(study, corpus.photos, classes="voc")
    capsys.readouterr()
    found = fs.collect(study, classes=corpus.classes)
    assert capsys.readouterr().out == ""
    names = [entry["name"] for entry in json.loads(Path(corpus.classes).read_text())["classes"]]
    assert list(read_settings(Path(study)).classes.names) == [name for name in names if name != "void"]
    assert found.new == 0


def test_a_list_is_told_where_selections_outlive_their_models(
    study: str, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was chosen for a class goes by its new name."""
    fs.predict(study, remove=list(read_settings(Path(study)).models))

    def renamed(held: Any) -> Any:
        rest = {key: value for key, value in held.items() if key != "parents"}
        return {
            **rest,
            "classes": [{**e, "name": "lane" if e["name"] == "road" else e["name"]} for e in held["classes"]],
        }

    fs.collect(study, classes=classes_of(corpus, tmp_path, renamed))
    assert "class 'road' is now called 'lane'" in capsys.readouterr().out
