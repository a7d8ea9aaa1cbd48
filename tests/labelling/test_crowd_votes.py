"""Majority vote and Dawid and Skene's model: the published example, a plain twin, another library's numbers,
drawn votes and real ones.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.people.estimated_accuracy import DawidSkene, dawid_skene, majority_vote, one_coin
from refusals import refused

# Dawid and Skene 1979, table 1: 45 patients, three ratings of the first anaesthetist and one of each of four
# others
RATINGS = (
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111"
    " 2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111"
    " 2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432"
    " 1111111 1111111 1212111 2322222 1211111 2222222"
)


def anaesthetists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    label = np.array([[int(rating) - 1 for rating in patient] for patient in RATINGS.split()])
    return np.repeat(np.arange(45), 7), np.tile([0, 0, 0, 1, 2, 3, 4], 45), label.ravel()


def small_table() -> tuple[list[int], list[int], list[int]]:
    """108 votes of six people on thirty items of three classes, made by arithmetic; the last people err
    most.
    """
    rows = [(i, a) for i in range(30) for a in range(6) if (i * 7 + a * 3) % 5 < 3]
    wrong = [(i * i + 3 * a * a + a * i) % 11 < 1 + a for i, a in rows]
    label = [(i % 3 + 1 + (i + a) % 2) % 3 if err else i % 3 for (i, a), err in zip(rows, wrong, strict=True)]
    return [i for i, _ in rows], [a for _, a in rows], label


def drawn(
    seed: int, items: int, people: int, each: int, classes: int, right: tuple[float, float] = (0.6, 0.95)
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Votes of people with known confusions: item, annotator, label, the truth (I,), the confusions (A, C,
    C).
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    wrong = rng.dirichlet(np.ones(classes), (people, classes)) * (1 - np.eye(classes))
    accuracy = rng.uniform(*right, (people, classes, 1))
    confusion = np.where(
        np.eye(classes, dtype=bool), accuracy, wrong / wrong.sum(2, keepdims=True) * (1 - accuracy)
    )
    who = rng.random((items, people)).argsort(1)[:, :each].ravel()
    item = np.repeat(np.arange(items), each)
    draw = rng.random((len(item), 1))
    label = (draw > confusion[who, truth[item]].cumsum(1)[:, :-1]).sum(1)
    return item, who, label, truth, confusion


def by_hand(
    item: np.ndarray, who: np.ndarray, label: np.ndarray, classes: int, iterations: int, pseudo: float
) -> tuple[np.ndarray, list[float]]:
    """The same, a vote at a time."""
    items, people = item.max() + 1, who.max() + 1
    posterior, likelihood = np.zeros((items, classes)), []
    for i, y in zip(item, label, strict=True):
        posterior[i, y] += 1
    posterior /= posterior.sum(1, keepdims=True)
    pooled = np.full((classes, classes), 1 / classes)
    for i, y in zip(item, label, strict=True):
        pooled[:, y] += posterior[i]
    pooled /= pooled.sum(1, keepdims=True)
    for _ in range(iterations):
        prior = (posterior.sum(0) + pseudo / classes) / (items + pseudo)
        confusion = np.tile(pseudo * pooled, (people, 1, 1))
        for i, a, y in zip(item, who, label, strict=True):
            confusion[a, :, y] += posterior[i]
        confusion /= np.maximum(confusion.sum(2, keepdims=True), 1e-300)
        joint = np.tile(prior, (items, 1))
        for i, a, y in zip(item, who, label, strict=True):
            joint[i] *= confusion[a, :, y]
        votes = np.log(joint.sum(1)).sum()
        assumed = (pooled * np.log(confusion)).sum() + np.log(prior).sum() / classes if pseudo else 0.0
        likelihood.append(float(votes + pseudo * assumed))
        posterior = joint / joint.sum(1, keepdims=True)
    return posterior, likelihood


def test_the_example_of_1979_has_the_published_shares_of_classes_and_rates_of_the_first_observer() -> None:
    said = dawid_skene(*anaesthetists(), 4, pseudo_count=0, tolerance=1e-13)
    assert said.converged
    assert said.confusion is not None
    assert said.prior.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    first = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    assert np.abs(said.confusion[0] - first).max() < 0.0051
    # 4 3 3 4 3 4 3: the majority says 3, and observers who say 4 of a 3 are few
    assert said.posterior[35].round(3).tolist() == [0, 0, 0, 1]


def test_the_majority_stays_undecided_at_a_tie_and_where_nobody_named_a_class() -> None:
    item, _, label = anaesthetists()
    assert majority_vote(item, label, 4)[[0, 1, 10, 35]].tolist() == [0, 2, 3, 2]
    assert majority_vote([0, 0, 1, 2, 2, 2], [0, 1, 2, 1, 1, 2], 2, items=5).tolist() == [-1, -1, 1, -1, -1]


def test_posteriors_are_those_of_crowd_kit_after_as_many_iterations() -> None:
    """Made with crowd-kit 1.4.2, n_iter=5, of the table above."""
    full = dawid_skene(*small_table(), 3, pseudo_count=0, iterations=5, tolerance=0)
    assert full.posterior[[4, 13]].round(6).tolist() == [[0.974823, 0.0, 0.025177], [0.0, 0.999998, 1e-06]]
    coin = one_coin(*small_table(), 3, pseudo_count=0, iterations=5, tolerance=0)
    assert coin.posterior[[4, 13]].round(6).tolist() == [
        [0.880602, 0.031772, 0.087626],
        [0.000172, 0.999733, 9.5e-05],
    ]


@given(
    seed=st.integers(0, 10_000),
    items=st.integers(1, 12),
    people=st.integers(1, 5),
    classes=st.integers(2, 4),
    iterations=st.integers(1, 5),
    pseudo=st.sampled_from([0.0, 0.5, 5.0]),
)
@settings(max_examples=50, deadline=None)
def test_it_is_the_model_computed_a_vote_at_a_time(
    seed: int, items: int, people: int, classes: int, iterations: int, pseudo: float
) -> None:
    rng = np.random.default_rng(seed)
    item = np.concatenate([np.arange(items), rng.integers(0, items, 3 * items)])
    who, label = rng.integers(0, people, len(item)), rng.integers(0, classes, len(item))
    posterior, likelihood = by_hand(item, who, label, classes, iterations, pseudo)
    said = dawid_skene(item, who, label, classes, pseudo_count=pseudo, iterations=iterations, tolerance=0)
    assert np.abs(said.posterior - posterior).max() < 1e-9
    assert said.log_likelihood == pytest.approx(likelihood[: said.iterations], abs=1e-9)


@given(
    seed=st.integers(0, 10_000),
    pseudo=st.sampled_from([0.0, 0.3, 5.0]),
    classes=st.integers(2, 5),
    unsure=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_the_log_likelihood_never_decreases_and_nothing_depends_on_the_order_of_votes_or_of_people(
    seed: int, pseudo: float, classes: int, *, unsure: bool
) -> None:
    rng = np.random.default_rng(seed)
    item, who = rng.integers(0, 15, 60), rng.integers(0, 6, 60)
    label = rng.integers(0, classes + unsure, 60)
    shuffle, names = rng.permutation(60), rng.permutation(6)

    def both(item: np.ndarray, who: np.ndarray, label: np.ndarray) -> list[DawidSkene]:
        sizes = {"items": 16, "annotators": 7, "pseudo_count": pseudo, "iterations": 20}
        return [
            dawid_skene(item, who, label, classes, answers=classes + 1, **sizes),
            one_coin(item, who, label, classes, **sizes),
        ]

    moved = both(item[shuffle], names[who][shuffle], label[shuffle])
    for one, other in zip(both(item, who, label), moved, strict=True):
        assert (np.diff(one.log_likelihood) >= -1e-9 * np.abs(one.log_likelihood[:-1])).all()
        assert one.posterior.sum(1) == pytest.approx(1)
        assert one.posterior[15] == pytest.approx(one.prior)  # nobody voted
        n = min(one.iterations, other.iterations)
        assert one.log_likelihood[:n] == pytest.approx(other.log_likelihood[:n])
        assert one.posterior == pytest.approx(other.posterior, abs=1e-3)
        known = one.accuracy()
        assert np.isnan(known[6]) == (pseudo == 0)
        assert ((known[:6] > -1e-12) & (known[:6] < 1 + 1e-12) | np.isnan(known[:6])).all()


def test_known_confusions_and_skills_are_recovered_from_many_votes() -> None:
    item, who, label, truth, confusion = drawn(1, 4000, 8, 5, 3)
    said = dawid_skene(item, who, label, 3)
    assert said.confusion is not None
    assert np.abs(said.confusion - confusion).max() < 0.06
    assert (said.posterior.argmax(1) == truth).mean() > (majority_vote(item, label, 3) == truth).mean() + 0.02
    rng = np.random.default_rng(2)
    skill = rng.uniform(0.5, 0.95, 8)
    right = rng.random(len(item)) < skill[who]
    label = np.where(right, truth[item], (truth[item] + rng.integers(1, 3, len(item))) % 3)
    assert np.abs(np.asarray(one_coin(item, who, label, 3).skill) - skill).max() < 0.04


def test_the_posterior_is_calibrated_where_people_voted_often_and_pseudo_counts_make_it_more_so_where_they_did_not() -> (
    None
):
    item, who, label, truth, _ = drawn(3, 6000, 12, 3, 3)
    posterior = dawid_skene(item, who, label, 3).posterior
    sure = posterior.max(1)
    right = posterior.argmax(1) == truth
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.98), (0.98, 1.01)):
        inside = (sure >= low) & (sure < high)
        assert inside.sum() > 150
        assert abs(right[inside].mean() - sure[inside].mean()) < 0.05
    losses = {0.0: [], 5.0: []}
    for seed in range(8):
        item, who, label, truth, _ = drawn(seed, 200, 30, 3, 4)
        for pseudo, found in losses.items():
            said = dawid_skene(item, who, label, 4, pseudo_count=pseudo, items=200, annotators=30).posterior
            found.append(-np.log(np.maximum(said[np.arange(200), truth], 1e-6)).mean())
    assert np.mean(losses[5.0]) < 0.5 * np.mean(losses[0.0])


def test_items_that_nobody_voted_on_move_nothing() -> None:
    votes = drawn(4, 60, 5, 3, 3)[:3]
    one, more = dawid_skene(*votes, 3), dawid_skene(*votes, 3, items=500)
    assert one.log_likelihood == pytest.approx(more.log_likelihood)
    assert more.posterior[:60] == pytest.approx(one.posterior)
    assert more.posterior[60:] == pytest.approx(np.tile(one.prior, (440, 1)))


def test_an_answer_that_names_no_class_has_a_column_of_its_own() -> None:
    item, who, label, truth, _ = drawn(5, 1500, 6, 4, 2)
    rng = np.random.default_rng(6)
    # to be unsure is a sign of the second class
    unsure = rng.random(len(item)) < np.where(truth[item] == 1, 0.4, 0.05)
    said = dawid_skene(item, who, np.where(unsure, 2, label), 2, answers=3)
    assert said.confusion is not None
    assert said.confusion[:, :, 2].mean(0) == pytest.approx([0.05, 0.4], abs=0.06)
    left_out = dawid_skene(item[~unsure], who[~unsure], label[~unsure], 2, items=1500)
    assert (said.posterior.argmax(1) == truth).mean() > (left_out.posterior.argmax(1) == truth).mean() + 0.01


def test_reassessed_imagenet_is_decided_as_its_authors_decided_it(data: Path) -> None:
    """Their score is reproduced best where "maybe" is an answer of its own and the classes are two: 98.4 % of
    the decisions at .5.
    """
    votes = np.load(data / "classifiers" / "reassessed-imagenet" / "votes.npz", allow_pickle=False)
    score, items = votes["dawid_skene_score"].astype(float), len(votes["dawid_skene_score"])
    _, who = np.unique(votes["vote_rater"], return_inverse=True)
    item, answer = votes["vote_pair"], votes["vote_answer"]  # 0 no, 1 maybe, 2 yes

    def agreement(posterior: np.ndarray) -> tuple[float, float]:
        return float(np.corrcoef(posterior, score)[0, 1]), float(((posterior > 0.5) == (score > 0.5)).mean())

    own = agreement(
        dawid_skene(item, who, np.array([0, 2, 1])[answer], 2, answers=3, items=items).posterior[:, 1]
    )
    assert own == (pytest.approx(0.984, abs=0.002), pytest.approx(0.984, abs=0.002))
    others = {
        "no": agreement(dawid_skene(item, who, (answer == 2).astype(int), 2, items=items).posterior[:, 1]),
        "yes": agreement(dawid_skene(item, who, (answer > 0).astype(int), 2, items=items).posterior[:, 1]),
        "one coin": agreement(one_coin(item, who, (answer > 0).astype(int), 2, items=items).posterior[:, 1]),
    }
    assert all(found[1] < 0.97 for found in others.values()), others
    assert agreement((majority_vote(item, (answer > 0).astype(int), 2, items) == 1).astype(float))[1] < 0.97


def test_a_million_votes_take_seconds() -> None:
    rng = np.random.default_rng(0)
    truth, item, who = (
        rng.integers(0, 6, 200_000),
        np.repeat(np.arange(200_000), 5),
        rng.integers(0, 300, 1_000_000),
    )
    label = np.where(rng.random(len(item)) < 0.8, truth[item], rng.integers(0, 6, len(item)))
    start = time.process_time()
    said = dawid_skene(item, who, label, 6, iterations=10)
    assert time.process_time() - start < 6
    assert (said.posterior.argmax(1) == truth).mean() > 0.95


def test_what_cannot_be_votes_is_refused_in_one_line() -> None:
    with refused(LabellingError, r"label: row 1 holds 3; expected whole numbers from 0 to 2"):
        dawid_skene([0, 0], [0, 1], [0, 3], 3)
    with refused(LabellingError, "item: expected whole numbers; got float64"):
        one_coin([0.5], [0], [0], 2)
    with refused(
        LabellingError, "columns of votes must have the same length; got item 2, annotator 1, label 2"
    ):
        dawid_skene([0, 1], [0], [0, 1], 2)
    with refused(LabellingError, "item: has number 5, but there are only 3"):
        dawid_skene([5], [0], [0], 2, items=3)
    with refused(OptionError, "expected two classes or more"):
        dawid_skene([0], [0], [0], 1)
    with refused(OptionError, "the pseudo-count must be 0 or more; got -1"):
        dawid_skene([0], [0], [0], 2, pseudo_count=-1)


def test_no_votes_at_all_leave_every_class_as_likely() -> None:
    said = dawid_skene([], [], [], 3, items=2, annotators=1)
    assert said.posterior == pytest.approx(1 / 3)
    assert majority_vote([], [], 3, items=2).tolist() == [-1, -1]
