"""Outcomes, marks, pictures and paint from arrays alone."""

from __future__ import annotations

import base64
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from faultscape.errors import LabelMapError, OptionError
from faultscape.maps import paint
from faultscape.nouns import Classes, Slot
from faultscape.reporting import charts, pictures
from faultscape.reporting.competition import outcomes
from faultscape.reporting.view import axis
from refusals import refused

CLASSES = Classes(("sky", "road"), (0, 7), ((10, 20, 30), (200, 100, 0)))
MODELS = ("a", "b", "c")


def slots(*rows: tuple[str, str, str]) -> list[Slot]:
    return [Slot("mad", 1, k, d, a, "sky", 1, image, 0.1, 1.0, 9) for k, (d, a, image) in enumerate(rows)]


def test_the_three_cases_by_hand() -> None:
    accuracy = np.array([[0.9, 0.9, 0.2, np.nan], [0.85, 0.5, 0.25, 0.3], [0.1, 0.95, 0.1, 0.3]])
    chosen = slots(
        ("a", "b", "w"),
        ("a", "b", "x"),
        ("b", "a", "x"),
        ("a", "b", "y"),
        ("a", "b", "z"),
        ("a", "b", "gone"),
    )
    values = outcomes.slot_values(MODELS, chosen, list("wxyz"), accuracy)
    a, b, c = outcomes.cases(MODELS, chosen, values, 0.6, 0.1)
    assert (a.both_good, a.defender, a.attacker, a.both_poor, a.total) == (1, 1, 0, 1, 3)
    assert (b.attacker, b.total, c.total) == (1, 1, 0)


def test_a_difference_of_exactly_better_tells_two_models_apart() -> None:
    assert outcomes.case(0.7, 0.6, 0.6, 0.1) == "II"
    assert outcomes.case(0.7, 0.61, 0.6, 0.1) == "I"
    assert outcomes.case(0.62, 0.59, 0.6, 0.1) == "III"


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30),
    st.floats(0.01, 1),
    st.floats(0.01, 0.99),
)
def test_every_labelled_duel_has_one_case(
    values: list[tuple[float, float]], better: float, fail: float
) -> None:
    chosen = slots(*[("a", "b", str(k)) for k in range(len(values))])
    found = outcomes.cases(MODELS, chosen, np.array(values).reshape(-1, 2), fail, better)
    assert sum(c.total for c in found) == len(values)


def test_transfer_counts_models_outside_the_duel() -> None:
    accuracy = np.array([[0.1, 0.9], [0.2, 0.9], [0.3, 0.8]])
    found = outcomes.transfer(
        MODELS, slots(("a", "b", "x"), ("b", "c", "x"), ("a", "c", "y")), ["x", "y"], accuracy, 0.6
    )
    assert found == outcomes.Transfer(others=(1, 2), images=2, all_fail=1, none_fails=1)


def test_boxes_split_the_images_and_unknown_values_are_left_out() -> None:
    accuracy = np.array([[0.1, 0.5, np.nan], [0.2, 0.4, 0.6], [0.0, 0.0, 1.0]])
    boxes = outcomes.chosen_boxes(MODELS, slots(("a", "b", "x"), ("b", "a", "z")), ["x", "y", "z"], accuracy)
    own, other = boxes[1]
    assert (own.n, own.low, own.median, own.high, other.n) == (2, 0.2, 0.4, 0.6, 1)
    assert boxes[0][0].n == 1
    assert boxes[2] == (None, outcomes.Box(3, 0.0, 0.0, 0.0, 0.5, 1.0))


def test_a_value_on_an_edge_belongs_above() -> None:
    counts = outcomes.band_counts(np.array([[0.6, 0.8, 0.59, np.nan]]), (0.6, 0.8))
    assert counts.tolist() == [[1, 1, 1]]


def test_other_bands_are_proposed_only_where_these_tell_nothing_apart() -> None:
    values = np.linspace(0.2, 0.5, 31)[None]
    assert outcomes.telling_bands(values, outcomes.BANDS) == (0.3, 0.4)
    assert outcomes.telling_bands(values, (0.3, 0.4)) == ()
    assert outcomes.telling_bands(values + 0.45, (0.1, 0.2)) == (0.75, 0.85)
    assert outcomes.telling_bands(np.full((2, 5), 0.3), outcomes.BANDS) == ()  # no edges tell equals apart
    assert outcomes.telling_bands(np.full((2, 5), np.nan), outcomes.BANDS) == ()


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), max_size=8))
def test_an_axis_holds_its_values_between_few_ticks(values: list[float | None]) -> None:
    on = axis(values)
    assert 2 <= len(on.ticks) <= 8
    for value in values:
        if value is not None:
            assert on.low - 1e-9 * abs(on.low) - 1e-9 <= value <= on.high + 1e-9 * abs(on.high) + 1e-9


def test_titles_of_marks_are_escaped() -> None:
    assert "<script>" not in charts.bar(0.5, title="<script>")
    assert "&lt;script&gt;" in charts.stacked([1, 2], ["b0", "b4"], title="<script>")


def test_a_map_travels_in_the_colours_of_its_classes() -> None:
    label_map = np.repeat(np.repeat(np.array([[0, 1, 2, 65535]], np.uint16), 4, 0), 4, 1)
    uri = pictures.map_uri(label_map, CLASSES, (8, 2))
    back = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGB"))
    assert back.shape == (2, 8, 3)
    assert back[0, [0, 2, 4, 6]].tolist() == [[10, 20, 30], [200, 100, 0], list(paint.VOID), list(paint.VOID)]
    many = Classes(
        tuple(map(str, range(300))), tuple(range(300)), tuple((k % 256, k // 256, 9) for k in range(300))
    )
    uri = pictures.map_uri(np.full((4, 4), 299, np.uint16), many, (2, 2))
    assert np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))[0, 0].tolist() == [
        43,
        1,
        9,
    ]


def test_a_room_that_is_full_takes_no_more_and_counts() -> None:
    room = pictures.Room(10)
    assert (room.take("123456"), room.take("123456"), room.take("1234"), room.left_out) == (
        "123456",
        "",
        "1234",
        1,
    )


def test_an_overlay_is_the_photo_at_0_and_the_map_at_1() -> None:
    photo = np.full((2, 3, 3), 100, np.uint8)
    label_map = np.array([[0, 0, 1], [0, 0, 2]])
    assert (paint.overlay(photo, label_map, CLASSES, 0) == photo).all()
    whole = paint.overlay(photo, label_map, CLASSES, 1, outlines=False)
    assert whole[0].tolist() == paint.colour(label_map, CLASSES)[0].tolist()
    assert whole[1, 2].tolist() == [100, 100, 100]
    assert (paint.overlay(photo, label_map, CLASSES)[paint.borders(label_map)] == 255).all()
    with refused(LabelMapError, "the map is 3 x 2 pixels"):
        paint.overlay(photo[:1], label_map, CLASSES)
    with refused(OptionError, "alpha lies between"):
        paint.overlay(photo, label_map, CLASSES, 1.5)
