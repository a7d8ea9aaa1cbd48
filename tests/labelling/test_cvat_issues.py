"""Issues of a review in CVAT are read as its REST API answers them, and nothing is left out unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_issues
from faultscape.formats.label_tools.cvat_issues import Issue, Message
from refusals import refused

ANN = {
    "url": "http://localhost:8080/api/users/3",
    "id": 3,
    "username": "ann",
    "first_name": "",
    "last_name": "",
}


def page(*rows: Any, count: int | None = None, following: str | None = None) -> dict[str, Any]:
    return {
        "count": len(rows) if count is None else count,
        "next": following,
        "previous": None,
        "results": list(rows),
    }


def issue(id_: int, frame: int, position: list[float], comments: Any, **more: Any) -> dict[str, Any]:
    row = {
        "id": id_,
        "frame": frame,
        "job": 7,
        "owner": ANN,
        "assignee": None,
        "position": position,
        "comments": comments,
    }
    return (
        row | {"created_date": "2026-01-02T03:04:05.678000Z", "updated_date": None, "resolved": False} | more
    )


def comment(id_: int, of: int, message: str, owner: Any = ANN) -> dict[str, Any]:
    return {
        "id": id_,
        "issue": of,
        "owner": owner,
        "message": message,
        "created_date": f"2026-01-02T03:04:0{id_}Z",
        "updated_date": None,
    }


def summary(count: int) -> dict[str, Any]:
    return {"url": "http://localhost:8080/api/comments?issue_id=1", "count": count}


META = {
    "chunk_size": 36,
    "size": 2,
    "image_quality": 70,
    "start_frame": 4,
    "stop_frame": 5,
    "frame_filter": "",
    "frames": [{"width": 9, "height": 8, "name": "a/1.jpg"}, {"width": 9, "height": 8, "name": "a/2.jpg"}],
    "deleted_frames": [],
}
SAVED = {
    "issues": page(issue(2, 5, [1.5, 2, 3.5, 8], summary(1), resolved=True), issue(1, 4, [7, 5], summary(2))),
    "comments": page(
        comment(3, 2, "where is the car?"), comment(2, 1, "no", None), comment(1, 1, "this is road")
    ),
    "meta": META,
}


def read(folder: Path, document: Any) -> tuple[Issue, ...]:
    (folder / "issues.json").write_text(json.dumps(document), encoding="utf-8")
    assert cvat_issues.recognise(folder / "issues.json")
    return cvat_issues.read_issues(folder / "issues.json")


def test_issues_come_with_their_image_their_place_and_what_was_said(tmp_path: Path) -> None:
    first, second = read(tmp_path, SAVED)
    said = (Message("ann", "this is road", "2026-01-02T03:04:01Z"), Message("", "no", "2026-01-02T03:04:02Z"))
    assert first == Issue("a/1.jpg", 4, 7, 5, ((7, 5),), said, False, f"{tmp_path / 'issues.json'}: issue 1")
    assert (second.image, second.x, second.y, second.resolved) == ("a/2.jpg", 2.5, 5, True)
    assert second.corners == ((1.5, 2), (3.5, 8))
    assert [message.text for message in second.messages] == ["where is the car?"]


def test_a_page_of_older_versions_holds_its_comments_and_frames_stay_numbers(tmp_path: Path) -> None:
    rows = [issue(k, 0, [0, 0, 4, 0, 4, 2], [comment(2, k, "b"), comment(1, k, "a")]) for k in (1, 2)]
    for document in (
        page(*rows),
        {"issues": rows},
        {"issues": [page(rows[0], count=2, following="..."), page(rows[1], count=2)]},
    ):
        found = read(tmp_path, document)
        assert [(one.image, one.frame, one.x, one.y) for one in found] == [("", 0, 2, 1)] * 2
        assert [[message.text for message in one.messages] for one in found] == [["a", "b"]] * 2


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ({"start_frame": 0}, (0, 1)),
        ({"start_frame": 10, "frame_filter": "step=5"}, (2, 3)),
        ({"start_frame": 0, "frame_filter": "step = 3"}, (0, 1)),
        ({"included_frames": [3, 8]}, (3, 8)),
        ({"included_frames": None, "start_frame": 6}, (6, 7)),
    ],
)
def test_frames_are_numbered_as_those_of_the_task(
    tmp_path: Path, more: dict[str, Any], numbers: tuple[int, int]
) -> None:
    rows = [issue(k, frame, [0, 0], []) for k, frame in enumerate(numbers)]
    assert [one.image for one in read(tmp_path, {"issues": page(*rows), "meta": META | more})] == [
        "a/1.jpg",
        "a/2.jpg",
    ]


ONE = issue(1, 4, [1, 2], summary(0))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"issues": page(ONE, count=3)}, "has 1 issues of 3; save all pages, as a list"),
        (
            {"issues": page(ONE, following="http://localhost/api/issues?page=2")},
            "has 1 issues of 1; save all pages",
        ),
        (
            SAVED | {"comments": page(comment(3, 2, "a"))},
            "issue 2: has 1|issue 1: has 2 comments, but the file has 0",
        ),
        (
            SAVED | {"issues": page(issue(2, 5, [1, 2], summary(1)))},
            "comment belongs to issue 1, which is missing",
        ),
        (SAVED | {"issues": page(ONE, ONE), "comments": []}, "issue 1: is listed twice"),
        (
            SAVED | {"meta": META | {"start_frame": 5}},
            "issue 1: belongs to frame 4, but meta has frames 5 to 6",
        ),
        (
            {"issues": page(ONE), "meta": META | {"start_frame": 5, "frame_filter": "step=2"}},
            "start_frame 5 is not a multiple of its step 2",
        ),
        (
            {"issues": page(ONE), "meta": META | {"size": 90, "frames": META["frames"][:1]}},
            "meta: belongs to a video",
        ),
        ({"issues": page(ONE), "meta": META | {"included_frames": [1]}}, "included_frames must be one"),
        ({"issues": page(ONE), "meta": []}, "meta: has no list of named frames"),
        ({"issues": page(ONE | {"position": [1, 2, 3]})}, "issue 1: its position must be a list of pairs"),
        ({"issues": page(ONE | {"position": [1, "2"]})}, "issue 1: its position must be a list of pairs"),
        (
            {"issues": page(ONE | {"position": [1, float("nan")]})},
            "issue 1: its position must be a list of pairs",
        ),
        (
            {"issues": page(ONE | {"frame": -1})},
            "issue 1: its frame must be a whole number, 0 or more; got -1",
        ),
        ({"issues": page(ONE | {"id": True})}, "issue 0: its id must be a whole number"),
        ({"issues": page(ONE | {"resolved": "no"})}, "issue 1: its resolved must be true or false"),
        ({"issues": page(ONE | {"comments": [3]})}, "issue 1: its comments are not a list of objects"),
        (
            {"issues": page(ONE), "comments": page(comment(1, 1, "a") | {"message": 3})},
            "comment 0: a comment needs a message",
        ),
        ({"issues": 3}, "expected its issues as a page with results, or a list"),
        ({"issues": {}}, "its issues have no results"),
        ({"issues": [{"results": 3}]}, "a page of issues needs results"),
    ],
)
def test_what_is_wrong_or_missing_is_told(tmp_path: Path, document: Any, says: str) -> None:
    with refused(LabellingError, rf"issues\.json: .*({says})"):
        read(tmp_path, document)


def test_other_files_are_no_issues(tmp_path: Path) -> None:
    for text, says in (
        ("", "is not valid JSON"),
        ("[]", "does not hold CVAT issues"),
        ('{"a": 1}', "does not hold CVAT issues"),
        ("[" * 100_000, "is not valid JSON"),
    ):
        (tmp_path / "a.json").write_text(text)
        assert not cvat_issues.recognise(tmp_path / "a.json")
        with refused(LabellingError, says):
            cvat_issues.read_issues(tmp_path / "a.json")
    assert not cvat_issues.recognise(tmp_path / "missing.json")
