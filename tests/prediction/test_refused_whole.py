"""What cannot work is said before the study learns of it: a line that fails there leaves every file as it
was.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import FaultscapeError
from faultscape.study.settings import read_settings
from faultscape.study.tables import outputs
from faultscape.verbs.verb import group_options
from networks_of_tests import colour_network
from refusals import refused

CODE = """
import numpy as np

def ones(photo):
    return np.ones(photo.shape[:2], np.uint8)

def zeros(photo):
    return np.zeros(photo.shape[:2], np.uint8)

def nothing_but_nan(photo):
    return np.full((5, *photo.shape[:2]), np.nan)

def nan_where_it_is_dark(photo):
    return np.where(photo[..., 0] == 0, np.nan, 1.0) * np.arange(1, 6)[:, None, None]
"""


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=4, models=1)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> Path:
    """A study of which the model m is done."""
    root = made.collected(corpus, tmp_path / "study", shard_size=2)
    fs.predict(str(root), {"m": corpus.models["model-0"]}, engine="local")
    return root


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", ["m", "new"])
@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("exec:false", {}, "wrote no map"),
        ("exec:there-is-no-such-program", {}, "there-is-no-such-program"),
        ("mine.py:nothing_but_nan", {}, "returned NaN, both for an empty image and for part0/photo 000"),
        ("mine.py:ones", {"engine": "nope"}, "engine 'nope' is not known"),
        ("mine.py:ones", {"truth": "labels"}, "--truth needs --measure; add --measure, or remove --truth"),
        ("mine.py:ones", {"workers": 0}, "workers must be 1 or more; got 0"),
    ],
)
def test_the_study_is_as_it_was(
    name: str,
    source: str,
    options: dict,
    words: str,
    study: Path,
    code: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = files(study)
    with refused(FaultscapeError, words):
        fs.predict(
            study,
            {name: source.replace("mine.py", str(code))},
            **group_options(fs.predict, {"engine": "local", **options}),
        )
    assert files(study) == before
    assert "predicted again" not in capsys.readouterr().out


def test_a_network_that_gives_nan_for_an_empty_picture_alone_is_taken(study: Path, code: Path) -> None:
    assert fs.predict(study, {"new": f"{code}:nan_where_it_is_dark"}, engine="local").models["new"][0] > 0


def test_another_function_of_the_same_file_is_another_model(study: Path, code: Path) -> None:
    maps = []
    for name in ("ones", "zeros"):
        fs.predict(str(study), {"m": f"{code}:{name}"}, engine="local")
        maps.append(made.bytes_under(study, "predictions/m"))
    fs.predict(str(study), {"n": f"{code}:zeros"}, engine="local")
    assert [*maps[1].values()] == [*made.bytes_under(study, "predictions/n").values()]
    assert maps[0] != maps[1]


def test_what_was_kept_stays_when_something_else_is_asked_for_and_goes_with_its_labels(
    study: Path, tmp_path: Path
) -> None:
    weights = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32)
    net = colour_network(tmp_path / "net.onnx", weights)
    fs.predict(str(study), {"net": net}, keep=["confidence"], engine="local")
    sure = made.bytes_under(study, "predictions/net/confidence")
    fs.predict(str(study), {"net": net}, keep=["logits"], engine="local")
    assert outputs.kinds(study, "net") == ["confidence", "logits"]
    assert made.bytes_under(study, "predictions/net/confidence") == sure
    colour_network(net, -weights)
    fs.predict(str(study), {"net": net}, keep=["logits"], engine="local")
    assert not list(outputs.read_kept(study, "net", "confidence", 0))


def test_status_says_what_a_lone_model_lacks_and_of_which_no_map_could_be_used(
    corpus: made.Corpus, study: Path, tmp_path: Path
) -> None:
    other = made.collected(corpus, tmp_path / "other", shard_size=2)
    fs.predict(str(other), {"m": corpus.models["model-0"]}, shard="1/2", engine="local")
    said = fs.status(str(other))
    assert said.stages[1] == ("predict", "missing", "m: 1 shard to do")
    assert said.next.startswith("faultscape predict")
    assert "m=" in said.next
    (tmp_path / "maps").mkdir()
    for id_ in corpus.ids:
        made.write(tmp_path / "maps" / f"{id_}.png", np.full((36, 48), 77, np.uint8))
    fs.predict(str(study), {"bad": tmp_path / "maps", "good": corpus.models["model-0"]}, engine="local")
    assert "no map of bad could be used (failures.csv)" in str(fs.status(str(study)))
    with refused(FaultscapeError, "no map could be used; "):
        fs.predict(str(study), {"bad": tmp_path / "maps"}, engine="local")
    # it was there before
    assert "no map of bad could be used (failures.csv)" in str(fs.status(str(study)))


def test_a_new_model_of_which_no_map_can_be_used_is_not_taken_and_selections_stay(
    corpus: made.Corpus, study: Path, tmp_path: Path
) -> None:
    fs.predict(str(study), {"model-0": corpus.models["model-0"], "exact": corpus.truth}, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study), engine="local")
    before = [stage[:2] for stage in fs.status(str(study)).stages], read_settings(study)
    (tmp_path / "maps").mkdir()
    made.write(tmp_path / "maps" / f"{corpus.ids[3]}.png", np.full((36, 48), 77, np.uint8))
    with refused(FaultscapeError) as said:
        fs.predict(str(study), {"bad": tmp_path / "maps"}, engine="local")
    told = str(said.value)
    assert told.startswith(f"no map could be used, so bad was not added; {corpus.ids[3]}: ")
    assert "holds the value 77" in told
    assert told.endswith(f"; {len(corpus.ids)} reasons in failures.csv")
    assert ([stage[:2] for stage in fs.status(str(study)).stages], read_settings(study)) == before
    assert not (study / "predictions" / "bad").exists()
    assert fs.predict(study, {"bad": corpus.models["model-0"]}, engine="local").models["bad"] == (
        len(corpus.ids),
        0,
    )
