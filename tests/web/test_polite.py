"""HTTP: slowly, with a name, taking no for an answer, and never into a private network that nobody named."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from faultscape.corpus.web import addresses
from faultscape.corpus.web.http_client import ClosedError, Web, agent
from faultscape.errors import OptionError, WebError
from refusals import refused
from serving import Clock, Server

HOME = "127.0.0.1"
PUBLIC = "93.184.215.14"


class Steps(Clock):
    """A clock that is some seconds on whenever somebody looks."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._step = seconds

    def __call__(self) -> float:
        self.time += self._step
        return self.time


def web(time: Clock, **about: object) -> Web:
    return Web(**({"clock": time, "sleep": time.sleep, "now": time, "resolve": lambda _: [PUBLIC]} | about))


def test_every_request_says_who_asks(server: Server) -> None:
    server.paths["/a"] = (200, {}, b"x")
    web(Clock(), contact="me@example.org").get(f"{server.url}/a", limit=10, named=server.place)
    said = server.asked[0][2]["User-Agent"]
    assert said.startswith("Faultscape/")
    assert "me@example.org" in said
    for wrong in ("me", "a b@c", "a@b\r\nX: y", "a@b (c)"):
        with refused(OptionError, "expected an e-mail address"):
            agent(wrong)


def test_a_host_is_asked_no_faster_than_the_rate(server: Server) -> None:
    server.paths["/a"] = (200, {}, b"x")
    clock = Clock()
    slow = web(clock, rate=0.5)
    for _ in range(3):
        slow.get(f"{server.url}/a", limit=10, named=server.place)
    assert clock.slept == [2.0, 2.0]
    clock.time += 10
    slow.get(f"{server.url}/a", limit=10, named=server.place)
    assert clock.slept == [2.0, 2.0]


def test_too_many_requests_waits_as_long_as_it_is_told(server: Server) -> None:
    late = "Thu, 01 Jan 1970 00:17:20 GMT"  # 40 seconds after the made clock's 1000
    server.paths["/a"] = [
        (429, {"Retry-After": "17"}, b""),
        (503, {"Retry-After": late}, b""),
        (500, {}, b""),
        (200, {}, b"x"),
    ]
    clock = Clock()
    assert web(clock, rate=1000).get(f"{server.url}/a", limit=10, named=server.place).body == b"x"
    assert clock.slept[0] == 17
    assert clock.slept[1] == pytest.approx(40 - 17, abs=0.1)
    assert clock.slept[2] == 4  # the third time, and no word of how long


def test_a_server_that_stays_busy_is_asked_five_times(server: Server) -> None:
    server.paths["/a"] = (503, {}, b"")
    with refused(WebError, r"HTTP 503 Service Unavailable \(tried 5 times\)"):
        web(Clock()).get(f"{server.url}/a", limit=10, named=server.place)
    assert server.times("/a") == 5


def test_a_host_that_wants_a_long_rest_is_left_alone_for_the_run(server: Server) -> None:
    server.paths["/a"] = (429, {"Retry-After": "86400"}, b"")
    server.paths["/b"] = (200, {}, b"x")
    clock = Clock()
    polite = web(clock)
    for path in ("/a", "/b"):
        with pytest.raises(ClosedError, match="asks to wait 86400 seconds; run the same command again later"):
            polite.get(f"{server.url}{path}", limit=10, named=server.place)
    assert len(server.asked) == 1
    assert clock.slept == []


def test_a_host_that_cannot_be_reached_is_waited_for_once() -> None:
    with socket.socket() as free:  # bound, and nobody listens
        free.bind((HOME, 0))
        url = f"http://{HOME}:{free.getsockname()[1]}/a"
        clock = Clock()
        polite = web(clock, rate=1000)
        for _ in range(3):
            with pytest.raises(ClosedError, match=r"Connection refused \(tried 5 times\)"):
                polite.get(url, limit=10, named=urlsplit(url).netloc)
    assert [s for s in clock.slept if s >= 1] == [1, 2, 4, 8]


def test_what_is_gone_is_asked_once(server: Server) -> None:
    with refused(WebError, "HTTP 404 Not Found"):
        web(Clock()).get(f"{server.url}/none", limit=10, named=server.place)
    assert server.times("/none") == 1


def test_a_body_is_bounded_by_what_is_said_and_by_what_comes(server: Server) -> None:
    server.paths["/said"] = (200, {}, b"x" * 100)
    server.paths["/silent"] = (200, {"Content-Length": "", "Connection": "close"}, b"x" * 100)
    for path in ("/said", "/silent"):
        with refused(WebError, r"at most 99|larger than 99"):
            web(Clock()).get(f"{server.url}{path}", limit=99, named=server.place)
        assert web(Clock()).get(f"{server.url}{path}", limit=100, named=server.place).body == b"x" * 100


def test_a_body_that_breaks_off_is_asked_for_again(server: Server) -> None:
    server.paths["/a"] = [(200, {"Content-Length": "9", "Connection": "close"}, b"torn"), (200, {}, b"whole")]
    assert web(Clock()).get(f"{server.url}/a", limit=99, named=server.place).body == b"whole"


def test_an_answer_that_takes_too_long_is_given_up(server: Server) -> None:
    """Each piece of 64 kB comes some seconds after the last."""
    server.paths["/a"] = (200, {}, b"x" * 10_000_000)
    clock = Steps(4)
    with refused(WebError, "takes longer than 300 seconds for one answer"):
        web(clock).get(f"{server.url}/a", limit=20_000_000, named=server.place)
    assert server.times("/a") == 1
    assert clock.slept == []


def test_an_answer_that_trickles_is_given_up(server: Server) -> None:
    """Of an answer that does not end a byte comes, and 20 seconds pass whenever somebody looks."""
    server.paths["/a"] = (200, {"Content-Length": "1000"}, b"x")
    server.hold.add("/a")
    clock = Steps(20)
    with refused(WebError, "sends fewer than 1,000 bytes a second"):
        web(clock).get(f"{server.url}/a", limit=2000, named=server.place)
    assert clock.time < 1000 + 200
    assert clock.slept == []


def test_a_host_that_fails_five_times_is_closed_and_waited_for_once(server: Server) -> None:
    server.paths |= {f"/{k}": (503, {}, b"") for k in range(9)} | {
        "/good": (200, {}, b"x"),
        "/gone": (404, {}, b""),
    }
    clock = Clock()
    polite = web(clock, rate=1000)

    def ask(path: str) -> str:
        with refused(WebError) as told:
            polite.get(f"{server.url}{path}", limit=10, named=server.place)
        return f"{type(told.value).__name__}: {told.value}"

    assert ask("/0").endswith("HTTP 503 Service Unavailable (tried 5 times)")
    assert [s for s in clock.slept if s >= 1] == [1, 2, 4, 8]
    assert polite.get(f"{server.url}/good", limit=10, named=server.place).body == b"x"  # and all is forgotten
    assert ask("/0").endswith("(tried 5 times)")
    assert [ask(f"/{k}") for k in (1, 2, 3)] == [
        f"WebError: {server.place}: HTTP 503 Service Unavailable"
    ] * 3
    assert "ClosedError" in ask("/4")
    asked = len(server.asked)
    assert "it failed 5 times in a row and is skipped; run the same command again later" in ask("/5")
    assert "is skipped; run the same command again later" in ask("/good")
    assert len(server.asked) == asked
    assert [s for s in clock.slept if s >= 1] == [1, 2, 4, 8] * 2


def test_redirects_are_followed_where_they_may_lead(server: Server) -> None:
    server.paths |= {
        "/a": (302, {"Location": "/b"}, b""),
        "/b": (200, {}, b"x"),
        "/round": (301, {"Location": "/round"}, b""),
    }
    assert web(Clock()).get(f"{server.url}/a", limit=10, named=server.place).body == b"x"
    with refused(WebError, "redirected more than 5 times"):
        web(Clock()).get(f"{server.url}/round", limit=10, named=server.place)


@pytest.mark.parametrize(
    "place",
    [
        "http://10.0.0.1/x",
        "http://169.254.169.254/latest",
        "http://[::1]/x",
        "http://[::ffff:127.0.0.1]/x",
        "http://localhost/x",
        "http://127.0.0.2/x",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://user:word@example.org/x",
    ],
)
def test_no_redirect_leads_into_a_private_network_or_to_another_scheme(server: Server, place: str) -> None:
    server.paths["/a"] = (302, {"Location": place}, b"")
    with refused(WebError, r"private network|expected http|user name"):
        web(Clock()).get(f"{server.url}/a", limit=10, named=server.place)
    assert len(server.asked) == 1


def test_loopback_is_asked_only_when_a_person_named_it(server: Server) -> None:
    with refused(WebError, r"127\.0\.0\.1 is an address on a private network"):
        web(Clock()).get(f"{server.url}/a", limit=10)
    assert not server.asked


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.7", "::1", "fe80::1%eth0", "0.0.0.0", "100.64.0.1", "224.0.0.1"]
)
def test_a_name_that_leads_into_a_private_network_is_refused(address: str) -> None:
    with refused(WebError, r"example\.org resolves to"):
        web(Clock(), resolve=lambda _: [PUBLIC, address]).get("http://example.org/a", limit=10)


def test_a_name_that_changes_its_mind_is_refused_before_anything_is_sent(server: Server) -> None:
    """The look-up said that localhost.test is public; the connection then reaches loopback."""
    port = server.url.rpartition(":")[2]
    with pytest.MonkeyPatch.context() as patch:
        real = socket.getaddrinfo
        patch.setattr(socket, "getaddrinfo", lambda _, *rest, **more: real("127.0.0.1", *rest, **more))
        with refused(WebError, r"rebound\.test:\d+ resolves to 127\.0\.0\.1"):
            web(Clock()).get(f"http://rebound.test:{port}/a", limit=10)
    assert not server.asked


def test_a_proxy_may_be_private_and_whoever_is_asked_around_it_is_looked_at(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.paths["/a"] = (200, {}, b"x")
    monkeypatch.setenv("http_proxy", server.url)
    assert web(Clock()).get("http://rebound.test/a", limit=10).body == b"x"
    port = server.url.rpartition(":")[2]
    monkeypatch.setenv("no_proxy", f"rebound.test:{port}")
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest, **more: real(HOME, *rest, **more))
    with refused(WebError, r"rebound\.test:\d+ resolves to 127\.0\.0\.1"):
        web(Clock()).get(f"http://rebound.test:{port}/a", limit=10)
    assert server.times("/a") == 1


def test_who_names_a_server_names_no_other_of_its_host(server: Server) -> None:
    server.paths["/a"] = (302, {"Location": f"http://{HOME}:9/x"}, b"")
    with refused(WebError, "private network"):
        web(Clock()).get(f"{server.url}/a", limit=10, named=server.place)


def test_nobody_else_leads_back_to_the_server_that_was_named(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is the proxy too, and so plays example.org."""
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", HOME)
    server.paths |= {
        "/a": (302, {"Location": "http://example.org/b"}, b""),
        "/b": (302, {"Location": f"{server.url}/c"}, b""),
        "/c": (200, {}, b"x"),
    }
    for start in (f"{server.url}/a", "http://example.org/b"):
        with refused(WebError, "private network"):
            web(Clock()).get(start, limit=10, named=server.place)
    assert server.times("/b") == 2
    assert server.times("/c") == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "http://",
        "javascript:alert(1)",
        "http://a\nb/",
        "http://[::1",
        "data:image/png;base64,x",
        "http://a:x/",
        "http://localhos%74/",
        "http://127%2e0%2e0%2e1/",
        "http://[fe80::1%25eth0]/",
    ],
)
def test_what_is_no_url_is_said(url: str) -> None:
    with refused(WebError):
        addresses.clean(url)


def test_json_is_asked_again_while_the_server_is_busy(server: Server) -> None:
    busy = (200, {"Retry-After": "5"}, json.dumps({"busy": 1}).encode())
    server.paths["/api"] = [busy, busy, (200, {}, b'{"done": 1}')]
    clock = Clock()
    said = web(clock, rate=1000).json(
        f"{server.url}/api", {"q": "a b"}, named=server.place, busy=lambda said: "busy" in said
    )
    assert said == {"done": 1}
    assert clock.slept == [5, 5]
    assert server.asked[0][1] == {"q": "a b"}
    server.paths["/api"] = (200, {}, b"<html>")
    with refused(WebError, "its answer is not JSON") as told:
        web(Clock()).json(f"{server.url}/api", {"api_key": "secret"}, named=server.place)
    assert "secret" not in str(told.value)
