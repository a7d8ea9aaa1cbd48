"""train --init OLD --set selection:NAME: from the images where models fail to a model that is judged elsewhere."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import ModelError, OptionError, SelectionError, StudyError
from faultscape.study.trained_images import FILE
from faultscape.verbs.graph import Node, nodes
from faultscape.verbs.train.result import Trained as TrainResult
from made_training import FEW_WORDS, ONE, Trained, label, make_pool
from refusals import refused, told

FAILURES = fs.options.TrainingData(set_=["selection:main"])


@pytest.fixture(scope="module")
def pool_once(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return make_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture
def pool(pool_once: Trained, tmp_path: Path) -> Trained:
    """The study of `make_pool`, which names its networks where it is now."""
    to = tmp_path / "pool"
    shutil.copytree(pool_once.folder, to)
    for path in [Path(to, "study", "study.toml"), *Path(to, "study", "models").glob("*/network.json")]:
        path.write_text(path.read_text().replace(str(pool_once.folder), str(to)))
    return Trained(to)


@pytest.fixture
def learnt(pool: Trained) -> tuple[Trained, list[str]]:
    """The study in which "new" learnt from the failures of "old", and these images."""
    failures = [*fs.Study(pool.study).selection().now.images]
    fs.train(pool.study, "new", init="old", backbone=pool.own, data=FAILURES, plan=ONE)
    return pool, failures


def record_of(study: str, name: str) -> dict:
    return json.loads(Path(study, "models", name, "network.json").read_text())["provenance"]


@pytest.mark.slow
def test_a_network_learns_from_failures_joins_and_is_judged_by_other_images(pool: Trained) -> None:
    study = pool.study
    failures = [*fs.Study(study).selection().now.images]
    words = ("--init", "old", "--backbone", pool.own, "--set", "selection:main")
    out = told("train", study, "new", *words, *FEW_WORDS)
    number = len(failures)
    images = "1 image" if number == 1 else f"{number} images"
    assert out[-4:] == [
        f"continues old on {images} of selection main, half of each batch, and 6 old images",
        "joined the study with 20 maps; its images do not judge it",
        f"next: faultscape compare {study}",
        f"then: faultscape select {study} --goal order --budget 20 --as new",
    ]
    record = record_of(study, "new")
    old = record_of(study, "old")["trained_on"]
    assert len(old) == 6
    assert set(record["trained_on"]) == {*failures, *old}
    rows = fs.Study(study).image_rows
    assert record["trained_on"] == {id_: rows[id_].digest for id_ in record["trained_on"]}
    assert record["selections"] == ["main"]
    assert record["arguments"]["crop"] == "24x16"
    held = fs.Study(study)
    assert held.trained_on("new") == {*failures, *old}
    assert held.trained_on("old") == {*old}
    # as its parent was predicted
    assert held.settings.models["new"].options["scorer"] == ["msp"]
    (node,) = [one for one in nodes(held) if one.words.startswith("new: ")]
    assert node.words == "new: net.py:net with head linear, continues old on selection main"
    # a fresh draw, and what is said of it
    fs.compare(study, engine="local")
    out = told("select", study, "--goal", "order", "--budget", 10, "--as", "fresh", "--engine", "local")
    them = "1 image trained new or resembles an image that did: it does not judge new"
    many = f"{number} images trained new or resemble images that did: they do not judge new"
    assert (them if number == 1 else many) in out
    assert f"the draws, and what they estimate, are of the other {14 - number} images" in out
    drawn = fs.Study(study).selection("fresh").now
    assert not set(drawn.images) & set(failures)
    assert {row.pool for row in drawn.rows} == {14 - number}
    label(pool, drawn.images)
    fs.rank(study, selection="fresh")
    ranked = fs.Study(study).standings("fresh")
    assert ranked.models == ("old", "other", "new")
    # labels of other images of the pool leave the network what it is
    assert made.states(study)["train"] == "done"
    fs.select(study, engine="local")  # with the duels of the new one
    duels = fs.Study(study).selection("main").slots.duels
    assert any("new" in (row.defender, row.attacker) for row in duels)
    assert not [row for row in duels if "new" in (row.defender, row.attacker) and row.image in failures]
    notes = fs.measure(study, engine="local").document["notes"]
    labelled = 6 + len({*failures, *drawn.images})
    of = f"of {labelled} images trained it or resemble images that did: they do not judge it"
    assert f"new: {6 + number} {of}" in notes
    assert f"old: 6 {of}" in notes


@pytest.mark.slow
def test_the_same_line_again_trains_nothing_and_a_grandchild_knows_all_images(
    learnt: tuple[Trained, list[str]],
) -> None:
    pool, failures = learnt
    line = {"backbone": pool.own, "plan": ONE}
    again = fs.train(pool.study, "new", init="old", data=FAILURES, **line)
    assert isinstance(again, TrainResult)
    assert (again.new, again.maps) == (False, 20)
    more = [image for image in fs.Study(pool.study).sets["main"] if image not in failures][:3]
    label(pool, more)
    fs.compare(pool.study, engine="local")
    fs.select(pool.study, as_="more", goal="order", budget=3, engine="local")
    label(pool, fs.Study(pool.study).selection("more").now.images)
    data = fs.options.TrainingData(set_=["selection:more"])
    fs.train(pool.study, "newer", init="new", data=data, **line)
    record = record_of(pool.study, "newer")
    chosen = {*fs.Study(pool.study).selection("more").now.images}
    assert set(record["trained_on"]) == chosen | set(record_of(pool.study, "new")["trained_on"])
    # a network that continues on a set alone has learnt from all that its parent did
    fs.train(pool.study, "set", init="newer", data=fs.options.TrainingData(set_=["train"]), **line)
    fs.predict(pool.study, {"set": pool.source_of("set")}, engine="local")
    assert fs.Study(pool.study).trained_on("set") == set(record["trained_on"])
    # an ensemble has learnt from what its members did
    fs.predict(pool.study, {"both": "ensemble:old,new"}, engine="local")
    assert fs.Study(pool.study).trained_on("both") == fs.Study(pool.study).trained_on("new")
    # what trained a network stays known when the network is gone
    shutil.rmtree(Path(pool.study, "models", "newer"))
    assert fs.Study(pool.study).trained_on("newer") == set(record["trained_on"])
    fs.predict(pool.study, rename={"newer": "called"})
    assert fs.Study(pool.study).trained_on("called") == set(record["trained_on"])


@pytest.mark.slow
def test_a_network_is_stale_once_labels_of_its_images_changed_or_one_is_discarded(
    learnt: tuple[Trained, list[str]],
) -> None:
    pool, failures = learnt

    def state() -> tuple[str, tuple[str, ...]]:
        (node,) = [one for one in nodes(fs.Study(pool.study)) if one.words.startswith("new: ")]
        return node.state, node.why

    assert state() == ("done", ())
    label(pool, fs.Study(pool.study).sets["main"][-2:])
    assert state() == ("done", ())
    masks = pool.folder / "main" / "masks"
    shutil.copy(masks / "000.png", masks / f"{failures[0]}.png")
    if failures[0] == "000":
        shutil.copy(masks / "002.png", masks / "000.png")
    label(pool, failures)
    assert state() == ("stale", ("labels changed",))
    fs.train(pool.study, "new", init="old", backbone=pool.own, data=FAILURES, plan=ONE)
    assert state() == ("done", ())
    shutil.rmtree(Path(pool.study, "models", "old"))
    assert state()[1][0] == "the network that it started from changed"
    assert state()[1][1].startswith("old, from which it started, is gone; train that again, or remove ")


@pytest.mark.slow
def test_a_network_whose_parent_is_renamed_continues_it_as_before(learnt: tuple[Trained, list[str]]) -> None:
    pool, _ = learnt
    study = pool.study
    own = Path(study, "models", "old", "backbone.py")
    fs.train(study, "third", init="old", backbone=f"{own}:net", data=FAILURES, plan=ONE)
    fs.train(study, "alone", backbone=f"{own}:net", plan=ONE)
    with refused(ModelError, "models/alone holds another network; choose another name$"):
        fs.predict(study, rename={"old": "alone"})
    fs.predict(study, rename={"old": "base", "third": "grown"})

    def networks() -> dict[str, Node]:
        return {one.name: one for one in nodes(fs.Study(study)) if one.artefact == "networks"}

    assert {name: (one.state, one.why) for name, one in networks().items()} == dict.fromkeys(
        ("alone", "base", "grown", "new", "other"), ("done", ())
    )
    assert "continues base on selection main" in networks()["new"].words
    for name in ("alone", "grown"):
        Path(study, "models", name, "weights.safetensors").unlink()
        line = networks()[name].line
        assert f"--backbone {Path(study, 'models', 'base', 'backbone.py')}:net" in line
    assert "already trained" not in str(told(*shlex.split(line)[1:]))
    assert networks()["grown"].state == "done"
    data = fs.options.TrainingData(set_=["selection:main"])
    again = fs.train(study, "new", init="base", backbone=pool.own, data=data, plan=ONE)
    assert isinstance(again, TrainResult)
    assert not again.new


@pytest.mark.slow
def test_a_set_beside_the_selection_takes_the_place_of_the_old_images(pool: Trained) -> None:
    data = fs.options.TrainingData(set_=["selection:main", "train"])
    fs.train(pool.study, "new", init="old", backbone=pool.own, data=data, plan=ONE)
    record = record_of(pool.study, "new")
    assert record["sets"] == ["train"]
    assert set(fs.Study(pool.study).sets["train"]) < set(record["trained_on"])


@pytest.mark.slow
def test_a_sweep_of_seeds_joins_and_keeps_the_head_and_the_loss_of_its_parent(pool: Trained) -> None:
    line = {"backbone": pool.own, "plan": ONE}
    fs.train(pool.study, "gp", init="old", head="gp", head_options={"features": 16}, loss="entropy", **line)
    made_ = fs.train(pool.study, "new", init="gp", data=FAILURES, sweep="seed=0,1", **line)
    assert f"next: faultscape compare {pool.study}" in repr(made_)
    assert {"new-seed-0", "new-seed-1"} < set(fs.Study(pool.study).models)
    held = json.loads(Path(pool.study, "models", "new-seed-1", "network.json").read_text())
    assert (held["network"]["head"], held["network"]["head_options"]["features"]) == ("gp", 16)
    assert held["provenance"]["arguments"]["loss"] == "entropy"


@pytest.mark.slow
def test_what_it_cannot_learn_from_is_said_in_one_line(pool: Trained) -> None:
    study = pool.study

    def train(name: str = "new", set_: str = "selection:main", init: str = "old") -> None:
        data = fs.options.TrainingData(set_=[set_])
        fs.train(study, name, init=init, backbone=pool.own, data=data, plan=ONE)

    with refused(
        ModelError, "--init gone: the study has no trained network with this name; it has old, other"
    ):
        train(init="gone")
    with refused(SelectionError, "no selection 'hard'"):
        train(set_="selection:hard")
    fs.predict(study, {"net": pool.folder / "main" / "masks"}, pattern="{id}.png", engine="local")
    with refused(OptionError, "'net' is already a model of the study, .*; give the network another name"):
        train("net")
    fs.compare(study, engine="local")
    fs.select(study, as_="fresh", goal="order", budget=2, engine="local")
    with refused(
        StudyError,
        "--set selection:fresh: none of its 2 images has a label; label them first: `faultscape label export .* --selection fresh`",
    ):
        train(set_="selection:fresh")
    fs.stress.holdout(study, classes=["car"], as_="cars")
    with refused(ModelError, "--init old: has 4 classes, but 3 are to be learnt"):
        train()
    fs.stress.holdout(study, remove="cars")
    path = Path(study, "models", "old", "network.json")
    held = json.loads(path.read_text())
    kept = held["provenance"].pop("trained_on")
    path.write_text(json.dumps(held))
    with refused(StudyError, "--init old: it is not recorded which images trained it; name a labelled set"):
        train()
    held["provenance"]["trained_on"] = {id_: f"another {key}" for id_, key in kept.items()}
    path.write_text(json.dumps(held))
    with refused(
        StudyError, "--init old: the 6 images that trained it left the study, or have no labels now"
    ):
        train()


def test_the_record_lies_beside_the_maps(pool_once: Trained) -> None:
    beside = json.loads(Path(pool_once.study, "predictions", "old", FILE).read_text())
    assert beside == record_of(pool_once.study, "old")["trained_on"]
