"""A person's own code as a model: functions that load a network or look at one photo."""

from __future__ import annotations

from pathlib import Path

import four_photos
import numpy as np
import pytest
from four_photos import red, stored

import faultscape as fs
from faultscape.errors import ModelError
from faultscape.maps import winners
from faultscape.prediction import catalogue
from faultscape.study.tables.logs import read_failures
from refusals import refused

CODE = """
import numpy as np

def threshold(photo):
    return (photo[..., 0] > 127).astype("int64")

def inverse(photo):
    return 1 - threshold(photo)

def logits(photo):
    return np.stack([photo[..., k].astype("float64") for k in range(3)])

def both(photo):
    return {"logits": logits(photo), "confidence": photo[..., 0] / 255}

def sure(photo):
    return {"labels": threshold(photo), "confidence": photo[::2, ::2, 1] / 255}

def tensors(photo):
    import torch
    return torch.from_numpy(logits(photo)).requires_grad_()

def half(photo):
    return threshold(photo)[::2, ::2]

def load():
    import torch_networks
    return torch_networks.Small()
load.mean, load.std, load.classes = [0.4], 0.3, ["sky", "road", "car", "person", "tree"]

def load_callable():
    import torch_networks
    net = torch_networks.Small().eval()
    return lambda images: {"out": net(images), "aux": 3}

def load_number():
    return 7

def load_nothing():
    raise OSError("the weights\\nare gone")

def load_leaves():
    raise SystemExit(3)

def load_leaver():
    def net(images):
        raise SystemExit(3)
    return net

def leaves(photo):
    raise SystemExit(3)

def breaks(photo):
    return threshold(photo)[photo.shape]

def flat(photo):
    return [1, 2, 3]

def nothing(photo):
    return None

def negative(photo):
    return threshold(photo) - 1

def one_channel(photo):
    return logits(photo)[:1]

def no_number(photo):
    return {"logits": logits(photo), "confidence": photo[..., 0] * np.nan}

def wrong_confidence(photo):
    return {"labels": threshold(photo), "confidence": photo / 255}

def other_words(photo):
    return {"scores": logits(photo)}

def picky(photo):
    if photo[0, 0, 0] == 77:
        raise ValueError("this one I do not like")
    return threshold(photo)
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CODE)
    return str(tmp_path / "mine.py")


@pytest.fixture
def photo() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (20, 24, 3), np.uint8)


@pytest.mark.parametrize("name", ["threshold", "sure"])
def test_a_predictor_gives_labels(code: str, photo: np.ndarray, name: str) -> None:
    (out,) = catalogue.open_model(f"{code}:{name}").predict([photo])
    assert (out.labels == (photo[..., 0] > 127)).all()
    assert (out.confidence is None) == (name == "threshold")
    if out.confidence is not None:  # given at half size, bilinear
        share = winners.enlarged((photo[None, ::2, ::2, 1] / 255).astype(np.float32), (24, 20))[0]
        assert np.abs(out.confidence - 255 * share).max() <= 0.51


@pytest.mark.parametrize("name", ["logits", "both", "tensors"])
def test_a_predictor_gives_logits_as_arrays_tensors_or_in_a_dict(
    code: str, photo: np.ndarray, name: str
) -> None:
    (out,) = catalogue.open_model(f"{code}:{name}", keep=["logits"]).predict([photo])
    assert (out.labels == photo.argmax(2)).all()
    assert (out.kept["logits"][0] == photo.transpose(2, 0, 1)).all()
    if name == "both":
        assert (out.confidence == photo[..., 0]).all()


def test_smaller_labels_are_enlarged_by_the_nearest(code: str, photo: np.ndarray) -> None:
    (out,) = catalogue.open_model(f"{code}:half").predict([photo])
    assert (out.labels == (photo[::2, ::2, 0] > 127).repeat(2, 0).repeat(2, 1)).all()


@pytest.mark.parametrize("name", ["load", "load_callable"])
def test_a_loader_returns_a_network_or_any_callable(code: str, photo: np.ndarray, name: str) -> None:
    import torch_networks as nets

    model = catalogue.open_model(f"{code}:{name}")
    mean, std = (0.4, 0.3) if name == "load" else (0, 1)
    assert model.network.class_names == (["sky", "road", "car", "person", "tree"] if name == "load" else [])
    (out,) = model.predict([photo])
    assert (out.labels == winners.labels(nets.logits(nets.Small(), photo, mean, std), (24, 20))).all()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leaves", "the function failed: SystemExit: 3"),
        ("breaks", "the function failed: IndexError: "),
        (
            "flat",
            (
                "returned int64 of shape (3,); expected labels (whole numbers 0 to 65535, H x W) or logits (C x H"
                " x W)"
            ),
        ),
        ("nothing", "the function returned None; expected labels, logits, or a dict of them"),
        ("negative", ", -1 to 0; expected labels (whole numbers 0 to 65535, H x W)"),
        ("one_channel", "returned one channel of fractional numbers, whose largest is always class 0"),
        ("no_number", "returned a confidence that is not a number; expected 0 to 1 per pixel, H x W"),
        ("wrong_confidence", "returned a confidence of shape (20, 24, 3); expected 0 to 1 per pixel, H x W"),
        ("other_words", "returned a dict of ['scores']; expected `logits` or `labels` among them"),
    ],
)
def test_what_a_predictor_does_wrong_is_the_problem_of_that_photo(
    code: str, photo: np.ndarray, name: str, words: str
) -> None:
    (out,) = catalogue.open_model(f"{code}:{name}").predict([photo])
    assert out.labels is None
    assert words in out.problem
    assert out.problem.startswith(f"{code}:{name}: ")
    assert "\n" not in out.problem


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone", "mine.py holds no function 'gone'"),
        ("CODE_", "mine.py holds no function 'CODE_'"),
        ("load_number", "a function without arguments must return a network; it returned int"),
        ("load_leaves", "loading failed: SystemExit: 3"),
        ("load_nothing", "loading failed: OSError: the weights are gone"),
        ("not a name", "name a function of .*, for example"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(code: str, name: str, words: str) -> None:
    with refused(ModelError, words) as caught:
        catalogue.open_model(f"{code}:{name}")
    assert "\n" not in str(caught.value)


def test_a_network_that_ends_the_program_is_the_problem_of_that_photo(code: str, photo: np.ndarray) -> None:
    (out,) = catalogue.open_model(f"{code}:load_leaver").predict([photo])
    assert out.problem == f"{code}:load_leaver: the network failed: SystemExit: 3"


def test_a_file_that_is_not_there_or_fails_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0")
    with refused(ModelError, r"running .*bad.py failed: ZeroDivisionError: division by zero"):
        catalogue.open_model(f"{tmp_path}/bad.py:load")
    with refused(ModelError, r"there is no file .*gone.py"):
        catalogue.open_model(f"{tmp_path}/gone.py:load")
    with refused(ModelError, r"name the function as well: .*bad.py:function"):
        catalogue.open_model(f"{tmp_path}/bad.py")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return four_photos.collected(tmp_path)


def test_another_function_of_the_same_file_is_another_model(study: Path, code: str) -> None:
    found = []
    for name in ("threshold", "inverse"):
        fs.predict(str(study), {"net": f"{code}:{name}"}, engine="local")
        found.append(stored(study, "net"))
    assert found[0]
    assert all((found[1][id_] == 1 - label_map).all() for id_, label_map in found[0].items())


def test_a_predictor_that_fails_on_one_photo_makes_one_row_of_failures_and_nothing_else(
    code: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fs.predict(str(study), {"mine": f"{code}:picky"}, engine="local").models["mine"] == (3, 1)
    assert f"runs the code of {code}:picky; make sure you trust it" in capsys.readouterr().out
    (failure,) = read_failures(study)
    assert (failure.name, failure.image) == ("mine", "p2")
    assert failure.reason == f"{code}:picky: the function failed: ValueError: this one I do not like"
    maps = stored(study, "mine")
    assert set(maps) == {"p0", "p1", "p3"}
    assert all((maps[id_] == red(study)[id_]).all() for id_ in maps)


LOADER = """
import torch
from safetensors.torch import load_file

def load():
    network = torch.nn.Conv2d(3, 5, 1)
    network.load_state_dict(load_file({weights!r}))
    return network

def unseeded():
    torch.seed()
    return torch.nn.Conv2d(3, 5, 1)
"""


def test_weights_that_a_loader_reads_from_elsewhere_are_part_of_the_model(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch
    from safetensors.torch import save_file

    weights, code = tmp_path / "weights.safetensors", tmp_path / "nets.py"
    code.write_text(LOADER.format(weights=str(weights)))
    found = []
    for seed, words in ((3, ""), (3, ""), (4, "1 of 1 shards are predicted again")):
        torch.manual_seed(seed)
        save_file(torch.nn.Conv2d(3, 5, 1).state_dict(), weights)
        capsys.readouterr()
        fs.predict(str(study), {"net": f"{code}:load"}, engine="local")
        found.append(stored(study, "net"))
        said = capsys.readouterr().out
        assert words in said if words else "predicted again" not in said
    assert all((found[0][id_] == found[1][id_]).all() for id_ in found[0])
    assert any((found[0][id_] != found[2][id_]).any() for id_ in found[0])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_loader_that_gives_other_weights_each_time_is_refused(
    study: Path, tmp_path: Path, engine: str
) -> None:
    code = tmp_path / "nets.py"
    code.write_text(LOADER.format(weights=""))
    with refused(ModelError, r"nets.py:unseeded: its weights differ on every load; set a seed"):
        fs.predict(str(study), {"net": f"{code}:unseeded"}, engine=engine)
