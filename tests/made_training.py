"""A study of drawn colours with labels, a network that is small enough to learn them in seconds, and a study
in which it was trained.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import faultscape as fs
from faultscape.choices import Role

NAMES = ("sky", "road", "car", "tree")
COLOURS = np.array([[120, 170, 230], [90, 90, 95], [200, 40, 40], [40, 140, 60]])
VOID = 9
NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU())
        self.mix = torch.nn.Conv2d(16, 16, 1)
        self.head = torch.nn.Conv2d(16, 4, 1)

    def forward(self, image):
        return self.head(torch.relu(self.mix(self.body(image))))

def net():
    return Net()
"""

FEW = fs.options.TrainingPlan(steps=30, batch=4, rate=0.02, crop="24x16", scale="1,1", validate_every=0)
FEW_WORDS = (
    "--steps",
    30,
    "--batch",
    4,
    "--rate",
    0.02,
    "--crop",
    "24x16",
    "--scale",
    "1,1",
    "--validate-every",
    0,
)
ONE = fs.options.TrainingPlan(steps=1, batch=2, crop="24x16", validate_every=0)


def image_of(seed: int, size: tuple[int, int] = (32, 24)) -> tuple[np.ndarray, np.ndarray]:
    """Return a photo whose colours say its labels, and the labels; a strip of it is void."""
    rng = np.random.default_rng(seed)
    labels = (
        rng.integers(0, len(NAMES), (size[1] // 4, size[0] // 4)).repeat(4, 0).repeat(4, 1).astype(np.uint8)
    )
    photo = np.clip(COLOURS[labels] + rng.normal(0, 12, (*labels.shape, 3)), 0, 255).astype(np.uint8)
    labels[:, -2:] = VOID
    return photo, labels


def make_study(
    folder: Path,
    train: int = 8,
    validation: int = 3,
    test: int = 4,
    *,
    role: Role = "test",
    label: bool = True,
) -> str:
    """Collect three sets with labels, and return the study; ``net.py`` beside it holds the network. The first
    set has a ``role``, and its labels are imported only to ``label`` it.
    """
    (folder / "net.py").write_text(NETWORK)
    (folder / "classes.json").write_text(json.dumps({"classes": list(NAMES), "void": [VOID]}))
    study, first = str(folder / "study"), 0
    sets: tuple[tuple[str, Role, int], ...] = (
        ("main", role, test),
        ("train", "train", train),
        ("val", "validation", validation),
    )
    for name, of_role, count in sets:
        for number in range(first, first + count):
            photo, labels = image_of(number)
            for kind, pixels in (("images", photo), ("masks", labels)):
                path = folder / name / kind / f"{number:03}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)
        if not count:
            continue
        first += count
        fs.collect(
            study,
            str(folder / name / "images"),
            classes=str(folder / "classes.json"),
            set_=name,
            role=of_role,
        )
        if label or name != "main":
            pattern = "{id}.png" if name == "main" else None
            fs.label.import_(study, str(folder / name / "masks"), pattern=pattern)
    return study


def make_pool(folder: Path, pool: int = 14, train: int = 6) -> Trained:
    """Make a study of unlabelled images, with the networks "old", which learnt from labelled ones, and "other",
    which hardly did; draw duels of both, and label their images.
    """
    trained = Trained(folder)
    study = make_study(folder, train=train, validation=0, test=pool, role="pool", label=False)
    fs.train(study, "old", backbone=trained.own, plan=FEW)
    fs.train(study, "other", backbone=trained.own, plan=ONE, seed=3)
    sources = {name: trained.source_of(name) for name in ("old", "other")}
    fs.predict(study, sources, scorer=["msp"], engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    label(trained, fs.Study(study).selection().now.images)
    return trained


def label(trained: Trained, images: Sequence[str], truth: str = "labels") -> str:
    """Import the labels of some images of the pool, under a truth; returns the line that comes next."""
    chosen = trained.folder / f"chosen-{truth}"
    chosen.mkdir(exist_ok=True)
    for image in images:
        shutil.copy(trained.folder / "main" / "masks" / f"{image}.png", chosen)
    found = fs.label.import_(trained.study, str(chosen), pattern="{id}.png", truth=truth)
    return repr(found).rpartition("next: ")[2]


@dataclass(frozen=True)
class Trained:
    """A folder with a study in which the network "plain" was trained, which learnt no cars."""

    folder: Path

    @property
    def study(self) -> str:
        return str(self.folder / "study")

    @property
    def own(self) -> str:
        """The code of the backbone, as --backbone names it."""
        return f"{self.folder / 'net.py'}:net"

    @property
    def source(self) -> str:
        """The trained network, as predict names it."""
        return self.source_of("plain")

    def source_of(self, name: str) -> str:
        """A trained network, as predict names it."""
        return f"{self.study}/models/{name}/backbone.py:net"


def train_plain(folder: Path) -> Trained:
    """Make a study in an empty folder, withhold cars, and train a network."""
    trained = Trained(folder)
    make_study(folder)
    fs.stress.holdout(trained.study, classes=["car"], as_="cars")
    fs.train(trained.study, "plain", backbone=trained.own, plan=FEW)
    return trained


def copy_of(trained: Trained, folder: Path) -> Trained:
    """Copy all of it to a folder that does not exist yet."""
    shutil.copytree(trained.folder, folder)
    return Trained(folder)


def doubt_of(study: str, model: str, scorer: str) -> np.ndarray:
    """Return the doubt that predict kept of the first shard, images x height x width."""
    from faultscape.study.tables import outputs

    return np.stack([arrays[0] for _, arrays in outputs.read_kept(Path(study), model, f"doubt-{scorer}", 0)])
