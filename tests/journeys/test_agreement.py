"""What a pair of models says before any label, as compare, select and predict tell it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.reading.study import Study
from opened_files import opened


@pytest.mark.slow
def test_a_shifted_table_is_named_by_compare_and_by_select_and_in_no_other_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = made_answers.study(tmp_path, images=240, errors=(0.1, 0.2, 0.3))
    assert main(["compare", answers.study]) == 0
    told = capsys.readouterr().out
    assert "mean agreement (0-1, 240 images)" in told
    same = (answers.labels["model-0"] == answers.labels["model-1"]).mean()
    assert f"{same:.2f}".removeprefix("0") in told.splitlines()[-3]
    assert "warning" not in told
    fs.select(answers.study)
    assert "agree" not in capsys.readouterr().out.replace("disagree", "")
    file = Path(answers.study) / "agreement.json"
    before = file.stat().st_mtime_ns
    fs.compare(answers.study)
    assert file.stat().st_mtime_ns == before  # it is read, not made again

    rows = (tmp_path / "model-2.csv").read_text().splitlines()
    rows[1:] = sorted(rows[1:])  # as images stand in the corpus
    said = [line.rpartition(",")[2] for line in rows[1:]]
    turned = [
        f"{line.rpartition(',')[0]},{word}"
        for line, word in zip(rows[1:], [said[-1], *said[:-1]], strict=True)
    ]
    (tmp_path / "turned.csv").write_text("\n".join([rows[0], *turned]) + "\n")
    fs.predict(answers.study, {"turned": str(tmp_path / "turned.csv")})
    words = repr(fs.compare(answers.study))
    assert "warning: turned agrees with no other model" in words
    assert "shifted by one; with image i + 1 it would agree" in words
    told, _, after = repr(fs.status(answers.study)).partition("\nwarning: ")
    assert after.startswith("turned agrees with no other model")
    assert "\nnext: " in after  # the last thing to read before going on
    assert "\nnext: " not in told
    capsys.readouterr()
    fs.select(answers.study, as_="again")
    assert "warning: turned agrees with no other model" in capsys.readouterr().out
    assert json.loads(file.read_text())["models"][-1] == "turned"
    fs.report(answers.study, selection="again", output=str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert '<p class="remark">turned agrees with no other model' in page
    table = page[page.index('id="agreement"') :].partition("</table>")[0]
    assert table.count(f">{same:.2f}</td>") >= 2
    file.write_text("{")
    assert "warning" not in repr(fs.status(answers.study))
    assert repr(fs.compare(answers.study)) == words  # a damaged file is made anew


def test_two_models_that_agree_everywhere_are_told_and_have_no_slot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=3)
    shutil.copytree(corpus.models["model-0"], tmp_path / "copy")
    study = str(made.collected(corpus, tmp_path / "study", 1024))
    fs.predict(study, {**corpus.models, "copy": tmp_path / "copy"})
    assert "warning: model-0 and copy agree everywhere (4 images)" in repr(fs.compare(study))
    capsys.readouterr()
    slots = fs.select(study)
    told = capsys.readouterr().out
    assert "warning: model-0 and copy agree everywhere" in told
    assert not [row for row in slots.rows if {row.defender, row.attacker} == {"model-0", "copy"}]
    assert max(row.concordance for row in slots.rows) < 1
    assert [row for row in slots.rows if {row.defender, row.attacker} == {"model-1", "copy"}]
    held = {image: sum(row.image == image for row in slots.chosen) for image in slots.images}
    piles = [image for image, number in held.items() if number > 10]
    assert piles
    share = sum(held[image] for image in piles) / sum(held.values())
    verb = "decides" if len(piles) == 1 else "decide"
    assert (
        f"note: {len(piles)} of the {len(held)} images {verb} {100 * share:.0f} % of the comparisons of two models (most: "
        in told
    )
    assert f", {max(held.values())});" in told


def test_maps_of_another_size_than_the_photos_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=5, models=2, shape=(36, 48))
    for id_ in corpus.ids[:2]:
        path = corpus.models["model-1"] / f"{id_}.png"
        Image.open(path).resize((24, 18), Image.Resampling.NEAREST).save(path)
    study = str(made.collected(corpus, tmp_path / "study", 2))
    fs.predict(study, corpus.models)
    told = [line for line in capsys.readouterr().out.splitlines() if "differ in size" in line]
    assert told == [
        (
            "note: model-1: 2 of 5 maps differ in size from their images (24 x 18 for 48 x 36); they are"
            " resized to the working size, by nearest neighbour"
        )
    ]
    fs.predict(study, corpus.models)
    assert "another size" not in capsys.readouterr().out  # what was made before is told of once


def test_a_cap_that_keeps_pairs_short_is_named_with_what_would_fill_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = made_answers.study(tmp_path, images=200, errors=(0.0, 0.5, 0.5))
    capsys.readouterr()
    slots = fs.select(
        answers.study,
        top=20,
        classifiers=fs.options.ClassifierRules(cap=3),
        sampling=fs.options.Sampling(spares=0),
    )
    told = capsys.readouterr().out
    held = {
        cell: sum(row.cell == cell for row in slots.chosen) for cell in {row.cell for row in slots.chosen}
    }
    differing = [np.sum(answers.labels[a] != answers.labels[b]) for a, b in held]
    assert max(held.values()) < 20 <= min(differing)
    assert (
        "note: --cap 3 keeps 3 pairs of 3 from --top 20 images; a higher --cap under another name (--as)"
        " fills them" in told
    )
    fs.select(
        answers.study,
        as_="freer",
        top=5,
        classifiers=fs.options.ClassifierRules(cap=3),
        sampling=fs.options.Sampling(spares=0),
    )
    assert "--cap" not in capsys.readouterr().out


def test_a_cap_is_not_blamed_for_what_confidence_or_too_few_images_keep_from_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = made_answers.study(tmp_path, images=200, errors=(0.0, 0.5), sure=True)

    def told(name: str, top: int, confidence: float) -> tuple[int, list[str]]:
        capsys.readouterr()
        rules = fs.options.ClassifierRules(cap=2, confidence=confidence)
        held = len(
            fs.select(
                answers.study, as_=name, top=top, classifiers=rules, sampling=fs.options.Sampling(spares=0)
            ).chosen
        )
        return held, [line for line in capsys.readouterr().out.splitlines() if "--cap" in line]

    differing = int((answers.labels["model-0"] != answers.labels["model-1"]).sum())
    held, said = told("few", differing + 1, 0.0)
    few = (
        f"note: 1 pair of 1 has fewer than --top {differing + 1} images to choose from ({{}} in all); --cap 2"
        " takes {} of these, and a higher one under another name (--as) takes more"
    )
    assert said == [few.format(differing, held)]
    _, (said,) = told("both", differing - 1, 0.8)
    assert said.startswith(
        f"note: --cap 2 and --confidence 0.8 together keep 1 pair of 1 from --top {differing - 1} images; a "
    )
    rules = fs.options.ClassifierRules(cap=differing, confidence=0.0)
    freer = fs.select(
        answers.study,
        as_="freer",
        top=differing - 1,
        classifiers=rules,
        sampling=fs.options.Sampling(spares=0),
    )
    assert len(freer.chosen) == differing - 1  # as the advice says
    sure = len(
        fs.select(
            answers.study, as_="sure", top=differing, classifiers=fs.options.ClassifierRules(cap=differing)
        ).chosen
    )
    assert told("neither", differing + 1, 0.8)[1] == [
        few.format(sure, told("neither", differing + 1, 0.8)[0])
    ]


@pytest.mark.slow
def test_manifests_are_read_once_however_many_shards_there_are(tmp_path: Path) -> None:
    from faultscape.reading import evidence
    from faultscape.verbs.compare import agreement

    corpus, counts = made.corpus(tmp_path / "corpus", images=8, models=3), []
    for size in (1, 4):
        study = made.collected(corpus, tmp_path / f"study-{size}", shard_size=size)
        fs.predict(str(study), corpus.models, engine="local")
        fs.label.import_(str(study), str(corpus.truth))
        fs.compare(str(study), engine="local")
        with opened(study) as found:
            (study / agreement.AGREEMENT).unlink()
            agreement.agreement(Study(study), keep=False)
            evidence.accuracies(
                Study(study), ("model-0", "model-1"), "labels", {"concordance": "miou", "over": "union"}
            )
        counts.append(sum(times for file, times in found.items() if file.endswith("manifest.json")))
    assert counts[0] == counts[1]
