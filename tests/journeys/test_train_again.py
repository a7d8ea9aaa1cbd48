"""train, repeated: what is done is not done again, what changed is, and status says which."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import faultscape as fs
from faultscape.errors import ModelError
from faultscape.verbs.train import training_record
from flipped_bits import flip
from made_training import FEW, ONE, Trained
from refusals import refused, told


def test_the_same_line_trains_nothing_again_and_another_one_does(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, own = trained.study, trained.own
    weights = Path(study, "models", "plain", "weights.safetensors").read_bytes()
    again = fs.train(study, "plain", backbone=own, plan=FEW)
    assert not again.new
    assert " (already trained with these options)" in repr(again)
    capsys.readouterr()
    other = fs.train(study, "plain", backbone=own, plan=FEW, seed=1)
    assert other.new
    assert "options or data changed; retraining" in capsys.readouterr().out
    assert Path(study, "models", "plain", "weights.safetensors").read_bytes() != weights
    back = fs.train(study, "plain", backbone=own, plan=FEW)
    assert back.new
    # the same seed, the same bytes
    assert Path(study, "models", "plain", "weights.safetensors").read_bytes() == weights


@pytest.mark.slow
def test_weights_with_a_flipped_bit_are_refused_and_the_line_that_is_named_makes_them_again(
    trained: Trained,
) -> None:
    study, path = trained.study, Path(trained.study, "models", "plain", "weights.safetensors")
    whole = flip(path)
    says = r"weights\.safetensors: is damaged \(its checksum is wrong\); train the network again: `(.*)`$"
    for use in (
        lambda: fs.predict(study, {"plain": trained.source}, engine="local"),
        lambda: fs.train(study, "two", init="plain", backbone=trained.own, plan=ONE),
    ):
        with refused(ModelError, says) as caught:
            use()
    found = re.search(says, str(caught.value))
    assert found is not None
    told(*shlex.split(found[1])[1:])
    assert path.read_bytes() == whole
    save_file(load_file(path), path)  # without a checksum, as they were written once
    assert state_of(study, "plain")[:2] == ("stale", ("an earlier version trained it",))
    told(*shlex.split(found[1])[1:])
    assert (path.read_bytes(), state_of(study, "plain")[0]) == (whole, "done")


def test_what_a_network_follows_from_is_its_key(trained: Trained) -> None:
    study, own = trained.study, trained.own
    assert fs.train(study, "one", backbone=own, plan=ONE).new
    assert not fs.train(study, "one", backbone=own, plan=ONE).new
    assert not fs.train(study, "one", backbone=own, plan=replace(ONE, validate_every=1)).new
    assert fs.train(study, "one", backbone=own, plan=ONE, loss="entropy").new
    assert fs.train(study, "two", init="one", backbone=own, plan=ONE).new
    assert not fs.train(study, "two", init="one", backbone=own, plan=ONE).new
    fs.train(study, "one", backbone=own, plan=ONE)
    assert fs.train(study, "two", init="one", backbone=own, plan=ONE).new


def test_a_backbone_whose_code_changed_is_trained_anew(trained: Trained) -> None:
    study, file = trained.study, trained.folder / "net.py"
    assert not fs.train(study, "plain", backbone=f"{file}:net", plan=FEW).new
    file.write_text(file.read_text() + "\n# another remark\n")
    assert fs.train(study, "plain", backbone=f"{file}:net", plan=FEW).new


def state_of(study: str, name: str) -> tuple[str, tuple[str, ...], str]:
    from faultscape.reading.study import Study
    from faultscape.verbs import graph

    (node,) = (
        node for node in graph.nodes(Study(Path(study))) if (node.artefact, node.name) == ("networks", name)
    )
    return node.state, node.why, node.line


@pytest.mark.slow
def test_status_says_when_a_network_was_trained_on_something_else_and_how_to_go_on(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.training import loop

    study, own = trained.study, trained.own
    assert state_of(study, "plain")[:2] == ("done", ())
    process = {"init": "plain", "backbone": own, "head": "gp", "plan": FEW}
    assert fs.train(study, "gp", head_options={"features": 16}, **process).new
    assert not fs.train(study, "gp", head_options="features=16", **process).new
    held = json.loads(Path(study, "models", "gp", "network.json").read_text())
    assert held["provenance"]["arguments"]["features"] == held["network"]["head_options"]["features"] == 16
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    assert " --head-option features=16" in state_of(study, "gp")[2]
    state, why, line = state_of(study, "plain")
    assert (state, why) == ("stale", ("the withheld classes changed",))
    assert line.startswith(f"faultscape train {study} plain --backbone /")
    assert " --steps 30 --batch 4 " in line
    fs.stress.holdout(study, remove="trees")
    (trained.folder / "train" / "masks" / "004.png").write_bytes(
        (trained.folder / "train" / "masks" / "005.png").read_bytes()
    )
    fs.label.import_(study, str(trained.folder / "train" / "masks"))
    assert state_of(study, "plain")[:2] == ("stale", ("labels changed",))
    fs.train(study, "plain", backbone=own, plan=FEW)
    assert state_of(study, "plain")[0] == "done"
    assert "the network that it started from changed" in state_of(study, "gp")[1]

    real = loop.train

    def killed(*args, **kwargs):
        for step in real(*args, **kwargs):
            if step.step == 3:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr("faultscape.verbs.train.train_network.train", killed)
    with pytest.raises(KeyboardInterrupt):
        fs.train(study, "new", backbone=own, plan=FEW)
    state, _, line = state_of(study, "new")
    assert state == "missing"
    assert line.startswith(f"faultscape train {study} new --backbone ")


def test_a_killed_run_has_its_own_log_and_the_network_keeps_its_own(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.train import train_network

    study, own = trained.study, trained.own
    made = fs.train(study, "one", backbone=own, plan=ONE)
    before = Path(made.folder, "log.csv").read_bytes()

    def fails(*_: object, **__: object) -> None:
        raise OSError("disk")

    with monkeypatch.context() as patch:
        patch.setattr(train_network, "_finish", fails)
        with pytest.raises(OSError, match="disk"):
            fs.train(study, "one", backbone=own, plan=ONE, seed=3)
    assert Path(made.folder, "log.csv").read_bytes() == before
    (log,) = Path(made.folder, "checkpoint").glob("log-*.csv")
    assert len(log.read_text().splitlines()) == 2
    fs.train(study, "one", backbone=own, plan=ONE, seed=3)
    assert not Path(made.folder, "checkpoint").exists()
    assert len(Path(made.folder, "log.csv").read_text().splitlines()) == 2


def test_the_time_of_a_run_that_was_killed_counts(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.uncertainty.training import checkpoints, loop
    from faultscape.verbs.train import train_network

    write = checkpoints.write

    def long_ago(folder, step, key, net, optimiser, more):
        write(folder, step, key, net, optimiser, {**more, "seconds": more["seconds"] + 600})
        if step == 3:
            raise KeyboardInterrupt

    line = {"backbone": trained.own, "plan": replace(ONE, steps=5)}
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write", long_ago)
        patch.setattr(train_network, "Machine", partial(loop.Machine, every=0.0))
        with pytest.raises(KeyboardInterrupt):
            fs.train(trained.study, "five", **line)
    made = fs.train(trained.study, "five", **line)
    assert 600 < made.seconds < 1200
    assert "5 steps on 8 images in 10 min" in repr(made)
    training = training_record.read_training(Path(made.folder))
    assert training is not None
    assert (training["steps"], round(training["minutes"])) == (5, 10)
    assert fs.train(trained.study, "five", **line).seconds == made.seconds


def test_a_kill_while_a_network_is_written_leaves_none_that_is_half_another(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty import description

    folder, real = Path(trained.study, "models", "plain"), description.put

    def killed(path: Path, data: bytes) -> None:
        if path.name == "network.json":
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(description, "put", killed)
    with pytest.raises(KeyboardInterrupt):
        fs.train(trained.study, "plain", backbone=trained.own, plan=ONE)
    with refused(
        ModelError, "its training was interrupted; repeat the `faultscape train` command to resume it"
    ):
        fs.prediction.open_model(str(folder))
    monkeypatch.undo()
    assert fs.train(trained.study, "plain", backbone=trained.own, plan=ONE).steps == 1
