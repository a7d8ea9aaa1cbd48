"""predict --scorer --measure, then reliability: counts made while networks answer, the same as of stored
doubt, on every engine; and the card's numbers, checked against scikit-learn on the pixels themselves.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import in_distribution_reference as reference
import numpy as np
import pytest
from scipy import ndimage

import faultscape as fs
import made
from faultscape import cli
from faultscape.errors import ModelError, OptionError
from faultscape.maps import runs
from faultscape.metrics.overlaps.components import component_counts, component_metrics
from faultscape.metrics.scorers import rounded, scorer_named
from faultscape.metrics.scores.curves import keras_areas, threshold_counts
from faultscape.reporting.reliability.document import find_cell
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus
from made_blends import SMALL, corpus_with_void, few_objects, study_of
from networks_of_tests import colour_network
from refusals import refused, refused_line

pytestmark = pytest.mark.slow

COUNTS = "reliability/counts"
few = pytest.fixture(scope="module", autouse=True)(few_objects)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    found = corpus_with_void(tmp_path_factory.mktemp("corpus"))
    for name, seed in (("net", 4), ("other", 5)):
        colour_network(
            found.root / f"{name}.onnx",
            np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32) * 3,
        )
    return found


def stressed(corpus: made.Corpus, folder: Path) -> str:
    """A study with a corrupted set at two severities, a blended one, and a holdout."""
    study = study_of(corpus, folder)
    fs.stress.corrupt(study, corruption=["gaussian_noise", "contrast"], severities="2,5", engine="local")
    fs.stress.blend(study, preset="fishyscapes-v1", blending=SMALL, engine="local")
    fs.stress.holdout(study, classes="car")
    return study


def anomaly_of(root: Path, name: str) -> dict[str, np.ndarray]:
    """The labels of anomaly of a blended set, void where cars are, which a holdout withholds."""
    classes, out = read_settings(root).class_list, {}
    car = classes.ids[classes.names.index("car")]
    folder = root / "stress" / name
    for part in fs.study.parts.read_manifest(folder / "anomaly"):
        labels = label_maps.read_maps(folder, int(part))
        for id_, code in label_maps.read_maps(folder / "anomaly", int(part)).items():
            anomaly = runs.decode(code)
            withheld = (runs.decode(labels[id_]) == car) & (anomaly == 0)
            out[id_] = np.where(withheld, 255, anomaly)
    assert any((one == 255).any() for one in out.values())
    return out


def nets(corpus: made.Corpus) -> dict[str, str]:
    return {name: str(corpus.root / f"{name}.onnx") for name in ("net", "other")}


@pytest.fixture(scope="module")
def counted(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    study = stressed(corpus, tmp_path_factory.mktemp("counted"))
    models = nets(corpus) | {"both": "ensemble:net,other"}
    fs.predict(study, models, scorer=["msp", "entropy"], measure=True, engine="local")
    fs.predict(study, {"net": models["net"]}, scorer=["energy"], measure=True, engine="local")
    return study


def counts_of(study: str) -> dict[str, bytes]:
    return {
        name: data
        for name, data in made.bytes_under(Path(study), COUNTS).items()
        if name.endswith(".parquet")
    }


def test_doubt_that_is_stored_gives_the_same_counts_as_doubt_that_is_counted_at_once(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    study = stressed(corpus, tmp_path)
    fs.predict(
        study, nets(corpus) | {"both": "ensemble:net,other"}, scorer=["msp", "entropy"], engine="local"
    )
    fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["energy"], engine="local")
    assert not (Path(study) / COUNTS).exists()
    card = fs.reliability(study, engine="local")
    assert counts_of(study) == counts_of(counted)
    kept = [cell for cell in card.document["cells"] if cell["metric"] != "component_f1"]  # which needs pixels
    assert kept == fs.reliability(counted, engine="local").document["cells"]


def test_processes_and_shares_of_an_array_count_the_same_bytes(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    def count(study: str, **how: object) -> None:
        fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["msp", "energy"], measure=True, **how)

    def of_net(study: str) -> dict[str, bytes]:
        return {
            name: data for name, data in counts_of(study).items() if "/net/" in name and "entropy" not in name
        }

    study, shared = stressed(corpus, tmp_path / "processes"), stressed(corpus, tmp_path / "shared")
    count(study, engine="processes", workers=2)
    assert of_net(study) == of_net(counted)
    for part in ("2/2", "1/2", "2/2"):  # made images wait for the maps of what they were made of
        count(shared, engine="local", shard=part)
    assert of_net(shared) == of_net(counted)


def test_maps_of_made_sets_are_dropped_unless_they_are_kept(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    def rows(study: str) -> dict[str, int]:
        held = fs.study.parts.read_manifest(label_maps.predictions(Path(study), "net"))
        return {part: entry.rows for part, entry in held.items()}

    collected = {f"{image.shard:05d}" for image in read_corpus(Path(counted)) if not image.parent}
    assert {part for part, number in rows(counted).items() if number} == collected
    study = stressed(corpus, tmp_path)
    said = fs.predict(
        study, {"net": nets(corpus)["net"]}, scorer=["msp"], measure=True, keep=["labels"], engine="local"
    )
    assert all(rows(study).values())
    assert "counted and not kept" not in repr(said)
    dropped = fs.predict(counted, {"net": nets(corpus)["net"]}, measure=True, engine="local")
    assert "25 maps of made images counted, not kept" in repr(dropped)


def test_a_line_without_measure_neither_stores_doubt_nor_does_counted_shards_again(
    corpus: made.Corpus, counted: str
) -> None:
    before = made.bytes_under(Path(counted), "predictions", COUNTS)
    fs.predict(counted, nets(corpus), engine="local")
    assert made.bytes_under(Path(counted), "predictions", COUNTS) == before
    assert not [kind for kind in outputs.kinds(Path(counted), "net") if kind.startswith("doubt")]


def test_the_numbers_of_the_card_are_those_of_the_pixels(corpus: made.Corpus, tmp_path: Path) -> None:
    """Each number once more from label maps and float32 doubt, by scikit-learn; rounding to float16 moves
    none of them by more than is said.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    study = stressed(corpus, tmp_path)
    fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["msp"], engine="local")
    card = fs.reliability(study, engine="local").document
    root = Path(study)
    maps, doubt = {}, {}
    for number in {image.shard for image in read_corpus(root)}:
        maps |= {
            id_: runs.decode(code)
            for id_, code in label_maps.read_maps(label_maps.predictions(root, "net"), number).items()
        }
        doubt |= {id_: values for id_, (values,) in outputs.read_kept(root, "net", "doubt-msp", number)}
    truth = dict(zip(corpus.ids, corpus.truths, strict=True))
    for id_ in truth:
        truth[id_] = truth[id_].copy()
        truth[id_][-12:] = 255

    def value(condition: str, metric: str, scorer: str = "") -> float:
        cell = find_cell(card, "net", condition, metric, scorer)
        assert cell is not None
        assert cell["value"] is not None
        return cell["value"]

    def judged(ids: list[str], of: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        said = np.concatenate([maps[id_].ravel() for id_ in ids])
        true = np.concatenate([of[id_].ravel() for id_ in ids])
        scores = np.concatenate([doubt[id_].ravel() for id_ in ids])
        return said, true, scores

    for condition in ("main", "contrast-5"):
        ids = [image.id for image in read_corpus(root) if image.set == condition]
        labels = {id_: truth[id_.removeprefix(f"{condition}/")] for id_ in ids}
        said, true, scores = judged(ids, labels)
        known = true != 255
        iou = [
            ((said == c) & (true == c))[known].sum() / ((said == c) | (true == c))[known].sum()
            for c in range(5)
        ]
        assert value(condition, "miou") == pytest.approx(np.mean(iou), abs=1e-12)
        wrong = (said != true)[known]
        apart = 1e-3 if condition == "main" else 0.02  # one place of 16, and contrast leaves hardly any range
        assert value(condition, "error_auroc", "msp") == pytest.approx(
            roc_auc_score(wrong, scores[known]), abs=apart
        )
        assert value(condition, "error_ap", "msp") == pytest.approx(
            average_precision_score(wrong, scores[known]), abs=apart
        )
    ids = [image.id for image in read_corpus(root) if image.set == "fishyscapes-v1"]
    anomaly = anomaly_of(root, "fishyscapes-v1")
    _, true, scores = judged(ids, anomaly)
    assert value("fishyscapes-v1", "average_precision", "msp") == pytest.approx(
        average_precision_score(true[true != 255], scores[true != 255]), abs=1e-3
    )
    assert value("fishyscapes-v1", "auroc", "msp") == pytest.approx(
        roc_auc_score(true[true != 255], scores[true != 255]), abs=1e-3
    )
    numbers = {id_: ndimage.label(of == 1, np.ones((3, 3)))[0] for id_, of in anomaly.items()}
    known = np.sort(scores[true == 0])[::-1]
    for rate in (0.01, 0.05, 0.1):
        threshold = known[int(rate * len(known))]  # more than this at most that share of known pixels are
        of_objects = [
            (doubt[id_] > threshold)[of == k].mean()
            for id_, of in numbers.items()
            for k in range(1, of.max() + 1)
        ]
        assert value("fishyscapes-v1", f"found_{100 * rate:.0f}", "msp") == np.mean(
            np.array(of_objects) >= 0.5
        )
    (every,) = [
        row
        for row in card["objects"]
        if (row["condition"], row["objects"]) == ("fishyscapes-v1", "all objects")
    ]
    assert every["count"] == len(of_objects)
    shown = repr(fs.show(f"{study}/reliability/objects.csv"))
    assert "all objects" in shown
    assert repr(fs.show(f"{study}/reliability/reliability.json")) == repr(
        fs.reliability(study, engine="local")
    )
    chance = find_cell(card, "random", "fishyscapes-v1", "average_precision", "random")
    assert chance is not None
    assert chance["value"] == pytest.approx((true == 1).sum() / (true != 255).sum(), abs=1e-12)
    _, true, scores = judged(list(truth), truth)
    held = np.where(true == 255, 255, true == 2)
    assert value("holdout", "auroc", "msp") == pytest.approx(
        roc_auc_score(held[held != 255], scores[held != 255]), abs=1e-3
    )
    pairs = [(maps[f"contrast-5/{id_}"], maps[id_]) for id_ in truth]
    both = np.stack([np.concatenate([one.ravel() for one in side]) for side in zip(*pairs, strict=True)])
    iou = [
        ((both[0] == c) & (both[1] == c)).sum() / ((both[0] == c) | (both[1] == c)).sum()
        for c in np.unique(both)
    ]
    assert value("contrast-5", "consistency") == pytest.approx(np.mean(iou), abs=1e-12)


def test_under_a_holdout_numbers_are_those_of_the_classes_that_models_learn(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = stressed(corpus, tmp_path)
    fs.predict(study, nets(corpus), scorer=["msp"], engine="local")
    card = fs.reliability(study, engine="local", resamples=0, worst=0).document
    root, car = Path(study), 2
    kept = [c for c in range(5) if c != car]
    truth = {
        id_: np.where(np.arange(96)[:, None] < 84, of, 255)
        for id_, of in zip(corpus.ids, corpus.truths, strict=True)
    }
    every = read_corpus(root)

    def pixels(model: str, set_: str) -> reference.Pixels:
        maps, doubt = {}, {}
        for number in {image.shard for image in every}:
            held = label_maps.read_maps(label_maps.predictions(root, model), number)
            maps |= {id_: runs.decode(code) for id_, code in held.items()}
            doubt |= {id_: of for id_, (of,) in outputs.read_kept(root, model, "doubt-msp", number)}
        ids = [image.id for image in every if image.set == set_]
        true = np.concatenate([truth[id_.removeprefix(f"{set_}/")].ravel() for id_ in ids])
        return (
            true,
            np.concatenate([maps[id_].ravel() for id_ in ids]),
            1 - np.concatenate([doubt[id_].ravel() for id_ in ids]),
        )

    def value(model: str, condition: str, metric: str, scorer: str = "") -> float:
        cell = find_cell(card, model, condition, metric, scorer, "holdout")
        assert cell is not None
        assert cell["value"] is not None
        return cell["value"]

    conditions = {
        (c["corruption"], c["severity"]): c["name"] for c in card["conditions"] if c["kind"] == "corrupted"
    }
    mious, auroc = {}, {}
    for model in ("net", "other"):
        held = {name: pixels(model, name) for name in ("main", *conditions.values())}
        for name, of in held.items():
            assert value(model, name, "miou") == pytest.approx(reference.miou(of, kept), abs=1e-12)
            assert value(model, name, "ece") == pytest.approx(reference.ece(of, kept), abs=1e-6)
            auroc[model, name] = reference.calibration_auroc(of, kept)
            assert value(model, name, "error_auroc", "msp") == pytest.approx(
                auroc[model, name], abs=2e-3 if name == "main" else 0.03
            )
        mious[model] = {key: reference.miou(held[name], kept) for key, name in conditions.items()}
        mean = reference.corrupted(mious[model])
        assert value(model, "all corruptions", "miou") == pytest.approx(mean, abs=1e-10)
        drop = 1 - mean / reference.miou(held["main"], kept)
        assert value(model, "all corruptions", "relative_drop") == pytest.approx(drop, abs=1e-10)
        error = reference.corruption_error(mious[model], mious["net"])
        assert value(model, "all corruptions", "corruption_error") == pytest.approx(error, abs=1e-10)
        mean = np.mean([value(model, name, "error_auroc", "msp") for name in conditions.values()])
        assert value(model, "all corruptions", "error_auroc", "msp") == pytest.approx(mean, abs=1e-10)
        assert find_cell(card, model, "main", "miou")["value"] < value(model, "main", "miou")
    (row,) = [
        row
        for row in card["paired"]
        if row.get("holdout") and (row["condition"], row["metric"]) == ("main", "error_auroc")
    ]
    assert row["difference"] == pytest.approx(auroc["net", "main"] - auroc["other", "main"], abs=4e-3)


def test_the_means_over_corruptions_and_what_follows_from_them(counted: str) -> None:
    card = fs.reliability(counted, engine="local").document
    get = lambda model, condition, metric: find_cell(card, model, condition, metric)["value"]  # noqa: E731
    for model in ("net", "other", "both"):
        each = {
            name: [get(model, f"{name}-{k}", "miou") for k in (2, 5)]
            for name in ("gaussian_noise", "contrast")
        }
        mean = np.mean([np.mean(values) for values in each.values()])
        assert get(model, "all corruptions", "miou") == pytest.approx(mean, abs=1e-10)
        assert get(model, "all corruptions", "relative_drop") == pytest.approx(
            1 - mean / get(model, "main", "miou"), abs=1e-10
        )
        first = {name: [get("net", f"{name}-{k}", "miou") for k in (2, 5)] for name in each}
        error = np.mean([(2 - sum(each[name])) / (2 - sum(first[name])) for name in each])
        assert get(model, "all corruptions", "corruption_error") == pytest.approx(error, abs=1e-10)
    assert card["ranking"]["models"] == 3
    assert set(card["ranking"]["agreement"]) == {"clean", "corrupted"}


def test_the_iou_of_each_class_averages_to_the_miou_of_the_classes_that_models_learn(counted: str) -> None:
    card = fs.reliability(counted, engine="local").document
    assert {row.get("holdout") for row in card["classes"]} == {"holdout"}  # in distribution, without cars
    for condition in ("main", "all corruptions"):
        for model in ("net", "other", "both"):
            rows = [r for r in card["classes"] if (r["model"], r["condition"]) == (model, condition)]
            assert "car" not in {row["class_"] for row in rows}
            miou = find_cell(card, model, condition, "miou", holdout="holdout")
            assert np.mean([row["value"] for row in rows]) == pytest.approx(miou["value"], abs=1e-9)
    assert {row["condition"] for row in card["classes"]} == {
        "main",
        "gaussian_noise, all severities",
        "contrast, all severities",
        "all corruptions",
    }


def test_differences_are_signed_and_over_what_both_have(counted: str) -> None:
    card = fs.reliability(counted, engine="local").document
    for row in card["paired"]:
        one, other = (
            find_cell(card, row[side], row["condition"], row["metric"], row["scorer"], row.get("holdout", ""))
            for side in ("first", "second")
        )
        assert one is not None
        assert other is not None
        if row["metric"] not in ("miou", "consistency"):
            # of which a class that only one of them has leaves the difference
            assert row["difference"] == pytest.approx(one["value"] - other["value"], abs=1e-9)
    assert {row["metric"] for row in card["paired"]} >= {
        "miou",
        "relative_drop",
        "consistency",
        "error_auroc",
        "average_precision",
        "auroc",
    }


def test_the_line_that_fills_a_gap_drops_no_scorer(corpus: made.Corpus, tmp_path: Path) -> None:
    study, sources = stressed(corpus, tmp_path), nets(corpus)
    for name, scorers in zip(sources, (["energy", "msp"], ["energy", "entropy"]), strict=False):
        fs.predict(study, {name: sources[name]}, scorer=scorers, measure=True, engine="local")
    first, second = list(sources)[:2]
    lines = {gap["model"]: gap["line"] for gap in fs.reliability(study, engine="local").document["gaps"]}
    assert lines[first].endswith("--scorer energy --scorer msp --scorer entropy --measure")
    assert lines[second].endswith("--scorer energy --scorer entropy --scorer msp --measure")


def test_what_is_lacking_is_said_with_the_line_that_fills_it(corpus: made.Corpus, tmp_path: Path) -> None:
    study = stressed(corpus, tmp_path)
    fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["msp"], measure=True, engine="local")
    fs.stress.corrupt(study, corruption=["fog"], severities="1", engine="local")
    said = fs.reliability(study, engine="local")
    line = f"faultscape predict {study} net={nets(corpus)['net']} --scorer msp --measure"
    gap = {
        "model": "net",
        "scorers": ["", "msp"],
        "conditions": ["fog-1"],
        "why": "maps and msp were not counted",
        "line": line,
    }
    assert said.document["gaps"] == [gap]
    assert f"missing: net on fog-1: maps and msp were not counted; to add it:\n  {line}" in repr(said)
    assert find_cell(said.document, "net", "fog-1", "miou") is None
    assert cli.main([*shlex.split(line)[1:], "--engine", "local"]) == 0
    filled = fs.reliability(study, engine="local").document
    assert filled["gaps"] == []
    assert find_cell(filled, "net", "fog-1", "error_auroc", "msp") is not None


def test_the_tables_are_written_in_three_forms(counted: str, tmp_path: Path) -> None:
    fs.reliability(counted, output=str(tmp_path / "out"), engine="local")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        f"{name}.{form}"
        for name in ("models", "corruptions", "table-s3", "table-s4", "errors")
        for form in ("csv", "md", "tex")
    } <= names
    text = (tmp_path / "out" / "table-s4.tex").read_text()
    assert r"fishyscapes-v1 AP $\uparrow$" in text
    document = json.loads((tmp_path / "out" / "reliability.json").read_text())
    lines = (tmp_path / "out" / "cells.csv").read_text().splitlines()
    assert len(lines) == len(document["cells"]) + 1


def test_what_cannot_be_judged_is_refused_in_one_line(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    with refused(
        ModelError, "--models nett: the study has no such model; it has net, other, both. Did you mean 'net'"
    ):
        fs.reliability(counted, models=["nett"])
    with refused(OptionError, "--natural night: the study has no such set; it has main, "):
        fs.reliability(counted, natural=["night"])
    with refused(OptionError, "--reference x: is not one of the models net, other, both"):
        fs.reliability(counted, reference="x")
    bare = str(made.collected(corpus, tmp_path / "bare", shard_size=4))
    fs.predict(bare, corpus.models, engine="local")
    line = refused_line(
        "predict", bare, f"net={nets(corpus)['net']}", "--scorer", "mutual-information", "--engine", "local"
    )
    assert (
        "needs several members (an ensemble, --flip, --scales, or a network trained with a head that has"
        " some)" in line
    )
    with refused(OptionError, "--correct-members has no effect without --scorer mutual-information; add it"):
        fs.predict(bare, nets(corpus), scorer=["msp"], scoring=fs.options.Scoring(correct_members=True))


def test_corrected_mutual_information_is_stored_under_a_name_of_its_own(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = made.collected(corpus, tmp_path / "study", shard_size=4)
    both = {"both": f"ensemble:{','.join(nets(corpus))}"}
    fs.predict(str(study), nets(corpus), engine="local")
    found = []
    for correct in (False, True):
        scoring = fs.options.Scoring(correct_members=correct)
        fs.predict(str(study), both, scorer=["mutual-information"], scoring=scoring, engine="local")
        word = "mutual-information" + "-corrected" * correct
        assert read_settings(study).models["both"].options["scorer"] == [word]
        kept = outputs.read_kept(study, "both", f"doubt-{word}", 0)
        found.append(np.stack([arrays[0] for _, arrays in kept]))
    plain, corrected = found
    assert plain.max() > 0
    np.testing.assert_allclose(corrected, np.minimum(2 * plain, np.log(5)), rtol=1e-5)


def test_consistency_ranks_models_of_a_study_without_any_label(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(made.collected(corpus, tmp_path / "study", shard_size=4))
    fs.stress.corrupt(study, corruption=["contrast"], severities="5", engine="local")
    fs.predict(study, nets(corpus), engine="local")
    card = fs.reliability(study, engine="local").document
    assert {cell["metric"] for cell in card["cells"]} == {"consistency"}
    assert set(card["ranking"]["order"]) == {"net", "other"}


def test_the_cheat_finds_what_is_blended_where_fog_does_not_hide_it(
    corpus: made.Corpus, counted: str
) -> None:
    """S4 3.1: who has the backgrounds needs no network."""
    card = fs.reliability(counted, engine="local").document
    clear = next(guard for guard in card["guards"] if guard["kind"] == "difference")
    assert clear["weather"] == "clear"
    assert clear["average_precision"] > 0.9 > clear["share"]
    labels = np.concatenate(
        [labels.ravel() for labels in anomaly_of(Path(counted), "fishyscapes-v1").values()]
    )
    # withheld pixels are left out
    assert clear["share"] == pytest.approx((labels == 1).sum() / (labels != 255).sum(), abs=1e-9)
    fs.stress.blend(
        counted,
        preset="fishyscapes-v1",
        edition="foggy",
        blending=fs.options.Blending(smallest=20, fog=1.0),
        engine="local",
    )
    foggy = [
        g for g in fs.reliability(counted, engine="local").document["guards"] if g.get("weather") == "foggy"
    ]
    assert [guard["condition"] for guard in foggy] == ["fishyscapes-v1-foggy"]
    assert foggy[0]["average_precision"] < 0.5 * clear["average_precision"]
    fs.collect(counted, remove=["fishyscapes-v1-foggy/*"])
    del corpus


def test_the_presets_of_others_are_made_of_the_same_counts(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    card = fs.reliability(counted, preset="bravo-2024", output=tmp_path / "bravo", engine="local").document
    of = card["presets"]["bravo-2024"]["net"]
    subset = of["sets"]["fishyscapes-v1"]
    assert set(subset) == {
        "miou",
        "ece",
        "auroc",
        "aupr_success",
        "aupr_error",
        "fpr95",
        "ood_auroc",
        "ood_aupr",
        "ood_fpr95",
    }
    good = {
        name: 1 - value if name in ("ece", "fpr95", "ood_fpr95") else value for name, value in subset.items()
    }
    harmonic = lambda values: len(values) / sum(1 / value for value in values)  # noqa: E731
    semantic, ood = (
        [value for name, value in good.items() if name.startswith("ood_") == of_ood]
        for of_ood in (False, True)
    )
    assert of["means"]["semantic_hmean"] == pytest.approx(harmonic(semantic), abs=1e-9)
    assert of["means"]["ood_hmean"] == pytest.approx(harmonic(ood), abs=1e-9)
    assert of["means"]["bravo_index"] == pytest.approx(
        harmonic([of["means"]["semantic_hmean"], of["means"]["ood_hmean"]]), abs=1e-9
    )
    card = fs.reliability(counted, preset="s3-code", output=str(tmp_path / "s3"), engine="local").document
    s3 = card["presets"]["s3-code"]["net"]["sets"]["fishyscapes-v1"]
    study = stressed(corpus, tmp_path)
    fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["msp"], engine="local")
    root, scores, labels = Path(study), [], []
    where = root / "stress" / "fishyscapes-v1" / "anomaly"
    for part in fs.study.parts.read_manifest(where):
        truth = label_maps.read_maps(where, int(part))
        for id_, (values,) in outputs.read_kept(root, "net", "doubt-msp", int(part)):
            scores.append(values.ravel())
            labels.append(runs.decode(truth[id_]).ravel() == 1)  # void is known
    score, label = np.concatenate(scores), np.concatenate(labels)
    assert s3["auroc_void_known"] == pytest.approx(roc_auc_score(label, score), abs=1e-3)
    assert s3["aupr_void_known"] == pytest.approx(average_precision_score(label, score), abs=1e-3)
    keras = keras_areas(threshold_counts(score, label))
    assert s3["auroc_200"] == pytest.approx(keras.auroc, abs=2e-3)
    assert s3["aupr_200"] == pytest.approx(keras.average_precision, abs=2e-3)


def test_component_f1_is_that_of_the_stored_doubt_at_the_best_pixel_threshold(
    corpus: made.Corpus, counted: str, tmp_path: Path
) -> None:
    def f1(study: str, **more: str) -> dict[str, float]:
        cells = fs.reliability(study, engine="local", worst=0, **more).document["cells"]
        return {cell["condition"]: cell["value"] for cell in cells if cell["metric"] == "component_f1"}

    assert f1(counted) == {}  # no pixel is left
    study = stressed(corpus, tmp_path)
    fs.predict(study, {"net": nets(corpus)["net"]}, scorer=["entropy", "msp"], engine="local")
    found = f1(study, track="obstacle")
    assert set(found) == {"fishyscapes-v1", "holdout"}
    root, pairs = Path(study), []
    truth = anomaly_of(root, "fishyscapes-v1")
    for part in fs.study.parts.read_manifest(root / "stress" / "fishyscapes-v1" / "anomaly"):
        for id_, (values,) in outputs.read_kept(root, "net", "doubt-msp", int(part)):
            if id_ in truth:
                pairs.append((rounded(scorer_named("msp"), values, 5).astype(float), truth[id_]))
    score = np.concatenate([s[a != 255] for s, a in pairs])
    label = np.concatenate([a[a != 255] == 1 for _, a in pairs])
    at = max(
        np.unique(score), key=lambda t: (label & (score >= t)).sum() / (label.sum() + (score >= t).sum())
    )
    counts = [component_counts(s, a, np.nextafter(at, -np.inf), track="obstacle") for s, a in pairs]
    whole = component_metrics({name: np.sum([one[name] for one in counts], axis=0) for name in counts[0]})
    assert 0 < whole["component_f1"] < 1
    assert found["fishyscapes-v1"] == pytest.approx(whole["component_f1"], abs=1e-12)
    kept = root / "reliability" / "components" / "net.json"
    before = kept.stat().st_mtime_ns
    assert f1(study, track="obstacle") == found
    assert kept.stat().st_mtime_ns == before
    assert f1(study) != found
    fs.predict(study, rename={"net": "renamed"})
    assert not kept.exists()
    assert kept.with_name("renamed.json").exists()
    fs.predict(study, remove=["renamed"])
    assert not kept.with_name("renamed.json").exists()


def test_failures_that_doubt_and_disagreement_find_are_counted(corpus: made.Corpus, tmp_path: Path) -> None:
    many = made.corpus(tmp_path / "many", images=60, models=2)
    study = str(made.collected(many, tmp_path / "study", shard_size=8))
    fs.label.import_(study, str(many.truth))
    fs.predict(study, nets(corpus), scorer=["msp"], engine="local")
    said = fs.reliability(study, engine="local").document
    assert {row["finder"] for row in said["finders"]} == {"doubt"}
    assert f"disagreement finds failures too; run `faultscape compare {study}` to add it" in said["notes"]
    fs.compare(study, engine="local")
    rows = fs.reliability(study, engine="local").document["finders"]
    assert {(row["model"], row["finder"]) for row in rows} == {
        (m, f) for m in ("net", "other") for f in ("doubt", "disagreement")
    }
    assert {(row["images"], row["failures"]) for row in rows} == {(60, 6)}
    assert all(
        row["p_value"] == next(r["p_value"] for r in rows if r["model"] == row["model"]) > 0 for row in rows
    )
    assert all(0 <= row["found_tenth"] <= row["found_fifth"] <= 1 and 0 <= row["auroc"] <= 1 for row in rows)


def test_counts_go_with_a_model_that_is_renamed_or_removed_and_status_says_that_the_card_is_stale(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = stressed(corpus, tmp_path)
    fs.predict(study, nets(corpus), scorer=["msp"], measure=True, engine="local")
    before = fs.reliability(study, engine="local").document["cells"]
    state = {stage: state for stage, state, _ in fs.status(study).stages}
    assert state["reliability"] == "done"
    fs.predict(study, rename={"net": "renamed"})
    assert any(
        stage == "reliability" and state == "stale" and "models changed" in words
        for stage, state, words in fs.status(study).stages
    )
    fs.run(study, engine="local")  # which makes the card again, among what else is undone
    after = json.loads((Path(study) / "reliability" / "reliability.json").read_text())
    assert not after["gaps"]
    renamed = [cell | {"model": {"net": "renamed"}.get(cell["model"], cell["model"])} for cell in before]
    key = lambda cell: (cell["model"], cell["scorer"], cell["condition"], cell["metric"])  # noqa: E731
    assert sorted(renamed, key=key) == sorted(after["cells"], key=key)
    fs.predict(study, remove=["renamed"])
    assert [path.name for path in (Path(study) / COUNTS).iterdir()] == ["other"]
