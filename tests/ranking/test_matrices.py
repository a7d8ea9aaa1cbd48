import numpy as np
import pytest
from mad_reference import matrices as reference

from faultscape.errors import OptionError
from faultscape.ranking.matrices import aggressiveness, resistance
from faultscape.ranking.outcomes import duel_outcomes
from refusals import refused


def plain(defender, attacker, group, image, accuracy, weights, groups):
    """Eq. 4 by loops."""
    j = len(accuracy)
    out = np.full((len(weights), 2, j, j), np.nan)
    for b, drawn in enumerate(weights):
        for d in range(j):
            for a in range(j):
                means = {0: [], 1: []}
                for y in range(groups):
                    cell = [
                        i
                        for i, key in zip(image, zip(defender, attacker, group, strict=True), strict=True)
                        if key == (d, a, y)
                    ]
                    cell = [
                        i
                        for i in cell
                        if i >= 0 and not np.isnan(accuracy[d, i] + accuracy[a, i]) and drawn[i] > 0
                    ]
                    if cell:
                        for role, model in ((0, d), (1, a)):
                            total = sum(drawn[i] for i in cell)
                            means[role].append(sum(drawn[i] * accuracy[model, i] for i in cell) / total)
                for role in (0, 1):
                    if means[role]:
                        out[b, role, d, a] = sum(means[role]) / len(means[role])
    return out


def made(seed=0, j=4, i=15, s=90, groups=5):
    rng = np.random.default_rng(seed)
    accuracy = rng.random((j, i))
    accuracy[rng.random((j, i)) < 0.1] = np.nan
    defender = rng.integers(0, j, s)
    attacker = (defender + rng.integers(1, j, s)) % j
    return (
        defender,
        attacker,
        rng.integers(0, groups, s),
        rng.integers(-1, i, s),
        accuracy,
        rng.integers(0, 3, (7, i)),
        groups,
    )


@pytest.mark.parametrize("seed", range(5))
def test_performance_is_the_double_loop(seed):
    *arrays, groups = made(seed)
    np.testing.assert_allclose(
        duel_outcomes(*arrays, groups=groups).performance, plain(*arrays, groups), rtol=1e-13
    )


def test_few_slots_leave_pairs_and_cells_empty_and_counted():
    *arrays, groups = made(3, s=9)
    found = duel_outcomes(*arrays, groups=groups)
    np.testing.assert_allclose(found.performance, plain(*arrays, groups), rtol=1e-13)
    defender, attacker, group, image, accuracy, _ = arrays
    cells = set(zip(defender, attacker, group, strict=True))
    dead = {
        cell
        for cell in cells
        if all(
            i < 0 or np.isnan(accuracy[cell[0], i] + accuracy[cell[1], i])
            for i, key in zip(image, zip(defender, attacker, group, strict=True), strict=True)
            if key == cell
        )
    }
    assert found.cells == 4 * 3 * groups
    assert found.empty_cells == found.cells - len(cells)
    assert found.unlabelled_cells == len(dead)


def test_nothing_at_all_is_all_nan():
    none = np.array([], int)
    found = duel_outcomes(none, none, none, none, np.ones((3, 2)))
    assert np.isnan(found.performance).all()
    assert duel_outcomes([0], [1], [0], [-1], np.ones((2, 0)), groups=1).unlabelled_slots == 1


def test_weights_of_one_are_the_point_and_chunks_do_not_show(monkeypatch):
    *arrays, _, groups = made(1)
    weights = np.random.default_rng(1).multinomial(15, np.full(15, 1 / 15), size=50).astype(float)
    one = duel_outcomes(*arrays, groups=groups).performance
    many = duel_outcomes(*arrays, np.concatenate([np.ones((1, 15)), weights]), groups=groups).performance
    np.testing.assert_array_equal(many[0], one[0])
    monkeypatch.setattr("faultscape.ranking.outcomes._CHUNK", 1)
    np.testing.assert_array_equal(duel_outcomes(*arrays, weights, groups=groups).performance, many[1:])


def test_the_order_of_slots_does_not_show():
    *arrays, groups = made(2)
    order = np.random.default_rng(2).permutation(90)
    shuffled = [column[order] for column in arrays[:4]]
    np.testing.assert_array_equal(
        duel_outcomes(*shuffled, *arrays[4:], groups=groups).performance,
        duel_outcomes(*arrays, groups=groups).performance,
    )


def test_matrices_by_hand():
    # S_01 holds images of two classes: means of class means (.6 + .2) / 2 and (.3 + .5) / 2
    slots = [(0, 1, 0, 0), (0, 1, 0, 1), (0, 1, 1, 2), (1, 0, 0, 3)]
    accuracy = np.array([[0.5, 0.7, 0.2, 0.1], [0.2, 0.4, 0.5, 0.3]])
    p = duel_outcomes(*np.array(slots).T, accuracy).performance
    assert p[0, :, 0, 1] == pytest.approx([0.4, 0.4])
    assert p[0, :, 1, 0] == pytest.approx([0.3, 0.1])
    # a_01 = P(f_0; S_10) / P(f_1; S_10)
    assert aggressiveness(p, 0)[0] == pytest.approx(np.array([[1, 1 / 3], [1, 1]]))
    assert resistance(p, 0)[0] == pytest.approx(np.array([[1, 1], [3, 1]]))
    assert aggressiveness(p)[0, 0, 1] == pytest.approx(0.11 / 0.31)
    assert resistance(p)[0, 1, 0] == pytest.approx(0.31 / 0.11)


def test_matrices_are_those_of_the_reference():
    defender, attacker, group, image, accuracy, _, groups = made(4, s=200)
    # the reference drops an image for one model, we for both
    accuracy = np.where(np.isnan(accuracy).any(0), np.nan, accuracy)
    slots = {(d, a): {} for d in range(4) for a in range(4) if d != a}
    for d, a, y, i in zip(defender, attacker, group, image, strict=True):
        if i >= 0:
            slots[d, a].setdefault(y, []).append(i)
    ours = duel_outcomes(defender, attacker, group, image, accuracy, groups=groups).performance[0]
    for epsilon in (0.01, 0, 1):
        theirs = reference(range(4), slots, {m: dict(enumerate(accuracy[m])) for m in range(4)}, epsilon)
        np.testing.assert_allclose(aggressiveness(ours, epsilon), theirs[0], rtol=1e-13)
        np.testing.assert_allclose(resistance(ours, epsilon), theirs[1], rtol=1e-13)


def test_no_epsilon_and_a_zero_is_undefined_never_infinite():
    p = np.zeros((2, 2, 2))
    p[1, 0, 1] = 0.5
    assert np.isnan(aggressiveness(p, 0)[1, 0])
    assert resistance(p, 0)[0, 1] == 0
    assert np.isnan(resistance(p, 0)[1, 0])
    assert aggressiveness(p)[1, 0] == pytest.approx(51)
    for epsilon in (-0.1, np.nan, np.inf):
        with refused(OptionError, "epsilon"):
            aggressiveness(p, epsilon)
