"""A study that is moved or sent together with its images finds them where they are now; one that is moved alone
finds them where they were.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from faultscape.study.tables.corpus import Corpus, Image, each_shard, read_corpus, read_images, write_corpus
from faultscape.study.tables.moved_images import MovedImages, put_place


def image(id_: str, source: object) -> Image:
    return Image(id_, str(source), "main", "pool", "clean", "", 4, 3, f"digest of {id_}", None, id_, 0)


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("an image")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a study, images beside it and in it, and images elsewhere."""
    root = tmp_path / "project"
    recipe = json.dumps({"of": str(file(root / "photos" / "day" / "b.png")), "step": {"file": "x"}})
    inner = json.dumps({"of": f"stress:{recipe}"})
    write_corpus(
        root / "study",
        [
            image("beside", root / "photos" / "day" / "b.png"),
            image("deeper", file(root / "photos" / "a.png")),
            image("elsewhere", file(tmp_path / "data" / "c.png")),
            image("in-a-tar", f"{file(root / 'shards' / 'a.tar')}#drive/0.png"),
            image("inside", file(root / "study" / "web" / "d.png")),
            image("made", f"stress:{recipe}"),
            image("made-twice", f"stress:{inner}"),
            image("stored", "s3://bucket/project/photos/e.png"),
        ],
    )
    return root


def sources(study: Path) -> dict[str, str]:
    return {image.id: image.source for image in read_corpus(study)}


def test_a_project_that_is_moved_as_a_whole_needs_nothing(project: Path, tmp_path: Path) -> None:
    before = sources(project / "study")
    moved = tmp_path / "sent" / "unzipped"
    moved.parent.mkdir()
    project.rename(moved)
    now = sources(moved / "study")
    for id_, source in now.items():
        if id_ in ("elsewhere", "stored"):
            assert source == before[id_]
        else:
            assert source == before[id_].replace(str(project), str(moved))
    assert os.path.isfile(now["beside"])
    # every way to read a study says the same
    assert {i.id: i.source for i in Corpus(moved / "study").images()} == now
    assert {i.id: i.source for _, images in each_shard(moved / "study") for i in images} == now
    assert {i.id: i.source for i in read_images(moved / "study" / "corpus.parquet")} == now
    # and what is written again is recorded for the new place
    write_corpus(moved / "study", read_corpus(moved / "study"))
    moved.rename(project)
    assert sources(project / "study") == before


def test_a_study_that_is_renamed_finds_what_lies_in_it(project: Path) -> None:
    before = sources(project / "study")
    (project / "study").rename(project / "renamed")
    now = sources(project / "renamed")
    assert now.pop("inside") == before.pop("inside").replace("/study/", "/renamed/")
    assert now == before


def test_a_study_that_is_moved_alone_finds_its_images_where_they_were(project: Path, tmp_path: Path) -> None:
    before = sources(project / "study")
    (tmp_path / "away").mkdir()
    (project / "study").rename(tmp_path / "away" / "study")
    now = sources(tmp_path / "away" / "study")
    assert now.pop("inside") == str(tmp_path / "away" / "study" / "web" / "d.png")
    before.pop("inside")
    assert now == before


def test_a_copy_of_a_project_reads_its_own_images(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "copy")
    assert sources(tmp_path / "copy" / "study")["beside"] == str(
        tmp_path / "copy" / "photos" / "day" / "b.png"
    )


def test_a_study_that_does_not_say_where_it_was_written_is_read_as_it_is(
    project: Path, tmp_path: Path
) -> None:
    before = sources(project / "study")
    (project / "study" / "place.txt").unlink()
    project.rename(tmp_path / "moved")
    assert sources(tmp_path / "moved" / "study") == before


def test_each_folder_is_looked_up_once(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.rename(tmp_path / "moved")
    moved = MovedImages(str(project / "study"), str(tmp_path / "moved" / "study"))
    looked: list[str] = []
    monkeypatch.setattr(os.path, "exists", lambda path: looked.append(path) or True)
    for k in range(100):
        assert moved.source(f"{project}/photos/{k}.png") == f"{tmp_path}/moved/photos/{k}.png"
    assert len(looked) == 1


def test_a_run_that_was_killed_between_place_and_corpus_loses_no_image(project: Path, tmp_path: Path) -> None:
    before = sources(project / "study")
    project.rename(tmp_path / "moved")
    put_place(tmp_path / "moved" / "study")  # and the corpus was not written
    found = sources(tmp_path / "moved" / "study")
    assert found["inside"] == before["inside"].replace(str(project), str(tmp_path / "moved"))
    assert (tmp_path / "moved" / "study" / "place.txt").read_text().count("\n") == 2
