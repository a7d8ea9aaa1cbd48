"""One catalogue of hostile files: what each writes, how it is read, and what must be said of it. Whoever
reads a new format adds its cases here.

Conventions: a case writes into an empty folder of its own and reads what it wrote as a user's line does
(`refused_text`, `failure`, `refused`); what it returns is what a person is told: one line.
tests/laws/test_hostile_files.py runs every case: this file, run as a program, is the one process in which
they all run, with bounded memory and processor time. A case that dies, or does not end, takes the process
with it; the rest go on in another.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

from refusals import refused, refused_text, told

MEMORY = 768 << 20  # bytes that a case may allocate
SECONDS, LEAST = 10, 5  # of the processor that a case may use, and that a part of a case may at least


@dataclass(frozen=True)
class Case:
    """``write`` fills an empty folder, ``read`` reads it and returns what a person is told, in which ``says``
    must be found (a regular expression). Of memory and of time it has one ``part``.
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], str]
    says: str
    part: int = 1


@dataclass(frozen=True)
class Told:
    """What came of a case: the text that a person is told, or what was raised in its place."""

    text: str
    raised: str = ""


def smaller(case: Case, part: int, *limits: str) -> Case:
    """Return a case that is tried with one ``part`` of limits, each MODULE.NAME of the package, and of memory
    and time with it: what is right of a small file under small limits is right of a large one.
    """
    return replace(case, read=partial(_smaller, case.read, part, limits), part=part)


def _smaller(read: Callable[[Path], str], part: int, limits: Iterable[str], folder: Path) -> str:
    with contextlib.ExitStack() as patched:
        for module, _, name in (limit.rpartition(".") for limit in limits):
            where = importlib.import_module(f"faultscape.{module}")
            patched.enter_context(mock.patch.object(where, name, getattr(where, name) // part))
        return read(folder)


def failure(study: Path, image: str) -> str:
    """Return why an image could not be used, as failures.csv of a study says."""
    from faultscape.study.tables.logs import read_failures

    (reason,) = [row.reason for row in read_failures(study) if row.image == image]
    return reason


@lru_cache(maxsize=1)
def _made() -> tuple[Any, Path]:
    """A small corpus, and a study of it with two models, pairs, a selection and a label."""
    import faultscape as fs
    import made

    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    corpus = made.corpus(root / "corpus", images=4, models=2)
    study = root / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study))
    made.write(root / "masks" / f"{corpus.ids[3]}.png", corpus.truths[3])
    fs.label.import_(str(study), str(root / "masks"))
    return corpus, study


def corpus() -> Any:
    """The images, maps and truths of `study`."""
    return _made()[0]


def study(folder: Path) -> Path:
    """Put a whole study into a folder, and return where it lies."""
    return Path(shutil.copytree(_made()[1], folder / "study"))


# LabelMe: shapes beside a good mask, which is taken in whatever they are


def _labelme(document: Any, folder: Path, *, encoding: str = "utf-8") -> None:
    import made

    study(folder)
    text = document if isinstance(document, str) else json.dumps(document)
    made.write(folder / "masks" / f"{corpus().ids[1]}.png", corpus().truths[1])
    (folder / "masks" / f"{corpus().ids[0]}.json").parent.mkdir(parents=True, exist_ok=True)
    (folder / "masks" / f"{corpus().ids[0]}.json").write_text(text, encoding=encoding)


def _imported(folder: Path) -> str:
    import faultscape as fs

    found = fs.label.import_(str(folder / "study"), str(folder / "masks"))
    assert (found.new, found.failures) == (1, 1), found
    return failure(folder / "study", corpus().ids[0])


def _shape(kind: Any, points: Any, **more: Any) -> dict[str, Any]:
    return _shapes({"label": "road", "shape_type": kind, "points": points, **more})


def _shapes(*shapes: Any) -> dict[str, Any]:
    return {"shapes": [*shapes], "imageWidth": 48, "imageHeight": 36}


def _of_labelme(name: str, document: Any, says: str) -> Case:
    return Case(f"labelme: {name}", partial(_labelme, document), _imported, rf"photo 000\.json.*{says}")


LABELME = (
    _of_labelme(
        "a circle of radius 9e6", _shape("circle", [[24, 18], [9e6, 18]]), "shape 0: a circle of radius"
    ),
    _of_labelme(
        "a shape_type that is a list", _shape(["polygon"], [[0, 0], [1, 1]]), "shape 0: .* is not known"
    ),
    _of_labelme(
        "a shape_type that is a table", _shape({"polygon": 1}, [[0, 0], [1, 1]]), "shape 0: .* is not known"
    ),
    _of_labelme(
        "a coordinate of 10**400",
        _shape("polygon", [[10**400, 0], [1, 1], [2, 2]]),
        "shape 0: .* finite numbers",
    ),
    _of_labelme(
        "a coordinate of 5,000 digits",
        '{"shapes": [{"points": [[1' + "0" * 5000 + ", 0]]}]}",
        "is not a LabelMe file",
    ),
    _of_labelme("points that are a number", _shape("polygon", 5), "shape 0: .* 2 or more points"),
    _of_labelme(
        "a mask that is a table",
        _shape("mask", [[0, 0], [9, 9]], mask={"a": 1}),
        "shape 0: its mask is not a PNG",
    ),
    _of_labelme("a label that is a list", _shapes({"label": ["road"]}), "shape 0: has no label"),
    _of_labelme(
        "a declared height of 13,000",
        _shape("polygon", [[0, 0], [9, 9]]) | {"imageWidth": 13_000, "imageHeight": 13_000},
        "is 13000 x 13000 pixels, its image 48 x 36",
    ),
    _of_labelme("200,000 shapes", _shapes(*[0] * 200_000), "200,000 shapes; at most"),
    _of_labelme(
        "lines that take minutes",
        _shapes(*_shape("polygon", [[-9e6, 0], [9e6, 0]])["shapes"] * 2000),
        "its 2,000 shapes would take",
    ),
    _of_labelme("lists within lists", '{"shapes": ' + "[" * 100_000, "is not a LabelMe file"),
)

# Images that Pillow opens


def _tiff(values: Any, folder: Path) -> None:
    import numpy as np

    import made_tiff

    made_tiff.write(folder / "image.tif", np.asarray(values))


def _collected(folder: Path) -> str:
    (image,) = folder.iterdir()
    return refused_text("collect", folder / "study", image, "--classes", "voc")


def _of_image(name: str, write: Callable[[Path], object], says: str) -> Case:
    return Case(f"image: {name}", write, _collected, says)


IMAGES = (
    _of_image(
        "PostScript called a PNG",
        lambda folder: (folder / "image.png").write_bytes(
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nquit\n"
        ),
        "EPS is a vector format",
    ),
    _of_image(
        "floats that are not finite",
        partial(_tiff, [[0.5, float("nan")]]),
        "TIFF is damaged, or has 64-bit pixels",
    ),
    _of_image(
        "a TIFF that is its first bytes",
        lambda folder: (folder / "image.tif").write_bytes(b"II*\0\xff\xff\xff\xff"),
        "this TIFF is damaged",
    ),
    _of_image(
        "a TIFF of 4e9 x 4e9 pixels",
        lambda folder: (folder / "image.tif").write_bytes(
            b"II*\0\x08\0\0\0\x02\0"
            + b"".join(tag.to_bytes(2, "little") + b"\4\0\1\0\0\0\xff\xff\xff\xff" for tag in (256, 257))
            + bytes(4)
        ),
        "pixels, the most that is read|this TIFF is damaged",
    ),
)

# Networks: each is the smallest ONNX file with one thing wrong, shown to a study of images of 48 x 36

Nodes = list[Any]


def _network(
    nodes: Nodes,
    folder: Path,
    *,
    shape: Any = ("n", 3, "h", "w"),
    output: Any = None,
    weights: Any = (),
    said: Any = None,
) -> None:
    """Write a network from ``five``, an image's channels and two of them again, to ``out`` beside a study of
    five classes.
    """
    import onnx
    from onnx import TensorProto, helper

    study(folder)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    nodes = [_node("Gather", ["image", "twice"], ["five"], axis=1), *nodes]
    outputs = [output or helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
    model = helper.make_model(
        helper.make_graph(
            nodes, "g", [image], outputs, [*weights, _constant("twice", [0, 1, 2, 0, 1], "int64")]
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    for key, value in (said or {}).items():
        model.metadata_props.add(key=f"faultscape.{key}", value=value)
    onnx.save(model, folder / "net.onnx")


def _node(kind: str, inputs: list[str], outputs: list[str], **more: Any) -> Any:
    from onnx import helper

    return helper.make_node(kind, inputs, outputs, **more)


def _constant(name: str, values: Any, kind: str = "float32") -> Any:
    import numpy as np
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, kind), name)


def _info(kind: str) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info("out", getattr(TensorProto, kind), None)


def _sequence() -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_sequence_value_info("out", TensorProto.FLOAT, None)


def _of_one_node(kind: str, folder: Path, **more: Any) -> None:
    _network([_node(kind, ["five"], ["out"], **more)], folder)


def _plain(folder: Path, **more: Any) -> None:
    _network([_node("Identity", ["five"], ["out"])], folder, **more)


def _with_weights(named: int, size: int, folder: Path) -> None:
    """A network of five classes whose 15 weights lie in a file beside it, of which it names so many bytes and
    which has so many, nearly none of them on the disk.
    """
    from onnx import TensorProto, helper

    numbers = TensorProto(
        name="weights", data_type=TensorProto.FLOAT, dims=[5, 3, 1, 1], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", "net.bin"), ("offset", "0"), ("length", str(named))):
        numbers.external_data.add(key=key, value=value)
    _network(
        [_node("Conv", ["image", "weights"], ["out"])],
        folder,
        output=helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 5, "h", "w"]),
        weights=[numbers],
    )
    with (folder / "net.bin").open("wb") as file:
        file.truncate(size)


def _endless(folder: Path) -> None:
    """A loop of 10**15 turns."""
    from onnx import TensorProto, helper

    turn, go_on, before, after = (
        helper.make_tensor_value_info(n, k, s)
        for n, k, s in (
            ("turn", TensorProto.INT64, []),
            ("go", TensorProto.BOOL, []),
            ("before", TensorProto.FLOAT, None),
            ("after", TensorProto.FLOAT, None),
        )
    )
    went_on = helper.make_tensor_value_info("went", TensorProto.BOOL, [])
    body = helper.make_graph(
        [_node("Identity", ["go"], ["went"]), _node("Neg", ["before"], ["after"])],
        "body",
        [turn, go_on, before],
        [went_on, after],
    )
    nodes = [_node("Loop", ["turns", "yes", "five"], ["out"], body=body)]
    _network(nodes, folder, weights=[_constant("turns", 10**15, "int64"), _constant("yes", 1, "bool")])


def _long(folder: Path, *, known: bool) -> None:
    """One product of seconds, which nothing interrupts: before the first image where its numbers are
    ``known``, and at each where they come from the image.
    """
    size = [_constant("much", [3500, 3500], "int64")]
    one = _node("ConstantOfShape", ["much"], ["a"]) if known else _node("Expand", ["mean", "much"], ["a"])
    mean = [] if known else [_node("ReduceMean", ["five"], ["mean"], keepdims=0)]
    _network(
        [
            *mean,
            one,
            _node("MatMul", ["a", "a"], ["b"]),
            _node("ReduceSum", ["b"], ["sum"], keepdims=0),
            _node("Add", ["five", "sum"], ["out"]),
        ],
        folder,
        weights=size,
    )


def _huge(folder: Path) -> None:
    """16 TB of zeros in the middle."""
    nodes = [
        _node("ConstantOfShape", ["much"], ["zeros"]),
        _node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
        _node("Add", ["five", "sum"], ["out"]),
    ]
    _network(nodes, folder, weights=[_constant("much", [1 << 42], "int64")])


def _three_gigabytes(folder: Path) -> None:
    _plain(folder)
    with (folder / "net.onnx").open("r+b") as file:
        file.truncate(3 << 30)


def _predicted(folder: Path) -> str:
    from faultscape.prediction import bounds

    with mock.patch.object(bounds, "SECONDS", 0.3):
        return refused_text("predict", folder / "study", f"net={folder / 'net.onnx'}", "--engine", "local")


def _predicted_well(folder: Path) -> str:
    import faultscape as fs

    return repr(
        fs.predict(str(folder / "study"), {"net": str(folder / "net.onnx")}, engine="local")
    ).splitlines()[1]


def _of_network(name: str, write: Callable[[Path], object], says: str) -> Case:
    return Case(f"network: {name}", write, _predicted, says)


NETWORKS = (
    _of_network(
        "200 GB of sparse weights",
        partial(_with_weights, 200 * 10**9, 200 * 10**9),
        r"its weights take 200\.0 GB, and this machine has",
    ),
    Case(
        "network: 200 GB behind its weights",
        partial(_with_weights, 60, 200 * 10**9),
        _predicted_well,
        r"^  net +4 maps$",
    ),
    _of_network(
        "weights shorter than named",
        partial(_with_weights, 60, 40),
        r"its weights 'net\.bin' have 40 bytes, but 60 are expected",
    ),
    _of_network(
        "an ONNX file of 3 GB", _three_gigabytes, r"has 3,221,225,472 bytes; an ONNX file has at most"
    ),
    _of_network(
        "a scalar",
        partial(_of_one_node, "ReduceMean", keepdims=0),
        r"its output 'out' is float32 of shape \(\); expected numbers whose first axis is the 1 image",
    ),
    _of_network(
        "one answer an image",
        partial(_of_one_node, "GlobalAveragePool"),
        r"returns one answer for a whole image of 48 x 36, as a classifier does",
    ),
    _of_network(
        "an answer of two axes",
        lambda folder: _network(
            [_node("GlobalAveragePool", ["five"], ["a"]), _node("Flatten", ["a"], ["out"])], folder
        ),
        r"returned float32 of shape \(5,\); expected labels",
    ),
    _of_network(
        "a label an image",
        lambda folder: _network(
            [
                _node("ArgMax", ["five"], ["a"], axis=1),
                _node("ReduceMax", ["a"], ["out"], axes=[1, 2, 3], keepdims=0),
            ],
            folder,
            output=_info("INT64"),
        ),
        r"returned int64 of shape \(\); expected labels",
    ),
    _of_network(
        "words",
        lambda folder: _network([_node("Cast", ["five"], ["out"], to=8)], folder, output=_info("STRING")),
        "its output 'out' is object of shape",
    ),
    _of_network(
        "a list",
        lambda folder: _network([_node("SequenceConstruct", ["five"], ["out"])], folder, output=_sequence()),
        "its output 'out' is a list",
    ),
    _of_network(
        "no image",
        lambda folder: _network(
            [_node("Identity", ["five"], ["a"]), _node("Slice", ["a", "first", "last"], ["out"])],
            folder,
            weights=[_constant("first", [0], "int64"), _constant("last", [0], "int64")],
        ),
        r"of shape \(0, 5, 36, 48\); expected",
    ),
    _of_network(
        "an image of 10**6 x 10**6",
        partial(_plain, shape=[1, 3, 10**6, 10**6]),
        "cannot be resized to 1000000 x 1000000 pixels|fit into memory",
    ),
    _of_network(
        "a mean of lists within lists",
        partial(_plain, said={"mean": "[" * 100_000}),
        "its metadata faultscape.mean is not JSON",
    ),
    _of_network(
        "classes that are a number",
        partial(_plain, said={"classes": "5"}),
        "its classes are not a list of names: .5.",
    ),
    _of_network(
        "hours of folding before the first image", partial(_long, known=True), r"has not opened it within 0 s"
    ),
    _of_network(
        "one product that nothing interrupts",
        partial(_long, known=False),
        r"gave no answer within 0 s an image",
    ),
    _of_network("a loop of 10**15 turns", _endless, r"gave no answer within 0 s an image"),
    _of_network("16 TB of zeros", _huge, "memory|allocate|size overflow|failed"),
)


# Names: what files are called, in folders and in tables that a spreadsheet opens


def _named(names: list[str], folder: Path) -> None:
    """Write an image under each name, nothing under those that end in a blank, and one under a good name."""
    import numpy as np

    import made

    for name in [*names, "good.png"]:
        (folder / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "photos" / name.strip()).touch()
        if name == name.strip():
            made.write(folder / "made.png", np.zeros((9, 9, 3), np.uint8))
            (folder / "made.png").rename(folder / "photos" / name)


def _collected_names(folder: Path) -> list[str]:
    return told("collect", folder / "study", folder / "photos", "--classes", "voc")


def _shown(folder: Path) -> str:
    _collected_names(folder)
    return told("show", folder / "study")[2]


def _failure_line(folder: Path) -> str:
    (folder / "photos").rename(folder / "=photos")
    with contextlib.chdir(folder):
        told("collect", "study", "=photos", "--classes", "voc")
    assert failure(folder / "study", "=photos/x.png") == "it is not a readable image"
    return (folder / "study" / "failures.csv").read_text().splitlines()[1]


def _discarded_too(folder: Path) -> None:
    import made

    study(folder)
    made.write(folder / "masks" / f"{corpus().ids[1]}.png", corpus().truths[1])
    (folder / "masks" / "discard.csv").write_text(f"image,reason\n{corpus().ids[1]},blurred\n")


NAMES = (
    Case(
        "names: images in folders with a dot",
        partial(_named, [".a/b.png", ".a/.c/d.png"]),
        lambda folder: _collected_names(folder)[0],
        r"2 images lie in folders whose names begin with a dot, left out; .*the first: .*/\.a/b\.png$",
    ),
    Case(
        "names: nothing but dots",
        partial(_named, ["..png", ".jpg"]),
        lambda folder: _collected_names(folder)[0],
        r"2 files have no name before the ending and are left out; rename them; the first: .*/\.\.png$",
    ),
    Case(
        "names: what clears a terminal",
        partial(_named, ["\x1b[2J\x9b2J\u202e.png"]),
        _shown,
        r"^\\x1b\[2J\\x9b2J\\u202e ",
    ),
    Case("names: a formula", partial(_named, ["x.png "]), _failure_line, "^collect,main,'=photos/x.png,"),
    Case(
        "names: a label and a discard",
        _discarded_too,
        lambda folder: told("label", "import", folder / "study", folder / "masks")[0],
        r"^1 image has both a label and a discard: the discard counts, .*part1/photo 001$",
    ),
)


# Studies: one file of a whole study is damaged, and a verb reads it

DEEP = "[" * 100_000  # lists within lists


def _damaged(file: str, text: str, folder: Path) -> None:
    (study(folder) / file).write_text(text)


def _edited(file: str, before: str, after: str, folder: Path) -> None:
    path = study(folder) / file
    text = path.read_text()
    assert re.search(before, text)
    path.write_text(re.sub(before, after, text, count=1))


def _corpus_column(name: str, values: list[Any] | None, folder: Path) -> None:
    """Give a column of corpus.parquet other values, or take it away."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = study(folder) / "corpus.parquet"
    table = pq.read_table(path)
    place = table.column_names.index(name)
    table = table.remove_column(place)
    pq.write_table(table if values is None else table.add_column(place, name, pa.array(values)), path)


def _of_study(name: str, write: Callable[[Path], object], verb: str, says: str) -> Case:
    first, *rest = verb.split()
    return Case(f"study: {name}", write, lambda folder: refused_text(first, folder / "study", *rest), says)


def _of_column(name: str, column: str, values: list[Any] | None, verb: str, says: str) -> Case:
    write = partial(_corpus_column, column, values)
    return _of_study(name, write, verb, rf"corpus\.parquet is damaged \({says}\)")


STUDIES = (
    _of_study(
        "a manifest of lists within lists",
        partial(_damaged, "predictions/model-0/manifest.json", DEEP),
        "compare --engine local",
        r"model-0/manifest\.json is damaged; .*",
    ),
    _of_study(
        "a manifest that is a list",
        partial(_damaged, "predictions/model-0/manifest.json", "[]"),
        "select --engine local --as new",
        r"model-0/manifest\.json is damaged; .*",
    ),
    _of_study(
        "a sha256 that is not text",
        partial(_edited, "predictions/model-0/manifest.json", r'"sha256": "\w+"', '"sha256": 5'),
        "compare --engine local",
        r"model-0/manifest\.json is damaged; .*",
    ),
    _of_study(
        "a selection of lists within lists",
        partial(_damaged, "selection.json", DEEP),
        "rank --engine local",
        r"selection\.json is damaged: its lists are nested too deep",
    ),
    _of_study(
        "a selection without models",
        partial(_edited, "selection.json", r'"models": \[[^]]*\]', '"models": 5'),
        "rank --engine local",
        r"selection\.json is damaged: models, definition or drawn_from",
    ),
    _of_study(
        "a change that is a list",
        partial(_damaged, ".change.json", "[]"),
        "select --engine local",
        r"\.change\.json is damaged \(expected an object, \{\.\.\.\}; got \[\]\); put it back",
    ),
    _of_study(
        "a change of lists within lists",
        partial(_damaged, ".change.json", DEEP),
        "select --engine local",
        r"\.change\.json is damaged \(its lists are nested too deep",
    ),
    _of_study(
        "a change without its line",
        partial(_damaged, ".change.json", '{"done": false}'),
        "select --engine local",
        r"\.change\.json is damaged \(line is None\)",
    ),
    _of_study(
        "a class id of -1",
        partial(_edited, "study.toml", r"ids = \[0", "ids = [-1"),
        "status",
        r"study\.toml: classes\.ids\.0: .*greater than or equal to 0",
    ),
    _of_study(
        "a class id of 70000",
        partial(_edited, "study.toml", r"ids = \[0", "ids = [70000"),
        "status",
        r"study\.toml: classes\.ids\.0: .*less than or equal to 65535",
    ),
    _of_study(
        "settings of lists within lists",
        partial(_damaged, "study.toml", "a = " + DEEP),
        "status",
        r"study\.toml is not TOML",
    ),
    _of_column(
        "a null id", "id", [None, "b", "c", "d"], "status", "its column id has 1 rows without a value"
    ),
    _of_column(
        "ids that are numbers",
        "id",
        [1, 2, 3, 4],
        "select --engine local --as new",
        "its column id holds int64",
    ),
    _of_column("no widths", "width", None, "compare --engine local", "it has no column width"),
    _of_column("a shard of words", "shard", ["a"] * 4, "status", "its column shard holds string"),
    _of_column("a width of -1", "width", [-1] * 4, "report", "its column width holds -1"),
    _of_study(
        "a ranking without an order",
        partial(
            _damaged,
            "standings.json",
            '{"models": [], "labels": {}, "matrices": {}, "rankings": {"mean": {}}, "definitions": {}}',
        ),
        "report",
        r"these are not standings: rankings\.mean has no order; rerun",
    ),
    _of_study(
        "standings of lists within lists",
        partial(_damaged, "standings.json", DEEP),
        "report",
        "standings\\.json is damaged \\(.*write it again with `faultscape rank",
    ),
    _of_study(
        "a corpus that is none",
        partial(_damaged, "corpus.parquet", "PAR1"),
        "status",
        r"corpus\.parquet is damaged \(",
    ),
)


# cut-outs: folders of them, and the file in which a study keeps one


def _folder_of_objects(files: dict[str, Callable[[], bytes]], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data())


def _read_objects(folder: Path, smallest: int = 400) -> str:
    import faultscape as fs

    with refused(fs.errors.CorpusError) as told:
        fs.corpus.read_cutouts(folder, smallest=smallest, say=lambda _: None)
    return str(told.value)


def _read_kept(folder: Path) -> str:
    import faultscape as fs

    with refused(fs.errors.ImageError) as told:
        fs.corpus.read_cutout((folder / "kept.png").read_bytes(), "kept.png")
    return str(told.value)


def _png(
    mode: str,
    size: tuple[int, int],
    *,
    says: tuple[int, int] | None = None,
    text: str = "",
    values: Any = None,
) -> bytes:
    """A PNG, whose header may say another size than it has."""
    import io
    import zlib

    import numpy as np
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    info, out = PngInfo(), io.BytesIO()
    if text:
        info.add_text("faultscape-cutout", text, zip=True)
    image = Image.new(mode, size) if values is None else Image.fromarray(np.asarray(values))
    image.save(out, "PNG", pnginfo=info)
    data = bytearray(out.getvalue())
    if says:
        data[16:24] = b"".join(side.to_bytes(4, "big") for side in says)
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


def _coco(
    segmentation: str | Callable[[], str], **changed: str | Callable[[], str]
) -> dict[str, Callable[[], bytes]]:
    """The files of a data set with one object. What is long is a function, called when its case is written."""

    def instances() -> bytes:
        outline = segmentation() if callable(segmentation) else segmentation
        parts = {
            "images": '[{"id": 1, "file_name": "a.png", "width": 64, "height": 64}]',
            "annotations": '[{"image_id": 1, "category_id": 1, "segmentation": %s}]' % outline,  # noqa: UP031
            "categories": '[{"id": 1, "name": "dog"}]',
        } | {name: value() if callable(value) else value for name, value in changed.items()}
        return ("{%s}" % ", ".join(f'"{name}": {value}' for name, value in parts.items())).encode()  # noqa: UP031

    return {"instances.json": instances, "images/a.png": partial(_png, "RGB", (64, 64))}


def _checks(side: int) -> bytes:
    import numpy as np

    rows, columns = np.indices((side, side))
    return _png("L", (side, side), values=((rows % 2) & (columns % 2)).astype(np.uint8))


def _numbers(side: int) -> bytes:
    import numpy as np

    return _png("I;16", (side, side), values=np.arange(side * side, dtype=np.uint16).reshape(side, side))


def _torn() -> bytes:
    import numpy as np

    return _png("RGBA", (64, 64), values=np.random.default_rng(0).integers(0, 256, (64, 64, 4), np.uint8))[
        :900
    ]


def _of_objects(name: str, files: dict[str, Callable[[], bytes]], says: str, smallest: int = 400) -> Case:
    return Case(
        f"objects: {name}",
        partial(_folder_of_objects, files),
        partial(_read_objects, smallest=smallest),
        says,
    )


OBJECTS = (
    _of_objects(
        "an image of 10^10 pixels",
        {"a.png": partial(_png, "RGBA", (4, 4), says=(100_000, 100_000))},
        r"a\.png: it has more than|is more than",
    ),
    _of_objects("an image that ends early", {"a.png": _torn}, r"a\.png: .*([Tt]runcated|broken)"),
    _of_objects("lists within lists", _coco("[]", more=DEEP), r"instances\.json: is not a COCO file"),
    _of_objects(
        "twelve million lists",
        _coco("[]", more=lambda: "[" + "[]," * 12_000_000 + "[]]"),
        r"instances\.json: holds about 12,000,0.. values",
    ),
    _of_objects(
        "a hundred million numbers",
        _coco("[]", more=lambda: "[" + "1," * 100_000_001 + "1]"),
        r"instances\.json: holds about 100,000,0.. values",
    ),
    _of_objects(
        "run lengths of more pixels than the image has",
        _coco('{"size": [64, 64], "counts": [0, 178956970, 178956970]}'),
        "its run lengths cover 357,913,940 pixels",
    ),
    _of_objects(
        "run lengths of a size of their own",
        _coco('{"size": [400000, 400000], "counts": [160000000000]}'),
        r"have the size \[400000, 400000\]",
    ),
    _of_objects(
        "a text of run lengths without end",
        _coco(lambda: '{"size": [64, 64], "counts": "%s"}' % ("o" * 10_000_000)),
        "damaged: the text is not in",
    ),
    _of_objects(
        "an image of 10^12 pixels that only the text knows",
        _coco("[]", images='[{"id": 1, "file_name": "a.png", "width": 1000000, "height": 1000000}]'),
        "is 64 x 64 pixels, but 1000000 x 1000000 in its annotations",
    ),
    _of_objects(
        "a polygon of a million edges",
        _coco(lambda: "[[" + "0,0,9,64," * 500_000 + "0,64]]"),
        "would take too long",
    ),
    _of_objects(
        "a polygon of numbers that are none", _coco("[[NaN, 0, 1, 1, 2, Infinity]]"), "finite numbers"
    ),
    _of_objects(
        "65,535 instances",
        {"images/a.png": partial(_png, "RGB", (256, 256)), "instances/a.png": partial(_numbers, 256)},
        "holds 65,535 values; at most 1,000",
    ),
    _of_objects(
        "250,000 regions",
        {
            "JPEGImages/a.png": partial(_png, "RGB", (1000, 1000)),
            "SegmentationClass/a.png": partial(_checks, 1000),
        },
        "regions of aeroplane; at most 1,000",
        smallest=1,
    ),
    Case(
        "kept cut-out: a text that unpacks to 64 MB",
        lambda folder: (folder / "kept.png").write_bytes(_png("RGBA", (4, 4), text=" " * (64 << 20))),
        _read_kept,
        r"kept\.png: .*too large",
    ),
    Case(
        "kept cut-out: 10^10 pixels",
        lambda folder: (folder / "kept.png").write_bytes(_png("RGBA", (4, 4), says=(100_000, 100_000))),
        _read_kept,
        r"kept\.png: .*more than",
    ),
)


CASES: tuple[Case, ...] = (*LABELME, *IMAGES, *NETWORKS, *NAMES, *STUDIES, *OBJECTS)


def run(
    folder: Path, names: Iterable[str], module: str = __name__, *, seconds: float = 600
) -> dict[str, Told]:
    """Run cases of a module of this folder, one after the other, in as few processes as it takes; ``seconds``
    is for one process, on the wall.
    """
    told: dict[str, Told] = {}
    todo = list(names)
    while todo:
        results = folder / f"results-{len(todo)}"
        results.touch()
        here = Path(__file__).parent
        line = [
            sys.executable,
            "-c",
            (
                f"import sys; sys.path[:0] = {[str(here), str(here.parent)]!r}; import {module} as cases, hostile_cases;"
                " hostile_cases.main(cases.CASES, sys.argv[1:])"
            ),
        ]
        try:
            done = subprocess.run(
                [*line, str(folder), str(results), *todo],
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
            end = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
        except subprocess.TimeoutExpired:
            end = f"the process had not ended after {seconds} s"
        lines = [json.loads(text) for text in results.read_text().splitlines()]
        begun = [name for name, *said in lines if not said]
        told |= {name: Told(*said) for name, *said in lines if said}
        assert begun, end
        if begun[-1] not in told:
            told[begun[-1]] = Told("", end)
        todo = [name for name in todo if name not in told]
    return told


def main(cases: Iterable[Case], words: list[str]) -> None:
    """Run the named cases in this process, and write what came of each to a file: its name when it begins,
    and once more with what was said.
    """
    folder, results, *names = words
    by_name = {case.name: case for case in cases}
    with Path(results).open("a") as file:
        for number, name in enumerate(names):
            file.write(json.dumps([name]) + "\n")
            file.flush()
            file.write(
                json.dumps([name, *_one(by_name[name], Path(folder) / f"{len(names)}-{number}")]) + "\n"
            )
            file.flush()


def _one(case: Case, folder: Path) -> tuple[str, str]:
    """Return what a case says, and what it raised in place of that."""
    folder.mkdir(parents=True)
    try:
        case.write(folder)
        with _bounded(case.part):
            text = case.read(folder)
    except BaseException:  # noqa: BLE001 - whatever it is, a person would have seen it
        return "", traceback.format_exc()[-3000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return text.replace(str(folder), "FOLDER"), ""


@contextlib.contextmanager
def _bounded(part: int) -> Any:
    """Let the block have one ``part`` of `MEMORY` beyond what this process has, and as much of `SECONDS` of
    the processor, five at least, after which the process is ended.
    """
    held = int(re.search(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]
    before = resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY // part, before[0][1]))
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(time.process_time() + max(SECONDS / part, LEAST)) + 1, before[1][1])
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before[0])
        resource.setrlimit(resource.RLIMIT_CPU, before[1])
