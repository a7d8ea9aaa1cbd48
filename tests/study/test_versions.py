"""A study of an earlier version is brought to this one in place, after a copy; one of a later version is
refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import faultscape as fs
import study_of_version_1
from faultscape.errors import StudyError
from faultscape.study import versions
from faultscape.study.answers.labels import Answers
from faultscape.study.settings import VERSION, read_settings
from refusals import refused

WAS = study_of_version_1.ANSWERS


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return study_of_version_1.write(tmp_path / "study")


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def rows(path: Path) -> list[tuple]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT * FROM answers ORDER BY number").fetchall()


def answer(study: Path, line: str, truth: str = "labels") -> None:
    path = study.with_name("new.csv")
    path.write_text(f"image,class,annotator,answer\n{line}\n")
    fs.label.import_(str(study), str(path), truth=truth)


def test_who_only_reads_changes_nothing(old: Path) -> None:
    before = files(old)
    assert fs.status(str(old)).stages[0][:2] == ("collect", "done")
    fs.show(str(old / "corpus.parquet"))
    held = Answers(old)
    assert (held.answers(), held.answers("second"), held.truths()) == (WAS, [], ["labels"])
    assert files(old) == before
    assert versions.version_of(old) == 1


def test_who_writes_brings_it_to_this_version_after_a_copy(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(old)
    answer(old, "p1,dog,eve,yes", truth="second")
    said = f"{old}: is a study of version 2 now; before-version-2 holds what was changed, as it was"
    assert capsys.readouterr().out.splitlines().count(said) == 1
    held = Answers(old)
    assert (held.answers(), held.answers("second"), held.discarded()) == (
        WAS,
        [("p1", "dog", "eve", "yes")],
        {"p3": "blurred"},
    )
    assert (old / "before-version-2" / "study.toml").read_bytes() == before["study.toml"]
    assert [row[1:5] for row in rows(old / "before-version-2" / "answers.sqlite")] == WAS
    assert len(rows(old / "before-version-2" / "answers.sqlite")[0]) == 7  # without a truth
    assert read_settings(old).version == VERSION
    copies = files(old / "before-version-2")
    answer(old, "p2,dog,eve,yes")
    assert "is a study of version" not in capsys.readouterr().out
    assert files(old / "before-version-2") == copies


def test_comments_and_models_of_study_toml_stay(old: Path) -> None:
    toml = old / "study.toml"
    toml.write_text("# mine\n" + toml.read_text())
    before = read_settings(old)
    fs.collect(str(old), str(old.with_name("ids.csv")))
    assert toml.read_text().startswith("# mine\n")
    assert read_settings(old) == before.model_copy(update={"version": VERSION})
    assert fs.predict(str(old), f"net={old.with_name('said.csv')}").models == {"net": (3, 0)}


@pytest.mark.parametrize("at", ["copy_file", "_write_version", "_upgrade_answers"])
def test_an_upgrade_that_was_killed_is_finished_by_the_next_line(
    old: Path, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(versions, at, killed)
        if at == "_upgrade_answers":
            patch.setattr(versions, "STEPS", (versions.Step(2, ("answers.sqlite",), killed),))
        with pytest.raises(KeyboardInterrupt):
            answer(old, "p1,dog,eve,yes", truth="second")
    assert versions.version_of(old) == 1
    assert Answers(old).answers() == WAS
    answer(old, "p1,dog,eve,yes", truth="second")
    assert Answers(old).answers("second") == [("p1", "dog", "eve", "yes")]
    assert len(rows(old / "before-version-2" / "answers.sqlite")[0]) == 7
    assert not list(old.glob(".writing-*"))


def test_jobs_of_an_array_upgrade_too(old: Path) -> None:
    source = f"net={old.with_name('said.csv')}"
    for job in ("1/2", "2/2"):
        fs.predict(str(old), source, shard=job)
    assert versions.version_of(old) == VERSION


def test_a_study_without_answers_has_a_copy_of_study_toml_alone(tmp_path: Path) -> None:
    study = study_of_version_1.write(tmp_path / "study", answers=False)
    fs.collect(str(study), str(study.with_name("ids.csv")))
    assert sorted(files(study / "before-version-2")) == ["study.toml"]


@pytest.mark.parametrize("verb", ["status", "collect", "predict", "rank", "select"])
def test_a_later_version_is_refused_with_its_number(old: Path, verb: str) -> None:
    toml = old / "study.toml"
    toml.write_text("version = 9\nof_later = true\n" + toml.read_text())
    before = files(old)
    more = {"collect": [str(old.with_name("ids.csv"))], "predict": [f"net={old.with_name('said.csv')}"]}.get(
        verb, []
    )
    with refused(StudyError) as error:
        getattr(fs, verb)(str(old), *more)
    said = str(error.value)
    assert said.startswith(f"{old} is a study of version 9; this Faultscape (")
    assert said.endswith(
        f"reads versions up to {VERSION}: install a later one (pip install --upgrade faultscape)"
    )
    assert {k: v for k, v in files(old).items() if ".lock" not in k} == {
        k: v for k, v in before.items() if ".lock" not in k
    }


def test_a_new_study_is_of_this_version_and_has_no_copies(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("image\np1\n")
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    fs.collect(
        str(tmp_path / "study"),
        str(tmp_path / "ids.csv"),
        task="classification",
        classes=str(tmp_path / "classes.txt"),
    )
    assert versions.version_of(tmp_path / "study") == VERSION
    assert not list((tmp_path / "study").glob("before-*"))
    assert [step.to for step in versions.STEPS] == list(range(2, VERSION + 1))


@pytest.mark.parametrize("version", ["0", "-1", "'2'", "2.0", "true"])
def test_a_version_that_is_no_number_is_refused(old: Path, version: str) -> None:
    toml = old / "study.toml"
    toml.write_text(f"version = {version}\n" + toml.read_text())
    with refused(StudyError, "expected a number from 1 to 3"):
        fs.status(str(old))
