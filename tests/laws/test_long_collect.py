"""However few images are looked at, and grouped, at a time: the corpus is the same, or right."""

from __future__ import annotations

import errno
import io
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Picture

import faultscape as fs
import made
from faultscape.corpus import walks
from faultscape.corpus.duplicates import DISTANCE
from faultscape.corpus.shards import grouped
from faultscape.corpus.sources import find
from faultscape.engine import worker
from faultscape.errors import CorpusError, StudyError
from faultscape.study.tables.corpus import Corpus, Image, put_tables, read_corpus, table_of
from faultscape.study.tables.logs import read_failures
from faultscape.ties import tie_order
from faultscape.verbs.collect import changes, new_corpus
from refusals import refused

LEFT = 28  # of forty, without those near the banned one
NAMES = st.sampled_from(["a", "a-b", "a b", "a.b", "b", "Z", "é", "10", "9"])


@given(
    st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=12), st.sampled_from(["", "_x"])
)
@settings(max_examples=60, deadline=None)
def test_folders_are_walked_in_the_order_of_ids(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]], suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("walked")
    for *above, name in paths:
        place = folder.joinpath(*(f"{part}-in" for part in above))
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}{suffix}.png").touch()
    walked = list(walks.walk(str(folder), {".png"}, suffix))
    plain = list(folder.rglob("*.png"))
    ids = [path.relative_to(folder).as_posix().removesuffix(f"{suffix}.png") for path in plain]
    assert walked == sorted(zip(ids, map(str, plain), strict=True))


def test_folders_whose_names_read_alike_are_refused(tmp_path: Path) -> None:
    for name in (b"\xff", b"\\xff"):
        made.write(tmp_path / os.fsdecode(name) / "x.png", np.zeros((4, 4, 3), np.uint8))
    with refused(CorpusError, r"two folders below .* are both called '\\\\xff/'.*; rename one"):
        find([tmp_path])


def test_links_that_lead_back_are_not_followed_again(tmp_path: Path) -> None:
    made.write(tmp_path / "in" / "x.png", np.zeros((4, 4, 3), np.uint8))
    os.symlink(tmp_path, tmp_path / "in" / "back")
    os.symlink(tmp_path / "in", tmp_path / "there")
    assert [f.id for f in find([tmp_path])] == ["in/x", "there/x"]


def stairs(rng: np.random.Generator, turned: int) -> np.ndarray:
    """A picture of which ``turned`` bits of the difference hash are other than in its like."""
    fields = np.tile(np.arange(0, 180, 20, dtype=np.uint8), (8, 1))
    fields[:turned, -1] = 100
    picture = np.stack([fields.repeat(5, 0).repeat(5, 1)] * 3, axis=-1)
    picture[:5, :5, 0] += rng.integers(0, 3, (5, 5), dtype=np.uint8)  # other bytes, the same hash
    return picture


def draw(folder: Path, rng: np.random.Generator, names: list[int]) -> None:
    for k in names:
        noise = rng.integers(0, 256, (8, 9, 3), dtype=np.uint8).repeat(5, 0).repeat(5, 1)
        made.write(folder / f"{k % 3}" / f"{k:02}.png", stairs(rng, k // 2 % 9) if k % 2 == 0 else noise)


def in_steps(root: Path) -> list[list[Image]]:
    """The corpus after new images, after more of them, changed ones and other roles, and after some left."""
    study = root / "study"
    rng = np.random.default_rng(0)
    draw(root / "photos", rng, list(range(1, 40, 2)))
    corpora = list[list[Image]]()

    def collect(**options: object) -> None:
        fs.collect(study, root / "photos", **options)
        corpora.append(read_corpus(study))

    collect(classes=3, storage=fs.options.Storage(shard_size=8))
    draw(root / "photos", rng, [*range(0, 40, 2), 5, 9])
    collect()
    collect(role="test")
    firsts = Counter(image.near_duplicate_of for image in corpora[-1])
    Path(root / "photos" / f"{firsts.most_common(1)[0][0]}.png").write_bytes(
        (root / "photos" / "1" / "01.png").read_bytes()
    )
    collect()
    draw(root / "banned", rng, [0])
    collect(not_in=[str(root / "banned")])
    draw(root / "photos", rng, [4, 8, 50])
    collect(role="pool")
    return corpora


@pytest.mark.slow
def test_the_corpus_is_the_same_however_few_images_are_looked_at_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_steps(tmp_path / "at once")
    assert [len(corpus) for corpus in expected[:3]] == [20, 40, 40]
    assert len(expected[4]) == LEFT
    assert len(expected[5]) == 41
    for most in (1, 7):
        monkeypatch.setattr(changes, "_AT_ONCE", most)
        place = tmp_path / f"{most}"
        for mine, other in zip(in_steps(place), expected, strict=True):
            assert [one.id for one in mine] == [one.id for one in other]
            for a, b in zip(mine, other, strict=True):
                assert (a.near_duplicate_of, a.shard, a.role, a.digest) == (
                    b.near_duplicate_of,
                    b.shard,
                    b.role,
                    b.digest,
                )


def plain_groups(images: list[Image], held: dict[str, Image]) -> dict[str, str]:
    """The group of each image, by comparing every one with all first images before it."""
    same = {image.id for image in images if image.id in held and held[image.id].dhash == image.dhash}
    groups = {id_: held[id_].near_duplicate_of for id_ in same if held[id_].near_duplicate_of in same}
    order = tie_order([image.key for image in images], 0, [image.id for image in images]).tolist()
    firsts = [images[k] for k in order if groups.get(images[k].id) == images[k].id]
    for image in (images[k] for k in order if images[k].id not in groups):
        near = (first for first in firsts if apart(image, first) <= DISTANCE)
        first = next(near, image)
        groups[image.id] = first.id
        firsts += [image] if first is image else []
    return groups


def test_each_step_groups_as_a_search_among_all_images_does(tmp_path: Path) -> None:
    before: dict[str, Image] = {}
    for corpus in in_steps(tmp_path):
        assert {image.id: image.near_duplicate_of for image in corpus} == plain_groups(corpus, before)
        followers = sum(image.near_duplicate_of != image.id for image in corpus)
        assert followers >= (0 if not before else 3)
        assert corpus == sorted(corpus, key=lambda image: (image.shard, image.id))
        before = {image.id: image for image in corpus}


def test_of_several_first_images_nearby_the_first_among_equals_counts() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        flips = [
            sum(1 << int(bit) for bit in rng.choice(16, rng.integers(0, 9), replace=False)) for _ in range(40)
        ]
        images = [
            Image(f"{k:02}", "", "main", "pool", "clean", "", 1, 1, f"{rng.integers(30)}", flip, "", 0)
            for k, flip in enumerate(flips)
        ]
        held = {image.id: image for image in grouped(images[:25])}
        found = grouped([*held.values(), *images[25:]], held)
        assert {image.id: image.near_duplicate_of for image in found} == plain_groups(found, held)


def test_a_group_is_that_of_an_image_nearby_however_few_are_grouped_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_AT_ONCE", 3)
    monkeypatch.setattr(new_corpus, "TOGETHER", 5)
    *_, corpus = in_steps(tmp_path)
    by_id = {image.id: image for image in corpus}
    firsts = [image for image in corpus if image.near_duplicate_of == image.id]
    for image in corpus:
        first = by_id[image.near_duplicate_of]
        assert first in firsts
        assert apart(image, first) <= DISTANCE
    assert all(apart(a, b) > DISTANCE for a in firsts for b in firsts if a is not b)


def apart(one: Image, other: Image) -> int:
    assert one.dhash is not None
    assert other.dhash is not None
    return ((one.dhash ^ other.dhash) & (2**64 - 1)).bit_count()


def test_rows_of_the_corpus_file_do_not_depend_on_how_it_is_written(tmp_path: Path) -> None:
    images = [
        Image(f"{k:05}", f"/p/{k}", "main", "pool", "clean", "", 1, 1, "", k, "", 0) for k in range(9000)
    ]
    table = table_of(images, tmp_path)
    for name, size in (("one", 9000), ("many", 7), ("some", 5000)):
        (tmp_path / name).mkdir()
        put_tables(
            tmp_path / name / "corpus.parquet", (table.slice(k, size) for k in range(0, len(table), size))
        )
    written = [(tmp_path / name / "corpus.parquet").read_bytes() for name in ("one", "many", "some")]
    assert written[0] == written[1] == written[2]
    about = pq.ParquetFile(tmp_path / "one" / "corpus.parquet").metadata
    assert [about.row_group(k).num_rows for k in range(about.num_row_groups)] == [4096, 4096, 808]


def test_a_disk_that_is_full_while_rows_wait_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(new_corpus, "SpooledTemporaryFile", lambda **_: Full())
    row = Image("a", "/a", "main", "pool", "clean", "", 1, 1, "", 0, "", 0)
    with new_corpus.RowsAside(tmp_path) as rows:
        with refused(StudyError, r"^cannot write .*: No space left on device; free some space"):
            rows.add(table_of([row], tmp_path))
        assert len(rows) == 0


@pytest.mark.slow
def test_a_removed_image_comes_back_whichever_folder_names_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw(tmp_path / "photos", np.random.default_rng(0), [1, 2, 4])
    study = tmp_path / "study"
    fs.collect(study, tmp_path / "photos", classes=3)
    before = read_corpus(study)
    fs.collect(study, remove=["1/04"])
    capsys.readouterr()
    fs.collect(study, tmp_path / "photos" / "1")
    assert "1 image that was removed is back" in capsys.readouterr().out
    assert [(row.id, row.shard) for row in read_corpus(study)] == [(row.id, row.shard) for row in before]


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 100])
def test_a_file_that_two_folders_name_keeps_the_id_that_the_study_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(changes, "_AT_ONCE", most)
    draw(tmp_path / "photos", np.random.default_rng(0), [1, 2, 4])
    made.write(tmp_path / "photos" / "1" / "z.png", np.full((40, 45, 3), 9, np.uint8))
    study = tmp_path / "study"
    fs.collect(study, tmp_path / "photos" / "1", classes=3)
    fs.collect(study, tmp_path / "photos", tmp_path / "photos" / "1")
    assert [row.id for row in read_corpus(study)] == ["01", "04", "z", "2/02"]


def dim(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Picture.fromarray(np.full((8, 9), value, np.uint16) + np.arange(9, dtype=np.uint16) * 200).save(path)


@pytest.mark.slow
def test_dim_images_take_no_part_whatever_else_would_be_done_about_them(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    draw(photos, np.random.default_rng(0), [1, 2])
    study = tmp_path / "study"
    fs.collect(study, photos, classes=3)
    before = read_corpus(study)
    for k in range(3):
        dim(photos / f"dim{k}.png", 3000 + 900 * k)
    dim(photos / "1" / "01.png", 9000)  # a held image whose file is dim now
    dim(tmp_path / "banned" / "x.png", 3000)
    found = fs.collect(study, photos, not_in=[str(tmp_path / "banned")])
    assert read_corpus(study) == before
    assert (found.images, found.new, found.failures) == (2, 0, 4)
    rows = read_failures(study)
    assert len({row.image for row in rows}) == len(rows) == 4
    assert all("almost black" in row.reason for row in rows)


def test_a_long_answer_of_a_worker_does_not_wait_between_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "long_tasks.py").write_text(
        "def answer(tick):\n    tick(3)\n    tick(1000)\n    return '. \\u00e9' * 300_000\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pauses = list[float]()
    monkeypatch.setattr(worker.time, "sleep", pauses.append)
    process = worker.Worker()
    try:
        said = list(process.ask({"task": "long_tasks:answer", "call": {}, "attempt": 0}))
    finally:
        process.close()
    assert sum(one.get("tick", 0) for one in said) == 1003
    assert said[-1] == {"result": ". \u00e9" * 300_000}
    assert len(pauses) <= 6


def test_names_that_no_image_can_have_are_names_of_none(tmp_path: Path) -> None:
    row = Image("a", "/a", "main", "pool", "clean", "", 1, 1, "", 0, "", 0)
    put_tables(tmp_path / "corpus.parquet", [table_of([replace(row, id="é"), row], tmp_path)])
    assert Corpus(tmp_path).held(["\ud800", "é", "b"]) == {"é"}
