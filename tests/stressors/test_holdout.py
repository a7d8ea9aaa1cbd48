"""Held-out classes: withheld pixels reach neither a loss nor out-of-distribution data, and ids are
contiguous.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.classes.class_lists import resolve, table
from faultscape.errors import ClassesError, LabelMapError, OptionError
from faultscape.nouns import Classes
from faultscape.stressors.holdout import (
    hold_out,
    loss_pixels,
    ood_pixels,
    open_labels,
    preset_classes,
    training_labels,
)


@st.composite
def cases(draw: st.DrawFn):
    number = draw(st.integers(2, 300))
    classes = resolve(number)
    names = draw(
        st.lists(st.sampled_from(classes.names), min_size=1, max_size=min(number - 1, 5), unique=True)
    )
    places = draw(st.lists(st.integers(0, number), min_size=1, max_size=60))
    return classes, names, np.array([places])


@given(cases())
def test_withheld_pixels_never_reach_a_loss_or_out_of_distribution_data_and_are_the_anomaly(case) -> None:
    classes, names, labels = case
    holdout = hold_out(classes, names)
    training = training_labels(labels, holdout)
    withheld = np.isin(labels, [classes.names.index(name) for name in names])
    void = labels == len(classes)
    assert not (loss_pixels(training) & (withheld | void)).any()
    assert (loss_pixels(training) == ~(withheld | void)).all()
    assert (ood_pixels(training) == void).all()
    assert (open_labels(labels, holdout) == np.where(void, 255, withheld)).all()


@pytest.mark.slow
@given(cases())
def test_ids_of_kept_classes_are_contiguous_from_zero_and_mean_what_they_meant(case) -> None:
    """The authors' code counts from 1, so that label 0 never occurs and the last class is out of range
    (docs/explanation/errata.md).
    """
    classes, names, labels = case
    holdout = hold_out(classes, names)
    training = training_labels(labels, holdout)
    for place, kept in zip(labels.ravel(), training.ravel(), strict=True):
        if place < len(classes) and classes.names[place] not in names:
            assert holdout.kept.names[kept] == classes.names[place]
    assert len(holdout.kept) == len(classes) - len(names)
    every = training_labels(np.arange(len(classes))[None], holdout)
    assert sorted(every[loss_pixels(every)].tolist()) == list(range(len(holdout.kept)))


@given(cases())
def test_maps_read_by_the_kept_class_list_have_withheld_pixels_as_void(case) -> None:
    """So that the mean IoU is over the kept classes, whatever the maps hold."""
    classes, names, labels = case
    holdout = hold_out(classes, names)
    ids = np.array(classes.ids)[labels[labels < len(classes)]]
    places = table(holdout.kept)[ids]
    withheld = np.isin(ids, [classes.ids[classes.names.index(name)] for name in names])
    assert (places[withheld] == len(holdout.kept)).all()
    assert (places[~withheld] < len(holdout.kept)).all()


def test_presets_are_those_of_the_paper_and_of_its_code() -> None:
    ade = resolve("ade20k")
    assert preset_classes("s3-paper", ade) == ("chair", "sofa")
    assert preset_classes("s3-code", ade) == ("chair", "armchair", "swivel chair")
    assert len(hold_out(ade, preset_classes("s3-code", ade)).kept) == 147
    # ADE20K has one class for sofa and couch
    assert len(hold_out(ade, preset_classes("s3-paper", ade)).kept) == 148
    for names, out in (
        # none of the paper's three may be learned
        (("chair", "couch", "road", "sofa"), ("chair", "couch", "sofa")),
        # as ADE20K's own table has it
        (("armchair", "sofa, couch, lounge", "chair"), ("chair", "sofa, couch, lounge")),
    ):
        assert preset_classes("s3-paper", Classes(names, tuple(range(len(names))), ())) == out


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (
            np.array([[0, 255]], np.uint8),
            "labels are 0 to 255; expected places in the class list, 0 to 3, and 4 for void",
        ),
        (np.array([[0, -1]]), "labels are -1 to 0; expected places in the class list"),
        (
            np.array([[0.0, 1.0]]),
            "labels are float64; expected whole numbers, 0 to 3 for classes and 4 for void",
        ),
    ],
)
def test_labels_that_are_no_places_are_refused_and_never_read_from_the_end_of_a_table(
    labels: np.ndarray, says: str
) -> None:
    for read in (training_labels, open_labels):
        with pytest.raises(LabelMapError, match=f"^{says}"):
            read(labels, hold_out(resolve(4), ["class-1"]))


def test_wrong_class_lists_are_refused_in_one_line() -> None:
    classes = resolve("camvid")
    with pytest.raises(
        ClassesError, match=r"'cra' cannot be held out: it is not a class\. Did you mean 'car'"
    ):
        hold_out(classes, ["cra"])
    with pytest.raises(OptionError, match="got 11 of 11"):
        hold_out(classes, classes.names)
    with pytest.raises(ClassesError, match="holds out 'chair', which is not a class of the study"):
        preset_classes("s3-paper", classes)
    with pytest.raises(OptionError, match="use s3-paper or s3-code"):
        preset_classes("s3", classes)
