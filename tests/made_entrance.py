"""A campaign of choices behind its gate, whose names were made to do harm, and people's clients of its pages,
for tests.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
import made
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import ANNOTATOR, Annotators
from faultscape.study.answers.database import Database
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.rank.live import standings_now
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import COOKIE, Gate, _cookie_of, server_key
from faultscape.verbs.serve.options import origin_of
from faultscape.verbs.serve.server import app_of, routers_of
from faultscape.web.headers import App

HERE = "http://127.0.0.1:8760"
MODELS = ("zebranet", "okapinet", "quagganet")
CLASSES = ("sky", "road<b>'\"{{7*7}}", "car & <script>alert(1)</script>", "person\u202e", "tree")
IDS = (
    "part0/<img src=x onerror=alert(1)>",
    "part0/\"'><svg onload=alert(1)>",
    "part1/{{7*7}}{% raw %}",
    "part1/\u202egnp.exe \u200f",
    "part1/a&b;c#d?e=f%2f",
    *(f"part1/photo {k}" for k in range(5)),
)
HARM = "<script>alert('x')</script>\"{{7*7}}\u202e"


def study(folder: Path) -> Path:
    """A copy of a study with duels of three models, and two truths of which one is a person's; its photos lie
    elsewhere.
    """
    return Path(shutil.copytree(whole(), folder / "study"))


@lru_cache(maxsize=1)
def whole() -> Path:
    """The study that is copied; made once."""
    folder = Path(tempfile.mkdtemp(prefix="entrance-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rng = np.random.default_rng(5)
    truths = {id_: made.blobs(rng, (36, 48)) for id_ in IDS}
    for id_, truth in truths.items():
        made.write(folder / "photos" / f"{id_}.png", rng.integers(0, 256, (36, 48, 3), np.uint8))
        made.write(folder / "truth" / f"{id_}.png", truth)
        for m, name in enumerate(MODELS):
            made.write(folder / "maps" / name / f"{id_}.png", made.disturbed(rng, truth, 2 + 2 * m))
    entries = [
        {"index": k, "name": name, "color": [40 * k, 255 - 40 * k, 7 * k]} for k, name in enumerate(CLASSES)
    ]
    (folder / "classes.json").write_text(json.dumps({"ignore_index": 255, "classes": entries}))
    root = folder / "study"
    fs.collect(
        root, folder / "photos", classes=folder / "classes.json", storage=fs.options.Storage(shard_size=4)
    )
    fs.predict(str(root), {name: str(folder / "maps" / name) for name in MODELS}, engine="local")
    fs.compare(str(root), engine="local")
    fs.select(str(root), per_class=1)
    for truth in ("labels", "labels-eve"):
        fs.label.import_(str(root), str(folder / "truth"), truth=truth)
    return root


@dataclass
class Entrance:
    """A campaign, its gate and its app."""

    root: Path
    campaign: Campaign
    gate: Gate
    app: App

    @property
    def people(self) -> Annotators:
        return self.gate.people

    def routes(self) -> list[tuple[str, str]]:
        """All (method, path) that the app answers."""
        routers = routers_of(self.campaign, self.gate)
        return [
            (method, route.path)
            for router in routers
            for route in router.routes
            for method in sorted(route.methods)
        ]

    def standings(self, voices: Voices = EVERYBODY) -> Any:
        return standings_now(Study(self.root), "main", "labels", voices)

    def client(self, **headers: str) -> Any:
        """A browser that has not come in."""
        from fastapi.testclient import TestClient

        return TestClient(
            self.app, base_url=HERE, raise_server_exceptions=False, follow_redirects=False, headers=headers
        )

    def invited(self, name: str, role: str = ANNOTATOR) -> Person:
        """Somebody who came in, though not by the link: one address may not try many."""
        who, token = self.people.invite(name, role)
        client = self.client()
        client.cookies.set(COOKIE, self.gate._cookies.dumps(_cookie_of(who)))
        self.gate.forget()
        return Person(client, who.pseudonym, self.gate.token(who), token)


@dataclass
class Person:
    """A browser of somebody who came in, with the token of the pages that it loaded."""

    client: Any
    pseudonym: str
    token: str
    invitation: str

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(path, **more)

    def form(self, path: str, **fields: str) -> Any:
        """Send a form of a page."""
        return self.client.post(path, data={"token": self.token, **fields})

    def items(self, number: int = 5) -> list[dict[str, Any]]:
        answer = self.client.get("/api/items", params={"number": number})
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    def send(self, *rows: Any) -> dict[str, Any]:
        """Send answers, and return what was taken and refused."""
        answer = self.client.post(
            "/api/answers", json={"answers": list(rows)}, headers={"x-faultscape": self.token}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def entrance(root: Path, *, open_: bool = False, **options: Any) -> Iterator[Entrance]:
    """Open a study to people."""
    asked = LabelServeOptions(study=str(root), **options)
    if asked.address is not None:
        asked = replace(asked, address=origin_of(asked.address))
    database = Database(root, stay_open=True)
    database.create_tables()
    try:
        campaign = Campaign(Study(root, database=database), asked)
        gate = Gate(Annotators(root, database), server_key(root), open_=open_, address=asked.address)
        yield Entrance(root, campaign, gate, app_of(campaign, gate, [gate.name]))
    finally:
        database.close()


def addresses(text: str) -> set[str]:
    """All addresses of this server that a page or an answer in JSON names."""
    found = re.findall(r"(?:href|src|action|data-over)=\"(/[^\"]*)\"", text) + re.findall(
        r"\"(/[^\"\s]*)\"", text
    )
    return {one.replace("&amp;", "&") for one in found}


def filled(path: str, fill: Callable[[str], str]) -> str:
    """Put something in the place of each parameter of a route's path."""
    return re.sub(r"{(\w+)}", lambda found: fill(found[1]), path)
