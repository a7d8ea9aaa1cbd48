"""The law of arrays in memory: every public function of arrays, given the same table of odd inputs in place of
each of its arrays, returns a value or says in one line of ours what is wrong; never an error of NumPy or numba.
What means the same (a list, another integer type, another order in memory) gives the same value or is refused.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.classes.class_lists import resolve
from faultscape.errors import FaultscapeError, LabelMapError
from faultscape.maps.boxes import Box
from faultscape.metrics.functions import of_maps, of_scores
from refusals import refused

ROOMS = ("comparison", "maps", "metrics", "metrics.counts", "ranking", "selection", "stressors")
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, (4, 12, 16)).repeat(2, 1).repeat(2, 2)
PREDICTION = np.where(RNG.random(TRUTH.shape) < 0.2, (TRUTH + 1) % 3, TRUTH)
MAP, OTHER = TRUTH[0].astype(np.uint8), PREDICTION[0].astype(np.uint8)
SCORE = RNG.random((24, 32))
MASK = (RNG.random((24, 32)) < 0.3).astype(np.uint8)
MASK[0, 0] = 255
LOGITS = RNG.normal(size=(3, 24, 32)).astype(np.float32)
SHARES = np.exp(LOGITS) / np.exp(LOGITS).sum(0)
IMAGE = RNG.integers(0, 256, (48, 64, 3), np.uint8)
BOX = np.pad(np.ones((30, 30), np.uint8), ((9, 9), (17, 17)))
CELLS = np.array([[5, 1, 0], [2, 6, 1], [0, 1, 4]])
WINS = np.array([[0, 3.0, 1], [2, 0, 4], [1, 2, 0]])
RATIOS = np.array([[1, 2, 4.0], [0.5, 1, 2], [0.25, 0.5, 1]])
OFF = np.ones((3, 3)) - np.eye(3)
LABELS = RNG.integers(0, 3, (3, 10))  # of models and images
BELIEF = np.full(3, 1 / 3)
SIMILAR = RNG.random((3, 3, 8))
SIMILAR = (SIMILAR + SIMILAR.transpose(1, 0, 2)) / 2
LOSSES = RNG.random((3, 8))
RANKED = -np.sort(-RNG.dirichlet(np.ones(3), 20), 1)


@dataclass(frozen=True)
class Case:
    """A call that is right: a function, its arrays, and its other arguments."""

    function: Callable[..., Any]
    arrays: Mapping[str, np.ndarray]
    more: Mapping[str, Any] = field(default_factory=dict)


def _room(room: str, names: str, arrays: Mapping[str, np.ndarray], /, **more: Any) -> dict[str, Case]:
    """Cases of several functions of a room that take the same arrays."""
    shelf = attrgetter(room)(fs)
    return {f"{room}.{name}": Case(getattr(shelf, name), arrays, more) for name in names.split()}


SEGMENTS = {0: 0, 1: 1, 2: 1}
PAIR = {"truth": MAP, "prediction": OTHER}
JUDGED = {"score": SCORE, "anomaly": MASK}
SURE = {"confidence": SCORE, "correct": MASK == 1, "valid": MASK < 2}
COUNTS = {
    "both": np.diag(CELLS),
    "reference": np.append(CELLS.sum(1), 2),
    "prediction": np.append(CELLS.sum(0), 0),
}
TABLE = {
    "truth": np.array([0, 0, 1, 1]),
    "prediction": np.array([0, 1, 0, 1]),
    "pixels": np.array([5, 1, 2, 6]),
}
OF_SCORES = {
    "anomaly": JUDGED,
    "doubt": {"doubt": SCORE, "incorrect": MASK},
    "confidence": {"confidence": SCORE, "incorrect": MASK},
    "probabilities": {"probabilities": SHARES[None], "truth": TRUTH[:1]},
}
HOLDOUT = fs.stressors.hold_out(resolve(3), ["class-1"])
CASES: dict[str, Case] = {
    **_room("metrics", "measure_maps regions", {"truth": TRUTH, "prediction": PREDICTION}, classes=3),
    **_room("metrics", "panoptic", PAIR, truth_classes=SEGMENTS, predicted_classes=SEGMENTS),
    "metrics.mask_average_precision": Case(
        lambda **given: fs.metrics.mask_average_precision(
            given["truth"], given["prediction"], [given["classes"]] * 4, [[0, 1]] * 4, given["scores"]
        ),
        {
            "truth": np.stack([TRUTH == 1, TRUTH == 2], 1),
            "prediction": np.stack([PREDICTION == 1, PREDICTION == 2], 1),
            "classes": np.array([0, 1]),
            "scores": SCORE[:4, :2],
        },
    ),
    **_room("metrics", " ".join(of_maps.FUNCTIONS), {"truth": TRUTH, "prediction": PREDICTION}, classes=3),
    **{
        f"metrics.{name}": Case(getattr(fs.metrics, name), OF_SCORES[of_scores.kind_of(metric)])
        for name, (_, metric) in of_scores.FUNCTIONS.items()
    },
    **_room("metrics", "boundary_counts skeleton_counts", PAIR, classes=3),
    **_room("metrics", "centrelines", {"labels": MAP}, none=3),
    **_room("metrics", "region_shares", {"anomalous": MASK == 1}),
    **_room("metrics", "detection frame_bins", JUDGED),
    **_room("metrics", "component_counts object_size_counts", JUDGED, threshold=0.5),
    **_room("metrics", "histogram16", {"score": SCORE.astype(np.float16), "anomaly": MASK}),
    **_room("metrics", "misclassification window_counts", {"doubt": SCORE, "incorrect": MASK}),
    **_room("metrics", "groups", {"doubt": SCORE, "incorrect": MASK == 1}),
    **_room("metrics", "calibration_counts equal_mass_exact fine_counts", SURE),
    **_room("metrics", "probability_counts", {"probabilities": SHARES, "label": TRUTH[0], "valid": MASK < 2}),
    **_room("metrics", "energy max_logit", {"logits": LOGITS}),
    **_room("metrics", "entropy margin max_probability surprise", {"probabilities": SHARES}),
    **_room("metrics", "logit16", {"probability": SCORE}),
    **_room("metrics", "facts_of", {"scores": LOGITS}, size=(32, 24)),
    **_room("metrics", "facts_of_members", {"members": np.stack([LOGITS, LOGITS])}, size=(32, 24)),
    "metrics.stream": Case(
        lambda score, anomaly: fs.metrics.stream(lambda: iter([(score, anomaly)])), JUDGED
    ),
    **_room(
        "metrics.counts",
        "accuracy_of_classes dice dice_of_classes fwiou iou_of_classes miou mpa pixel_accuracy",
        COUNTS,
    ),
    **_room("metrics.counts", "binary_cells confusion_table gce_cells lce_cells", {"cells": CELLS}),
    **_room(
        "metrics.counts",
        "adapted_rand adapted_rand_parts consistency_errors gce lce partition_distance partition_errors"
        " rand_index refinement_errors variation_of_information variation_of_information_parts",
        TABLE,
    ),
    **_room(
        "metrics.counts",
        "augrc aurc risk_coverage",
        {"right": np.array([5, 4, 1]), "wrong": np.array([0, 1, 2])},
    ),
    **_room("metrics.counts", "extra_pieces", {"touching": np.array([3, 1, 0])}),
    **_room("metrics", "rom_rum_area", {"rom": np.array([0.1, 0.2, 0.3]), "rum": np.array([0.3, 0.2, 0.1])}),
    **_room("metrics.counts", "boundary_f boundary_iou", {"counts": np.array([[3, 4, 6, 10, 2, 5]] * 3)}),
    **_room(
        "metrics.counts",
        "cldice topology_precision topology_sensitivity",
        {"counts": np.array([[3, 4, 6, 10]] * 3)},
    ),
    **_room(
        "metrics.counts",
        "pavpu p_accurate_certain p_uncertain_inaccurate",
        {"counts": np.array([4, 1, 2, 3])},
    ),
    **_room(
        "metrics.counts",
        "recall_of_quarter",
        {"sizes": np.asarray(fs.metrics.object_size_counts(SCORE, MASK, 0.5))},
        quarter=1,
    ),
    **_room("metrics.counts", "ece_equal_mass", {"fine": fs.metrics.fine_counts(**SURE)}),
    "comparison.count": Case(
        lambda one, other, truth: fs.comparison.count({"a": one, "b": other}, 3, truth=truth),
        {"one": TRUTH, "other": PREDICTION, "truth": TRUTH},
    ),
    **_room(
        "comparison",
        "pair_distances",
        {"distances": OFF, "first": np.array([0, 1]), "second": np.array([1, 2])},
    ),
    "comparison.fit_temperature": Case(
        lambda labels, probabilities: fs.comparison.fit_temperature(
            labels, probabilities, [{0}, {1}, {2}, {0}] * 5, 3
        ),
        {"labels": np.argsort(-RNG.random((20, 3)), 1), "probabilities": RANKED},
    ),
    **_room("maps", "confusions intersections", {"maps": TRUTH.astype(np.uint8)}, n=3),
    **_room("maps", "boxes_of_mask", {"mask": MAP > 0}),
    **_room("metrics", "box_counts", {"maps": TRUTH}, boxes=[Box(0, 0, 2, 2)], place=1),
    **_room("maps", "encode", {"label_map": MAP}),
    **_room("maps", "nearest", {"label_map": MAP}, size=(16, 12)),
    **_room("selection", "scale", {"masks": TRUTH}, classes=3),
    **_room("selection", "belief", {"labels": LABELS, "truth": LABELS[0]}),
    **_room("selection", "query remaining", {"labels": LABELS, "belief": BELIEF}, classes=3),
    **_room("selection", "belief_of_labels", {"right": RNG.random((3, 10)) < 0.5}, sharpness=1.0),
    **_room("selection", "information_of_labels", {"labels": LABELS, "belief": BELIEF}, sharpness=1.0),
    **_room("selection", "belief_of_similarities", {"similarity": SIMILAR, "scores": LOSSES}, sharpness=1.0),
    **_room(
        "selection", "information_of_similarities", {"similarity": SIMILAR, "belief": BELIEF}, sharpness=1.0
    ),
    **_room("selection", "fit_sharpness", {"similarity": SIMILAR}, labels=4),
    **_room("selection", "disputed mad", {"discrepancy": LOSSES}),
    **_room("selection", "expected_loss vma", {"expected": LOSSES}),
    **_room("selection", "entropy", {"probabilities": RNG.dirichlet(np.ones(3), 10)}),
    **_room("selection", "entropy_of_labels expected_of_labels", {"labels": LABELS}),
    **_room(
        "selection",
        "expected_of_probabilities",
        {"probabilities": RNG.dirichlet(np.ones(3), 10), "labels": LABELS},
    ),
    **_room("selection", "expected_of_concordances", {"concordance": SIMILAR}),
    **_room("selection", "draw", {"weights": RNG.random(10)}, number=3),
    **_room("selection", "top", {"scores": RNG.random(10)}, number=3),
    **_room("selection", "mix", {"mad": np.full(10, 0.1), "value": np.full(10, 0.1)}),
    **_room("selection", "representatives", {"families": np.array([0, 0, 1, 2])}),
    **_room("ranking", "borda bradley_terry rank_centrality", {"wins": WINS}),
    **_room("ranking", "bradley_terry_ties", {"wins": WINS, "ties": OFF}),
    **_room("ranking", "thurstone connected", {"weights": WINS}),
    **_room("ranking", "perron consistency_ratio", {"ratios": RATIOS}),
    **_room("ranking", "aggressiveness resistance", {"performance": np.stack([RATIOS, RATIOS.T])}),
    **_room("ranking", "dominance", {"accuracy": RATIOS / 4}),
    **_room("ranking", "hodge_rank hodge_split", {"flow": WINS - WINS.T, "weights": OFF}),
    **_room("ranking", "kendall spearman", {"first": RATIOS[0], "second": RATIOS[1, ::-1]}),
    **_room("ranking", "pairs_in_order", {"scores": RATIOS[0], "reference": RATIOS[1]}),
    **_room("ranking", "mean_scores reuse_strengths", {"scores": LOSSES, "weights": np.ones((2, 8))}),
    **_room(
        "ranking",
        "smoothed_accuracy",
        {"correct": np.array([[0, 3], [2, 0]]), "total": np.array([[0, 4], [4, 0]])},
    ),
    **_room("ranking", "rank_sets", {"p_values": np.full((3, 3), 0.3)}),
    "ranking.score_table": Case(
        lambda scores: fs.ranking.score_table(["a", "b", "c"], scores).scores, {"scores": LOSSES}
    ),
    **_room("ranking", "vote_weights margins", {"losses": LOSSES}),
    **_room("ranking", "lure", {"losses": LOSSES, "probability": np.full(8, 0.1)}, pool=12),
    **_room(
        "ranking",
        "prediction_powered",
        {
            "losses": LOSSES,
            "probability": np.full(8, 0.1),
            "proxy": RNG.random((3, 12)),
            "drawn": np.arange(8),
        },
    ),
    "ranking.with_choices": Case(
        lambda losses, probability, pairs, said, asked: fs.ranking.with_choices(
            losses, probability, 12, fs.ranking.Preferences(pairs, said, asked)
        ),
        {
            "losses": LOSSES,
            "probability": np.full(10, 0.1),
            "pairs": np.array([[0, 1], [1, 2]]),
            "said": np.sign(RNG.random((2, 10)) - 0.5),
            "asked": np.array([10, 9]),
        },
    ),
    **_room(
        "ranking",
        "pair_counts",
        {
            "first": np.array([0, 0]),
            "second": np.array([1, 2]),
            "image": np.array([0, 1]),
            "correct": np.array([[1, 0], [0, 0], [0, 1]]),
        },
    ),
    **_room(
        "ranking",
        "duel_outcomes",
        {
            "defender": np.array([0, 1]),
            "attacker": np.array([1, 2]),
            "group": np.array([0, 1]),
            "image": np.array([0, 1]),
            "accuracy": LOSSES,
        },
    ),
    **_room("ranking", "answer_shares", {"answer": LABELS[0], "other": LABELS[1]}, classes=3),
    **_room(
        "ranking",
        "answered_in_full",
        {"pixels": np.array([1, 2]), "image": np.array([0, 1, 1]), "pixel": np.array([0, 0, 1])},
    ),
    **_room("ranking", "find_tuples", {"maps": LABELS}, classes=3),
    **_room("ranking", "mask_counts", {"said": LABELS, "truth": LABELS[0]}, classes=3),
    **_room(
        "selection",
        "draw_points",
        {
            "images": np.array([0, 0, 1]),
            "tuples": np.array([0, 1, 1]),
            "pixels": np.array([3, 1, 2]),
            "probability": np.array([0.1, 0.2]),
        },
        number=3,
    ),
    **_room("stressors", "corrupt", {"image": IMAGE}, name="fog", severity=3),
    **_room("stressors", "move_labels", {"labels": MAP}, name="elastic_transform", severity=3, key="a"),
    **_room(
        "stressors",
        "add_fog",
        {"image": IMAGE, "depth": np.ones(IMAGE.shape[:2])},
        fog=fs.stressors.Fog(2.0),
    ),
    **_room("stressors", "channel_counts pixel_digest", {"image": IMAGE}),
    **_room("stressors", "overlay_of", {"base": IMAGE, "image": IMAGE[::-1].copy()}),
    **_room("stressors", "texture_shapes", {"images": IMAGE[None]}, count=1),
    **_room("stressors", "cutout_of_mask", {"image": IMAGE, "mask": BOX}, name="a box"),
    **_room("stressors", "cutout_of_rgba", {"image": np.dstack([IMAGE, BOX * np.uint8(255)])}, name="a box"),
    **_room(
        "stressors", "connected_cutouts", {"image": IMAGE, "labels": BOX}, names={1: "box"}, name="an image"
    ),
    **_room("stressors", "count_labels", {"labels": MASK}),
    **_room("stressors", "loss_pixels ood_pixels", {"training": MASK}),
    **_room("stressors", "training_labels open_labels", {"labels": MAP}, holdout=HOLDOUT),
}
# what takes no arrays of a person's: names, numbers and files, or what other functions of the room return
OTHERS = {
    "comparison": "abstract_classes accuracies class_distances concordances expected_distance mean_agreement"
    " read_distances shares word_path",
    "maps": "decode",
    "metrics": "best_f1 box_bounds certain_errors difference_bounds define detection_from_histogram metric_of_maps metric_of_scores per_image precision_recall"
    " quantile_curve roc score_pixels scorer_named size_counts",
    "metrics.counts": "average_precision_of_regions brier brier_top component_metrics ece ece_classwise invented mce missed"
    " nll panoptic_quality pe_os pe_us recognition_quality reliability rom ror rum rur"
    " segmentation_quality",
    "ranking": "against_places better_p_values border_range classifier_rankings combined deciding_points"
    " difference_intervals find_ranking leave_one_out loss_intervals margin_intervals open_range"
    " point_confusion point_difference_intervals point_intervals point_measure point_scores point_totals"
    " pool_spread rank_accuracies rank_scores rank_table ranked_pairs ranks_from_points sandwich"
    " spread_of_images_to_come standings uniform_steps",
    "selection": "class_duels drawing_weights duels effective find_selector point_probabilities read_scale"
    " uniform",
    "stressors": "add_colour_noise add_glow blend blur_depth blur_motion chance_of_lower_half coverage"
    " decoded_overlay depth_by_place drawn_cutout drawn_cutouts hold_out known_of_splits layer_of"
    " match_brightness match_histogram noise_levels noise_shapes plan_blend plan_of_text preset_classes reason_to_drop"
    " smooth_alpha static_frames steps_of stream_start usable_cutouts words_at",
}


def _same(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What means the same as an array."""
    yield "a list", array.tolist()
    yield "floats", array.astype(float)
    yield "columns first in memory", np.asfortranarray(array)
    if array.dtype.kind in "iu":
        yield "int64", array.astype(np.int64)


def _odd(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What is no such array, or another one."""
    number, is_float = array.astype(float), array.dtype.kind == "f"
    yield "fractions", number + 0.5
    yield "bools", array > 0
    yield "objects", array.astype(object)
    yield "text", array.astype(str)
    yield "a word", "maps"
    yield "None", None
    yield "complex numbers", array.astype(complex)
    yield "NaN", np.where(np.arange(array.size).reshape(array.shape) == 1, np.nan, number)
    yield "negative numbers", -array.astype(float if is_float else int) - 1
    yield "large numbers", array.astype(np.int64) + 100_000
    yield "an axis less", array[0]
    yield "an axis more", array[None]
    yield "an axis more within, as of logits", np.stack([array] * 3, 1 if array.ndim > 1 else 0)
    yield "nothing", array[:0]
    yield "a column less", array[..., :-1]
    yield "a row less", array[:-1]


def _equal(one: Any, other: Any) -> bool:
    """Whether two results agree, whatever holds them."""
    if is_dataclass(one):
        return all(_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, str | bytes) or one is None:
        return one == other
    if isinstance(one, np.ndarray | np.generic | float | int):
        return np.allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-5, equal_nan=True)
    return repr(one) == repr(other)


def test_every_public_function_is_in_the_table_or_takes_no_arrays() -> None:
    for room in ROOMS:
        shelf = attrgetter(room)(fs)
        functions = {
            name
            for name in shelf.__all__
            if callable(getattr(shelf, name)) and not inspect.isclass(getattr(shelf, name))
        }
        here = {name.rpartition(".")[2] for name in CASES if name.rpartition(".")[0] == room}
        assert functions == here | set(OTHERS[room].split()), room
        assert not here & set(OTHERS[room].split())


@pytest.mark.parametrize("name", CASES)
def test_an_odd_array_gives_the_same_value_or_one_line(name: str) -> None:
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = case.function(**case.arrays, **case.more)
        for key, array in case.arrays.items():
            for how, given in (*_same(array), *_odd(array)):
                try:
                    found = case.function(**{**case.arrays, key: given}, **case.more)
                except FaultscapeError as error:
                    if "\n" in str(error):
                        pytest.fail(f"{name}, {key} as {how}: more than one line: {error}")
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the failure
                    pytest.fail(f"{name}, {key} as {how}: {type(error).__name__}: {error}")
                else:
                    alike = how not in dict(_same(array)) or _equal(wanted, found)
                    assert alike, f"{name}: {key} as {how} gives another value"


def test_maps_of_bools_one_map_and_names_of_classes_are_right() -> None:
    measure = partial(fs.metrics.measure_maps, TRUTH > 0, PREDICTION > 0)
    wanted = fs.metrics.measure_maps((TRUTH > 0).astype(int), (PREDICTION > 0).astype(int), 2)
    assert _equal(measure(2), wanted)
    assert _equal(measure(["road", "sky"]), wanted)
    assert _equal(measure(resolve(2)), wanted)
    one = fs.metrics.measure_maps(TRUTH[0], PREDICTION[0], 3)
    assert _equal(one, fs.metrics.measure_maps(TRUTH[:1], PREDICTION[:1], 3))
    pairs = fs.comparison.count({"a": TRUTH[0] > 0, "b": PREDICTION[0] > 0}, ("road", "sky"))
    assert pairs.classes.names == ("road", "sky")
    assert pairs.both.shape == (1, 1, 2)


def test_scores_in_place_of_labels_are_told_what_to_do() -> None:
    logits = np.moveaxis(np.eye(3)[TRUTH], -1, 1)
    for call in (
        lambda: fs.metrics.measure_maps(TRUTH, logits, 3),
        lambda: fs.metrics.regions(TRUTH, logits, 3),
        lambda: fs.comparison.count({"a": logits}, 3),
        lambda: fs.selection.scale(logits, 3),
    ):
        with refused(LabelMapError, r"got float64 of shape \(3, 24, 32\); of scores, give the class of the"):
            call()
    with refused(
        LabelMapError, r"prediction, image 0: .* got float64 .*; convert labels with .astype\(int\)"
    ):
        fs.metrics.measure_maps(TRUTH, PREDICTION.astype(float), 3)


def test_centrelines_do_not_depend_on_the_order_in_memory() -> None:
    bar = np.zeros((9, 30), np.uint8)
    bar[2:7, 3:27] = 1
    line = fs.metrics.centrelines(bar, 9)
    assert (line == 1).sum() < 30  # thinned from 120 pixels
    assert (fs.metrics.centrelines(np.asfortranarray(bar), 9) == line).all()
    counts = fs.metrics.skeleton_counts(bar, bar, 2)
    assert (fs.metrics.skeleton_counts(np.asfortranarray(bar), bar, 2) == counts).all()
