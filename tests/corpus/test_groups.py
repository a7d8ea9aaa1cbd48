"""Images that belong together: groups from a pattern, a file or a dict, blocks of consecutive images, and
what a study keeps of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faultscape as fs
import made
from faultscape.corpus.groups import assign_groups, cut_blocks, describe_groups, group_names, join_blocks
from faultscape.errors import OptionError, StudyError
from faultscape.study.tables.corpus import Corpus, each_shard, read_corpus
from faultscape.study.tables.pool import pool_digest, read_pool
from refusals import refused

IDS = ["aachen/aachen_000_019", "aachen/aachen_001_019", "bonn/bonn_000_019", "lone"]


def test_a_pattern_names_the_shortest_group_that_fits_the_whole_id() -> None:
    assert group_names("{group}/*", IDS) == {IDS[0]: "aachen", IDS[1]: "aachen", IDS[2]: "bonn"}
    assert group_names("*/{group}_*_*", IDS) == {IDS[0]: "aachen", IDS[1]: "aachen", IDS[2]: "bonn"}
    assert group_names("aachen/{group}", IDS) == {IDS[0]: "aachen_000_019", IDS[1]: "aachen_001_019"}
    assert group_names("{group}.v1_*", ["d.v1_1", "dxv1_2"]) == {"d.v1_1": "d"}  # a dot is a dot


def test_a_file_or_a_dict_names_groups_and_may_leave_images_alone(tmp_path: Path) -> None:
    path = tmp_path / "drives.CSV"
    path.write_text(
        "﻿taken,Image,group\n1,lone,x\n2,aachen/aachen_000_019, \n\n3,not there,y\n", encoding="utf-8"
    )
    assert group_names(path, IDS) == {"lone": "x"}
    assert group_names({"lone": "x", IDS[0]: ""}, IDS) == {"lone": "x"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("drive_*", r"a pattern must hold \{group\} once"),
        ("{group}_{group}", r"a pattern must hold \{group\} once"),
        (
            "{group}-*",
            r"matches none of the 4 images, the first is 'aachen/aachen_000_019'; \{group\} stands for",
        ),
        ("none.csv", r"none\.csv: cannot be read: No such file"),
        ({"other": "x"}, r"names none of the 4 images; its first id is 'other', the study's 'aachen/"),
    ],
)
def test_what_names_nothing_is_refused_and_says_what_an_id_looks_like(
    asked: str | dict[str, str], says: str
) -> None:
    with refused(OptionError, says):
        group_names(asked, IDS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected the columns id and group in its first line; got nothing"),
        ("image,drive\nlone,x\n", "expected the columns id and group in its first line; got image, drive"),
        ("id,group\nlone\n", "line 2: expected an id and a group; got 'lone'"),
        ("id,group\nlone,a\n\nlone,b\n", "line 4: 'lone' is in the group 'a' on an earlier line"),
    ],
)
def test_a_file_that_cannot_be_believed_is_refused_by_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "g.csv").write_text(text)
    with refused(OptionError, says):
        group_names(tmp_path / "g.csv", IDS)


def test_blocks_are_runs_of_consecutive_images_of_nearly_one_length() -> None:
    ids = [f"f{k}" for k in range(101)]
    cut = cut_blocks({}, ids[::-1], 25)  # whatever order they come in
    runs = [[id_ for id_ in ids if cut[id_] == f"block:{k}"] for k in range(1, 5)]
    assert [id_ for run in runs for id_ in run] == ids  # f9 before f10
    assert [len(run) for run in runs] == [26, 25, 25, 25]
    assert len(set(cut_blocks({}, ids[:38], 25).values())) == 2  # 19 and 19: nearer to 25 than 38
    assert len(set(cut_blocks({}, ids[:37], 25).values())) == 1
    drives = {id_: "a" if k < 60 else "b" for k, id_ in enumerate(ids[:100])}
    found = cut_blocks(drives, ids, 30)
    assert describe_groups(found.get(id_, "") for id_ in ids) == "3 groups of 30 to 40 images, 1 image alone"
    with refused(OptionError, "a block has 2 images or more"):
        cut_blocks({}, ids, 1)
    assert assign_groups(ids, None, None) == {}


def study(tmp_path: Path) -> tuple[str, made.Corpus]:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=1)
    return str(tmp_path / "study"), corpus


def groups_of(root: str) -> dict[str, str]:
    return {image.id: image.group for image in read_corpus(Path(root))}


def test_collect_enters_groups_says_them_and_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, corpus = study(tmp_path)
    drive = {id_: f"drive-{k // 2}" for k, id_ in enumerate(corpus.ids[:5])}
    found = fs.collect(root, corpus.photos, classes=corpus.classes, grouping=fs.options.Grouping(group=drive))
    assert found.groups == "3 groups of 1 to 2 images, 1 image alone"
    assert "groups   3 groups of 1 to 2 images, 1 image alone" in repr(found)
    assert groups_of(root) == {id_: drive.get(id_, "") for id_ in corpus.ids}
    before = (Path(root) / "corpus.parquet").read_bytes()
    fs.collect(root, str(corpus.photos))  # the same images once more
    assert (Path(root) / "corpus.parquet").read_bytes() == before
    capsys.readouterr()
    other = dict.fromkeys(corpus.ids[:4], "drive") | {corpus.ids[5]: "lone"}
    again = fs.collect(root, grouping=fs.options.Grouping(group=other))  # no images are named: all of them
    assert again.groups == "2 groups of 1 to 4 images, 1 image alone"
    said = (
        "1 image has a group now, 4 images belong to another group now, 1 image has no group now;"
        " `faultscape run` and `measure` update intervals"
    )
    assert capsys.readouterr().out.startswith(said)
    assert fs.collect(root, grouping=fs.options.Grouping(group=other)).new == 0
    assert "now" not in capsys.readouterr().out


def test_a_block_alone_cuts_the_groups_that_there_are_and_again_without_cutting_their_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, corpus = study(tmp_path)
    fs.collect(root, corpus.photos, classes=corpus.classes, grouping=fs.options.Grouping(group="{group}/*"))
    assert set(groups_of(root).values()) == {"part0", "part1"}
    # 3 are nearer to one block of 2 than to two
    assert fs.collect(root, grouping=fs.options.Grouping(block=2)).groups == "2 groups of 3 images"
    assert set(groups_of(root).values()) == {"part0:1", "part1:1"}
    assert "--block 2 splits the existing groups: 2 groups of 3 images" in capsys.readouterr().out
    fs.collect(root, grouping=fs.options.Grouping(group=dict.fromkeys(corpus.ids[:5], "drive")))
    for block, runs in ((2, 2), (3, 2), (5, 1), (2, 2)):
        fs.collect(root, grouping=fs.options.Grouping(block=block))
        assert set(groups_of(root).values()) - {""} == {f"drive:{k + 1}" for k in range(runs)}, block
        assert groups_of(root)[corpus.ids[5]] == ""  # alone beside groups
    # the images that the line names are these
    fs.collect(root, str(corpus.photos), grouping=fs.options.Grouping(block=5))
    assert set(groups_of(root).values()) == {"drive:1", ""}


def test_blocks_of_all_images_are_cut_anew_with_the_images_that_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, corpus = study(tmp_path)
    first = tmp_path / "first.txt"
    first.write_text("".join(f"{corpus.photos / id_}.png\n" for id_ in corpus.ids[:4]))
    fs.collect(root, str(first), classes=str(corpus.classes), grouping=fs.options.Grouping(block=2))
    fs.collect(root, str(corpus.photos), set_="more")
    assert fs.collect(root, grouping=fs.options.Grouping(block=5)).groups == "2 groups of 5 images"
    said = capsys.readouterr().out
    assert "6 images have a group now" in said
    assert "splits the existing groups" not in said


def test_words_that_end_in_numbers_are_runs_only_where_one_ends_before_the_next_begins() -> None:
    apart = {"a": "ward:1", "b": "ward:2", "c": "ward:1"}
    assert join_blocks(apart) == apart
    beginning_late = {"a": "ward:2", "b": "ward:3"}
    assert join_blocks(beginning_late) == beginning_late
    assert join_blocks({"a9": "ward:1", "a10": "ward:2"}) == {"a9": "ward", "a10": "ward"}


def test_groups_of_no_image_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    root, corpus = study(tmp_path)
    with refused(OptionError, "matches none of the 6 images"):
        fs.collect(
            root, corpus.photos, classes=corpus.classes, grouping=fs.options.Grouping(group="{group}@*")
        )
    assert not (Path(root) / "corpus.parquet").exists()
    with refused(fs.errors.CorpusError, "no images given"):
        fs.collect(root, grouping=fs.options.Grouping(group="{group}_*"))  # there is no study yet
    fs.collect(root, str(corpus.photos), classes=str(corpus.classes))
    with refused(fs.errors.CorpusError, "no images given"):
        # what else is asked for speaks of images that are named
        fs.collect(root, grouping=fs.options.Grouping(group="{group}_*"), role="test")
    (Path(root) / "corpus.parquet").unlink()
    with refused(StudyError, "has no images to group yet"):
        fs.collect(root, grouping=fs.options.Grouping(group="{group}_*"))


def test_groups_change_no_selection(tmp_path: Path) -> None:
    root, corpus = study(tmp_path)
    made.collected(corpus, Path(root), 1024)
    before = pool_digest(Corpus(Path(root)))
    fs.collect(root, grouping=fs.options.Grouping(block=2))
    assert pool_digest(Corpus(Path(root))) == before


def test_a_study_of_an_earlier_version_keeps_its_near_duplicates_and_is_written_anew(tmp_path: Path) -> None:
    root, corpus = study(tmp_path)
    twin = corpus.photos / "zz-twin.png"
    shutil.copyfile(min(corpus.photos.rglob("*.png")), twin)
    fs.collect(root, str(corpus.photos), classes=str(corpus.classes))
    images, pool = read_corpus(Path(root)), read_pool(Corpus(Path(root)))
    before = pool_digest(pool.corpus)
    assert images[-1].near_duplicate_of == images[0].id
    assert len(set(pool.families)) == len(images) - 1
    path = Path(root) / "corpus.parquet"
    table = pq.read_table(path)
    earlier = table.drop_columns(["group"]).rename_columns({"near_duplicate_of": "group"})
    pq.write_table(earlier, path)
    assert read_corpus(Path(root)) == images
    assert [image for _, rows in each_shard(Path(root)) for image in rows] == images
    assert read_corpus(Path(root), 0) == images
    old = read_pool(Corpus(Path(root)))
    assert pool_digest(old.corpus) == before
    assert old.families.tolist() == pool.families.tolist()
    fs.collect(root, str(corpus.photos))
    assert pq.read_table(path).equals(pa.table(table))
