"""Looking at any time: what is said of drawn labels is seldom wrong, however often they are looked at."""

from itertools import permutations

import numpy as np
import pytest

from faultscape.ranking.drawn import anytime
from faultscape.ranking.drawn.any_look import any_look
from faultscape.ranking.drawn.scores import Expected
from faultscape.ranking.drawn.steps import Steps
from faultscape.ranking.panel import Panel

MODELS = ("a", "b", "c")


def twins(rng: np.random.Generator, size: int, differ: int, models: int = 3) -> np.ndarray:
    """Return losses (J, N) of equally good models, each wrong alone on as many images."""
    losses = np.zeros((models, size))
    images = rng.permutation(size)[: models * differ].reshape(models, differ)
    for own, wrong in zip(losses, images, strict=True):
        own[wrong] = 1.0
    return losses


def even(number: int, size: int) -> np.ndarray:
    return 1.0 / (size - np.arange(number))


@pytest.mark.parametrize("differ", [10, 60, 130])
def test_false_claims_at_any_look_are_as_rare_as_promised(differ: int) -> None:
    rng = np.random.default_rng(differ)
    losses = twins(rng, 400, differ)
    orders = np.array([rng.permutation(400) for _ in range(150)])
    found = anytime.evidence(
        losses[:, orders].swapaxes(0, 1), np.broadcast_to(even(400, 400), (150, 400)), 400
    )
    beats = [anytime.better_of_all(found[:, k, :, -1], 3).any() for k in range(150)]
    assert np.mean(beats) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)


def test_looking_often_with_fixed_intervals_claims_far_more() -> None:
    rng = np.random.default_rng(5)
    losses = twins(rng, 4000, 800, models=2)
    orders = np.array([rng.permutation(4000)[:400] for _ in range(200)])
    own = losses[:, orders].swapaxes(0, 1)
    chance = even(400, 4000)
    steps = anytime.single_steps(own, np.broadcast_to(chance, (200, 400)), 4000)
    mean, variance, _ = anytime.running(
        steps[:, [1]] - steps[:, [0]], own[:, [1]] - own[:, [0]], chance, 4000
    )
    peeked = np.abs(mean[:, 0, 10:]) > 1.96 * np.sqrt(variance[:, 0, 10:])
    found = anytime.evidence(own, chance, 4000)
    assert peeked.any(-1).mean() > 0.2
    assert (found[..., -1].max(0) >= np.log(2 / 0.05)).mean() <= 0.05


def test_models_that_differ_where_draws_hardly_look_are_seldom_put_in_an_order() -> None:
    rng = np.random.default_rng(6)
    weights = np.repeat([1.0, 0.02], [160, 1840])  # as draws for the best model prefer a few images
    losses = np.zeros((2, 2000))
    losses[1, :50] = 1.0
    losses[0, 200:250] = 1.0
    orders = np.argsort(rng.exponential(size=(100, 2000)) / weights)
    left = weights[orders][:, ::-1].cumsum(1)[:, ::-1]
    chance = (weights[orders] / left)[:, :150]
    found = anytime.evidence(losses[:, orders[:, :150]].swapaxes(0, 1), chance, 2000)
    assert (found[..., -1].max(0) >= np.log(2 / 0.05)).mean() <= 0.05


def test_every_step_alone_is_unbiased_whatever_draws_and_control_learn() -> None:
    losses = np.array([[0.9, 0.1, 0.5, 0.2], [0.1, 0.6, 0.4, 1.0]])
    proxy = np.array([[0.8, 0.3, 0.1, 0.2], [0.3, 0.5, 0.2, 0.7]])
    total = np.zeros((2, 3))
    for order in permutations(range(4), 3):
        # the next draw prefers images by the last label
        chance = []
        left = [0, 1, 2, 3]
        last = 0.5
        for image in order:
            weights = {k: 1.0 + 3.0 * last * (k % 2) + 0.5 * k for k in left}
            chance.append(weights[image] / sum(weights.values()))
            left.remove(image)
            last = losses[0, image]
        some = list(order)
        steps = anytime.controlled(
            anytime.single_steps(losses[:, some], np.array(chance), 4),
            anytime.single_steps(proxy[:, some], np.array(chance), 4),
            proxy.mean(1),
            anytime.step_weights(3, 4),
        )
        total += np.prod(chance) * steps
    assert total == pytest.approx(np.repeat(losses.mean(1)[:, None], 3, 1))


def test_what_all_labels_say_is_certain() -> None:
    losses = np.array([[0.0, 1, 0, 0], [1.0, 0, 0, 1], [1.0, 0, 0, 0]])
    found = anytime.evidence(losses, even(4, 4), 4)[..., -1]
    assert anytime.better_of_all(found, 3).astype(int).tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_turned_losses_turn_what_is_said() -> None:
    rng = np.random.default_rng(1)
    losses = rng.random((3, 90))
    proxy = rng.random((3, 90))
    chance = even(90, 300) * rng.uniform(0.5, 1.5, 90)
    said = anytime.evidence(losses, chance, 300, proxy, np.full(3, 0.5))
    turned = anytime.evidence(1 - losses, chance, 300, 1 - proxy, np.full(3, 0.5))
    assert turned == pytest.approx(said[::-1])


def test_evidence_so_far_knows_no_later_label() -> None:
    rng = np.random.default_rng(2)
    losses = rng.random((3, 120))
    proxy = losses + rng.normal(0, 0.1, (3, 120))
    chance = even(120, 300)
    whole = anytime.evidence(losses, chance, 300, proxy, np.full(3, 0.5))
    other = losses.copy()
    other[:, 80:] = rng.random((3, 40))
    changed = anytime.evidence(other, chance, 300, proxy, np.full(3, 0.5))
    assert changed[..., :80] == pytest.approx(whole[..., :80])
    assert not np.allclose(changed[..., 80:], whole[..., 80:])


def test_bets_bound_means_at_any_look() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(60):
        pool = (rng.random(80) < 0.2).astype(float)
        values = rng.permutation(pool)[None, :40]
        steps = anytime.single_steps(values, even(40, 80), 80)
        low, high = anytime.bet_bounds(steps, values.cumsum(1), 80, np.zeros(1), np.array([0.1]))[0]
        missed += not low <= pool.mean() <= high
    assert missed <= 8


class TestTheRanking:
    def look(self, number: int, weights: np.ndarray, *, future: bool = False, worse: float = 0.3):
        rng = np.random.default_rng(4)
        size = len(weights)
        scores = (rng.random((3, size)) > np.array([[0.1], [0.1], [0.1 + worse]])).astype(float)
        order = np.argsort(rng.exponential(size=size) / weights)
        chance = weights[order] / weights[order][::-1].cumsum()[::-1]
        images = [str(k) for k in order[:number].tolist()]
        panel = Panel(MODELS, images, scores[:, order[:number]], np.ones(number, bool))
        expected = Expected([str(k) for k in range(size)], np.full((3, size), 0.2))
        steps = Steps(np.arange(number), chance[:number], size, frozenset(), ())
        return any_look(steps, panel, expected, future=future)

    def test_few_labels_of_even_draws_say_little_and_others_nothing(self) -> None:
        first = self.look(30, np.ones(500))
        assert first.best_set == list(first.order)
        assert all(low <= 0 <= high for low, high in (gap.interval for gap in first.gaps))
        assert self.look(30, np.linspace(1, 3, 500)).unusable.startswith("these draws need 50 labels")

    def test_many_labels_tell_and_say_how_many_more_the_rest_needs(self) -> None:
        found = self.look(200, np.ones(500))
        assert set(found.best_set) == {"a", "b"}
        assert [gap.settled for gap in found.gaps] == [False, True, True]
        labels = found.gaps[0].labels
        assert labels is not None
        assert 200 < labels[1] <= labels[0] <= labels[2] <= 500

    def test_images_to_come_are_known_less_well(self) -> None:
        for number in (30, 200):
            pool = self.look(number, np.ones(500)).gaps[0].interval
            later = self.look(number, np.ones(500), future=True).gaps[0].interval
            assert later[1] - later[0] > pool[1] - pool[0]

    def test_a_whole_pool_leaves_nothing_open_but_images_to_come(self) -> None:
        found = self.look(500, np.ones(500))
        assert all(gap.settled for gap in found.gaps)
        assert not all(gap.settled for gap in self.look(500, np.ones(500), future=True).gaps)
