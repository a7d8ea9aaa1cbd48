"""Pictures of frames with anomalous objects: what is flagged, missed, wrong and void looks so, and small
objects do not get lost.
"""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from faultscape.metrics.scores.histogram import SIZE, VALUES, places_of
from faultscape.metrics.scores.rank_slopes import average_precision_of, shares_above
from faultscape.nouns import Classes
from faultscape.reporting import anomaly_frames
from faultscape.reporting.anomaly_frames import (
    Frame,
    FrameCard,
    draw_frame,
    fit_cards,
    prediction_picture,
    score_picture,
)
from faultscape.reporting.pictures import Room

ONE = Classes(("sky", "road"), (0, 1), ((0, 0, 255), (90, 90, 90)))
CARD = FrameCard("set", "m", "msp", "a", "worst", 0.1, 0.02)


def pixels(uri: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))) as image:
        return np.asarray(image.convert("RGB"))


def two_objects() -> Frame:
    """Objects of 100 pixels each, of which the left one has low scores but in 49 of its pixels, the right one
    high ones in 50.
    """
    score, anomaly = np.zeros((40, 60), np.float16), np.zeros((40, 60), np.uint8)
    anomaly[10:20, 5:15] = anomaly[10:20, 40:50] = 1
    anomaly[30:, :] = 255
    for left, flagged in ((5, 49), (40, 50)):
        block = np.zeros(100, np.float16)
        block[:flagged] = 2.0
        score[10:20, left : left + 10] = block.reshape(10, 10)
    known = np.bincount(places_of(np.repeat(np.array([0, 1, 2], np.float16), [90, 6, 4])), minlength=SIZE)
    return Frame(anomaly, places_of(score), shares_above(known), np.full((40, 60, 3), 99, np.uint8))


def test_an_object_is_missed_where_less_than_half_of_it_is_found() -> None:
    card = draw_frame(CARD, two_objects())
    assert (card.objects, card.missed) == (2, 1)
    assert [(ring.x, ring.y) for ring in card.rings] == [(10.0, 15.0)]
    assert "49 % of its 100 pixels" in card.rings[0].says
    assert [picture.caption for picture in card.pictures] == ["image, objects outlined", "labels", "score"]
    assert [picture.ringed for picture in card.pictures] == [True, False, True]


def test_pictures_show_labels_outlines_and_flagged_pixels() -> None:
    card = draw_frame(CARD, two_objects())
    photo, labels, score = (pixels(picture.uri) for picture in card.pictures)
    assert labels[15, 10].tolist() == [230, 120, 40]
    assert labels[35, 10].tolist() == [0, 0, 0]
    assert labels[0, 0].tolist() == [96, 125, 160]
    assert score[10, 6, 2] - score[10, 6, 0] > 60  # blue: flagged
    assert score[18, 12].max() - score[18, 12].min() < 10  # grey: not
    assert score[9, 10].tolist() == score[15, 4].tolist() == [255, 128, 20]
    assert photo[9, 10, 0] > 180 > photo[0, 0, 0]


def test_a_score_is_grey_above_5_per_cent_of_known_pixels_and_blue_from_there() -> None:
    row = score_picture(np.array([[1.0, 0.2, 0.0501, 0.05, 0.01, 0.0001, 0.0, np.nan]]), (8, 1))[0].astype(
        int
    )
    greys = row[:, 2] - row[:, 0] < 30
    assert greys.tolist() == [True, True, True, False, False, False, False, True]
    brightness = row.sum(1)
    assert (np.diff(brightness[:7]) <= 0).all()
    assert brightness[7] == brightness[0]


def test_wrong_known_pixels_are_black_void_ones_green_and_anomalous_ones_what_was_predicted() -> None:
    prediction = np.array([[0, 0, 1, 0, 1]])
    truth = np.array([[0, 1, 1, 2, 1]])
    anomaly = np.array([[0, 0, 1, 0, 255]])
    drawn = prediction_picture(prediction, truth, anomaly, ONE, (5, 1))[0].tolist()
    assert drawn == [[0, 0, 255], [0, 0, 0], [90, 90, 90], [120, 235, 70], [120, 235, 70]]
    bare = prediction_picture(prediction, None, anomaly, ONE, (5, 1))[0].tolist()
    assert bare == [[0, 0, 255], [0, 0, 255], [90, 90, 90], [0, 0, 255], [120, 235, 70]]


def test_an_object_of_one_pixel_is_outlined_in_a_small_picture() -> None:
    anomaly = np.zeros((500, 1000), np.uint8)
    anomaly[251, 503] = 1
    card = draw_frame(CARD, Frame(anomaly, np.full((500, 1000), 40000), np.linspace(1, 0, SIZE)))
    assert (card.width, card.height) == (360, 180)
    score = pixels(card.pictures[-1].uri)
    assert ((score == [255, 128, 20]).all(-1)).sum() == 4
    assert card.rings[0].radius == 8.0


def test_frames_are_chosen_from_both_ends_and_ties_follow_their_ranks() -> None:
    values = {"a": 0.5, "b": 0.1, "c": 0.5 + 1e-15, "d": 0.9, "e": float("nan")}
    ranks = {"a": 1, "b": 0, "c": 0, "d": 3, "e": 4}
    chosen = anomaly_frames.choose_frames(values, ranks, 2)
    assert chosen == [("worst", 0, "b"), ("worst", 1, "c"), ("best", 0, "d"), ("best", 1, "a")]
    assert anomaly_frames.choose_frames(values, ranks, 0) == []
    assert anomaly_frames.choose_frames({"a": 0.1}, {"a": 0}, 3) == [("worst", 0, "a")]


def test_what_does_not_fit_is_counted() -> None:
    card = draw_frame(CARD, two_objects())
    kept, left_out = fit_cards([card, card, card], Room(2 * card.size + 1))
    assert (len(kept), left_out) == (2, 1)


def test_places_are_the_order_of_scores_and_shares_their_false_positive_rates() -> None:
    score = np.array([-3.0, -0.0, 0.0, 1e-7, 65504.0, -65504.0], np.float16)
    places = places_of(score)
    assert VALUES[places].tolist() == [-3.0, 0.0, 0.0, float(np.float16(1e-7)), 65504.0, -65504.0]
    assert places[1] == places[2]
    known, anomalous = np.bincount(places, minlength=SIZE), np.bincount(places[[0, 4]], minlength=SIZE)
    assert shares_above(known)[places].round(3).tolist() == [0.833, 0.667, 0.667, 0.333, 0.167, 1.0]
    assert 0 < average_precision_of(known, anomalous) < 1
