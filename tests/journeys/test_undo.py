"""A mistake costs no study: selections are replaced and removed, images and labels taken out, and each line says what becomes stale; --dry-run says it and changes nothing."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import ClassesError, CorpusError, LabellingError, ModelError, OptionError, SelectionError, StudyError
from faultscape.stages import graph
from faultscape.stages.evidence import accuracies
from faultscape.stages.report import write
from faultscape.stages.snapshot import Snapshot
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.answers import Answers
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.pool import read_pool
from refusals import refused

FEW = {"resamples": 20, "engine": "local"}


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    """A study of shards of two images, whose main selection is made, and nothing labelled."""
    path = str(tmp_path / "study")
    fs.collect(path, str(corpus.photos), classes=str(corpus.classes), storage=fs.Storage(shard_size=2))
    fs.predict(path, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(path, engine="local")
    fs.select(path, engine="local")
    return path


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "answers", images=30)


def digest(study: str) -> str:
    """Every file of a study, its name and its bytes."""
    held = hashlib.sha256()
    for path in sorted(path for path in Path(study).rglob("*") if path.is_file()):
        held.update(str(path.relative_to(study)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return held.hexdigest()


def states(study: str) -> dict[tuple[str, str], str]:
    return {(node.artefact, node.name): node.state for node in graph.nodes(Snapshot(Path(study)))}


def bytes_of(study: str, room: str) -> dict[str, bytes]:
    return {str(path.relative_to(study)): path.read_bytes() for path in sorted((Path(study) / room).rglob("*.parquet"))}


def finished(study: str, corpus: made.Corpus) -> None:
    """Label, rank, measure and report, so that all is done."""
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, **FEW)
    fs.measure(study, resamples=0, engine="local")
    fs.report(study)
    assert fs.status(study).next == ""


def follow(study: str) -> list[str]:
    lines = []
    while (line := fs.status(study).next) and len(lines) < 8:
        assert main(shlex.split(line)[1:]) == 0, line
        lines.append(line.split()[1])
    assert not line
    return lines


def tried_first(study: str, do: Callable[..., Any], **options: Any) -> Any:
    """Do what a line says after its --dry-run, which changes nothing and says what becomes stale as the line itself does."""
    before = digest(study)
    said = do(study, **options, dry_run=True)
    assert digest(study) == before
    assert "--dry-run: nothing was changed" in repr(said)
    result = do(study, **options)
    if hasattr(result, "stale"):
        assert (result.done, result.stale) == (said.done, said.stale)
    return said


def kept(study: str) -> list[str]:
    return [name for name in selections.names(Path(study)) if re.fullmatch(r"main-\d{4}-\d\d-\d\d(-\d)?", name)]


def test_a_selection_that_nobody_labelled_is_replaced_and_nothing_is_kept(study: str) -> None:
    before = selections.read_selection(Path(study))[0]
    tried_first(study, fs.select, replace=True, per_class=2, sampling=fs.Sampling(spares=1), engine="local")
    now = selections.read_selection(Path(study))[0]
    assert now.definition["per_class"] == 2
    assert now.definition["spares"] == 1  # which never shrinks where a selection is extended
    assert before.definition["spares"] == 3
    assert selections.names(Path(study)) == ["main"]


def test_a_labelled_selection_that_is_replaced_is_kept_under_a_dated_name(study: str, corpus: made.Corpus) -> None:
    finished(study, corpus)
    before, ranked = selections.read_selection(Path(study))[0], json.loads((Path(study) / "standings.json").read_text())
    said = tried_first(study, fs.select, replace=True, maps=fs.MapRules(concordance="fwiou"), engine="local")
    assert "standings of main: the selection was extended or made anew" in said.stale
    assert any(words.startswith("report of main") for words in said.stale)
    old = kept(study)[0]
    assert selections.read_selection(Path(study), old)[0].rows == before.rows
    assert selections.read_selection(Path(study))[0].definition["concordance"] == "fwiou"
    assert ("standings", old) not in states(study)  # they name their selection, and nobody has to rank it again
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


def test_what_was_said_of_a_selection_stands_in_the_line_that_makes_it_anew(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    scale = str(tmp_path / "scale.json")
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=scale)
    fs.select(study, as_="sized", maps=fs.MapRules(scale=scale), engine="local")
    fs.select(study, as_="free", maps=fs.MapRules(constraints="none"), per_class=2, engine="local")
    fs.select(study, goal="order", budget=3, engine="local")
    before = {name: selections.read_selection(Path(study), name)[0].definition for name in ("sized", "free", "order")}
    Path(scale).unlink()
    fs.collect(study, remove=[read_corpus(Path(study))[0].id])
    follow_selections(study)
    for name, definition in before.items():
        assert states(study)["selection", name] == "done"
        assert selections.read_selection(Path(study), name)[0].definition == definition


def follow_selections(study: str) -> None:
    for _ in range(5):
        if (line := fs.status(study).next).startswith("faultscape select"):
            assert main(shlex.split(line)[1:]) == 0, line


def test_options_that_do_not_go_with_replacing_and_removing(study: str) -> None:
    with refused(OptionError, "--dry-run says what --replace and --remove make stale"):
        fs.select(study, dry_run=True)
    with refused(OptionError, "--remove takes a selection away, and --per-class says how to make one"):
        fs.select(study, remove="main", per_class=2)
    with refused(OptionError, "--more draws images behind those that there are, and --replace begins anew"):
        fs.select(study, selector="random", as_="random", more=2, replace=True)
    with refused(SelectionError, r"there is no selection 'mian' to remove; there are main. Did you mean 'main'\?"):
        fs.select(study, remove="mian")


def test_a_selection_is_removed_and_what_was_labelled_for_it_stays(study: str, corpus: made.Corpus) -> None:
    fs.select(study, as_="other", maps=fs.MapRules(concordance="fwiou"), engine="local")
    tried_first(study, fs.select, remove="other")
    assert selections.names(Path(study)) == ["main"]
    assert not (Path(study) / "removed").exists()
    finished(study, corpus)
    files = {name: (Path(study) / name).read_bytes() for name in ("selection.csv", "standings.json", "report.html")}
    labels = bytes_of(study, "truth")
    tried_first(study, fs.select, remove="main")
    folder = next((Path(study) / "removed").iterdir())
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert not any((Path(study) / name).exists() for name in files)
    assert bytes_of(study, "truth") == labels
    assert fs.status(study).next == f"faultscape select {study}"
    assert [set(slots.images) for slots in selections.read_removed(Path(study))]


def test_images_leave_the_corpus_and_come_back_with_all_that_was_said_of_them(study: str, corpus: made.Corpus) -> None:
    finished(study, corpus)
    gone = selections.read_selection(Path(study))[0].images[0]
    corpus_before, standings = read_corpus(Path(study)), (Path(study) / "standings.json").read_bytes()
    stored = {room: bytes_of(study, room) for room in ("predictions", "pairs", "truth")}
    keys = [image.key for image in corpus_before]
    said = tried_first(study, fs.collect, remove=[gone])
    assert any(
        words.startswith("selection of main: images or predictions changed since, images of it left") for words in said.stale
    )
    assert any(words.startswith("standings of main") for words in said.stale)
    assert any(words.startswith("measures") for words in said.stale)
    assert gone not in {image.id for image in read_corpus(Path(study))}
    assert gone not in read_pool(Path(study)).ids.to_pylist()
    assert gone not in {row.image for row in Snapshot(Path(study)).current("main").rows}
    assert states(study)["maps", ""] == "done"
    assert states(study)["pairs", ""] == "done"
    fs.predict(study, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(study, engine="local")
    assert {room: bytes_of(study, room) for room in stored} == stored  # nothing was predicted or counted again
    settings = read_settings(Path(study))
    assert gone not in accuracies(Path(study), tuple(settings.models), "labels", {"concordance": "miou", "over": "union"})[0]
    follow(study)
    fs.collect(study, str(corpus.photos))
    assert read_corpus(Path(study)) == corpus_before
    assert [image.key for image in read_corpus(Path(study))] == keys
    assert {room: bytes_of(study, room) for room in stored} == stored
    assert states(study)["labels", "main"] == "done"
    follow(study)
    fs.select(study, replace=True, engine="local")
    fs.rank(study, **FEW)
    assert json.loads((Path(study) / "standings.json").read_text())["rankings"] == json.loads(standings)["rankings"]


def test_a_model_that_came_while_an_image_was_out_has_its_map_when_it_is_back(study: str, corpus: made.Corpus) -> None:
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
    fs.collect(whole, str(corpus.photos), classes=str(corpus.classes), storage=fs.Storage(shard_size=2))
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


def test_the_lines_as_a_person_types_them(study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    finished(study, corpus)
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


def test_what_is_measured_while_a_model_answers_leaves_removed_images_out(study: str, corpus: made.Corpus) -> None:
    finished(study, corpus)
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


def test_what_names_no_image_is_refused(study: str, tmp_path: Path) -> None:
    before = digest(study)
    with refused(CorpusError, r"'nihgt/\*' names no image of the study"):
        fs.collect(study, remove=["nihgt/*"])
    (tmp_path / "none.txt").write_text("\n")
    with refused(CorpusError, r"none\.txt: holds no id of an image; expected an id a line"):
        fs.collect(study, remove=[str(tmp_path / "none.txt")])
    with refused(CorpusError, r"expected ids of images, each a word; got \['night/1'\]; a list is written \*LIST"):
        fs.label.remove(study, ["night/1"])  # type: ignore[arg-type]
    with refused(CorpusError, "these are all 6 images of the study; a study keeps one at least"):
        fs.collect(study, remove=["*"])
    with refused(OptionError, "--remove takes images out of the study"):
        fs.collect(study, "photos", remove=["*"])
    with refused(OptionError, "--replace-classes takes a class list of other names; give it with --classes"):
        fs.collect(study, "photos", replace_classes=True)
    with refused(OptionError, "--dry-run says what --remove makes stale"):
        fs.collect(study, "photos", dry_run=True)
    assert digest(study) == before


def test_masks_are_taken_back_and_can_be_imported_again(study: str, corpus: made.Corpus) -> None:
    finished(study, corpus)
    stored, standings = bytes_of(study, "truth"), (Path(study) / "standings.json").read_bytes()
    gone = selections.read_selection(Path(study))[0].images[0]
    before = digest(study)
    said = fs.label.remove(study, gone, dry_run=True)
    assert digest(study) == before
    done = fs.label.remove(study, gone)
    assert (done.done, done.stale) == (said.done, said.stale)
    assert done.done == "1 label of truth labels taken back"
    assert {words.split(":")[0] for words in done.stale} == {"labels of main", "standings of main", "measures", "report of main"}
    assert "labels of main: 0 of 1 image labelled (truth labels)" in done.stale
    held = {row.id for n in (0, 1, 2) for row in label_maps.read_stored(label_maps.truth(Path(study), "labels") / "removed", n)}
    assert held == {gone}  # nothing is lost
    assert fs.status(study).stages
    with refused(LabellingError, "nothing to take back: none of 1 image has such a label or answer"):
        fs.label.remove(study, gone)
    fs.label.import_(study, str(corpus.truth))
    now = bytes_of(study, "truth")
    assert {name: now[name] for name in stored} == stored
    assert (Path(study) / "standings.json").read_bytes() == standings
    assert fs.status(study).next == ""  # all is as it was before
    fs.label.remove(study, all_=True)
    assert Snapshot(Path(study)).truths == []


def test_labels_that_others_replace_are_kept(study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    """The maps of a model, imported as labels by mistake."""
    where = label_maps.truth(Path(study), "labels")
    fs.label.import_(study, str(corpus.truth))
    right = [row for n in (0, 1, 2) for row in label_maps.read_stored(where, n)]
    for again in (corpus.truth, corpus.models["model-0"], corpus.models["model-0"], corpus.truth):
        capsys.readouterr()
        fs.label.import_(study, str(again))
    assert "6 labels that differ are kept in truth/labels/removed" in capsys.readouterr().out
    assert [row for n in (0, 1, 2) for row in label_maps.read_stored(where, n)] == right
    kept = [row for n in (0, 1, 2) for row in label_maps.read_stored(where / "removed", n)]
    assert len(kept) == 12  # what people drew, and the maps, each once
    assert all(row in kept for row in right)


def test_what_is_not_tried_out_is_read_off_the_graph(study: str, corpus: made.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(study, corpus)
    before, settings = digest(study), read_settings(Path(study))
    monkeypatch.setattr(
        "faultscape.stages.label.removal.read_settings", lambda _: settings.model_copy(update={"store": "s3://bucket/study"})
    )
    said = fs.label.remove(study, all_=True, dry_run=True)  # labels in a store are never written for a dry run
    assert digest(study) == before
    monkeypatch.undo()
    done = fs.label.remove(study, all_=True)
    assert {words.split(":")[0] for words in said.stale} == {words.split(":")[0] for words in done.stale}


def test_answers_are_taken_back_by_rows_behind_them(answers: made_answers.Answers, tmp_path: Path) -> None:
    study = answers.study
    fs.select(study, top=2)
    fs.label.export(study, str(tmp_path / "q.csv"))
    head, *rows = (tmp_path / "q.csv").read_text().splitlines()
    people = tmp_path / "people"
    people.mkdir()
    for who, answer in (("ann", "yes"), ("bob", "no")):
        (people / f"{who}.csv").write_text("\n".join([head, *(re.sub(",,$", f",{who},{answer}", row) for row in rows)]) + "\n")
    fs.label.import_(study, str(people))
    everything = Answers(Path(study)).answers()
    image = everything[0][0]
    before = digest(study)
    said = fs.label.remove(study, all_=True, by="bob", dry_run=True)
    assert digest(study) == before
    done = fs.label.remove(study, all_=True, by="bob")
    assert (done.done, done.stale) == (said.done, said.stale)
    assert done.done == f"{len(rows)} answers of truth labels taken back"
    assert Answers(Path(study)).answers() == [row for row in everything if row[2] == "ann"]
    class_ = next(row[1] for row in everything if row[0] == image)
    fs.label.remove(study, image, class_=class_)
    left = Answers(Path(study)).answers()
    assert (image, class_, "ann", "yes") not in left
    assert len(left) == len(rows) - 1
    fs.label.import_(study, str(people))
    assert sorted(Answers(Path(study)).answers()) == sorted(everything)
    fs.label.remove(study, selection="main")
    assert Answers(Path(study)).truths() == []


def test_discards_are_taken_back(answers: made_answers.Answers, tmp_path: Path) -> None:
    study = answers.study
    fs.select(study, top=2)
    image = selections.read_selection(Path(study))[0].images[0]
    (tmp_path / "discard.csv").write_text(f"image,reason\n{image},blurred\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    assert image not in Snapshot(Path(study)).current("main").images
    assert fs.label.remove(study, image, discards=True).done == "1 image is no longer discarded"
    assert image in Snapshot(Path(study)).current("main").images
    with refused(LabellingError, "none of 1 image is discarded"):
        fs.label.remove(study, image, discards=True)
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    assert Answers(Path(study)).discarded() == {image: "blurred"}


def test_answers_whose_discards_are_taken_back_survive_a_full_disk(
    answers: made_answers.Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = answers.study
    fs.select(study, top=2)
    fs.label.export(study, str(tmp_path / "q.csv"))
    head, row = (tmp_path / "q.csv").read_text().splitlines()[:2]
    people = [re.sub(",,$", f",{who},unsure", row) for who in ("ann", "bob", "cyd", "dan")]
    (tmp_path / "unsure.csv").write_text("\n".join([head, *people]) + "\n")
    fs.label.import_(study, str(tmp_path / "unsure.csv"))
    assert list(Answers(Path(study)).discarded().values()) == ["4 of 4 annotators were unsure"]
    put, rows = Answers._add, []

    def fill_disk(self: Answers, table: Any, more: list[dict[str, Any]]) -> None:
        rows.append(more)
        if len(rows) == 2:
            raise StudyError("cannot write answers.sqlite: the disk is full")
        put(self, table, more)

    monkeypatch.setattr(Answers, "_add", fill_disk)
    with refused(StudyError, "the disk is full"):
        fs.label.remove(study, all_=True)
    fs.label.remove(study, all_=True)
    assert (Answers(Path(study)).answers(), Answers(Path(study)).discarded()) == ([], {})


def test_whose_labels_to_take_back_must_be_said(study: str, answers: made_answers.Answers) -> None:
    with refused(OptionError, "say whose labels to take back: ids of images, --selection NAME, or --all"):
        fs.label.remove(study)
    with refused(OptionError, "--class and --by are for answers to questions about classes"):
        fs.label.remove(study, all_=True, by="ann")
    with refused(OptionError, "--discards takes discards back"):
        fs.label.remove(answers.study, all_=True, discards=True, by="ann")


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
    with refused(ClassesError, r"shares no name with that of the study \(sky, road, car \.\.\.\).*--replace-classes takes it"):
        fs.collect(study, classes=classes)
    assert digest(study) == before
    fs.collect(study, classes=classes, replace_classes=True)
    assert "other sky" in (Path(study) / "study.toml").read_text()


def test_a_class_or_two_in_common_make_no_list_of_the_same_study(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    """CamVid and VOC have a car in common."""
    before, names = digest(study), json.loads(Path(corpus.classes).read_text())["classes"]
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("\n".join(["car", *(f"other {k}" for k in range(len(names) + 3))]) + "\n")
    with refused(ClassesError, rf"shares 1 of {len(names)} names with .*is it another study's\? --replace-classes takes it"):
        fs.collect(study, classes=str(foreign))
    assert digest(study) == before
    fs.collect(study, classes=str(foreign), replace_classes=True)
    assert "other 0" in (Path(study) / "study.toml").read_text()


def test_all_classes_but_one_may_be_renamed(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    """What keeps its ids and colours means what it meant."""

    def translated(held: Any) -> Any:
        return {"classes": [{**e, "name": e["name"] if e["name"] == "car" else f"mein {e['name']}"} for e in held["classes"]]}

    held = json.loads(Path(corpus.classes).read_text())
    rest = {k: v for k, v in held.items() if k not in ("classes", "parents")}
    fs.collect(study, classes=classes_of(corpus, tmp_path, lambda held: {**rest, **translated(held)}))
    assert states(study)["pairs", ""] == "done"


def test_a_list_that_gives_labelled_classes_other_ids_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels of classifiers hold ids: without the first line of a list each would be of the class before."""
    study, table = str(tmp_path / "animals"), tmp_path / "a.csv"
    for name, words in (("three.txt", "cat\ndog\nhen\n"), ("two.txt", "dog\nhen\n"), ("four.txt", "cat\ndog\nhen\ncow\n")):
        (tmp_path / name).write_text(words)
    (tmp_path / "two.json").write_text(json.dumps({"classes": [{"name": "dog", "id": 1}, {"name": "hen", "id": 2}]}))
    table.write_text("image,label\n" + "".join(f"p{k},{'dog' if k < 3 else 'hen'}\n" for k in range(6)))
    fs.collect(study, str(table), task="classification", classes=str(tmp_path / "three.txt"))
    fs.predict(study, {"a": str(table)})
    fs.collect(study, classes=str(tmp_path / "two.txt"))  # nothing is labelled yet
    fs.collect(study, classes=str(tmp_path / "three.txt"))
    fs.label.import_(study, str(table))
    before = digest(study)
    with refused(
        ClassesError, "'dog' has the id 0 in this list and 1 in the study, whose labels hold ids .* insist with --replace-classes"
    ):
        fs.collect(study, classes=str(tmp_path / "two.txt"))
    assert digest(study) == before
    fs.collect(study, classes=str(tmp_path / "four.txt"))
    fs.collect(study, classes=str(tmp_path / "two.json"))
    capsys.readouterr()
    fs.collect(study, classes=str(tmp_path / "two.txt"), replace_classes=True)
    assert "'dog' has another id now: labels hold the old one; import them again" in capsys.readouterr().out


def test_a_name_that_no_selection_has_is_told_where_one_is_replaced(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is made: a line that was killed between the old and the new is run again."""
    for dry_run in (True, False):
        capsys.readouterr()
        said = fs.select(study, as_="mian", replace=True, dry_run=dry_run, engine="local")
        told = capsys.readouterr().out + repr(said)
        assert "there was no selection mian to replace, and it is made; there are main. Did you mean 'main'?" in told
    assert selections.names(Path(study)) == ["main", "mian"]


def test_a_model_that_never_came_to_maps_is_taken_out_by_the_line_that_says_so(study: str) -> None:
    """Its line was interrupted before its first map."""
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text() + '\n[models.late]\nkind = "folder"\nsource = "gone"\n')
    with refused(ModelError, f"late: no maps yet; .* or take them out: `faultscape predict {study} --remove late`") as found:
        fs.compare(study, engine="local")
    line = str(found.value).split("`")[-2]
    assert main(shlex.split(line)[1:]) == 0
    fs.compare(study, engine="local")


def test_what_is_left_of_a_selection_can_be_chosen_again(study: str, corpus: made.Corpus) -> None:
    finished(study, corpus)
    table = Path(study) / "selection.csv"
    table.unlink()
    with refused(
        SelectionError, r"is damaged: there is no selection\.csv; .*delete both and choose again with `faultscape select "
    ):
        fs.select(study, replace=True, engine="local")
    table.with_suffix(".json").unlink()
    fs.select(study, engine="local")
    assert states(study)["labels", "main"] == "done"


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
    "colours": lambda held: {**held, "classes": [{**e, "color": [e["color"][2], 9, e["color"][0]]} for e in held["classes"]]},
    "groups": lambda held: {**held, "parents": {"outside": ["sky", "tree"]}},
    "names": lambda held: {
        **held,
        "classes": [{**e, "name": "lorry" if e["name"] == "car" else e["name"]} for e in held["classes"]],
        "parents": {"ground": ["road"], "things": ["lorry", "person"]},
    },
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_colours_groups_and_names_count_nothing_again_and_need_no_images(
    study: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    finished(study, corpus)
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


def test_another_meaning_of_an_id_counts_again(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    def swapped(held: Any) -> Any:
        index = {"car": 3, "person": 2}
        held["classes"] = [{**entry, "index": index.get(entry["name"], entry["index"])} for entry in held["classes"]]
        return held

    fs.collect(study, classes=classes_of(corpus, tmp_path, swapped))
    assert states(study)["pairs", ""] == "stale"


def test_run_makes_main_anew_where_nobody_labelled_for_it(study: str, corpus: made.Corpus) -> None:
    name, other = next(iter(corpus.models)), list(corpus.models.values())[2]
    fs.predict(study, {name: other}, engine="local")
    done = fs.run(study, engine="local")
    assert not any("choose anew" in line for line in done.done)
    assert states(study)["selection", "main"] == "done"
    assert selections.names(Path(study)) == ["main"]


def test_a_report_holds_the_study_from_its_first_look_on(
    study: str, corpus: made.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes in while it is made would be missing from a page that says it was made from it."""
    whole, tried = write.page.page, []

    def page(facts: Any) -> str:
        with refused(StudyError, "another faultscape is writing"):
            fs.label.import_(study, str(corpus.truth))
        tried.append(facts)
        return whole(facts)

    monkeypatch.setattr(write.page, "page", page)
    fs.report(study)
    assert len(tried) == 1
