"""rank-table as a user types it: files of every kind, what is refused, and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faultscape as fs
from faultscape.cli import main
from refusals import refused_line

RNG = np.random.default_rng(3)
SCORES = {
    name: np.round(RNG.normal(at, 0.05, 60), 3) for name, at in (("unet", 0.9), ("fcn", 0.8), ("light", 0.79))
}
ROWS = [(f"case {k}", name, score) for name, of in SCORES.items() for k, score in enumerate(of.tolist())]


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scores.csv"
    path.write_text("case,model,dice\n" + "\n".join(f"{case},{model},{score}" for case, model, score in ROWS))
    return path


def summary(scores: list[float]) -> str:
    cases = [
        {"prediction_file": f"/out/case {k}.nii.gz", "metrics": {"1": {"Dice": s, "IoU": s / 2, "TP": 1}}}
        for k, s in enumerate(scores)
    ]
    return json.dumps({"metric_per_case": cases, "mean": {}})


def test_files_of_every_kind_say_the_same(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = fs.rank_table(scores)
    assert said.tied_for_best == ["unet"]
    wide = pa.table({"image": [f"case {k}" for k in range(60)], **SCORES})
    pq.write_table(wide, scores.with_suffix(".parquet"))
    scores.with_suffix(".tsv").write_text(scores.read_text().replace(",", "\t"))
    for name, of in SCORES.items():
        Path(f"{name}.json").write_text(summary(of.tolist()))
        Path(f"{name}.csv").write_text("case,dice\n" + "".join(f"case {k},{s}\n" for k, s in enumerate(of)))
    for files in (
        ["scores.parquet"],
        ["scores.tsv"],
        [f"{name}={name}.csv" for name in SCORES],
        [f"{name}={name}.json" for name in SCORES],
    ):
        assert fs.rank_table(*files).difference_interval == said.difference_interval, files
    assert fs.rank_table("unet=unet.json", "fcn=fcn.json").metric_tau["Dice"] == {"IoU": 1.0}
    assert main(["rank-table", "scores.csv", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verb"] == "rank-table"
    assert document["models"][0]["rank_interval"] == [1, 1]
    assert main(["rank-table", "scores.csv", "-v"]) == 0
    assert "unet is shown to be better than light, fcn" in capsys.readouterr().out


def test_the_page_needs_nothing_and_escapes_names(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores.write_text(scores.read_text().replace("fcn", "<b>fcn</b>"))
    assert main(["rank-table", "scores.csv", "-o", "ranking.html", "--anchor", "light"]) == 0
    assert "ranking.html: open it in a browser" in capsys.readouterr().out
    page = Path("ranking.html").read_text()
    assert "<h1>unet is the best by dice</h1>" in page
    assert "&lt;b&gt;fcn&lt;/b&gt;" in page
    assert "<b>fcn" not in page
    assert not re.search(r"<script|<img|https?://(?!www\.w3\.org)", page)
    assert main(["rank-table", "scores.csv", "-o", "again.html", "--anchor", "light"]) == 0
    assert Path("again.html").read_text() == page


def test_a_wrong_line_is_refused_in_one_line(scores: Path) -> None:
    (scores.parent / "half.csv").write_text("case,model,dice\nx,unet,0.9\nx,fcn,\n")
    (scores.parent / "cut.json").write_text("{")
    (scores.parent / "other.json").write_text("{}")
    (scores.parent / "semicolons.csv").write_text("case;model;dice\nx;a;0,9\n")
    for line, says in (
        ([], "scores is missing; give a table, or NAME=FILE for each model"),
        (["score.csv"], "score.csv: no such file. Did you mean 'scores.csv'?"),
        (["."], ".: is a folder; give a file"),
        (["cut.json"], "cut.json: is of one model; name it, and the others: NAME=cut.json NAME=FILE ..."),
        (["a=cut.json", "b=cut.json"], "cut.json: expected nnU-Net's summary.json"),
        (["a=other.json", "b=cut.json"], "other.json: expected nnU-Net's summary.json, with metric_per_case"),
        (["a=scores.csv", "scores.csv"], "scores.csv: several files are of one model each; name it"),
        (["a=scores.csv", "a=half.csv"], "two files are of 'a'; give each model one"),
        (["a=scores.csv"], "has a column of models already; give it alone, without a name"),
        (["half.csv"], "half.csv: only 0 of 1 case have a score of every model"),
        (["semicolons.csv"], "its columns seem to be separated by semicolons"),
        (["scores.csv", "--better", "up"], "better must be high or low"),
        (["scores.csv", "--missing", "none"], "missing must be a score, or METRIC=SCORE; got 'none'"),
        (["scores.csv", "--anchor", "unte"], "no model is named 'unte'; there are .* Did you mean 'unet'?"),
        (["scores.csv", "--resamples", "-1"], "--resamples must be 0 or more; got -1"),
        (["scores.csv", "-o", "."], "--output .: is a folder; name the file to write"),
    ):
        said = refused_line("rank-table", *line)
        assert re.search(says.replace("(", r"\("), said), f"{line}: {said}"
