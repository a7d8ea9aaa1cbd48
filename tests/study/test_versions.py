"""A study of another version than this Faultscape writes, or of none, is refused before it is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
from faultscape.errors import StudyError
from faultscape.study.settings import VERSION
from refusals import refused

AGAIN = ": collect the images again into a new study (faultscape collect NEW IMAGES)"
NEWER = ": install a later one (pip install --upgrade faultscape)"
OTHERS = (  # line of study.toml, what the refusal says of it, and what to do
    ("", "it has no version", AGAIN),
    *((f"version = {word}", f"its version is {word}", AGAIN) for word in ("1", "2", "0", "-1", "'3'", "3.0")),
    ("version = true", "its version is True", AGAIN),
    ("version = 9\nof_later = true", "is a study of version 9", NEWER),
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of three images and three classes with a model."""
    root = tmp_path / "study"
    (tmp_path / "ids.csv").write_text("image\np1\np2\np3\n")
    (tmp_path / "classes.txt").write_text("cat\ndog\nhen\n")
    (tmp_path / "said.csv").write_text("image,label\np1,cat\np2,dog\np3,hen\n")
    (tmp_path / "answers.csv").write_text("image,class,annotator,answer\np1,cat,ann,yes\n")
    fs.collect(root, tmp_path / "ids.csv", task="classification", classes=tmp_path / "classes.txt")
    fs.predict(str(root), f"net={tmp_path / 'said.csv'}")
    return root


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".lock" not in path.name
    }


@pytest.mark.parametrize(("line", "given", "do"), OTHERS, ids=[line or "none" for line, _, _ in OTHERS])
def test_another_version_is_refused_by_who_reads_and_who_writes(
    study: Path, line: str, given: str, do: str
) -> None:
    toml = study / "study.toml"
    toml.write_text(f"{line}\n" + toml.read_text().replace(f"version = {VERSION}\n", ""))
    before = files(study)
    for use in (
        lambda: fs.status(str(study)),
        lambda: fs.collect(str(study), str(study.with_name("ids.csv"))),
        lambda: fs.predict(str(study), f"net={study.with_name('said.csv')}"),
        lambda: fs.label.import_(str(study), str(study.with_name("answers.csv"))),
        lambda: fs.select(str(study)),
        lambda: fs.rank(str(study)),
        lambda: fs.report(str(study)),
    ):
        with refused(StudyError) as error:
            use()
        said = str(error.value)
        assert given in said
        assert said.endswith(f"reads version {VERSION}{do}")
    assert files(study) == before


def test_a_new_study_is_of_this_version(study: Path) -> None:
    assert f"version = {VERSION}" in (study / "study.toml").read_text().splitlines()
