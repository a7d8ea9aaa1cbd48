"""Distances of classes from files, of predictions, and of distributions; what is refused is told in one
line.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultscape.classes.hierarchy import of_edges, places
from faultscape.comparison import (
    abstract_classes,
    class_distances,
    distance_definitions,
    expected_distance,
    pair_distances,
    read_distances,
)
from faultscape.errors import ClassesError, ModelError, OptionError
from refusals import refused

D = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 4.0], [4.0, 4.0, 0.0]])


def written(folder: Path, text: str) -> Path:
    (folder / "d.csv").write_text(text)
    return folder / "d.csv"


def test_a_matrix_is_read_in_the_order_asked_for_and_may_hold_more_classes(tmp_path: Path) -> None:
    file = written(tmp_path, ",cat,dog,car\ncar,8,9,0\ncat,0,1,8\ndog,1,0,9\n")
    assert read_distances(file, ["dog", "car", "cat"]).tolist() == [[0, 9, 1], [9, 0, 8], [1, 8, 0]]
    assert read_distances(file, ["car", "dog"]).tolist() == [[0, 9], [9, 0]]


def test_a_long_table_gives_the_same_whichever_way_round_a_pair_stands(tmp_path: Path) -> None:
    file = written(
        tmp_path, "class,class,distance\ncat,dog,1\ndog,cat,1\ncar,cat,8\ndog,car,9\ncar,tree,3\ncat,cat,0\n"
    )
    assert read_distances(file, ["dog", "car", "cat"]).tolist() == [[0, 9, 1], [9, 0, 8], [1, 8, 0]]


def test_two_sides_that_differ_by_rounding_are_one_number(tmp_path: Path) -> None:
    read = read_distances(written(tmp_path, ",a,b\na,0,0.1234567890123\nb,0.12345678901,0\n"), ["a", "b"])
    assert read[0, 1] == read[1, 0] == 0.1234567890123


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (",a,b\na,0,1\nb,2,0\n", "'a' to 'b' is 1, back it is 2; distances must be the same both ways"),
        (",a,b\na,0,1\nb,1,3\n", "the distance of 'b' to itself is 3; expected 0"),
        (",a,b\na,0,-1\nb,-1,0\n", "line 2: '-1' is not a distance; expected a number, 0 or more"),
        (",a,b\na,0,nan\nb,1,0\n", "line 2: 'nan' is not a distance"),
        (",a,b\na,0,inf\nb,1,0\n", "line 2: 'inf' is not a distance"),
        (",a,b\na,0,\nb,1,0\n", "line 2: '' is not a distance"),
        (",a,b\na,0,1\n", "has no class 'b'"),
        (",a,c\na,0,1\nc,1,0\n", "has no class 'b'"),
        (",a,b,a\na,0,1,0\nb,1,0,1\n", "two columns are named 'a'"),
        (",a,b\na,0,1\na,0,1\nb,1,0\n", "line 3: a second row 'a'"),
        (",a,b\na,0,1\nb,1\n", "line 3: has 2 cells, the first row 3"),
        (",a,b\na,0,1\nbb,1,0\n", "line 3: the row 'bb' has no column of that name. Did you mean 'b'"),
        ("class,class,distance\n", "has no class 'a'"),
        ("class,class,distance\na,a,0\nb,b,0\n", "has no distance of 'a' to 'b'"),
        ("class,class,distance\na,b,1\nb,a,2\n", "'a' to 'b' is 1, back it is 2"),
        ("class,class,distance\na,b,1\na,b,2\n", "line 3: 'a' to 'b' is 2, before it was 1"),
        ("class,class,distance\na,b\n", "line 2: has 2 cells; expected class, class, distance"),
        ("class,class,distance\na,b,-1\n", "line 2: '-1' is not a distance"),
        ("class,class,distance\na,b,1\nb,b,2\n", "the distance of 'b' to itself is 2"),
        ("", "has no class 'a'"),
        ('"', "cannot be read as a table of distances"),
    ],
)
def test_a_wrong_table_is_told(tmp_path: Path, text: str, words: str) -> None:
    with refused(ClassesError) as told:
        read_distances(written(tmp_path, text), ["a", "b"])
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_a_table_that_is_too_large_or_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe")
    with refused(ClassesError, "cannot be read as a table of distances"):
        read_distances(tmp_path / "d.csv", ["a"])
    monkeypatch.setattr(distance_definitions, "MAX_BYTES", 1)
    with refused(ClassesError, "has 2 bytes; at most 1 are read"):
        read_distances(tmp_path / "d.csv", ["a"])


def test_a_kind_of_distance_that_is_none_is_told() -> None:
    with refused(
        OptionError,
        r"'wordnets' is not known; there are wordnet, path, hops, 01, or a file\. Did you mean 'wordnet'",
    ):
        class_distances("wordnets", None, [0])
    with refused(ClassesError, "'hops' needs a hierarchy"):
        class_distances("hops", None, [0])
    with refused(ClassesError, "30,001 classes have too many distances"):
        class_distances("01", None, range(30_001))


def test_two_classes_at_one_node_are_0_apart_and_a_class_alone_has_a_table() -> None:
    of = of_edges({"cat": ["animal"], "dog": ["animal"]})
    for kind in ("wordnet", "hops", "path"):
        assert class_distances(kind, of, places(of, ["cat", "dog", "cat"]))[0].tolist() == [0, 2, 0]
        assert class_distances(kind, of_edges({"thing": []}), [0]).tolist() == [[0]]


def test_abstract_classes_are_few_or_none() -> None:
    lines = {f"thing-{k}": ["things"] for k in range(9)} | {
        "idea": ["ideas"],
        "things": ["all"],
        "ideas": ["all"],
    }
    of = of_edges(lines)
    names = [f"thing-{k}" for k in range(9)] + ["idea"]
    assert abstract_classes(of, places(of, names)).tolist() == [9]
    assert abstract_classes(of, places(of, names[1:])).tolist() == []  # one of nine is not few
    assert abstract_classes(of, places(of, names[1:]), share=0.2).tolist() == [8]


def test_a_class_under_both_branches_is_not_abstract() -> None:
    lines = {f"thing-{k}": ["things"] for k in range(9)} | {
        "sign": ["ideas", "things"],
        "things": ["all"],
        "ideas": ["all"],
    }
    of = of_edges(lines)
    assert abstract_classes(of, places(of, [f"thing-{k}" for k in range(9)] + ["sign"])).tolist() == []


def test_predictions_are_looked_up_and_missing_ones_are_undefined() -> None:
    first, second = np.array([[0, 2], [-1, 1]], np.int16), np.array([[1, 2], [0, -1]], np.int16)
    assert np.array_equal(pair_distances(D, first, second), [[1, 0], [np.nan, np.nan]], equal_nan=True)
    with refused(ClassesError, "label 3 is not a class; there are 3, 0 to 2"):
        pair_distances(D, np.array([0]), np.array([3]))


def dense(labels: np.ndarray, probabilities: np.ndarray, classes: int, rest: str) -> np.ndarray:
    """The distribution that a rule makes of the K most probable labels, class by class."""
    out = np.zeros((len(labels), classes))
    for row, (own, p) in enumerate(zip(labels, probabilities, strict=True)):
        kept = {int(c): float(v) for c, v in zip(own, p, strict=True) if c >= 0}
        left = 1 - sum(kept.values())
        for c in range(classes):
            even = left / (classes - len(kept)) if len(kept) < classes else 0
            out[row, c] = kept.get(c, 0) / sum(kept.values()) if rest == "kept" else kept.get(c, even)
    return out


@pytest.mark.parametrize("rest", ["kept", "spread"])
def test_the_most_probable_labels_equal_the_distribution_that_the_rule_makes_of_them(rest: str) -> None:
    rng = np.random.default_rng(3)
    table = rng.random((6, 6))
    distances = (table + table.T) * (1 - np.eye(6))
    given = []
    for _ in range(2):
        labels = np.stack([rng.permutation(6)[:3] for _ in range(50)])
        probabilities = rng.dirichlet(np.ones(6), 50)[:, :3]
        labels[:10, 2] = -1  # a row with fewer
        given.append((labels, probabilities))
    p, q = (dense(labels, probabilities, 6, rest) for labels, probabilities in given)
    one_by_one = [
        sum(p[i, a] * q[i, b] * distances[a, b] for a in range(6) for b in range(6)) for i in range(50)
    ]
    assert np.abs(expected_distance(*given, distances, rest=rest) - one_by_one).max() < 1e-12
    assert np.abs(expected_distance(p, q, distances) - one_by_one).max() < 1e-12


def test_certain_models_have_the_distance_of_their_labels_and_doubt_lies_between() -> None:
    certain = np.eye(3)
    for a in range(3):
        for b in range(3):
            assert expected_distance(certain[[a]], certain[[b]], D)[0] == D[a, b]
    assert expected_distance(np.array([[0.5, 0.5, 0.0]]), np.array([[0.5, 0.5, 0.0]]), D)[0] == 0.5


def test_a_row_without_probability_has_no_expected_distance() -> None:
    p = np.array([[0.0, 0.0, 0.0], [np.nan, 0.5, 0.5], [2.0, 2.0, 0.0]])
    q = np.tile([0.0, 0.0, 1.0], (3, 1))
    assert np.array_equal(expected_distance(p, q, D), [np.nan, np.nan, 4.0], equal_nan=True)
    none = (np.array([[-1, -1]]), np.array([[0.3, 0.3]]))
    for rest in ("kept", "spread"):
        assert np.isnan(expected_distance(none, (np.array([[0]]), np.array([[1.0]])), D, rest=rest)).all()


def test_long_lists_are_looked_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.comparison import semantic_distances

    rng = np.random.default_rng(1)
    given = [(rng.integers(0, 3, (20, 2)), rng.dirichlet(np.ones(2), 20)) for _ in range(2)]
    whole = expected_distance(given[0], given[1], D)
    monkeypatch.setattr(semantic_distances, "_CELLS", 12)
    assert np.array_equal(whole, expected_distance(given[0], given[1], D))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (np.ones((2, 3)), np.ones((3, 3)), "of 2 images, the other of 3"),
        (np.ones((2, 4)), np.ones((2, 3)), r"shape \(2, 4\); expected \(images, 3 classes\)"),
        (np.array([[1.0, -0.5, 0.5]]), np.ones((1, 3)), "a probability is -0.5"),
        (
            (np.array([[0]]), np.array([[1.0]])),
            np.ones((1, 3)),
            "all classes of both models, or the most probable labels of both",
        ),
        (
            (np.array([[3]]), np.array([[1.0]])),
            (np.array([[0]]), np.array([[1.0]])),
            "label 3 is not a class",
        ),
        (
            (np.array([[0.0]]), np.array([[1.0]])),
            (np.array([[0]]), np.array([[1.0]])),
            "do not belong together",
        ),
        (
            (np.array([[0, 1]]), np.array([[1.0]])),
            (np.array([[0]]), np.array([[1.0]])),
            "do not belong together",
        ),
    ],
)
def test_probabilities_that_do_not_fit_are_told(first: object, second: object, words: str) -> None:
    with refused(ModelError, words):
        expected_distance(first, second, D)
    with refused(OptionError, r"rest 'keep' is not known; there are kept, spread\."):
        expected_distance(np.eye(3), np.eye(3), D, rest="keep")
