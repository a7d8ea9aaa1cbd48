"""pytorch-ood's detectors beside our scorers, on the logits and features of a network of benchmarks/doubt.py.

    python benchmarks/doubt_peers.py FOLDER TABLE.csv [--model segformer-b0-linear-0]    # five minutes of one core

Conventions: run in an environment that holds our package and its extra ``doubt`` as well: ``pip install
pytorch-ood==0.4.0 torchvision``. Detectors have their defaults (ViM keeps half of the dimensions, DICE drops
.9 of the weights) and are fitted to training embeddings of one class; each place of the last layer's input is
a sample. Scores of places are resized as ours are; logits are resized first, by us while a score is made, for
the peer by torch. Our `knn` and `odin` have their options. AP and FPR95 are over every seventh pixel of every
third image; beside those of `detection` stand those of pytorch-ood, whose AP is a trapezoid. Times are
processor seconds of one thread for a frame of 480 x 360, the median of five, ours and theirs in turns.
Left out: what needs gradients of weights or several layers (GradNorm, GradUncertainty, Gram, MahalanobisODIN,
MultiMahalanobis, NACUE), texts (MCM), learnt weights (WeightedEBO), 30 passes (MCD), a singular value
decomposition a frame (RankFeat), a right answer of every class (SHE: this network has none for poles), and
OpenMax, which loops over pixels and scores each by its batch.
Source: Kirchheim et al. 2022 (pytorch-ood).
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from doubt_network import SETS, Frame, Network
from pytorch_ood import api
from pytorch_ood import detector as po
from pytorch_ood.metrics import AUPR, FPRAtTPR, MetricCollection
from torch import Tensor

import faultscape as fs
from faultscape.metrics.pixel_facts import facts_of
from faultscape.metrics.scorers import scorer_named
from faultscape.metrics.scores.curves import trapezoid_precision
from faultscape.prediction.doubt_methods import moved
from faultscape.uncertainty.methods.catalogue import method_named
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.mahalanobis import class_gaussians, mahalanobis_distances
from faultscape.uncertainty.methods.neighbours import nearest, unit

COLUMNS = ("library", "score", "set", "average_precision", "fpr95", "their_aupr", "their_fpr95")
LOGITS = ("msp", "entropy", "gen", "max-logit", "energy")
TURNS, IMAGES, PIXELS, K = 5, 3, 7, 50
T, EPSILON = 1000.0, 0.0014  # of ODIN, as theirs
Score = Callable[[Frame], np.ndarray]


def ours(network: Network) -> dict[str, Score]:
    """Return our scores."""
    odin = method_named("odin").build([], {"temperature": T, "epsilon": EPSILON}, {})

    def stepped(frame: Frame) -> np.ndarray:
        (answer,) = network.net.run(moved(network.net, frame.view[None], odin), [])
        return odin.score([answer.scores / T], frame.size)

    def fitted(name: str, sample: Embeddings, **told: int) -> Score:
        kind = method_named(name)
        method = kind.build.fit([network.layer], [sample], {**kind.options, **told}, network.channels)
        return lambda frame: frame.at_size(method.values([frame.grid], frame.grid)[0])

    def plain(name: str) -> Score:
        return lambda frame: scorer_named(name).compute(facts_of(frame.logits, frame.size))

    of_features = {
        "mahalanobis": fitted("mahalanobis", network.sample),
        "knn": fitted("knn", network.few, k=K),
    }
    return {name: plain(name) for name in LOGITS} | {"odin": stepped} | of_features


def theirs(network: Network) -> dict[str, Score]:
    """Return pytorch-ood's scores."""
    head, z, y, few = network.head, network.z, network.y, network.few.values
    maps, known = z[:, :, None, None], torch.zeros(len(few))

    def of_map(x: Tensor) -> Tensor:
        return head(x.flatten(1))

    def stepped(frame: Frame) -> np.ndarray:
        x = po.odin_preprocessing(network, torch.from_numpy(frame.view)[None], eps=EPSILON, temperature=T)
        return po.MaxSoftmax.score(frame.resized(network(x)), T)[0].numpy()

    def applied(detector: api.Detector) -> Score:
        def score(frame: Frame) -> np.ndarray:
            if isinstance(detector, po.KLMatching):
                return frame.at_size(detector.predict_logits(head(frame.rows)))
            if isinstance(detector, api.LogitsDetector):
                return detector.predict_logits(frame.resized(torch.from_numpy(frame.logits)[None]))[0].numpy()
            if isinstance(detector, api.FeatureMapsDetector):
                return frame.at_size(detector.predict_feature_maps(frame.rows[:, :, None, None]))
            return frame.at_size(detector.predict_features(frame.rows))

        return score

    with torch.enable_grad():
        cooled = po.TemperatureScaling(None).fit_logits(head(z).detach(), y)
    detectors = [
        *(po.MaxSoftmax(None), po.Entropy(None), po.GEN(None), po.MaxLogit(None), po.EnergyBased(None)),
        *(cooled, po.KLMatching(None).fit_logits(head(z)), po.LTS(None, head)),
        *(kind(None).fit_features(z, y) for kind in (po.Mahalanobis, po.RMD, po.GMM)),
        *(kind(None, head).fit_features(z, y) for kind in (po.NCI, po.fDBD, po.PNML)),
        po.KNN(None, k=K).fit_features(few, known),
        po.NNGuide(None, head).fit_features(few, known),
        po.ViM(None, z.shape[1] // 2, head.weight, head.bias).fit_features(z, y),
        po.DICE(None, head.weight, head.bias, 0.9).fit_features(z, y),
        *(kind(None, of_map).fit_feature_maps(maps, y) for kind in (po.ReAct, po.VRA)),
        *(po.ASH(None, of_map), po.SCALE(None, of_map)),
    ]
    return {type(one).__name__: applied(one) for one in detectors} | {"ODIN": stepped}


def judge_sets(network: Network, scores: dict[tuple[str, str], Score]) -> Iterator[tuple[str, ...]]:
    """Yield AP and FPR95 of every score on every set, by `detection` and by their metrics."""
    for set_ in SETS:
        made: dict[tuple[str, str], list[np.ndarray]] = {name: [] for name in scores}
        truths = []
        for frame in network.frames(set_, IMAGES):
            truths.append(frame.truth.ravel()[::PIXELS])
            for name, score in scores.items():
                made[name].append(score(frame).astype(np.float32).ravel()[::PIXELS])
        truth = np.concatenate(truths)
        label = torch.from_numpy(np.where(truth == 1, -1, truth.astype(np.int32)))
        for name, parts in made.items():
            score = np.concatenate(parts)
            found = fs.metrics.detection(score, truth)
            metric = MetricCollection([AUPR("ood"), FPRAtTPR(0.95)], void_label=255)
            area, alarms = metric.update(scores=torch.from_numpy(score), labels=label).compute().values()
            assert abs(area - trapezoid_precision(found)) + abs(alarms - found.fpr95) < 1e-9
            numbers = (found.average_precision, found.fpr95, area, alarms)
            yield (*name, set_, *(f"{number:.4f}" for number in numbers))


def formulas(network: Network, mine: dict[str, Score], peers: dict[str, Score]) -> None:
    """Print how far scores of one name are apart, relative to the largest, their values, and their cost."""
    z, y, few = network.z, network.y, network.few.values
    within = z - torch.stack([z[y == k].mean(0) for k in range(len(network.channels))])[y]
    ridge = 1e-6 / float(within.square().sum(0).mean())  # they add 1e-6 to sums of squares
    means, whiten = class_gaussians(z, y, ridge)
    gaussians = po.Mahalanobis(None).fit_features(z, y)
    search = po.KNN(None, k=K).fit_features(few, torch.zeros(len(few)))
    pairs: dict[str, tuple[Score, Score]] = {
        "msp": (mine["msp"], lambda frame: 1 + peers["MaxSoftmax"](frame)),
        "entropy": (mine["entropy"], peers["Entropy"]),
        "gen": (mine["gen"], lambda frame: len(network.channels) * peers["GEN"](frame)),  # a mean
        "max-logit": (mine["max-logit"], peers["MaxLogit"]),
        "energy": (mine["energy"], peers["EnergyBased"]),
        "odin": (mine["odin"], lambda frame: 1 + peers["ODIN"](frame)),
        "mahalanobis, squared": (
            lambda frame: mahalanobis_distances(frame.rows, means, whiten).numpy(),
            lambda frame: 2 * len(z) * gaussians.predict_features(frame.rows).numpy(),
        ),
        "knn, cosine of the k-th": (
            lambda frame: nearest(unit(frame.rows), unit(few), K)[0][:, -1].numpy(),
            lambda frame: 1 - search.predict_features(frame.rows).numpy() ** 2 / 2,
        ),
    }
    print(f"load {os.getloadavg()[0]:.1f}\n| score | apart | values | ms | ratio |\n|---|---|---|---|---|")
    frames = list(islice(network.frames("blended v2"), TURNS + 1))
    for name, both in pairs.items():
        apart, values, seconds = 0.0, [], []
        for turn, frame in enumerate(frames):
            made, taken = [], []
            for score in both:
                start = time.process_time()
                made.append(score(frame))
                taken.append(time.process_time() - start)
            if turn:  # the first warms up
                apart = max(apart, float(np.abs(made[0] - made[1]).max() / np.abs(made[0]).max()))
                values.append([len(np.unique(one)) for one in made])
                seconds.append(taken)
        (many, other), (a, b) = np.median(values, 0), np.median(seconds, 0) * 1e3
        print(f"| {name} | {apart:.0e} | {many:.0f}, {other:.0f} | {a:.1f}, {b:.1f} | {b / a:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--model", default="segformer-b0-linear-0")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    network = Network(given.folder, given.model)
    mine, peers = ours(network), theirs(network)
    formulas(network, mine, peers)
    scores = {("faultscape", name): score for name, score in mine.items()}
    scores |= {("pytorch-ood", name): score for name, score in peers.items()}
    with given.table.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *judge_sets(network, scores)])


if __name__ == "__main__":
    main()
