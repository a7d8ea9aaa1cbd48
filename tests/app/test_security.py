"""What the app of a campaign refuses, whatever route it is asked: every route is found by itself, so that a
new one cannot be forgotten.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import made_entrance
from faultscape.study.answers.annotators import ORGANISER
from faultscape.study.answers.choices import Choices
from faultscape.verbs.serve import gate
from faultscape.verbs.serve.gate import Limits
from faultscape.verbs.serve.options import CampaignRules
from faultscape.web.headers import HEADERS
from made_entrance import HERE, IDS, MODELS, Entrance, Person, filled

NAMELESS = {"/enter"}  # who sends its form has no token yet; it refuses other sites all the same
OF_ORGANISERS = {
    "/people",
    "/people/remove/{pseudonym}",
    "/tags",
    "/tags/{number}",
    "/model/{number}/{way}",
    "/results",
    "/results/part",
}
ODD = (
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fetc",
    "..%5c..%5cwindows",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "%00",
    "0%00",
    "x" * 3000,
    "-1",
    "1e3",
    "%d9%a1",
    "99999999999999999999",
    "0x0",
    "..;",
    "~root",
    "C:%5c",
    "%ff%fe",
    "%ed%a0%80",
    ".serve-key",
    "study.toml",
    "answers.sqlite",
    "%7b%7b7*7%7d%7d",
    "%3Cscript%3E",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_entrance.study(tmp_path_factory.mktemp("security"))


@pytest.fixture(scope="module")
def entrance(root: Path) -> Iterator[Entrance]:
    with made_entrance.entrance(root, campaign=CampaignRules(overlap=100)) as held:
        yield held


@pytest.fixture(scope="module")
def organiser(entrance: Entrance) -> Person:
    return entrance.invited("olga", ORGANISER)


@pytest.fixture
def ann(entrance: Entrance) -> Iterator[Person]:
    """An annotator, who is removed in the end."""
    person = entrance.invited("ann")
    yield person
    entrance.people.delete(person.pseudonym)
    entrance.gate.forget()


@contextmanager
def own(tmp_path: Path) -> Iterator[Entrance]:
    """A study of its own for what would be in the way of others."""
    with made_entrance.entrance(made_entrance.study(tmp_path)) as held:
        yield held


def posts(entrance: Entrance) -> list[str]:
    return [filled(path, lambda _: "0") for method, path in entrance.routes() if method == "POST"]


# CSRF: a token of our pages, and no other site


def test_every_route_that_changes_something_refuses_a_missing_and_a_wrong_token(
    entrance: Entrance, organiser: Person, ann: Person
) -> None:
    paths = [path for path in posts(entrance) if path not in NAMELESS]
    assert len(paths) >= 5
    for path in paths:
        for token in (None, "", "x", ann.token, organiser.token[:-1], organiser.token.swapcase(), "\u00e9"):
            header = {} if token is None else {"x-faultscape": token.encode("latin-1")}
            for more in (
                {"data": {"token": token or "", "act": "invite", "name": "eve"}},
                {"json": {"answers": []}},
            ):
                answer = organiser.client.post(path, headers=header, **more)
                assert answer.status_code == 403, (path, token, answer.text)
    assert "eve" not in {one.name for one in entrance.people.everybody()}


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8761"},
        {"Origin": "https://127.0.0.1:8760"},
        {"Origin": HERE + ".evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_every_route_that_changes_something_refuses_another_site_with_the_right_token(
    entrance: Entrance, organiser: Person, foreign: dict[str, str]
) -> None:
    for path in posts(entrance):
        answer = organiser.client.post(
            path, data={"token": organiser.token}, headers={**foreign, "x-faultscape": organiser.token}
        )
        assert answer.status_code == 403, (path, answer.text)


def test_pages_of_this_server_may(entrance: Entrance, ann: Person) -> None:
    ours = {"Origin": HERE, "Sec-Fetch-Site": "same-origin", "x-faultscape": ann.token}
    assert ann.client.post("/api/answers", json={"answers": []}, headers=ours).status_code == 200
    assert entrance.client(**ours).post("/enter", data={"name": "x"}).status_code == 403  # by invitation only


def test_pictures_and_items_are_given_to_no_page_of_elsewhere(entrance: Entrance, organiser: Person) -> None:
    for site in ("cross-site", "same-site"):
        for path in ("/mask/0/photo", "/api/items", "/join/x"):
            foreign = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            assert organiser.get(path, headers=foreign).status_code == 403
    assert (
        entrance.client()
        .get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
        .status_code
        == 200
    )


@pytest.mark.slow
def test_pages_that_change_nothing_have_no_other_method(entrance: Entrance, organiser: Person) -> None:
    for _, path in entrance.routes():
        for method in (
            "PUT",
            "DELETE",
            "PATCH",
            "OPTIONS",
            "TRACE",
            "CONNECT",
            "PROPFIND",
            "GETS",
            "X" * 200,
        ):
            answer = organiser.client.request(
                method, filled(path, lambda _: "0"), headers={"x-faultscape": organiser.token}
            )
            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


# headers, hosts


@pytest.mark.slow
def test_every_answer_has_the_strict_headers_errors_too(
    entrance: Entrance, organiser: Person, ann: Person
) -> None:
    answers = [
        who.request(method, filled(path, lambda _: "0"))
        for who in (entrance.client(), ann.client, organiser.client)
        for method, path in entrance.routes()
    ]
    answers += [
        organiser.get(path)
        for path in ("/nothing", "/static/work.js", "/static/nothing", "/check/77", "/tags/x")
    ]
    answers += [
        organiser.client.delete("/work"),
        organiser.get("/", headers={"host": "evil.example"}),
        organiser.get("/?" + "x" * 9000),
    ]
    answers += [
        organiser.client.post(
            "/api/answers", content=b"x" * 300_000, headers={"x-faultscape": organiser.token}
        )
    ]
    assert {answer.status_code for answer in answers} >= {200, 303, 400, 401, 403, 404, 405, 414, 421}
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers.get_list(name) == [value], (answer.request.url, name)
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_pages_are_kept_by_no_browser(organiser: Person) -> None:
    for path in (
        "/work",
        "/people",
        "/results",
        "/checks",
        "/check/0?truth=labels",
        "/tags/0",
        "/api/items",
        "/nothing",
    ):
        assert organiser.get(path).headers["cache-control"] == "no-store", path


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8760",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::1",
        "a b",
        "127.0.0.1@evil.example",
        "study.local",
    ],
)
def test_a_name_that_somebody_pointed_here_gets_nothing(organiser: Person, host: str) -> None:
    for path in ("/work", "/api/items", "/static/work.js"):
        answer = organiser.get(path, headers={"host": host})
        assert answer.status_code == 421
        assert organiser.pseudonym not in answer.text


def test_the_page_loads_nothing_that_stands_in_it_or_lies_elsewhere(organiser: Person) -> None:
    for path in (
        "/work",
        "/people",
        "/results",
        "/checks",
        "/check/0?truth=labels",
        "/tags/0",
        "/tags/0?model=okapinet",
    ):
        text = organiser.get(path).text
        assert "style=" not in text
        assert "<script>" not in text
        assert "javascript:" not in text
        assert not re.search(r"<[^>]*\son\w+\s*=", re.sub(r'"[^"]*"', "", text))  # a handler
        assert not [address for address in made_entrance.addresses(text) if "//" in address]
        assert "http" not in text


# over a real connection: what no client would send


@pytest.fixture(scope="module")
def port(entrance: Entrance) -> Iterator[int]:
    import uvicorn

    from faultscape.web import server

    with server.bind(port=0) as listener:
        running = uvicorn.Server(
            uvicorn.Config(entrance.app, log_level="critical", access_log=False, lifespan="off")
        )
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        running.should_exit = True
        thread.join(20)


def spoken(port: int, request: bytes) -> bytes:
    """Say something to the server, and return the first line that it answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline()


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("two hosts", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n"),
        ("two hosts, ours last", b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\n\r\n"),
        ("no host", b"GET / HTTP/1.1\r\n\r\n"),
        (
            "a length and chunks",
            (
                b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked,"
                b" identity\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            "two lengths",
            b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nname=",
        ),
        ("a folded header", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\nHost\t: evil.example\r\n\r\n"),
        ("another site's address", b"GET http://evil.example/work HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ],
)
def test_requests_that_two_servers_would_read_in_two_ways_are_refused(
    port: int, name: str, request_: bytes
) -> None:
    status = spoken(port, request_).split()[1]
    assert 400 <= int(status) < 500, name


def test_traversal_that_no_client_tidies_up_is_refused(port: int) -> None:
    for path in (
        "/../../etc/passwd",
        "/static/../../study.toml",
        "/mask/0/../../../study.toml",
        "/static/..%2f..%2f__init__.py",
        "//etc/passwd",
        "/%2e%2e/",
    ):
        status = spoken(
            port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        ).split()[1]
        assert int(status) in (400, 401, 404), path


def test_two_hosts_are_refused_by_the_app_itself(entrance: Entrance) -> None:
    for hosts in (
        (b"127.0.0.1", b"evil.example"),
        (b"evil.example", b"127.0.0.1"),
        (b"127.0.0.1", b"127.0.0.1"),
    ):
        told: list[Any] = []

        async def send(message: Any, told: list[Any] = told) -> None:
            told.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [(b"Host", host) for host in hosts],
        }
        asyncio.run(entrance.app(scope, None, send))
        assert told[0]["status"] == 400
        assert b"two hosts" in told[1]["body"]


# traversal, and what lies outside the study


@pytest.mark.slow
def test_no_parameter_of_any_route_leads_anywhere(
    entrance: Entrance, organiser: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    parametrised = [(m, p) for m, p in [*entrance.routes(), ("GET", "/static/{name}")] if "{" in p]
    assert len(parametrised) >= 10
    organiser.items(1)
    for method, path in parametrised:
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        for wrong in names:
            if path == "/join/{token}":
                continue  # who tries too many is refused; they are tried with the entrance
            for odd in ODD:
                usual = {
                    "number": "0",
                    "id": "x",
                    "repeat": "0",
                    "side": "left",
                    "way": "fill",
                    "name": "work.js",
                }
                address = filled(
                    path,
                    lambda name, wrong=wrong, odd=odd, usual=usual: odd if name == wrong else usual[name],
                )
                answer = organiser.client.request(
                    method,
                    address,
                    params={"truth": "labels"},
                    data={"token": organiser.token} if method == "POST" else None,
                )
                assert 400 <= answer.status_code < 500, (address, answer.status_code)
                assert answer.headers["content-type"].startswith("text/html"), address
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "odd",
    [*ODD, "", "../truth/labels", "labels/", "labels-eve/../labels", "../predictions/okapinet", "LABELS"],
)
def test_no_truth_and_no_model_but_the_studys_own_is_shown(organiser: Person, odd: str) -> None:
    from urllib.parse import unquote

    name = unquote(odd, errors="replace")
    for path in ("/check/0", "/mask/0/fill"):
        assert organiser.get(path, params={"truth": name}).status_code == 404
    assert organiser.get("/model/0/fill", params={"model": name}).status_code == 404
    assert organiser.get("/tags/0", params={"model": name}).status_code == (404 if name else 200)
    assert organiser.form("/check/0", truth=name, kind="other", comment="x").status_code == 404


@pytest.mark.parametrize("what", ["a part", "a manifest", "a folder"])
def test_parts_that_lead_out_of_the_study_are_not_shown(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with own(tmp_path) as entrance:
        organiser, ann = entrance.invited("olga", ORGANISER), entrance.invited("ann")
        item = ann.items(1)[0]
        shown = [(ann, item[side]["fill"]) for side in ("left", "right")]
        shown += [(organiser, f"/model/0/fill?model={name}") for name in MODELS] + [
            (organiser, "/mask/0/fill?truth=labels")
        ]
        outside = tmp_path / "outside"
        for folder in [
            *(entrance.root / "predictions" / name for name in MODELS),
            entrance.root / "truth" / "labels",
        ]:
            paths = {
                "a part": sorted(folder.glob("*.parquet")),
                "a manifest": [folder / "manifest.json"],
                "a folder": [folder],
            }
            for path in paths[what]:
                there = outside / folder.name / path.name
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, there)
                path.symlink_to(there)
        for person, path in shown:
            answer = person.get(path)
            assert answer.status_code == 404, path
            assert "this map cannot be shown" in answer.text
        assert "is a link out of the study, so it is not shown" in capsys.readouterr().err
        link = entrance.root / "predictions" / "again"
        link.symlink_to(entrance.root)  # a link that stays within leads nowhere new
        assert ann.get(item["photo"]).status_code == 200


def test_a_photo_lies_where_it_was_collected_and_nothing_else_does(entrance: Entrance, ann: Person) -> None:
    assert ann.get("/mask/0/photo").headers["content-type"] in ("image/webp", "image/jpeg")
    for path in (
        "/photos/part0",
        "/study.toml",
        "/answers.sqlite",
        "/.serve-key",
        "/predictions/okapinet/manifest.json",
        "/static/",
        "/static/base.html.jinja",
    ):
        assert ann.get(path).status_code == 404, path
    assert entrance.client().get("/static/work.js").status_code == 200


# annotators are blind


def walk(person: Person, also: list[str]) -> dict[str, Any]:
    """All that a person can GET, from one page to the next."""
    todo, seen = ["/", "/work", "/checks", "/api/items?number=10", *also], {}
    while todo:
        path = todo.pop()
        if path not in seen and not path.startswith("/join"):
            seen[path] = answer = person.get(path)
            if answer.headers.get("content-type", "").partition(";")[0] in ("text/html", "application/json"):
                todo += sorted(made_entrance.addresses(answer.text))
            if "location" in answer.headers:
                todo.append(answer.headers["location"])
    return seen


@pytest.mark.slow
def test_nothing_that_an_annotator_can_get_names_a_model(entrance: Entrance, ann: Person) -> None:
    also = [
        filled(path, lambda name: {"number": "0", "way": "fill"}.get(name, "left"))
        for method, path in entrance.routes()
        if method == "GET"
    ]
    also += [f"/tags/0?model={name}" for name in MODELS] + [f"/model/0/fill?model={name}" for name in MODELS]
    seen = walk(ann, also)
    pictures = [
        path for path, answer in seen.items() if answer.headers.get("content-type", "").startswith("image/")
    ]
    assert sum("/left/" in path for path in pictures) > 5
    assert sum(path.startswith("/mask/") for path in pictures) > 5
    for path, answer in seen.items():
        asked = [name for name in MODELS if name in path]
        told = f"{answer.headers!r}".encode() + answer.content
        for name in MODELS:
            assert name not in asked or answer.status_code == 403
            assert name.encode() not in told.lower(), path
        assert str(entrance.root).encode() not in told, path


def test_a_map_that_cannot_be_read_is_not_named_to_who_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with own(tmp_path) as entrance:
        ann = entrance.invited("ann")
        items = ann.items(3)
        for path in (entrance.root / "predictions").rglob("*.parquet"):
            path.write_bytes(b"PAR1 damaged")
        shutil.rmtree(tmp_path / "photos", ignore_errors=True)
        for item in items:
            for side in ("left", "right"):
                answer = ann.get(item[side]["fill"])
                assert answer.status_code == 404
                assert "this map cannot be shown" in answer.text
                assert not any(name in answer.text for name in (*MODELS, str(tmp_path)))
        assert "parquet" in capsys.readouterr().err


def test_pages_of_organisers_refuse_annotators(entrance: Entrance, ann: Person, organiser: Person) -> None:
    of_organisers = set()
    for method, path in entrance.routes():
        address = filled(path, lambda name: {"number": "0", "way": "fill"}.get(name, "0"))
        if method == "POST":
            answer = ann.client.post(address, data={"token": ann.token}, headers={"x-faultscape": ann.token})
            said = "only organisers can see this page" in answer.text
        else:
            answer = ann.get(address)
            said = answer.status_code == 403
        if said and path != "/join/{token}":
            assert answer.status_code == 403
            of_organisers.add(path)
    assert of_organisers == OF_ORGANISERS
    links = ann.get("/work").text
    assert not any(f'href="{path}"' in links for path in ("/tags", "/results", "/people"))
    assert 'href="/people"' in organiser.get("/work").text


# bodies


def test_bodies_are_bounded(ann: Person) -> None:
    headers = {"x-faultscape": ann.token}
    for path, most in (("/api/answers", "262,144"), ("/leave", "16,384"), ("/check/0", "16,384")):
        answer = ann.client.post(path, content=b"x" * 300_000, headers=headers)
        assert answer.status_code == 400
        assert most in answer.text
    room = "x" * 262_000
    assert (
        ann.client.post(
            "/api/answers", content=json.dumps({"answers": [], "more": room}), headers=headers
        ).status_code
        == 200
    )
    many = "&".join(f"a{k}=1" for k in range(60))
    assert ann.client.post("/leave", content=many, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"answers": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"answers": 1}',
        b'{"answers": {}}',
        b'{"answers": null}',
        b"{}",
        b'{"answers": [' + b"{}," * 100 + b"{}]}",
        b'{"answers": ' + b"9" * 5000 + b"}",
        b'{"answers": [], "answers": 3}',
    ],
)
def test_what_is_no_list_of_answers_is_refused_in_a_sentence(ann: Person, body: bytes) -> None:
    answer = ann.client.post("/api/answers", content=body, headers={"x-faultscape": ann.token})
    assert answer.status_code == 400
    assert set(answer.json()) == {"words"}
    assert len(answer.json()["words"]) < 100


DEEP: Any = "x"
for _ in range(400):
    DEEP = [DEEP]
WRONG: tuple[tuple[str, Any], ...] = (
    *(
        ("key", value)
        for value in (
            None,
            1,
            "short",
            "x" * 65,
            "\u00e9" * 9,
            "a\0b" * 4,
            ["xxxxxxxx"],
            {},
            True,
            "x\nxxxxxxxx",
            "\ud800" * 8,
        )
    ),
    *(("id", value) for value in (None, 1, "", "nothing", "../" * 9, ["x"], {}, "x" * 9999, "\ud800")),
    *(("repeat", value) for value in (None, True, False, 0.0, 1.0, "0", 2, -1, [], {}, 10**400, 0.5)),
    *(
        ("chosen", value)
        for value in (
            None,
            1,
            True,
            "",
            "Left",
            "first",
            MODELS[0],
            [],
            ["left"],
            {},
            DEEP,
            "x" * 9999,
            "\ud800",
            "skip\0",
        )
    ),
    *(
        ("seconds", value)
        for value in (True, "1", -1, 86_401, 10**400, float("nan"), float("inf"), -float("inf"), [], {}, DEEP)
    ),
    *(
        ("shown", value)
        for value in (
            1,
            "x",
            ["x"],
            {"way": ["x"]},
            {"way": {}},
            {"way": DEEP},
            {"way": float("nan")},
            {"way": "x" * 500},
            DEEP,
            True,
        )
    ),
    *(("discard", value) for value in (None, 1, True, "", "  ", [], {}, DEEP)),
    *(("undo", value) for value in ("yes", "no", [], {}, 2, None)),
)


@pytest.mark.parametrize("name", sorted({name for name, _ in WRONG}))
def test_a_field_of_a_wrong_kind_is_refused_by_itself_and_the_other_answers_are_taken(
    entrance: Entrance, ann: Person, name: str
) -> None:
    one, other = ann.items(2)
    before = len(Choices(entrance.root, entrance.campaign.database).rows())
    rows = []
    for number, (_, value) in enumerate(pair for pair in WRONG if pair[0] == name):
        rows.append(
            {"key": f"wrong-{name}-{number}", "id": one["id"], "repeat": 0, "chosen": "left", name: value}
        )
    right = {
        "key": f"right-answer-{name}",
        "id": other["id"],
        "repeat": 0,
        "chosen": "right",
        "seconds": 1,
        "shown": {"way": "fill"},
    }
    body = json.dumps({"answers": [*rows, 1, None, [], "x", right]})
    answer = ann.client.post("/api/answers", content=body, headers={"x-faultscape": ann.token})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["taken"] == [right["key"]]
    assert len(found["refused"]) == len(rows) + 4
    assert all(row["why"] for row in found["refused"])
    assert len(Choices(entrance.root, entrance.campaign.database).rows()) == before + 1
    assert not entrance.campaign.database.read("discards", "number")


def test_an_answer_that_cannot_be_shown_is_named_by_no_more_than_can(entrance: Entrance, ann: Person) -> None:
    """Halves of characters, which no database takes, are no reason to send the same answers for ever."""
    (item,) = ann.items(1)
    row = {
        "key": "halves-of-characters",
        "id": item["id"],
        "repeat": 0,
        "discard": "un\ud800readable",
        "text": "a\0b \udfff",
    }
    body = json.dumps({"answers": [row]})
    answer = ann.client.post("/api/answers", content=body, headers={"x-faultscape": ann.token})
    assert answer.json() == {"taken": ["halves-of-characters"], "refused": []}
    assert entrance.campaign.database.read(
        "discards", "reason", key=f"{ann.pseudonym}:halves-of-characters"
    ) == [("un readable: a b",)]


def test_an_answer_to_what_was_never_asked_is_refused(tmp_path: Path) -> None:
    with own(tmp_path) as entrance:
        ann, ben = entrance.invited("ann"), entrance.invited("ben")
        (item,) = ann.items(1)
        row = {"key": "answer-of-ben", "id": item["id"], "repeat": 0, "chosen": "left"}
        assert ben.send(row)["refused"] == [
            {"key": "answer-of-ben", "why": "you were not asked about this item"}
        ]
        again = {**row, "key": "answer-of-ann", "repeat": 1}
        assert ann.send(again)["refused"] == [
            {"key": "answer-of-ann", "why": "you were not asked about this item"}
        ]
        assert ben.get(item["left"]["fill"]).status_code == 404
        assert ann.get(item["left"]["fill"]).status_code == 200
        assert ann.get(item["left"]["fill"].replace("/0/left", "/1/left")).status_code == 404


def test_of_two_answers_with_one_key_the_first_counts_and_both_are_confirmed(tmp_path: Path) -> None:
    with own(tmp_path) as entrance:
        ann = entrance.invited("ann")
        (item,) = ann.items(1)
        row = {"key": "the-same-key", "id": item["id"], "repeat": 0}
        assert (
            ann.send({**row, "chosen": "both bad"}, {**row, "chosen": "left"})["taken"]
            == ["the-same-key"] * 2
        )
        assert [one.chosen for one in Choices(entrance.root, entrance.campaign.database).choices()] == [
            "both bad"
        ]


def test_a_key_is_of_one_person_so_nobody_takes_anothers_answer_away(tmp_path: Path) -> None:
    with own(tmp_path) as entrance:
        ann, ben = entrance.invited("ann"), entrance.invited("ben")
        for person in (ann, ben):
            (item,) = person.items(1)
            assert person.send({"key": "one-key-of-two", "id": item["id"], "repeat": 0, "chosen": "left"})[
                "taken"
            ]
        assert len(Choices(entrance.root, entrance.campaign.database).choices()) == 2


def test_an_answer_that_is_sent_again_after_its_image_was_discarded_is_confirmed_and_the_last_image_may_go(
    tmp_path: Path,
) -> None:
    with made_entrance.entrance(made_entrance.study(tmp_path), campaign=CampaignRules(overlap=1)) as entrance:
        ann = entrance.invited("ann")
        sent = []
        while items := ann.items(1):
            (item,) = items
            if item["repeat"]:
                ann.send({"key": f"again-{item['id']}", "id": item["id"], "repeat": 1, "chosen": "left"})
                continue
            sent = [
                {"key": f"said-{item['id']}", "id": item["id"], "repeat": 0, "chosen": "left"},
                {"key": f"gone-{item['id']}", "id": item["id"], "repeat": 0, "discard": "unreadable"},
            ]
            assert ann.send(*sent)["taken"] == [row["key"] for row in sent]
        assert ann.send(*sent)["taken"] == [row["key"] for row in sent]
        nothing = {"items": [], "left": 0, "done": 0, "held": 0, "finished": True, "instructions": ""}
        assert ann.get("/api/items").json() == nothing
        late = {"key": "never-sent-before", "id": sent[0]["id"], "repeat": 0, "chosen": "left"}
        assert "no longer asked" in ann.send(late)["refused"][0]["why"]


@pytest.mark.parametrize("number", ["0", "11", "-1", "1.0", "x", "1" * 5000, "", "\u0661\u0661\u0661"])
def test_more_items_at_once_than_are_given_are_refused(ann: Person, number: str) -> None:
    answer = ann.get("/api/items", params={"number": number})
    assert answer.status_code == 400
    assert "1 to 10 items" in answer.json()["words"]


@pytest.mark.parametrize("have", ["x", ":", "a:b:c", ",,,", "x:0" * 500, "\0:0", "\u202e:1"])
def test_what_a_page_says_that_it_has_harms_nothing(ann: Person, have: str) -> None:
    assert ann.get("/api/items", params={"have": have}).status_code == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "nothing"},
        {"kind": ""},
        {"kind": "other", "x": "a", "y": "1"},
        {"kind": "other", "x": "nan", "y": "1"},
        {"kind": "other", "x": "1e9", "y": "1"},
        {"kind": "other", "x": "-1", "y": "1"},
        {"kind": "other", "x": "inf", "y": "inf"},
        {"act": "resolve", "of": "999"},
        {"act": "resolve", "of": "x"},
        {"act": "delete", "of": "1"},
        {"truth": "nothing"},
    ],
)
def test_a_finding_of_nothing_that_can_be_found_is_refused(ann: Person, fields: dict[str, str]) -> None:
    assert ann.form("/check/0", **{"truth": "labels-eve", **fields}).status_code in (400, 404)


@pytest.mark.parametrize(
    "region", ["1,2,3", "0,0,49,1", "0,0,0,5", "-1,0,2,2", "1;2;3;4", "1" * 99, "a,b,c,d", "0,0,1,37"]
)
def test_a_region_outside_the_photo_is_refused(organiser: Person, region: str) -> None:
    assert organiser.form("/tags/0", tag="extreme scale", region=region).status_code == 400
    assert organiser.form("/tags/0", tag="no such tag").status_code == 400


# limits


def test_who_changes_too_much_too_fast_is_told_to_wait_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (gate.PER_SECOND, gate.BURST) == (40.0, 400.0)
    monkeypatch.setattr(gate, "PER_SECOND", 4.0)
    monkeypatch.setattr(gate, "BURST", 40.0)
    with own(tmp_path) as entrance:
        ann, ben = entrance.invited("ann"), entrance.invited("ben")
        statuses = []
        for _ in range(200):
            statuses.append(
                ann.client.post(
                    "/api/answers", json={"answers": []}, headers={"x-faultscape": ann.token}
                ).status_code
            )
            if statuses[-1] != 200:
                break
        assert 40 <= len(statuses) < 200
        assert statuses[-1] == 429
        assert ben.send() == {"taken": [], "refused": []}


def test_whoever_claims_to_have_everything_reserves_no_more_than_one_may_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own(tmp_path) as entrance:
        monkeypatch.setattr(entrance.campaign._assignment, "_most", 4)
        ann, have = entrance.invited("ann"), list[str]()
        for _ in range(4):
            answer = ann.get("/api/items", params={"number": 3, "have": ",".join(have)}).json()
            have += [f"{item['id']}:{item['repeat']}" for item in answer["items"]]
            assert not answer["finished"]
        assert len(have) == len(entrance.people.handed(ann.pseudonym)) == 4


def test_who_asks_for_items_too_fast_is_told_to_wait_and_may_still_answer(
    entrance: Entrance, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrance.gate, "_asks", Limits(1e-9, 3))
    assert [ann.get("/api/items").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert ann.send() == {"taken": [], "refused": []}


def test_ids_do_not_say_which_image_is_meant(ann: Person) -> None:
    text = json.dumps(ann.items(5))
    assert not any(json.dumps(id_)[1:-1] in text for id_ in IDS)
