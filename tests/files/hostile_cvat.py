"""Hostile files of CVAT: XML that grows or never ends, zips that are more than they seem, JSON that is none.
Each must be refused in one line, soon and in bounded memory.

Conventions: those of hostile_cases; a case is read by the functions of the format alone, first as a whole and
then image by image.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hostile_cases import Case, smaller


def _read(module: str, folder: Path) -> str:
    """Read the one file of a folder, and look it through; return the first refusal."""
    import importlib

    from faultscape.errors import LabellingError
    from faultscape.nouns import Classes

    form = importlib.import_module(f"faultscape.formats.label_tools.{module}")
    classes = Classes(("road", "car"), (1, 2), ((1, 1, 1), (2, 2, 2)), void=(255,))
    path = folder / "labelmap.txt" if (folder / "labelmap.txt").exists() else next(folder.iterdir())
    form.recognise(path)
    form.check(path)
    try:
        for label in form.read(path):
            label.read(classes)
    except LabellingError as error:
        return str(error)
    raise AssertionError("nothing was refused")


# XML


def _xml(text: str | bytes, folder: Path, *, encoding: str = "utf-8") -> None:
    (folder / "a.xml").write_bytes(text if isinstance(text, bytes) else text.encode(encoding))


def _image(shapes: str, size: str = 'width="64" height="48"', name: str = "a.jpg") -> str:
    return (
        f'<annotations><version>1.1</version><image id="0" name="{name}"'
        f" {size}>{shapes}</image></annotations>"
    )


def _mask(rle: str, left: object = 0, top: int = 0, width: int = 2, height: int = 2) -> str:
    box = f'left="{left}" top="{top}" width="{width}" height="{height}"'
    return _image(f'<mask label="car" rle="{rle}" {box} z_order="0"/>')


def _polygon(points: str, times: int = 1, side: int = 64) -> str:
    return _image(f'<polygon label="car" points="{points}"/>' * times, _size(side))


def _size(side: object) -> str:
    return f'width="{side}" height="{side}"'


_OPEN = b'<annotations><image id="0" name="a" width="9" height="9">'


def _long(
    piece: bytes,
    times: int,
    folder: Path,
    head: bytes = b"<annotations><version>1.1</version>",
    tail: bytes = b"</annotations>",
) -> None:
    """Write a file of some pieces over and over, a block at a time."""
    block = piece * max((1 << 20) // len(piece), 1)
    with (folder / "a.xml").open("wb") as file:
        file.write(head)
        for _ in range(times * len(piece) // len(block) + 1):
            file.write(block)
        file.write(tail)


def _of_xml(
    name: str,
    text: str | bytes | Callable[[Path], object],
    says: str,
    *,
    limit: str = "",
    part: int = 10,
    **more: Any,
) -> Case:
    """A case, of which one ``part`` is tried where a ``limit`` of many is meant."""
    write = text if callable(text) else partial(_xml, text, **more)
    case = Case(f"CVAT for images: {name}", write, partial(_read, "cvat_images"), rf"a\.xml.*{says}")
    return smaller(case, part, f"formats.label_tools.{limit}") if limit else case


_LAUGHS = (
    '<!DOCTYPE a [<!ENTITY a "'
    + "ha" * 50
    + '">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcdefg", "bcdefgh", strict=True))
    + "]>"
)
_TYPE = "has a document type"

XML = (
    _of_xml("entities that grow", f"<?xml version='1.0'?>{_LAUGHS}{_image('&h;')}", _TYPE),
    _of_xml(
        "entities that grow in UTF-16",
        f"<?xml version='1.0' encoding='utf-16'?>{_LAUGHS}{_image('&h;')}",
        _TYPE,
        encoding="utf-16",
    ),
    _of_xml(
        "an entity that lies elsewhere",
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>{_image("", name="&x;")}',
        _TYPE,
    ),
    _of_xml(
        "a document type that lies elsewhere",
        f'<!DOCTYPE a SYSTEM "http://localhost/a.dtd">{_image("")}',
        _TYPE,
    ),
    _of_xml("an entity that nobody names", _image("", name="&x;"), "is not valid XML: undefined entity"),
    _of_xml("nothing", b"", "is not valid XML"),
    _of_xml("half a file", _image("")[:70], "is not valid XML: unclosed token|no element found"),
    _of_xml("bytes that are not text", b"<annotations>\xff\xfe\xfd</annotations>", "is not valid XML"),
    _of_xml(
        "an encoding that nobody knows",
        b"<?xml version='1.0' encoding='x-none'?><annotations/>",
        "is not valid XML",
    ),
    _of_xml(
        "an encoding of many bytes a letter",
        b"<?xml version='1.0' encoding='utf-7'?><annotations/>",
        "is not valid XML",
    ),
    _of_xml("another root", "<svg/>", "is not a CVAT file: it begins with <svg>"),
    _of_xml("elements within elements", partial(_long, b"<a>", 3_000_000), "are nested more than 32 deep"),
    _of_xml(
        "one attribute of 100 MB",
        partial(
            _long,
            b"1, ",
            35_000_000,
            head=_OPEN + b'<mask rle="',
        ),
        "one element has more than",
    ),
    _of_xml(
        "20,000 images",
        partial(_long, b'<image id="0" name="a" width="9" height="9"/>', 20_000),
        "has more than 10,000 images",
        limit="cvat_images.MOST_IMAGES",
    ),
    _of_xml(
        "a hundred thousand shapes",
        partial(
            _long,
            b'<mask label="a"/>',
            100_000,
            head=_OPEN,
        ),
        "has more than 50,000 shapes",
        limit="cvat_images.MOST_SHAPES",
    ),
    _of_xml(
        "shapes of 20 MB in all",
        partial(
            _long,
            b'<mask rle="' + b"1, " * 10_000 + b'"/>',
            700,
            head=_OPEN,
        ),
        "take more than 13,421,772 characters",
        limit="cvat_images.MOST_HELD",
    ),
    _of_xml(
        "600 MB",
        lambda folder: (folder / "a.xml").open("wb").truncate(600 << 20),
        "has 629,145,600 bytes; at most",
    ),
    _of_xml(
        "100,000 labels",
        partial(_long, b"<label><name>a</name></label>", 100_000, head=b"<annotations><meta><task><labels>"),
        "names more than 65,536 labels",
    ),
    _of_xml("an image of 10**9 x 10**9", _image("", _size(10**9)), "must be valid whole numbers"),
    _of_xml("an image of 99999 x 99999", _image("", _size(99999)), "must be valid whole numbers"),
    _of_xml(
        "a width that is not finite", _image("", 'width="inf" height="nan"'), "must be valid whole numbers"
    ),
    _of_xml("a width of other digits", _image("", _size("٣")), "must be valid whole numbers"),
    _of_xml(
        "an image without a name",
        '<annotations><image id="0" width="9" height="9"/></annotations>',
        "image 0 of the file has no name",
    ),
    _of_xml("a name with lines", _image("", name="a&#10;b", size=""), r"image 'a\\nb': its width"),
    _of_xml("a label with lines", _image('<mask label="a&#10;b"/>'), r"'a\\nb' is not a class"),
    _of_xml("a label of 100,000 letters", _image(f'<mask label="{"x" * 100_000}"/>'), "is not a class"),
    _of_xml(
        "20,000 shapes of an image",
        partial(
            _long,
            b'<mask label="car"/>',
            20_000,
            head=_OPEN,
            tail=b"</image></annotations>",
        ),
        "shapes; at most 10,000 are read",
        limit="cvat_shapes.MOST",
    ),
    _of_xml("a negative run", _mask("5, -1"), "must be a list of run lengths"),
    _of_xml("a run of 10**18", _mask("0, 1000000000000000000"), "must be a list of run lengths"),
    _of_xml(
        "runs beyond the box",
        _mask("0, 999999999, 999999999"),
        "add up to 1,999,999,998 pixels, but its box of 2 x 2 has 4",
    ),
    _of_xml("runs that are not finite", _mask("nan, inf"), "must be a list of run lengths"),
    _of_xml("a million runs of nothing", _mask("0, " * 1_000_000 + "4"), "must be a list of run lengths"),
    _of_xml("commas alone", _mask("," * 40), "must be a list of run lengths"),
    _of_xml("no runs", _mask(""), "must be a list of run lengths"),
    _of_xml(
        "a box of 10**9 x 10**9",
        _mask("0", width=999999999, height=999999999),
        "its box of 999999999 x 999999999 pixels is empty",
    ),
    _of_xml("a box of no pixels", _mask("0", width=0, height=-3), "its box of 0 x -3 pixels is empty"),
    _of_xml("a box beside the image", _mask("0, 4", left=-1, top=47), "extends beyond the image"),
    _of_xml("a box of fractions", _mask("0, 4", left=0.5), "its left must be a whole number"),
    _of_xml(
        "a z_order of 10**30",
        _image(f'<box label="car" xtl="0" ytl="0" xbr="1" ybr="1" z_order="1{"0" * 30}"/>'),
        "its z_order must be a whole number",
    ),
    _of_xml("a corner of 10**300", _polygon("1,1;2,2;1e300,3"), "a polygon needs three or more points"),
    _of_xml("a corner of 10**11", _polygon("1,1;2,2;100000000000,3"), "outside any possible image"),
    _of_xml("a corner that is not finite", _polygon("1,1;2,2;nan,3"), "a polygon needs three or more points"),
    _of_xml("corners with a part missing", _polygon("1,1;2;2,1,3,3"), "a polygon needs three or more points"),
    _of_xml(
        "a million corners, then a letter",
        _polygon("1.0,1.0;" * 1_000_000 + "x"),
        "a polygon needs three or more points",
    ),
    _of_xml(
        "an ellipse of radius 0",
        _image('<ellipse label="car" cx="1" cy="1" rx="0" ry="-1"/>'),
        "the radii of an ellipse must be above 0",
    ),
    _of_xml(
        "an ellipse that is not finite",
        _image('<ellipse label="car" cx="nan" cy="1" rx="1" ry="1"/>'),
        "its cx must be a finite number",
    ),
    _of_xml(
        "a box turned by 10**400 degrees",
        _image(f'<box label="car" xtl="0" ytl="0" xbr="1" ybr="1" rotation="{"9" * 400}"/>'),
        "its rotation must be a finite number",
    ),
    _of_xml(
        "polygons that take minutes",
        _polygon("0,0;9000,0;9000,9000;0,9000", times=3000, side=9000),
        "its image would take about .* s, and the limit is 20 s",
    ),
    _of_xml(
        "one polygon that crosses a million rows",
        _polygon("0,0;9000,9000;" * 100_000 + "1,1", side=9000),
        "would take about|would take too long",
    ),
    _of_xml(
        "a shape within a shape",
        _image('<skeleton label="car"><mask label="car" rle="x"/></skeleton><mask label="car" rle="y"/>'),
        "shape 1: its left must be a whole number",
    ),
)

# Zips

_MAP = "background:0,0,0::\nroad:1,0,0::\n"


def _png(width: int, height: int, rows: bytes = b"") -> bytes:
    """A PNG of three colours whose header says what it likes."""
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def _zip(
    files: dict[str, bytes | str],
    folder: Path,
    *,
    change: Callable[[bytes], bytes] = bytes,
    method: int = zipfile.ZIP_DEFLATED,
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in ({"labelmap.txt": _MAP} | files).items():
            archive.writestr(zipfile.ZipInfo(name) if method == zipfile.ZIP_STORED else name, data)
    (folder / "a.zip").write_bytes(change(out.getvalue()))


def _twice(folder: Path) -> None:
    _zip(
        {"SegmentationClass/a.png": b"1", "SegmentationClass/b.png": b"2"},
        folder,
        change=lambda data: data.replace(b"b.png", b"a.png"),
    )


def _in_list(data: bytes, at: int, value: bytes) -> bytes:
    """Change bytes of the first file in a zip's list, and of its own head."""
    place = data.index(b"PK\x01\x02") + at
    return data[:place] + value + data[place + len(value) :]


def _many(count: int, folder: Path) -> None:
    """A zip of many empty files, whose end is that of ZIP64; packed here, since zipfile takes seconds."""
    heads, listed, at = list[bytes](), list[bytes](), 0
    for number in range(count):
        name = b"SegmentationClass/%d.png" % number
        same = struct.pack("<5H3L2H", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0)
        heads.append(b"PK\x03\x04" + same + name)
        listed.append(b"PK\x01\x02\x14\0" + same + struct.pack("<3H2L", 0, 0, 0, 0, at) + name)
        at += len(heads[-1])
    size = sum(map(len, listed))
    end = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, count, count, size, at)
    end += b"PK\x06\x07" + struct.pack("<LQL", 0, at + size, 1)
    end += b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, size, at, 0)
    (folder / "a.zip").write_bytes(b"".join([*heads, *listed, end]))


def _more_than_claimed(count: int, folder: Path) -> None:
    """A zip whose end claims two files, and whose list names many."""
    files = {"labelmap.txt": _MAP, "SegmentationClass/a.png": b""}
    _zip(files, folder, method=zipfile.ZIP_STORED)
    data = (folder / "a.zip").read_bytes()
    listed, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    more = data[listed:end] * (count - 2)
    size = end - data.index(b"PK\x01\x02") + len(more)
    end_now = data[end : end + 12] + struct.pack("<L", size) + data[end + 16 :]
    (folder / "a.zip").write_bytes(data[:end] + more + end_now)


def _bomb(folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("labelmap.txt", _MAP)
        with archive.open("SegmentationClass/a.png", "w") as file:
            for _ in range(128):
                file.write(bytes(1 << 20))


def _folder_of(files: dict[str, bytes | str], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def _of_zip(
    name: str, files: dict[str, bytes | str] | Callable[[Path], object], says: str, **more: Any
) -> Case:
    write = files if callable(files) else partial(_zip, files, **more)
    return Case(f"CVAT's masks: {name}", write, partial(_read, "cvat_masks"), says)


_A = "SegmentationClass/a.png"
ZIPS = (
    _of_zip(
        "half a zip",
        lambda folder: (
            _zip({_A: b"x" * 5000}, folder),
            (folder / "a.zip").write_bytes((folder / "a.zip").read_bytes()[:100]),
        ),
        "is not a zip file, or is truncated",
    ),
    _of_zip(
        "a zip of nothing",
        lambda folder: (folder / "a.zip").write_bytes(b"PK\x03\x04"),
        "is not a zip file, or is truncated",
    ),
    _of_zip(
        "a list of files that is none",
        {_A: b"x"},
        r"a\.zip: ",
        change=lambda data: data.replace(b"PK\x01\x02", b"PK\x09\x09"),
    ),
    _of_zip(
        "a list of files of 4 GB",
        {},
        "the most that is read",
        change=lambda data: data[:-10] + b"\xf0\xff\xff\xff" + data[-6:],
    ),
    _of_zip("70,000 files", partial(_many, 70_000), "the most that is read"),
    _of_zip("70,000 files where 2 are claimed", partial(_more_than_claimed, 70_000), "the most that is read"),
    _of_zip("128 MB of zeros", _bomb, "would unpack to 134,217,7.. bytes, too many for a zip of images"),
    _of_zip(
        "a file that is larger than it says",
        {_A: bytes(1 << 20)},
        r"a\.zip: .*a\.png",
        change=lambda data: data.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 9)),
    ),
    _of_zip("a name that leaves the folder", {"../a.png": b"x"}, r"'\.\./a\.png' leads out of the folder"),
    _of_zip("a name from the root", {"/etc/a.png": b"x"}, "'/etc/a.png' leads out of the folder"),
    _of_zip("a name of Windows that leaves the folder", {r"..\a.png": b"x"}, "leads out of the folder"),
    _of_zip("a name on a drive", {"C:/a.png": b"x"}, "'C:/a.png' leads out of the folder"),
    _of_zip("a name twice", _twice, f"holds '{_A}' twice"),
    _of_zip(
        "a password",
        {},
        "'labelmap.txt' is password-protected",
        change=lambda data: _in_list(data, 8, b"\x01"),
    ),
    _of_zip("LZMA", {}, "uses an unsupported compression", method=zipfile.ZIP_LZMA),
    _of_zip("BZIP2", {}, "uses an unsupported compression", method=zipfile.ZIP_BZIP2),
    _of_zip(
        "a damaged file",
        {_A: b"x" * 3000},
        r"labelmap\.txt",
        change=lambda data: data[:60] + bytes(b ^ 85 for b in data[60:64]) + data[64:],
        method=zipfile.ZIP_STORED,
    ),
    _of_zip(
        "no labelmap",
        lambda folder: zipfile.ZipFile(folder / "a.zip", "w").close(),
        "does not hold labelmap.txt",
    ),
    _of_zip(
        "a labelmap of other letters", {"labelmap.txt": b"\xff\xfe\x00"}, "labelmap.txt is not text in UTF-8"
    ),
    _of_zip(
        "a labelmap of 20 MB",
        {"labelmap.txt": b"# " + bytes(range(32, 127)) * 220_000},
        r"'labelmap\.txt' has .* bytes; at most|would unpack",
        method=zipfile.ZIP_STORED,
    ),
    _of_zip(
        "100,000 labels",
        {"labelmap.txt": "".join(f"l{k}:::\n" for k in range(100_000))},
        "more than 65,536 labels",
    ),
    _of_zip("a colour of other digits", {"labelmap.txt": "a:٣,1,1::\n"}, "expected a colour, three numbers"),
    _of_zip(
        "a colour of 5,000 digits",
        {"labelmap.txt": f"a:{'1' * 5000},1,1::\n"},
        "expected a colour, three numbers",
    ),
    _of_zip(
        "a PNG of 4e9 x 4e9", {_A: _png(0xFFFFFFFF >> 1, 0xFFFFFFFF >> 1)}, r"a\.png: .*(pixels|large|bomb)"
    ),
    _of_zip("a PNG of 13,000 x 13,000 without pixels", {_A: _png(13_000, 13_000)}, r"a\.png: "),
    _of_zip("a PNG without pixels", {_A: _png(0, 0)}, r"a\.png: "),
    _of_zip(
        "a JPEG called a PNG", {_A: b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xd9"}, r"a\.png: "
    ),
    _of_zip(
        "PostScript called a PNG",
        {_A: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nquit\n"},
        r"a\.png: ",
    ),
    _of_zip(
        "a folder with a mask that is a text",
        partial(_folder_of, {"labelmap.txt": _MAP, _A: "text"}),
        r"SegmentationClass/a\.png: it is not a readable image",
    ),
    _of_zip(
        "a folder with a mask that is a folder",
        partial(_folder_of, {"labelmap.txt": "a:b", f"{_A}/b.png": "x"}),
        "labelmap.txt, line 1: has 2 fields",
    ),
)

CASES = (*XML, *ZIPS)
