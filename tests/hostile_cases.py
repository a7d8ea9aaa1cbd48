"""One catalogue of hostile files: what each writes, how it is read, and what must be said of it. Whoever reads a new format adds its cases here.

Conventions: a case writes into an empty folder of its own and reads what it wrote as a user's line does (`line`, `failure`, `refused`); what it returns is what a person is
told: one line. tests/laws/test_hostile_files.py runs every case: this file, run as a program, is the one process in which they all run, with bounded memory and processor
time. A case that dies, or does not end, takes the process with it; the rest go on in another.
"""

from __future__ import annotations

import contextlib
import io
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
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

MEMORY = 768 << 20  # bytes that a case may allocate
SECONDS = 10  # of the processor that a case may use


@dataclass(frozen=True)
class Case:
    """``write`` fills an empty folder, ``read`` reads it and returns what a person is told, in which ``says`` must be found (a regular expression)."""

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], str]
    says: str


@dataclass(frozen=True)
class Told:
    """What came of a case: the text that a person is told, or what was raised in its place."""

    text: str
    raised: str = ""


def line(*words: object) -> str:
    """Run a command line that must end with status 2, and return what it says on standard error."""
    from faultscape.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    assert status == 2, f"status {status}: {out.getvalue()}{err.getvalue()}"
    assert err.getvalue().startswith("faultscape: ")
    return err.getvalue().removeprefix("faultscape: ").removesuffix("\n")


def refused(function: Callable[..., object], *given: Any, **options: Any) -> str:
    """Call a function that must refuse what it is given, and return what it says."""
    from faultscape.errors import FaultscapeError

    try:
        found = function(*given, **options)
    except FaultscapeError as error:
        return str(error)
    raise AssertionError(f"nothing was refused; got {found!r}")


def failure(study: Path, image: str) -> str:
    """Return why an image could not be used, as failures.csv of a study says."""
    from faultscape.study.tables import read_failures

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
    shape = {"label": "road", "shape_type": kind, "points": points, **more}
    return {"shapes": [shape], "imageWidth": 48, "imageHeight": 36}


def _of_labelme(name: str, document: Any, says: str) -> Case:
    return Case(f"labelme: {name}", partial(_labelme, document), _imported, rf"photo 000\.json.*{says}")


LABELME = (
    _of_labelme("a circle of radius 9e6", _shape("circle", [[24, 18], [9e6, 18]]), "shape 0: a circle of radius"),
    _of_labelme("a shape_type that is a list", _shape(["polygon"], [[0, 0], [1, 1]]), "shape 0: .* has no area"),
    _of_labelme("a shape_type that is a table", _shape({"polygon": 1}, [[0, 0], [1, 1]]), "shape 0: .* has no area"),
    _of_labelme("a coordinate of 10**400", _shape("polygon", [[10**400, 0], [1, 1], [2, 2]]), "shape 0: .* finite numbers"),
    _of_labelme("a coordinate of 5,000 digits", '{"shapes": [{"points": [[1' + "0" * 5000 + ", 0]]}]}", "is no LabelMe file"),
    _of_labelme("points that are a number", _shape("polygon", 5), "shape 0: .* 2 or more points"),
    _of_labelme("a mask that is a table", _shape("mask", [[0, 0], [9, 9]], mask={"a": 1}), "shape 0: its mask is no PNG"),
    _of_labelme("a label that is a list", {"shapes": [{"label": ["road"]}], "imageWidth": 48, "imageHeight": 36}, "shape 0: has no label"),
    _of_labelme("a declared height of 13,000", _shape("polygon", [[0, 0], [9, 9]]) | {"imageWidth": 13_000, "imageHeight": 13_000}, "is 13000 x 13000 pixels, its photo 48 x 36"),
    _of_labelme("200,000 shapes", {"shapes": [0] * 200_000, "imageWidth": 48, "imageHeight": 36}, "200,000 shapes; at most"),
    _of_labelme("lines that take minutes", {"shapes": _shape("polygon", [[-9e6, 0], [9e6, 0]])["shapes"] * 2000, "imageWidth": 48, "imageHeight": 36}, "its 2,000 shapes would take"),
    _of_labelme("lists within lists", '{"shapes": ' + "[" * 100_000, "is no LabelMe file"),
)  # fmt: skip

# Images that Pillow opens


def _tiff(values: Any, folder: Path) -> None:
    import numpy as np

    import made_tiff

    made_tiff.write(folder / "image.tif", np.asarray(values))


def _collected(folder: Path) -> str:
    (image,) = folder.iterdir()
    return line("collect", folder / "study", image, "--classes", "voc")


def _of_image(name: str, write: Callable[[Path], object], says: str) -> Case:
    return Case(f"image: {name}", write, _collected, says)


IMAGES = (
    _of_image("PostScript called a PNG", lambda folder: (folder / "image.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nquit\n"), "EPS is a drawing"),
    _of_image("floats that are not finite", partial(_tiff, [[0.5, float("nan")]]), "TIFF is damaged, or its pixels have 64 bits"),
    _of_image("a TIFF that is its first bytes", lambda folder: (folder / "image.tif").write_bytes(b"II*\0\xff\xff\xff\xff"), "this TIFF is damaged"),
    _of_image("a TIFF of 4e9 x 4e9 pixels", lambda folder: (folder / "image.tif").write_bytes(b"II*\0\x08\0\0\0\x02\0" + b"".join(tag.to_bytes(2, "little") + b"\4\0\1\0\0\0\xff\xff\xff\xff" for tag in (256, 257)) + bytes(4)), "pixels are more than|this TIFF is damaged"),
)  # fmt: skip

CASES: tuple[Case, ...] = (*LABELME, *IMAGES)


def run(folder: Path, names: Iterable[str], module: str = __name__, *, seconds: float = 600) -> dict[str, Told]:
    """Run cases of a module of this folder, one after the other, in as few processes as it takes; ``seconds`` is for one process, on the wall."""
    told: dict[str, Told] = {}
    todo = list(names)
    while todo:
        results = folder / f"results-{len(todo)}"
        results.touch()
        here = str(Path(__file__).parent)
        line = [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r}); import {module} as cases, hostile_cases; hostile_cases.main(cases.CASES, sys.argv[1:])"]  # fmt: skip
        try:
            done = subprocess.run([*line, str(folder), str(results), *todo], capture_output=True, text=True, timeout=seconds, check=False)  # fmt: skip
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
    """Run the named cases in this process, and write what came of each to a file: its name when it begins, and once more with what was said."""
    folder, results, *names = words
    by_name = {case.name: case for case in cases}
    with Path(results).open("a") as file:
        for number, name in enumerate(names):
            file.write(json.dumps([name]) + "\n")
            file.flush()
            file.write(json.dumps([name, *_one(by_name[name], Path(folder) / f"{len(names)}-{number}")]) + "\n")
            file.flush()


def _one(case: Case, folder: Path) -> tuple[str, str]:
    """Return what a case says, and what it raised in place of that."""
    folder.mkdir(parents=True)
    try:
        case.write(folder)
        with _bounded():
            text = case.read(folder)
    except BaseException:  # noqa: BLE001 - whatever it is, a person would have seen it
        return "", traceback.format_exc()[-3000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return text.replace(str(folder), "FOLDER"), ""


@contextlib.contextmanager
def _bounded() -> Any:
    """Let the block have so much more memory than this process has, and so many seconds of the processor, after which the process is ended."""
    held = int(re.search(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]
    before = resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, before[0][1]))
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + SECONDS) + 1, before[1][1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before[0])
        resource.setrlimit(resource.RLIMIT_CPU, before[1])
