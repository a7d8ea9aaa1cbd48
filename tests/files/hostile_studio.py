"""Hostile files of Label Studio and of COCO: cases as `hostile_cases` has them, read and looked through by
their formats directly.

Conventions: what a case tells is the sentence of the first label that cannot be read, of the file where that
cannot, or what `check` finds first; of a file that is large and good, that it was read. It is the same class
of Case, and CASES may be added to the others.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hostile_cases import DEEP, Case, smaller

SIZE = 13_000  # of a side: 169 million pixels, the most that a small file may declare


def _write(text: str | Callable[[], str], folder: Path, name: str = "tasks.json") -> None:
    (folder / name).write_text(text if isinstance(text, str) else text(), encoding="utf-8")


def _first(form: Any, folder: Path, name: str) -> str:
    """What is said of a file: by reading all of it, else by looking through it."""
    import faultscape as fs

    assert form.recognise(folder / name) in (True, False)
    checked = form.check(folder / name)
    try:
        for label in form.read(folder / name):
            label.read(fs.classes.resolve("voc"))
    except fs.errors.LabellingError as error:
        return str(error)
    return checked[0] if checked else "was read"


def _studio(folder: Path) -> str:
    from faultscape.formats.label_tools import label_studio

    return _first(label_studio, folder, "tasks.json")


def _coco(folder: Path) -> str:
    from faultscape.formats.label_tools import coco_masks

    return _first(coco_masks, folder, "tasks.json")


def _panoptic(folder: Path) -> str:
    from faultscape.formats.label_tools import coco_panoptic

    return _first(coco_panoptic, folder, "tasks.json")


def _said(folder: Path) -> str:
    from faultscape.formats.label_tools import label_studio

    return label_studio.check(folder / "tasks.json")[0]


def _result(kind: str, value: Any, /, **more: Any) -> dict[str, Any]:
    return {
        "id": "a",
        "type": kind,
        "from_name": "label",
        "to_name": "image",
        "original_width": 8,
        "original_height": 6,
        "value": value | {kind: ["horse"]},
    } | more


def _tasks(*results: Any, **more: Any) -> str:
    return json.dumps(
        [
            {
                "id": 1,
                "data": {"image": "a.png"},
                "annotations": [{"id": 1, "completed_by": 1, "result": [*results]} | more],
            }
        ]
    )


def _box(more: dict[str, Any] | None = None, **around: Any) -> str:
    """A task whose one result is a box, with more in its value and around it."""
    return _tasks(_result("rectanglelabels", BOX | (more or {}), **around))


def _disc(side: int, **around: Any) -> dict[str, Any]:
    """An ellipse beyond all corners of a square image."""
    value = {"x": 50, "y": 50, "radiusX": 90, "radiusY": 90}
    return _result("ellipselabels", value, original_width=side, original_height=side, **around)


def _png(size: tuple[int, int], *, colour: int = 6) -> bytes:
    """A PNG of (width, height) that unpacks to as many zeros, as small as can be."""
    width, height = size
    channels = {0: 1, 6: 4, 2: 3}[colour]
    packer = zlib.compressobj(9)
    rows = height if width * height <= 1 << 26 else 1  # of more it is the head that counts
    data = b"".join([*(packer.compress(bytes(1 + width * channels)) for _ in range(rows)), packer.flush()])

    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((8, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def _bitmask(size: tuple[int, int], declared: tuple[int, int]) -> str:
    width, height = declared
    return _url(base64.b64encode(_png(size)).decode(), original_width=width, original_height=height)


def _url(text: str, **around: Any) -> str:
    value = {"imageDataURL": f"data:image/png;base64,{text}"}
    return _tasks(_result("bitmasklabels", value, **around))


def _rle(values: int, tail: bytes = b"") -> list[int]:
    """The head of runs of so many values, and what follows it."""
    head = (values << 21 | 7 << 16 | 0x237F) << 3
    return [*head.to_bytes(7, "big"), *tail]


def _whole(side: int) -> list[int]:
    """Runs that paint all of a square image: each of 65,536 values, 27 bits long."""
    values, bits = 4 * side * side, 53
    number = values << 21 | 7 << 16 | 0x237F
    text = [f"{number:053b}"]
    while values:
        piece = min(values, 65_536)
        text.append(f"111{piece - 1:016b}{255:08b}")
        values, bits = values - piece, bits + 27
    joined = "".join(text)
    joined += "0" * (-len(joined) % 8)
    return [*int(joined, 2).to_bytes(len(joined) // 8, "big")]


def _brush(rle: list[int] | Any, side: int = 0, times: int = 1) -> str:
    size = {"original_width": side, "original_height": side} if side else {}
    one = json.dumps(_result("brushlabels", {"format": "rle", "rle": rle}, **size))
    return (
        '[{"id": 1, "data": {"image": "a.png"}, "annotations": [{"result": ['
        + ",".join([one] * times)
        + "]}]}]"
    )


def _of_studio(name: str, text: str | Callable[[], str], says: str) -> Case:
    return Case(f"label studio: {name}", partial(_write, text), _studio, says)


BOX = {"x": 0, "y": 0, "width": 50, "height": 50}
STUDIO = (
    _of_studio("lists within lists", DEEP, r"tasks\.json: is not a Label Studio JSON file"),
    _of_studio(
        "three million lists",
        lambda: "[" + "[]," * 3_000_000 + "[]]",
        r"holds about 3,000,000 values in 3,000,002 lists",
    ),
    _of_studio(
        "sixty million numbers", lambda: "[" + "1," * 60_000_000 + "1]", r"holds about 60,000,000 values"
    ),
    _of_studio(
        "a number of 5,000 digits",
        '[{"data": {}, "id": 1' + "0" * 5000 + "}]",
        r"is not a Label Studio JSON file",
    ),
    _of_studio("a coordinate of 10**400", _box({"x": 10**400}), "result 0: x must be a finite number"),
    _of_studio("an infinite width", _box({"width": float("inf")}), "width must be a finite number; got inf"),
    _of_studio(
        "a radius that is none",
        _tasks(_result("ellipselabels", {"x": 1, "y": 1, "radiusX": float("nan"), "radiusY": 1})),
        "radiusX must be a finite number; got nan",
    ),
    _of_studio(
        "an image of 10^12 pixels",
        _box(original_width=10**6, original_height=10**6),
        "must be those of an image of at most",
    ),
    _of_studio(
        "an image of -5 pixels",
        _box(original_width=-5),
        "must be those of an image|needs original_width",
    ),
    _of_studio(
        "a size that is a list",
        _box(original_width=[8]),
        "must be those of an image|needs original_width",
    ),
    _of_studio("a type that is a list", _box(type=["a"]), "result 0: has no type; use brush"),
    _of_studio(
        "an id that is a list",
        _tasks(_result("rectangle", BOX, id=[1], value=BOX)),
        "result 0: has no label",
    ),
    _of_studio(
        "a label of a million letters",
        _box(value=BOX | {"rectanglelabels": ["x" * 1_000_000]}),
        "result 0: 'x{80}' is not a class",
    ),
    _of_studio(
        "a polygon that takes minutes",
        lambda: _tasks(
            _result(
                "polygonlabels",
                {"points": [[0, -9e4], [1, 9e4]] * 50_000},
                original_width=10_000,
                original_height=10_000,
            )
        ),
        "would take too long",
    ),
    _of_studio(
        "ten thousand ellipses on the largest image",
        lambda: _tasks(*[_disc(SIZE, id=str(k)) for k in range(10_000)]),
        "painting its 10,000 masks would take about",
    ),
    _of_studio("one ellipse on the largest image", _tasks(_disc(SIZE)), "^was read$"),
    _of_studio("runs that are words", _brush(["a"]), "its runs must be bytes|no 7-byte head"),
    _of_studio("runs below 0", _brush([0, 0, 0, 192, 57, 27, 249, -1]), "whole numbers from 0 to 255"),
    _of_studio("runs of 10**30", _brush([0, 0, 0, 192, 57, 27, 249, 10**30]), "whole numbers from 0 to 255"),
    _of_studio(
        "runs of another image",
        partial(_brush, _rle(4 * 999)),
        "have 3,996 values; an image of 48 pixels has 192",
    ),
    _of_studio("runs without a block", partial(_brush, _rle(192)), "end before the last pixel"),
    _of_studio("runs beyond the image", lambda: _brush(_rle(192, b"\xff" * 40)), "go beyond the last pixel"),
    _of_studio(
        "a million runs of a small image",
        lambda: _brush([0] * 1_000_000),
        "its runs take 1,000,000 bytes, more than a mask of 48 pixels can",
    ),
    smaller(
        _of_studio(
            "a million bytes of single values",
            lambda: _brush(_rle(4 * 2500**2, bytes(1_000_000)), 2500),
            "end before the last pixel",
        ),
        4,
        "formats.label_tools.studio.brush.MOST_BYTES",
    ),
    _of_studio("a mask of the largest image", lambda: _brush(_whole(SIZE), SIZE), "^was read$"),
    _of_studio(
        "fifty masks of the largest image",
        lambda: _brush(_whole(SIZE), SIZE, 50),
        "painting its 50 masks would take about",
    ),
    _of_studio("base64 that is none", _url("%" * 100), "not a PNG in base64"),
    _of_studio("base64 beyond ASCII", _url("图图"), "not a PNG in base64"),
    _of_studio(
        "a PNG that says 10^10 pixels",
        lambda: _bitmask((100_000, 1), (8, 6)),
        "its mask is 100000 x 1 pixels, its image 8 x 6",
    ),
    _of_studio(
        "a PNG of the largest image",
        lambda: _bitmask((SIZE, SIZE), (SIZE, SIZE)),
        "masks of more than 67,108,864 pixels",
    ),
    smaller(
        _of_studio("a PNG that unpacks to 67 MB", lambda: _bitmask((4096, 4096), (4096, 4096)), "^was read$"),
        4,
        "formats.label_tools.studio.shapes.MOST_MASK_PIXELS",
    ),
    _of_studio(
        "a PostScript file as mask",
        _url(base64.b64encode(b"%!PS-Adobe-3.0 EPSF-3.0\n").decode()),
        "not a readable image",
    ),
    Case(
        "label studio: entities within entities",
        lambda folder: (
            _write(_tasks(), folder),
            _write(
                '<!DOCTYPE a [<!ENTITY x "'
                + "y" * 1000
                + '"><!ENTITY z "'
                + "&x;" * 1000
                + '">]><View>&z;</View>',
                folder,
                "label_config.xml",
            ),
        ),
        _said,
        r"label_config\.xml: has a DOCTYPE",
    ),
    Case(
        "label studio: a configuration of tags within tags",
        lambda folder: (
            _write(_tasks(_result("brushlabels", {"rle": []})), folder),
            _write("<a>" * 500_000, folder, "label_config.xml"),
        ),
        _said,
        r"label_config\.xml: is not XML",
    ),
)


def _instances(segmentation: Any, times: int = 1, *, side: int = 64, **changed: Any) -> str:
    row = json.dumps({"id": 1, "image_id": 1, "category_id": 1, "segmentation": segmentation})
    head = {
        "images": [{"id": 1, "file_name": "a.png", "width": side, "height": side}],
        "categories": [{"id": 1, "name": "horse"}],
    } | changed
    return json.dumps(head)[:-1] + ', "annotations": [' + ",".join([row] * times) + "]}"


def _of_coco(name: str, text: str | Callable[[], str], says: str) -> Case:
    return Case(f"coco masks: {name}", partial(_write, text), _coco, says)


COCO = (
    _of_coco("lists within lists", DEEP, "is not a COCO file"),
    _of_coco(
        "three million lists", lambda: '{"a": [' + "[]," * 3_000_000 + "[]]}", "holds about 3,000,000 values"
    ),
    _of_coco(
        "an image of 10^12 pixels",
        _instances({"size": [10**6, 10**6], "counts": [10**12]}, side=10**6),
        "must be those of an image of at most",
    ),
    _of_coco(
        "run lengths of more pixels than the image has",
        _instances({"size": [64, 64], "counts": [0, 178956970, 178956970]}),
        "cover 357,913,940 pixels",
    ),
    _of_coco(
        "run lengths below 0",
        _instances({"size": [64, 64], "counts": [-1, 4097]}),
        "whole numbers, 0 or more",
    ),
    _of_coco(
        "a text of run lengths without end",
        _instances({"size": [64, 64], "counts": "o" * 10_000_000}),
        "damaged: the text is not in",
    ),
    _of_coco(
        "a thousand masks of the largest image",
        lambda: _instances({"size": [SIZE, SIZE], "counts": [0, SIZE * SIZE]}, 1000, side=SIZE),
        "painting its 1,000 masks would take about",
    ),
    _of_coco(
        "one mask of the largest image",
        lambda: _instances({"size": [SIZE, SIZE], "counts": [0, SIZE * SIZE]}, side=SIZE),
        "not found beside it",
    ),
    _of_coco(
        "a polygon of a million edges",
        lambda: _instances([[0, 0, 9, 64] * 250_000 + [0, 64]]),
        "would take too long",
    ),
    _of_coco(
        "two thousand polygons that take a minute together",
        lambda: _instances([[0, 0, 9, 2000] * 50 + [0, 64]], 2000, side=2000),
        "painting its 2,000 masks would take about",
    ),
    _of_coco(
        "a polygon of numbers that are none",
        _instances([[float("nan"), 0, 1, 1, 2, float("inf")]]),
        "finite numbers",
    ),
    _of_coco(
        "a photo elsewhere",
        _instances(
            [[0, 0, 9, 0, 9, 9]], images=[{"id": 1, "file_name": "/etc/passwd", "width": 9, "height": 9}]
        ),
        "leads out of its folder",
    ),
    _of_coco(
        "a photo with a null in its name",
        _instances([[0, 0, 9, 0, 9, 9]], images=[{"id": 1, "file_name": "a\0.png", "width": 9, "height": 9}]),
        "leads out of its folder",
    ),
    _of_coco(
        "a category that is a list",
        _instances([[0, 0, 9, 0, 9, 9]], categories=[{"id": [1], "name": "horse"}]),
        "needs id, a whole number",
    ),
)


def _segments(
    size: tuple[int, int],
    infos: Any,
    folder: Path,
    *,
    declared: tuple[int, int] | None = None,
    name: str = "a.png",
    pixels: bytes | None = None,
) -> None:
    width, height = declared or size
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": width, "height": height}],
        "annotations": [{"image_id": 1, "file_name": name, "segments_info": infos}],
        "categories": [{"id": 1, "name": "horse"}],
    }
    _write(json.dumps(document), folder)
    (folder / "a.png").write_bytes(_png(size, colour=2) if pixels is None else pixels)


def _of_panoptic(name: str, write: Callable[[Path], object], says: str) -> Case:
    return Case(f"coco panoptic: {name}", write, _panoptic, says)


def _every_number(folder: Path) -> None:
    """Four million segments of one pixel each."""
    import io

    import numpy as np
    from PIL import Image

    numbers = np.arange(1, 1 + 2048 * 2048, dtype=np.uint32).reshape(2048, 2048)
    out = io.BytesIO()
    Image.fromarray(np.stack([numbers >> up & 255 for up in (0, 8, 16)], 2).astype(np.uint8)).save(
        out, "PNG", compress_level=1
    )
    _segments((2048, 2048), [], folder, pixels=out.getvalue())
    (folder / "a.jpg").write_bytes(_png((2048, 2048), colour=0))


def _looked_through(folder: Path) -> str:
    from faultscape.formats.label_tools import coco_panoptic

    return coco_panoptic.check(folder / "tasks.json")[-1]


PANOPTIC = (
    _of_panoptic("lists within lists", partial(_write, DEEP), "is not a COCO panoptic file"),
    _of_panoptic(
        "a PNG of 10^10 pixels",
        partial(_segments, (100_000, 100_000), []),
        "must be those of an image of at most",
    ),
    _of_panoptic(
        "a PNG of 10^10 pixels that is called small",
        partial(_segments, (100_000, 100_000), [], declared=(9, 9)),
        "more than",
    ),
    _of_panoptic(
        "a PNG of the largest image", partial(_segments, (SIZE, SIZE), []), "has more than 67,108,864 pixels"
    ),
    smaller(
        _of_panoptic(
            "a PNG that unpacks to 50 MB", partial(_segments, (4096, 4096), []), "not found beside it or in"
        ),
        4,
        "formats.label_tools.coco_panoptic.MOST_MASK_PIXELS",
    ),
    _of_panoptic(
        "a PNG elsewhere", partial(_segments, (9, 9), [], name="../../a.png"), "is not a file in the folder"
    ),
    _of_panoptic(
        "a PNG that ends early",
        partial(_segments, (9, 9), [], pixels=_png((9, 9), colour=2)[:40]),
        r"a\.png: ",
    ),
    _of_panoptic(
        "a segment of 10**30",
        partial(_segments, (9, 9), [{"id": 10**30, "category_id": 1}]),
        "needs an id from 1 to",
    ),
    _of_panoptic("a segment that is a list", partial(_segments, (9, 9), [[1]]), "needs an id from 1 to"),
    _of_panoptic(
        "segments that are words", partial(_segments, (9, 9), "words"), "has no list `segments_info`"
    ),
    _of_panoptic(
        "four million segments that are not listed", _every_number, r"holds the segment 1 at column 0, row 0"
    ),
    Case(
        "coco panoptic: four million segments, looked through",
        _every_number,
        _looked_through,
        "holds 4,194,304 segments; at most 100,000",
    ),
)


CASES: tuple[Case, ...] = (*STUDIO, *COCO, *PANOPTIC)
