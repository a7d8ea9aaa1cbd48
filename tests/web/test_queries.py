"""Search terms: from class names, synonyms, WordNet and pairs; what a person did to queries.csv stays."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import faultscape as fs
import made_wordnet
from faultscape.classes import class_lists
from faultscape.cli import main
from faultscape.corpus.web import terms
from faultscape.errors import ClassesError, CorpusError
from faultscape.study.settings import read_settings
from faultscape.study.tables.logs import guarded
from faultscape.study.tables.web_pictures import Term, read_rows
from refusals import refused, refused_line


def lines(study: Path) -> list[tuple[str, str, str]]:
    with (study / "queries.csv").open(newline="", encoding="utf-8") as file:
        return [(row["query"], row["kind"], row["classes"]) for row in csv.DictReader(file)]


def class_file(folder: Path, **more: object) -> str:
    entries = [
        {"name": "background"},
        {"name": "dining_table", "synonyms": ["board"]},
        {"name": "cat"},
        {"name": "dog"},
    ]
    path = folder / "classes.json"
    path.write_text(
        json.dumps({"classes": entries, "background": "background", "synonyms": {"dog": ["hound"]}} | more)
    )
    return str(path)


def write_wordnet(folder: Path) -> Path:
    """A WordNet of five noun synsets; `dog` has two senses, of which the first is the animal."""
    synsets: made_wordnet.Synsets = {
        "dog": ("dog domestic_dog Canis_familiaris", [("@", "animal"), ("~", "puppy"), ("~i", "lassie")]),
        "chap": ("chap dog", []),
        "puppy": ("puppy", [("@", "dog")]),
        "lassie": ("Lassie", [("@i", "dog")]),
        "animal": ("animal", [("~", "dog")]),
    }
    made_wordnet.write(folder, synsets, {"animal": ["animal"], "dog": ["dog", "chap"]})
    return folder


def test_terms_are_names_synonyms_and_pairs_and_never_the_background(tmp_path: Path) -> None:
    made = fs.collect(tmp_path / "s", web=fs.options.WebImages(queries=True), classes=class_file(tmp_path))
    assert lines(tmp_path / "s") == [
        ("dining table", "class", "dining_table"),
        ("board", "synonym", "dining_table"),
        ("cat", "class", "cat"),
        ("dog", "class", "dog"),
        ("hound", "synonym", "dog"),
        ("dining table cat", "pair", "dining_table;cat"),
        ("dining table dog", "pair", "dining_table;dog"),
        ("cat dog", "pair", "cat;dog"),
    ]
    assert (made.terms, made.new, made.kinds) == (8, 8, {"class": 3, "synonym": 2, "pair": 3})


def test_synonyms_stay_in_the_study_and_make_nothing_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "s"
    fs.collect(str(study), web=fs.options.WebImages(queries=True), classes=class_file(tmp_path))
    assert read_settings(study).class_list.synonyms == {"dining_table": ("board",), "dog": ("hound",)}
    fs.collect(
        study,
        web=fs.options.WebImages(queries=True),
        classes=class_file(tmp_path, synonyms={"cat": ["kitten"]}),
    )
    assert "stale" not in capsys.readouterr().out
    assert ("kitten", "synonym", "cat") in lines(study)
    fs.collect(str(study), web=fs.options.WebImages(queries=True))  # the classes are those of study.toml now
    assert ("kitten", "synonym", "cat") in lines(study)


@pytest.mark.parametrize(
    ("synonyms", "words"),
    [
        ({"cats": ["x"]}, "'cats', which is not a class. Did you mean 'cat'"),
        ({"cat": "x"}, "must be a list of words"),
        (["cat"], "synonyms must be"),
    ],
)
def test_wrong_synonyms_are_told(tmp_path: Path, synonyms: object, words: str) -> None:
    with refused(ClassesError, words):
        class_lists.read(Path(class_file(tmp_path, synonyms=synonyms)))


def test_wordnet_gives_the_first_sense_and_its_hyponyms_when_asked(tmp_path: Path) -> None:
    folder, study = write_wordnet(tmp_path / "dict"), tmp_path / "s"
    made = fs.collect(
        study,
        web=fs.options.WebImages(queries=True, wordnet=str(folder.parent)),
        classes=class_file(tmp_path),
    )
    assert ("domestic dog", "synonym", "dog") in lines(study)
    assert ("Canis familiaris", "synonym", "dog") in lines(study)
    assert "chap" not in {query for query, _, _ in lines(study)}
    assert made.unknown == ("dining table", "cat")
    fs.collect(str(study), web=fs.options.WebImages(queries=True, wordnet=str(folder), hyponyms=True))
    assert {query for query, kind, _ in lines(study) if kind == "hyponym"} == {"puppy", "Lassie"}


def test_a_folder_that_is_no_wordnet_is_told(tmp_path: Path) -> None:
    with refused(CorpusError, "does not hold WordNet"):
        terms.senses(tmp_path, ["dog"])
    folder = write_wordnet(tmp_path / "dict")
    (folder / "data.noun").write_text("x" + (folder / "data.noun").read_text())
    with refused(CorpusError, "not the noun files of WordNet"):
        terms.senses(folder, ["dog"])


def test_what_a_person_did_to_the_file_stays(tmp_path: Path) -> None:
    study, file = tmp_path / "s", tmp_path / "s" / "queries.csv"
    fs.collect(str(study), web=fs.options.WebImages(queries=True), classes=class_file(tmp_path))
    first = file.read_bytes()
    fs.collect(str(study), web=fs.options.WebImages(queries=True))
    assert file.read_bytes() == first
    text = (
        file.read_text()
        .replace("board,synonym,dining_table\n", "")
        .replace("cat dog,", "a cat beside a dog,")
    )
    file.write_text("\ufeff" + text + "my own words\n", encoding="utf-8")  # as a spreadsheet writes it
    again = fs.collect(str(study), web=fs.options.WebImages(queries=True))
    queries = [query for query, _, _ in lines(study)]
    assert "board" not in queries
    assert "cat dog" not in queries
    assert queries[-2:] == ["a cat beside a dog", "my own words"]
    assert (again.new, again.kinds[""]) == (0, 1)
    more = fs.collect(
        study,
        web=fs.options.WebImages(queries=True),
        classes=class_file(tmp_path, synonyms={"dog": ["hound", "pooch"]}),
    )
    assert more.new == 1
    assert lines(study)[-1] == ("pooch", "synonym", "dog")
    assert "board" not in [query for query, _, _ in lines(study)]


def test_a_line_of_ours_leaves_with_its_class_and_a_persons_line_does_not() -> None:
    cat, pair, own = Term("cat", "class", "cat"), Term("cat dog", "pair", "cat;dog"), Term("tabby", "", "cat")
    held, offered = terms.merge([cat, pair, own], [cat, pair], [Term("dog", "class", "dog")], ["dog"])
    assert [line.query for line in held] == ["tabby", "dog"]
    back, _ = terms.merge(held, offered, [cat, Term("dog", "class", "dog"), pair], ["cat", "dog"])
    assert [line.query for line in back] == ["tabby", "dog", "cat", "cat dog"]


def test_one_query_for_two_classes_stands_once() -> None:
    made = terms.terms(
        class_lists.parse({"classes": ["car", "truck"], "synonyms": {"car": ["Auto"], "truck": ["auto"]}})
    )
    assert [(t.query, t.classes) for t in made] == [
        ("car", "car"),
        ("Auto", "car;truck"),
        ("truck", "truck"),
        ("car truck", "car;truck"),
    ]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(str.strip))
def test_cells_come_back_as_they_were_written_and_run_nowhere(
    tmp_path_factory: pytest.TempPathFactory, cell: str
) -> None:
    from faultscape.study.tables.logs import csv_text

    path = tmp_path_factory.mktemp("c") / "x.csv"
    path.write_text(csv_text([("url", "n"), (guarded(cell), "1")]), encoding="utf-8", newline="")
    assert read_rows(path, ["url"])[0]["url"] == cell
    assert guarded(cell)[:1] not in ("=", "@")


def test_the_command_line_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", str(tmp_path / "s"), "--queries", "--classes", class_file(tmp_path)]) == 0
    assert "8 search terms (8 new): 3 class, 2 synonym, 3 pair" in capsys.readouterr().out
    assert fs.status(str(tmp_path / "s")).stages[0][1] == "missing"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--hyponyms", "--queries"], "--hyponyms needs --wordnet"),
        (["--wordnet", "x"], "--wordnet needs --queries"),
        (["--queries", "--api", "flickr"], "are separate steps"),
        (["photos", "--queries"], "cannot be combined with folders"),
        (["--urls", "x.txt", "--per-query", "3"], "--per-query needs --api"),
        (["--api", "openverse"], "identify yourself with --contact"),
        (["--api", "flickr", "--contact", "a@b.c"], "FLICKR_API_KEY"),
        (
            ["--api", "openverse", "--contact", "a@b.c", "--licence", "mine"],
            "is not known; use open, commercial",
        ),
        (["--urls", "x.txt", "--after", "soon"], "--after soon: expected a date"),
        (["--urls", "x.txt", "--after", "2024-03-02", "--before", "2024-03-02"], "no day is between them"),
        (["--urls", "x.txt", "--min-size", "big"], "is invalid; expected WIDTHxHEIGHT"),
        (["--urls", "x.txt", "--rate", "0"], "requests per second"),
        (["--accept", "none.csv"], "save it with the button"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.delenv("FLICKR_API_KEY", raising=False)
    assert told in refused_line("collect", str(tmp_path / "s"), "--classes", class_file(tmp_path), *words)
    assert not (tmp_path / "s" / "queries.csv").exists()
