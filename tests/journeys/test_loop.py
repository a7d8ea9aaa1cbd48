"""loop: rounds in which a network learns from images on which models differ, and is judged on others."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import anew
import faultscape as fs
import made_training
import made_view
from faultscape.verbs import graph
from faultscape.verbs.loop import work
from faultscape.verbs.loop.result import Round
from faultscape.verbs.rank import open_selections
from refusals import refused_text, told

pytestmark = pytest.mark.slow
ASKED = {"model": "other", "images": 5, "judged": 8, "epochs": 20, "rate": 0.02, "engine": "local"}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> made_training.Trained:
    """A study of unlabelled images, with a network that learnt and one that hardly did."""
    trained = made_training.Trained(tmp_path_factory.mktemp("loop"))
    study = made_training.make_study(trained.folder, train=6, validation=0, test=40, role="pool", label=False)
    fs.train(study, "old", backbone=trained.own, plan=made_training.FEW)
    fs.train(study, "other", backbone=trained.own, plan=made_training.ONE, seed=3)
    fs.predict(study, {name: trained.source_of(name) for name in ("old", "other")}, engine="local")
    return trained


@pytest.fixture
def trained(start: made_training.Trained, tmp_path: Path) -> made_training.Trained:
    shutil.copytree(start.folder, tmp_path / "copy")
    return made_training.Trained(tmp_path / "copy")


def test_a_round_waits_for_labels_twice_and_then_says_what_it_brought(trained: made_training.Trained) -> None:
    study = trained.study
    waits = fs.loop(study, **ASKED, backbone=trained.own)  # type: ignore[arg-type]
    assert waits.rounds == ()
    assert waits.waits == "round 1 waits for masks of 5 images to learn from: other-1-learn"
    assert waits.next == fs.status(study).next
    assert fs.loop(study, engine="local") == waits  # typed again, without its options
    learnt = fs.Study(study).selection("other-1-learn").now.images
    then = made_training.label(trained, learnt)
    assert anew.whys(study)["loop", ""] == ("labels came",)
    assert then == fs.status(study).next == f"faultscape loop {fs.Study(study).place}"
    again = fs.loop(study, engine="local")
    assert "to judge on: other-1-judge" in again.waits
    judged = fs.Study(study).selection("other-1-judge").now.images
    assert not set(judged) & set(learnt)
    made_training.label(trained, judged)
    (found,) = fs.loop(study, engine="local").rounds
    assert (found.network, found.parent, found.learnt, found.judged) == ("other-1", "other", 5, 8)
    assert found.gain[1] <= found.gain[0] <= found.gain[2]
    assert found.gain[0] > 0.1  # it had learnt next to nothing
    assert found.seconds > 0
    assert found.hours == pytest.approx(13 * 1.5)
    assert len(found.cured) + len(found.kept) + len(found.new) <= 8
    page = Path(study, "loop.html").read_text()
    assert "1. other-1, from other" in page
    assert all(f"</i>{name}</li>" in page for name in made_training.NAMES)  # what the colours mean
    for kind, failed in {"Cured": (True, False), "Kept": (True, True), "New": (False, True)}.items():
        part = page.partition(f"<h3>{kind}")[2].partition("</section>")[0]
        for name, fails in zip(("other", "other-1"), failed, strict=True):
            scores = re.findall(rf"<figcaption>{name} <b>(0\.\d+)</b>", part)
            assert len(scores) == min(len(getattr(found, kind.lower())), 6)
            assert all((float(score) < 0.6) == fails for score in scores)
    assert ("loop", "") not in anew.whys(study)


def test_rounds_with_a_folder_of_masks_read_only_what_they_ask_for(
    trained: made_training.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = trained.study
    masks = str(trained.folder / "main" / "masks")
    asked = {**ASKED, "judged": 12, "backbone": trained.own, "masks": masks, "rounds": 2}
    found = fs.loop(study, **asked)  # type: ignore[arg-type]
    assert [one.network for one in found.rounds] == ["other-1", "other-2"]
    assert found.rounds[1].parent == "other-1"
    now = fs.Study(study)
    drawn = {image for name in now.selections for image in now.selection(name).now.images}
    labelled = {image for image in now.labels() if not image.startswith("train")}
    assert labelled == drawn
    for one in found.rounds:
        judged = set(now.selection(f"{one.network}-judge").now.images)
        assert not judged & (now.trained_on(one.network) | now.trained_on(one.parent))
    # the images that a network learnt from stay what they are, though models came
    assert "--replace" not in fs.status(study).next
    export = "label", "export", study, trained.folder / "out", "--selection", "other-1-learn"
    assert refused_text(*export).endswith("models were added since; add --anyway to label it as it is")
    assert "2 rounds of other" in str(fs.status(study))
    # those that judged a round are not added to, however close models are, and the last ones speak
    monkeypatch.setattr(open_selections, "is_decided", lambda *_: False)
    lines = [node.line for node in graph.nodes(now) if node.line]
    assert lines == [f"faultscape report {now.place} --selection other-2-judge"]
    assert fs.verdict(study).selection == "other-2-judge"
    page = Path(fs.report(study, selection="other-2-judge").path).read_text()
    assert f"<h1>{fs.verdict(study).headline}</h1>" in page
    assert "This is out of date" not in page
    done = fs.status(study)
    assert (done.next, done.more, done.stuck) == ("", found.next, False)
    assert done.about == "2 rounds of other are done; this begins the next"
    assert done.verdict.hours == pytest.approx(5 * 1.5)
    said = told("loop", study, "--engine", "local")
    assert said[-3].startswith("other-3: ")
    assert said[-2] == "3 rounds done"


def test_what_a_loop_cannot_begin_with_is_said_in_one_line(
    trained: made_training.Trained, tmp_path: Path
) -> None:
    study = trained.study
    assert "there are old, other: name one with --model" in refused_text("loop", study)
    assert "expected a network that `faultscape train` made" in refused_text(
        "loop", study, "--model", "nobody"
    )
    assert "there is no such folder" in refused_text(
        "loop", study, "--model", "old", "--masks", tmp_path / "no"
    )
    assert "--rounds is for --masks" in refused_text("loop", study, "--model", "old", "--rounds", 2)
    assert "there is no such file" in refused_text("loop", study, "--model", "old", "--backbone", "no.py:net")
    assert "--judged must be 4 or more" in refused_text("loop", study, "--judged", 3)
    assert "is not a study" in refused_text("loop", tmp_path / "nowhere")
    assert "takes 41 that trained no model, so that some can judge it; the pool has 40" in refused_text(
        "loop", study, "--model", "old", "--images", 37
    )
    # what train would refuse once people had labelled for it
    other, own = ("loop", study, "--model", "other", "--images", 5), ("--backbone", trained.own)
    assert "--init other: its backbone is Python code" in refused_text(*other)
    fs.stress.holdout(study, classes=["car"], as_="cars")
    assert "--init other: has 4 classes, but 3 are to be learnt" in refused_text(*other, *own)
    fs.stress.holdout(study, remove="cars")
    network = Path(study, "models", "other")
    network.rename(tmp_path / "other")
    assert "--init other: the study has no trained network with this name" in refused_text(*other, *own)
    (tmp_path / "other").rename(network)
    assert fs.Study(study).selections == {}
    fs.loop(study, **ASKED, backbone=trained.own)  # type: ignore[arg-type]
    assert "the rounds of this study are those of other" in refused_text("loop", study, "--model", "old")
    Path(study, "loop.json").write_text('{"model": "other", "rounds": [{"network": 5}]}')
    assert "is damaged" in refused_text("loop", study)
    Path(study, "loop.json").write_text('{"model": ')
    assert "cannot be read; restore it" in refused_text("loop", study, "--model", "other")


def test_of_several_truths_one_counts_in_all_rounds(trained: made_training.Trained) -> None:
    study = trained.study
    for truth in ("ann", "ben"):
        fs.label.import_(study, str(trained.folder / "train" / "masks"), truth=truth)
    for folder in ("labels", "labels.json"):
        shutil.rmtree(Path(study, "truth", folder), ignore_errors=True)
    said = refused_text("loop", study, "--model", "other", "--backbone", trained.own)
    assert "there are several truths (ann, ben), and none is called 'labels'; choose one with --truth" in said
    assert fs.Study(study).selections == {}  # it says so before people label
    waits = fs.loop(study, **ASKED, truth="ben", backbone=trained.own)  # type: ignore[arg-type]
    assert waits.next == fs.status(study).next
    assert waits.next.endswith(" --selection other-1-learn --truth ben")
    said = refused_text("loop", study, "--truth", "ann")
    assert "the rounds of this study are those of truth ben; continue these" in said
    masks = trained.folder / "main" / "masks"
    learn = [*fs.Study(study).selection("other-1-learn").now.images]
    for truth, images in (("ann", learn), ("ben", learn[:2])):  # those of the other truth do not count
        made_training.label(trained, images, truth)
    assert "waits for masks of 3 images to learn from" in fs.loop(study, engine="local").waits
    (found,) = fs.loop(study, masks=str(masks), engine="local").rounds
    assert (found.learnt, found.judged) == (5, 8)
    now = fs.Study(study)
    assert now.standings("other-1-judge").provenance["truth"] == "ben"
    assert set(now.labels("ann")) == {*learn, *now.sets["train"]}
    assert "other-1-judge: 8 of 8 images labelled (truth ben)" in str(fs.status(study))


@pytest.mark.parametrize("killed_at", ["network", "judge"])
def test_status_goes_on_with_a_round_that_was_killed(
    trained: made_training.Trained, killed_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = trained.study
    fs.loop(study, **ASKED, backbone=trained.own)  # type: ignore[arg-type]
    made_training.label(trained, fs.Study(study).selection("other-1-learn").now.images)

    def die(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(work, {"network": "train", "judge": "select"}[killed_at], die)
        with pytest.raises(KeyboardInterrupt):
            fs.loop(study, engine="local")
    assert anew.whys(study)["loop", ""] == ("labels came",)
    assert "to judge on: other-1-judge" in fs.loop(study, engine="local").waits
    assert ("loop", "") not in anew.whys(study)
    made_training.label(trained, fs.Study(study).selection("other-1-judge").now.images)
    (found,) = fs.loop(study, engine="local").rounds
    assert found.seconds > 0  # also of a line that died after training


def test_a_page_shows_each_round_that_is_written(
    trained: made_training.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = trained.study
    masks = str(trained.folder / "main" / "masks")

    def die(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(work, "write_page", die)
        with pytest.raises(KeyboardInterrupt):
            fs.loop(study, **ASKED, backbone=trained.own, masks=masks)  # type: ignore[arg-type]
    (found,) = fs.loop(study, engine="local").rounds
    assert found.network == "other-1"
    assert "1. other-1, from other" in Path(study, "loop.html").read_text()


def test_networks_are_renamed_in_the_middle_of_a_round(trained: made_training.Trained) -> None:
    study = trained.study
    fs.loop(study, **ASKED, backbone=trained.own)  # type: ignore[arg-type]
    made_training.label(trained, fs.Study(study).selection("other-1-learn").now.images)
    waits = fs.loop(study, engine="local").waits
    fs.predict(study, rename={"other-1": "better", "other": "base"})
    assert fs.loop(study, engine="local").waits == waits
    made_training.label(trained, fs.Study(study).selection("other-1-judge").now.images)
    (found,) = fs.loop(study, engine="local").rounds
    assert (found.network, found.parent) == ("better", "base")
    fs.predict(study, rename={"better": "best"})
    assert "to learn from: other-2-learn" in fs.loop(study, engine="local").waits
    made_training.label(trained, fs.Study(study).selection("other-2-learn").now.images)
    assert "to judge on: other-2-judge" in fs.loop(study, engine="local").waits
    assert {path.name for path in Path(study, "models").iterdir()} >= {"base", "best", "old", "other-2"}
    # a complete round is not judged again
    redrawn = [one.line for one in graph.nodes(fs.Study(study)) if "--replace" in one.line]
    assert not redrawn


def test_another_network_of_the_name_of_a_round_is_not_taken_for_it(trained: made_training.Trained) -> None:
    study = trained.study
    fs.predict(study, {"other-1": trained.source_of("old")}, engine="local")
    assert "the study has another model of this name; rename that one" in refused_text(
        "loop", study, "--model", "other"
    )


def test_a_round_whose_images_are_all_discarded_trains_nothing(
    trained: made_training.Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = trained.study
    monkeypatch.chdir(trained.folder)
    fs.loop(study, **{**ASKED, "backbone": "net.py:net"})  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)  # the backbone is found from elsewhere
    drawn = fs.Study(study).selection("other-1-learn").now.images
    table = tmp_path / "discard.csv"
    table.write_text("image,reason\n" + "".join(f"{image},dark\n" for image in drawn))
    fs.label.import_(study, str(table))
    said = refused_text("loop", study)
    assert said.endswith("--as other-1-learn --more 5`, and type this line again")
    assert "all its images are discarded" in refused_text(
        "train", study, "more", "--init", "old", "--set", "selection:other-1-learn"
    )
    fs.select(study, as_="other-1-learn", more=5, engine="local")
    made_training.label(trained, fs.Study(study).selection("other-1-learn").now.images)
    assert "to judge on: other-1-judge" in fs.loop(study, engine="local").waits


def test_a_network_that_was_removed_is_not_judged(trained: made_training.Trained) -> None:
    study = trained.study
    fs.loop(study, **ASKED, backbone=trained.own)  # type: ignore[arg-type]
    fs.predict(study, remove=["other"])
    said = refused_text("loop", study)
    assert "other, which the round continues, was removed from the study; predict it again" in said
    assert "other=" in said
    fs.predict(study, {"other": trained.source_of("other")}, engine="local")
    assert "to learn from" in fs.loop(study, engine="local").waits


def test_view_says_which_networks_learnt_from_an_image(start: made_training.Trained) -> None:
    pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")
    images = fs.Study(start.study).images
    pages = made_view.client(Path(start.study))
    trained, unseen = (
        next(k for k, id_ in enumerate(images) if id_.startswith("train") == yes) for yes in (1, 0)
    )
    said = "old, other learnt from this image or one like it, so that it does not judge them"
    assert said in pages.get(f"/image/{trained}").text
    assert "learnt from" not in pages.get(f"/image/{unseen}").text


def test_a_round_with_too_few_judged_images_says_so() -> None:
    few = Round("b", "a", 5, 1, 9.0, 1.0, [float("nan")] * 3, (), (), ())
    assert repr(few).startswith("b: too few judged images to say what it gained from a; learnt from 5")
