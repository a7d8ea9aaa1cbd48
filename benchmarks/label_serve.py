"""How long people wait who answer in `label serve`, fifty at a time over HTTP: ``python
benchmarks/label_serve.py [--postgres] [--seconds 60]``.

Conventions: 240 photos of 512 x 512, 6 models, duels. A cycle is five requests on one connection, one after
the other, each with the session's cookie: the next item, its photo, the overlays of two models, and the
answer, which is in the database once it is confirmed. Cycles begin at fixed times, whether those before have
ended or not, and a time is counted from when its cycle was to begin: a server that falls behind shows it. One
answer in a hundred is sent twice. Server and clients are processes of their own. Cold: the server has just
begun and shown one picture, and each overlay that was not shown yet is read from the store and painted. Then
every key that was confirmed is looked for in the database, where it must be once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

IMAGES, MODELS, SIDE, PEOPLE, PER_CLASS = 240, 6, 512, 50, 4
COLD, WARM = 25, 50  # cycles a second
REQUESTS = ("item", "photo", "left", "right", "answer")


class Client:
    """One person's browser: a connection that is kept, a cookie and a token."""

    def __init__(self, host: str, port: int, number: int, cookie: str, token: str) -> None:
        self.host, self.port, self.number, self.cookie, self.token = host, port, number, cookie, token
        self.lock, self.times, self.confirmed = (
            asyncio.Lock(),
            defaultdict[str, list[float]](list),
            list[str](),
        )
        self.pictures, self.finished, self.reader = Counter[str](), False, None

    async def ask(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer."""
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\ncookie:"
            f" {self.cookie}\r\nx-faultscape: {self.token}\r\ncontent-type: {kind}\r\ncontent-length:"
            f" {len(body)}\r\n\r\n".encode()
            + body
        )
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        data = await self.reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.writer.close()
            self.reader = None
        return int(lines[0].split()[1]), headers, data

    async def cycle(self, begin: float, number: int) -> None:
        """Answer one item; the time is counted from when the cycle was to begin."""
        async with self.lock:  # a person answers one at a time
            before = time.perf_counter()
            found = await self.get("item", "/api/items?number=1")
            if not (items := json.loads(found)["items"]):
                self.finished = True
                return
            item = items[0]
            await self.get("photo", item["photo"])
            for side in ("left", "right"):
                await self.get(side, item[side]["fill"])
            key = f"load-{os.getpid()}-{self.number}-{number}"
            row = {
                "key": key,
                "id": item["id"],
                "repeat": item["repeat"],
                "chosen": "left" if number % 3 else "right",
                "seconds": 1.0,
            }
            for _ in range(2 if number % 100 == 50 else 1):
                sent = time.perf_counter()
                status, _, data = await self.ask(
                    "POST", "/api/answers", json.dumps({"answers": [row]}).encode()
                )
                self.times["answer"].append(time.perf_counter() - sent)
                assert status == 200, data
                assert json.loads(data)["taken"] == [key], data
            self.confirmed.append(key)
            now = time.perf_counter()
            self.times["cycle"].append(now - begin)
            self.times["behind"].append(before - begin)

    async def get(self, name: str, path: str) -> bytes:
        """Return what an address holds."""
        begun = time.perf_counter()
        status, headers, data = await self.ask("GET", path)
        self.times[name].append(time.perf_counter() - begun)
        assert status == 200, (path, status, data[:200])
        if name in ("left", "right"):
            self.pictures[headers["etag"]] += 1
        return data


async def clients(
    host: str, port: int, known: list[tuple[str, str]], rate: float, seconds: float
) -> dict[str, Any]:
    """Return times and confirmed keys of people, known by cookie and token, who begin ``rate`` cycles a
    second together.
    """
    people = [Client(host, port, number, *of) for number, of in enumerate(known)]
    await people[0].cycle(time.perf_counter(), -1)  # the code of pictures is loaded once a server begins
    people[0].times.clear()
    people[0].pictures.clear()
    cpu, first = time.process_time(), time.perf_counter() + 0.5
    running = set[asyncio.Task[None]]()
    for number in range(int(rate * seconds)):
        begin = first + number / rate
        await asyncio.sleep(max(0.0, begin - time.perf_counter()))
        if all(one.finished for one in people):
            break
        task = asyncio.create_task(people[number % PEOPLE].cycle(begin, number))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    took = time.perf_counter() - first
    times = {name: [t for one in people for t in one.times[name]] for name in (*REQUESTS, "cycle", "behind")}
    pictures = sum((one.pictures for one in people), Counter[str]())
    return {
        "times": times,
        "confirmed": [key for one in people for key in one.confirmed],
        "seconds": took,
        "cpu": (time.process_time() - cpu) / took,
        "new": len(pictures) / max(1, pictures.total()),
    }


def make(folder: Path) -> Path:
    """Make the study."""
    import made_study

    import faultscape as fs

    made_study.write_files(folder, IMAGES, MODELS, SIDE)
    root = folder / "study"
    fs.collect(str(root), str(folder / "photos"), classes=made_study.CLASSES)
    fs.predict(
        str(root), {name: str(folder / "maps" / name) for name in made_study.names(MODELS)}, engine="local"
    )
    fs.compare(str(root), engine="local")
    fs.select(str(root), per_class=PER_CLASS)
    return root


def run(root: Path, words: list[str], rate: float, seconds: float, warm: float = 0.0) -> dict[str, Any]:
    """Serve a study, have people answer, and return what they saw; with ``warm``, after so many seconds that
    do not count.
    """
    line = [
        sys.executable,
        "-m",
        "faultscape",
        "label",
        "serve",
        str(root),
        "--port",
        "0",
        "--overlap",
        str(PEOPLE),
        *words,
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server, ExitStack() as held:
        held.callback(server.send_signal, signal.SIGINT)  # or a mistake here would wait for it without end
        assert server.stdout is not None
        port = next(
            found[1]
            for text in server.stdout
            if (found := re.search(r"answer at http://127.0.0.1:(\d+)/", text))
        )
        confirmed, known = list[str](), json.dumps(people(root))
        for rate_, time_ in ((COLD, warm), (rate, seconds)):
            if not time_:
                continue
            before, begun = processor(server.pid), time.perf_counter()
            load = [
                sys.executable,
                __file__,
                "--clients",
                port,
                "--rate",
                str(rate_),
                "--seconds",
                str(time_),
            ]
            out = subprocess.run(load, input=known, stdout=subprocess.PIPE, check=True, text=True).stdout
            share = (processor(server.pid) - before) / (time.perf_counter() - begun)
            found = json.loads(out)
            confirmed += found["confirmed"]
    return {**found, "confirmed": confirmed, "server": share}


def people(root: Path) -> list[tuple[str, str]]:
    """Return the cookies and tokens of people who are let in past the door, which lets few in a minute from
    one address.
    """
    from fastapi import Request, Response

    from faultscape.study.answers.annotators import Annotators
    from faultscape.verbs.serve.gate import Gate, server_key

    gate, out = Gate(Annotators(root), server_key(root), open_=True), list[tuple[str, str]]()
    known = {one.name: one for one in gate.people.everybody()}
    for number in range(PEOPLE):
        response, name = Response(), f"person {number}"
        found = known.get(name) or gate.people.invite(name)[0]
        gate.admit(
            Request({"type": "http", "scheme": "http", "server": ("", 80), "path": "/", "headers": []}),
            response,
            found,
        )
        out.append((response.headers["set-cookie"].partition(";")[0], gate.token(found)))
    return out


def processor(pid: int) -> float:
    """Return how many seconds of processor a process took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kept(root: Path) -> Counter[str]:
    """Return how often each key of an answer is in the database."""
    from faultscape.study.answers.choices import Choices

    return Counter(one.key.partition(":")[2] for one in Choices(root).rows() if one.key)


def row(title: str, found: dict[str, Any]) -> str:
    """Return a row of the table."""
    times = {
        name: np.percentile(np.array(values) * 1000, (50, 95, 99)) for name, values in found["times"].items()
    }
    rate = len(found["times"]["cycle"]) / found["seconds"]
    numbers = " | ".join("{:.0f} / {:.0f} / {:.0f}".format(*times[name]) for name in ("cycle", *REQUESTS))
    return (
        f"| {title} | {rate:.0f} | {numbers} | {100 * found['new']:.0f} % | {100 * found['server']:.0f} % |"
        f" {100 * found['cpu']:.0f} % |"
    )


def main() -> None:
    """Measure, check and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--postgres", action="store_true", help="also on a PostgreSQL server, which is started for it"
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--study", type=Path, help="a folder in which to make the study, or where it is")
    parser.add_argument("--clients", type=int)
    parser.add_argument("--rate", type=float)
    asked = parser.parse_args()
    if asked.clients:
        print(
            json.dumps(
                asyncio.run(
                    clients("127.0.0.1", asked.clients, json.load(sys.stdin), asked.rate, asked.seconds)
                )
            )
        )
        return
    with ExitStack() as held:
        folder = asked.study or Path(held.enter_context(tempfile.TemporaryDirectory()))
        root = folder / "study" if (folder / "study" / "study.toml").exists() else make(folder)
        databases: list[tuple[str, list[str]]] = [("SQLite", [])]
        if asked.postgres:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
            import postgres_server

            databases.append(
                ("PostgreSQL", ["--database", held.enter_context(postgres_server.running()).address()])
            )
        model = next(
            text.partition(":")[2].strip()
            for text in Path("/proc/cpuinfo").read_text().splitlines()
            if text.startswith("model name")
        )
        print(
            f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before; Python"
            f" {platform.python_version()}, "
            + ", ".join(
                f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "sqlalchemy", "numpy", "pillow")
            )
        )
        print(
            f"| answers in | cycles a second | cycle, p50 / p95 / p99 ms | {' | '.join(REQUESTS)} | overlays"
            " painted | server's processor | clients' processor |"
        )
        print(f"|---|---|---|{'---|' * (len(REQUESTS) + 3)}")
        settings = (root / "study.toml").read_text()
        for name, words in databases:
            (root / "answers.sqlite").unlink(missing_ok=True)
            (root / "study.toml").write_text(settings.partition("[answers]")[0])
            confirmed = list[str]()
            for title, rate, seconds, warm in (
                (f"{name}, cold", COLD, asked.seconds / 4, 0.0),
                (f"{name}, overlays kept", WARM, asked.seconds, asked.seconds / 3),
            ):
                found = run(root, words, rate, seconds, warm)
                confirmed += found["confirmed"]
                print(row(title, found), flush=True)
            there = kept(root)
            lost, twice = (
                [key for key in confirmed if not there[key]],
                [key for key, times in there.items() if times > 1],
            )
            print(
                f"<!-- {name}: {len(confirmed)} answers confirmed, {len(lost)} of them lost, {len(twice)}"
                f" there twice; load {os.getloadavg()[0]:.1f} -->"
            )
            assert len(set(confirmed)) == len(confirmed)
            assert not lost
            assert not twice


if __name__ == "__main__":
    main()
