"""Issues of CVAT's review stage, saved from its REST API: where on an image something is wrong, the comments
with their authors, and whether the issue is resolved.

Conventions: a file holds {"issues": ..., "comments": ..., "meta": ...}, what GET /api/issues, /api/comments
and /api/jobs/ID/data/meta (or /api/tasks/ID/data/meta) returned; issues and comments are a page with
"results", a list of such pages, or the list of results itself, and comments and meta may be missing. A page
of issues alone is also read; then frames stay numbers, and the image is "". Pages that name a missing next
page, or have fewer results than they count, are refused, so that nothing is silently left out. x and y are
the middle of the position, which is one point, two corners of a box, or the corners of a polygon. A frame's
number is that of its task: the first frame of meta has the number start_frame divided by the step of
frame_filter, or frames have the numbers of included_frames.
Source: CVAT's documentation of IssueRead, CommentRead, DataMetaRead and FrameMeta, and answers of its server
saved in its own tests. Comments are inside an issue in older versions (which is read); in newer ones an issue
has their number and address. Not tested against a live server: it is unverified whether start_frame of a job
counts this way if the task itself starts after its first frame; a frame outside meta is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats.guard import read_bytes

MOST_BYTES = 64 << 20  # per file
_MOST_POINTS = 100_000  # maximum numbers in a position
_FAR = 1e7
_STEP = re.compile(r"\s*step\s*=\s*([0-9]{1,6})\s*")
Point = tuple[float, float]


@dataclass(frozen=True)
class Message:
    """A comment: the user's name ("" if the server no longer knows it), the text, and the time as the server
    writes it.
    """

    author: str
    text: str
    created: str


@dataclass(frozen=True)
class Issue:
    """One issue: its image ("" without meta), the frame number, the centre of its position, all its corners,
    the comments in order, whether it is resolved, and its place in the file.
    """

    image: str
    frame: int
    x: float
    y: float
    corners: tuple[Point, ...]
    messages: tuple[Message, ...]
    resolved: bool
    where: str


def recognise(path: Path) -> bool:
    """Whether a file is JSON whose first bytes name issues of CVAT."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            start = file.read(1 << 16)
    except OSError:
        return False
    named = b'"issues"' in start or (b'"results"' in start and b'"position"' in start and b'"frame"' in start)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and named


def read_issues(path: Path) -> tuple[Issue, ...]:
    """Return the issues of a file in the order of their numbers; LabellingError names the file, the issue and
    the fault.
    """
    data = read_bytes(path, LabellingError, limit=MOST_BYTES)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError, MemoryError) as error:
        text = " ".join(str(error).split())[:200] or "it does not fit into memory"
        raise LabellingError(f"{path}: is not valid JSON: {text}") from None
    if not isinstance(document, dict) or not ("issues" in document or "results" in document):
        raise LabellingError(
            f'{path}: does not hold CVAT issues; expected {{"issues": ..., "comments": ..., "meta": ...}} or'
            ' a page with "results"'
        )
    alone = "issues" not in document
    issues = _results(document if alone else document["issues"], "issues", path)
    names = None if alone or document.get("meta") is None else _names(document["meta"], path)
    comments: dict[int, list[tuple[int, Message]]] = {}
    for number, row in enumerate(() if alone else _results(document.get("comments", []), "comments", path)):
        where = f"{path}: comment {number}"
        comments.setdefault(_whole(row, "issue", where), []).append(
            (_whole(row, "id", where), _message(row, where))
        )
    found: dict[int, Issue] = {}
    for place, row in enumerate(issues):
        id_ = _whole(row, "id", f"{path}: issue {place}")
        where = f"{path}: issue {id_}"
        if id_ in found:
            raise LabellingError(f"{where}: is listed twice")
        found[id_] = _issue(
            row, comments.pop(id_, []), names, where, told="comments" in document and not alone
        )
    if comments:
        raise LabellingError(
            f"{path}: a comment belongs to issue {min(comments)}, which is missing; save all pages of both"
        )
    return tuple(found[id_] for id_ in sorted(found))


def _issue(
    row: dict[str, Any],
    said: list[tuple[int, Message]],
    names: dict[int, str] | None,
    where: str,
    *,
    told: bool,
) -> Issue:
    within = row.get("comments")
    if isinstance(within, list):
        for comment in within:
            if not isinstance(comment, dict):
                raise LabellingError(f"{where}: its comments are not a list of objects")
            said = [*said, (_whole(comment, "id", where), _message(comment, where))]
    elif (
        told and isinstance(within, dict) and type(count := within.get("count")) is int and count != len(said)
    ):
        raise LabellingError(
            f"{where}: has {count} comments, but the file has {len(said)}; save all pages of /api/comments"
        )
    frame, resolved = _whole(row, "frame", where), row.get("resolved", False)
    if type(resolved) is not bool:
        raise LabellingError(f"{where}: its resolved must be true or false")
    if names is not None and frame not in names:
        span = f"has frames {min(names)} to {max(names)}" if names else "has none"
        raise LabellingError(
            f"{where}: belongs to frame {frame}, but meta {span}; save the meta of its job, or of the whole"
            " task"
        )
    corners = _corners(row.get("position"), where)
    xs, ys = zip(*corners, strict=True)
    messages = tuple(message for _, message in sorted(dict(said).items()))
    return Issue(
        "" if names is None else names[frame],
        frame,
        (min(xs) + max(xs)) / 2,
        (min(ys) + max(ys)) / 2,
        corners,
        messages,
        resolved,
        where,
    )


def _corners(position: object, where: str) -> tuple[Point, ...]:
    good = isinstance(position, list) and 2 <= len(position) <= _MOST_POINTS and len(position) % 2 == 0
    if not good or not all(type(v) in (int, float) and abs(v) < _FAR for v in position):  # type: ignore[union-attr]
        raise LabellingError(f"{where}: its position must be a list of pairs of finite numbers x, y")
    return tuple(zip(map(float, position[::2]), map(float, position[1::2]), strict=True))  # type: ignore[index]


def _message(row: dict[str, Any], where: str) -> Message:
    owner = row.get("owner")
    author = owner.get("username", "") if isinstance(owner, dict) else ""
    text, created = row.get("message", ""), row.get("created_date") or ""
    if not isinstance(author, str) or not isinstance(text, str) or not isinstance(created, str):
        raise LabellingError(
            f"{where}: a comment needs a message, a created_date and the username of its owner, as text"
        )
    return Message(author, text, created)


def _names(meta: object, path: Path) -> dict[int, str]:
    """Return the names of the frames by their numbers."""
    where = f"{path}: meta"
    frames = meta.get("frames") if isinstance(meta, dict) else None
    if (
        not isinstance(meta, dict)
        or not isinstance(frames, list)
        or not all(isinstance(f, dict) and isinstance(f.get("name"), str) for f in frames)
    ):
        raise LabellingError(
            f"{where}: has no list of named frames; save the answer of /api/jobs/ID/data/meta"
        )
    included = meta.get("included_frames")
    if included is not None:
        if (
            not isinstance(included, list)
            or not all(type(v) is int and v >= 0 for v in included)
            or len(included) != len(frames)
        ):
            raise LabellingError(f"{where}: its included_frames must be one whole number per frame")
        numbers = included
    else:
        start = _whole(meta, "start_frame", where) if meta.get("start_frame") is not None else 0
        step = _STEP.fullmatch(text) if isinstance(text := meta.get("frame_filter") or "", str) else None
        each = max(int(step[1]), 1) if step else 1
        if start % each:
            raise LabellingError(
                f"{where}: its start_frame {start} is not a multiple of its step {each}, so frames"
                " cannot be numbered"
            )
        numbers = range(start // each, start // each + len(frames))
    size = meta.get("size")
    if type(size) is int and size > len(frames) == 1:
        raise LabellingError(f"{where}: belongs to a video, whose frames have no names")
    return {number: frame["name"] for number, frame in zip(numbers, frames, strict=True)}


def _results(said: object, name: str, path: Path) -> list[dict[str, Any]]:
    """Return the rows of a page, of a list of pages, or of a list of rows; LabellingError if some are
    missing.
    """
    pages = [said] if isinstance(said, dict) else said
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        raise LabellingError(f"{path}: expected its {name} as a page with results, or a list")
    if not any("results" in page for page in pages):
        if isinstance(said, dict):
            raise LabellingError(f"{path}: its {name} have no results")
        return pages
    rows = list(_rows(pages, name, path))
    if pages[-1].get("next") is not None or (
        type(count := pages[0].get("count")) is int and count != len(rows)
    ):
        raise LabellingError(
            f"{path}: has {len(rows)} {name} of {str(pages[0].get('count'))[:20]}; save all pages, as a list"
        )
    return rows


def _rows(pages: list[dict[str, Any]], name: str, path: Path) -> Iterator[dict[str, Any]]:
    for page in pages:
        rows = page.get("results")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise LabellingError(f"{path}: a page of {name} needs results, a list of objects")
        yield from rows


def _whole(row: dict[str, Any], key: str, where: str) -> int:
    value = row.get(key)
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise LabellingError(f"{where}: its {key} must be a whole number, 0 or more; got {repr(value)[:40]}")
    return value
