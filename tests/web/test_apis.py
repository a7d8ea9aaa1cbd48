"""Each API in the shape its documentation gives: what is asked, what is made of the answer, how its pages are
followed.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
from faultscape.corpus.web.harvest import APIS, FLICKR, WIKIMEDIA, searching
from faultscape.corpus.web.hits import Wanted, option_day
from faultscape.corpus.web.http_client import Web
from faultscape.errors import CorpusError, WebError
from faultscape.verbs.verb import group_options
from refusals import refused
from serving import Clock, Reply, Server, picture

ASK = {"contact": "me@example.org", "rate": 1000.0}
MARCH = Wanted(after=option_day("after", "2024-03-01"), before=option_day("before", "2024-04-01"))


def said(value: Any, **headers: str) -> Reply:
    return 200, {"Content-Type": "application/json"} | headers, json.dumps(value).encode()


def rows(study: Path, name: str = "web/pictures.csv") -> list[dict[str, str]]:
    with (study / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def openverse_result(server: Server, k: int, **more: object) -> dict[str, Any]:
    number = f"8624ba61-57f1-4f98-8a85-{k:012d}"
    return {
        "id": number,
        "title": f"Cat no. {k}",
        "indexed_on": "2024-03-05T10:00:00.000000Z",
        "foreign_landing_url": f"https://www.flickr.com/photos/x/{k}",
        "url": server.picture(f"/pictures/{k}.png", picture(k)),
        "creator": "somebody",
        "creator_url": "https://example.org",
        "license": "by-sa",
        "license_version": "2.0",
        "license_url": "https://creativecommons.org/licenses/by-sa/2.0/",
        "provider": "flickr",
        "source": "flickr",
        "category": "photograph",
        "filesize": None,
        "filetype": "png",
        "tags": [],
        "attribution": "...",
        "mature": False,
        "height": 48,
        "width": 64,
        "thumbnail": "",
        "detail_url": "",
        "related_url": "",
    } | more


def test_openverse_page_by_page(server: Server, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTSCAPE_OPENVERSE_URL", f"{server.url}/v1/images/")
    found = [openverse_result(server, k) for k in range(25)]

    def answer(about: dict[str, str]) -> Reply:
        page, some = int(about["page"]), found if about["q"] == "cat" else []
        return said(
            {
                "result_count": len(some),
                "page_count": 2,
                "page_size": 20,
                "page": page,
                "results": some[20 * page - 20 : 20 * page],
            }
        )

    server.paths["/v1/images/"] = answer
    brought = fs.collect(
        study,
        **group_options(fs.collect, {"api": "openverse", "per_query": 22, "licence": "commercial", **ASK}),
    )
    assert (brought.came, brought.failed, brought.for_review) == (22, 0, 22)
    cats = [about for path, about, _ in server.asked if path == "/v1/images/" and about["q"] == "cat"]
    assert cats == [
        {"q": "cat", "page": str(p), "page_size": "20", "license_type": "commercial"} for p in (1, 2)
    ]
    assert {about["q"] for path, about, _ in server.asked if path == "/v1/images/"} == {
        "cat",
        "dog",
        "hound",
        "cat dog",
    }
    # up to its last page, and no further
    dogs = [about["page"] for path, about, _ in server.asked if about.get("q") == "dog"]
    assert dogs == ["1", "2"]
    row = rows(study)[0]
    assert (row["licence"], row["creator"], row["source"], row["query"]) == (
        "CC BY-SA 2.0",
        "somebody",
        "openverse/flickr",
        "cat",
    )
    assert (row["date"][:10], row["page"], row["title"]) == (
        "2024-03-05",
        "https://www.flickr.com/photos/x/0",
        "Cat no. 0",
    )
    assert not (study / "corpus.parquet").exists()
    asked = len(server.asked)
    again = fs.collect(
        study,
        **group_options(fs.collect, {"api": "openverse", "per_query": 22, "licence": "commercial", **ASK}),
    )
    assert (again.came, again.for_review) == (0, 22)
    fresh = [(path, about.get("q")) for path, about, _ in server.asked[asked:]]
    assert ("/v1/images/", "cat") not in fresh  # its 22 are there
    assert not [path for path, _ in fresh if path.startswith("/pictures/")]


def test_an_api_that_answers_with_private_addresses_or_paths_gets_nowhere(
    server: Server, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTSCAPE_OPENVERSE_URL", f"{server.url}/v1/images/")
    found = [
        openverse_result(server, 1, url="http://169.254.169.254/latest/meta-data"),
        openverse_result(server, 2, url="file:///etc/passwd"),
        openverse_result(server, 3, id="../../escape"),
        openverse_result(
            server, 4, title="=cmd()|'x'\x07\n<b>bold</b>", foreign_landing_url="javascript:alert(1)"
        ),
        "no result at all",
    ]
    server.paths["/v1/images/"] = said({"page_count": 1, "results": found})
    brought = fs.collect(str(study), **group_options(fs.collect, {"api": "openverse", **ASK}))
    assert brought.came == 1
    reasons = " ".join(row["reason"] for row in rows(study, "failures.csv"))
    for words in ("private network", "expected http", "cannot name an image"):
        assert words in reasons
    assert rows(study)[0]["title"] == "'=cmd()|'x' bold"
    assert not list(study.parent.rglob("escape*"))


def test_a_query_that_fails_is_told_and_the_others_go_on(
    server: Server, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTSCAPE_OPENVERSE_URL", f"{server.url}/v1/images/")
    good = said({"page_count": 1, "results": [openverse_result(server, 1)]})
    server.paths["/v1/images/"] = lambda about: (400, {}, b"") if about["q"] == "cat" else good
    brought = fs.collect(str(study), **group_options(fs.collect, {"api": "openverse", **ASK}))
    assert (brought.came, brought.failed) == (1, 1)
    assert [(r["image"], r["reason"].partition(": ")[2]) for r in rows(study, "failures.csv")] == [
        ("openverse:cat", "HTTP 400 Bad Request")
    ]
    server.paths["/v1/images/"] = good
    fs.collect(str(study), **group_options(fs.collect, {"api": "openverse", **ASK}))
    assert rows(study, "failures.csv") == []


def test_an_api_that_wants_a_rest_is_left_alone_and_that_is_said(
    server: Server, study: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTSCAPE_OPENVERSE_URL", f"{server.url}/v1/images/")
    server.paths["/v1/images/"] = (429, {"Retry-After": "3600"}, b"")
    brought = fs.collect(str(study), **group_options(fs.collect, {"api": "openverse", **ASK}))
    assert "asks to wait 3600 seconds; run the same command again later" in brought.stopped
    assert server.times("/v1/images/") == 1
    assert clock.slept == []


FLICKR_LICENCES = {
    "licenses": {
        "license": [
            {"id": "0", "name": "All Rights Reserved", "url": ""},
            {
                "id": "2",
                "name": "Attribution-NonCommercial License",
                "url": "https://creativecommons.org/licenses/by-nc/2.0/",
            },
            {"id": "4", "name": "Attribution License", "url": "https://creativecommons.org/licenses/by/2.0/"},
            {
                "id": "6",
                "name": "Attribution-NoDerivs License",
                "url": "https://creativecommons.org/licenses/by-nd/2.0/",
            },
            {
                "id": "7",
                "name": "No known copyright restrictions",
                "url": "https://www.flickr.com/commons/usage/",
            },
            {"id": "8", "name": "United States Government Work", "url": "http://www.usa.gov/copyright.shtml"},
            {
                "id": "9",
                "name": "Public Domain Dedication (CC0)",
                "url": "https://creativecommons.org/publicdomain/zero/1.0/",
            },
        ]
    },
    "stat": "ok",
}


def flickr_photo(server: Server, k: int, **more: object) -> dict[str, Any]:
    return {
        "id": str(5000 + k),
        "owner": "12037949754@N01",
        "secret": "s",
        "server": "65535",
        "farm": 66,
        "title": f"cat {k}",
        "ispublic": 1,
        "isfriend": 0,
        "isfamily": 0,
        "license": "4",
        "dateupload": str(1709640000 + k),
        "ownername": "somebody",
        "originalformat": "png",
        "url_o": server.picture(f"/o/{k}.png", picture(k)),
        "height_o": 48,
        "width_o": 64,
        "url_z": f"{server.url}/z/{k}.jpg",
        "height_z": "24",
        "width_z": "32",
    } | more


def test_flickr_with_its_licences_its_window_and_its_pages(
    server: Server, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTSCAPE_FLICKR_URL", f"{server.url}/services/rest/")
    monkeypatch.setenv("FLICKR_API_KEY", "a-key")

    def answer(about: dict[str, str]) -> Reply:
        assert (about["api_key"], about["format"], about["nojsoncallback"]) == ("a-key", "json", "1")
        if about["method"] == "flickr.photos.licenses.getInfo":
            return said(FLICKR_LICENCES)
        page = int(about["page"])
        photos = [flickr_photo(server, page)] if about["text"] == "cat" else []
        return said(
            {"photos": {"page": page, "pages": 2, "perpage": 250, "total": 2, "photo": photos}, "stat": "ok"}
        )

    server.paths["/services/rest/"] = answer
    window = {"after": "2024-03-01", "before": "2024-04-01"}
    brought = fs.collect(
        study, **group_options(fs.collect, {"api": "flickr", "licence": "modification", **window, **ASK})
    )
    assert (brought.came, brought.failed) == (2, 0)
    calls = [about for path, about, _ in server.asked if path == "/services/rest/"]
    assert [c["method"] for c in calls].count("flickr.photos.licenses.getInfo") == 1
    search = calls[1]
    assert (search["license"], search["text"], search["media"], search["safe_search"]) == (
        "2,4,7,8,9",
        "cat",
        "photos",
        "1",
    )
    assert (search["min_upload_date"], search["max_upload_date"]) == ("1709251200", "1711929599")
    row = rows(study)[0]
    assert (row["id"], row["licence"], row["creator"]) == ("flickr-5001", "CC BY 2.0", "somebody")
    assert row["date"] == "2024-03-05T12:00:01+00:00"
    assert row["page"] == "https://www.flickr.com/photos/12037949754@N01/5001"
    assert "a-key" not in "".join(
        p.read_text() for p in [*study.glob("*.csv"), *study.glob("*.jsonl"), *study.rglob("web/*.*")]
    )


@pytest.mark.parametrize(
    ("licence", "numbers"),
    [("open", "2,4,6,7,8,9"), ("commercial", "4,6,7,8,9"), ("public", "8,9"), ("any", "0,2,4,6,7,8,9")],
)
def test_flickrs_licences_are_told_apart_by_their_texts(
    licence: str, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLICKR_API_KEY", "a-key")
    asked: list[dict[str, Any]] = []

    def ask(about: dict[str, Any]) -> Any:
        asked.append(about)
        return (
            FLICKR_LICENCES
            if "licenses" in about["method"]
            else {"stat": "ok", "photos": {"pages": 1, "photo": []}}
        )

    assert list(FLICKR.search(ask, "cat", Wanted(licence=licence))) == []
    assert asked[1]["license"] == numbers


def test_flickr_gives_cut_outs_only_as_original_png(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLICKR_API_KEY", "a-key")
    photos = [
        flickr_photo(server, 1),
        flickr_photo(server, 2, url_o=f"{server.url}/o/2.jpg"),
        {"id": "3", "title": "no address"},
    ]
    answers = {
        "flickr.photos.licenses.getInfo": FLICKR_LICENCES,
        "flickr.photos.search": {"stat": "ok", "photos": {"pages": 1, "photo": photos}},
    }
    hits = list(FLICKR.search(lambda about: answers[about["method"]], "cat", Wanted(transparent=True)))
    assert [hit.id for hit in hits] == ["flickr-5001"]


def test_flickrs_refusal_is_told() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLICKR_API_KEY", "a-key")
        refusal = {"stat": "fail", "code": 100, "message": "Invalid API Key (Key has invalid format)"}
        with refused(WebError, r"Flickr refused the request: Invalid API Key .* \(code 100\)"):
            list(FLICKR.search(lambda _: refusal, "cat", Wanted()))


def commons_page(server: Server, k: int, **more: object) -> dict[str, Any]:
    words = {
        "LicenseShortName": "CC BY-SA 4.0",
        "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0",
        "Artist": '<a href="//x">An Artist</a>',
    }
    about = {
        "timestamp": "2024-03-05T10:00:00Z",
        "user": "Uploader",
        "size": 9,
        "width": 64,
        "height": 48,
        "mime": "image/png",
        "url": server.picture(f"/commons/{k}.png", picture(k)),
        "descriptionurl": f"https://commons.wikimedia.org/wiki/File:Cat_{k}.png",
        "extmetadata": {
            name: {"value": value, "source": "commons-desc-page"} for name, value in words.items()
        },
    }
    return {
        "pageid": 100 + k,
        "ns": 6,
        "title": f"File:Cat {k}.png",
        "index": k,
        "imagerepository": "local",
        "imageinfo": [about | more],
    }


def test_wikimedia_with_its_continuation_and_a_busy_server(
    server: Server, study: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTSCAPE_WIKIMEDIA_URL", f"{server.url}/w/api.php")
    lagged = said(
        {"error": {"code": "maxlag", "info": "Waiting for a server: 6 seconds lagged", "lag": 6}},
        **{"Retry-After": "5"},
    )
    first = said(
        {
            "continue": {"gsroffset": 50, "continue": "gsroffset||"},
            "query": {"pages": [commons_page(server, 2), commons_page(server, 1)]},
        }
    )
    old = commons_page(server, 3, timestamp="2023-12-31T23:00:00Z")
    replies = {"cat": [lagged, first], "cat 50": [said({"batchcomplete": True, "query": {"pages": [old]}})]}

    def answer(about: dict[str, str]) -> Reply:
        query = about["gsrsearch"].removeprefix("filetype:bitmap ") + (
            " 50" if about.get("gsroffset") == "50" else ""
        )
        return replies[query].pop(0) if query in replies else said({"batchcomplete": True})

    server.paths["/w/api.php"] = answer
    brought = fs.collect(
        study, **group_options(fs.collect, {"api": "wikimedia", "after": "2024-01-01", **ASK})
    )
    assert (brought.came, brought.failed) == (2, 1)
    assert 5.0 in clock.slept
    about = server.asked[0][1]
    assert (about["generator"], about["gsrnamespace"], about["maxlag"], about["gsrsort"]) == (
        "search",
        "6",
        "5",
        "create_timestamp_desc",
    )
    assert about["iiprop"] == "url|size|mime|timestamp|user|extmetadata"
    row = rows(study)[0]
    assert (row["id"], row["title"], row["creator"], row["licence"]) == (
        "wikimedia-101",
        "Cat 1.png",
        "An Artist",
        "CC BY-SA 4.0",
    )
    assert "its date 2023-12-31 is before 2024-01-01" in rows(study, "failures.csv")[0]["reason"]
    assert server.times("/commons/3.png") == 0


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "x",
        {},
        {"results": None},
        {"stat": "ok"},
        {"stat": "ok", "licenses": 3},
        {"error": {"info": "no"}},
    ],
)
def test_answers_of_another_shape_are_told(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLICKR_API_KEY", "a-key")
    for api in APIS.values():
        if api is WIKIMEDIA and isinstance(wrong, dict) and "error" not in wrong:
            # a search of MediaWiki without results says nothing at all
            assert list(api.search(lambda _: wrong, "cat", MARCH)) == []
            continue
        with refused(WebError, r"refused the request|sent no results"):
            list(api.search(lambda _: wrong, "cat", MARCH))


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": [1]},
        {"query": {"pages": {"1": {}}}},
        {"query": {"pages": [{"imageinfo": ["x"]}]}},
        {"continue": 3},
    ],
)
def test_an_answer_that_breaks_off_halfway_is_told_and_breaks_nothing(wrong: Any, server: Server) -> None:
    server.paths["/w/api.php"] = said(wrong)
    web = Web(rate=1000, sleep=lambda _: None)
    with refused(WebError, "wikimedia sent an unexpected answer"):
        list(searching("wikimedia", web, f"{server.url}/w/api.php")("cat", MARCH))


def test_without_search_terms_nothing_is_asked(study: Path) -> None:
    (study / "queries.csv").unlink()
    with refused(CorpusError, "has no search terms; write some with: faultscape collect"):
        fs.collect(str(study), **group_options(fs.collect, {"api": "openverse", **ASK}))
