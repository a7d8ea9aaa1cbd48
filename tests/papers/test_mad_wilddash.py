"""S0 4.4 as it was done: four models, two people, forced choice, over HTTP; then the rankings of the choices,
against eq. 3 to 6 as loops.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.ranking.duel_standings import from_json
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.reading.study import Study
from faultscape.recipes import mad_wilddash
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.database import Database
from faultscape.study.tables.selections import read_selection

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import Gate, server_key
from faultscape.verbs.serve.options import CampaignRules
from faultscape.verbs.serve.server import app_of

HERE = "http://127.0.0.1"


def better(corpus: made.Corpus, image: str, one: str, other: str) -> bool:
    k = corpus.ids.index(image)
    right = [(corpus.maps[model][k] == corpus.truths[k]).mean() for model in (one, other)]
    return bool(right[0] >= right[1])


def answer_all(
    app: object, corpus: made.Corpus, campaign: Campaign, name: str, rng: np.random.Generator
) -> int:
    """Answer as somebody who sees the better of two maps nine times in ten."""
    client, number = TestClient(app, base_url=HERE), 0
    client.post("/enter", data={"name": name}, headers={"origin": HERE})
    token = client.get("/work").text.split('data-token="')[1].split('"')[0]
    while True:
        found = client.get("/api/items", params={"task": "choices", "number": 5}).json()
        if found["finished"]:
            return number
        rows = []
        for item in found["items"]:
            asked = campaign.find(item["id"])
            (who,) = [one.pseudonym for one in Annotators(campaign.root).everybody() if one.name == name]
            left, right = (campaign.model_on(who, asked, item["repeat"], side) for side in ("left", "right"))
            sees = better(corpus, asked.image, left, right) == (rng.random() < 0.9)
            rows.append(
                {
                    "key": f"{name}-{number:06d}",
                    "id": item["id"],
                    "repeat": item["repeat"],
                    "chosen": "left" if sees else "right",
                    "seconds": 2.0,
                }
            )
            number += 1
        answer = client.post(
            "/api/answers",
            json={"task": "choices", "answers": rows},
            headers={"x-faultscape": token, "origin": HERE},
        )
        assert answer.json() == {"taken": [row["key"] for row in rows], "refused": []}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, made.Corpus]:
    folder = tmp_path_factory.mktemp("wilddash")
    corpus = made.corpus(folder / "corpus", images=30, models=4)
    models = {name: str(path) for name, path in corpus.models.items()}
    mad_wilddash.until_choices(
        str(folder / "study"), str(corpus.photos), str(corpus.truth), str(corpus.classes), models, size="own"
    )
    return str(folder / "study"), corpus


@pytest.mark.slow
def test_two_people_choose_and_the_models_are_ranked_without_a_mask(study: tuple[str, made.Corpus]) -> None:
    root, corpus = Path(study[0]), study[1]
    options = LabelServeOptions(study=str(root), forced=True, campaign=CampaignRules(overlap=2, repeats=0))
    rng = np.random.default_rng(1)
    with closing(Database(root, stay_open=True)) as database:
        campaign = Campaign(Study(root, database=database), options)
        app = app_of(campaign, Gate(Annotators(root, database), server_key(root), open_=True))
        numbers = [answer_all(app, corpus, campaign, name, rng) for name in ("first", "second")]
    slots, _ = read_selection(root, "main")
    asked = {(row.image, *sorted((row.defender, row.attacker))) for row in slots.chosen}
    assert numbers == [len(asked)] * 2
    said = Choices(root).choices()
    assert {one.chosen for one in said} == {"first", "second"}
    assert {(one.image, *sorted((one.first, one.second))) for one in said} == asked
    assert 0.3 < np.mean([one.left == "first" for one in said]) < 0.7

    mad_wilddash.from_choices(str(root))
    standings = from_json(json.loads((root / "standings.json").read_text()))
    cells: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in slots.chosen:
        for one in said:
            if one.image == row.image and {one.first, one.second} == {row.defender, row.attacker}:
                first = one.chosen == "first"
                cells[row.defender, row.attacker, row.class_].append(
                    float(first == (one.first == row.defender))
                )
    j, epsilon = len(slots.models), 0.01
    a = np.eye(j)
    for d, defender in enumerate(slots.models):
        for k, attacker in enumerate(slots.models):
            mine = [
                np.mean(shares) for (of, by, _), shares in cells.items() if (of, by) == (defender, attacker)
            ]
            if mine:
                a[k, d] = (1 - np.mean(mine) + epsilon) / (np.mean(mine) + epsilon)  # S0 eq. 3 and 4
    assert np.array(standings.matrices["aggressiveness"]) == pytest.approx(a)
    assert np.array(standings.matrices["resistance"]) == pytest.approx(1 / a.T)  # eq. 5
    assert [standings.rankings["aggressiveness"].scores[m] for m in standings.models] == pytest.approx(
        thurstone(a).tolist(), abs=1e-6
    )
    assert standings.rankings["choices_bradley_terry"].order[0] == "model-0"
    assert fs.status(str(root)).stages


def test_a_person_who_is_forced_has_no_way_out(study: tuple[str, made.Corpus]) -> None:
    root = Path(study[0])
    options = LabelServeOptions(
        study=str(root), forced=True, truth="again", campaign=CampaignRules(overlap=1, repeats=0)
    )
    with closing(Database(root, stay_open=True)) as database:
        campaign = Campaign(Study(root, database=database), options)
        given = campaign.items_for("ann", (), 1)[0]
        for word in ("both good", "both bad", "not sure", "skip", "yes", "", None):
            row = {"key": "k" * 12, "id": given.item.id, "repeat": 0, "chosen": word}
            assert campaign.take("ann", row).startswith("the answer") or word == "", word
        assert (
            campaign.take("ann", {"key": "m" * 12, "id": given.item.id, "repeat": 0, "chosen": "left"}) == ""
        )
