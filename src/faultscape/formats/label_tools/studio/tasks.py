"""Label Studio's files for any kind of question: tasks as JSON, their annotators, the names of their images,
and the labels of the configuration.

Conventions: a task has ``data`` (including image addresses) and, once exported, ``annotations``, each with a
list ``result``. A person's latest annotation of a task that was not skipped counts. Images are named as Label
Studio's local storage names them, /data/local-files/?d=PATH. Our own fields are in data.meta: ``image`` is
the image's id, and ``ask`` what was asked. A configuration with a DOCTYPE is refused.
Source: Label Studio's documentation of its task format, and exports of versions 1.x.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.parsers import expat

from faultscape.errors import LabellingError
from faultscape.formats.guard import load_json, read_bytes

_UPLOAD = 128 << 20  # bytes per file: files above 250 million are refused
CONFIG = "label_config.xml"
_MOST_CONFIG = 4 << 20
_HEAD = 1 << 20
_LOCAL = "/data/local-files/?d="
# the prefix that Label Studio adds to the name of an uploaded file
_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
_IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_TASKS = re.compile(rb"^(\xef\xbb\xbf)?\s*\[\s*\{")
_KEYS = re.compile(rb'"(annotations|predictions|data)"\s*:\s*[\[{]')
ROWS = re.compile(rb'"annotation_id"\s*:')  # in JSON-MIN, whose rows are annotations


@dataclass(frozen=True)
class Said:
    """The answer of one person or model to a task: the task's ``data``, the annotator, the list of results
    and its place in the file.
    """

    data: dict[str, Any]
    annotator: str
    results: list[Any]
    where: str


@dataclass(frozen=True)
class Config:
    """The content of a configuration: for each control (by its ``name``), its tag in lower case and its
    labels or choices.
    """

    controls: dict[str, tuple[str, frozenset[str]]]


def head_of(path: Path, keys: re.Pattern[bytes] = _KEYS) -> bytes:
    """Return the beginning of a file of tasks, which have such ``keys``, b"" if it is not one or cannot be
    read; never raises.
    """
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return b""
    return head if _TASKS.match(head) and keys.search(head) else b""


def load(path: Path) -> list[Any]:
    """Return the tasks of a file, not yet checked; LabellingError if it is not a list of tasks, or is too
    large.
    """
    tasks = load_json(path, "a Label Studio JSON file")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise LabellingError(
            f"{path}: is not a Label Studio JSON file: expected a list of tasks; export it as JSON"
        )
    if tasks and not any(isinstance(task.get("data"), dict) for task in tasks):
        raise LabellingError(f"{path}: its tasks have no `data`; export it as JSON, not as JSON-MIN or CSV")
    return tasks


def said_of(task: dict[str, Any], path: Path, number: int, *, predictions: bool = False) -> Iterator[Said]:
    """Yield each person's annotation of a task, in the order of their first one: the latest that was not
    skipped; with ``predictions``, that of each model version.
    """
    data = task.get("data")
    data = data if isinstance(data, dict) else {}
    where = f"{path}, {task_name(task, number)}"
    latest: dict[str, tuple[tuple[str, int], Said]] = {}
    rows = task.get("predictions" if predictions else "annotations")
    for k, row in enumerate(rows if isinstance(rows, list) else ()):
        if not isinstance(row, dict) or row.get("was_cancelled"):
            continue
        who = str(row.get("model_version") or "") if predictions else _person(row.get("completed_by"))
        results = row.get("result")
        time = row.get("updated_at") or row.get("created_at")
        rank = (time if isinstance(time, str) else "", k)
        said = Said(
            data,
            who,
            results if isinstance(results, list) else [],
            f"{where}{_number(row, k, predictions=predictions)}",
        )
        if who not in latest or rank > latest[who][0]:
            latest[who] = (rank, said)
    yield from (said for _, said in latest.values())


def task_name(task: dict[str, Any], number: int) -> str:
    """Return a task's name in errors: its id, else its place in the file."""
    id_ = task.get("id")
    return f"task {id_}" if type(id_) is int else f"task number {number}"


def address(photo: str) -> str:
    """Return the address of an image in Label Studio's local storage, whose root is the output folder.

    >>> address("images/a b.jpg")
    '/data/local-files/?d=images/a%20b.jpg'
    """
    return _LOCAL + quote(photo, safe="/", errors="surrogateescape")


def image_of(data: dict[str, Any], key: str = "image") -> str:
    """Return the name of a task's image: the id that we wrote, else the path in its address; '' if it has
    none.

    >>> (
    ...     image_of({"image": "/data/local-files/?d=images/a%20b.jpg"}),
    ...     image_of({"photo": "s3://bucket/a/b.png"}),
    ... )
    ('images/a b.jpg', 'a/b.png')
    >>> (
    ...     image_of({"image": "/data/upload/3/0a1b2c3d-street.jpg"}),
    ...     image_of({"image": "x", "meta": {"image": "street 1"}}),
    ... )
    ('street.jpg', 'street 1')
    """
    meta = data.get("meta")
    if isinstance(meta, dict) and isinstance(meta.get("image"), str):
        return meta["image"]
    texts = (
        [data[key]]
        if isinstance(data.get(key), str)
        else [value for value in data.values() if isinstance(value, str)]
    )
    texts = [text for text in texts if text.lower().partition("?")[0].endswith(_IMAGES)] or texts
    return path_of(texts[0]) if texts else ""


def local_photo(data: dict[str, Any], key: str = "image") -> str:
    """Return the path of a task's image below the root of Label Studio's local storage, '' for other
    addresses.

    >>> (
    ...     local_photo({"image": "/data/local-files/?d=images/a%20b.png"}),
    ...     local_photo({"image": "https://example.org/a.png"}),
    ... )
    ('images/a b.png', '')
    """
    text = data.get(key)
    return path_of(text) if isinstance(text, str) and _LOCAL in text else ""


def path_of(text: str) -> str:
    """Return the path in an address of Label Studio, a store or the web; other texts unchanged."""
    try:
        parts = urlsplit(text)
        query = parse_qs(parts.query, errors="surrogateescape")
    except ValueError:
        return text
    if parts.path.endswith("/data/local-files/") and "d" in query:
        return query["d"][0]
    if "/data/upload/" in parts.path:
        return _UPLOADED.sub("", unquote(parts.path.rpartition("/")[2], errors="surrogateescape"), count=1)
    return (
        unquote(parts.path, errors="surrogateescape").lstrip("/") if parts.scheme and parts.netloc else text
    )


def dumped(
    tasks: Iterable[dict[str, Any]], folder: Path, name: str, most: int = _UPLOAD
) -> Iterator[tuple[Path, bytes]]:
    """Yield files of tasks, NAME.json, NAME-2.json and so on, each small enough for one upload to Label
    Studio; at least one.
    """
    number = 1
    size = 0
    lines = list[bytes]()
    for task in tasks:
        line = json.dumps(task, separators=(",", ":")).encode()
        if lines and size + len(line) > most:
            yield (
                folder / f"{name}{f'-{number}' if number > 1 else ''}.json",
                b"[" + b",\n".join(lines) + b"]\n",
            )
            number = number + 1
            size = 0
            lines = []
        lines.append(line)
        size += len(line)
    yield folder / f"{name}{f'-{number}' if number > 1 else ''}.json", b"[" + b",\n".join(lines) + b"]\n"


def read_config(path: Path) -> Config:
    """Return the content of a labelling configuration; LabellingError if it is damaged, or has a DOCTYPE."""
    controls: dict[str, tuple[str, set[str]]] = {}
    open_: list[str] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if "toName" in attributes and "name" in attributes:
            controls[attributes["name"]] = (tag.lower(), set())
            open_.append(attributes["name"])
        elif tag in ("Label", "Choice") and open_:
            controls[open_[-1]][1].add(attributes.get("alias") or attributes.get("value", ""))

    def end(tag: str) -> None:
        if open_ and controls[open_[-1]][0] == tag.lower():
            open_.pop()

    def refuse(*_: object) -> None:
        raise LabellingError(f"{path}: has a DOCTYPE, which is not supported; remove it")

    data = read_bytes(path, LabellingError, limit=_MOST_CONFIG)
    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise LabellingError(f"{path}: is not XML: {str(error)[:200]}") from None
    return Config({name: (tag, frozenset(labels)) for name, (tag, labels) in controls.items()})


def _person(said: Any) -> str:
    """Return the annotator of an annotation: the email address, else the name, else the number."""
    if isinstance(said, dict):
        said = next((said[key] for key in ("email", "username", "id") if said.get(key) not in (None, "")), "")
    return " ".join(str(said).split())[:200] if type(said) in (int, str) else ""


def _number(row: dict[str, Any], k: int, *, predictions: bool) -> str:
    id_ = row.get("id")
    return f", {'prediction' if predictions else 'annotation'} {id_ if type(id_) is int else f'number {k}'}"
