"""Who comes into a campaign: by which address, by which link or name, with which cookie, and for how long."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made_entrance
from faultscape.errors import OptionError, StudyError
from faultscape.study.answers.annotators import ORGANISER, digest
from faultscape.study.answers.database import Database
from faultscape.verbs.serve import gate as gates
from faultscape.verbs.serve.gate import COOKIE, Limits, server_key
from faultscape.verbs.serve.server import _way_in
from made_entrance import HERE, Entrance
from refusals import refused, refused_line


def cookie_line(answer: Any) -> str:
    """The one cookie that an answer sets."""
    (line,) = answer.headers.get_list("set-cookie")
    return line


@contextmanager
def served(root: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a study, and yield the process and the first line that it printed; where the test goes wrong the
    process is ended.
    """
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", "0", *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


@pytest.mark.slow
def test_this_machine_alone_is_listened_to_unless_told_and_the_key_is_its_owners(root: Path) -> None:
    with served(root) as (process, said):
        assert said.startswith(f"{root}: serving at http://127.0.0.1:"), said
        with urllib.request.urlopen(said.split(" at ")[1].split()[0], timeout=30) as answer:
            assert answer.status == 200
            assert "server" not in answer.headers
        process.send_signal(2)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert (root / ".serve-key").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_the_first_organiser_keeps_the_link_when_the_server_starts_again(root: Path) -> None:
    again = "the organiser signs in with the earlier link; for a new one run: faultscape label invite "
    for said in ("sign in as the organiser, and invite others, at http://", again):
        with served(root, "--invites") as (process, _):
            assert process.stdout is not None
            assert process.stdout.readline().startswith(said)


@pytest.mark.slow
def test_where_others_reach_the_server_a_link_is_needed_and_names_are_refused(root: Path) -> None:
    import httpx2

    with served(root, "--host", "0.0.0.0") as (process, said):
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        port = re.search(r":(\d+)/", said)[1]  # type: ignore[index]
        name = re.search(r"//([^:/]+):", link)[1]  # type: ignore[index]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.post("/enter", data={"name": "ann"}).status_code == 403
            assert "Open the link that you were sent" in client.get("/").text
            path = link.partition(f":{port}")[2]
            as_printed = client.get(path, headers={"Host": f"{name}:{port}"})  # by the name of the machine
            assert as_printed.status_code == 200, as_printed.text
        process.send_signal(2)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    token = path.removeprefix("/join/")
    assert token not in out + err
    kept = b"".join(file.read_bytes() for file in root.rglob("*") if file.is_file())
    assert token.encode() not in kept
    assert digest(token).encode() in kept


@pytest.mark.slow
def test_behind_a_proxy_its_address_counts_and_people_need_links(root: Path) -> None:
    address = "https://label.example.org"
    with made_entrance.entrance(root, open_=False, address="HTTPS://Label.example.org:443/") as entrance:
        behind = {"Host": "label.example.org"}  # as a proxy passes it on, without a word of https
        assert entrance.client(**behind).post("/enter", data={"name": "ann"}).status_code == 403
        organiser = entrance.invited("olga", ORGANISER)
        shown = organiser.client.post(
            "/people",
            headers=behind | {"Origin": address},
            data={"token": organiser.token, "act": "invite", "name": "ben"},
        )
        (path,) = re.findall(address + r"(/join/[\w-]+)", shown.text)
        joined = entrance.client(**behind).get(path)
        assert joined.status_code == 200
        assert "secure" in cookie_line(joined).lower()
        for origin in ("http://label.example.org", "https://evil.example"):
            assert (
                organiser.client.post(
                    "/leave", headers=behind | {"Origin": origin}, data={"token": organiser.token}
                ).status_code
                == 403
            )
        assert entrance.client(Host="evil.example").get("/").status_code == 421
    with served(root, "--address", address) as (process, said):
        assert process.stdout is not None
        assert said.startswith(f"{root}: serving at {address}/ ")
        lines = [process.stdout.readline() for _ in range(2)]
        assert lines[0].startswith("the proxy must forward requests to http://127.0.0.1:")
        assert lines[1].startswith(
            "the organiser olga signs in with the earlier link; for a new one run: faultscape label invite "
        )


@pytest.mark.parametrize(
    "address",
    [
        "label.example.org",
        "https://label.example.org/below",
        "ftp://x",
        "https://",
        "https://a?b=c",
        "https://a#b",
        "https://a:b",
        "https://ann@a",
    ],
)
def test_an_address_that_nobody_can_open_is_refused(root: Path, address: str) -> None:
    assert "is not an address that people can open; expected https://NAME" in refused_line(
        "label", "serve", root, "--address", address
    )


def test_with_invites_names_are_refused_on_this_machine_too(root: Path) -> None:
    with made_entrance.entrance(root, open_=False) as entrance:
        assert entrance.client().post("/enter", data={"name": "ann"}).status_code == 403
        assert entrance.people.everybody() == []


def test_on_this_machine_a_name_is_enough_and_the_same_name_is_the_same_person(root: Path) -> None:
    with made_entrance.entrance(root, open_=True) as entrance:
        for _ in range(2):
            client = entrance.client()
            assert client.post("/enter", data={"name": " ann \t b\0 "}).status_code == 303
            assert client.get("/work").status_code == 200
        assert [one.name for one in entrance.people.everybody()] == ["ann b"]
        assert entrance.client().post("/enter", data={"name": ""}).status_code == 422
        assert entrance.client().post("/enter", data={"name": "x" * 81}).status_code == 422
        elsewhere = entrance.client(origin="http://127.0.0.1:9999")
        assert elsewhere.post("/enter", data={"name": "eve"}).status_code == 403
        assert len(entrance.people.everybody()) == 1


def test_who_has_not_come_in_gets_no_page_no_item_and_no_picture(entrance: Entrance) -> None:
    inside = {"/", "/enter", "/join/{token}"}
    for method, path in entrance.routes():
        if path not in inside:
            answer = entrance.client().request(method, made_entrance.filled(path, lambda _: "0"))
            assert answer.status_code == 401, (method, path)
            assert "open the link that you were sent" in answer.text


def test_a_cookie_is_read_by_no_script_sent_from_no_other_site_and_secure_over_https(
    entrance: Entrance,
) -> None:
    _, token = entrance.people.invite("ann")
    line = cookie_line(entrance.client().get(f"/join/{token}"))
    assert line.startswith(f"{COOKIE}=")
    assert {"httponly", "samesite=strict", "path=/"} <= {word.strip().lower() for word in line.split(";")}
    assert "secure" not in line.lower()
    assert token not in line
    over_https = entrance.client().get(f"{HERE.replace('http', 'https')}/join/{token}")
    assert "secure" in [word.strip().lower() for word in cookie_line(over_https).split(";")]


def test_forged_and_altered_cookies_and_those_of_another_study_are_refused(
    entrance: Entrance, tmp_path: Path
) -> None:
    ann = entrance.invited("ann")
    value = ann.client.cookies[COOKIE]
    name, _, signature = value.partition(".")
    other_key = gates.Gate(entrance.people, b"k" * 32, open_=False)
    signed = gates._cookie_of(entrance.people.find("ann"))
    assert (
        entrance.client()
        .get("/work", headers={"cookie": f"{COOKIE}={entrance.gate._cookies.dumps(signed)}"})
        .status_code
        == 200
    )
    forged = [
        "",
        ann.pseudonym,
        f'"{ann.pseudonym}"',
        value[:-1],
        value[::-1],
        f"{name}.",
        f".{signature}",
        f"{name}x.{signature}",
        value.swapcase(),
        f"{value}.{value}",
        "a" * 5000,
        "\u00e9\u00ff",
        other_key._cookies.dumps(signed),
        entrance.gate._signer.sign(signed).decode(),
        entrance.gate._cookies.dumps([signed]),
        entrance.gate._cookies.dumps(ann.pseudonym),
        entrance.gate._cookies.dumps({"a": 1}),
        entrance.gate._cookies.dumps("person-nobody"),
    ]
    for cookie in forged:
        headers = {"cookie": f"{COOKIE}={cookie}".encode("latin-1", "replace")}
        assert entrance.client().get("/work", headers=headers).status_code == 401, cookie
    assert entrance.client().get("/work", headers={"cookie": f"{COOKIE}={value}"}).status_code == 200
    other = Path(
        shutil.copytree(entrance.root, tmp_path / "other", ignore=shutil.ignore_patterns(".serve-key"))
    )
    with made_entrance.entrance(other) as elsewhere:  # the same people, another key
        assert elsewhere.client().get("/work", headers={"cookie": f"{COOKIE}={value}"}).status_code == 401


def test_a_cookie_lets_in_for_a_month(entrance: Entrance, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = entrance.invited("ann")
    now = int(time.time())
    monkeypatch.setattr("time.time", lambda: now + 30 * 86400 - 60)
    assert ann.get("/work").status_code == 200
    monkeypatch.setattr("time.time", lambda: now + 30 * 86400 + 60)
    assert ann.get("/work").status_code == 401


@pytest.mark.parametrize(("set_back", "status"), [(60, 200), (86_000, 200), (86_500, 401)])
def test_a_cookie_stays_valid_when_the_clock_is_set_back_by_less_than_a_day(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch, set_back: int, status: int
) -> None:
    ann, now = entrance.invited("ann"), time.time()
    monkeypatch.setattr("time.time", lambda: now - set_back)
    assert ann.get("/work").status_code == status


def test_who_was_removed_is_out_at_once_and_their_link_is_dead(entrance: Entrance) -> None:
    ann, organiser = entrance.invited("ann"), entrance.invited("olga", ORGANISER)
    assert ann.get("/work").status_code == 200
    assert organiser.form("/people", act="remove", pseudonym=ann.pseudonym).status_code == 303
    assert ann.get("/work").status_code == 401
    assert (
        ann.client.post("/api/answers", json={"answers": []}, headers={"x-faultscape": ann.token}).status_code
        == 401
    )
    assert entrance.client().get(f"/join/{ann.invitation}").status_code == 403


def test_nobody_removes_themselves_so_an_organiser_stays(entrance: Entrance) -> None:
    organiser = entrance.invited("olga", ORGANISER)
    for act in ("remove", "remove with answers"):
        answer = organiser.form("/people", act=act, pseudonym=organiser.pseudonym)
        assert answer.status_code == 400
        assert "you cannot remove yourself" in answer.text
    assert organiser.get("/people").status_code == 200


def test_a_link_is_shown_once_kept_as_a_digest_alone_and_replaced_by_the_next(entrance: Entrance) -> None:
    organiser = entrance.invited("olga", ORGANISER)
    shown = organiser.form("/people", act="invite", name="ben").text
    (token,) = re.findall(r"/join/([\w-]+)", shown)
    ben = next(one for one in entrance.people.everybody() if one.name == "ben")
    for path in ("/people", "/results", "/work", "/checks", "/tags/0"):
        assert token not in organiser.get(path).text
    again = organiser.form("/people", act="link", pseudonym=ben.pseudonym).text
    (second,) = re.findall(r"/join/([\w-]+)", again)
    assert entrance.client().get(f"/join/{token}").status_code == 403
    assert entrance.client().get(f"/join/{second}").status_code == 200
    kept = b"".join(path.read_bytes() for path in entrance.root.glob("answers.sqlite*"))
    for one in (token, second, organiser.invitation):
        assert one.encode() not in kept
    assert digest(second).encode() in kept


def test_a_new_link_ends_what_came_in_by_the_one_before(entrance: Entrance) -> None:
    ann, organiser = entrance.invited("ann"), entrance.invited("olga", ORGANISER)
    assert ann.get("/work").status_code == 200
    shown = organiser.form("/people", act="link", pseudonym=ann.pseudonym).text
    assert ann.get("/work").status_code == 401
    (token,) = re.findall(r"/join/([\w-]+)", shown)
    assert ann.client.get(f"/join/{token}").status_code in (200, 303)
    assert ann.get("/work").status_code == 200
    assert organiser.form("/people", act="link", pseudonym=organiser.pseudonym).status_code == 200
    assert organiser.get("/people").status_code == 200  # who asks for a link of their own stays in


def test_a_defect_on_the_way_in_says_nothing_of_the_token(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, token = entrance.people.invite("ann")

    def broken(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(entrance.gate, "admit", broken)
    answer = entrance.client().get(f"/join/{token}")
    out, err = capsys.readouterr()
    assert answer.status_code == 500
    assert err.startswith("faultscape: /join/{token}: RuntimeError: broken on purpose (")
    assert err.count("\n") == 1
    assert token not in answer.text + out + err


def test_what_is_no_token_is_refused_and_one_address_may_try_twenty(entrance: Entrance) -> None:
    client = entrance.client()
    tried = ["x", "' OR 1=1 --", "x" * 199, "x" * 5000, "%00", "\u202e", *(f"guess-{k}" for k in range(14))]
    for token in tried:
        assert client.get(f"/join/{token}").status_code == 403, token
    answer = client.get("/join/one-more")
    assert answer.status_code == 429
    assert "too many tries" in answer.text


@pytest.mark.slow
def test_many_behind_one_address_come_in_by_links_that_are_right(entrance: Entrance) -> None:
    links = [entrance.people.invite(f"person {k}")[1] for k in range(30)]
    assert {entrance.client().get(f"/join/{token}").status_code for token in links * 2} == {200}
    for k in range(20):
        assert entrance.client().get(f"/join/guess-{k}").status_code == 403
    assert entrance.client().get("/join/one-guess-more").status_code == 429
    assert {entrance.client().get(f"/join/{token}").status_code for token in links} == {200}


@pytest.mark.slow
def test_on_this_machine_names_that_are_known_may_come_in_again_and_again_and_new_ones_twenty_times(
    root: Path,
) -> None:
    with made_entrance.entrance(root, open_=True) as entrance:
        statuses = [
            entrance.client().post("/enter", data={"name": f"person {k % 5}"}).status_code for k in range(40)
        ]
        assert set(statuses) == {303}
        statuses = [
            entrance.client().post("/enter", data={"name": f"new {k}"}).status_code for k in range(16)
        ]
        assert statuses == [303] * 15 + [429]
        assert entrance.client().post("/enter", data={"name": "person 3"}).status_code == 303


def test_a_server_that_is_started_again_leaves_the_first_organiser_in_and_says_how_to_get_a_new_link(
    root: Path,
) -> None:
    with made_entrance.entrance(root) as entrance:
        address = "http://127.0.0.1:8760/"
        token = _way_in("a study", entrance.people, address).partition(f"at {address}join/")[2]
        client = entrance.client()
        assert client.get(f"/join/{token}").status_code == 200
        kept = client.cookies.get(COOKIE)
    with made_entrance.entrance(root) as again:
        said = _way_in("a study", again.people, address)
        assert said.endswith("for a new one run: faultscape label invite 'a study' organiser")
        assert "/join/" not in said
        client = again.client()
        client.cookies.set(COOKIE, kept)
        assert client.get("/people").status_code == 200
        assert again.client().get(f"/join/{token}").status_code == 200
        made = fs.label.invite(str(root), "organiser")
        assert again.client().get(f"/join/{made.token}").status_code == 200
        assert again.people.find("organiser").role == ORGANISER


def test_who_asks_longest_ago_is_forgotten_first_so_that_limits_take_little_memory() -> None:
    limits = Limits(1, 1, most=100)
    assert all(limits.allow(str(k), 0.0) for k in range(1000))
    assert not limits.allow("999", 0.0)
    assert len(limits._held) == 100


def test_a_key_that_is_damaged_is_said_and_never_used(root: Path) -> None:
    assert server_key(root) == server_key(root)
    (root / ".serve-key").write_bytes(b"short")
    with refused(StudyError, r"\.serve-key is damaged; delete it"):
        server_key(root)


def test_one_who_was_removed_by_the_command_line_is_out_within_seconds(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = entrance.invited("ann")
    assert ann.get("/work").status_code == 200
    made_entrance.Annotators(entrance.root, Database(entrance.root)).delete(ann.pseudonym)
    monkeypatch.setattr(gates, "_KNOWN_FOR", 0.0)
    assert ann.get("/work").status_code == 401


def test_what_is_not_installed_is_said_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "faultscape.verbs.label.signature.find_spec", lambda name: None if name == "itsdangerous" else name
    )
    with refused(OptionError, r"pip install 'faultscape\[app\]'"):
        fs.label.serve("nowhere")
