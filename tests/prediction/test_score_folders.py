"""A folder of logits or probabilities is a model: its maps and its doubt are those of the network that gave
the same scores, whatever wrote the files; what could be taken for something else is refused.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import ModelError
from faultscape.formats import class_scores
from faultscape.formats.class_scores import kind_of, read_class_scores
from faultscape.maps import array_codes, runs
from faultscape.prediction import catalogue
from faultscape.prediction.batches import Row
from faultscape.prediction.source import Opening, Part, Request
from faultscape.reading.study import Study
from faultscape.study.tables.removed_images import each_whole_shard
from refusals import refused

IMAGES = 3
# the scores of a photo, of a quarter of its size, as a network would give them
NETWORK = """
import numpy as np

def segment(photo):
    grey = photo[::2, ::2].astype(np.float32).transpose(2, 0, 1) / 16 - 8
    return np.concatenate([grey, -grey[:2]])
"""
DOUBT = ("entropy", "energy")


def logits_of(photo: np.ndarray) -> np.ndarray:
    held: dict = {}
    exec(NETWORK, held)
    return held["segment"](photo)


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(0))
    return shares / shares.sum(0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=IMAGES, models=1)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return str(made.collected(corpus, tmp_path / "study", 1024))


def answers(study: str, place: str, labels: str | None = None, **options) -> list[Row]:
    """Return what a source says of the images of a study, which stays unchanged."""
    held = Study(Path(study))
    kind = catalogue.source_of("m", place)
    request = Request("m", place, held.settings, lambda: each_whole_shard(held.corpus), options, labels)
    origin = kind.origin(kind, request)
    opening = Opening(kind.name, place, origin.options, origin.labels, digest=origin.digest)
    model = kind.open(opening, held.settings)
    images = next(iter(request.shards()))[1]
    batch = next(iter(model.batches([images], Part(origin.files.get(0, {})))))
    return list(batch.rows)


def saved(corpus: made.Corpus, folder: Path, ending: str, change=lambda logits: logits) -> str:
    from PIL import Image

    for id_ in corpus.ids:
        logits = change(logits_of(np.asarray(Image.open(corpus.photos / f"{id_}.png"))))
        path = folder / f"{id_}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == ".npy":
            np.save(path, logits)
        elif ending == ".npz":
            np.savez_compressed(path, logits)
        else:
            import torch

            torch.save(torch.from_numpy(logits), path)
    return str(folder)


@pytest.mark.slow
def test_maps_and_doubt_are_those_of_the_network_that_gave_the_logits(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    models = {"net": f"{tmp_path / 'net.py'}:segment"}
    for ending in (".npy", ".npz", ".pt"):
        models[ending[1:]] = saved(corpus, tmp_path / ending[1:], ending)
    models["batch"] = saved(corpus, tmp_path / "batch", ".npy", lambda logits: logits[None])
    said = {
        name: answers(study, place, scorer=list(DOUBT), keep=["confidence"]) for name, place in models.items()
    }
    assert {key for row in said["net"] for key in row.kept} == {"confidence", "doubt-entropy", "doubt-energy"}
    for rows in said.values():
        assert rows == said["net"]


def test_probabilities_are_known_by_their_values_and_not_normalised_twice(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    place = saved(corpus, tmp_path / "shares", ".npy", lambda logits: softmax(logits).astype(np.float16))
    for row in answers(study, place, keep=["probabilities"]):
        shares = array_codes.decode(row.kept["probabilities"][0])
        given = np.load(tmp_path / "shares" / f"{row.id}.npy")
        # corners keep their values when the size grows
        np.testing.assert_allclose(shares[:, 0, 0], given[:, 0, 0], atol=2e-3)
    for row in answers(study, place, scorer=["max-logit"]):
        assert "max-logit needs logits, which this model does not provide" in row.problem


def test_no_guess_is_made_where_values_do_not_say_what_they_are(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    place = saved(corpus, tmp_path / "sigmoids", ".npy", lambda logits: 1 / (1 + np.exp(-logits)))
    for asked in ({"scorer": ["entropy"]}, {"keep": ["confidence"]}, {"keep": ["probabilities"]}):
        for row in answers(study, place, **asked):
            assert "so it is not certain whether they are logits or probabilities" in row.problem
    # labels are the same whatever they are
    logits = saved(corpus, tmp_path / "logits", ".npy")
    found = [runs.decode(row.runs)[0, 0] for row in answers(study, place)]
    assert found == [runs.decode(row.runs)[0, 0] for row in answers(study, logits)]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda logits: logits, "logits"),
        (lambda logits: np.log(softmax(logits)), "logits"),
        (lambda logits: np.where(logits < 0, -np.inf, logits), "logits"),
        (softmax, "probabilities"),
        (lambda logits: softmax(logits).astype(np.float16), "probabilities"),
        (lambda logits: np.eye(5)[logits.argmax(0)].transpose(2, 0, 1), "probabilities"),
        (lambda logits: 100 * softmax(logits), ""),
        (lambda logits: 255 * softmax(logits), ""),
        (lambda logits: 1.2 * softmax(logits) - 0.04, ""),  # as a cubic interpolation gives them
        (lambda logits: 4 * softmax(logits) - 0.6, ""),
        (lambda logits: 1 / (1 + np.exp(-logits)), ""),
        (np.tanh, ""),
        (np.zeros_like, ""),
    ],
)
def test_kinds_of_scores(change, kind: str) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (36, 48, 3), np.uint8)
    assert kind_of(change(logits_of(photo))) == kind


def test_channels_mean_what_labels_say(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    six = saved(corpus, tmp_path / "six", ".npy", lambda logits: np.concatenate([logits, logits[:1] + 9]))
    with refused(fs.errors.FaultscapeError, "has 6 classes, the study 5; give --labels FILE"):
        answers(study, six)
    pairs = ",".join([*(f"{k}={name}" for k, name in enumerate(made.NAMES)), "5=void"])
    assert all(5 in runs.decode(row.runs) for row in answers(study, six, pairs))


def test_label_maps_beside_scores_come_first(corpus: made.Corpus, tmp_path: Path) -> None:
    place = saved(corpus, tmp_path / "both", ".npz")
    assert catalogue.source_of("m", place).name == "scores"
    made.write(tmp_path / "both" / "a.png", np.zeros((2, 2), np.uint8))
    assert catalogue.source_of("m", place).name == "folder"
    np.save(tmp_path / "labels.npy", np.zeros((2, 2), np.uint8))
    assert not class_scores.holds_scores(tmp_path / "labels.npy")


class Evil:
    def __reduce__(self):
        return (print, ("run",))


def archive(*entries: tuple[str, bytes], packed: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as file:
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


def tensor(make, **options):
    """Return what makes the bytes of a file of torch, from what makes its content of the library."""

    def saved() -> bytes:
        import torch

        out = io.BytesIO()
        torch.save(make(torch), out, **options)
        return out.getvalue()

    return saved


def array(values: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, values, allow_pickle=True)
    return out.getvalue()


HUGE = array(np.zeros((2, 3, 4))).replace(b"(2, 3, 4), }", b"(9, 99, 99)}")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.npy", b"what", "is not a NumPy file; save scores with np.save, np.savez or torch.save"),
        ("a.npy", HUGE, "bytes of numbers; its header says"),
        ("a.npy", array(np.array([[None]])), "got object, which is not read"),
        (
            "a.npy",
            array(np.zeros((4, 5))),
            r"expected scores of classes, C x H x W floats; got float64 of sh",
        ),
        ("a.npy", array(np.zeros((3, 4, 5), np.uint8)), "save whole numbers, if they are labels, as .npy or"),
        ("a.npy", array(np.zeros((2, 3, 4, 5))), r"of shape \(2, 3, 4, 5\); save one file an image"),
        ("a.npy", array(np.zeros((1, 4, 5))), r"of a network of two classes np.stack\(\[1 - p, p\]\)"),
        ("a.npy", array(np.full((2, 4, 5), np.nan)), "40 of its 40 scores are NaN"),
        (
            "a.npz",
            archive(("a.npy", b"x"), ("b.npy", b"x")),
            r"holds 2 arrays \(a, b\); expected one; save the scores alone",
        ),
        ("a.npz", b"PK\3\4 and no more", "a.npz: "),
        (
            "a.pt",
            tensor(lambda torch: {"logits": torch.zeros(2, 3, 4)}),
            "holds a dict; expected one tensor: torch.save",
        ),
        ("a.pt", tensor(lambda _: Evil()), "holds more than a tensor, and nothing else is loaded"),
        ("a.pt", tensor(lambda torch: torch.zeros(1).expand(99999, 9999, 999)), "unpacks to more than 4 GiB"),
        (
            "a.pt",
            tensor(lambda torch: torch.zeros(2, 3, 4), _use_new_zipfile_serialization=False),
            "since version 1.6",
        ),
        (
            "a.pt",
            tensor(lambda torch: torch.zeros(2, 3, 4).to_sparse()),
            "is not a dense one of plain numbers",
        ),
        (
            "a.pt",
            archive(("a/constants.pkl", b"x")),
            "is a TorchScript network, not a tensor; give it as NAME=",
        ),
        (
            "a.pt",
            archive(("a/data.pkl", b"x" * 9), packed=zipfile.ZIP_DEFLATED),
            "is not an archive of one tensor",
        ),
        ("a.pt", archive(("a/data.pkl", b"x" * 9)), "save one tensor"),
    ],
)
def test_files_that_hold_something_else_are_refused(
    name: str, data, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data() if callable(data) else data)
    with refused(ModelError, says):
        read_class_scores(tmp_path / name)
    assert "run" not in capfd.readouterr().out.split()


def test_an_archive_that_unpacks_to_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_scores, "MOST_BYTES", 1 << 16)
    np.savez_compressed(tmp_path / "a.npz", np.zeros((2, 99, 99)))
    with refused(ModelError, "unpacks to more than"):
        read_class_scores(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda logits: logits.transpose(1, 2, 0),
            "is H x W x C; expected classes first, C x H x W: transpose",
        ),
        (lambda logits: logits[:, :9], "--resize-maps takes any size"),
        (lambda logits: logits.argmax(0), "save whole numbers, if they are labels"),
    ],
)
def test_scores_that_do_not_fit_their_image_are_refused(
    change, says: str, corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    place = saved(corpus, tmp_path / "bad", ".npz", change)
    with refused(fs.errors.FaultscapeError, says):
        raise ModelError(answers(study, place)[0].problem)


def test_layers_are_not_in_a_folder_of_scores(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    place = saved(corpus, tmp_path / "logits", ".npy")
    with refused(fs.errors.OptionError, "a folder of scores has no layers"):
        answers(study, place, keep=["embedding=head"])


def test_measure_says_that_predict_makes_maps_of_scores(corpus: made.Corpus, tmp_path: Path) -> None:
    place = saved(corpus, tmp_path / "logits", ".npz")
    with refused(ModelError, "`faultscape predict STUDY m=.*/logits` makes maps of these"):
        fs.measure(str(corpus.truth), {"m": place}, classes=str(corpus.classes))
