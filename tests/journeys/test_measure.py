"""The road of measuring: a folder of truth and folders of maps, a study, several data sets; what is done is
not done again, what is wrong is said.
"""

from __future__ import annotations

import csv
import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import faultscape as fs
import made
from faultscape.classes.class_lists import resolve
from faultscape.cli import main
from refusals import refused_line, told, typed


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=70, models=3)


def line(
    corpus: made.Corpus,
    out: Path,
    *words: object,
    models: tuple[str, ...] = ("model-0", "model-1", "model-2"),
) -> list[str]:
    named = [f"{name}={corpus.models[name]}" for name in models]
    options = typed("--classes {corpus.classes} -o {out}", corpus=corpus, out=out)
    return ["measure", str(corpus.truth), *named, *options, *" ".join(map(str, words)).split()]


def document(out: Path) -> dict[str, Any]:
    return json.loads((out / "measure.json").read_text())


@pytest.fixture(scope="module")
def measured(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measured")
    assert main(line(corpus, out)) == 0
    return out


PIXELS = ("miou", "fwiou", "mpa", "pixel_accuracy", "dice")
REGIONS = ("rom", "rum", "ror", "rur", "pe_os", "pe_us", "ap50", "ap75", "ap")
SEGMENTS = ("pq", "sq", "rq")
PARTITIONS = ("gce", "lce", "partition_distance", "variation_of_information", "adapted_rand")
BOUNDARIES = ("boundary_f", "boundary_iou")
NAMES = {*PIXELS, *REGIONS, *SEGMENTS, *PARTITIONS, *BOUNDARIES}


def test_every_metric_has_value_interval_direction_and_definition(
    measured: Path, corpus: made.Corpus
) -> None:
    found = document(measured)
    assert list(found["models"]) == list(corpus.models)
    for metrics in found["models"].values():
        assert set(metrics) >= NAMES
        for name, entry in metrics.items():
            assert {"value", "low", "high", "undefined", "undefined_of", "better", "definition"} <= set(
                entry
            ), name
            assert entry["low"] <= entry["value"] <= entry["high"], name
            assert entry["better"] in ("high", "low")
            assert len(entry["definition"]) > 20, name
    assert set(found["models"]["model-0"]["rom"]["per_class"]) == set(made.NAMES)
    for name in ("miou", "dice", "mpa", "gce", "lce", "pe_os", "pq", "boundary_f", "boundary_iou"):
        assert set(found["models"]["model-0"][name]["per_class"]) == set(made.NAMES), name
    assert found["models"]["model-0"]["miou"]["better"] == "high"
    assert found["models"]["model-0"]["rom"]["better"] == "low"
    assert (measured / "report.html").stat().st_size > 1000


def test_the_numbers_are_those_of_the_rooms_on_arrays(measured: Path, corpus: made.Corpus) -> None:
    classes = resolve(str(corpus.classes))
    for name, maps in corpus.maps.items():
        found = document(measured)["models"][name]
        regions = fs.metrics.regions(corpus.truths, maps, classes)
        for metric in REGIONS:
            assert found[metric]["value"] == pytest.approx(getattr(regions, metric), abs=1e-11), metric
            assert found[metric]["undefined"] == regions.undefined[metric]
            assert found[metric]["undefined_of"] == "cells (image, class)"
        assert (found["rom"]["undefined_of"], found["miou"]["undefined_of"]) == (
            "cells (image, class)",
            "classes",
        )
        pairs = fs.comparison.count({name: maps}, classes, truth=corpus.truths)
        summed = [counts[0].sum(0) for counts in (pairs.both, pairs.rows, pairs.columns)]
        for metric in PIXELS:
            assert found[metric]["value"] == pytest.approx(
                float(getattr(fs.metrics.counts, metric)(*summed)), abs=1e-11
            ), metric
        cells = fs.comparison.count({name: maps}, classes, truth=corpus.truths, cells=True).cells
        assert cells is not None
        assert document(measured)["confusion"][name] == cells[0].sum(0).tolist()
        counts = {key: values.sum(0) for key, values in regions.counts.items()}
        pooled = counts["pq_iou_sum"] / (
            counts["pq_found"] + counts["pq_missed"] / 2 + counts["pq_invented"] / 2
        )
        assert found["pq"]["value"] == pytest.approx(float(pooled.mean()), abs=1e-11)


def test_images_by_themselves_stand_in_the_table_in_corpus_order(measured: Path, corpus: made.Corpus) -> None:
    table = pq.read_table(measured / "per_image.parquet")
    assert table.num_rows == 3 * len(corpus.ids)
    rows = table.to_pylist()
    assert [row["image"] for row in rows[: len(corpus.ids)]] == sorted(corpus.ids)
    classes = resolve(str(corpus.classes))
    place = corpus.ids.index(rows[5]["image"])
    alone = fs.metrics.regions(corpus.truths[place], corpus.maps["model-0"][place], classes)
    assert rows[5]["rom"] == pytest.approx(alone.rom, abs=1e-12)
    assert rows[5]["truth_regions"] == alone.counts["truth_regions"][0].tolist()
    mean = np.nanmean([row["rom"] for row in rows if row["model"] == "model-2"])
    assert document(measured)["models"]["model-2"]["rom"]["value"] == pytest.approx(mean, abs=1e-11)


def test_differences_are_paired_and_gaps_name_class_and_kind(measured: Path) -> None:
    found = document(measured)
    rows = {(row["first"], row["second"], row["metric"]): row for row in found["paired"]}
    row = rows["model-0", "model-2", "miou"]
    values = [found["models"][name]["miou"]["value"] for name in ("model-0", "model-2")]
    assert row["difference"] == pytest.approx(values[0] - values[1])
    assert row["low"] < row["difference"] < row["high"]
    spread = [
        found["models"][name]["miou"]["high"] - found["models"][name]["miou"]["low"]
        for name in ("model-0", "model-2")
    ]
    assert row["high"] - row["low"] < sum(spread)  # both models meet the same hard images
    assert {gap["best"] for gap in found["gaps"]} == {"model-0"}
    for name in ("model-1", "model-2"):
        mine = [gap for gap in found["gaps"] if gap["model"] == name]
        assert sum(gap["share"] for gap in mine) == pytest.approx(1)
        assert all(gap["kind"] in ("over", "under", "missed", "invented") and gap["gap"] > 0 for gap in mine)


def test_two_models_are_compared_over_the_cells_that_both_have(measured: Path, corpus: made.Corpus) -> None:
    """Against plain NumPy: means over images of the mean over classes, their differences, and Student's
    intervals.
    """
    from scipy import stats

    rows = {(row["first"], row["second"], row["metric"]): row for row in document(measured)["paired"]}
    classes = resolve(str(corpus.classes))
    one, other = (
        fs.metrics.regions(corpus.truths, corpus.maps[name], classes) for name in ("model-0", "model-2")
    )
    for metric in ("ap50", "rom", "pe_us"):
        row, cells, others = (
            rows["model-0", "model-2", metric],
            one.per_image[metric],
            other.per_image[metric],
        )
        both = ~np.isnan(cells) & ~np.isnan(others)
        gap = np.array(
            [
                (mine - theirs)[known].mean()
                for mine, theirs, known in zip(cells, others, both, strict=True)
                if known.any()
            ]
        )
        assert row["difference"] == pytest.approx(gap.mean(), abs=1e-11), metric
        spread = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
        assert (row["low"], row["high"]) == (
            pytest.approx(gap.mean() - spread),
            pytest.approx(gap.mean() + spread),
        ), metric
        assert row["difference_all"] == pytest.approx(
            getattr(one, metric) - getattr(other, metric), abs=1e-11
        ), metric
    assert (
        rows["model-0", "model-2", "ap50"]["difference"]
        != rows["model-0", "model-2", "ap50"]["difference_all"]
    )
    assert (one.counts["pq_found"].sum(0) > 0).all()
    assert (
        rows["model-0", "model-2", "sq"]["difference"] == rows["model-0", "model-2", "sq"]["difference_all"]
    )


def test_pooled_metrics_are_compared_over_the_classes_that_both_have(tmp_path: Path) -> None:
    """One network never says class 2, so that its segmentation quality is a mean over one class less."""
    truth = np.zeros((8, 8, 12), np.uint8)
    truth[:, :4, :6], truth[:, 5:, 4:] = 1, 2
    full, part = truth.copy(), truth.copy()
    full[:, 7, 4:], full[:, 3, :6] = 0, 0  # a third of 2 is missed, and a quarter of 1
    part[part == 2] = 0
    part[:, 3, :3] = 0  # an eighth of 1
    for name, maps in (("truth", truth), ("full", full), ("part", part)):
        for k, label_map in enumerate(maps):
            made.write(tmp_path / name / f"{k}.png", label_map)
    words = [f"{name}={tmp_path / name}" for name in ("full", "part")]
    assert (
        main(["measure", str(tmp_path / "truth"), *words, "--classes", "3", "-o", str(tmp_path / "o")]) == 0
    )
    found = document(tmp_path / "o")
    row = next(r for r in found["paired"] if r["metric"] == "sq")
    quality = {name: list(found["models"][name]["sq"]["per_class"].values()) for name in ("full", "part")}
    assert quality["part"][2] is None
    both = [c for c in range(3) if None not in (quality["full"][c], quality["part"][c])]
    assert row["difference"] == pytest.approx(
        np.mean([quality["full"][c] - quality["part"][c] for c in both])
    )
    values = [found["models"][name]["sq"]["value"] for name in ("full", "part")]
    assert row["difference_all"] == pytest.approx(values[0] - values[1])
    assert row["difference"] != pytest.approx(row["difference_all"])


@pytest.mark.slow
def test_intervals_draw_whole_groups_where_images_belong_together(
    corpus: made.Corpus, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ("--no-boundaries", "--worst", 0)
    drives = tmp_path / "drives.csv"
    drives.write_text(
        "id,group\n" + "".join(f"{id_},drive {k % 8}\n" for k, id_ in enumerate(sorted(corpus.ids)))
    )
    capsys.readouterr()
    assert main(line(corpus, tmp_path / "o", "--group", drives, "-v", *quick)) == 0
    found, alone = document(tmp_path / "o"), document(measured)
    note = "intervals resample whole groups: 8 groups of 8 to 9 images; Student's t with 7 degrees of freedom"
    said = capsys.readouterr().out
    assert f"note: {note}" in said
    assert "*" in said
    assert found["units"] == {"drawn": "groups", "count": 8}
    assert alone["units"] == {"drawn": "images", "count": 70}
    table = pq.read_table(tmp_path / "o" / "per_image.parquet").to_pylist()
    values = np.array([row["rom"] for row in table if row["model"] == "model-1"])
    sums = np.bincount(np.arange(70) % 8, values - values.mean())
    from scipy import stats

    half = stats.t.ppf(0.975, 7) * np.sqrt((sums**2).sum() * 8 / 7) / 70
    entry = found["models"]["model-1"]["rom"]
    assert entry["value"] == alone["models"]["model-1"]["rom"]["value"]
    assert (entry["low"], entry["high"]) == (
        pytest.approx(values.mean() - half),
        pytest.approx(values.mean() + half),
    )
    assert main(line(corpus, tmp_path / "o", "--block", 14, "-v", *quick)) == 0
    found = document(tmp_path / "o")
    assert "5 groups of 14 images" in found["notes"][0]
    assert (
        "intervals need at least 6: with --block N they are cut into runs of N consecutive images"
        in found["notes"][0]
    )
    assert (
        found["notes"][1]
        == "without intervals, no model is marked as best, shaded or called significantly worse"
    )
    assert "*" not in capsys.readouterr().out
    assert main(line(corpus, tmp_path / "none", "--resamples", 0, "--engine", "local", *quick)) == 0
    assert (
        "without intervals, no model is marked as best, shaded or called significantly worse"
        in capsys.readouterr().out
    )
    assert {entry["low"] for of in found["models"].values() for entry in of.values()} == {None}
    assert {row["high"] for row in found["paired"]} == {None}
    assert found["models"]["model-1"]["rom"]["value"] == alone["models"]["model-1"]["rom"]["value"]
    assert "{group} once" in refused_line(*line(corpus, tmp_path / "o", "--group", "drive", *quick))


def test_a_study_and_a_list_have_groups_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=12, models=1)
    study, named = str(tmp_path / "study"), {n: str(s) for n, s in corpus.models.items()}
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, named)
    fs.label.import_(study, str(corpus.truth))

    def found() -> dict[str, Any]:
        quick = fs.options.Definitions(boundaries=False)
        return fs.measure(study, worst=0, definitions=quick).document

    assert found()["units"] == {"drawn": "images", "count": 12}
    assert f"`faultscape collect {study} --block N`" in refused_line("measure", study, "--block", 2)
    capsys.readouterr()
    fs.collect(study, grouping=fs.options.Grouping(block=4))
    few = (
        "3 groups of 4 images: intervals need at least 6; `faultscape collect STUDY --block N`"
        " splits groups into runs of N consecutive images"
    )
    assert few.replace("STUDY", study) in capsys.readouterr().out
    (note,) = (note for note in found()["notes"] if "3 groups" in note)
    assert note.endswith(
        f"intervals need at least 6: `faultscape collect {study} --block N` cuts them into runs of N consecutive"
        " images"
    )
    fs.collect(study, grouping=fs.options.Grouping(block=2))
    assert "intervals need at least" not in capsys.readouterr().out
    assert made.states(study)["measure"] == "stale"
    assert found()["units"] == {"drawn": "groups", "count": 6, "same_groups": True}
    assert (
        "95 % intervals for more images of the same groups"
        in (Path(study) / "measures" / "report.html").read_text()
    )
    text = (
        f'[near]\ntruth = "{corpus.truth}"\nclasses = "{corpus.classes}"\nblock = 3\nmodels = {{ good ='
        f' "{corpus.models["model-0"]}" }}\n'
    )
    (tmp_path / "list.toml").write_text(text)
    words = typed("measure --datasets {tmp}/list.toml -o {tmp}/o --no-boundaries --worst 0", tmp=tmp_path)
    assert main(words) == 0
    assert document(tmp_path / "o")["datasets"]["near"]["units"] == {
        "drawn": "groups",
        "count": 4,
        "same_groups": True,
    }
    (tmp_path / "list.toml").write_text(text.replace("block = 3", "group = 3"))
    assert "group is 3; expected a pattern" in refused_line(*words)


def test_a_note_says_where_consecutive_images_are_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wrong = np.repeat(rng.uniform(0, 0.8, 10), 6)  # runs of six frames with the same share of mistakes
    for k, share in enumerate(wrong):
        truth = rng.integers(0, 2, (12, 12)).astype(np.uint8)
        made.write(tmp_path / "truth" / f"{k:02}.png", truth)
        made.write(
            tmp_path / "maps" / f"{k:02}.png",
            np.where(rng.random(truth.shape) < share, 1 - truth, truth).astype(np.uint8),
        )
    words = typed(
        "measure {tmp}/truth m={tmp}/maps --classes 2 -o {tmp}/o --no-boundaries --worst 0", tmp=tmp_path
    )
    assert main(words) == 0
    (note,) = document(tmp_path / "o")["notes"]
    assert "consecutive images are similar (the mIoU of neighbors correlates by 0.9" in note
    assert "times too narrow; group them with `--group`" in note
    assert main([*words, "--block", "6"]) == 0
    assert "consecutive" not in " ".join(document(tmp_path / "o")["notes"])


@pytest.mark.slow
def test_python_and_the_command_line_write_the_same(
    corpus: made.Corpus, measured: Path, tmp_path: Path
) -> None:
    found = fs.measure(
        corpus.truth, corpus.models, classes=corpus.classes, output=tmp_path / "o", engine="local"
    )
    assert found.document == document(measured)
    assert (tmp_path / "o" / "per_image.parquet").read_bytes() == (
        measured / "per_image.parquet"
    ).read_bytes()
    assert found.models["model-0"]["miou"] == document(measured)["models"]["model-0"]["miou"]
    assert "mIoU ." in repr(found)
    assert "IoU error" in found.full_text()


@pytest.mark.slow
def test_one_more_model_is_measured_alone(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.measure import shard

    seen: list[tuple[str, ...]] = []
    whole = shard.measure_shard
    monkeypatch.setattr(
        shard, "measure_shard", lambda job, tick: seen.append(tuple(job["models"])) or whole(job, tick)
    )
    local = ("--engine", "local", "--no-boundaries", "--resamples", "20")
    assert main(line(corpus, tmp_path, *local, models=("model-0",))) == 0
    assert seen == [("model-0",)] * 2  # 70 images are two shards
    assert main(line(corpus, tmp_path, *local, models=("model-0", "model-1"))) == 0
    assert seen[2:] == [("model-1",)] * 2
    assert main(line(corpus, tmp_path, *local, models=("model-0", "model-1"))) == 0
    assert len(seen) == 4
    choices = "--over all --per prediction --bins 5"
    assert main(line(corpus, tmp_path, *local, choices, models=("model-0",))) == 0
    assert len(seen) == 4  # choices of the summary
    assert main(line(corpus, tmp_path, *local, "--connectivity", 4, models=("model-0",))) == 0
    assert len(seen) == 6
    whole_maps = "--engine local --resamples 20 --connectivity 4"
    assert main(line(corpus, tmp_path, whole_maps, models=("model-0",))) == 0
    assert len(seen) == 8  # boundaries were left out before


@pytest.mark.slow
def test_a_killed_line_goes_on_where_it_was(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.measure import shard

    whole = shard.measure_shard

    def killed(job: dict[str, Any], tick: Any) -> Any:
        if job["number"] == 1:
            raise KeyboardInterrupt
        return whole(job, tick)

    quick = "--no-boundaries --resamples 20"
    words = line(corpus, tmp_path, "--engine local", quick, models=("model-0",))
    monkeypatch.setattr(shard, "measure_shard", killed)
    assert main(words) == 130
    done: list[int] = []
    monkeypatch.setattr(
        shard, "measure_shard", lambda job, tick: done.append(job["number"]) or whole(job, tick)
    )
    assert main(words) == 0
    assert done == [1]
    monkeypatch.undo()
    for name, engine in (("local", "--engine local"), ("two", "--engine processes --workers 2")):
        # the law of engines: the same bytes
        other = line(corpus, tmp_path / name, engine, quick, models=("model-0",))
        assert main(other) == 0
        kept = sorted(p for p in (tmp_path / name).rglob("*") if p.suffix in (".json", ".parquet", ".html"))
        assert len(kept) >= 5
        for path in kept:
            assert path.read_bytes() == (tmp_path / path.relative_to(tmp_path / name)).read_bytes(), path.name


@pytest.mark.slow
def test_a_list_of_data_sets_is_one_table(corpus: made.Corpus, tmp_path: Path) -> None:
    text = (
        f'[near]\ntruth = "{corpus.truth}"\nclasses = "{corpus.classes}"\nmodels = {{ good ='
        f' "{corpus.models["model-0"]}" }}\n'
    )
    text += (
        f'[far]\ntruth = "{corpus.truth}"\nclasses = "{corpus.classes}"\n[far.models]\ngood ='
        f' "{corpus.models["model-1"]}"\nbad = "{corpus.models["model-2"]}"\n'
    )
    (tmp_path / "list.toml").write_text(text)
    told(*typed("measure --datasets {tmp}/list.toml -o {tmp}/o --no-boundaries --resamples 50", tmp=tmp_path))
    found = document(tmp_path / "o")["datasets"]
    assert {name: list(one["models"]) for name, one in found.items()} == {
        "near": ["good"],
        "far": ["good", "bad"],
    }
    assert found["near"]["models"]["good"]["miou"] != found["far"]["models"]["good"]["miou"]


@pytest.mark.slow
def test_a_study_measures_what_it_holds_and_status_knows_when_that_is_old(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    study = str(tmp_path / "study")
    made.collected(corpus, study, 4)
    fs.predict(study, {n: str(s) for n, s in corpus.models.items()})
    assert "there are no labels yet" in refused_line("measure", study)
    fs.label.import_(study, str(corpus.truth))
    found = fs.measure(study, resamples=20)
    regions = fs.metrics.regions(corpus.truths, corpus.maps["model-1"], resolve(str(corpus.classes)))
    assert found.models["model-1"]["rum"]["value"] == pytest.approx(regions.rum, abs=1e-11)
    assert (Path(study) / "measures" / "report.html").exists()
    assert made.states(study)["measure"] == "done"
    made.write(corpus.models["model-1"] / f"{corpus.ids[0]}.png", corpus.truths[0])
    fs.predict(study, {"model-1": str(corpus.models["model-1"])})
    assert made.states(study)["measure"] == "stale"
    again = fs.measure(study, resamples=20)
    assert again.models["model-1"]["miou"]["value"] > found.models["model-1"]["miou"]["value"]
    assert made.states(study)["measure"] == "done"
    assert "available: labels. Did you mean 'labels'?" in refused_line("measure", study, "--truth", "label")
    assert "is a study" in refused_line("measure", study, f"x={corpus.models['model-0']}")


def test_regions_as_they_are_given_need_no_classes(corpus: made.Corpus, tmp_path: Path) -> None:
    told(
        *typed(
            "measure {corpus.truth} m={model_1} --regions given -o {tmp}/o",
            corpus=corpus,
            model_1=corpus.models["model-1"],
            tmp=tmp_path,
        )
    )
    found = document(tmp_path / "o")["models"]["m"]
    expected = fs.metrics.regions(corpus.truths, corpus.maps["model-1"], regions="given")
    assert found["rom"]["value"] == pytest.approx(expected.rom, abs=1e-11)
    assert "miou" not in found
    assert found["gce"]["value"] == pytest.approx(
        np.mean([_gce(t, p) for t, p in zip(corpus.truths, corpus.maps["model-1"], strict=True)]), abs=1e-11
    )


def _gce(truth: np.ndarray, prediction: np.ndarray) -> float:
    pair = truth.astype(int) * 1000 + prediction
    ids, pixels = np.unique(pair, return_counts=True)
    return fs.metrics.counts.gce(ids // 1000, ids % 1000, pixels)


def test_confidence_gives_curves_and_frames_without_are_counted(corpus: made.Corpus, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sure = {id_: rng.random(corpus.truths[0].shape).astype(np.float32) for id_ in corpus.ids[:10]}
    for id_, values in sure.items():
        (tmp_path / "sure" / id_).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "sure" / f"{id_}.npy", values)
    sure_of = f"--confidence model-1={tmp_path / 'sure'} --resamples 20"
    words = line(corpus, tmp_path / "o", sure_of, models=("model-1",))
    assert main(words) == 0
    curve = document(tmp_path / "o")["curves"]["model-1"]["confidence"]
    assert (curve["frames"], curve["without"]) == (10, 60)
    assert len(curve["threshold"]) == len(curve["rom"]) == 101
    classes = resolve(str(corpus.classes))
    at = curve["threshold"].index(0.5)
    kept = []
    for id_, values in sure.items():
        k = corpus.ids.index(id_)
        from faultscape.maps.regions import number

        numbers, _, areas = number(corpus.maps["model-1"][k])
        mean = np.bincount(numbers.ravel(), weights=values.ravel()) / areas
        kept.append(np.where(mean[numbers] >= 0.5, corpus.maps["model-1"][k], 255))
    chosen = np.stack([corpus.truths[corpus.ids.index(id_)] for id_ in sure])
    whole = fs.metrics.regions(
        chosen, np.stack([corpus.maps["model-1"][corpus.ids.index(id_)] for id_ in sure]), classes
    )
    above = fs.metrics.regions(chosen, np.stack(kept), classes, absent="zero")
    for metric in ("rom", "rum"):  # the cells that have a value at all stay in the mean
        cells = np.where(np.isnan(whole.per_image[metric]), np.nan, np.nan_to_num(above.per_image[metric]))
        assert curve[metric][at] == pytest.approx(np.nanmean(np.nanmean(cells, 1)), abs=1e-9)
        assert curve[metric][0] == pytest.approx(np.nanmean(np.nanmean(whole.per_image[metric], 1)), abs=1e-9)
    for place, shown in ((0, [corpus.maps["model-1"][corpus.ids.index(id_)] for id_ in sure]), (at, kept)):
        assert curve["iou"][place] == pytest.approx(_pooled_miou(chosen, np.stack(shown)), abs=1e-9)
    assert curve["area"] >= 0


def _pooled_miou(truth: np.ndarray, shown: np.ndarray) -> float:
    """By definition, 255 being unknown."""
    classes = np.setdiff1d(np.union1d(truth, shown), [255])
    return float(
        np.mean([((truth == c) & (shown == c)).sum() / ((truth == c) | (shown == c)).sum() for c in classes])
    )


@pytest.mark.parametrize("kind", ["maps", "confidence", "anomaly"])
def test_files_without_a_truth_are_counted_and_named(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=1)
    for id_ in corpus.ids[5:]:
        (corpus.truth / f"{id_}.png").unlink()
    out, scores, maps = tmp_path / "o", tmp_path / "scores", corpus.models["model-0"]
    for id_ in corpus.ids:
        made.write(scores / f"{id_}.png", np.full((36, 48), 99, np.uint8))
    for path in corpus.truth.rglob("*.png") if kind == "anomaly" else ():
        made.write(path, np.eye(36, 48, dtype=np.uint8))
    words = {
        "maps": (f"m={maps}", "--classes", str(corpus.classes)),
        "confidence": (f"m={maps}", "--classes", str(corpus.classes), "--confidence", f"m={scores}"),
        "anomaly": ("--anomaly", f"m={scores}"),
    }[kind]
    line = ["measure", str(corpus.truth), *words, "--output", str(out), "--engine", "local"]
    assert main(line) == 0
    printed = capsys.readouterr().out
    assert main([*line, "--json", "-q"]) == 0
    in_json = json.loads(capsys.readouterr().out)["notes"]
    page = html.unescape((out / "report.html").read_text())
    for folder in {"maps": [maps], "confidence": [maps, scores], "anomaly": [scores]}[kind]:
        names = "part0/photo 006, part1/photo 005, part1/photo 007"
        told = f"m: 3 files have no truth, of 8 in {folder}, and are not measured: {names}"
        assert printed.count(told) == 1
        for notes in (document(out)["notes"], in_json):
            assert notes.count(told) == 1
        assert told in page


@pytest.mark.parametrize("fault", ["unreadable", "another size"])
@pytest.mark.parametrize("kind", ["maps", "anomaly"])
def test_a_wrong_truth_is_one_failure_for_all_models(kind: str, fault: str, tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    for id_ in corpus.ids:
        made.write(corpus.truth / f"{id_}.png", np.eye(36, 48, dtype=np.uint8))
        for model in ("a", "b") if kind == "anomaly" else ():
            made.write(tmp_path / model / f"{id_}.png", np.full((36, 48), 9, np.uint8))
    for id_ in corpus.ids[:3]:
        path = corpus.truth / f"{id_}.png"
        path.write_bytes(path.read_bytes()[:40]) if fault == "unreadable" else made.write(
            path, np.eye(5, dtype=np.uint8)
        )
    (corpus.models["model-1"] / f"{corpus.ids[4]}.png").unlink()
    out = tmp_path / "o"
    words = line(corpus, out, models=("model-0", "model-1"))
    if kind == "anomaly":
        scores = [f"{model}={tmp_path / model}" for model in ("a", "b")]
        words = ["measure", str(corpus.truth), "--anomaly", *scores, "-o", str(out), "--engine", "local"]
    refused = refused_line(*words)
    assert "(3 images in all" in refused
    assert f"{corpus.ids[0]}: " in refused
    assert main([*words, "--skip"]) == 0
    found = document(out)
    told = "3 of 6 images are left out for all models (see failures.csv); the numbers are for the rest; left out: "
    assert found["notes"].count(told + ", ".join(sorted(corpus.ids[:3]))) == 1
    more = kind == "maps"  # a map of one model is missing too
    assert found["failures"] == 3 + more
    assert sum("left out" in note for note in found["notes"]) == 1 + more
    with (out / "failures.csv").open() as file:
        assert sorted(row["image"] for row in csv.DictReader(file)) == sorted(
            corpus.ids[:3] + corpus.ids[4 : 4 + more]
        )


def test_a_share_of_the_work_is_a_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=1)
    assert main([*line(corpus, tmp_path / "o", models=("model-0",)), "--shard", "1/1", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"verb": "measure", "path": str(tmp_path / "o"), "shard": "1/1", "jobs": 1, "failures": 0}


def test_a_wrong_map_of_one_model_is_not_the_truths_fault(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    for id_ in corpus.ids[:2]:
        made.write(corpus.models["model-1"] / f"{id_}.png", np.zeros((5, 5), np.uint8))
    words = line(corpus, tmp_path / "o", models=("model-0", "model-1"))
    told = f"{corpus.ids[0]} (model-1): its map is 5 x 5 pixels, its truth 48 x 36; give maps of the truth's size"
    assert told in refused_line(*words)
    assert main([*words, "--resize-maps"]) == 0  # as advised


@pytest.mark.slow
def test_what_is_missing_is_counted_and_what_is_wrong_stops_unless_skipped(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    (corpus.models["model-0"] / f"{corpus.ids[0]}.png").unlink()
    out = tmp_path / "o"
    assert main(line(corpus, out, models=("model-0", "model-1"))) == 0
    assert document(out)["images"] == {"model-0": 5, "model-1": 6}
    assert "1 of 6 images are left out (1 have no map)" in document(out)["notes"][0]
    assert document(out)["notes"][0].endswith(f"; left out: {corpus.ids[0]}")
    assert document(out)["models"]["model-0"]["pq"]["value"] is not None
    kept = corpus.ids[1:]
    at = [corpus.ids.index(id_) for id_ in kept]
    alone = [
        fs.metrics.regions(corpus.truths[at], corpus.maps[m][at], resolve(str(corpus.classes))).pe_os
        for m in ("model-0", "model-1")
    ]
    row = next(r for r in document(out)["paired"] if r["metric"] == "pe_os")
    # of the images that both have
    assert (row["images"], row["difference"]) == (5, pytest.approx(alone[0] - alone[1], abs=1e-11))
    assert document(out)["models"]["model-0"]["gce"]["undefined"] == 0
    made.write(corpus.models["model-1"] / f"{corpus.ids[2]}.png", np.zeros((5, 7), np.uint8))
    said = refused_line(*line(corpus, out, models=("model-0", "model-1")))
    assert f"{corpus.ids[2]}" in said
    assert "7 x 5 pixels" in said
    assert "truth 48 x 36" in said
    assert main(line(corpus, out, "--skip", models=("model-0", "model-1"))) == 0
    with (out / "failures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["name"], row["image"]) for row in rows} == {
        ("data/model-0", corpus.ids[0]),
        ("data/model-1", corpus.ids[2]),
    }
    assert main(line(corpus, out, "--resize-maps", models=("model-0", "model-1"))) == 0
    assert document(out)["images"]["model-1"] == 6


@pytest.mark.slow
def test_cityscapes_instances_are_measured_as_they_are(data: Path, tmp_path: Path) -> None:
    """Real instanceIds: class = id // 1000, label ids 0-33 mapped to the 19 classes; a map with two cars made
    one loses there and nowhere else.
    """
    from PIL import Image

    files = sorted((data / "formats" / "cityscapes").rglob("*_instanceIds.png"))[:3]
    for file in files:
        ids = np.array(Image.open(file)).astype(np.uint16)
        made.write(tmp_path / "truth" / file.name, ids)
        cars = np.unique(ids[(ids >= 26000) & (ids < 27000)])
        made.write(
            tmp_path / "maps" / file.name, np.where(np.isin(ids, cars[:2]), cars[0], ids).astype(np.uint16)
        )
    line = typed(
        "measure {tmp}/truth m={tmp}/maps --regions given --classes cityscapes --divisor 1000", tmp=tmp_path
    )
    assert main([*line, "-o", str(tmp_path / "o"), "--resamples", "20"]) == 0
    found = document(tmp_path / "o")["models"]["m"]
    assert found["rum"]["per_class"]["car"] > 0
    assert sum(value for name, value in found["rum"]["per_class"].items() if value and name != "car") == 0
    assert found["rom"]["value"] == 0
    assert found["pq"]["per_class"]["road"] == 1


def test_pooling_cells_is_the_mean_over_images_and_classes_that_have_a_value(tmp_path: Path) -> None:
    """One image of one class that is all right, one of two classes at .5 and 0: not .625, the mean over
    images, but .5, which torchmetrics' MeanIoU prints; four times each, for an interval.
    """
    right, half = np.zeros((4, 4), np.uint8), np.ones((4, 4), np.uint8)
    wrong = half.copy()
    wrong[:2] = 2
    for k in range(8):
        made.write(tmp_path / "truth" / f"{k}.png", (right, half)[k % 2])
        made.write(tmp_path / "maps" / f"{k}.png", (right, wrong)[k % 2])
    found = fs.measure(
        tmp_path / "truth",
        {"one": tmp_path / "maps"},
        classes=3,
        output=tmp_path / "out",
        engine="local",
        definitions=fs.options.Definitions(pooling="cells", boundaries=False),
    )
    miou = found.models["one"]["miou"]
    assert (miou["value"], miou["undefined"], miou["undefined_of"]) == (0.5, 12, "cells (image, class)")
    assert miou["low"] < 0.5 < miou["high"]
    assert miou["definition"].split("; ")[1:3] == ["over=union", "mean over all cells (image, class)"]
    assert found.models["one"]["pixel_accuracy"]["value"] == 0.75  # a cell an image
