"""What organisers see of answers: the verdict and the ranks that `rank` would write, by the names of people, with
or without some of them; and what tests say about each person.
"""

from __future__ import annotations

import random
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made
import made_entrance
from faultscape.ranking.standings_json import to_json
from faultscape.reading.choices import Voices
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import ORGANISER
from faultscape.study.answers.choices import Choice, Choices
from faultscape.verbs.serve import result_facts
from faultscape.verbs.serve.asked_items import ChoiceItem, choice_items
from faultscape.verbs.serve.pages import results as results_page
from faultscape.verbs.serve.result_facts import results
from made_entrance import Entrance, Person

CAREFUL, LEFT = ("Ann <b>Lee</b>", "Ben", "Cyd"), "Dan"


@pytest.fixture(scope="module")
def duels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, and a selection of duels without masks."""
    folder = tmp_path_factory.mktemp("duels")
    corpus = made.corpus(folder / "corpus", images=60, models=3)
    study = Path(made.compared_study(corpus, folder / "study", shard_size=64))
    fs.select(str(study), per_class=6)
    return Path(study)


@pytest.fixture
def entrance(duels: Path, tmp_path: Path) -> Iterator[Entrance]:
    with made_entrance.entrance(Path(shutil.copytree(duels, tmp_path / "study"))) as held:
        yield held


@pytest.fixture
def olga(entrance: Entrance) -> Person:
    return entrance.invited("Olga", ORGANISER)


def asked(entrance: Entrance) -> list[ChoiceItem]:
    return choice_items(Study(entrance.root).selection("main").now)


def say(who: str, item: ChoiceItem, chosen: str, left: str, seconds: float) -> Choice:
    return Choice(item.image, item.first, item.second, chosen, who, left=left, seconds=seconds)


@pytest.fixture
def people(entrance: Entrance) -> dict[str, str]:
    """Three people who mostly agree, and one who always chooses the left at once: {name: pseudonym}."""
    rng, held = random.Random(3), asked(entrance)
    found = {name: entrance.people.invite(name)[0].pseudonym for name in (*CAREFUL, LEFT)}
    rows = []
    for item in held:
        better = min(item.first, item.second)
        for name, who in found.items():
            left = rng.choice(["first", "second"])
            right = "first" if (item.first == better) == (rng.random() < 0.9) else "second"
            chosen, seconds = (left, 0.2) if name == LEFT else (right, 4.0)
            rows.append(say(who, item, chosen, left, seconds))
    Choices(entrance.root, entrance.campaign.database).add_all(rows, "label serve")
    return found


def table(text: str, caption: str) -> dict[str, str]:
    """{model: its ranks} of a ranking's table on the page."""
    (found,) = re.findall(rf"<caption><b>{re.escape(caption)}</b>.*?</table>", text, re.DOTALL)
    rows = re.findall(r'<th scope="row">(.*?)</th>.*?<td>([^<]*)</td></tr>', found, re.DOTALL)
    return {model: unescape(ranks) for model, ranks in rows}


def rankings(standings: Any) -> Any:
    """All rankings as they are written, in which what is unknown equals itself."""
    return to_json(standings)["rankings"]


def ranks_of(one: Any) -> dict[str, str]:
    from faultscape.standings import rank_words

    held = one.simultaneous_rank_interval or one.rank_interval
    return {model: rank_words(held, model) or "open" for model in one.scores}


@pytest.mark.slow
@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("options", [{}, {"resamples": 60, "seed": 4}])
def test_ranks_and_intervals_are_those_that_rank_writes_for_the_same_answers(
    entrance: Entrance, olga: Person, options: dict[str, int]
) -> None:
    written = fs.rank(str(entrance.root), engine="local", **options)
    now = entrance.standings(Voices())
    assert rankings(now) == rankings(written)
    assert now.definitions["resamples"] == options.get("resamples", 1000)
    text = olga.get("/results").text
    assert f"<h1>{written.verdict.headline}</h1>" in text
    for name, title in (("aggressiveness", "Aggressiveness"), ("resistance", "Resistance")):
        assert table(text, title) == ranks_of(written.rankings[name])


@pytest.mark.usefixtures("people")
def test_the_verdict_comes_first_then_dots_then_tables_behind_a_fold(olga: Person) -> None:
    text = olga.get("/results").text
    order = [text.index(part) for part in ("<h1>", 'class="count"', "<circle", "<details")]
    assert order == sorted(order)
    seen = re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
    assert seen.count("<table") == 1
    assert len(re.findall(r'<circle class="mark', seen)) == 3


@pytest.mark.slow
def test_results_name_people_by_their_names_and_those_who_were_removed_by_pseudonym(
    olga: Person, people: dict[str, str]
) -> None:
    text = unescape(olga.get("/results").text)
    assert "Cohen's kappa, " in text
    assert not re.search("person-[0-9a-f]{6}", text)
    assert all(name in text for name in people)
    olga.form("/people", act="remove", pseudonym=people["Ben"])
    text = unescape(olga.get("/results").text)
    assert people["Ben"] in text
    assert "Ben" not in text


@pytest.mark.slow
def test_results_are_computed_once_for_each_state_of_the_answers(
    entrance: Entrance, people: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_page, "_SECONDS", 0.0)
    monkeypatch.setattr(results_page, "_PATIENCE", 60.0)
    made = []

    def standings(*about: Any) -> Any:
        made.append(about)
        return made_entrance.standings_now(*about)

    monkeypatch.setattr(result_facts, "standings_now", standings)
    kept = results_page._Kept(entrance.campaign)

    def now(voices: Voices) -> result_facts.ResultFacts:
        return kept.now(entrance.campaign.study(), voices, {})

    first = now(Voices())
    assert now(Voices()) is first
    now(Voices(frozenset(people.values())))
    assert len(made) == 2
    item = asked(entrance)[0]
    Choices(entrance.root).add(say("person-ffffff", item, "first", "first", 3.0), "test")
    assert now(Voices()).people == first.people + 1
    fs.rank(str(entrance.root), engine="local", resamples=50)  # another option of rank
    now(Voices())
    assert len(made) == 4


@pytest.mark.slow
def test_results_that_take_long_are_computed_behind_the_last_ones_which_say_so(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_page, "_SECONDS", 0.0)
    monkeypatch.setattr(results_page, "_PATIENCE", 0.0)
    go_on = threading.Event()
    go_on.set()

    def slow(*about: Any) -> Any:
        assert go_on.wait(30)
        return made_entrance.standings_now(*about)

    monkeypatch.setattr(result_facts, "standings_now", slow)
    kept = results_page._Kept(entrance.campaign)

    def now() -> result_facts.ResultFacts:
        return kept.now(entrance.campaign.study(), Voices(), {})

    first = now()
    assert not first.behind  # whoever comes first waits
    go_on.clear()
    item = asked(entrance)[0]
    Choices(entrance.root).add(say("person-ffffff", item, "first", "first", 3.0), "test")
    for _ in range(2):
        assert now() == replace(first, behind=True)
    (running,) = kept._running.values()
    go_on.set()
    assert running.result(30).people == first.people + 1
    monkeypatch.setattr(results_page, "_SECONDS", 60.0)
    later = now()
    assert (later.people, later.behind) == (first.people + 1, False)


@pytest.mark.slow
def test_one_click_shows_results_without_those_who_are_marked_and_another_undoes_it(
    entrance: Entrance, olga: Person, people: dict[str, str]
) -> None:
    before = Choices(entrance.root).rows()
    text = unescape(olga.get("/people").text)
    (link,) = re.findall(r'<a href="([^"]*)">Results without this person</a>', text)
    assert link == f"/results?without={people[LEFT]}"
    left_out = olga.get(link).text
    assert f"Without the answers of <b>{LEFT}</b>. Nothing is deleted." in left_out
    assert f"<b>{3 * len(asked(entrance))}</b> choices that count" in left_out
    assert olga.get(link.replace("/results", "/results/part")).text in left_out
    (back,) = re.findall(r'<a href="([^"]*)">Count everyone</a>', left_out)
    assert f"<b>{4 * len(asked(entrance))}</b> choices that count" in olga.get(back).text
    assert Choices(entrance.root).rows() == before
    others = [one for one in Choices(entrance.root).choices("labels") if one.annotator != people[LEFT]]
    by_hand = entrance.root.parent / "without"
    shutil.copytree(entrance.root, by_hand)
    fs.label.forget(str(by_hand), LEFT, answers=True)
    assert len(Choices(by_hand).choices("labels")) == len(others)
    now = entrance.standings(Voices(frozenset({people[LEFT]})))
    assert rankings(now) == rankings(made_entrance.standings_now(Study(by_hand), "main", "labels"))
    assert rankings(now) != rankings(entrance.standings())


def test_somebody_unknown_cannot_be_left_out_and_who_was_removed_can(
    olga: Person, people: dict[str, str]
) -> None:
    answer = olga.get("/results?without=person-000000")
    assert answer.status_code == 400
    assert "there is no person &#39;person-000000&#39;" in answer.text
    olga.form("/people", act="remove", pseudonym=people[LEFT])
    assert (
        f"Without the answers of <b>{people[LEFT]}</b>" in olga.get(f"/results?without={people[LEFT]}").text
    )


def test_people_are_marked_with_the_test_and_its_p_value_and_others_are_not_praised(
    olga: Person, people: dict[str, str]
) -> None:
    text = unescape(olga.get("/people").text)
    rows = {
        who: row
        for who in people.values()
        for row in re.findall("<tr>.*?</tr>", text, re.DOTALL)
        if who in row
    }
    number = len(re.findall("Always one side", text))
    assert number == 1
    assert re.search(
        r"<b>Always one side: (\d+) of \1 choices of a side \(p < 0.001\)</b>", rows[people[LEFT]]
    )
    assert re.search(
        r"<b>Too fast: (\d+) of \1 answers in less than 0.5 s \(p < 0.001\)</b>", rows[people[LEFT]]
    )
    for name in CAREFUL:
        assert "no sign found" in rows[people[name]]
        assert "<b>" not in rows[people[name]].replace("<b>Lee</b>", "")
    assert "A person without a sign is not thereby reliable" in text


def test_of_people_with_few_answers_nothing_is_said(entrance: Entrance, olga: Person) -> None:
    ann = entrance.people.invite("ann")[0].pseudonym
    rows = [say(ann, item, "first", "first", 3.0) for item in asked(entrance)[:3]]
    Choices(entrance.root, entrance.campaign.database).add_all(rows, "label serve")
    text = olga.get("/people").text
    assert "too few answers to test" in text
    sides = ("first", "second") * 5
    more = [
        say(ann, item, "first", left, 3.0) for item, left in zip(asked(entrance)[3:13], sides, strict=True)
    ]
    Choices(entrance.root, entrance.campaign.database).add_all(more, "label serve")
    assert "no sign found by 2 of 3 tests; too few answers for the others" in olga.get("/people").text
    assert "marked below" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("people")
def test_answers_can_be_weighted_by_accuracy_on_the_page_too(entrance: Entrance, olga: Person) -> None:
    link = "/results?weighted=1"
    assert f'<a href="{link}">Weight people by estimated accuracy</a>' in olga.get("/results").text
    text = unescape(olga.get(link).text)
    assert "Answers are weighted by each person's estimated accuracy" in text
    assert '<a href="/results">Count everyone the same</a>' in text
    study = entrance.campaign.study()
    facts = results(study, entrance.campaign, Voices(weighted=True))
    assert any("count the same" in note or "are weighted" in note for note in facts.notes)
    assert not any("weighted" in note for note in results(study, entrance.campaign).notes)


def test_who_is_to_be_removed_without_a_script_is_asked_about_on_a_page(
    entrance: Entrance, olga: Person, people: dict[str, str]
) -> None:
    who = people["Ben"]
    assert f'<form method="get" action="/people/remove/{who}">' in olga.get("/people").text
    text = olga.get(f"/people/remove/{who}").text
    assert "<h1>Remove Ben?</h1>" in text
    assert "This cannot be undone." in text
    assert '<a href="/people">Cancel</a>' in text
    acts = re.findall(r'name="act" value="([^"]*)"', text)
    assert acts == ["remove", "remove with answers"]
    assert entrance.people.find(who).name == "Ben"  # asking removes nobody
    assert olga.get("/people/remove/person-000000").status_code == 404
    assert "you cannot remove yourself" in olga.get(f"/people/remove/{olga.pseudonym}").text
    assert entrance.invited("eve").get(f"/people/remove/{who}").status_code == 403


@pytest.mark.parametrize(
    ("options", "host", "says"),
    [
        ({}, "127.0.0.1:8760", "start it again with --host 0.0.0.0"),
        ({}, "localhost:8760", "start it again with --host 0.0.0.0"),
        ({"address": "https://label.example.org"}, "127.0.0.1:8760", "Open it at https://label.example.org"),
        ({"address": "https://label.example.org"}, "label.example.org", ""),
        ({}, "10.0.0.7:8760", ""),
    ],
)
def test_a_link_that_works_on_this_computer_only_says_so_and_what_to_do(
    tmp_path: Path, options: dict[str, str], host: str, says: str
) -> None:
    with made_entrance.entrance(made_entrance.study(tmp_path), **options) as held:
        olga = held.invited("Olga", ORGANISER)
        text = olga.client.post(
            "/people", data={"token": olga.token, "act": "invite", "name": "ben"}, headers={"host": host}
        ).text
    assert "/join/" in text
    plain = unescape(re.sub("<[^>]*>", "", text))
    assert ("This link works on this computer only." in text) == bool(says)
    assert says in plain
    assert "This link works" not in olga.client.get("/people").text
