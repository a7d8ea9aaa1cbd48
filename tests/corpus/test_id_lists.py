"""Lists of names: images that are known by their ids alone, and classes picked from a class list."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import faultscape as fs
import made
from faultscape.corpus import id_lists
from faultscape.corpus.id_lists import named_ids
from faultscape.corpus.sources import HEADS
from faultscape.errors import ClassesError, CorpusError, FaultscapeError
from faultscape.prediction.sources import tables
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.verb import group_options
from refusals import refused


def written(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_bytes(text.encode(encoding))
    return str(path)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("image\nb\na\n", ["b", "a"]),
        ("taken,ID\n2020,b\n2021,a/1\n", ["b", "a/1"]),
        ("img_2,2020\nimg_1,2021\n", ["img_2", "img_1"]),  # no first line of names: the first column
        ("\ufeffimage\r\nb\r\n\r\na\r\n", ["b", "a"]),  # as spreadsheets write it
        ("filename\nb.jpg\na.jpg\n", ["b.jpg", "a.jpg"]),
        ("filename,prediction,score\nb,cat,.5\na,dog,.7\n", ["b", "a"]),  # a table of answers
        ("prediction,Path,score\ncat,b,.5\ndog,a,.7\n", ["b", "a"]),
        ("10.jpg,cat\ndog.jpg,dog\n", ["10.jpg", "dog.jpg"]),
        ("b.png\n", ["b.png"]),
        ("n02_2\nn01_17\n", ["n02_2", "n01_17"]),
        ("17\n3\n", ["17", "3"]),
        ("cats/b\ncats/a\n", ["cats/b", "cats/a"]),
        ("cat/1\n", ["cat/1"]),
        ("3fa85f64-5717-4562,x\nb,y\n", ["3fa85f64-5717-4562", "b"]),
        ("zebra,cat,Id\nlion,dog,b\n", ["b"]),
        ('image,words\n"a, or b","x ""y"""\nc,\n', ["a, or b", "c"]),
        ("image\n b \n", ["b"]),
    ],
)
def test_ids_are_read_in_their_order(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert id_lists.is_id_list(written(tmp_path / "ids.csv", text))
    assert id_lists.read_ids(str(tmp_path / "ids.csv")) == ids


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no image"),
        ("image\n", "names no image"),
        ("image\na\nb\na\n", "names 'a' 2 times"),
        ("taken,image\n2020\n", "has no column 2"),
        ("image\na.jpg\na\nb.jpg\nb\nc\n", r"names 2 images with and without an ending \('a' and 'a\.jpg'\)"),
        ('image\n"a\tb"\n', "control character"),
        ('image,x\n"",1\n', "is empty"),
    ],
)
def test_a_list_that_names_no_images_is_refused_with_its_reason(tmp_path: Path, text: str, why: str) -> None:
    with refused(CorpusError, why):
        id_lists.read_ids(written(tmp_path / "ids.csv", text))
    (tmp_path / "ids.csv").write_bytes(b"image\n\xff\xfe\n")
    with refused(CorpusError, "cannot be read"):
        id_lists.read_ids(str(tmp_path / "ids.csv"))


@pytest.mark.parametrize(
    "text",
    [
        "fn,pred\nimg_1,cat\nimg_2,dog\n",
        "photo,taken\nimg_1,2020\nimg_2,2021\n",
        "fname,answer\nimg_1,cat\n",  # one line of data
        "photo,prediction,score\nb,cat,.5\n",
        "photo\nb\na\n",
        "zebra\nlion\n",  # ids like words, which a name of a column may be
        "zebra,cat\nlion,dog\n",
        "zebra,2020\nlion,2021\n",
        "zebra\n",
        "img_1\n",  # one line, of which nothing is a neighbour
        "top1,top2\nimg_1,cat\n",
        "0,1\n17,3\n5,2\n",  # as pandas names columns without names
        "0\n17\n5\n",
        "folder/file\ncats/one\ndogs/two\n",
        "img_1,name\nimg_2,mask\n",  # shows an image, and says `name`
        "fn,0.25,0.75\nimg_1,1,1\n",
    ],
)
def test_a_first_line_of_which_nobody_can_tell_what_it_is_is_refused(tmp_path: Path, text: str) -> None:
    first = ", ".join(text.partition("\n")[0].split(","))
    with refused(
        CorpusError,
        re.escape(
            f"its first line ({first}) could be column names or an image; name the image column `image`"
        ),
    ):
        id_lists.read_ids(written(tmp_path / "ids.csv", text))
    assert id_lists.read_ids(written(tmp_path / "ids.csv", f"image\n{text}"))[0] == first.split(", ")[0]


# of columns, as people call them
NAMES = st.text("abdegklmnoprst_ ", min_size=1, max_size=12).map(str.strip).filter(bool)
IDS = st.lists(st.integers(0, 99_999), min_size=2, max_size=6, unique=True)
CELLS = st.one_of(NAMES, st.sampled_from(["cat", "0.25", "7", "name", "path", "label", "pred"]))


@given(
    st.lists(NAMES, min_size=1, max_size=4),
    st.one_of(IDS.map(lambda n: [f"img_{k}" for k in n]), st.lists(NAMES)),
    CELLS,
)
def test_names_of_columns_are_never_an_image(head: list[str], ids: list[str], cell: str) -> None:
    said = id_lists.what_is(head, ids)
    assert said == ("columns" if {*head} & {*HEADS} else "unclear")
    assert id_lists.what_is([*head, cell], ids) in ("columns", "unclear")


@given(IDS, st.sampled_from(["{}", "img_{}", "night/{}", "{}.jpg", "n{}/x"]), st.lists(CELLS, max_size=3))
def test_a_first_line_that_is_an_image_is_never_lost(numbers: list[int], form: str, cells: list[str]) -> None:
    ids = [form.format(k) for k in numbers]
    said = id_lists.what_is([ids[0], *cells], ids[1:])
    assert said == (
        "unclear"
        if {*cells} & {*HEADS} or [ids[0], *cells] == [*map(str, range(len(cells) + 1))]
        else "image"
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.sampled_from(["image", "fn", "photo", "img_7", "Filename", "0", "cats/1", "7"]),
    st.sampled_from(["label", "pred", "answer", "cat", "1", "path"]),
    st.sampled_from(["img_{}", "{}", "cats/{}"]),
    st.booleans(),
)
def test_lists_and_tables_of_answers_read_a_first_line_alike(
    tmp_path: Path, name: str, label: str, form: str, pick: bool
) -> None:
    """What both take has the same images; only a table, whose names must be those of the study, may call its
    first column as it likes.
    """
    table = written(
        tmp_path / "t.csv", f"{name},{label}\n" + "".join(f"{form.format(k)},cat\n" for k in (3, 1, 2))
    )
    listed, said = (
        taken(lambda: id_lists.read_ids(table)),
        taken(lambda: tables.read(f"{table}:{label}" if pick else table).images),
    )
    assert listed is None or said is None or listed == said
    assert said is None or name not in said


def taken(read: Callable[[], list[str] | None]) -> list[str] | None:
    try:
        return read()
    except FaultscapeError:
        return None


def test_a_list_of_images_to_remove_may_begin_with_an_image_of_the_study(tmp_path: Path) -> None:
    path = written(tmp_path / "gone.csv", "zebra\nlion\n")
    assert named_ids([path], ["zebra", "lion", "cat"]) == {"zebra", "lion"}
    with refused(CorpusError, "could be column names or an image"):
        named_ids([path], ["lion", "cat"])


def test_a_csv_file_of_pictures_beside_it_is_no_list_of_ids(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    assert not id_lists.is_id_list(written(tmp_path / "list.csv", "a.png\nb.png\n"))
    assert not id_lists.is_id_list(str(tmp_path / "gone.csv"))
    assert not id_lists.is_id_list(written(tmp_path / "list.txt", "image\na\n"))


WORDS = ("cat", "dog", "bird", "fish")


def study(tmp_path: Path, *more: str, text: str = "image\nb\na\n", **options: object) -> str:
    classes = written(tmp_path / "classes.txt", "\n".join(WORDS))
    fs.collect(
        tmp_path / "study",
        written(tmp_path / "ids.csv", text),
        *more,
        task="classification",
        classes=classes,
        **group_options(fs.collect, options),
    )
    return str(tmp_path / "study")


def test_a_corpus_of_ids_alone_has_no_pictures_and_pictures_may_come_later(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    at = study(tmp_path, text=f"image\nzebra\n{corpus.ids[0]}\n")
    assert [(i.id, i.source, i.digest) for i in read_corpus(Path(at))] == [
        (corpus.ids[0], "", ""),
        ("zebra", "", ""),
    ]
    again = fs.collect(at, str(corpus.photos))
    assert (again.images, again.new) == (3, 1)
    assert "1 image without a file here" in repr(again)
    held = {image.id: image for image in read_corpus(Path(at))}
    assert held[corpus.ids[0]].source.endswith(".png")
    assert held[corpus.ids[0]].shard == 0
    assert not held["zebra"].source
    before = (Path(at) / "corpus.parquet").read_bytes()
    assert fs.collect(at, str(tmp_path / "ids.csv")).new == 0
    assert (Path(at) / "corpus.parquet").read_bytes() == before


def test_ids_of_a_set_begin_with_its_name(tmp_path: Path) -> None:
    at = study(tmp_path, set_="night", role="test")
    assert [(i.id, i.set, i.role) for i in read_corpus(Path(at))] == [
        ("night/a", "night", "test"),
        ("night/b", "night", "test"),
    ]


def test_only_classes_are_kept_in_the_order_of_the_class_list(tmp_path: Path) -> None:
    at = study(tmp_path, only_classes=written(tmp_path / "only.txt", "fish\n\ncat\nfish\n"))
    assert read_settings(Path(at)).only == ["cat", "fish"]
    fs.collect(at, str(tmp_path / "ids.csv"), only_classes=written(tmp_path / "only.json", '[1, "bird"]'))
    assert read_settings(Path(at)).only == ["dog", "bird"]
    fs.collect(at, str(tmp_path / "ids.csv"), classes=written(tmp_path / "classes.txt", "dog\ncat"))
    assert read_settings(Path(at)).only == ["dog"]


def test_imagenets_classes_are_picked_by_wnid_and_say_what_they_are(tmp_path: Path) -> None:
    only = written(tmp_path / "only.csv", "n02018207\nfountain\n0\n")
    fs.collect(
        tmp_path / "study",
        written(tmp_path / "ids.csv", "image\na\n"),
        task="classification",
        classes="imagenet1k",
        only_classes=only,
    )
    held = read_settings(tmp_path / "study")
    assert [held.classes.wnids[held.classes.names.index(name)] for name in held.only] == [
        "n01440764",
        "n02018207",
        "n03388043",
    ]
    assert not held.glosses  # they come with the wnids
    assert not held.classes.colours


@pytest.mark.parametrize(
    ("text", "why"),
    [("cat\nbirb\n", "'birb' is not a class of the study. Did you mean 'bird'?"), ("\n", "names no classes")],
)
def test_classes_that_are_not_there_are_refused(tmp_path: Path, text: str, why: str) -> None:
    with refused(ClassesError) as error:
        study(tmp_path, only_classes=written(tmp_path / "only.txt", text))
    assert why in str(error.value)
    assert not (tmp_path / "study" / "study.toml").exists()


def test_a_network_has_nothing_to_look_at_where_there_are_no_pictures(tmp_path: Path) -> None:
    at = study(tmp_path)
    (tmp_path / "net.py").write_text("def load():\n    return lambda pixels: 0\n")
    with refused(FaultscapeError, "the image cannot be resized"):
        fs.predict(at, f"net={tmp_path / 'net.py'}:load", engine="local")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "both"),
    [
        ("crane", ("'crane (wading bird)' (134, n02012849)", "'crane (lifting device)' (517, n03126707)")),
        ("maillot", ("'maillot (tights)' (638, n03710637)", "'maillot (swimsuit)' (639, n03710721)")),
        ("panther", ("'cougar' (286, n02125311)", "'jaguar' (290, n02128925)")),  # a synonym of both
    ],
)
def test_a_word_of_two_classes_of_imagenet_is_told_apart_by_wordnet_ids_and_means_neither(
    tmp_path: Path, word: str, both: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"{word!r} is ambiguous: {both[0]} or {both[1]}; give the full name or the WordNet id"
    ids = written(tmp_path / "ids.csv", "image\na\nb\n")
    study = str(tmp_path / "study")
    fs.collect(study, ids, task="classification", classes="imagenet1k")
    with refused(FaultscapeError, re.escape(told)):
        fs.label.import_(study, written(tmp_path / "truth.csv", f"image,label\na,{word}\n"))
    with refused(ClassesError, re.escape(told)):
        fs.collect(study, ids, only_classes=written(tmp_path / "only.txt", f"{word}\n"))
    with refused(FaultscapeError, re.escape(told)):
        fs.predict(study, f"net={written(tmp_path / 'all.csv', f'image,label{chr(10)}a,{word}')}")
    capsys.readouterr()
    fs.predict(
        study, f"net={written(tmp_path / 'some.csv', f'image,label{chr(10)}a,{word}{chr(10)}b,tench')}"
    )
    assert told in capsys.readouterr().out


def test_a_name_with_and_without_an_ending_is_one_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, classes = str(tmp_path / "study"), written(tmp_path / "classes.txt", "cat\ndog\n")
    first, second = (
        written(tmp_path / "a.csv", "image\na.jpg\nb\n"),
        written(tmp_path / "b.csv", "image\na\nb.png\nc\n"),
    )
    fs.collect(study, first, task="classification", classes=classes)
    capsys.readouterr()
    fs.collect(study, second)
    assert [image.id for image in read_corpus(Path(study))] == ["a.jpg", "b", "c"]
    assert (
        "2 names match images of the study with or without an extension: a is a.jpg"
        in capsys.readouterr().out
    )


def test_a_list_of_pictures_may_begin_with_the_name_of_its_column(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    for k in range(3):
        made.write(corpus.root / f"p{k}.png", np.full((8, 8, 3), k, np.uint8))
    path = written(corpus.root / "list.csv", "filename,score\np0.png,7\np1.png,8\np2.png,9\n")
    fs.collect(str(tmp_path / "study"), path, classes=str(corpus.classes))
    assert [image.id for image in read_corpus(tmp_path / "study")] == ["p0", "p1", "p2"]
