"""What the command line says of files and words that are not what they should be: what was given, what was
expected, what to do.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.study.tables.logs import read_failures
from refusals import refused_line, refused_text


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=8, errors=(0.2, 0.4))


def test_tables_parted_by_semicolons_and_tables_without_a_first_line_are_called_so(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    path, other = (
        tmp_path / "table.csv",
        "its columns seem to be separated by semicolons; save it with commas, and decimal points in numbers",
    )
    for text in ("filename;label;score\nset0/000;cat;0,9\n", "filename;label\nset0/000;cat\n"):
        path.write_text(text)
        assert other in refused_line("predict", answers.study, f"x={path}")
        assert other in refused_line("label", "import", answers.study, str(path))
    path.write_text("set0/000.png,cat,0.9\nset1/001.png,dog,0.8\n")
    said = refused_line("predict", answers.study, f"x={path}")
    assert "it has set0/000.png, cat, 0.9, its first line, which is read as the column names" in said
    path.write_text("image,guess\nset0/000,cat\n")
    assert "its first line" not in refused_line("predict", answers.study, f"x={path}")


def test_an_array_that_a_file_lacks_is_named_with_those_it_has(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    np.savez(tmp_path / "p.npz", probabilities=np.ones((8, 5)) / 5)
    said = refused_line("predict", answers.study, f"x={tmp_path / 'p.npz'}:probabilitys")
    assert "has no array 'probabilitys'; it has probabilities (8, 5). Did you mean 'probabilities'?" in said


def test_a_network_needs_pictures_and_a_classifier_that_is_a_function_returns_one_label(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        "def word(photo):\n    return 'cat'\n\n\ndef right(photo):\n    return 1\n"
    )
    said = refused_line("predict", answers.study, f"x={tmp_path / 'own.py'}:right")
    assert (
        "needs images, and the study has none (it was collected from a list of ids); give a table of "
        "answers" in said
    )
    assert not [row for row in read_failures(Path(answers.study)) if row.name == "x"]
    Image.new("RGB", (8, 8)).save(tmp_path / "one.png")
    study = str(tmp_path / "pictures")
    fs.collect(
        study,
        str(tmp_path / "one.png"),
        task="classification",
        classes=str(tmp_path / "made" / "classes.txt"),
    )
    said = refused_line("predict", study, f"x={tmp_path / 'own.py'}:word")
    assert (
        "the function returned 'cat'; expected one label (a whole number 0 to 65535) or logits (C numbers, one per class)"
        in said
    )


def test_a_run_of_models_without_a_study_asks_for_images_with_the_options_that_were_given(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    words = ("--task", "classification", "--classes", "c.txt")
    said = refused_line("run", str(tmp_path / "new"), f"a={answers.tables['model-0']}", *words)
    line = f"`faultscape run {tmp_path / 'new'} IMAGES NAME=SOURCE ... --task classification --classes c.txt`"
    assert f"new is not a study yet; name its images as well as the models: {line}" in said


def test_missing_words_are_named_as_they_are_typed_and_words_without_a_place_are_shown() -> None:
    assert (
        refused_line("predict") == "faultscape: predict: STUDY is missing; see `faultscape predict --help`\n"
    )
    assert "label export: OUT is missing; see `faultscape label export --help`" in refused_line(
        "label", "export", "s"
    )
    assert "label import: SOURCE is missing" in refused_line("label", "import", "s")
    assert "predict: --keep needs a value" in refused_line("predict", "s", "--keep")
    said = refused_line("select", "s", "p2", "p3")
    assert "select: unexpected 'p2', 'p3'; to give several values, repeat the option" in said
    assert "oken" not in said


def test_folders_and_files_in_the_place_of_one_another_are_called_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("")
    assert "is a folder but not a study; give a study, or a file of one" in refused_line(
        "show", str(tmp_path)
    )
    assert "file.txt is a file; give a folder" in refused_line("demo", str(tmp_path / "file.txt"))


def test_options_that_take_numbers_say_so_and_round_nothing() -> None:
    """Cyclopts reads --block 10.5 as 10."""
    for line, option, value in (
        (("collect", "s", "--block", "10.5"), "--block", "10.5"),
        (("collect", "s", "--block=10.0"), "--block", "10.0"),
        (("measure", "t", "--ignore", "3", "--ignore", "2.5"), "--ignore", "2.5"),
        (("rank", "s", "--seed", "ten"), "--seed", "ten"),
    ):
        assert refused_line(*line) == f"faultscape: {option} must be a whole number; got '{value}'\n"
    assert (
        refused_line("select", "s", "--temperature", "hot")
        == "faultscape: --temperature must be a number; got 'hot'\n"
    )
    assert "whole" not in refused_line("select", "none", "--temperature", "0.5")


def test_flags_that_are_off_unless_given_have_one_form_and_those_that_a_study_remembers_have_two(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "select has no option --no-dry-run. Did you mean '--dry-run'?" in refused_line(
        "select", "none", "--no-dry-run"
    )
    # one of a group
    assert "collect has no option --no-hyponyms" in refused_line("collect", "none", "--no-hyponyms")
    main(["predict", "--help"])
    shown = capsys.readouterr().out
    assert "--flip, --no-flip" in shown
    assert "--no-measure" not in shown


def test_the_help_speaks_of_classifiers_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    assert "Choose between segmentation models, or image classifiers" in " ".join(
        capsys.readouterr().out.split()
    )
    main(["predict", "--help"])
    assert "label maps or classes: NAME=SOURCE, a folder of maps, a table of answers" in " ".join(
        capsys.readouterr().out.split()
    )


def test_files_that_are_no_class_lists_are_refused_with_what_one_is(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("image\np1\n")
    expected = "expected a .txt file with one class per line, or a JSON or TOML file of classes"
    for name, content, why in (
        ("truth.csv", b"image,label\np1,cat\n", "cannot be read as a class list: it is not JSON; "),
        ("empty.json", b"", "is empty; "),
        ("blank.txt", b" \n", "is empty; "),
        ("cut.json", b'{"classes": [', "it is not JSON (Expecting value: line 1 column 14 (char 13)); "),
        ("cut.toml", b"classes = [", "it is not TOML ("),
        ("noise.txt", b"\xff\xfe\x00cat", "is not text in UTF-8; "),
    ):
        (tmp_path / name).write_bytes(content)
        line = (
            "collect",
            tmp_path / "s",
            tmp_path / "ids.csv",
            "--task",
            "classification",
            "--classes",
            tmp_path / name,
        )
        said = refused_line(*line)
        assert why in said
        assert expected in said
    assert not (tmp_path / "s").exists()


def test_ids_in_parquet_are_sent_to_a_csv_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image_id": ["a", "b"], "label": ["cat", "dog"]}), tmp_path / "x.parquet")
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    said = refused_line(
        "collect",
        tmp_path / "s",
        tmp_path / "x.parquet",
        "--task",
        "classification",
        "--classes",
        tmp_path / "classes.txt",
    )
    assert "has no image column, only image_id, label; expected" in said
    assert "ids without image files (for classifiers), give a .csv file with a column image" in said


def test_a_list_of_files_is_no_folder_and_broken_arrays_are_no_zip(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    said = refused_line("predict", answers.study, f"d={tmp_path / 'made' / 'classes.txt'}")
    assert said.endswith("or a network for a classifier; got a list of files\n")
    assert refused_line("predict", answers.study, f"d={tmp_path}").endswith("got a folder\n")
    np.savez(tmp_path / "p.npz", said=np.zeros(8))
    (tmp_path / "p.npz").write_bytes((tmp_path / "p.npz").read_bytes()[:-30])
    said = refused_line("predict", answers.study, f"d={tmp_path / 'p.npz'}")
    assert "p.npz: is not an NPZ file, or is truncated; write it again with numpy.savez" in said


def test_a_file_of_distances_without_the_classes_says_what_one_holds(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    (tmp_path / "truth.csv").write_text("image,label\np1,cat\n")
    said = refused_line("select", answers.study, "--distance", tmp_path / "truth.csv")
    assert (
        "has no class 'cat'. A file of distances names every class of the study: in its first row and its"
        " first column" in said
    )


def test_a_hierarchy_that_the_distance_does_not_look_at_is_refused(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    (tmp_path / "above.csv").write_text("".join(f"{name},thing\n" for name in made_answers.NAMES))
    with (tmp_path / "far.csv").open("w", newline="") as file:
        rows = [[name, *(int(name != other) for other in made_answers.NAMES)] for name in made_answers.NAMES]
        csv.writer(file).writerows([["", *made_answers.NAMES], *rows])
    for distance in ("01", tmp_path / "far.csv"):
        said = refused_line(
            "select", answers.study, "--distance", distance, "--hierarchy", tmp_path / "above.csv"
        )
        assert "leave it out, or use --distance wordnet, path, hops" in said
    line = ["select", answers.study, "--distance", "hops", "--hierarchy", str(tmp_path / "above.csv")]
    assert main(line) == 0


def test_labels_that_are_no_text_are_refused(answers: made_answers.Answers, tmp_path: Path) -> None:
    (tmp_path / "noise.csv").write_bytes(b"\x89PNG\xff\xfe")
    said = refused_line("label", "import", answers.study, tmp_path / "noise.csv")
    assert "noise.csv: cannot be read as text in UTF-8; save the table as CSV in UTF-8" in said
    assert "codec" not in said


def test_files_that_are_not_there_are_said_so_without_numbers_of_the_system(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    fs.select(answers.study, selector="random", budget=8)
    made_answers.import_labels(answers)
    none, corpus = tmp_path / "none.json", tmp_path / "ids.csv"
    corpus.write_text("image\np1\n")
    maps = made.corpus(tmp_path / "maps", images=2, models=2)
    study = str(made.collected(maps, tmp_path / "study", 4))
    fs.predict(study, maps.models, engine="local")
    for line in (
        ("rank", answers.study, "--selection", "random", "--benchmark", none),
        ("select", study, "--scale", none),
        (
            "collect",
            tmp_path / "s",
            corpus,
            "--task",
            "classification",
            "--classes",
            "imagenet1k",
            "--only-classes",
            none,
        ),
    ):
        said = refused_line(*line)
        assert f"{none}: " in said
        assert "there is no such file" in said
        assert "Errno" not in said


@pytest.mark.parametrize(("option", "least"), [("top", 1), ("cap", 1), ("spares", 0)])
def test_only_the_option_that_was_typed_is_named(
    answers: made_answers.Answers, option: str, least: int
) -> None:
    said = refused_line("select", answers.study, f"--{option}", least - 1)
    assert said == f"faultscape: {option} must be at least {least}; got {least - 1}\n"


def test_what_is_no_text_is_said_to_be_none_instead_of_printed(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    noise, start = tmp_path / "noise.csv", tmp_path / "start.csv"
    noise.write_bytes(np.random.default_rng(0).integers(0, 256, 3000, np.uint8).tobytes())
    assert refused_line("predict", answers.study, f"x={noise}").endswith(
        "noise.csv: is not text in UTF-8; save the table as CSV in UTF-8\n"
    )
    start.write_bytes(b"image,label\n\0\0,,,\n")
    assert refused_line("predict", answers.study, f"x={start}").endswith(
        "start.csv: is not text; save the table as CSV in UTF-8\n"
    )
    maps = made.corpus(tmp_path / "maps", images=2, models=1)
    study = made.collected(maps, tmp_path / "study", 4)
    assert refused_line("predict", study, f"x={start}").endswith(
        "start.csv: is not text; expected a list of files, one per line\n"
    )


def test_letters_that_a_terminal_has_not_are_printed_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under LC_ALL=C without UTF-8: what cannot be encoded, and what a terminal obeys, ends no line in a
    traceback.
    """
    (tmp_path / "x.csv").write_text("id,n\nKöln \N{DOG FACE}\x1b[2J,1\n", encoding="utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["show", str(tmp_path / "x.csv")]) == 0
    assert terminal.buffer.getvalue().decode("ascii").splitlines()[2].startswith(r"K\xf6ln \U0001f436\x1b[2J")  # type: ignore[attr-defined]
    with pytest.raises(UnicodeEncodeError):  # and such a stream it was
        terminal.write("ö")


def test_a_first_line_that_is_refused_leaves_no_folder(corpus: made.Corpus, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.png").write_bytes(b"no picture")
    refused_line("collect", tmp_path / "new", tmp_path / "broken", "--classes", corpus.classes)
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    refused_line("collect", tmp_path / "mine", tmp_path / "broken", "--classes", corpus.classes)
    assert (tmp_path / "mine").exists()


def test_a_class_list_of_classifiers_is_not_asked_for_colours(tmp_path: Path) -> None:
    (tmp_path / "classes.json").write_text('{"classes": {}}')
    (tmp_path / "ids.csv").write_text("image\na\n")
    words = ("--task", "classification", "--classes", tmp_path / "classes.json")
    said = refused_line("collect", tmp_path / "study", tmp_path / "ids.csv", *words)
    assert "expected a list `classes` of tables with name and id (and colour for label maps)" in said


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (("show", ""), "file"),
        (("scale", "", "--classes", "voc"), "masks"),
        (("demo", ""), "study"),
        (("status", " "), "study"),
    ],
)
def test_an_empty_name_is_said_to_be_empty(
    line: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("so that this folder is not empty")
    assert refused_text(*line) == f"{named} is empty; give the name of a file or folder"


def test_a_value_that_begins_with_a_dash_is_told_how_to_be_written() -> None:
    said = refused_text("collect", "new", "photos", "--classes", "voc", "--size", "-5x10")
    assert said.startswith(
        "collect: --size needs a value, and '-5x10' looks like an option; if it is the value,"
        " write --size=-5x10"
    )
    assert "looks like an option" not in refused_text(
        "collect", "new", "photos", "--size", "--classes", "voc"
    )
    assert "size '-5x10' is invalid" in refused_text(
        "collect", "new", ".", "--classes", "voc", "--size=-5x10"
    )
