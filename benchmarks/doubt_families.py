"""What a residual block finds of each family of unknown objects, taught by one family, by all but one, or by
all: the cross table of docs/benchmarks/doubt.md.

    python benchmarks/doubt_families.py FOLDER [--model segformer-b0-linear-0] [--rows drawn,all,...]    # after `doubt.py run FOLDER --kinds linear`; ten minutes a row on one core

Conventions: a family teaches with three objects in each training image, several with as many images each, in
2,000 steps; tests are the sets of doubt.py. AP and FPR95 are pooled over the pixels of a set. Each row is
written to FOLDER/families-MODEL.md as soon as it is known, so that an interrupted run goes on.
Source: S4, section 6 (methods that saw other unknown objects in training).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from doubt import A_FRAME, TESTS, V2, blend
from doubt_objects import FAMILIES, objects_of

import faultscape as fs
from faultscape.maps.winners import enlarged
from faultscape.reading.study import opened
from faultscape.uncertainty.methods.block_fit import BlockPlan, Grids
from faultscape.uncertainty.methods.catalogue import IMAGE, method_named
from faultscape.uncertainty.methods.residual import ResidualPattern, energy_of
from faultscape.verbs.fit.network_grids import NetworkGrids
from faultscape.verbs.fit.open_model import open_model
from faultscape.verbs.fit.samples import meaning_of
from faultscape.verbs.fit.tapped_layers import layers_to_fit
from faultscape.verbs.train.anomalous_images import AnomalousImages

STEPS = 2000
NOTHING = "nothing: `energy`"
Shown = list[tuple[Grids, np.ndarray]]  # the grids of an image, and its anomaly labels (H, W)


class Union:
    """The images of several sets as examples to learn from."""

    def __init__(self, sets: Sequence[Shown]) -> None:
        self._parts = [part for shown in sets for part, _ in shown]

    def __len__(self) -> int:
        return len(self._parts)

    def __call__(self, number: int) -> list[Grids]:
        return [self._parts[number]]


def shown_in(study: Path, name: str, model: str, layers: Sequence[str]) -> Shown:
    """Return what a network gives for the images of a set, and their anomaly labels."""
    there = opened(str(study))
    told = {"option": "negatives", "purpose": "this needs", "use": "here", "what": "image"}
    images = AnomalousImages(there, name, None, **told)
    answers = open_model(there, model, "", tuple(layers))
    grids = NetworkGrids(there, answers, meaning_of(answers, there), [IMAGE, *layers], images, None)
    size = there.settings.working_size
    return [(grids(k)[0], images.view(image, size)[0]) for k, image in enumerate(images.images)]


def judged(score, shown: Shown) -> str:
    """Return AP and FPR95 of a score over the images of a set."""
    values, labels = [], []
    for part, anomaly in shown:
        made = enlarged(score(part), anomaly.shape[::-1])[0]
        values.append(made[anomaly < 2])
        labels.append(anomaly[anomaly < 2])
    found = fs.metrics.detection(np.concatenate(values), np.concatenate(labels))
    return f"{found.average_precision:.3f}, {found.fpr95:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="segformer-b0-linear-0")
    parser.add_argument(
        "--rows", type=lambda text: text.split(","), help="e.g. drawn,all: all rows without it"
    )
    given = parser.parse_args()
    learn, kept = given.folder / "learn", given.folder / "kept"
    network = open_model(opened(str(learn)), given.model, "")
    layers = layers_to_fit(method_named("residual"), network, (), SimpleNamespace(select_layer=False))
    for family in FAMILIES:
        blend(given.folder, learn, "train", V2, objects_of(family, "teach"), family, A_FRAME)
    conditions = dict(zip(FAMILIES, (V2, *TESTS[2:]), strict=True))
    tests = {family: shown_in(kept, name, given.model, layers) for family, name in conditions.items()}
    taught = {family: shown_in(learn, f"train-{V2}-{family}", given.model, layers) for family in FAMILIES}
    file = given.folder / f"families-{given.model}.md"
    if not file.exists():
        file.write_text(f"| taught by | {' | '.join(FAMILIES)} |\n|{'---|' * (len(FAMILIES) + 1)}\n")
    groups: dict[str, tuple[str, ...]] = {NOTHING: ()}
    groups |= {family: (family,) for family in FAMILIES}
    groups |= {f"all but {family}": tuple(one for one in FAMILIES if one != family) for family in FAMILIES}
    groups["all"] = tuple(FAMILIES)
    for title in given.rows or groups:
        if f"| {title} |" in file.read_text():
            continue
        examples = Union([taught[family] for family in groups[title]])
        score = taught_by(examples, layers) if title != NOTHING else energy
        row = f"| {title} | {' | '.join(judged(score, shown) for shown in tests.values())} |"
        with file.open("a") as out:
            out.write(row + "\n")
    print(file.read_text())


def energy(part: Grids) -> np.ndarray:
    """Return the score of a network that was taught by no object."""
    return energy_of(part.logits[None].float())[0][None].numpy()


def taught_by(examples: Union, layers: Sequence[str]) -> Callable[[Grids], np.ndarray]:
    """Return the score of a residual block that learned from examples."""
    options = dict(method_named("residual").options)
    plan = BlockPlan(STEPS, float(options["rate"]), int(options["batch"]))
    method = ResidualPattern.train(layers, options, examples, plan)[0]

    def score(part: Grids) -> np.ndarray:
        features, logits, _ = part.shown("cpu")
        with torch.inference_mode():
            return method.values(features, logits)[0][0].numpy()

    return score


if __name__ == "__main__":
    main()
