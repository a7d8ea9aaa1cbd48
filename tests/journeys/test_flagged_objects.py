"""Objects that can hardly be seen in their frame are redrawn when a blended set is made."""

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.reading.study import Study
from faultscape.verbs.stress.blends import blend_set, redrawn
from faultscape.verbs.stress.blends.blended_labels import read_facts
from faultscape.verbs.stress.blends.redrawn import plan_of, redrawn_of
from made_blends import SMALL, rows, study_of
from refusals import refused

SET = "fishyscapes-v1"
GREY = (120, 120, 120)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Grey photos, in which a grey object cannot be seen."""
    found = made.corpus(tmp_path_factory.mktemp("grey"), images=5, models=1, shape=(96, 128))
    for k, id_ in enumerate(found.ids):
        made.write(found.photos / f"{id_}.png", np.full((96, 128, 3), [120 + k, *GREY[1:]], np.uint8))
    return found


@pytest.fixture(scope="module")
def cutouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two grey objects and one that is seen everywhere."""
    folder = tmp_path_factory.mktemp("cutouts")
    for k, colour in enumerate((GREY, GREY, (250, 20, 200))):
        rgba = np.zeros((60, 60, 4), np.uint8)
        rgba[10:50, 10:50, :3] = colour
        rgba[10 + k : 50, 10:50, 3] = 255
        made.write(folder / "bird" / f"{k}.png", rgba)
    return folder


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return study_of(corpus, tmp_path)


@pytest.fixture(scope="module")
def kept(corpus: made.Corpus, cutouts: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study whose set keeps what is flagged."""
    study = study_of(corpus, tmp_path_factory.mktemp("kept"))
    blend(study, cutouts, blending=fs.options.Blending(smallest=20, keep_flagged=True))
    return study


def blend(study: str, cutouts: Path, **more: object) -> object:
    return fs.stress.blend(
        study, preset=SET, objects=cutouts, **{"engine": "local", "blending": SMALL, "frames": 12, **more}
    )


def flagged(study: str, name: str = SET) -> int:
    return sum(len(json.loads(str(row["flags"]))) for row in read_facts(Study(Path(study)), name).values())


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames were looked at, each time."""
    found: list[int] = []
    flags_of = redrawn._flagged

    def counted(images: list, *how: object) -> list:
        found.append(len(images))
        return flags_of(images, *how)

    monkeypatch.setattr(redrawn, "_flagged", counted)
    return found


def test_they_are_redrawn_and_counted(
    study: str, kept: str, cutouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = blend(study, cutouts)
    times = {image.id: redrawn_of(image)[0] for image in rows(study, SET)}
    assert flagged(kept) > 4
    assert flagged(study) == 0
    assert sum(map(bool, times.values())) == found.redrawn[SET] == flagged(kept)
    assert f"{flagged(kept)} objects redrawn" in " ".join(repr(found).split())
    assert "can hardly be seen" not in capsys.readouterr().out
    before = {image.id: image for image in rows(kept, SET)}
    for image in rows(study, SET):  # what is seen stays as it would be without the rule
        assert (image.digest == before[image.id].digest) == (times[image.id] == 0)


def test_what_is_flagged_every_time_stays_with_its_flag(study: str, tmp_path: Path, looks: list[int]) -> None:
    for k in range(2):
        rgba = np.zeros((60, 60, 4), np.uint8)
        rgba[10 + k : 50, 10:50] = (*GREY, 255)
        made.write(tmp_path / "grey" / "bird" / f"{k}.png", rgba)
    blend(study, tmp_path / "grey")
    assert flagged(study) == 12
    assert {redrawn_of(image) for image in rows(study, SET)} == {(redrawn.MOST,)}
    assert looks == [12] * redrawn.MOST


def test_other_objects_of_the_frame_stay(study: str, cutouts: Path) -> None:
    two = fs.options.Blending(smallest=20, objects_per_frame=2)
    blend(study, cutouts, blending=two, edition="two")
    other = fs.options.Blending(smallest=20, objects_per_frame=2, keep_flagged=True)
    blend(study, cutouts, blending=other, edition="plain")
    plans = [
        [plan_of(image).objects for image in rows(study, f"{SET}-{edition}")] for edition in ("two", "plain")
    ]
    assert {False, True} in [{placed.redrawn > 0 for placed in objects} for objects in plans[0]]
    for mine, before in zip(*plans, strict=True):
        for placed, earlier in zip(mine, before, strict=True):
            assert (placed == earlier) == (placed.redrawn == 0)


def test_a_repeated_line_looks_only_at_new_frames(study: str, cutouts: Path, looks: list[int]) -> None:
    blend(study, cutouts)
    assert looks[0] == 12
    looks.clear()
    assert "unchanged" in repr(blend(study, cutouts))
    assert looks == []
    blend(study, cutouts, frames=15)
    assert looks[0] == 3


@pytest.mark.slow
def test_no_engine_order_or_interruption_changes_what_is_drawn(
    study: str, corpus: made.Corpus, cutouts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blend(study, cutouts, write=str(tmp_path / "one"))
    other = str(made.collected(corpus, tmp_path / "other", shard_size=2))
    fs.label.import_(other, str(corpus.truth))
    with monkeypatch.context() as patch:
        patch.setattr(redrawn, "_FEW", 0)
        patch.setattr(blend_set, "fill_blended", None)  # killed between rows and labels
        with pytest.raises(TypeError):
            blend(other, cutouts, frames=9, engine="processes", workers=2)
        patch.undo()
    blend(other, cutouts, write=str(tmp_path / "two"))
    assert made.bytes_under(tmp_path / "one", "") == made.bytes_under(tmp_path / "two", "")


def test_a_set_that_was_made_before_the_rule_stays(kept: str, cutouts: Path) -> None:
    path = Path(kept, "sets.json")
    text = path.read_text()
    held = json.loads(text)
    del held["sets"][SET]["parameters"]["keep_flagged"]
    path.write_text(json.dumps(held))
    try:
        assert "unchanged" in repr(blend(kept, cutouts))
    finally:
        path.write_text(text)
    with refused(says="made with another keep flagged"):
        blend(kept, cutouts)
