"""A second, independent computation of the maximum-discrepancy competition: an oracle for the product's own.

What: equations 1-10 and Algorithm 1 of Yan, Zhong, Fang, Wang, Ma, "Exposing Semantic Segmentation Failures
via Maximum Discrepancy Competition" (IJCV 2021), written from the paper alone and importing nothing of the
product. Plain before fast. Algorithm 2 (one more model) needs no code of its own: the old block of A and R of
a larger competition stays as it was.

Conventions, where the paper leaves a choice open:

- A map is an integer array; values 0 .. C-1 are classes, every other value is void.
- A confusion table is (C+1) x (C+1), rows = reference map, columns = other map, last row and column = void.
  Pixels where the
  reference is void are dropped; void in the other map is a miss (a false negative) of the reference's class.
- mIoU: mean IoU over the classes in the union of both maps (not eq. 7's fixed |Y|+1). FWIoU: IoU weighted by
  the class
  frequencies of the reference (eq. 9 as printed lacks that factor). MPA: mean of N_yy / N_y over the classes
  in the reference.
- Between two models the defender's map is the reference; against the truth the truth is.
- No class in common ground at all (an image that is all void, or has no truth): the concordance is nan, the
  image counts nowhere.
- S_ij: defender i, attacker j. Its group y: images where the defender's share of y (void stays in the
  denominator) is above zero
  and within the closed interval of the class; K lowest concordances, rounded to 12 decimals, ties by image
  id.
- A class without an interval (a background, or a class that no training mask holds) forms no group.
- Eq. 4 is the mean over the non-empty groups. A pair with no labelled image at all gives nan and no term in
  eq. 6.
- Eq. 6 runs over i != j (a diagonal term is a constant), scores sum to one.

`python tests/papers/mad_reference.py SHARED_DATA OUT.json` runs the CamVid models of the local data folder.
"""

import json
import pathlib
import sys
import time
from collections import UserDict

import numpy as np
from PIL import Image
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, log_ndtr
from scipy.stats import spearmanr

DECIMALS = 12


def codes(m, classes):
    """The map as 32-bit integers with every void value set to `classes`."""
    m = np.asarray(m)
    return np.where((m >= 0) & (m < classes), m, classes).astype(np.int32)


def confusion(a, b, classes, times=None):
    """N_yy' of eq. 8: pixels that map a (reference) calls y and map b calls y'; index `classes` stands for
    void. A pixel counts once, or as many ``times``.
    """
    a, b = codes(a, classes), codes(b, classes)
    if a.shape != b.shape:
        raise ValueError("the two maps differ in size")
    counts = np.bincount((a * (classes + 1) + b).ravel(), times, minlength=(classes + 1) ** 2)
    return counts.astype(np.int64).reshape(classes + 1, classes + 1)


def _parts(table):
    """N_yy, pixels of y in the reference, and the union of both, per class, without the void row; leading
    axes stay.
    """
    kept = np.asarray(table)[..., :-1, :].astype(float)
    hit = np.diagonal(kept[..., :-1], axis1=-2, axis2=-1)
    rows, columns = kept.sum(-1), kept[..., :-1].sum(-2)
    return hit, rows, rows + columns - hit


def _ratio(top, bottom):
    """top / bottom, and nan where bottom is zero."""
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom > 0)


def miou(table):
    """Eq. 7, the mean taken over classes in the union of the two maps."""
    hit, _, union = _parts(table)
    return _ratio(np.nan_to_num(_ratio(hit, union)).sum(-1), (union > 0).sum(-1))


def fwiou(table):
    """Eq. 9 with the class frequency N_y of the reference that the printed formula lacks."""
    hit, rows, union = _parts(table)
    return _ratio((rows * np.nan_to_num(_ratio(hit, union))).sum(-1), rows.sum(-1))


def mpa(table):
    """Eq. 10, the mean taken over classes in the reference."""
    hit, rows, _ = _parts(table)
    return _ratio(np.nan_to_num(_ratio(hit, rows)).sum(-1), (rows > 0).sum(-1))


CONCORDANCES = {"miou": miou, "fwiou": fwiou, "mpa": mpa}


def quartiles(masks, classes, background=None):
    """{class: (first, third quartile of its share)} over the masks that contain it; void pixels stay in the
    denominator.
    """
    shares = {y: [] for y in range(classes) if y != background}
    for mask in masks:
        for y, seen in shares.items():
            count = np.count_nonzero(mask == y)
            if count:
                seen.append(count / mask.size)
    return {y: tuple(float(q) for q in np.percentile(s, [25, 75])) for y, s in shares.items() if s}


def select(concordance, shares, images, scale, per_class=1):
    """The K images of each group of one ordered pair, lowest concordance first: {class: [(image,
    concordance)]}.

    `concordance` holds S(defender, attacker) per image, `shares` the defender's pixel share per image and
    class.
    """
    chosen = {}
    for y, (low, high) in sorted(scale.items()):
        group = [
            (round(float(value), DECIMALS), image)
            for image, value, share in zip(images, concordance, shares[:, y], strict=True)
            if share > 0 and low <= share <= high and not np.isnan(value)
        ]
        chosen[y] = [(image, value) for value, image in sorted(group)[:per_class]]
    return chosen


def performance(values, groups):
    """P of eq. 4: mean over groups of the mean over a group's images of the concordance with the truth."""
    means = []
    for group in groups:
        labelled = [values[image] for image in group if not np.isnan(values.get(image, np.nan))]
        if labelled:
            means.append(sum(labelled) / len(labelled))
    return sum(means) / len(means) if means else float("nan")


def matrices(models, slots, values, epsilon=0.01):
    """(A, R) of eq. 3 and eq. 5. `slots`: {(defender, attacker): {class: [image]}}; `values`: {model: {image:
    concordance}}.
    """

    def ratio(above, below, groups):
        return (performance(values[above], groups) + epsilon) / (performance(values[below], groups) + epsilon)

    aggressiveness, resistance = np.eye(len(models)), np.eye(len(models))
    for i, f_i in enumerate(models):
        for j, f_j in enumerate(models):
            if i != j:
                attacked = list(slots[f_j, f_i].values())  # S_ji: j defends, i attacks
                defended = list(slots[f_i, f_j].values())  # S_ij: i defends, j attacks
                aggressiveness[i, j] = ratio(f_i, f_j, attacked)
                resistance[i, j] = ratio(f_i, f_j, defended)
    return aggressiveness, resistance


def _probit(x):
    """Log Phi(x), its slope m = phi / Phi, and minus its curvature m (x + m)."""
    log_cdf = log_ndtr(x)
    slope = np.exp(-x * x / 2 - np.log(2 * np.pi) / 2 - log_cdf)
    return log_cdf, slope, slope * (x + slope)


def _logit(x):
    """Log of the logistic function, its slope, and minus its curvature."""
    return log_expit(x), expit(-x), expit(x) * expit(-x)


def _maximise(weights, link):
    """The mean-zero scores that maximise sum_ij w_ij log F(s_i - s_j): BFGS, then Newton steps to rounding
    error.
    """
    weights = np.array(weights, dtype=float)
    np.fill_diagonal(weights, 0.0)
    weights[np.isnan(weights)] = 0.0
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise ValueError("weights must be finite and not negative")
    if connected_components(weights > 0, connection="strong")[0] != 1:
        raise ValueError("no finite maximum: the comparisons do not connect all models both ways")
    total = weights.sum() or 1.0

    def loss(scores):
        log_cdf, slope, _ = link(scores[:, None] - scores[None, :])
        pull = weights * slope
        return -(weights * log_cdf).sum() / total, (pull.sum(0) - pull.sum(1)) / total

    scores = minimize(loss, np.zeros(len(weights)), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    for _ in range(20):
        curve = weights * link(scores[:, None] - scores[None, :])[2] / total
        curve += curve.T
        scores = scores - np.linalg.solve(np.diag(curve.sum(1)) - curve + 1, loss(scores)[1])
    if abs(loss(scores)[1]).max() > 1e-12:
        raise ArithmeticError("the maximum was not reached")
    return scores - scores.mean()


def thurstone(matrix):
    """The scores of eq. 6 (Thurstone case V, maximum likelihood) that sum to one."""
    scores = _maximise(matrix, _probit)
    return scores + 1 / len(scores)


def bradley_terry(wins):
    """Log-strengths with mean zero, half a win added to both sides wherever the two met."""
    wins = np.asarray(wins, dtype=float)
    return _maximise(wins + 0.5 * (wins + wins.T > 0), _logit)


def reuse(models, images, values):
    """(mean concordance per model, Bradley-Terry log-strengths) over the distinct labelled images."""
    table = np.array([[values[f].get(image, np.nan) for image in images] for f in models]).round(DECIMALS)
    means = np.array([row[~np.isnan(row)].mean() for row in table])
    wins = np.zeros((len(models), len(models)))
    for i in range(len(models)):
        for j in range(len(models)):
            if i != j:
                wins[i, j] = (table[i] > table[j]).sum() + 0.5 * (table[i] == table[j]).sum()
    return means, bradley_terry(wins)


def tables(maps, truth, classes):
    """One pass: image ids, confusions [image, defender, attacker], those with the truth [image, model],
    shares per class.
    """
    models = list(maps)
    images = sorted(maps[models[0]])
    size = (classes + 1, classes + 1)
    pairs = np.zeros((len(images), len(models), len(models), *size), dtype=np.int64)
    truths = np.zeros((len(images), len(models), *size), dtype=np.int64)
    shares = np.zeros((len(images), len(models), classes))
    for m, image in enumerate(images):
        label = truth.get(image)
        read = [maps[f][image] for f in models] + ([] if label is None else [label])
        # most pixels share their labels with others: each combination is looked at once
        combinations = (classes + 1,) * len(read)
        joint = np.ravel_multi_index([codes(one, classes).ravel() for one in read], combinations)
        found, times = np.unique(joint, return_counts=True)
        read = np.unravel_index(found, combinations)
        for i, one in enumerate(read[: len(models)]):
            for j in range(i, len(models)):
                pairs[m, i, j] = confusion(one, read[j], classes, times)
                pairs[m, j, i] = pairs[m, i, j].T
            shares[m, i] = np.diagonal(pairs[m, i, i])[:classes] / joint.size
            if label is not None:
                truths[m, i] = confusion(read[-1], one, classes, times)
    return images, pairs, truths, shares


def competition(maps, truth, classes, scale, epsilon=0.01, per_class=1, concordance="miou", counted=None):
    """Algorithm 1. `maps`: {model: {image: map}}, `truth`: {image: map}, `scale`: {class: (low, high)},
    `classes`: how many.

    Slots are (defender, attacker, class, image, concordance); A, R and the `scores` of each ranking are
    arrays in the order of `models`; `whole` is each model's mean concordance over every image with truth.
    `counted` takes the result of `tables`.
    """
    models = list(maps)
    images, pairs, truths, shares = counted or tables(maps, truth, classes)
    measure = CONCORDANCES[concordance]
    between, against = measure(pairs), measure(truths)
    values = {
        f: {image: float(against[m, i]) for m, image in enumerate(images)} for i, f in enumerate(models)
    }
    slots, groups = [], {}
    for i, defender in enumerate(models):
        for j, attacker in enumerate(models):
            if i != j:
                chosen = select(between[:, i, j], shares[:, i], images, scale, per_class)
                groups[defender, attacker] = {y: [image for image, _ in found] for y, found in chosen.items()}
                slots += [
                    (defender, attacker, y, image, value)
                    for y, found in chosen.items()
                    for image, value in found
                ]
    aggressiveness, resistance = matrices(models, groups, values, epsilon)
    distinct = sorted({slot[3] for slot in slots})
    mean, strengths = reuse(models, distinct, values)
    return {
        "models": models,
        "slots": slots,
        "images": distinct,
        "empty": sum(not found for group in groups.values() for found in group.values()),
        "A": aggressiveness,
        "R": resistance,
        "scores": {
            "aggressiveness": thurstone(aggressiveness),
            "resistance": thurstone(resistance),
            "reuse_mean": mean,
            "reuse_bradley_terry": strengths,
        },
        "whole": np.array([against[~np.isnan(against[:, i]), i].mean() for i in range(len(models))]),
    }


class Folder(UserDict):
    """Image id -> file, read on request."""

    def __getitem__(self, image):
        with Image.open(super().__getitem__(image)) as file:
            return np.array(file)


def camvid(shared, models=None):
    """(maps, truth, class names, scale) of the CamVid test split and the zoo's models; `shared` is the folder
    shared/data.
    """
    home, zoo = pathlib.Path(shared) / "camvid", pathlib.Path(shared) / "camvid-zoo"
    names = [
        c["name"] for c in json.loads((home / "classes.json").read_text())["classes"] if not c["ignored"]
    ]
    train, test = (
        [line.split() for line in (home / f"{part}.txt").read_text().splitlines()]
        for part in ("train", "test")
    )
    truth = Folder({str(pathlib.PurePosixPath(image).with_suffix("")): home / label for image, label in test})
    models = models or sorted(folder.parent.name for folder in zoo.glob("*/labels"))
    maps = {
        f: Folder({image: zoo / f / "labels" / (image.split("/")[-1] + ".png") for image in truth})
        for f in models
    }
    masks = Folder({label: home / label for _, label in train})
    return maps, truth, names, quartiles((masks[label] for label in masks), len(names))


def main(shared, out):
    """Run every concordance on CamVid, print the known figures and write the results."""
    start = time.perf_counter()
    maps, truth, names, scale = camvid(shared)
    counted = tables(maps, truth, len(names))
    result = {
        "models": list(maps),
        "classes": names,
        "scale": {names[y]: bounds for y, bounds in scale.items()},
    }
    for concordance in CONCORDANCES:
        run = competition(maps, truth, len(names), scale, concordance=concordance, counted=counted)
        spearman = {
            ranking: float(spearmanr(scores.round(DECIMALS), run["whole"]).statistic)
            for ranking, scores in run["scores"].items()
        }
        print(
            concordance,
            len(run["slots"]),
            "slots",
            len(run["images"]),
            "images",
            run["empty"],
            "empty",
            spearman,
        )
        result[concordance] = {
            "slots": [(d, a, names[y], image, value) for d, a, y, image, value in run["slots"]],
            "images": run["images"],
            "empty": run["empty"],
            "A": run["A"].tolist(),
            "R": run["R"].tolist(),
            "scores": {
                ranking: dict(zip(maps, scores.tolist(), strict=True))
                for ranking, scores in run["scores"].items()
            },
            "whole": dict(zip(maps, run["whole"].tolist(), strict=True)),
            "spearman_with_whole": spearman,
        }
    pathlib.Path(out).write_text(json.dumps(result, indent=1))
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
