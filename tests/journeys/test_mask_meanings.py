"""Masks whose values may mean two things are asked about, and every answer that the question names can be
pasted: 0 and 255, and Cityscapes' two codings.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import lying_masks
import made
from faultscape import errors
from faultscape.classes.built_in import CITYSCAPES_LABEL_IDS
from faultscape.cli import main
from faultscape.reading.evidence import only_predicted
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.verbs.label.exchange import import_masks
from refusals import refused_line, typed

FRAMES = 6
SHAPE = (24, 32)


@pytest.fixture
def masks(tmp_path: Path) -> Path:
    """Images, and truth and maps of 0 and 255, for two classes; with a void id, and without."""
    rng = np.random.default_rng(7)
    for k in range(FRAMES):
        truth = rng.random(SHAPE) < 0.3
        wrong = rng.random(SHAPE) < 0.1
        made.write(tmp_path / "images" / f"{k}.png", rng.integers(0, 256, (*SHAPE, 3), np.uint8))
        made.write(tmp_path / "truth" / f"{k}.png", lying_masks.white_for_one(truth))
        made.write(tmp_path / "maps" / f"{k}.png", lying_masks.white_for_one(truth ^ wrong))
        made.write(tmp_path / "truth-ids" / f"{k}.png", truth.astype(np.uint8))
        made.write(tmp_path / "maps-ids" / f"{k}.png", (truth ^ wrong).astype(np.uint8))
    names = [{"id": 0, "name": "ground"}, {"id": 1, "name": "a crack"}]
    (tmp_path / "void.json").write_text(json.dumps({"classes": names, "void": [255]}))
    (tmp_path / "none.json").write_text(json.dumps({"classes": names}))
    return tmp_path


def answers(told: str, value: int = 255) -> tuple[list[str], list[str]]:
    """Return the options for a value that is a class, and for one that is void, as the question gives them."""
    found = re.search(
        rf"if {value} is [^,]+, give (.+?); if it is void, give (.+?)(?:, with void .*)?$", told.strip()
    )
    assert found is not None, told
    return shlex.split(found[1]), shlex.split(found[2])


def miou(out: Path) -> float:
    return json.loads((out / "measure.json").read_text())["models"]["m"]["miou"]["value"]


@pytest.mark.parametrize("classes", ["void.json", "none.json"])
def test_measure_asks_about_0_and_255_and_takes_both_answers(masks: Path, classes: str) -> None:
    line = ["measure", masks / "truth", f"m={masks / 'maps'}", "--classes", masks / classes]
    told = refused_line(*line, "-o", masks / "out")
    assert "6 maps hold only 'ground' (0) and 255" in told
    a_class, void = answers(told)
    assert main([*map(str, line), "-o", str(masks / "out"), *a_class]) == 0
    ids = ["measure", masks / "truth-ids", f"m={masks / 'maps-ids'}", "--classes", masks / classes]
    assert main([*map(str, ids), "-o", str(masks / "ids")]) == 0
    assert miou(masks / "out") == miou(masks / "ids") < 0.9
    assert main([*map(str, line), "-o", str(masks / "out"), *void]) == 0
    assert miou(masks / "out") > 0.85


def test_measure_asks_about_the_maps_of_one_model_too(masks: Path) -> None:
    line = ["measure", masks / "truth-ids", f"m={masks / 'maps'}", "--classes", masks / "void.json"]
    told = refused_line(*line)
    assert f"m={masks / 'maps'}: 6 maps hold only 'ground'" in told
    assert main([*map(str, line), "-o", str(masks / "out"), *answers(told)[0]]) == 0
    text = (
        '[one]\ntruth = "truth-ids"\nclasses = "void.json"\nlabels = "255=a crack"\nmodels = { m = "maps" }\n'
    )
    (masks / "list.toml").write_text(text)
    assert main(["measure", "--datasets", str(masks / "list.toml"), "-o", str(masks / "listed")]) == 0


def test_an_answer_about_one_folder_leaves_the_void_of_others_void(
    masks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k in range(FRAMES):
        truth = np.resize(np.array([0, 1, 255, 0, 1], np.uint8), SHAPE)
        made.write(masks / "truth" / f"{k}.png", truth)
    line = ["measure", masks / "truth", f"m={masks / 'maps'}", "--classes", masks / "void.json"]
    answer = answers(refused_line(*line))[0]
    assert main([*map(str, line), "-o", str(masks / "out"), *answer]) == 0
    said = capsys.readouterr()
    assert f"note: {masks / 'truth'}: --labels 255=a crack is not used" in said.out + said.err
    ids = ["measure", masks / "truth", f"m={masks / 'maps-ids'}", "--classes", masks / "void.json"]
    assert main([*map(str, ids), "-o", str(masks / "ids")]) == 0
    assert miou(masks / "out") == miou(masks / "ids")
    line[-1] = masks / "none.json"
    assert "holds the value 255" in refused_line(*line, *answer, "-o", masks / "none")
    assert main([*map(str, line), "-o", str(masks / "none"), *answer, "--ignore", "255"]) == 0
    assert miou(masks / "none") == miou(masks / "ids")


def test_an_answer_that_may_be_meant_for_one_folder_only_is_refused(masks: Path, streets: str) -> None:  # noqa: ARG001
    for k in range(FRAMES):
        made.write(masks / "truth" / f"{k}.png", np.resize(np.array([0, 2, 255], np.uint8), SHAPE))
    line = ["measure", masks / "truth", f"m={masks / 'maps'}", "--classes", masks / "three.json"]
    told = refused_line(*line, "--labels", "255=car", "-o", masks / "out")
    assert f"{masks / 'truth'}: holds 255 beside several classes, m={masks / 'maps'} beside no more" in told
    (masks / "all.json").write_text(json.dumps({"0": "road", "2": "sky", "255": "car"}))
    assert main([*map(str, line), "--labels", str(masks / "all.json"), "-o", str(masks / "out")]) == 0


def test_a_question_names_every_folder_that_the_answer_counts_for(masks: Path) -> None:
    line = ["measure", masks / "truth", f"m={masks / 'maps'}", "--classes", masks / "void.json"]
    assert f"(likewise m={masks / 'maps'}, for which the answer counts too)" in refused_line(*line)


@pytest.mark.parametrize("which", [0, 1], ids=["a class", "void"])
@pytest.mark.parametrize("classes", ["void.json", "none.json"])
def test_predict_and_label_import_ask_once_and_keep_the_answer(masks: Path, classes: str, which: int) -> None:
    study = str(masks / "study")
    fs.collect(study, str(masks / "images"), classes=str(masks / classes))
    for line in (["predict", study, f"m={masks / 'maps'}"], ["label", "import", study, str(masks / "truth")]):
        told = refused_line(*line)
        answer = answers(told)[which]
        if "with void = [255]" in told and which:
            toml = masks / "study" / "study.toml"
            toml.write_text(toml.read_text().replace("\nvoid = []\n", "\nvoid = [255]\n"))
        assert main([*line, *answer]) == 0
        assert main(line) == 0  # as it was answered
    means = ["a crack", "void"][which]
    settings = read_settings(Path(study))
    assert settings.models["m"].labels["255"] == settings.truths["labels"].labels["255"] == means


def test_masks_of_0_and_255_follow_earlier_ones_with_several_classes_and_void_and_are_told_so(
    masks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(masks / "study")
    fs.collect(study, str(masks / "images"), classes=str(masks / "void.json"))
    made.write(masks / "first" / "0.png", np.resize(np.array([0, 1, 255], np.uint8), SHAPE))
    fs.label.import_(study, str(masks / "first"))
    say = "each mask holds one class and void alone, as earlier masks of this truth say"
    assert say not in capsys.readouterr().out
    fs.label.import_(study, str(masks / "truth"))
    assert f"note: {masks / 'truth'}: {say}" in capsys.readouterr().out


def test_an_answer_can_be_taken_back_with_the_labels(masks: Path) -> None:
    study = str(masks / "study")
    fs.collect(study, str(masks / "images"), classes=str(masks / "void.json"))
    fs.label.import_(study, str(masks / "truth"), labels="255=void")
    with pytest.raises(errors.LabellingError, match="differs from how earlier masks") as refused:
        fs.label.import_(study, str(masks / "truth"), labels="255=a crack")
    line = shlex.split(re.findall(r"`faultscape (.+?)`", str(refused.value))[0])
    assert main(line) == 0
    assert fs.label.import_(study, str(masks / "truth"), labels="255=a crack").new == FRAMES


def test_a_reading_follows_renamed_classes_and_grows_with_the_class_list(masks: Path) -> None:
    def classes(*names: str) -> str:
        entries = [{"id": k, "name": name, "color": [20 * k, 9, 9]} for k, name in enumerate(names)]
        (masks / "list.json").write_text(json.dumps({"classes": entries, "void": [9]}))
        return str(masks / "list.json")

    study, folder = str(masks / "study"), str(masks / "truth")
    fs.collect(study, str(masks / "images"), classes=classes("ground", "crack"))
    fs.label.import_(study, folder, labels="255=crack")
    fs.collect(study, classes=classes("ground", "split"))
    assert fs.label.import_(study, folder).unchanged == FRAMES
    fs.collect(study, classes=classes("ground", "split", "tree"))
    made.write(masks / "later" / "0.png", np.resize(np.array([0, 255, 2, 7], np.uint8), SHAPE))
    with pytest.raises(errors.LabellingError, match="differs from how earlier masks"):
        fs.label.import_(study, str(masks / "later"), labels="255=tree,7=tree")
    assert fs.label.import_(study, str(masks / "later"), labels="255=split,7=tree").replaced == 1
    (masks / "seven.json").write_text(json.dumps({"7": "tree", "0": "ground"}))
    assert fs.label.import_(study, folder, labels=str(masks / "seven.json")).replaced == 1  # 255 as before
    assert read_settings(Path(study)).truths["labels"].labels["255"] == "split"


def test_a_reading_with_a_class_that_is_gone_is_explained_and_can_be_replaced(masks: Path) -> None:
    study, folder = str(masks / "study"), str(masks / "truth")
    for k, (name, second) in enumerate({"old": "crack", "new": "split"}.items()):  # of other colours
        entries = [
            {"id": 0, "name": "ground", "color": [0, 0, 9]},
            {"id": 1, "name": second, "color": [9, k, 9]},
        ]
        (masks / f"{name}.json").write_text(json.dumps({"classes": entries, "void": [9]}))
    fs.collect(study, str(masks / "images"), classes=str(masks / "old.json"))
    fs.label.import_(study, folder, labels="255=crack")
    fs.collect(study, classes=str(masks / "new.json"))
    with pytest.raises(errors.LabellingError, match="1 as 'crack', which is no longer a class; import"):
        fs.label.import_(study, folder)
    assert fs.label.import_(study, folder, labels="255=split").unchanged == FRAMES


def test_a_person_who_sends_masks_is_told_what_255_is_and_not_asked(
    masks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> tuple[str, ...]:
        raise AssertionError("decodes every map, for nobody")

    study = masks / "study"
    fs.collect(str(study), str(masks / "images"), classes=str(masks / "void.json"))
    with monkeypatch.context() as changed:
        changed.setattr("faultscape.verbs.label.masks.unusual", never)
        assert import_masks(Study(study), masks / "truth", "labels-ann", "sent by ann").new == FRAMES
    assert "note: 255 is read as void, as in the class list" in capsys.readouterr().out
    other = masks / "other"
    fs.collect(str(other), str(masks / "images"), classes=str(masks / "none.json"))
    with pytest.raises(errors.LabelMapError, match=r"255 \(not in the class list\)") as refused:
        import_masks(Study(other), masks / "truth", "labels-ann", "sent by ann")
    said = str(refused.value)
    assert "draw each class with its own value (0 ground, 1 a crack), or ask the organiser" in said
    line = shlex.split(said.partition("import it with: faultscape ")[2])
    assert main([{"STUDY": str(other), "FILE": str(masks / "truth")}.get(word, word) for word in line]) == 0
    made.write(masks / "more" / "0.png", lying_masks.white_for_one(np.eye(*SHAPE) > 0))
    again = import_masks(Study(other), masks / "more", "labels-ann", "sent by ann")
    assert again.replaced == 1  # as was answered


def test_a_person_who_sends_masks_of_another_coding_is_sent_to_the_organiser(masks: Path, town: str) -> None:
    import_masks(Study(town), city(masks / "first", "train ids", range(3)), "labels-ann", "sent by ann")
    with pytest.raises(errors.LabelMapError, match="earlier maps were read as train ids") as refused:
        import_masks(Study(town), city(masks / "later", "label ids", range(3)), "labels-ann", "sent by ann")
    assert "faultscape label import STUDY FILE --truth NAME" in str(refused.value)
    assert "label remove" not in str(refused.value)


def test_an_answer_for_sessions_of_several_people_leaves_out_those_it_contradicts(
    masks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = str(masks / "study"), masks / "out"
    fs.collect(study, str(masks / "images"), classes=str(masks / "void.json"))
    fs.predict(study, {"m": str(masks / "maps-ids"), "n": str(masks / "truth-ids")}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, per_class=2)
    fs.label.export(study, str(out), sessions=fs.options.SessionRules("ann,ben", session=20))
    for who, values in {"ann": [0, 255], "ben": [0, 1, 255]}.items():
        for image in (out / who / "session-01" / "images").iterdir():
            drawn = out / who / "session-01" / "labels" / f"{image.stem}.png"
            made.write(drawn, np.resize(np.array(values, np.uint8), SHAPE))
    fs.label.import_(study, str(out), labels="255=a crack")
    assert "holds 'a crack' under its own value beside 255" in capsys.readouterr().out
    assert [*read_settings(Path(study)).truths] == ["labels-ann"]
    assert main(["label", "import", study, str(out / "ben" / "session-01"), "--truth", "labels-ben"]) == 0
    assert read_settings(Path(study)).truths["labels-ben"].labels == {}


@pytest.mark.parametrize(
    "values",
    [[0, 1, 255], [0, 1], [0], [255], [1, 0, 255]],
    ids=["both classes and void", "both classes", "one class", "void", "in any order"],
)
def test_other_values_are_no_question(masks: Path, values: list[int]) -> None:
    for k in range(FRAMES):
        label_map = np.resize(np.array(values, np.uint8), SHAPE)
        made.write(masks / "truth" / f"{k}.png", label_map)
    study = str(masks / "study")
    fs.collect(study, str(masks / "images"), classes=str(masks / "void.json"))
    assert fs.label.import_(study, str(masks / "truth")).new == FRAMES
    assert "255" not in read_settings(Path(study)).truths["labels"].labels


def test_one_mask_after_others_that_show_what_255_is_is_no_question(masks: Path) -> None:
    study = str(masks / "study")
    fs.collect(study, str(masks / "images"), classes=str(masks / "void.json"))
    made.write(masks / "first" / "0.png", np.resize(np.array([0, 1, 255], np.uint8), SHAPE))
    made.write(masks / "second" / "1.png", np.resize(np.array([0, 255], np.uint8), SHAPE))
    answers(refused_line("label", "import", study, masks / "second"))
    assert fs.label.import_(study, str(masks / "first")).new == 1
    assert fs.label.import_(study, str(masks / "second")).new == 1


CITY = {"label ids": [7, 8, 11, 26, 0], "train ids": [0, 1, 2, 13, 255], "both": [7, 8, 11, 17, 5]}


def city(folder: Path, which: str, frames: range, suffix: str = "") -> Path:
    for k in frames:
        made.write(folder / f"{k}{suffix}.png", np.resize(np.array(CITY[which], np.uint8), SHAPE))
    return folder


@pytest.fixture
def town(masks: Path) -> str:
    fs.collect(str(masks / "study"), str(masks / "images"), classes="cityscapes")
    return str(masks / "study")


def test_one_truth_is_read_in_one_coding(masks: Path, town: str) -> None:
    fs.label.import_(town, str(city(masks / "first", "train ids", range(3))))
    later = city(masks / "later", "label ids", range(3, 6))
    told = refused_line("label", "import", town, later)
    assert "holds 26, which is one of Cityscapes' label ids, but earlier maps were read as train ids" in told
    assert fs.label.import_(town, str(later), truth="other").new == 3
    again = city(masks / "again", "both", range(3))
    assert fs.label.import_(town, str(again), truth="other").new == 3  # as the first of that truth
    assert read_settings(Path(town)).truths["other"].labels["7"] == "road"
    named = city(masks / "named", "both", range(3), "_gtFine_labelTrainIds")
    assert "named as Cityscapes' train ids, but earlier maps were read as label ids" in refused_line(
        "label", "import", town, named, "--truth", "other"
    )


def test_maps_with_255_are_train_ids_without_a_word_since_label_ids_have_none(
    masks: Path, town: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = masks / "void"
    for k in range(3):
        made.write(folder / f"{k}.png", np.resize(np.array([*CITY["both"], 255], np.uint8), SHAPE))
    assert fs.label.import_(town, str(folder)).new == 3
    assert "label ids" not in capsys.readouterr().out


def test_values_of_both_codings_are_said_and_an_answer_is_taken(
    masks: Path, town: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = city(masks / "both", "both", range(6))
    say = "values fit Cityscapes' train ids and label ids alike; read as train ids (--labels label-ids"
    fs.label.import_(town, str(folder))
    assert say in capsys.readouterr().out
    fs.label.import_(town, str(folder))
    assert say not in capsys.readouterr().out  # kept
    fs.predict(town, {"m": str(folder)})
    assert f"m: all {say}" in capsys.readouterr().out
    fs.measure(str(folder), {"m": str(folder)}, classes="cityscapes", output=str(masks / "out"))
    assert f"note: {folder}, m={folder}: all {say}" in capsys.readouterr().out
    fs.predict(town, {"m": str(folder)}, labels="label-ids")
    assert read_settings(Path(town)).models["m"].labels[str(CITYSCAPES_LABEL_IDS[0])] == "road"
    assert fs.label.import_(town, str(folder), truth="said", labels="label-ids").new == 6
    assert say not in capsys.readouterr().out


def test_a_model_is_read_in_one_coding(masks: Path, town: str) -> None:
    folder = city(masks / "maps", "train ids", range(6))
    fs.predict(town, {"m": str(folder)})
    city(folder, "label ids", range(5, 6))
    told = refused_line("predict", town, f"m={folder}")
    assert "holds 26" in told
    assert "give --labels label-ids or --labels train-ids" in told
    city(folder, "label ids", range(6))
    assert main(["predict", town, f"m={folder}", "--labels", "label-ids"]) == 0


def test_a_folder_named_in_both_codings_is_refused(masks: Path) -> None:
    folder = city(masks / "truth-city", "both", range(1), "_labelIds")
    city(folder, "both", range(1, 2), "_train_id")
    with pytest.raises(errors.LabelMapError, match=r"is named as Cityscapes' label ids, .* as train ids"):
        fs.scale(str(folder), classes="cityscapes")


@pytest.fixture
def streets(masks: Path) -> str:
    """A study of three classes and a model whose maps hold all of them, half of the pixels the third one."""
    names = [{"id": k, "name": name} for k, name in enumerate(["road", "car", "sky"])]
    (masks / "three.json").write_text(json.dumps({"classes": names, "void": [255]}))
    for k in range(FRAMES):
        made.write(masks / "three" / f"{k}.png", np.resize(np.array([0, 1, 2, 2], np.uint8), SHAPE))
    fs.collect(str(masks / "study"), str(masks / "images"), classes=str(masks / "three.json"))
    fs.predict(str(masks / "study"), {"m": str(masks / "three")})
    return str(masks / "study")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0, 1, 2, 255], []),
        ([0, 1, 2, 255, 255], ["note: 40 % of the pixels of truth labels are void"]),
        ([0, 1], ["note: truth labels never has sky, but models predict it (m on 50 % of the pixels)"]),
    ],
)
def test_import_tells_much_void_and_classes_that_only_models_have(
    masks: Path, streets: str, values: list[int], said: list[str]
) -> None:
    for k in range(FRAMES):
        made.write(masks / "truth" / f"{k}.png", np.resize(np.array(values, np.uint8), SHAPE))
    taken = fs.label.import_(streets, str(masks / "truth"))
    assert [line for line in repr(taken).splitlines() if line.startswith("note")] == said
    assert "note" not in repr(fs.label.import_(streets, str(masks / "truth")))  # nothing is new


def test_collect_tells_much_void_in_the_truth_of_a_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k in range(3):
        made.write(tmp_path / "camvid" / "test" / f"0001TP_{k}.png", np.full((*SHAPE, 3), 90 * k, np.uint8))
        truth = np.resize(np.array([0, 3, 11, 11], np.uint8), SHAPE)
        made.write(tmp_path / "camvid" / "testannot" / f"0001TP_{k}.png", truth)
    line = typed("collect {tmp}/study {tmp}/camvid --layout camvid --split test", tmp=tmp_path)
    assert main(line) == 0
    assert "note: 50 % of the pixels of truth labels are void\n" in capsys.readouterr().out


def test_measure_tells_a_class_of_two_that_never_occurs(masks: Path) -> None:
    for k in range(FRAMES):
        made.write(masks / "ground" / f"{k}.png", np.zeros(SHAPE, np.uint8))
    said = "the truth never has a crack, but models predict it (m on "
    for truth in ("ground", "truth-ids"):
        models = {"m": str(masks / "maps-ids")}
        found = fs.measure(masks / truth, models, classes=masks / "void.json", output=masks / truth / "out")
        assert any(said in note for note in found.document["notes"]) == (truth == "ground")


def test_several_classes_that_only_models_have_are_told_together() -> None:
    said = only_predicted("the truth", ["a", "b", "c"], [1, 2], {"m": np.array([0.5, 0.25, 0.25, 0])})
    assert said == "the truth never has b, c, but models predict them (m on 50 % of the pixels)"
