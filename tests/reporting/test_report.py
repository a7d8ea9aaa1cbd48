"""The report says what the study holds, escapes whatever it shows, and loads nothing."""

from __future__ import annotations

import html as markup
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import CorpusError, OptionError, SelectionError, StudyError
from faultscape.reporting.competition import outcomes
from faultscape.reporting.view import number
from faultscape.standings import decimals
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.collect import collect
from faultscape.verbs.compare import compare
from faultscape.verbs.label import import_
from faultscape.verbs.predict import predict
from faultscape.verbs.rank import rank
from faultscape.verbs.report import maps, report
from faultscape.verbs.scale import scale
from faultscape.verbs.select import select
from made_page import Page
from refusals import refused

HOSTILE = "<script>alert('x')</script>\"&amp;"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three studies of one corpus with hostile names: only selected, labelled, ranked."""
    root = tmp_path_factory.mktemp("report")
    corpus = made.corpus(root / "corpus", images=12, models=4)
    listed = json.loads(corpus.classes.read_text())
    listed["classes"][2]["name"] = HOSTILE
    listed["parents"]["things"] = [HOSTILE, "person"]
    corpus.classes.write_text(json.dumps(listed))
    for folder in (corpus.photos, corpus.truth, *corpus.models.values()):
        odd = next(iter(sorted((folder / "part0").glob("*.png"))))
        odd.rename(odd.with_name('a"onerror="alert(1)\' <b>.png'))
    study = root / "selected"
    collect(
        str(study), str(corpus.photos), classes=str(corpus.classes), storage=fs.options.Storage(shard_size=6)
    )
    predict(str(study), {name: str(path) for name, path in corpus.models.items()}, engine="local")
    compare(str(study), engine="local")
    scale(str(corpus.truth), classes=str(corpus.classes), output=str(root / "scale.json"))
    select(str(study), maps=fs.options.MapRules(scale=str(root / "scale.json")))
    labelled = shutil.copytree(study, root / "labelled")
    import_(str(labelled), str(corpus.truth))
    ranked = shutil.copytree(labelled, root / "ranked")
    rank(str(ranked), resamples=100, engine="local")
    return {"selected": study, "labelled": labelled, "ranked": ranked, "corpus": corpus.root}


@pytest.fixture(scope="module")
def html(studies: dict[str, Path]) -> str:
    """The report of the ranked study."""
    made_report = report(str(studies["ranked"]))
    text = Path(made_report.path).read_text(encoding="utf-8")
    assert made_report.size == len(text.encode())
    return text


def test_the_page_is_whole_and_names_every_model(html: str) -> None:
    page = Page(html)
    for model in ("model-0", "model-1", "model-2", "model-3"):
        assert model in page.cells
    assert {"gallery", "standings", "matrices", "cases", "transfer", "constraints", "definitions"} <= {
        attrs.get("id") for _, attrs in page.tags
    }
    assert sum(tag == "article" for tag, _ in page.tags) == html.count('class="card"') > 0


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    page = Page(html)
    for tag, attrs in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name, value in attrs.items():
            if name in ("src", "srcset", "data", "poster"):
                assert (value or "").startswith("data:image/")
            if name in ("href", "action"):
                assert (value or "").startswith("#")
    assert not re.search(r"https?://|@import|url\(", html)


def test_hostile_names_are_text(html: str) -> None:
    page = Page(html)
    assert HOSTILE in page.cells
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert not any(tag == "b" and text for tag, text in page.tags)
    assert any('onerror="alert(1)' in text for text in page.text)


def test_numbers_are_those_of_the_standings(studies: dict[str, Path], html: str) -> None:
    standings = json.loads((studies["ranked"] / "standings.json").read_text())
    cells = [cell.strip() for cell in Page(html).cells]
    for ranking in standings["rankings"].values():
        digits = decimals(ranking["score_interval"].values())
        for model, score in ranking["scores"].items():
            at = [k for k, cell in enumerate(cells) if cell == model]
            assert any(cells[k + 1] == number(score, digits) for k in at), (model, score)
    for name in ("aggressiveness", "resistance"):
        for i, model in enumerate(standings["models"]):
            row = [number(x, 2) if i != j else "·" for j, x in enumerate(standings["matrices"][name][i])]
            at = [k for k, cell in enumerate(cells) if cell == model]
            assert any(cells[k + 1 : k + 1 + len(row)] == row for k in at), (name, model)


def test_cases_and_bands_add_up(studies: dict[str, Path], html: str) -> None:
    standings = json.loads((studies["ranked"] / "standings.json").read_text())
    words = " ".join("".join(Page(html).text).split())
    total, two, one, three = map(
        int,
        re.search(
            r"Of (\d+) labelled duels, (\d+) \(.*?\) tell the two models apart, (\d+) \(.*?\) find both"
            r" satisfactory and (\d+)",
            words,
        ).groups(),
    )
    assert one + two + three == total == standings["labels"]["slots"]
    low, values = map(int, re.search(r"(\d+) of (\d+) values", words).groups())
    assert low <= values == standings["labels"]["used"] * 4


def test_bands_that_tell_nothing_apart_come_with_the_line_of_others(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "of mine")
    report(str(study), bands=[0.01, 0.02], output=str(tmp_path / "crowded.html"))
    crowded = (tmp_path / "crowded.html").read_text()
    line = re.search(r"<code>(faultscape report [^<]*--bands[^<]*)</code> cuts them into thirds", crowded)
    assert line is not None
    words = shlex.split(markup.unescape(line[1]))
    assert words[2] == "of mine"
    assert main([*words[1:2], str(study), *words[3:], "--output", str(tmp_path / "again.html")]) == 0
    assert "cuts them into thirds" not in (tmp_path / "again.html").read_text()


def test_bands_are_thirds_of_the_values_where_the_usual_ones_tell_nothing_apart(
    studies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "BANDS", (0.01, 0.02))
    study = shutil.copytree(studies["ranked"], tmp_path / "study")
    text = Path(report(str(study)).path).read_text()
    said = " ".join("".join(Page(text).text).split())
    assert "in bands that hold a third of these values each" in said
    assert re.search(
        r"In \d+ \(\d+ %\) of the others neither model, and in \d+ \(\d+ %\) one or both, lie in", said
    )
    assert not re.search("both (are )?(good|poor|satisfactory)|models are (good|poor)", said)
    line = re.search(r"which <code>(faultscape report [^<]*)</code> shows", text)
    assert line is not None
    assert "--bands 0.01 --bands 0.02" in line[1]


def test_a_tie_is_no_victory(studies: dict[str, Path], tmp_path: Path) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "tied")
    standings = json.loads((study / "standings.json").read_text())
    for ranking in standings["rankings"].values():
        ranking["tied_for_best"] = ranking["best_set"] = ["model-0", "model-1"]
        ranking["order"] = [f"model-{k}" for k in range(4)]
    (study / "standings.json").write_text(json.dumps(standings))
    text = Path(report(str(study)).path).read_text()
    head = re.search("<h1>(.*)</h1>", text)
    assert head
    assert head[1].endswith("chosen for what the models predict, model-0 or model-1 leads")
    assert text.count('<tr class="tied">') >= 8
    for ranking in standings["rankings"].values():
        ranking.update(tied_for_best=[], best_set=[], score_interval={}, rank_interval={})
    (study / "standings.json").write_text(json.dumps(standings))
    assert "The standings carry no intervals" in Path(report(str(study)).path).read_text()


def test_undefined_scores_are_dashes(studies: dict[str, Path], tmp_path: Path) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "undefined")
    standings = json.loads((study / "standings.json").read_text())
    for ranking in standings["rankings"].values():
        ranking["scores"]["model-3"] = None
        ranking["score_interval"]["model-3"] = ranking["rank_interval"]["model-3"] = [None, None]
        ranking["order"] = [m for m in ranking["order"] if m != "model-3"]
        ranking["tied_for_best"] = [m for m in ranking["tied_for_best"] if m != "model-3"]
    standings["matrices"]["resistance"][0][3] = None
    (study / "standings.json").write_text(json.dumps(standings))
    text = Path(report(str(study)).path).read_text()
    assert not re.search(r"\b(nan|None|NaN)\b", "".join(Page(text).text))


def test_before_labels_and_before_ranking(studies: dict[str, Path]) -> None:
    text = Path(report(str(studies["selected"])).path).read_text()
    page = Page(text)
    assert "faultscape label export" in text
    assert "standings" not in {attrs.get("id") for _, attrs in page.tags}
    assert "truth of" not in text
    assert "faultscape rank" in Path(report(str(studies["labelled"])).path).read_text()


def test_the_same_study_gives_the_same_bytes(studies: dict[str, Path], html: str, tmp_path: Path) -> None:
    again = report(str(studies["ranked"]), output=str(tmp_path / "deep" / "again.html"))
    assert Path(again.path).read_text(encoding="utf-8") == html
    assert repr(again).startswith(f"{again.path}: ")


def test_benchmark_images_by_class_and_by_masks(studies: dict[str, Path], tmp_path: Path) -> None:
    photos = studies["corpus"] / "photos" / "part1"
    by_class = tmp_path / "by-class"
    shutil.copytree(photos, by_class / "sky")
    text = Path(
        report(str(studies["ranked"]), reference_images=str(by_class), output=str(tmp_path / "a.html")).path
    ).read_text()
    assert text.count('alt="benchmark image') == 6
    both = tmp_path / "both"
    shutil.copytree(photos, both / "images")
    shutil.copytree(studies["corpus"] / "truth" / "part1", both / "labels")
    text = Path(
        report(str(studies["ranked"]), reference_images=str(both), output=str(tmp_path / "b.html")).path
    ).read_text()
    assert text.count('alt="benchmark image') > 12
    with refused(CorpusError, "expected one sub-folder of images per class"):
        report(str(studies["ranked"]), reference_images=str(tmp_path))


def test_every_page_says_how_robust_its_ranking_is(html: str) -> None:
    words = " ".join("".join(Page(html).text).split())
    assert "Aggressiveness: all 4 models are linked" in words
    assert "How robust is the ranking?" in words
    assert "Corrected for multiple comparisons, " in words
    assert words.count("all at once") > 4
    assert "questions" not in {attrs.get("id") for _, attrs in Page(html).tags}  # there is no other selection


@pytest.mark.slow
def test_draws_of_label_maps_have_a_page_and_stand_beside_the_duels(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "drawn")
    select(str(study), selector="random", budget=8, engine="local")
    rank(str(study), selection="random", resamples=50, engine="local")
    made_report = report(str(study), selection="random")
    assert made_report.path.endswith("report-random.html")
    page = Page(Path(made_report.path).read_text())
    words = " ".join("".join(page.text).split())
    assert (
        "No score can be estimated for the pool: effective sample size 8.0, below 10. The scores"
        " describe the labelled images" in words
    )
    assert "It cannot be used here: effective sample size 8.0, below 10." in words
    pictures = [attrs["alt"] or "" for tag, attrs in page.tags if tag == "img"]
    assert sum(alt.startswith("map of") for alt in pictures) == 8 * 4
    assert sum(alt.startswith("truth of") for alt in pictures) == 8
    assert HOSTILE in "".join(page.text)
    duels = Page(Path(report(str(study)).path).read_text())
    row = duels.cells.index("drawn by")
    assert [cell.strip() for cell in duels.cells[row + 1 : row + 4]] == ["mad, duels", "mad, duels", "random"]
    with refused(OptionError, "was drawn for all classes at once"):
        report(str(study), selection="random", reference_images=str(tmp_path))


@pytest.mark.slow
def test_other_standings_that_are_older_than_their_labels_are_marked(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "stale")
    select(str(study), selector="random", budget=8, engine="local")
    with refused(
        OptionError, "--better needs duels of label maps; selection 'random' was drawn for all models at once"
    ):
        report(str(study), selection="random", better=0.2)
    rank(str(study), selection="random", resamples=0, engine="local")
    assert "out of date" not in Path(report(str(study)).path).read_text()
    path = study / "standings-random.json"
    standings = json.loads(path.read_text())
    standings["provenance"]["inputs"]["labels"] = "other labels"
    path.write_text(json.dumps(standings))
    assert Path(report(str(study)).path).read_text().count("out of date") == 1
    path.write_text("{")
    with refused(StudyError, r"rank .* --selection random"):
        report(str(study))


def test_mistakes_are_one_line(studies: dict[str, Path], tmp_path: Path) -> None:
    study = str(studies["ranked"])
    with refused(SelectionError, "there is no selection 'mian'"):
        report(study, selection="mian")
    for bands in ([0.8, 0.6], [0.0], [float("nan")], [0.5, 2]):
        with refused(OptionError, "bands are rising numbers"):
            report(study, bands=bands)
    with refused(OptionError, "better is a difference"):
        report(study, better=0)
    with refused(OptionError, "thumbnail must be between"):
        report(study, thumbnail=1)
    with refused(OptionError, "is a folder"):
        report(study, output=str(tmp_path))
    with refused(StudyError, "is not a study"):
        report(str(tmp_path))


def test_a_lost_photo_leaves_the_rest(studies: dict[str, Path], tmp_path: Path) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "lost")
    away = studies["corpus"] / "photos"
    hidden = away.rename(away.with_name("photos-away"))
    try:
        text = Path(report(str(study)).path).read_text()
    finally:
        hidden.rename(away)
    assert "the image cannot be read" in text
    assert 'alt="truth of' in text
    assert text.count("data:image/png") > text.count("<article")


def test_the_image_that_the_verdict_names_is_shown_even_behind_the_last_that_fits(
    studies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = str(shutil.copytree(studies["labelled"], tmp_path / "drawn"))
    select(study, selector="random", budget=12)
    found = rank(study, selection="random", resamples=60)
    assert found.failing is not None
    drawn = list(read_selection(Path(study), "random")[0].images)
    behind = drawn.index(found.failing.image)
    assert behind > 0
    monkeypatch.setattr(maps, "_DRAWN", behind)
    text = Path(report(study, selection="random").path).read_text()
    assert f"<b>Where {found.failing.model} fails</b>" in text
    assert f"{len(drawn) - behind - 1} more images are in the selection's file" in text


def test_all_models_that_left_are_named(studies: dict[str, Path], tmp_path: Path) -> None:
    study = str(shutil.copytree(studies["ranked"], tmp_path / "left"))
    predict(study, remove=["model-1", "model-2", "model-3"])
    text = Path(report(study).path).read_text()
    assert "model-1, model-2 and model-3 are no longer in the study: their answers" in text
    assert 'id="constraints"' not in text
    assert '"#constraints"' not in text
    assert "What they would have chosen cannot be shown" in text
