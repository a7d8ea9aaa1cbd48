"""Which image a label is of: one rule for what people send to the page, for folders, and for all tools' files."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import FaultscapeError, LabellingError
from faultscape.formats import labelme
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.labelling.catalogue import find_format
from faultscape.maps import runs
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.verbs.label.exchange import import_masks
from faultscape.verbs.serve.pages.masks import _source
from refusals import refused

HEIGHT, WIDTH = 6, 8
MASK = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 2
TRUTHS = (f"truth-{k}" for k in itertools.count())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a study of images with these ids; made once for each set of them."""

    @cache
    def of(*ids: str) -> Path:
        folder = tmp_path_factory.mktemp("matching")
        rng = np.random.default_rng(3)
        for id_ in ids:
            made.write(folder / "photos" / f"{id_}.png", rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8))
        (folder / "classes.json").write_text(
            json.dumps(
                {"ignore_index": 255, "classes": [{"index": 0, "name": "sky"}, {"index": 1, "name": "sea"}]}
            )
        )
        fs.collect(str(folder / "study"), str(folder / "photos"), classes=str(folder / "classes.json"))
        return folder / "study"

    return of


def png() -> bytes:
    out = io.BytesIO()
    Image.fromarray(MASK.astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def page(root: Path, folder: Path, truth: str, files: dict[str, bytes]) -> None:
    """Send a zip of files to the page of masks."""
    with zipfile.ZipFile(folder / "sent", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    import_masks(Study(root), _source(folder / "sent"), truth, "sent by ann")


def folder_of(root: Path, folder: Path, truth: str, files: dict[str, bytes]) -> None:
    """Import the same files from a folder."""
    for name, data in files.items():
        (folder / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "given" / name).write_bytes(data)
    fs.label.import_(str(root), str(folder / "given"), truth=truth)


def of_tool(root: Path, folder: Path, truth: str, name: str, tool: str) -> None:
    """Import a tool's file about an image of this name."""
    form = find_format(tool, "segmentation")
    assert form.kind == "bundle"
    image = DrawnImage(name, f"{name}.png", (WIDTH, HEIGHT), MASK)
    for path, data in form.write(folder / "given", [image], read_settings(root).class_list):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.replace(b'"predictions"', b'"annotations"'))  # what a person accepted
    fs.label.import_(str(root), str(folder / "given"), truth=truth)


def shapes(root: Path) -> bytes:
    return labelme.encode("x.png", (WIDTH, HEIGHT), MASK, read_settings(root).class_list)


DOORS: dict[str, Callable[[Path, Path, str, str], None]] = {
    "page, PNG": lambda root, folder, truth, name: page(root, folder, truth, {f"{name}.png": png()}),
    "page, LabelMe": lambda root, folder, truth, name: page(
        root, folder, truth, {f"{name}.json": shapes(root)}
    ),
    "folder, PNG": lambda root, folder, truth, name: folder_of(root, folder, truth, {f"{name}.png": png()}),
    "folder, LabelMe": lambda root, folder, truth, name: folder_of(
        root, folder, truth, {f"{name}.json": shapes(root)}
    ),
    **{
        tool: lambda *given, tool=tool: of_tool(*given, tool=tool)
        for tool in ("coco", "coco-panoptic", "cvat", "cvat-masks", "label-studio")
    },
}
RULES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("x", "b/x"), "x", "x"),
    (("x", "b/x"), "b/x", "b/x"),
    (("x", "b/x"), "mine/x", "x"),
    (("x", "b/x"), "mine/b/x", "b/x"),
    (("b/x",), "x", "b/x"),
    (("b/x",), "c/x", "none of its 1 labels is named as an image"),
    (("x", "b/y"), "b/x", "none of its 1 labels is named as an image"),
    (("x", "b/y"), "b/mine/x", "none of its 1 labels is named as an image"),
    (("a/b/x", "b/y"), "b/x", "none of its 1 labels is named as an image"),
    (("a/x", "b/x"), "x", "matches several images \\(a/x, b/x\\)"),
    (("a/x", "b/x"), "mine/x", "none of its 1 labels is named as an image"),
)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("ids", "name", "meant"), RULES)
def test_a_label_is_of_the_image_that_its_whole_name_allows(
    study: Callable[..., Path],
    tmp_path: Path,
    ids: tuple[str, ...],
    name: str,
    meant: str,
    door: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root, truth = study(*ids), next(TRUTHS)
    if meant not in ids:
        with refused(FaultscapeError, meant):
            DOORS[door](root, tmp_path, truth, name)
        assert truth not in label_maps.truths(root)
        return
    DOORS[door](root, tmp_path, truth, name)
    assert labelled(root, truth) == [meant]
    twin = "such as x, not for b/x of the same name; what is meant for that belongs in a folder b/"
    assert (twin in capsys.readouterr().out) == (ids == ("x", "b/x") and meant == "x")


def labelled(root: Path, truth: str) -> list[str]:
    return list(label_maps.read_maps(label_maps.truth(root, truth), 0))


def read_map(root: Path, truth: str, image: str) -> np.ndarray:
    return runs.decode(label_maps.read_maps(label_maps.truth(root, truth), 0)[image], np.arange(3))


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        (("x", "images/x"), ["x", "images/x"]),
        (("images/x", "images/images/x"), ["x", "images/x"]),
        (("images/x",), []),
        (("images/y", "x"), ["y", "x"]),
    ],
)
def test_the_folder_of_an_export_is_left_out_only_if_no_other_image_is_meant(
    study: Callable[..., Path], tmp_path: Path, names: tuple[str, ...], meant: list[str]
) -> None:
    root, truth = study("x", "images/x", "y"), next(TRUTHS)
    form = find_format("coco", "segmentation")
    assert form.kind == "bundle"
    images = [DrawnImage(name, f"{name}.png", (WIDTH, HEIGHT), MASK * k) for k, name in enumerate(names)]
    ((path, data),) = form.write(tmp_path, images, read_settings(root).class_list)
    path.write_bytes(data)
    if not meant:
        with refused(LabellingError, "'images/x.png' may be image 'images/x' or, .* 'x'; rename one"):
            fs.label.import_(str(root), str(path), truth=truth)
        return
    fs.label.import_(str(root), str(path), truth=truth)
    assert sorted(labelled(root, truth)) == sorted(meant)
    assert not read_map(root, truth, meant[0]).any()  # the first mask is empty


def test_labels_of_an_earlier_file_of_a_folder_are_not_replaced_in_silence(
    study: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, truth = study("x", "y"), next(TRUTHS)
    form = find_format("coco", "segmentation")
    assert form.kind == "bundle"
    for name, ids in {"a": ("x", "y"), "b": ("y",)}.items():
        images = [DrawnImage(id_, f"{id_}.png", (WIDTH, HEIGHT), MASK) for id_ in ids]
        ((_, data),) = form.write(tmp_path, images, read_settings(root).class_list)
        (tmp_path / "given").mkdir(exist_ok=True)
        (tmp_path / "given" / f"{name}.json").write_bytes(data)
    fs.label.import_(str(root), str(tmp_path / "given"), truth=truth)
    assert (
        "b.json: 1 label of an earlier file is replaced by those of the same images"
        in capsys.readouterr().out
    )
