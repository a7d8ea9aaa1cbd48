"""What every label format of the catalogue obeys, and formats of a person's own as well: what is written is
read back the same, and what is hostile is refused in one line.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
from faultscape.corpus.id_lists import ids_meant, without_ending
from faultscape.errors import LabellingError, LabelMapError, OptionError
from faultscape.formats.label_tools import label_studio
from faultscape.formats.label_tools.tool_labels import DrawnImage, ToolLabel
from faultscape.labelling import (
    FORMATS,
    Format,
    Lines,
)
from faultscape.labelling.catalogue import find_format
from faultscape.labelling.format_calls import (
    check_file,
    count_filled,
    places_of,
    plain_errors,
    read_label,
    recognises,
    state_of,
    write_bundle,
    write_label,
)
from faultscape.nouns import Classes
from refusals import refused

GRID = Format(
    name="grid",
    title="grid",
    says="write numbers",
    kind="masks",
    endings=frozenset({".grid"}),
    label="{image}.grid",
    write=lambda _label, _photo, _size, ids, _: b"" if ids is None else json.dumps(ids.tolist()).encode(),
    recognise=lambda path: "drawn" if Path(path).stat().st_size else "empty",
    read=lambda path, _classes, _size: np.array(json.loads(Path(path).read_bytes())),
)


def read_json(path: Path, _column: str) -> Lines:
    rows = enumerate(json.loads(path.read_bytes()), 1)
    return Lines(answers=[(k, (image, name, by, answer)) for k, (image, name, by, answer) in rows if answer])


def fill_csv(text: str, answers: list[str]) -> str:
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    table = csv.DictWriter(out, list(rows[0]))
    table.writeheader()
    table.writerows(
        row | {"annotator": "ann", "answer": answer} for row, answer in zip(rows, answers, strict=True)
    )
    return out.getvalue()


ASKED = Format(
    name="asked",
    title="JSON",
    says="fill in",
    kind="questions",
    endings=frozenset({".json"}),
    write=lambda questions, _: json.dumps([[*question, "", ""] for question in questions]),
    recognise=lambda path: len(read_json(path, "").answers),
    read=read_json,
)
FILL: dict[str, Callable[[str, list[str]], str]] = {
    "csv": fill_csv,
    "asked": lambda text, said: json.dumps(
        [[*row[:2], "ann", word] for row, word in zip(json.loads(text), said, strict=True)]
    ),
}
MASKS = pytest.mark.parametrize(
    "form", [*(f for f in FORMATS if f.kind == "masks"), GRID], ids=lambda form: form.name
)
QUESTIONS = pytest.mark.parametrize(
    "form", [*(f for f in FORMATS if f.kind == "questions"), ASKED], ids=lambda form: form.name
)
IN_ONE_FOLDER = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = ("photo", "a b/c d", "naïve 图", "x.y", "-flag", "it's 100 %", 'say "x" & <y>', "a?b#c")
ODD = Classes(
    ("a b", 'say "x" & <y>', "naïve 图", "one, two", "it's"),
    (0, 7, 300, 9, 11),
    tuple((0, 0, blue) for blue in range(5)),
    void=(65535, 4),
    background=0,
)
# a class that is called so, and is none
TAKEN = Classes(("background", "car"), (1, 2), ((0, 0, 0), (0, 0, 0)), void=(9,))
WORLDS = (
    (fs.classes.resolve("voc"), (0, 3, 20, 255)),
    (fs.classes.resolve("camvid"), (0, 4, 10, 11)),
    (fs.classes.resolve("ade20k"), (0, 1, 150)),
    (fs.classes.resolve(400, void=65535), (0, 255, 256, 399, 65535)),
    (fs.classes.resolve(300, void=7000, background=3), (0, 3, 299, 7000)),
    (fs.classes.resolve(3), (0, 1, 2)),
    (ODD, (0, 7, 300, 9, 11, 65535, 4)),
)


def tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call gives, or what it says is wrong."""
    try:
        return call(), ""
    except (LabelMapError, LabellingError) as error:
        return None, str(error)


def written(
    form: Format,
    folder: Path,
    image: str,
    ids: np.ndarray | None,
    classes: Classes,
    *,
    outlines: bool = False,
) -> Path | None:
    """Write one label as `label export` does; None where the format writes none."""
    size = (5, 4) if ids is None else ids.shape[::-1]
    photo, label = places_of(form, folder, image)
    data = write_label(form, label, photo, size, ids, classes, outlines=outlines)
    if data is None:
        return None
    label.parent.mkdir(parents=True, exist_ok=True)
    label.write_bytes(data)
    return label


World = tuple[Classes, tuple[int, ...]]


@MASKS
@given(
    seed=st.integers(0, 10_000),
    name=st.sampled_from(NAMES),
    world=st.integers(0, len(WORLDS) - 1),
    outlines=st.booleans(),
)
@IN_ONE_FOLDER
def test_a_label_is_read_back_as_it_was_written_void_too(
    tmp_path: Path, form: Format, seed: int, name: str, world: int, outlines: bool
) -> None:
    # in colours go out lists whose classes each have one, and the data set's own for void
    worlds = WORLDS[:3] if form.name == "png-colours" else WORLDS
    (classes, values), rng = worlds[world % len(worlds)], np.random.default_rng(seed)
    ids = rng.choice(values[:6], rng.integers(1, 9, 2)).repeat(rng.integers(1, 3), 0).astype(np.uint16)
    label = written(form, tmp_path, name, ids, classes, outlines=outlines and form.outlines)
    assert label is not None
    assert label.name.endswith(tuple(form.endings))
    if len(np.unique(ids)) > 1:
        # of background alone LabelMe has no shape, and cannot tell it from a file nobody drew in
        assert state_of(form, label) == "drawn"
    assert read_label(form, str(label), classes, ids.shape[::-1]).tolist() == ids.tolist()


@MASKS
@pytest.mark.parametrize(("world", "value"), [("voc", 255), ("voc", 0), ("camvid", 11)])
def test_a_label_of_one_value_alone_is_read_back(
    tmp_path: Path, form: Format, world: str, value: int
) -> None:
    classes, ids = fs.classes.resolve(world), np.full((3, 2), value, np.uint16)
    label = written(form, tmp_path, "all", ids, classes)
    assert read_label(form, str(label), classes, (2, 3)).tolist() == ids.tolist()


@MASKS
def test_what_nobody_drew_is_no_label(tmp_path: Path, form: Format) -> None:
    label = written(form, tmp_path, "a b", None, fs.classes.resolve("voc"))
    assert label is None or state_of(form, label) == "empty"


@MASKS
@pytest.mark.parametrize("photo", [(4, 3), (2, 3), (1, 1), (300, 400)])
def test_a_label_of_another_size_than_its_photo_is_refused(
    tmp_path: Path, form: Format, photo: tuple[int, int]
) -> None:
    classes = fs.classes.resolve("voc")
    label = written(form, tmp_path, "m", np.full((4, 3), 3, np.uint16), classes)
    with refused(LabelMapError, "3 x 4") as told:  # in words of its own
        read_label(form, str(label), classes, photo)
    assert f"{photo[0]} x {photo[1]}" in str(told.value)


@MASKS
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.integers(0, 300),
        st.sampled_from(
            [
                *(b"", b"[]", b"{", b"[[1,", b"[[-1]]", b"[[70000]]", b"\x89PNG", b'{"shapes": 3}'),
                *(b'{"shapes": [], "imageHeight": %d, "imageWidth": 5}' % n for n in (-1, 99999999)),
            ]
        ),
    )
)
@IN_ONE_FOLDER
def test_a_hostile_file_is_refused_in_one_line_that_names_it(
    tmp_path: Path, form: Format, data: bytes | int
) -> None:
    classes = fs.classes.resolve("voc")
    label = written(form, tmp_path, "m", np.full((4, 3), 3, np.uint16), classes)
    assert label is not None
    label.write_bytes(label.read_bytes()[: data % label.stat().st_size] if isinstance(data, int) else data)
    ids, told = tried(lambda: read_label(form, str(label), classes, (3, 4)))
    assert "\n" not in told
    # only the end was cut off, behind all that the file says
    assert "m." in told or (isinstance(data, int) and (ids == 3).all())


BUNDLES = pytest.mark.parametrize(
    "form", [f for f in FORMATS if f.kind == "bundle"], ids=lambda form: form.name
)


def drawn(form: Format, folder: Path, image: str, ids: np.ndarray | None) -> DrawnImage:
    photo = places_of(form, folder, image)[0].relative_to(folder).as_posix()
    return DrawnImage(image, photo, (5, 4) if ids is None else ids.shape[::-1], ids)


def bundled(
    form: Format, folder: Path, images: list[DrawnImage], classes: Classes, *, outlines: bool = False
) -> list[Path]:
    """Write the photos and the files of a bundle as `label export` does; return the files that are of the
    format.
    """
    for image in images:
        (folder / image.photo).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", image.size).save(folder / image.photo, format="PNG")
    paths = []
    for path, data in write_bundle(form, folder, images, classes, outlines=outlines and form.outlines):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return [path for path in paths if recognises(form, path)]


def labels_of(form: Format, path: Path) -> list[ToolLabel]:
    if form.read is label_studio.read:  # nobody drew them yet
        return label_studio.read(path, predictions=True)
    return list(form.read(path))


@pytest.mark.slow
@BUNDLES
@given(
    seed=st.integers(0, 10_000), world=st.sampled_from((*WORLDS, (TAKEN, (1, 2, 9)))), outlines=st.booleans()
)
@IN_ONE_FOLDER
def test_labels_of_many_images_in_one_file_are_read_back_as_they_were_written(
    tmp_path: Path, form: Format, seed: int, world: World, outlines: bool
) -> None:
    (classes, values), rng = world, np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        maps = {
            name: rng.choice(values, rng.integers(1, 9, 2)).repeat(rng.integers(1, 3), 0).astype(np.uint16)
            for name in NAMES
        }
        images = [drawn(form, Path(folder), name, ids) for name, ids in maps.items()]
        (path,) = bundled(form, Path(folder), images, classes, outlines=outlines)
        labels = labels_of(form, path)
        found = {without_ending(label.image.removeprefix("images/")): label for label in labels}
        meant = ids_meant(list(found), maps)
        assert sorted(meant.values()) == sorted(NAMES)
        for name, label in found.items():
            ids = maps[meant[name]]
            back = label.read(classes)
            first = np.isin(ids, classes.void)  # every void id comes back as the first
            assert back.tolist() == np.where(first, (*classes.void, 0)[0], ids).tolist()
            assert back.dtype in (np.uint8, np.uint16)
            assert label.size == ids.shape[::-1]
            assert label.annotator in ("", "faultscape")  # which filled it in
            assert label.drawn or len(np.unique(ids)) == 1  # of background alone there is no shape
        assert [problem for problem in check_file(form, path) if "has a hole" not in problem] == []


@BUNDLES
def test_an_image_that_nobody_drew_on_goes_out_and_is_no_label(tmp_path: Path, form: Format) -> None:
    images = [drawn(form, tmp_path, "a", None), drawn(form, tmp_path, "b", np.array([[3, 3]], np.uint16))]
    (path,) = bundled(form, tmp_path, images, fs.classes.resolve("voc"))
    assert [label.drawn for label in labels_of(form, path)] in ([False, True], [True])


@BUNDLES
def test_values_of_no_class_and_maps_of_another_size_do_not_go_out(tmp_path: Path, form: Format) -> None:
    for classes in (fs.classes.resolve("voc"), fs.classes.resolve(3)):
        for ids, says in (
            (np.array([[0, 99]]), "holds the id 99"),
            (np.array([[0, 65535]]), "holds the id 65535"),
            (np.zeros((2, 2), int), r"expected whole numbers, 1 x 2; got int64 of shape \(2, 2\)"),
            (np.zeros((1, 2)), r"expected whole numbers, 1 x 2; got float64"),
        ):
            with refused(LabellingError, f"a'?: .*{says}"):
                list(form.write(tmp_path, [DrawnImage("a", "a.jpg", (2, 1), ids)], classes))


@BUNDLES
def test_pixels_under_no_mask_need_a_meaning_unless_there_are_none(tmp_path: Path, form: Format) -> None:
    named = Classes(("a", "b", "c"), (0, 1, 2), ((0, 0, 0), (0, 0, 1), (0, 0, 2)), background=0)
    bare = replace(named, background=None)
    read = {}
    for name, row in (("whole", [1, 2]), ("part", [1, 0])):
        folder = tmp_path / name
        (path,) = bundled(form, folder, [drawn(form, folder, "m", np.array([row]))], named)
        (read[name],) = labels_of(form, path)
    assert read["whole"].read(bare).tolist() == [[1, 2]]
    if form.name == "coco-panoptic":  # where each class has segments
        assert read["part"].read(bare).tolist() == [[1, 0]]
        return
    with refused(LabellingError, "need a background class or a void id"):
        read["part"].read(bare)


@BUNDLES
def test_a_file_is_of_one_format_alone(tmp_path: Path, form: Format) -> None:
    classes = fs.classes.resolve("voc")
    mine = bundled(
        form, tmp_path, [drawn(form, tmp_path, "m", np.array([[3, 4], [5, 0]], np.uint16))], classes
    )
    assert mine
    assert not recognises(form, tmp_path)
    assert not recognises(form, tmp_path / f"none{mine[0].suffix}")
    others = [f for f in FORMATS if f.kind == "bundle" and f.read is not form.read]
    assert [(path.name, other.name) for path in mine for other in others if recognises(other, path)] == []
    for lone in (f for f in FORMATS if f.kind == "masks" and not f.listed):
        assert not any(recognises(lone, path) for path in mine), lone.name


@BUNDLES
@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\x00", b"\xff\xfe\x00", b"{", b"{}", b"[]", b"3", b"[3]", b"<", b"<a/>", b"PK\x03\x04"),
        *(b"[" * 100_000, b"{" * 100_000, b"[" + b"9" * 5000 + b"]", b'[{"a": 1}]'),
        *(b'{"images": 3}', b'{"images": []}', b'{"images": 1, "annotations": [], "categories": []}'),
    ],
    ids=lambda data: repr(data[:9]),
)
def test_a_hostile_bundle_is_refused_in_one_line_that_names_it(
    tmp_path: Path, form: Format, data: bytes
) -> None:
    (path,) = bundled(
        form, tmp_path, [drawn(form, tmp_path, "m", np.array([[3, 4]], np.uint16))], fs.classes.resolve("voc")
    )
    path.write_bytes(data)
    recognises(form, path)
    problems = check_file(form, path)
    assert all("\n" not in problem for problem in problems)
    labels, told = tried(lambda: list(form.read(path)))
    assert "\n" not in told
    assert (str(path) in told and len(problems) == 1) or labels == []


ASKING = [("a b/c", "dog"), ("=1+1", "cat, wild"), ('say "x"', "naïve 图"), ("-7", "it's")]


@QUESTIONS
@given(
    answers=st.lists(st.sampled_from(["yes", "no", "unsure", ""]), min_size=len(ASKING), max_size=len(ASKING))
)
@IN_ONE_FOLDER
def test_answers_are_read_back_to_the_questions_that_were_written(
    tmp_path: Path, form: Format, answers: list[str]
) -> None:
    path, text = tmp_path / f"my questions{form.ending}", form.write(ASKING, {"dog": "a = b"})
    path.write_bytes(text.encode())
    assert count_filled(form, path) == 0
    path.write_bytes(FILL[form.name](text, answers).encode())
    given_ = [(*question, "ann", answer) for question, answer in zip(ASKING, answers, strict=True) if answer]
    lines = form.read(path, "")
    assert [answer for _, answer in lines.answers] == given_
    assert (lines.labels, lines.discards, lines.wrong) == ([], [], [])
    assert count_filled(form, path) >= len(given_)


@QUESTIONS
@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"\x00\x01", b"{", b"3", b"x,y\n1,2\n", b'[["a"]]'])
def test_a_hostile_file_of_answers_is_refused_in_one_line_that_names_it(
    tmp_path: Path, form: Format, data: bytes
) -> None:
    path = tmp_path / f"q{form.ending}"
    path.write_bytes(data)
    with refused(LabellingError) as told, plain_errors(form, path):
        form.read(path, "")
    assert f"{path}" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_format_that_reads_or_writes_something_else_is_refused(tmp_path: Path) -> None:
    classes = fs.classes.resolve("voc")
    for wrong in (np.zeros((4, 3)), np.zeros((4, 3, 1), int), [[1]], None):
        form = Format(**{**vars(GRID), "read": lambda *_, wrong=wrong: wrong})
        with refused(LabellingError, "format grid: read must return whole numbers, H x W; got"):
            read_label(form, "m.grid", classes, (3, 4))
    for value, fits in ((0, True), (65535, True), (-1, False), (65536, False)):
        form = Format(**{**vars(GRID), "read": lambda *_, value=value: np.array([[value] * 3])})
        if fits:
            assert read_label(form, "m.grid", classes, (3, 1)).tolist() == [[value] * 3]
        else:
            with refused(LabellingError, f"format grid: ids must be 0-65535; got {value} to {value}"):
                read_label(form, "m.grid", classes, (3, 1))
    form = Format(**{**vars(GRID), "write": lambda *_: "text"})
    with refused(LabellingError, "format grid: write must return bytes or None; got str"):
        write_label(form, tmp_path / "m.grid", tmp_path / "m.png", (3, 4), None, classes)


def test_a_task_has_a_format_of_its_own_and_takes_none_of_another() -> None:
    assert [find_format(None, task).name for task in ("segmentation", "classification")] == ["png", "csv"]
    with refused(
        OptionError, "--format csv does not fit a study of label maps; use png, .*: people draw masks"
    ):
        find_format("csv", "segmentation")
    with refused(OptionError, "format 'pmg' is not known; use png, .*Did you mean 'png'"):
        find_format("pmg", "segmentation")


def test_every_entry_is_complete_and_named_in_the_help_of_both_verbs_and_on_their_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "label.md").read_text(
        encoding="utf-8"
    )
    for form in FORMATS:
        assert all((form.name, form.title, form.says))
        assert f"`{form.name}`" in page.partition("## label import")[0]
        assert f"`{form.name}`" in page.partition("## label import")[2]
        for verb in (fs.label.export, fs.label.import_):
            said = (inspect.getdoc(verb) or "").partition("\nformat\n")[2].partition("\nselection\n")[0]
            assert re.search(rf"(?<![\w-]){form.name}(?![\w-])", re.split(r"\n(?=\w)", said)[0])
    assert len({form.name for form in FORMATS}) == len(FORMATS)
    assert {form.name for form in FORMATS if form.kind == "questions"} <= FILL.keys()
    named = {form.name: form for form in FORMATS}
    assert all(
        named[form.same_as].read is not None for form in FORMATS if form.kind == "masks" and form.same_as
    )
