"""Does `plan --pool` tell what twice as many images would change? Half of a real pool is taken for all there is;
the other half then comes.

    python benchmarks/pool_growth.py              # five minutes on two cores
    python benchmarks/pool_growth.py --times 20

Label maps of ten networks on the CamVid test split (frames, and each frame cut into 3 x 3), and of the demo's
five on drawn streets. Each time some of the models are taken, and a random half of some images; their parts
say what to expect (`verbs.plan.pool_growth`), the whole what comes. Prints, for the mean concordance of the
chosen slots and for Spearman's correlation of the order of models before and after: what came and what was
expected on average, the error, the width of the interval, and how often it held what came. Halves of one set
overlap from time to time, so shares are rough.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from label_sets import DATA, DRIVE, DRIVES, VOID
from scipy import stats

import faultscape as fs
from faultscape.comparison import combinations
from faultscape.formats.label_maps import read_map
from faultscape.prediction.catalogue import open_model
from faultscape.scenes import street
from faultscape.selection import duel
from faultscape.verbs.demo import networks
from faultscape.verbs.plan.pool_growth import next_change, part_count

MODELS = 4
SPLITS = 4


@dataclass(frozen=True, eq=False)
class Pool:
    """(J, J, I) agreement of maps, (J, I, G) which images a cell may take, (J, I) scores of the models."""

    agreement: np.ndarray
    member: np.ndarray
    score: np.ndarray

    def cells(self, models: np.ndarray) -> np.ndarray:
        """Return (cells, I) the concordances of some models, infinite where an image is no candidate."""
        agreement = self.agreement[np.ix_(models, models)][:, :, None]
        member = self.member[models].transpose(0, 2, 1)[:, None]
        held = np.where(member & ~np.isnan(agreement), agreement, np.inf)
        held[np.arange(len(models)), np.arange(len(models))] = np.inf
        return held.reshape(-1, held.shape[-1])


def pool_of(blocks: Iterator[tuple[dict[str, np.ndarray], np.ndarray]], classes: int) -> Pool:
    """Return what duels need of blocks of maps {model: (I, H, W)} with their truth."""
    parts = []
    for maps, truth in blocks:
        pairs = fs.comparison.count(maps, classes=classes)
        define = duel.definition(pairs.classes, constraints=None, scale=None, **duel.DEFAULTS)
        agreement = combinations.ranked(duel.measured(pairs, define))
        labelled = fs.comparison.count(maps, classes=classes, truth=truth, void=255)
        score = fs.comparison.accuracies(labelled, "miou")
        parts.append((agreement, duel.members(pairs, "class", None), score))
    agreement, member, score = zip(*parts, strict=True)
    return Pool(np.concatenate(agreement, 2), np.concatenate(member, 1), np.concatenate(score, 1))


def camvid(cuts: int) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    folders = sorted(path for path in (DATA / "camvid-zoo").iterdir() if path.is_dir())
    for file in sorted((DATA / "camvid" / "testannot").glob("*.png")):
        truth = _cut(read_map(file), cuts)
        truth[truth >= VOID] = 255
        shown = (truth != 255).mean((1, 2)) >= 0.5
        if shown.any():
            maps = {path.name: _cut(read_map(path / "labels" / file.name), cuts)[shown] for path in folders}
            yield maps, truth[shown]


def _cut(label_map: np.ndarray, cuts: int) -> np.ndarray:
    rows = np.split(label_map, cuts)
    return np.stack([part for row in rows for part in np.split(row, cuts, axis=1)]).copy()


def streets() -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    opened = {name: open_model(source) for name, source in networks().items()}
    for first in range(0, DRIVES * DRIVE, DRIVE):
        drawn = [street.corpus_scene(k) for k in range(first, first + DRIVE)]
        photos = [scene.image for scene in drawn]
        maps = {name: np.stack([o.labels for o in model.predict(photos)]) for name, model in opened.items()}
        yield maps, np.stack([scene.truth for scene in drawn])


def outcome(cells: np.ndarray, score: np.ndarray, images: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean concordance of the slots, and (J,) the mean scores on the chosen images."""
    here = cells[:, images]
    place = here.argmin(1)
    value = here[np.arange(len(here)), place]
    there = np.isfinite(value)
    return float(value[there].mean()), score[:, np.unique(images[place[there]])].mean(1)


def changes(
    cells: np.ndarray, score: np.ndarray, images: np.ndarray, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return how far concordance fell, and how the order changed (1 - Spearman), newest first."""
    fell: list[list[np.ndarray]] = []
    turned: list[list[np.ndarray]] = []
    for _ in range(SPLITS):
        pools = np.array_split(rng.permutation(images), part_count(len(images)))
        found = [outcome(cells, score, pool) for pool in pools]
        levels = []
        while len(pools) > 1:
            pools = [np.concatenate(pools[k : k + 2]) for k in range(0, len(pools), 2)]
            wholes = [outcome(cells, score, pool) for pool in pools]
            pairs = [[(whole, found[2 * k + half]) for half in (0, 1)] for k, whole in enumerate(wholes)]
            fall = [[half[0] - whole[0] for whole, half in both] for both in pairs]
            turn = [[1 - correlation(whole[1], half[1]) for whole, half in both] for both in pairs]
            levels.insert(0, (np.array(fall), np.array(turn)))
            found = wholes
        fell.append([fall for fall, _ in levels])
        turned.append([turn for _, turn in levels])
    return [np.stack(level) for level in zip(*fell, strict=True)], [
        np.stack(level) for level in zip(*turned, strict=True)
    ]


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(stats.spearmanr(first, second)[0])


def told(name: str, pool: Pool, now: int, times: int) -> None:
    """Print the rows of one set, of which so many images are there now."""
    rng = np.random.default_rng(0)
    rows: dict[str, list[tuple[float, float, float, float]]] = {"concordance": [], "order": []}
    for _ in range(times):
        models = np.sort(rng.choice(len(pool.score), min(MODELS, len(pool.score)), replace=False))
        cells = pool.cells(models)
        score = pool.score[models]
        images = rng.permutation(pool.score.shape[1])[: 2 * now]
        fell, turned = changes(cells, score, images[:now], rng)
        before, after = (outcome(cells, score, some) for some in (images[:now], images))
        rows["concordance"].append((before[0] - after[0], *next_change(fell)))
        rows["order"].append((1 - correlation(before[1], after[1]), *next_change(turned)))
    for what, found in rows.items():
        came, expected, low, high = np.array(found).T
        low = np.maximum(low, 0)
        high = np.maximum(high, 0)
        held = (came >= low - 1e-9) & (came <= high + 1e-9)
        error = np.sqrt(np.mean((expected - came) ** 2))
        print(
            f"| {name} | {now:,} | {what} | {came.mean():.3f} | {expected.mean():.3f} | {error:.3f} |"
            f" {(high - low).mean():.3f} | {100 * held.mean():.0f} % |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    asked = parser.parse_args()
    print(
        "| set | images | what falls | came | expected | error | width | held |\n|---|---|---|---|---|---|---|---|"
    )
    frames, crops, drawn = (
        pool_of(camvid(1), VOID),
        pool_of(camvid(3), VOID),
        pool_of(streets(), len(street.CLASSES)),
    )
    for name, pool, sizes in (
        ("frames", frames, (64, 116)),
        ("crops", crops, (128, 1000)),
        ("streets", drawn, (64, 300)),
    ):
        for size in sizes:
            told(name, pool, size, asked.times)
