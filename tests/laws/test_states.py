"""What `status` says, and which lines it names, once something changed in a study with made sets, a card, two
truths, files of your own or a benchmark; and the names of recorded inputs. A study of an earlier version must not
be made again only because another one looks at it. Changes in plainer studies: journeys/test_reasons.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made_answers
import undoing
from faultscape.errors import ResultError
from faultscape.reading.study import Study
from faultscape.verbs import graph
from golden import STUDY, Goldens, copied

FEW: dict[str, Any] = {"resamples": 20, "engine": "local"}
OWN_METRIC = """import faultscape as fs

def count(truth, prediction, classes):
    judged = truth < len(classes)
    return [((truth != prediction) & judged).sum(), judged.sum()]

mine = fs.metrics.metric_of_maps("mine", count, title="Mine", definition="wrong pixels", better="low", join="pooled")
"""


def _of_maps(folder: Path) -> None:
    """Two selections, labels of two truths, standings, measures, a plan, made sets, a card, and reports."""
    corpus = undoing.shared_corpus()
    study = undoing.copy_of("chosen", folder / STUDY)
    (folder / "own.py").write_text(OWN_METRIC)
    fs.select(study, goal="order", budget=4, engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.label.import_(study, str(corpus.truth), truth="gt")
    fs.rank(study, **FEW)
    fs.rank(study, selection="order", against=["main"], all_labels=True, truth="gt", **FEW)
    fs.stress.corrupt(study, corruption=["fog"], severities="1,3", engine="local")
    fs.predict(study, {name: str(corpus.models[name]) for name in Study(study).models}, engine="local")
    fs.measure(study, truth="gt", metric=[f"{folder / 'own.py'}:mine"], resamples=20, engine="local")
    fs.plan(study, selection="order", engine="local")
    fs.reliability(study, worst=0, resamples=0, engine="local")
    fs.report(study, better=0.5)
    fs.report(study, selection="order")


def _of_answers(folder: Path) -> None:
    it = made_answers.study(folder, images=40)
    (folder / "closed.csv").write_text("model,score\nmodel-0,0.9\nmodel-1,0.7\nmodel-2,0.5\n")
    fs.select(it.study, top=3, engine="local")
    fs.select(it.study, selector="random", budget=10, engine="local")
    made_answers.import_labels(it)
    fs.rank(it.study, benchmark=str(folder / "closed.csv"), **FEW)
    fs.rank(it.study, selection="random", against=["main"], population="future", **FEW)
    fs.plan(it.study, engine="local")
    fs.report(it.study)
    fs.report(it.study, selection="random")


@pytest.fixture
def maps(tmp_path: Path) -> str:
    """A study of label maps in which all is done but what a plan asks for."""
    return copied("maps with sets and a card", _of_maps, tmp_path / STUDY)[0]


@pytest.fixture
def answers(tmp_path: Path) -> str:
    """A study of classifiers in which all is done but what a plan asks for."""
    return copied("answers with a benchmark", _of_answers, tmp_path / STUDY)[0]


def undone(study: str) -> list[str]:
    """What is not done of a study, why, and the line that makes it."""
    return [
        f"{' '.join(filter(None, [node.artefact, node.name]))}: {', '.join(node.why) or node.state}"
        f"{f' | {node.line}' if node.line else ''}".replace(str(Goldens.root), "DIR").replace(
            str(Path(study).parent), "DIR"
        )
        for node in graph.nodes(Study(study, "study"))
        if node.state != "done"
    ]


def replace_text(study: str, name: str, old: str, new: str) -> None:
    path = Path(study) / name
    path.write_text(path.read_text().replace(old, new))


def collect(study: str, **options: Any) -> None:
    fs.collect(study, **options)


DOCUMENTS = ("standings.json", "plan.json", "measures/measure.json", "reliability/reliability.json")


def damage(study: str) -> None:
    for name in DOCUMENTS:
        (Path(study) / name).write_text("{")


def change_benchmark(study: str) -> None:
    other = Path(study).parent / "other.csv"
    other.write_text("model,score\nmodel-0,0.9\n")
    path = Path(study) / "standings.json"
    document = json.loads(path.read_text())
    document["provenance"]["arguments"]["benchmark"] = str(other)
    path.write_text(json.dumps(document))


CHANGES: dict[str, Callable[[str], Any]] = {
    "nothing": str,
    "truth gone": lambda study: fs.label.remove(study, all_=True, truth="gt"),
    "labels gone": lambda study: fs.label.remove(study, all_=True, truth="labels"),
    "draws gone": lambda study: fs.select(study, remove="order"),
    "duels grown": lambda study: fs.select(study, per_class=2, engine="local"),
    "image gone": lambda study: collect(study, remove=[Study(study).images[0]]),
    "groups": lambda study: collect(study, grouping=fs.options.Grouping(block=4)),
    "model renamed": lambda study: fs.predict(study, rename=["model-0=zero"]),
    "model gone": lambda study: fs.predict(study, remove=["model-0"]),
    "damaged": damage,
    "own metric gone": lambda study: replace_text(study, "measures/measure.json", "own.py:", "gone.py:"),
    "sets unknown": lambda study: (Path(study) / "sets.json").unlink(),
    "random gone": lambda study: fs.select(study, remove="random"),
    "duels for random": lambda study: fs.select(
        study, as_="random", selector="mad", replace=True, engine="local"
    ),
    "all labels gone": lambda study: fs.label.remove(study, all_=True),
    "benchmark gone": lambda study: replace_text(study, "standings.json", "closed.csv", "gone.csv"),
    "benchmark changed": change_benchmark,
}
# {study and change: what is not done then}
SAID = {
    head: tuple(lines)
    for head, *lines in (
        part.splitlines() for part in Path(__file__).with_name("states.txt").read_text().split("\n\n")
    )
}
FAST = ("nothing", "labels gone", "damaged", "random gone", "benchmark gone")


@pytest.mark.parametrize(
    "said",
    [pytest.param(said, marks=() if said.split(": ")[1] in FAST else pytest.mark.slow) for said in SAID],
)
def test_a_study_is_called_stale_for_what_changed_and_for_nothing_else(
    said: str, request: pytest.FixtureRequest
) -> None:
    of, _, change = said.partition(": ")
    study: str = request.getfixturevalue(of)
    CHANGES[change](study)
    assert undone(study) == list(SAID[said])


def test_every_change_is_made() -> None:
    assert {said.partition(": ")[2] for said in SAID} == {*CHANGES}


INPUTS = {
    "maps": {
        "sets fog-1": "images method",
        "selection main": "models added maps",
        "selection order": "models added maps",
        "standings order": "models selection concordance maps added labels discards photos others parents selection main truths method",
        "standings main": "models selection concordance maps added labels discards photos parents truths method",
        "plan": "maps selections discards labels models photos open method",
        "measures": "maps models labels photos colours metrics method",
        "reliability": "models maps networks counts labels anomaly sets size classes method",
        "report order": "models selection labels discards photos maps failures colours standings of main standings of order card method",
        "report main": "models selection labels discards photos maps failures colours standings of main standings of order card method",
    },
    "answers": {
        "selection main": "models added maps",
        "selection random": "models added maps",
        "standings random": "models selection concordance maps added labels discards photos others selection main method",
        "standings main": "models selection concordance maps added labels discards photos benchmark method",
        "plan": "maps selections discards labels models photos open method",
        "report random": "models selection labels discards photos maps failures standings of main standings of random method images",
        "report main": "models selection labels discards photos maps failures standings of main standings of random method images",
    },
}


@pytest.mark.parametrize("of", ["maps", "answers"])
def test_the_names_of_recorded_inputs_stay(of: str, request: pytest.FixtureRequest) -> None:
    """An input of another name would make all that is there stale."""
    study = Study(request.getfixturevalue(of))
    recorded = {
        f"{artefact.name} {name}".strip(): " ".join(artefact.made_from(study, name) or {})
        for artefact in graph.ARTEFACTS
        for name in artefact.instances(study)
    }
    assert {of: names for of, names in recorded.items() if names and of not in ("maps", "pairs")} == INPUTS[
        of
    ]


def test_documents_of_a_study_are_read_as_results(maps: str, tmp_path: Path) -> None:
    kinds = ("Standings", "LabelPlan", "Measured", "Reliability")
    for name, kind in zip(DOCUMENTS, kinds, strict=True):
        read = fs.load(Path(maps) / name)
        assert type(read).__name__ == kind
        assert read.to_arrow().num_rows > 0
        read.save(tmp_path / "result.json")
        assert fs.load(tmp_path / "result.json") == read
    held = fs.load(Path(maps) / "standings-order.json")
    assert repr(held) == repr(Study(maps).standings("order"))
    selected = Study(maps).selection("order").now
    selected.save(tmp_path / "result.json")
    assert fs.load(tmp_path / "result.json") == selected
    fs.status(maps).save(tmp_path / "result.json")
    assert fs.load(tmp_path / "result.json") == fs.status(maps)


def test_documents_of_a_study_of_classifiers_are_read_as_results(answers: str) -> None:
    standings = fs.load(Path(answers) / "standings.json")
    assert {"perron", "dominance"} & {*standings.to_arrow()["ranking"].to_pylist()}
    assert fs.load(Path(answers) / "plan.json").to_arrow().num_rows > 0


def test_damaged_documents_are_refused_by_load_in_one_line(maps: str) -> None:
    damage(maps)
    for name in DOCUMENTS:
        with pytest.raises(ResultError, match=f"{name} is not a result, which is JSON ") as caught:
            fs.load(Path(maps) / name)
        assert "\n" not in str(caught.value)
