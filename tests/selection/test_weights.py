"""The weights of every selector that draws by chance: one function for `select`, `plan`, `rank` and the
benchmarks.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import SelectionError
from faultscape.selection import information, proposals
from faultscape.selection import selector_weights as room
from faultscape.selection.selector_weights import fitted_sharpness
from faultscape.selection.weights import CHANCE, INFORMED, drawing_weights
from refusals import refused

LABELS = np.random.default_rng(0).integers(0, 3, (4, 40))
LABELS[:, 5:9] = 1  # all agree
COMPLETE = np.arange(40) % 7 != 3
FIRST, SECOND = np.triu_indices(4, 1)


def facts() -> dict[str, np.ndarray]:
    """What `select` knows of classifiers; of images that are not complete it is nonsense, which must not be
    read.
    """
    discrepancy = (LABELS[FIRST] != LABELS[SECOND]).astype(float)
    expected = proposals.expected_of_labels(LABELS)
    discrepancy[:, ~COMPLETE] = 7.0
    return {
        "complete": COMPLETE,
        "dispute": np.where(COMPLETE, (LABELS[0] != LABELS).any(0), 0.0),
        "expected": expected,
        "discrepancy": discrepancy,
        "labels": LABELS,
    }


@pytest.mark.parametrize("selector", CHANCE)
def test_weights_are_those_of_the_proposals_on_complete_images_and_zero_elsewhere(selector: str) -> None:
    given, differ = facts(), COMPLETE & (LABELS[0] != LABELS).any(0)
    apart, sharpness = given["discrepancy"][:, COMPLETE], 1.5
    value = proposals.floored(
        information.information_of_labels(LABELS[:, differ], np.full(4, 0.25), sharpness)
    )
    whole = {name: np.zeros(40) for name in ("mad", "information", "mad+information")}
    whole["mad"][COMPLETE], whole["information"][differ] = proposals.mad(apart, 0.5), value
    whole["mad+information"][COMPLETE] = information.mix(proposals.mad(apart), whole["information"][COMPLETE])
    whole |= {"random": COMPLETE.astype(float), "disputed": differ.astype(float)}
    whole |= {"expected-loss": proposals.expected_loss(given["expected"], where=differ)}
    whole |= {"vma": proposals.vma(given["expected"], where=differ)}
    found = drawing_weights(selector, given, temperature=0.5, sharpness=sharpness)
    np.testing.assert_allclose(found, whole[selector], rtol=1e-12)


@pytest.mark.parametrize("selector", INFORMED)
def test_what_answers_tell_may_be_given_instead_of_worked_out(
    selector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    belief, differ = np.array([0.7, 0.1, 0.1, 0.1]), facts()["dispute"] > 0
    value = np.zeros(40)
    value[differ] = information.information_of_labels(LABELS[:, differ], belief, 1.5)
    given = drawing_weights(selector, facts() | {"value": value})
    monkeypatch.setattr(room, "_BLOCK", 6)  # of images that are looked at together
    worked_out = drawing_weights(selector, facts() | {"belief": belief}, sharpness=1.5)
    assert (given == worked_out).all()
    assert (given != drawing_weights(selector, facts(), sharpness=1.5)).any()


def test_sharpness_is_fitted_where_it_is_not_given() -> None:
    fitted = drawing_weights("information", facts(), sharpness=fitted_sharpness(facts()))
    assert (drawing_weights("information", facts()) == fitted).all()


def test_labels_so_far_tell_which_disputes_count() -> None:
    trust = np.array([1.0, 1.0, 1.0, 0.001])
    found = drawing_weights("disputed", facts() | {"trust": trust})
    np.testing.assert_array_equal(
        found[COMPLETE], proposals.disputed_among_trusted(LABELS[:, COMPLETE], trust)
    )
    assert set(found[~COMPLETE]) == {0.0}


def test_nothing_to_draw_is_an_error() -> None:
    with refused(SelectionError, "no image that every model has an answer for"):
        drawing_weights("random", {"complete": np.zeros(3, bool)})
    same = {"complete": np.ones(3, bool), "dispute": np.zeros(3), "labels": np.zeros((3, 3), int)}
    for selector in ("disputed", "information"):
        with refused(SelectionError, "no two models differ on any image"):
            drawing_weights(selector, same)
