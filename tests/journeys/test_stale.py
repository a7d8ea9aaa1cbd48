"""What no longer fits, is damaged or is gone: it is said, nothing of a person is lost, and nobody is sent
where a line must fail.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.errors import ClassesError, RankingError, SelectionError, StudyError
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from refusals import refused
from undoing import states


def test_a_class_that_maps_hold_and_the_list_no_longer_is_named_with_model_and_image(
    corpus: made.Corpus, study: str
) -> None:
    fs.predict(study, corpus.models, engine="local")
    raw = json.loads(corpus.classes.read_text())
    corpus.classes.write_text(json.dumps({"ignore_index": 255, "classes": raw["classes"][:3]}))
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    with refused(
        StudyError, r"model-0, image part\d/photo 00\d: holds the label [34].*classes allow 0-2, 255 \(void\)"
    ):
        fs.compare(study, engine="local")


def test_a_model_taken_out_of_study_toml_is_said(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text().split("[models.model-2]")[0])
    with refused(SelectionError, "drawn with 'model-2', which is no longer in the study"):
        fs.select(study)


def test_pairs_whose_file_is_gone_are_counted_again(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    before = made.bytes_under(Path(study), "pairs")
    next((Path(study) / "pairs" / "model-2").glob("*.parquet")).unlink()
    assert made.states(study)["compare"] != "done"
    assert fs.compare(study, engine="local").parts_made == 1
    assert made.bytes_under(Path(study), "pairs") == before


def test_a_kill_before_the_stamp_is_written_never_leaves_another_sources_maps(
    corpus: made.Corpus, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.predict import shard

    fs.predict(study, {"m": corpus.models["model-0"]}, engine="local")
    before = made.bytes_under(Path(study), "predictions")
    put = shard.put

    def killed(path: Path, data: bytes) -> str:
        if (
            path.name == ".stamps.json"
            and b"00001" in data
            and (path.parent / "manifest.json").read_bytes() not in before.values()
        ):
            raise KeyboardInterrupt
        return put(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(shard, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            fs.predict(study, {"m": corpus.models["model-1"]}, engine="local")
    fs.predict(study, {"m": corpus.models["model-0"]}, engine="local")
    assert made.bytes_under(Path(study), "predictions") == before


def test_a_takeover_that_was_killed_is_no_model_of_both(
    corpus: made.Corpus, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.predict import shard

    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")

    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shard, "enter", killed)
        with pytest.raises(KeyboardInterrupt):
            fs.predict(study, {"model-1": corpus.models["model-2"]}, engine="local")
    # nothing of the earlier source counts
    assert not label_maps.read_manifest(label_maps.predictions(Path(study), "model-1"))
    assert made.states(study)["predict"] == "missing"
    fs.predict(study, {"model-1": corpus.models["model-2"]}, engine="local")
    fs.compare(study, engine="local")
    first, second = ([*made.bytes_under(Path(study), f"predictions/model-{k}").values()] for k in (1, 2))
    assert first == second


def test_a_model_replaced_in_part_by_a_job_of_an_array_is_no_model_of_both(
    corpus: made.Corpus, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.predict(study, {"model-1": corpus.models["model-2"]}, shard="1/2", engine="local")
    held = label_maps.read_manifest(label_maps.predictions(Path(study), "model-1"))
    assert sorted(held) == ["00000"]
    assert made.states(study)["predict"] != "done"
    capsys.readouterr()
    fs.compare(study, engine="local")
    assert "note: model-1 has no maps for" in capsys.readouterr().out


def test_what_is_not_the_studys_own_is_never_swept(corpus: made.Corpus, study: str) -> None:
    mine = Path(study) / "data" / "mine"
    mine.mkdir(parents=True)
    (mine / "manifest.json").write_text("{}")
    (mine / "x.parquet").write_bytes(b"mine")
    (Path(study) / "data" / "other").mkdir()
    (Path(study) / "data" / "other" / "manifest.json").write_text("no manifest of ours")
    fs.collect(study, str(corpus.photos))
    assert (mine / "x.parquet").read_bytes() == b"mine"


def test_a_damaged_manifest_of_labels_stops_what_needs_them_and_removes_nothing(
    corpus: made.Corpus, study: str
) -> None:
    fs.label.import_(study, str(corpus.truth))
    folder = label_maps.truth(Path(study), "labels")
    (folder / "manifest.json").write_text("{")
    fs.predict(study, corpus.models, engine="local")
    with refused(StudyError, "the parts beside its manifest hold the labels"):
        fs.compare(study, engine="local")
    assert len([*folder.glob("*.parquet")]) == 2


def test_rank_refuses_a_function_that_is_another_now(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    own = tmp_path / "own.py"
    own.write_text("def share(both, rows, columns, *, over):\n    return both.sum(-1) / rows.sum(-1)\n")
    fs.select(study, maps=fs.options.MapRules(concordance=f"{own}:share"))
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, resamples=20, engine="local")
    assert made.states(study)["rank"] == "done"
    own.write_text("def share(both, rows, columns, *, over):\n    return 1 - both.sum(-1) / rows.sum(-1)\n")
    assert made.states(study)["rank"] == "stale"
    with refused(RankingError, "which has changed since"):
        fs.rank(study, resamples=20, engine="local")


def test_a_class_that_takes_a_removed_ones_id_does_not_take_its_mappings(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    (tmp_path / "labels.json").write_text(json.dumps({str(k): name for k, name in enumerate(made.NAMES)}))
    fs.predict(study, corpus.models, labels=str(tmp_path / "labels.json"), engine="local")
    other = made.classes_with(corpus, {"car": {"name": "kiosk", "color": [9, 9, 9]}})
    fs.collect(study, str(corpus.photos), classes=str(other))
    assert read_settings(Path(study)).models["model-0"].labels["2"] == "car"
    assert made.states(study)["compare"] == "missing"
    with refused(StudyError, r"model-0: .*'car', which is not a class.*--labels FILE"):
        fs.compare(study, engine="local")
    with refused(ClassesError, "Give --labels FILE"):
        fs.predict(study, corpus.models, engine="local")


def test_status_never_sends_where_a_removed_model_stands(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    fs.label.import_(study, str(corpus.truth))
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text().split("[models.model-2]")[0])
    now = fs.status(study)
    assert any("a model that it was drawn with is gone" in words for _, _, words in now.stages)
    assert "rank" not in now.next


def test_a_stored_map_part_that_is_gone_is_missing_and_predict_makes_it_again(
    corpus: made.Corpus, study: str
) -> None:
    fs.predict(study, corpus.models, engine="local")
    before = made.bytes_under(Path(study), "predictions")
    next((Path(study) / "predictions" / "model-1").glob("00001-*.parquet")).unlink()
    assert made.states(study)["predict"] == "missing"
    assert "model-1=" in fs.status(study).next
    fs.predict(study, corpus.models, engine="local")
    assert made.bytes_under(Path(study), "predictions") == before


WNIDS = ("n02121808", "n02084071", "n02958343", "n02858304", "n13134947")


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("what", ["asked", "wnids"])
def test_a_plan_is_stale_once_the_duels_that_it_looks_for_would_be_others(
    tmp_path: Path, what: str, chosen: bool
) -> None:
    """Duels that are chosen already stay what they are."""
    study = made_answers.study(tmp_path, images=40).study
    if chosen:
        fs.select(study, top=3)
    classes, asked, asked_again = tmp_path / "classes.json", tmp_path / "asked.txt", tmp_path / "all.txt"
    asked.write_text("cat\ndog\n")
    asked_again.write_text("\n".join(made_answers.NAMES))

    def called(*names: str, wnids: tuple[str, ...] = ()) -> None:
        entries = [{"index": k, "name": name} for k, name in enumerate(names)]
        classes.write_text(
            json.dumps(
                {
                    "classes": (
                        [e | {"wnid": w} for e, w in zip(entries, wnids, strict=True)] if wnids else entries
                    )
                }
            )
        )
        fs.collect(study, classes=str(classes))

    def change(*, back: bool) -> None:
        if what == "asked":
            fs.collect(study, only_classes=str(asked_again if back else asked))
        else:
            called(*made_answers.NAMES, wnids=() if back else WNIDS)

    first = fs.plan(study)
    change(back=False)
    assert states(study)["plan", ""] == ("done" if chosen else "stale")
    again = fs.plan(study)
    assert (again.duels == first.duels) == chosen
    assert states(study)["plan", ""] == "done"
    called(*made_answers.NAMES[:-1], "plant", wnids=WNIDS if what == "wnids" else ())
    assert states(study)["plan", ""] == "done"  # what a class is called decides nothing
    called(*made_answers.NAMES, wnids=WNIDS if what == "wnids" else ())
    change(back=True)
    assert states(study)["plan", ""] == ("done" if chosen else "stale")
    assert fs.plan(study).duels == first.duels
