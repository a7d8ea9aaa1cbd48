"""The law of engines for array jobs: three shares at the same time are one run, and nobody's entry is
lost.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError, StudyError
from faultscape.study.lock import changing, writing
from faultscape.study.settings import read_settings
from refusals import refused

pytestmark = pytest.mark.slow

COVERED = (
    "predictions",
    "pairs",
    "selection*.csv",
    "selection*.json",
    "failures.csv",
    "measures/statistics",
    "measures/*.json",
)
SCRIPT = """
import sys
import faultscape as fs
study, shard, *models = sys.argv[1:]
sys.stdin.readline()
if models:
    fs.predict(study, *models, engine="local", shard=shard)
else:
    fs.compare(study, engine="local", shard=shard)
"""
MEASURE = """
import sys
import faultscape as fs
study, shard = sys.argv[1:]
sys.stdin.readline()
print(fs.measure(study, engine="local", shard=shard))
"""


def together(*jobs: list[str], script: str = SCRIPT) -> list[str]:
    """Run several jobs at the same time, each a process, begun at one word when all of them have started."""
    words = [[sys.executable, "-c", script, *job] for job in jobs]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(w, **pipes) for w in words]
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=180) for process in running]
    assert [process.returncode for process in running] == [0] * len(running), "".join(
        error for _, error in ended
    )
    return [said for said, _ in ended]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    corpus = made.corpus(tmp_path_factory.mktemp("corpus"), models=3)
    # a failure in the second shard
    next((corpus.root / "maps" / "model-1").rglob("*003.png")).write_bytes(b"no picture")
    return corpus


def begun(study: Path, corpus: made.Corpus) -> Path:
    made.collected(corpus, study, 3)
    fs.label.import_(str(study), str(corpus.truth))
    return study


def ended(study: Path) -> dict[str, bytes]:
    fs.select(str(study), maps=fs.options.MapRules(constraints="class"), per_class=2, engine="local")
    fs.measure(str(study), engine="local", resamples=10, worst=0, skip=True)
    return made.bytes_under(study, *COVERED)


@pytest.fixture(scope="module")
def expected(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    study = begun(tmp_path_factory.mktemp("one") / "study", corpus)
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    return ended(study)


def test_three_jobs_at_the_same_time_write_the_bytes_of_one(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path
) -> None:
    study = begun(tmp_path / "study", corpus)
    models = [f"{name}={path}" for name, path in corpus.models.items()]
    shares = [f"{k}/3" for k in (1, 2, 3)]
    together(*([str(study), share, *models] for share in shares))
    together(*([str(study), share] for share in shares))
    said = together(*([str(study), share] for share in shares), script=MEASURE)
    assert all("run the command without --shard" in text for text in said)
    assert not (study / "measures" / "measure.json").exists()
    statistics = {p: p.stat().st_mtime_ns for p in study.glob("measures/statistics/*/*/*.parquet")}
    assert ended(study) == expected
    assert {
        p: p.stat().st_mtime_ns for p in statistics
    } == statistics  # the line without --shard only gathers
    stages = [json.loads(text)["verb"] for text in (study / "log.jsonl").read_text().splitlines()]
    assert (stages.count("predict"), stages.count("compare"), stages.count("measure")) == (3, 3, 4)


def test_arrays_of_different_models_at_the_same_time_lose_nobodys_entry(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = begun(tmp_path / "study", corpus)
    together(
        *([str(study), f"{k}/2", f"{name}={path}"] for name, path in corpus.models.items() for k in (1, 2))
    )
    assert set(read_settings(study).models) == set(corpus.models)
    for name in corpus.models:
        assert len(json.loads((study / "predictions" / name / "manifest.json").read_text())) == 8
        assert len(json.loads((study / "predictions" / name / ".stamps.json").read_text())) == 8
    assert (study / "failures.csv").read_text().count("predict,model-1") == 1
    assert (study / "log.jsonl").read_text().count('"predict"') == 6


def test_a_share_does_its_shards_and_no_other(corpus: made.Corpus, tmp_path: Path) -> None:
    study = begun(tmp_path / "study", corpus)
    fs.predict(str(study), {"model-0": corpus.models["model-0"]}, engine="local", shard="2/3")
    assert sorted(json.loads((study / "predictions/model-0/manifest.json").read_text())) == [
        "00001",
        "00004",
        "00007",
    ]
    idle = fs.predict(str(study), {"model-0": corpus.models["model-0"]}, engine="local", shard="20/20")
    assert idle.models["model-0"][0] == 9  # no error: others do what there is


@pytest.mark.parametrize("shard", ["0/3", "4/3", "x", "", "1", "1/0", "-1/3", "1/3/3", "1.0/3", "2 of 3"])
@pytest.mark.parametrize("verb", ["predict", "compare", "measure"])
def test_what_is_no_share_is_refused(verb: str, shard: str, corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").touch()
    words = {"predict": (corpus.models,), "compare": (), "measure": (corpus.models,)}[verb]
    source = str(corpus.truth) if verb == "measure" else str(study)
    no_share = "is not a share; expected PART/PARTS with PART from 1 to PARTS, for example 2/3"
    with refused(OptionError, no_share if shard else "--shard is empty; give a value, or remove it"):
        getattr(fs, verb)(
            source, *words, shard=shard, **({"classes": str(corpus.classes)} if verb == "measure" else {})
        )


@contextmanager
def held(study: Path, array: str) -> Iterator[None]:
    """Another process that holds a study."""
    code = (
        "import sys, pathlib\nfrom faultscape.study.lock import writing\nwith"
        " writing(pathlib.Path(sys.argv[1]), array=sys.argv[2]):\n    print('held', flush=True)\n   "
        " sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(study), array],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        yield
        other.stdin.close()


@pytest.mark.parametrize(
    ("theirs", "mine", "said"),
    [
        ("", "", "another faultscape is writing to .*; wait until it has finished"),
        ("", "predict", "another faultscape is writing to .*; wait until it has finished"),
        (
            "predict",
            "",
            r"jobs of an array \(--shard\) are running in .*; wait until all of them have finished",
        ),
        (
            "predict",
            "compare",
            "jobs of `predict --shard` are running in .*; start those of compare when they have finished",
        ),
    ],
)
def test_who_cannot_write_together_is_told(theirs: str, mine: str, said: str, tmp_path: Path) -> None:
    with held(tmp_path, theirs), refused(StudyError, said), writing(tmp_path, array=mine):
        pass
    with writing(tmp_path, array=mine):  # and nothing stays held
        pass


def test_jobs_of_one_array_hold_a_study_together_and_sweep_nothing(tmp_path: Path) -> None:
    left = [
        tmp_path / folder / ".writing-of-another"
        for folder in ("", "predictions/unet", "predictions/unet/confidence")
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with held(tmp_path, "predict"), writing(tmp_path, array="predict"), changing(tmp_path):
        assert all(path.exists() for path in left)
    with writing(tmp_path):
        assert not any(path.exists() for path in left)
