"""A label format of a person's own, some lines in a file: exported, filled in, imported, and named in help
and errors.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.study.tables import label_maps
from refusals import refused_line

GRID = '''
"""Ids as lines of numbers, a file of text an image."""

from pathlib import Path

import numpy as np

from faultscape.labelling import Format


def write(label, photo, size, ids, classes):
    return b"" if ids is None else "".join(" ".join(map(str, row)) + "\\n" for row in ids.tolist()).encode()


GRID = Format(
    name="grid",
    kind="masks",
    title="grid",
    says="write the numbers of the classes (classes.txt), a line a row",
    endings=frozenset({".grid"}),
    photo="{image}.png",
    label="{image}.grid",
    write=write,
    prepare=lambda classes: {"classes.txt": "".join(f"{i} {n}\\n" for i, n in zip(classes.ids, classes.names)).encode()},
    recognise=lambda path: "drawn" if Path(path).stat().st_size else "empty",
    read=lambda path, classes, size: np.loadtxt(path, dtype=int, ndmin=2),
)
'''
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "label.md"
LINES = next(
    block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "ASKED" in block
)


def test_masks_go_out_and_come_back_in_a_format_of_ones_own(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, source = next(iter(corpus.models.items()))
    fs.predict(study, {n: str(s) for n, s in corpus.models.items()}, engine="local")
    fs.compare(study, engine="local")
    chosen = fs.select(study, per_class=3, engine="local").images
    (tmp_path / "mine.py").write_text(GRID)
    own, out = f"{tmp_path / 'mine.py'}:GRID", tmp_path / "to label"
    assert main(["label", "export", study, str(out), "--format", own]) == 0
    printed = capsys.readouterr().out
    assert f"{len(chosen)} images to label in {out} (grid)" in " ".join(printed.split())
    assert (
        "next: write the numbers of the classes (classes.txt), a line a row, then run\n  faultscape label"
        " import" in printed
    )
    assert f"--format {own}" in printed
    assert (out / "classes.txt").read_text().startswith("0 ")
    assert sorted(str(f.relative_to(out)) for f in out.rglob("*.grid")) == sorted(
        f"{image}.grid" for image in chosen
    )
    assert main(["label", "import", study, str(out), "--format", own]) == 0
    assert (
        f"{len(chosen)} files are not labelled yet: grid files in which no area is drawn"
        in capsys.readouterr().out
    )

    filled, (first, second, *_) = tmp_path / "filled", chosen
    assert main(["label", "export", study, str(filled), "--format", own, "--prefill", name]) == 0
    (filled / f"{first}.grid").write_text("1 2\n")
    (filled / f"{second}.grid").write_text("road\n")
    assert main(["label", "import", study, str(filled), "--format", own]) == 0
    assert f"{len(chosen) - 2} images added, 2 not usable" in capsys.readouterr().out
    failures = (Path(study) / "failures.csv").read_text()
    assert "is 2 x 1 pixels, its image 48 x 36" in failures
    assert f"{second}.grid: format grid: ValueError: could not convert string 'road'" in failures
    again = fs.label.export(study, str(tmp_path / "rest"))
    assert again.images == 2
    places = dict(zip(corpus.ids, corpus.maps[name], strict=True))
    where = label_maps.truth(Path(study), "labels")
    stored = {
        m.id: m for n in {i // 4 for i in range(len(corpus.ids))} for m in label_maps.read_stored(where, n)
    }
    assert sorted(stored) == sorted(set(chosen) - {first, second})
    fs.label.import_(study, str(source), truth="as-the-model")
    model = label_maps.truth(Path(study), "as-the-model")
    expected = {
        m.id: m.runs
        for n in {i // 4 for i in range(len(corpus.ids))}
        for m in label_maps.read_stored(model, n)
    }
    assert {id_: m.runs for id_, m in stored.items()} == {id_: expected[id_] for id_ in stored}
    assert all(np.unique(places[id_]).size > 1 for id_ in stored)


def test_questions_go_out_and_answers_come_back_in_a_format_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = made_answers.study(tmp_path / "made", images=12).study
    fs.compare(study)
    fs.select(study)
    (tmp_path / "mine.py").write_text(LINES)
    own, out = f"{tmp_path / 'mine.py'}:ASKED", tmp_path / "asked.json"
    assert main(["label", "export", study, str(out), "--format", own]) == 0
    assert "next: fill in by and answer, then run\n  faultscape label import" in capsys.readouterr().out
    rows = json.loads(out.read_text())
    rows[0] |= {"by": "ann", "answer": "yes"}
    rows[1] |= {"by": "ann", "answer": "no"}
    out.write_text(json.dumps(rows))
    assert "2 lines are filled in and never overwritten" in refused_line(
        "label", "export", study, str(out), "--format", own
    )
    assert main(["label", "import", study, str(out), "--format", own]) == 0
    assert "2 new answers" in capsys.readouterr().out
    assert fs.label.export(study, str(tmp_path / "rest.csv")).questions == len(rows) - 2
    out.write_text("[3")
    assert f"{out}: format asked: JSONDecodeError" in refused_line(
        "label", "import", study, str(out), "--format", own
    )


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("[]", "read must return faultscape.labelling.Lines; got list"),
        (
            "Lines(answers=[(1, ('a', 'b'))])",
            r"answers must be a list of (line, (image, class, annotator, answer)); got (1, ('a', 'b'))",
        ),
        (
            "Lines(answers=[(4, ('set0/000', 'cat', 'ann', 'maybe'))])",
            "an answer must be yes, no, unsure; got 'maybe' in line 4",
        ),
        (
            "Lines(labels=((1, ('a', 'b')),))",
            "labels must be a list of (line, (image, labels joined by |)); got ((1, ('a', 'b')),)",
        ),
        ("Lines(discards=['a'])", "discards must be a list of (image, reason); got 'a'"),
        ("Lines(wrong=[('a', 'b')])", "wrong must be a list of (line, image, what is wrong); got ('a', 'b')"),
        ("exit(3)", "SystemExit: 3"),
    ],
)
def test_a_format_of_questions_that_reads_something_else_is_told_what_to_return(
    tmp_path: Path, read: str, said: str
) -> None:
    study = made_answers.study(tmp_path / "made", images=12).study
    (tmp_path / "mine.py").write_text(LINES.replace("return Lines(", f"return {read}\n    return Lines("))
    (tmp_path / "said.json").write_text("[]")
    line = (
        "label",
        "import",
        study,
        str(tmp_path / "said.json"),
        "--format",
        f"{tmp_path / 'mine.py'}:ASKED",
    )
    assert f"said.json: format asked: {said}" in refused_line(*line)
    assert fs.status(study).next.startswith("faultscape select")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (("return json.dumps(", "return list("), "write must return text; got list"),
        (
            ("lambda path: len(read", "lambda path: str(read"),
            "recognise must return how many lines are filled in; got str",
        ),
    ],
)
def test_a_format_of_questions_that_writes_something_else_is_told_what_to_return(
    tmp_path: Path, fault: tuple[str, str], said: str
) -> None:
    study, out = made_answers.study(tmp_path / "made", images=12).study, tmp_path / "asked.json"
    fs.select(study)
    out.write_text("[]")
    (tmp_path / "mine.py").write_text(LINES.replace(*fault))
    own = f"{tmp_path / 'mine.py'}:ASKED"
    assert f"asked.json: format asked: {said}" in refused_line(
        "label", "export", study, str(out), "--format", own
    )
    assert out.read_text() == "[]"


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ("lambda classes: {'classes.txt': 'road'}", "by the names of files in the folder; got str for"),
        ("lambda classes: {'../classes.txt': b''}", "by the names of files in the folder; got bytes for"),
        ("lambda classes: 3", "AttributeError: 'int' object has no attribute 'items'"),
    ],
)
def test_a_format_that_prepares_something_else_than_files_is_told(
    prepare: str, said: str, corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.predict(study, {n: str(s) for n, s in corpus.models.items()}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    (tmp_path / "mine.py").write_text(
        f"{GRID}\nfrom dataclasses import replace\nGRID = replace(GRID, prepare={prepare})\n"
    )
    own = f"{tmp_path / 'mine.py'}:GRID"
    assert said in refused_line("label", "export", study, str(tmp_path / "out"), "--format", own)
    assert not (tmp_path / "classes.txt").exists()


def test_what_is_no_format_is_refused_in_one_line(study: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        f"{LINES}\nfrom dataclasses import replace\nTEXT = 'x'\nKIND = replace(ASKED, kind='shapes')\n"
        "UNKNOWN = replace(ASKED, recognise=None)\n"
    )
    file = tmp_path / "mine.py"
    wanted = {
        f"{file}:TEXT": "expected a Format; got str",
        f"{file}:KIND": "kind is masks, bundle, questions, points; got 'shapes'",
        f"{file}:UNKNOWN": "a format of the kind questions needs `recognise`",
        f"{file}:NONE": "holds no 'NONE'",
        f"{file}:ASKED": "does not fit a study of label maps; use png, png-index, ",
        "csv": "does not fit a study of label maps; use png, png-index, ",
        "gone.py:GRID": "there is no file gone.py",
        "labelmee": "csv, or file.py:NAME for your own. Did you mean 'labelme'?",
    }
    for source, words in wanted.items():
        for line in (["export", study, str(tmp_path / "out")], ["import", study, str(tmp_path)]):
            assert words in refused_line("label", *line, "--format", source), source
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["export", "import"])
def test_help_names_the_formats_and_that_one_may_be_ones_own(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["label", verb, "--help"]) == 0
    printed = capsys.readouterr().out
    assert all(
        word in printed
        for word in ("--format", "file.py:NAME", *(form.name for form in fs.labelling.FORMATS))
    )


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (
            '"../{image}.grid"',
            "`photo` and `label` must be paths in the folder, such as labels/{image}.png; got",
        ),
        (
            '"/{image}.grid"',
            "`photo` and `label` must be paths in the folder, such as labels/{image}.png; got",
        ),
        ('""', "`photo` and `label` must be paths in the folder, such as labels/{image}.png; got"),
        ('"{places}.grid"', "KeyError: 'places'"),
    ],
)
def test_a_format_that_names_no_place_in_its_folder_is_refused(
    label: str, said: str, corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.predict(study, {n: str(s) for n, s in corpus.models.items()}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    (tmp_path / "mine.py").write_text(GRID.replace('"{image}.grid"', label))
    assert f"format grid: {said}" in refused_line(
        "label", "export", study, str(tmp_path / "out"), "--format", f"{tmp_path / 'mine.py'}:GRID"
    )
    assert not list(tmp_path.glob("*.grid"))
