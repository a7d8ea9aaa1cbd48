"""However few names are held at a time: files belong to the images to which they belong where all are held,
what is said is the same, and so is the first mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import made
from faultscape.corpus import records_aside
from faultscape.corpus.matches import fit, fit_images, near_images
from faultscape.corpus.records_aside import in_order
from faultscape.corpus.shard_files import match_shards
from faultscape.corpus.sources import Found, find
from faultscape.corpus.walks import each_folder
from faultscape.errors import CorpusError
from faultscape.prediction.stored_outputs import score_folder
from faultscape.study.tables.corpus import Corpus, Image, write_corpus

FOLDERS = ("", "a/", "b/", "a/c/", "deep/a/")
NAMES = ("1", "2", "a-b", "a", "é", "\udcff")
ENDINGS = ("", "_pred", "_gtFine_labelIds", "_gtFine_color", "-x_y")
IDS = st.tuples(*map(st.sampled_from, (FOLDERS, NAMES, ("", "_pred")))).map("".join)
FILES = st.tuples(*map(st.sampled_from, (FOLDERS, NAMES, ENDINGS))).map("".join)
PLAIN = Image("", "", "main", "pool", "clean", "", 4, 4, "", None, "", 0)


def plain(place: str, images: Sequence[Image], said: list[str], pattern: str | None) -> dict[str, str] | str:
    """The file of each image, with all names in memory, or the mistake."""
    made_ids = {image.id for image in images if image.parent}
    collected = [image.id for image in images if not image.parent]
    try:
        found = find([place], endings={".png", ".npy"}, strip=False, pattern=pattern, say=said.append)
        of_made = {f.id: f.path for f in found if f.id in made_ids}
        rest = [f for f in found if f.id not in made_ids]
        if of_made and not rest:
            return of_made
        return fit(place, rest, collected, say=said.append, pattern=pattern) | of_made
    except CorpusError as error:
        return str(error)


def by_shard(
    place: str, images: Sequence[Image], said: list[str], pattern: str | None
) -> dict[str, str] | str:
    shards = {
        n: [image for image in images if image.shard == n] for n in sorted({image.shard for image in images})
    }
    try:
        files = match_shards(place, shards.items, pattern=pattern, say=said.append, endings={".png", ".npy"})
    except CorpusError as error:
        return str(error)
    assert all(list(files[shard]) == sorted(files[shard]) for shard in files)
    assert files.count == len(files.paths) == sum(len(files[shard]) for shard in files)
    assert all(
        image.id not in files.get(shard, {}) for shard in shards for image in images if image.shard != shard
    )
    assert files.paths[:: max(1, files.count // 2)] == list(files.paths)[:: max(1, files.count // 2)]
    return {id_: path for shard in files for id_, path in files[shard].items()}


@given(
    st.lists(FILES, min_size=1, max_size=12, unique=True),
    st.lists(IDS, max_size=12, unique=True),
    st.sampled_from(ENDINGS),
    st.sets(st.integers(0, 11), max_size=2),
    st.sampled_from([None, "{id}_pred.png"]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_belong_to_the_same_images_however_few_names_are_held(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    files: list[str],
    ids: list[str],
    ending: str,
    of_others: set[int],
    pattern: str | None,
    twin: bool,
) -> None:
    monkeypatch.setattr(records_aside, "AT_ONCE", 3)
    folder = tmp_path_factory.mktemp("maps")
    for k, name in enumerate(files):
        path = folder / f"{name}{ending}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if twin and k == 1:
            path.with_suffix(".npy").touch()
    # half of the shards begin anew in the order of ids, as those of a second `collect` do
    images = [
        replace(PLAIN, id=id_, parent="p" * (k in of_others), shard=3 * (k % 4)) for k, id_ in enumerate(ids)
    ]
    images.sort(key=lambda image: (image.shard, image.id))
    said, plainly_said = list[str](), list[str]()
    found = by_shard(str(folder), images, said, pattern)
    expected = plain(str(folder), images, plainly_said, pattern)
    assert found == expected
    assert said == plainly_said


@given(
    st.lists(FILES, min_size=1, max_size=8, unique=True),
    st.lists(IDS, min_size=1, max_size=12, unique=True),
    st.sampled_from(ENDINGS),
    st.sets(st.integers(0, 11), max_size=2),
)
@settings(max_examples=60, deadline=None)
def test_files_belong_to_the_same_images_where_only_those_of_like_names_are_read(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[str],
    ids: list[str],
    ending: str,
    of_others: set[int],
) -> None:
    root = tmp_path_factory.mktemp("study")
    ids = [id_.replace("\udcff", "y") for id_ in ids]
    images = [
        replace(PLAIN, id=id_, parent="p" * (k in of_others)) for k, id_ in enumerate(dict.fromkeys(ids))
    ]
    write_corpus(root, images)
    corpus = Corpus(root)
    found = [Found(f"{name}{ending}", f"{name}{ending}.png") for name in sorted(files)]
    near = near_images(corpus, [f.id for f in found])
    collected = [image.id for image in corpus.images() if not image.parent]

    def said(*given: Any) -> dict[str, str] | str:
        try:
            return (
                fit_images("maps", found, *given)
                if len(given) == 1
                else fit("maps", found, given[0], kind="label")
            )
        except CorpusError as error:
            return str(error)

    assert said(near) == said(collected, "plainly")
    assert {id_.rsplit("/", 1)[-1] for id_ in near} <= {last for f in found for last in lasts(f.id)}


def lasts(name: str) -> list[str]:
    """The last part of a name, and all that it begins with."""
    last = name.rsplit("/", 1)[-1]
    return [last[:end] for end in range(len(last) + 1)]


@pytest.mark.parametrize(
    ("above", "ending", "text"),
    [
        (("x",), "", r"matched by the end of the path \(m0.png belongs to x/m0\)"),
        (("x", "y"), "", r"m0.png: matches several images \(x/m0, y/m0\)"),
        (("",), "_gtFine_labelIds", r"using the 12 files \*_gtFine_labelIds"),
    ],
)
def test_the_first_file_is_the_example_and_the_mistake_whatever_is_matched_first(
    tmp_path: Path, above: tuple[str, ...], ending: str, text: str
) -> None:
    for k in range(12):
        made.write(tmp_path / f"m{k}{ending}.png", np.zeros((2, 2), np.uint8))
    made.write(tmp_path / "m0_gtFine_color.png", np.zeros((2, 2), np.uint8))
    made.write(tmp_path / "made_gtFine_labelIds.png", np.zeros((2, 2), np.uint8))
    images = [replace(PLAIN, id=os.path.join(folder, f"m{k}")) for folder in above for k in range(12)]
    images += [replace(PLAIN, id="made"), replace(PLAIN, id="made_gtFine_labelIds", parent="made")]
    images.sort(key=lambda image: image.id)
    said, plainly_said = list[str](), list[str]()
    found = by_shard(str(tmp_path), images, said, None)
    assert found == plain(str(tmp_path), images, plainly_said, None)
    assert said == plainly_said
    assert re.search(text, f"{said} {found}")


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 2), st.booleans()), max_size=40))
@settings(max_examples=40, deadline=None)
def test_records_come_in_order_however_few_are_held(records: list[tuple[str, int, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_aside, "AT_ONCE", 4)
        patch.setattr(records_aside, "_PIECE", 2)
        patch.setattr(records_aside, "_IN_MEMORY", 16)
        assert list(in_order(iter(records))) == sorted(records)


def test_a_folder_of_many_names_is_walked_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(30):
        made.write(tmp_path / f"{k % 7}{k}.png", np.zeros((2, 2), np.uint8))
    expected = find([tmp_path])
    monkeypatch.setattr(records_aside, "AT_ONCE", 4)
    assert find([tmp_path]) == expected
    assert len(expected) == 30


def test_scores_are_told_from_maps_without_a_list_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in (2, 0, 1):
        made.write(tmp_path / "in" / f"{k}.png", np.zeros((2, 2), np.uint8))
        np.save(tmp_path / "in" / f"{k}.npy", np.zeros((3, 2, 2), np.float32))
    assert not score_folder.recognised(str(tmp_path), "")
    for path in tmp_path.rglob("*.png"):
        path.unlink()
    monkeypatch.setattr(os, "walk", None)
    assert score_folder.recognised(str(tmp_path), "")


def test_folders_are_gone_through_though_names_are_left(tmp_path: Path) -> None:
    for name in ("1.png", "2.png", "b/3.png", "a/c/4.png", ".hidden/5.png"):
        made.write(tmp_path / name, np.zeros((2, 2), np.uint8))
    os.symlink(tmp_path, tmp_path / "b" / "back")

    def first(folders: Iterator[tuple[str, Iterator[str]]]) -> list[str]:
        return [os.path.relpath(folder, tmp_path) for folder, _ in folders]

    assert first(each_folder(tmp_path)) == [".", "a", "a/c", "b"]
    assert sorted(name for _, names in each_folder(tmp_path) for name in names) == [
        f"{k}.png" for k in range(1, 5)
    ]
