"""Models and images are added, files change or go: only what is missing is made, and what no longer fits is
said and never mixed in.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import ModelError, StudyError
from faultscape.prediction import catalogue
from faultscape.study.parts import read_manifest
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.predict import shard
from networks_of_tests import colour_network
from refusals import refused

WEIGHTS = np.random.default_rng(2).normal(size=(5, 3))
NOTES = ("log.jsonl", "timings.parquet")
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from PIL import Image
for path in Path(sys.argv[1]).iterdir():
    width, height = Image.open(path).size
    Image.fromarray(np.full((height, width), 1, np.uint8)).save(Path(sys.argv[2]) / f"{path.stem}.png")
"""


def digests(study: str) -> dict[str, bytes]:
    """Every file of a study but locks, times and the log."""
    files = [
        path
        for path in sorted(Path(study).rglob("*"))
        if path.is_file() and not path.name.startswith(".lock")
    ]
    return {path.relative_to(study).as_posix(): path.read_bytes() for path in files if path.name not in NOTES}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """The files that are new, other or gone."""
    return {name for name in before | after if before.get(name) != after.get(name)}


def why(study: str, name: str) -> dict[str, str]:
    """{image: reason} of what a model could not do."""
    return {f.image: f.reason for f in read_failures(Path(study)) if (f.stage, f.name) == ("predict", name)}


def test_one_more_model_adds_its_maps_its_counts_and_rows_of_the_selection_and_nothing_else(
    corpus: made.Corpus, study: str
) -> None:
    fs.label.import_(study, str(corpus.truth))
    fs.predict(study, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.rank(study, resamples=20, engine="local")
    before = digests(study)

    fs.predict(study, {"model-2": corpus.models["model-2"]}, engine="local")
    predicted = digests(study)
    new = changed(before, predicted)
    assert {name for name in new if not name.startswith("predictions/model-2/")} == {"study.toml"}
    # of two shards: against the models before it, and against the labels
    assert fs.compare(study, engine="local").parts_made == 4
    compared = digests(study)
    assert {name.rpartition("/")[0] or name for name in changed(predicted, compared)} == {
        "pairs/model-2",
        "agreement.json",
    }
    fs.select(study, engine="local")
    assert changed(compared, digests(study)) == {"selection.csv", "selection.json"}
    rows = (Path(study) / "selection.csv").read_bytes()
    assert rows.startswith(before["selection.csv"])
    assert all(b"model-2" in row for row in rows.removeprefix(before["selection.csv"]).splitlines())

    selected = digests(study)
    fs.rank(study, resamples=20, engine="local")  # on the labels that were there, none being new
    assert changed(selected, digests(study)) == {"standings.json"}
    old = json.loads(before["standings.json"])
    now = json.loads((Path(study) / "standings.json").read_text())
    assert now["labels"]["used"] >= old["labels"]["used"] > 0
    for ranking in ("reuse_mean", "reuse_bradley_terry"):
        assert np.isfinite(now["rankings"][ranking]["scores"]["model-2"])


def test_a_new_model_is_scored_on_old_labels_before_any_image_of_its_own_is_labelled(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.predict(study, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(study, engine="local")
    old = fs.select(
        study,
        maps=fs.options.MapRules(constraints="none"),
        sampling=fs.options.Sampling(spares=0),
        engine="local",
    ).images
    for id_ in old:
        made.write(tmp_path / "labels" / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
    fs.label.import_(study, str(tmp_path / "labels"))
    fs.predict(study, {"model-2": corpus.models["model-2"]}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    standings = fs.rank(study, resamples=20, engine="local")
    assert standings.labels["used"] == len(old)
    pairs = fs.comparison.count(
        corpus.maps, classes=str(corpus.classes), truth=corpus.truths, images=corpus.ids
    )
    want = fs.comparison.concordance.accuracies(pairs, "miou", over="union", truth="truth")[2][
        [corpus.ids.index(i) for i in old]
    ]
    assert standings.rankings["reuse_mean"].scores["model-2"] == pytest.approx(want.mean(), abs=1e-9)


def test_more_images_are_more_shards_and_only_those_are_predicted_and_compared(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    some, study = tmp_path / "some", str(tmp_path / "study")
    for id_ in corpus.ids[:4]:
        (some / id_).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(corpus.photos / f"{id_}.png", some / f"{id_}.png")
    network = colour_network(tmp_path / "net.onnx", WEIGHTS)
    models = {**corpus.models, "net": network}
    fs.collect(study, str(some), classes=str(corpus.classes), storage=fs.options.Storage(shard_size=4))
    fs.predict(study, models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    before = made.bytes_under(Path(study), "predictions", "pairs")
    for id_ in corpus.ids[4:]:
        shutil.copy2(corpus.photos / f"{id_}.png", some / f"{id_}.png")
    fs.collect(study, str(some))
    fs.predict(study, models, engine="local")
    assert fs.compare(study, engine="local").parts_made == len(models)
    after = made.bytes_under(Path(study), "predictions", "pairs")
    new = {name.rpartition("/")[2] for name in changed(before, after)}
    assert {name.split("-")[0].split(".")[0] for name in new} == {"00001", "manifest"}
    assert made.states(study)["select"] == "stale"  # its rows are of fewer images


@pytest.mark.slow
def test_a_photo_that_changed_is_a_failure_of_models_added_then_until_it_is_collected_or_put_back(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    first, program = (
        colour_network(tmp_path / "first.onnx", WEIGHTS),
        f"exec:{sys.executable} {tmp_path / 'program.py'}",
    )
    second = colour_network(tmp_path / "second.onnx", -WEIGHTS)
    fs.label.import_(study, str(corpus.truth))
    fs.predict(study, {"first": first}, engine="local")
    photo, other = corpus.photos / f"{corpus.ids[0]}.png", corpus.ids[1]
    kept = photo.read_bytes()
    made.write(photo, np.zeros((36, 48, 3), np.uint8))
    (corpus.photos / f"{other}.png").rename(tmp_path / "away.png")
    assert fs.predict(study, {"second": second, "program": program}, engine="local").models == {
        "second": (4, 2),
        "program": (4, 2),
    }
    for name in ("second", "program"):
        said = why(study, name)
        assert said[corpus.ids[0]].endswith("changed since it was collected; run collect again")
        assert said[other].endswith("No such file or directory")
    photo.write_bytes(kept)
    (tmp_path / "away.png").rename(corpus.photos / f"{other}.png")
    assert fs.predict(study, {"second": second, "program": program}, engine="local").models == {
        "second": (6, 0),
        "program": (6, 0),
    }

    made.write(photo, np.zeros((36, 48, 3), np.uint8))
    (corpus.photos / f"{other}.png").unlink()
    capsys.readouterr()
    fs.collect(study, str(corpus.photos))
    said = capsys.readouterr().out
    assert f"1 image changed since collection, the first: {photo};" in said
    assert "1 of them have labels of the earlier file" in said
    assert f"1 image file of the study is missing, the first: {corpus.photos / f'{other}.png'};" in said
    assert made.states(study)["predict"] == "stale"
    with refused(StudyError, "images that changed since"):
        fs.compare(study, engine="local")
    assert fs.predict(study, {"first": first, "second": second, "program": program}, engine="local").models[
        "first"
    ] == (5, 1)
    assert made.states(study)["predict"] == "done"
    assert fs.compare(study, engine="local").parts_made > 0


def test_a_map_that_changed_makes_its_shard_anew_and_the_other_stays(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    before = made.bytes_under(Path(study), "predictions", "pairs")
    made.write(corpus.models["model-1"] / f"{corpus.ids[0]}.png", np.full((36, 48), 2, np.uint8))
    fs.predict(study, corpus.models, engine="local")
    assert made.states(study)["compare"] == "stale"
    assert fs.compare(study, engine="local").parts_made == 2  # model-1, and model-2 against it
    other = changed(before, made.bytes_under(Path(study), "predictions", "pairs"))
    assert {name.split("/")[1] for name in other} == {"model-1", "model-2"}
    assert {name.rpartition("/")[2].split("-")[0].split(".")[0] for name in other} == {"00000", "manifest"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_network_replaced_while_a_line_runs_stops_it_and_the_line_run_again_is_of_one_network(
    corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    network, release = colour_network(tmp_path / "net.onnx", WEIGHTS), catalogue.release

    def replaced() -> None:  # called when the digest is taken and before any worker opens the file
        release()
        colour_network(network, -WEIGHTS)

    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "release", replaced)
        with refused(
            ModelError, r"net\.onnx: its files changed while this line ran; run the same line again"
        ):
            fs.predict(study, {"net": network}, engine=engine)
    release()
    assert not list((Path(study) / "predictions" / "net").glob("*.parquet"))
    assert fs.predict(study, {"net": network}, engine="local").models == {"net": (6, 0)}
    clean = str(tmp_path / "clean")
    made.collected(corpus, clean, 4)
    fs.predict(clean, {"net": network}, engine="local")
    assert made.bytes_under(Path(study), "predictions") == made.bytes_under(Path(clean), "predictions")


def test_a_job_that_sees_another_network_than_the_job_before_leaves_nothing_of_that(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.predict(study, {"model-0": corpus.models["model-0"]}, engine="local")
    network = colour_network(tmp_path / "net.onnx", WEIGHTS)
    fs.predict(study, {"net": network}, shard="1/2", engine="local")
    colour_network(network, -WEIGHTS)
    fs.predict(study, {"net": network}, shard="2/2", engine="local")
    assert made.states(study)["predict"] == "missing"
    assert [*read_manifest(Path(study) / "predictions" / "net")] == ["00001"]


def test_jobs_of_an_array_that_saw_different_networks_at_the_same_time_are_not_compared(
    corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.predict(study, {"model-0": corpus.models["model-0"]}, engine="local")
    network = colour_network(tmp_path / "net.onnx", WEIGHTS)
    fs.predict(study, {"net": network}, shard="1/2", engine="local")
    colour_network(network, -WEIGHTS)
    with monkeypatch.context() as patch:
        # it looked before the first job had entered its shard
        patch.setattr(shard, "forget", lambda *_: None)
        fs.predict(study, {"net": network}, shard="2/2", engine="local")
    assert made.states(study)["predict"] == "stale"
    with refused(StudyError, "in part by another network; run `faultscape predict"):
        fs.compare(study, engine="local")
    fs.predict(study, {"net": network}, engine="local")
    assert fs.compare(study, engine="local").parts_made > 0
