"""What goes wrong while people answer: a server that is killed, a disk that is full, two servers, lines of
the command beside one, a study that changes.
"""

from __future__ import annotations

import json
import resource
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import answering
import faultscape as fs
import made
import made_served
import postgres_server
from faultscape.errors import OptionError, StudyError
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotator, Annotators
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.secret import secret_of
from faultscape.study.folder import put
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve import campaign as campaigns
from faultscape.verbs.serve.agenda import stamp_of
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.options import CampaignRules
from faultscape.web.app import asset
from made_served import Person, Served
from refusals import refused, told

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, made.Corpus]:
    folder = tmp_path_factory.mktemp("faults")
    return folder / "study", made_served.study(folder)


@pytest.fixture
def study(world: tuple[Path, made.Corpus], tmp_path: Path) -> Path:
    shutil.copytree(world[0], tmp_path / "study")
    return tmp_path / "study"


def test_files_of_pages_are_sent_while_the_database_is_locked(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked, waiting = threading.Event(), threading.Semaphore(0)

    def everybody(_: Annotators) -> list[Annotator]:
        waiting.release()
        assert unlocked.wait(30)
        return []

    with answering.served(study, invites=True) as held, ExitStack() as stack:
        monkeypatch.setattr(Annotators, "everybody", everybody)
        host, port = held.url.removeprefix("http://").rstrip("/").split(":")

        def ask(*lines: str) -> socket.socket:
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            client.sendall("\r\n".join([*lines, f"Host: {host}", "", ""]).encode())
            return client

        try:
            asked = []
            for path in ("/api/answers", "/masks", "/leave", "/people", "/check/0", "/tags/0"):
                asked.append(ask(f"POST {path} HTTP/1.1", "Content-Length: 0"))
                assert waiting.acquire(timeout=20), path
                assert ask(f"GET {asset('app.css')} HTTP/1.1").recv(12) == b"HTTP/1.1 200", path
            asked += [ask("GET /work HTTP/1.1") for _ in range(60)]  # more than there are threads
            for _ in range(34):
                assert waiting.acquire(timeout=20)
            assert ask(f"GET {asset('work.js')} HTTP/1.1").recv(12) == b"HTTP/1.1 200"
        finally:
            unlocked.set()
        assert {client.recv(12) for client in asked} == {b"HTTP/1.1 401"}


def keys(study: Path) -> Counter[str]:
    """How often each key of an answer is in the database."""
    return Counter(one.key.partition(":")[2] for one in Choices(study).rows() if one.key)


def beside(study: Path) -> list[str]:
    return sorted(path.name for path in study.glob("answers.sqlite*"))


# A server of its own process


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_confirmed_is_there_once_though_the_server_is_killed_among_eight_who_write(
    study: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    words = ["--overlap", "8", "--repeats", "0.3"]
    if kind == "postgres":
        server: postgres_server.Server = request.getfixturevalue("postgres")
        words += ["--database", server.address()]
    enough, unsure = threading.Event(), dict[int, dict[str, object]]()

    def write(place: int, person: Person) -> None:
        with suppress(ConnectionError):
            while items := person.items(2):
                for item in items:
                    unsure[place] = row = person.row(item)
                    status, _ = person.send(row)
                    assert status == 200
                    del unsure[place]
                if sum(len(one.taken) for one in people) > 16:
                    enough.set()

    with made_served.server(study, *words) as served:
        people = [served.person(f"person {k}") for k in range(8)]
        threads = [threading.Thread(target=write, args=(k, person)) for k, person in enumerate(people)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        served.kill()
        for thread in threads:
            thread.join()
    confirmed = [key for person in people for key in person.taken]
    assert len(confirmed) > 8
    held = keys(study)
    assert set(confirmed) <= held.keys()
    assert set(held.values()) == {1}
    assert len(told("rank", study)) > 0  # whoever asks next finds a database that is whole
    with made_served.server(study, *(words if kind == "postgres" else words[:4])) as served:
        again = [person.again(served) for person in people]
        for place, row in unsure.items():  # as their browsers do: what was not confirmed is sent again
            assert again[place].send(row) == (200, {"taken": [row["key"]], "refused": []})
        for person in again:
            while items := person.items(5):
                person.send(*(person.row(item) for item in items))
        said = served.stop()
    assert "Traceback" not in said
    held = keys(study)
    assert {key for person in again for key in person.taken} == held.keys()
    assert set(held.values()) == {1}
    asked = Counter(
        (one.annotator, one.image, one.first, one.second, one.repeat) for one in Choices(study).rows()
    )
    assert set(asked.values()) == {1}
    assert all(person.refused == [] for person in again)
    assert beside(study) == (["answers.sqlite"] if kind == "sqlite" else [])


@pytest.fixture(scope="module")
def served(
    world: tuple[Path, made.Corpus], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Served, Served]]:
    """Two servers of one study."""
    study = tmp_path_factory.mktemp("two") / "study"
    shutil.copytree(world[0], study)
    with (
        made_served.server(study, "--overlap", "4") as one,
        made_served.server(study, "--overlap", "4") as other,
    ):
        yield study, one, other
        assert "Traceback" not in one.stop() + other.stop()
        assert beside(study) == ["answers.sqlite"]


def test_of_two_servers_each_takes_what_the_other_handed_out(served: tuple[Path, Served, Served]) -> None:
    study, one, other = served
    ann = one.person("ann")
    elsewhere = ann.again(other)
    first, second = ann.items(2)
    assert elsewhere.send(elsewhere.row(first)) == (200, {"taken": elsewhere.taken, "refused": []})
    row = ann.row(second)
    assert [person.send(row)[0] for person in (ann, elsewhere)] == [200, 200]
    assert elsewhere.ask("GET", second["left"]["fill"])[0] == 200
    assert keys(study)[str(row["key"])] == 1
    left = {ann.left(), elsewhere.left()}
    assert len(left) == 1 or max(left) - min(left) <= 1


def test_a_disk_that_is_full_confirms_nothing_and_loses_nothing(served: tuple[Path, Served, Served]) -> None:
    study, one, _ = served
    ben = one.person("ben")
    held = ben.items(3)
    rows = [ben.row(item) for item in held]
    pid, full = one.process.pid, (study / "answers.sqlite").stat().st_size // 2
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
    try:
        status, answer = ben.send(*rows)
        assert status == 409
        assert answer.keys() == {"words"}
        assert "cannot write" in answer["words"]
        assert len(answer["words"].splitlines()) == 1
        assert ben.taken == []
        asked = ",".join(f"{item['id']}:0" for item in held)
        status, answer = ben.json(f"/api/items?number=3&have={asked}")
        assert (status, "cannot write" in answer["words"]) == (409, True)
        assert ben.ask("GET", "/work")[0] == 200
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    more = ben.items(3, asked)
    assert ben.send(*rows, *(ben.row(item) for item in more)) == (200, {"taken": ben.taken, "refused": []})
    assert {keys(study)[key] for key in ben.taken} == {1}
    secret = secret_of(Database(study))
    handed = {
        (secret.id_of(one.item), one.repeat)
        for one in fs.study.answers.annotators.Annotators(study).handed()
        if one.annotator in _pseudonyms(study, "ben")
    }
    assert {
        (item["id"], item["repeat"]) for item in (*held, *more)
    } <= handed  # or a server that is started again would not know them


def _pseudonyms(study: Path, name: str) -> set[str]:
    return {
        one.pseudonym for one in fs.study.answers.annotators.Annotators(study).everybody() if one.name == name
    }


def test_lines_of_the_command_run_beside_a_server(
    served: tuple[Path, Served, Served], tmp_path: Path
) -> None:
    study, one, _ = served
    eve = one.person("eve")
    eve.send(*(eve.row(item) for item in eve.items(5)))
    assert len(told("rank", study)) > 0
    assert len(told("status", study)) > 0
    told("label", "answers", study, tmp_path / "said.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert {row["key"].partition(":")[2] for row in rows if row["kind"] == "choice"} >= set(eve.taken)
    told("label", "import", study, tmp_path / "said.jsonl")  # what stands already is left out
    assert set(keys(study).values()) == {1}
    eve.send(*(eve.row(item) for item in eve.items(5)))
    assert {keys(study)[key] for key in eve.taken} == {1}


# In this process: a campaign whose study changes under it


@pytest.fixture
def open_(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Opens campaigns that look for changes each time they are asked."""
    monkeypatch.setattr(campaigns, "_LOOKED", 0.0)
    held: list[Database] = []

    def opened(study: Path, **rules: object) -> Campaign:
        held.append(Database(study, stay_open=True))
        options = LabelServeOptions(study=str(study), campaign=CampaignRules(**{"repeats": 0.0, **rules}))
        return Campaign(Study(study, database=held[-1]), options)

    yield opened
    for database in held:
        database.close()


def take(campaign: Campaign, who: str, given: campaigns.Given, **more: object) -> str:
    return campaign.take(
        who,
        {
            "key": f"key-{next(made_served.KEYS):06d}",
            "id": given.item.id,
            "repeat": given.repeat,
            "chosen": "left",
            **more,
        },
    )


def answer_all(campaign: Campaign, who: str) -> list[campaigns.Given]:
    out = []
    while given := campaign.items_for(who, (), 4):
        for one in given:
            assert take(campaign, who, one) == ""
        out += given
    return out


def test_a_model_that_is_selected_for_while_people_answer_is_asked_about(
    study: Path, world: tuple[Path, made.Corpus], open_
) -> None:
    campaign = open_(study)
    before = answer_all(campaign, "ann")
    new = world[1].models["model-2"].parent / "new"
    if not new.exists():
        shutil.copytree(world[1].models["model-2"], new)
        for path in sorted(new.rglob("*.png"))[::2]:
            shutil.copy(world[1].truth / path.relative_to(new), path)
    fs.predict(str(study), {"new": str(new)}, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study), per_class=2)
    after = answer_all(campaign, "ann")
    assert after
    assert {one.item.id for one in after}.isdisjoint(one.item.id for one in before)
    assert all(
        "new" in (one.item.first, one.item.second)
        for one in after
        if (one.item.image, one.item.first, one.item.second)
        not in {(b.item.image, b.item.first, b.item.second) for b in before}
    )
    assert any("new" in (one.item.first, one.item.second) for one in after)


def test_a_map_that_is_made_anew_is_asked_about_again_and_an_answer_about_the_one_before_is_not_taken(
    study: Path, world: tuple[Path, made.Corpus], open_, tmp_path: Path
) -> None:
    corpus, new = world[1], tmp_path / "new"
    shutil.copytree(corpus.models["model-2"], new)
    fs.predict(str(study), {"model-2": str(new)}, engine="local")
    campaign = open_(study, overlap=1)
    done = answer_all(campaign, "ann")
    changed = next(one.item.image for one in done if "model-2" in (one.item.first, one.item.second))
    late = open_(study, overlap=2).items_for("ben", (), 1)[0]
    for image in {changed, late.item.image}:
        made.write(new / f"{image}.png", corpus.truths[corpus.ids.index(image)])
    fs.predict(str(study), {"model-2": str(new)}, engine="local")
    after = answer_all(campaign, "ann")
    assert {(one.item.image, "model-2" in (one.item.first, one.item.second)) for one in after} <= {
        (changed, True),
        (late.item.image, True),
    }
    assert changed in {one.item.image for one in after}
    stale = [
        one for one in done if one.item.image == changed and "model-2" in (one.item.first, one.item.second)
    ]
    assert (
        take(campaign, "ann", stale[0])
        == "this item is no longer asked: its image was discarded, or the selection changed"
    )
    counted = Choices(study).choices()
    assert len(counted) == len(done)  # of each question the latest
    assert {one.first_shown for one in counted if one.image == changed} <= {
        campaign.shown_digest(m, changed) for m in corpus.models
    }


def test_an_image_that_leaves_the_corpus_is_asked_about_no_more(study: Path, open_) -> None:
    campaign = open_(study)
    given = campaign.items_for("ann", (), 2)
    gone = given[0].item.image
    fs.collect(str(study), remove=[gone])
    assert gone not in {one.item.image for one in answer_all(campaign, "ann")}
    assert "no longer asked" in take(campaign, "ann", given[0])
    with pytest.raises(campaigns.NotFoundError):
        campaign.image_of(given[0].item)


def test_a_selection_that_is_gone_stops_the_asking_in_one_sentence_until_it_is_there_again(
    study: Path, open_
) -> None:
    campaign = open_(study)
    given = campaign.items_for("ann", (), 2)
    kept = {path: path.read_bytes() for path in study.glob("selection*")}
    for path in kept:
        path.unlink()
    for _ in range(2):
        with refused(StudyError):
            campaign.items_for("ann", (), 2)
    assert take(campaign, "ann", given[0]) == ""  # what was asked before is taken
    for path, data in kept.items():
        path.write_bytes(data)
    assert [one.item.id for one in campaign.items_for("ann", (), 1)] == [given[1].item.id]


def test_models_that_are_called_something_else_go_on_where_they_were(study: Path, open_) -> None:
    campaign = open_(study, overlap=1)
    done = campaign.items_for("ann", (), 6)
    assert any("model-1" in (one.item.first, one.item.second) for one in done)
    for one in done:
        take(campaign, "ann", one)
    assert campaign.items_for("ben", (), 0) == []  # the campaign looks, and has seen these answers
    left = campaign.left_for("ann")
    fs.predict(str(study), rename={"model-1": "aardvark"})
    rest = answer_all(campaign, "ann")
    assert len(rest) == left
    assert "aardvark" in {one.item.first for one in rest}


def test_what_is_discarded_and_said_elsewhere_counts(study: Path, open_) -> None:
    campaign = open_(study, overlap=1)
    held = campaign.items_for("ann", (), 1)[0]
    asked = [campaign._asked.items[id_] for id_ in campaign._assignment.order]
    first, second = [one for one in asked if one.image != held.item.image][-2:]
    Answers(study).discard([(first.image, "blurred")], "by hand")
    Choices(study).add_all(
        [Choice(second.image, second.first, second.second, "first", "elsewhere")], "file.jsonl"
    )
    rest = answer_all(campaign, "ben")
    assert first.image not in {one.item.image for one in rest}
    assert (second.image, second.first, second.second) not in {
        (one.item.image, one.item.first, one.item.second) for one in rest
    }
    assert held.item.id not in {one.item.id for one in rest}  # ann has it in hand


def test_a_vote_to_discard_is_remembered_by_a_server_that_is_started_again(study: Path, open_) -> None:
    campaign = open_(study, overlap=3, discard_votes=2)
    given = campaign.items_for("ann", (), 1)[0]
    assert (
        campaign.take("ann", {"key": "discard-1", "id": given.item.id, "repeat": 0, "discard": "unreadable"})
        == ""
    )
    for one in (campaign, open_(study, overlap=3, discard_votes=2)):
        assert given.item.image not in {other.item.image for other in answer_all(one, "ann")}
    assert given.item.image in {other.item.image for other in answer_all(campaign, "ben")}


def test_what_could_not_be_noted_as_handed_is_as_if_it_had_not_been(
    study: Path, open_, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = open_(study)
    left = campaign.left_for("ann")

    def full(*_: object, **__: object) -> None:
        raise StudyError("cannot write answers.sqlite: OperationalError: database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "add", full)
        with refused(StudyError, "full"):
            campaign.items_for("ann", (), 3)
    assert campaign.left_for("ann") == left
    given = campaign.items_for("ann", (), 3)
    again = open_(study)
    assert [take(again, "ann", one) for one in given] == ["", "", ""]


def test_every_file_that_says_what_is_asked_is_looked_at(study: Path) -> None:
    options, held = LabelServeOptions(study=str(study)), Study(study)
    for name in (
        "study.toml",
        "corpus.parquet",
        "selection.csv",
        "predictions/model-1/manifest.json",
        "truth/labels/manifest.json",
    ):
        before = stamp_of(held, options)
        (study / name).parent.mkdir(parents=True, exist_ok=True)
        put(study / name, (study / name).read_bytes() if (study / name).exists() else b"{}\n")
        assert stamp_of(held, options) != before, name
    assert stamp_of(held, options) == stamp_of(held, options)


def test_choices_are_asked_by_what_they_tell_only_where_that_was_wished_of_enough_models(
    study: Path, tmp_path: Path, open_
) -> None:
    with refused(
        OptionError, "--adaptive needs choices between at least 7 models; this study has 3; remove --adaptive"
    ):
        open_(study, adaptive=True)
    made_served.study(tmp_path / "many", images=16, models=7, per_class=1)

    def apart(**rules: object) -> float:
        """How far apart the two models stand on average about which somebody is asked who sees that models
        are as good as their names say.
        """
        root, found = tmp_path / str(len(rules)), list[int]()
        shutil.copytree(tmp_path / "many" / "study", root)
        campaign = open_(root, **rules)
        for _ in range(22):
            (one,) = campaign.items_for("ann", (), 1)
            found.append(int(one.item.second[-1]) - int(one.item.first[-1]))
            assert take(campaign, "ann", one, chosen="left" if one.side == "first" else "right") == ""
        return float(np.mean(found[6:]))

    assert apart(adaptive=True) < 0.8 * apart()
