"""The card where a study is not as neat as in its tutorial: networks that change, sets without labels, images
that are missing for one model or removed, names that clash, and equal models.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError, StudyError
from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.robustness import corruption_error
from faultscape.metrics.intervals.slopes import Linear
from faultscape.reporting.reliability.document import CORRUPTED, Card, find_cell
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.reliability import judge_study
from networks_of_tests import colour_network
from refusals import refused

WEIGHTS = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3
QUICK = {"engine": "local", "worst": 0, "resamples": 0}
Study = tuple[str, made.Corpus]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A labelled study of ten images in shards of four."""
    corpus = made.corpus(tmp_path / "made", images=10, models=2)
    study = str(made.collected(corpus, tmp_path / "study", shard_size=4))
    fs.label.import_(study, str(corpus.truth))
    return study, corpus


def number(card: Card, *where: str) -> float | None:
    cell = find_cell(card, *where)
    return None if cell is None else cell["value"]


def judged(study: str, **more: object) -> Card:
    return fs.reliability(study, **(QUICK | more)).document  # type: ignore[arg-type]


def anew(study: str) -> Card:
    """The card of the same study, with all counted anew."""
    shutil.rmtree(Path(study) / "reliability")
    return judged(study)


def network(study: Study, weights: np.ndarray = WEIGHTS, name: str = "net") -> str:
    return str(colour_network(study[1].root / f"{name}.onnx", weights))


@pytest.mark.slow
def test_another_network_that_gives_the_same_maps_is_counted_anew(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    fs.predict(study[0], {"net": network(study)}, scorer=["msp", "entropy"], engine="local")
    before = judged(study[0])
    fs.predict(study[0], {"net": network(study, WEIGHTS * 0.05)}, scorer=["msp", "entropy"], engine="local")
    after = judged(study[0])
    assert number(after, "net", "main", "miou") == number(before, "net", "main", "miou")
    assert number(after, "net", "main", "ece") != number(before, "net", "main", "ece")
    assert number(after, "net", "holdout", "average_precision", "entropy") != number(
        before, "net", "holdout", "average_precision", "entropy"
    )
    assert after["cells"] == anew(study[0])["cells"]


@pytest.mark.slow
def test_under_measure_too_what_the_new_line_does_not_name_is_no_number_of_the_new_network(
    study: Study,
) -> None:
    fs.predict(study[0], {"net": network(study)}, scorer=["msp", "entropy"], measure=True, engine="local")
    fs.predict(
        study[0], {"net": network(study, WEIGHTS * 0.05)}, scorer=["msp"], measure=True, engine="local"
    )
    card = judged(study[0])
    assert number(card, "net", "main", "error_auroc", "msp") is not None
    if (
        found := number(card, "net", "main", "error_auroc", "entropy")
    ) is not None:  # counted with it, or missing
        fs.predict(
            study[0],
            {"net": network(study, WEIGHTS * 0.05)},
            scorer=["entropy"],
            measure=True,
            engine="local",
        )
        assert number(judged(study[0]), "net", "main", "error_auroc", "entropy") == found
    else:
        assert any("entropy" in gap["scorers"] and gap["line"] for gap in card["gaps"])


@pytest.mark.slow
def test_doubt_that_is_stored_after_a_card_gives_its_calibration(study: Study) -> None:
    fs.predict(study[0], {"net": network(study)}, engine="local")
    assert number(judged(study[0]), "net", "main", "ece") is None
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    assert number(judged(study[0]), "net", "main", "ece") is not None


def test_a_model_of_maps_alone_has_no_pictures_of_its_doubt(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    fs.predict(study[0], study[1].models, engine="local")
    card = fs.reliability(study[0], engine="local", resamples=0).document
    assert {number(card, name, "main", "miou") is not None for name in study[1].models} == {True}


@pytest.mark.slow
def test_means_over_corruptions_are_compared_over_the_images_that_both_models_have(
    study: Study, tmp_path: Path
) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast", "fog"], severities="5", engine="local")

    def maps(name: str, skipped: int) -> str:
        """Maps of all images, the same for every name, but of foggy ones the first are worst, and some of
        these skipped.
        """
        for image in read_corpus(Path(study[0])):
            k = study[1].ids.index(image.id if image.set == "main" else image.id.partition("/")[2])
            if image.set == "fog-5" and k < skipped:
                continue
            worse = 30 if image.set == "fog-5" and k < 5 else 3
            label_map = made.disturbed(
                np.random.default_rng([k, image.set != "main"]), study[1].truths[k], worse
            )
            made.write(tmp_path / name / f"{image.id}.png", label_map)
        return str(tmp_path / name)

    fs.predict(study[0], {"all": maps("all", 0), "easy": maps("easy", 5)}, engine="local")
    card = judged(study[0])
    assert number(card, "easy", CORRUPTED, "miou") > number(card, "all", CORRUPTED, "miou")  # type: ignore[operator]
    rows = {row["metric"]: row for row in card["paired"] if row["condition"] == CORRUPTED}
    assert {rows[metric]["difference"] for metric in ("miou", "relative_drop", "consistency")} == {0}
    assert rows["miou"]["images"] == 15
    assert number(card, "easy", CORRUPTED, "corruption_error") == 1
    assert (find_cell(card, "easy", CORRUPTED, "miou") or {})["images"] == 15
    assert (find_cell(card, "all", CORRUPTED, "miou") or {})["images"] == 20


def test_a_set_without_a_label_is_no_condition(tmp_path: Path) -> None:
    pool, val = (
        made.corpus(tmp_path / "pool", images=6, models=0, seed=3),
        made.corpus(tmp_path / "val", images=8, models=0, seed=9),
    )
    study = str(tmp_path / "study")
    fs.collect(study, str(pool.photos), classes=str(pool.classes), storage=fs.options.Storage(shard_size=4))
    fs.collect(study, str(val.photos), set_="val")
    shutil.copytree(val.truth, tmp_path / "labels" / "val")
    fs.label.import_(study, str(tmp_path / "labels"))
    fs.predict(study, {"net": network((study, val))}, scorer=["msp"], engine="local")
    card = judged(study)
    assert [(c["name"], c["kind"], c["images"]) for c in card["conditions"]] == [("val", "clean", 8)]
    assert card["units"]["count"] == 8  # nothing is drawn that is not judged
    assert number(card, "net", "val", "miou") is not None
    with refused(
        StudyError, "--misclassified main: set main has no class labels, so wrong pixels cannot be found"
    ):
        judged(study, misclassified=["main"])


@pytest.mark.parametrize("clash", ["holdout", "natural"])
def test_two_conditions_of_one_name_are_refused(study: Study, clash: str) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    if clash == "holdout":
        fs.stress.holdout(study[0], classes=["car"], as_="main")
    name = {"holdout": "main", "natural": "contrast-5"}[clash]
    with refused(OptionError, f"two conditions of the card are called {name}; name each set once"):
        judged(study[0], natural=["contrast-5"] if clash == "natural" else None)


def test_doubt_of_another_working_size_is_refused_and_the_card_is_stale(study: Study) -> None:
    fs.predict(study[0], {"net": network(study)}, scorer=["energy"], engine="local")
    judged(study[0])
    settings = Path(study[0]) / "study.toml"
    settings.write_text(settings.read_text().replace('size = "own"', 'size = "24x18"'))
    state = {stage: words for stage, state, words in fs.status(study[0]).stages if state == "stale"}
    assert "the working size changed" in state["reliability"]
    with refused(
        StudyError,
        "net, doubt-energy: image part0/photo 000 is 48 x 36, but the study's working size is now 24 x 18",
    ):
        judged(study[0])


@pytest.mark.slow
def test_equal_models_have_no_rank_correlation_and_a_card(study: Study) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {name: network(study) for name in "abc"}, engine="local")
    card = fs.reliability(study[0], **QUICK)
    assert set(card.document["ranking"]["agreement"].values()) == {None}
    assert "rank correlation" not in repr(card)


def test_a_reference_without_errors_under_a_corruption_divides_nothing() -> None:
    def at(value: float) -> Ratios:
        return Ratios(Linear(np.array(value), np.zeros(1)), None)

    assert (
        corruption_error(
            {("fog", 1): at(0.9), ("snow", 1): at(0.5)}, {("fog", 1): at(1.0), ("snow", 1): at(0.75)}
        ).value
        == 2
    )
    assert np.isnan(corruption_error({("fog", 1): at(0.9)}, {("fog", 1): at(1.0)}).value)


@pytest.mark.slow
def test_an_image_that_leaves_takes_no_count_of_others_along_and_comes_back_counted(study: Study) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], measure=True, engine="local")
    before = judged(study[0])
    gone = next(image.id for image in read_corpus(Path(study[0])) if image.set == "main")
    fs.collect(study[0], remove=[gone])
    after = judged(study[0])
    assert after["gaps"] == []
    assert {c["name"]: c["images"] for c in after["conditions"]} == {"main": 9, "contrast-5": 9}
    assert number(after, "net", CORRUPTED, "miou") is not None
    fs.collect(study[0], str(study[1].photos))
    assert number(judged(study[0]), "net", "main", "miou") == number(before, "net", "main", "miou")


def test_a_holdout_whose_class_is_gone_is_left_out_and_said(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    assert [c["name"] for c in judged(study[0])["conditions"]] == ["main", "holdout"]
    settings = Path(study[0]) / "study.toml"
    settings.write_text(settings.read_text().replace('"car"', '"auto"'))
    card = judged(study[0])
    assert [c["name"] for c in card["conditions"]] == ["main"]
    assert any(
        note.startswith("holdout holdout is left out: 'car' cannot be held out") for note in card["notes"]
    )


def test_a_scorer_that_another_model_has_is_named_with_its_line(study: Study) -> None:
    networks = {"one": network(study), "other": network(study, WEIGHTS[::-1].copy(), "other")}
    fs.predict(study[0], {"one": networks["one"]}, scorer=["msp", "energy"], engine="local")
    fs.predict(study[0], {"other": networks["other"]}, engine="local")
    (gap,) = judged(study[0])["gaps"]
    assert (gap["model"], gap["why"]) == ("other", "msp was not counted, unlike for other models")
    assert gap["line"] == f"faultscape predict {study[0]} other={networks['other']} --scorer msp --measure"


def test_a_claim_with_a_typo_is_refused_before_the_program_runs(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    before = (Path(study[0]) / "study.toml").read_text()
    with refused(
        OptionError,
        "--claims holdot: is not a set with anomalies on the card; it has holdout. Did you mean 'holdout'?",
    ):
        fs.reliability(
            study[0], submission=fs.options.Submission("exec:never-run", claims=["holdot:0.5:0.5"]), **QUICK
        )
    assert (Path(study[0]) / "study.toml").read_text() == before


def test_a_scorer_that_gives_all_pixels_one_value_is_named(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    nets = {"flat": network(study, WEIGHTS * 0, "flat"), "net": network(study)}
    fs.predict(study[0], nets, scorer=["msp"], engine="local")
    card = judged(study[0])
    assert "flat: msp is constant on main, holdout, so it cannot rank pixels" in card["notes"]
    assert not any(note.startswith("net:") for note in card["notes"])
    assert number(card, "flat", "main", "error_auroc", "msp") == 0.5


@pytest.mark.slow
def test_models_without_a_common_scorer_are_compared_by_those_of_their_own_rows(study: Study) -> None:
    fs.stress.holdout(study[0], classes=["car"])
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {"one": network(study)}, scorer=["msp", "entropy"], engine="local")
    fs.predict(
        study[0], {"other": network(study, WEIGHTS[::-1].copy(), "other")}, scorer=["energy"], engine="local"
    )
    card = judged(study[0])
    rows = [row for row in card["paired"] if row["scorer"]]
    assert {(row["scorer"], row["second_scorer"]) for row in rows} == {("msp", "energy")}
    assert {(row["condition"], row["metric"]) for row in rows} >= {
        ("main", "error_auroc"),
        ("holdout", "auroc"),
        (CORRUPTED, "error_auroc"),
    }
    for row in rows:
        one, other = (
            number(card, *of, row["condition"], row["metric"], word, row.get("holdout", ""))
            for of, word in ((["one"], "msp"), (["other"], "energy"))
        )
        assert row["difference"] == pytest.approx(one - other, abs=1e-9)  # type: ignore[operator]


def test_what_is_lost_under_corruption_is_of_images_that_have_every_form_and_missing_ones_are_named(
    study: Study, tmp_path: Path
) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    for image in read_corpus(Path(study[0])):
        k = study[1].ids.index(image.id if image.set == "main" else image.id.partition("/")[2])
        for name, missing in (("all", False), ("some", k < 5 and image.set == "main")):
            if not missing:
                label_map = made.disturbed(
                    np.random.default_rng([k, image.set != "main"]), study[1].truths[k], 30 if k < 5 else 3
                )
                made.write(tmp_path / name / f"{image.id}.png", label_map)
    fs.predict(study[0], {name: str(tmp_path / name) for name in ("all", "some")}, engine="local")
    card = judged(study[0])
    assert number(card, "some", "main", "miou") > number(card, "all", "main", "miou")  # type: ignore[operator]
    clean, held = number(card, "some", "main", "miou"), number(card, "some", CORRUPTED, "miou")
    assert number(card, "some", CORRUPTED, "relative_drop") < 0.5 * (1 - held / clean)  # type: ignore[operator]
    (row,) = [row for row in card["paired"] if row["metric"] == "relative_drop"]
    assert (row["difference"], row["images"]) == (0, 5)
    assert (
        "some: 5 of 20 images were not mapped and are left out of its numbers; see failures.csv"
        in card["notes"]
    )
    assert not any(note.startswith("all:") for note in card["notes"])
    fs.stress.holdout(study[0], classes=["car"])
    rows = [row for row in judged(study[0])["paired"] if row["metric"] == "relative_drop"]
    assert [(row.get("holdout"), row["difference"], row["images"]) for row in rows] == [
        (None, 0, 5),
        ("holdout", 0, 5),
    ]


@pytest.mark.slow
def test_one_drive_has_one_note_with_the_cure_and_nothing_to_say_about_others(study: Study) -> None:
    page = Path(study[0]) / "reliability" / "report.html"
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    nets = {"net": network(study), "other": network(study, WEIGHTS[::-1].copy(), "other")}
    fs.predict(study[0], nets, scorer=["msp"], engine="local")
    fs.collect(study[0], grouping=fs.options.Grouping(group=dict.fromkeys(study[1].ids, "drive")))
    card = judged(study[0])
    assert {cell["low"] for cell in card["cells"]} == {None}
    (note,) = [note for note in card["notes"] if "intervals" in note]
    assert note == (
        "intervals resample whole groups, need at least 6, and the images are of 1 group: `faultscape collect"
        f" {study[0]} --block N` cuts groups into runs of N consecutive images"
    )
    said = page.read_text()
    assert "have no intervals" not in said
    assert "<dd>Best value: " in said
    assert said.count("No difference has an interval") == 1
    runs = {id_: f"drive:{k * 7 // 10 + 1}" for k, id_ in enumerate(sorted(study[1].ids))}
    for groups, beyond in (
        (runs, "more images of the few groups or sequences"),
        (runs | {max(runs): "other"}, "more images of the few groups or sequences"),
        ({id_: str(k % 6) for k, id_ in enumerate(runs)}, "data to come"),
    ):
        fs.collect(study[0], grouping=fs.options.Grouping(group=groups))
        card = judged(study[0])
        assert not [note for note in card["notes"] if "intervals" in note]
        said = page.read_text()
        assert f"95 % intervals for {beyond}" in said
        assert (", within few groups of images</h1>" in said) == (beyond != "data to come")


def test_options_that_change_nothing_are_named(study: Study) -> None:
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], measure=True, engine="local")
    card = judged(study[0], track="obstacle")
    assert any(note.startswith("--track obstacle has no effect: component F1") for note in card["notes"])


def test_intervals_end_where_the_range_of_a_number_ends(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    monkeypatch.setattr(judge_study.cards, "interval_of", lambda *_: (-0.5, 1.5))
    ends = {cell["metric"]: (cell["low"], cell["high"]) for cell in judged(study[0])["cells"]}
    assert (ends["relative_drop"], ends["corruption_error"]) == ((-0.5, 1.0), (0.0, 1.5))
    assert {ends[metric] for metric in ("miou", "ece", "consistency", "error_auroc", "error_fpr95")} == {
        (0.0, 1.0)
    }


@pytest.mark.parametrize("output", [".", "predictions", "reliability/../truth"])
def test_the_card_is_not_written_among_what_the_study_keeps(study: Study, output: str) -> None:
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    with refused(OptionError, "is inside the study; give a folder outside it, or leave it out to use"):
        judged(study[0], output=f"{study[0]}/{output}")


def test_the_clean_set_is_no_natural_shift(study: Study) -> None:
    fs.stress.corrupt(study[0], corruption=["contrast"], severities="5", engine="local")
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    with refused(OptionError, "--natural main: it is the clean set, from which sets were made"):
        judged(study[0], natural=["main"])


def test_a_submission_takes_no_name_of_another_model(study: Study) -> None:
    fs.predict(study[0], {"net": network(study)}, scorer=["msp"], engine="local")
    before = (Path(study[0]) / "study.toml").read_text()
    with refused(OptionError, "--submission-name net: is already a model of the study"):
        fs.reliability(study[0], submission=fs.options.Submission("exec:never-run", "net"), **QUICK)
    assert (Path(study[0]) / "study.toml").read_text() == before
