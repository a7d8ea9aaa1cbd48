"""What a person accepts enters the corpus, and nothing else; decisions are kept, and what they were is
said.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
from faultscape.cli import main
from faultscape.errors import CorpusError
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.web_pictures import read_decisions, read_pictures
from refusals import refused
from serving import Server, picture


@pytest.fixture
def reviewed(server: Server, study: Path, tmp_path: Path) -> Path:
    """A study with four downloaded pictures: p0 ... p3."""
    rows = [f"{server.picture(f'/{k}.png', picture(k))},p{k},CC0 1.0" for k in range(4)]
    (tmp_path / "urls.csv").write_text("\n".join(["url,id,licence", *rows]))
    fs.collect(str(study), web=fs.options.WebImages(urls=str(tmp_path / "urls.csv"), rate=1000.0))
    return study


def decided(folder: Path, text: str) -> str:
    path = folder / "accept.csv"
    path.write_text(text)
    return str(path)


def ids(study: Path) -> list[str]:
    return [image.id for image in read_corpus(study)]


def test_accepted_pictures_enter_as_the_set_web(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "collect",
        str(reviewed),
        "--accept",
        decided(tmp_path, "id,decision\np0,accept\np1,reject\np2,accept\n"),
    ]
    assert main(words) == 0
    assert "2 images accepted, 1 rejected, 1 left undecided" in capsys.readouterr().out
    assert ids(reviewed) == ["web/p0", "web/p2"]
    assert {image.set for image in read_corpus(reviewed)} == {"web"}
    before = (reviewed / "corpus.parquet").read_bytes()
    assert main(words) == 0
    assert (reviewed / "corpus.parquet").read_bytes() == before
    assert {p.id: p.licence for p in read_pictures(reviewed).values()}["p0"] == "CC0 1.0"


def test_later_decisions_join_earlier_ones(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.collect(
        reviewed, web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np0,accept\np1,reject\n"))
    )
    fs.collect(
        reviewed, web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np1,ACCEPT\np3,accept\n"))
    )
    assert ids(reviewed) == ["web/p0", "web/p1", "web/p3"]
    capsys.readouterr()
    fs.collect(reviewed, web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np0,reject\np3,\n")))
    assert "1 image accepted, 1 rejected, 2 left undecided" in (out := capsys.readouterr().out)
    assert "1 of the rejected images are already in the study and stay" in out
    assert read_decisions(reviewed / "web" / "accept.csv") == {"p0": "reject", "p1": "accept"}
    assert 'const KNOWN = {"p0": "reject", "p1": "accept"};' in (reviewed / "web" / "review.html").read_text()


def test_set_and_role_are_what_the_line_says(reviewed: Path, tmp_path: Path) -> None:
    fs.collect(
        reviewed,
        web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np0,accept\n")),
        set_="main",
        role="reference",
    )
    assert [(i.id, i.role) for i in read_corpus(reviewed)] == [("p0", "reference")]


def test_accepted_pictures_are_not_duplicates_of_themselves(reviewed: Path, tmp_path: Path) -> None:
    fs.collect(str(reviewed), web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np0,accept\n")))
    again = fs.collect(str(reviewed), web=fs.options.WebImages(urls=str(tmp_path / "urls.csv"), rate=1000.0))
    assert (again.there, again.left_out, again.for_review) == (4, 0, 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,decision\n../../escape,accept\n", r"are not in .*the first: '\.\./\.\./escape'"),
        ("id,decision\np0,perhaps\n", "line 2: decision 'perhaps' is not known; use accept or reject"),
        ("id,choice\np0,accept\n", "has no column 'decision'"),
        ("id,decision\np0,reject\n", "accepts no image"),
        ("", "accepts no image"),
    ],
)
def test_decisions_that_cannot_be_are_told_and_nothing_enters(
    reviewed: Path, tmp_path: Path, text: str, told: str
) -> None:
    with refused(CorpusError, told):
        fs.collect(str(reviewed), web=fs.options.WebImages(accept=decided(tmp_path, text)))
    assert ids(reviewed) == []


def test_a_picture_that_is_gone_is_told(reviewed: Path, tmp_path: Path) -> None:
    (reviewed / "web" / "pictures" / "p0.png").unlink()
    with refused(CorpusError, r"p0\.png is missing \(1 such\); download again"):
        fs.collect(reviewed, web=fs.options.WebImages(accept=decided(tmp_path, "id,decision\np0,accept\n")))
