"""A campaign for tests: a study with duels, a server of its own process, and people who answer over HTTP."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import faultscape as fs
import made

KEYS = itertools.count(1)


def study(folder: Path, images: int = 12, models: int = 3, per_class: int = 2) -> made.Corpus:
    """Make FOLDER/study, from which duels are selected; its corpus and its models' maps lie beside it."""
    corpus = made.corpus(folder / "corpus", images=images, models=models)
    root = made.compared_study(corpus, folder / "study", shard_size=8)
    fs.select(root, per_class=per_class)
    return corpus


@dataclass
class Served:
    """A server that runs, and where."""

    process: subprocess.Popen[str]
    host: str
    port: int
    people: list[Person] = field(default_factory=list)

    def person(self, name: str) -> Person:
        self.people.append(Person(self.host, self.port))
        return self.people[-1].enter(name)

    def stop(self) -> str:
        """End it as Ctrl-C does, and return what it printed since it began."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=60)[0]
        assert self.process.returncode == 0, said
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def server(root: Path, *words: str, **environment: str) -> Iterator[Served]:
    """`label serve` on a port that is free; it is killed in the end where it still runs."""
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", "0", *words]
    inherited = {**os.environ, **environment}
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=inherited
    ) as process:
        assert process.stdout is not None
        try:
            said = ""
            for line_ in process.stdout:
                said += line_
                if found := re.search(r"serving at http://([\d.]+):(\d+)/", line_):
                    break
            else:
                raise AssertionError(f"it did not begin: {said}")
            yield (served := Served(process, found[1], int(found[2])))
            for person in served.people:
                person.close()
        finally:
            if process.poll() is None:
                process.kill()


@dataclass
class Person:
    """Somebody with a browser: cookie, token, and what they had confirmed (`taken`) and refused."""

    host: str
    port: int
    cookie: str = ""
    token: str = ""
    taken: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._held = http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """What the server answers; a connection that was idle for too long is opened anew for a GET, as
        browsers do.
        """
        try:
            return self._ask(method, path, body, **headers)
        except ConnectionError:
            if method != "GET":
                raise
        return self._ask(method, path, body, **headers)

    def _ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            self._held.request(
                method,
                path,
                body,
                {"cookie": f"faultscape={self.cookie}", "x-faultscape": self.token, **named},
            )
            answer = self._held.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        except http.client.HTTPException:
            self._held.close()
            raise ConnectionError from None
        except OSError:
            self._held.close()
            raise

    def enter(self, name: str) -> Person:
        status, _, headers = self.ask(
            "POST",
            "/enter",
            urlencode({"name": name}).encode(),
            content_type="application/x-www-form-urlencoded",
        )
        assert status == 303
        self.cookie = headers["set-cookie"].partition("=")[2].partition(";")[0]
        self.token = re.findall(r'data-token="([^"]+)"', self.ask("GET", "/work")[1].decode())[0]
        return self

    def again(self, served: Served) -> Person:
        """The same browser before a server that was started again."""
        served.people.append(
            Person(served.host, served.port, self.cookie, self.token, self.taken, self.refused)
        )
        return served.people[-1]

    def close(self) -> None:
        self._held.close()

    def json(self, path: str, body: object = None) -> tuple[int, Any]:
        sent = b"" if body is None else json.dumps(body).encode()
        status, data, _ = self.ask(
            "GET" if body is None else "POST", path, sent, content_type="application/json"
        )
        return status, json.loads(data)

    def items(self, number: int = 1, have: str = "") -> list[dict[str, Any]]:
        status, found = self.json(f"/api/items?number={number}&have={have}")
        assert status == 200, found
        return found["items"]

    def left(self) -> int:
        """How many items the server says are left, after one more is handed out."""
        return int(self.json("/api/items?number=1")[1]["left"])

    def row(self, item: Mapping[str, Any], chosen: str = "left", **more: Any) -> dict[str, Any]:
        return {
            "key": f"key-{os.getpid()}-{next(KEYS):06d}",
            "id": item["id"],
            "repeat": item["repeat"],
            "chosen": chosen,
            "seconds": 1.5,
            **more,
        }

    def send(self, *rows: Mapping[str, Any]) -> tuple[int, Any]:
        """Send answers, and note which were confirmed."""
        status, found = self.json("/api/answers", {"answers": list(rows)})
        if status == 200:
            self.taken += found["taken"]
            self.refused += [row["why"] for row in found["refused"]]
        return status, found
