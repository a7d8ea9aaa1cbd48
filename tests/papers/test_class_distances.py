"""S2 eq. 2 and 3 on the ImageNet classes and on graphs of any shape, held to chains and paths that are listed
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.classes import imagenet, imagenet_classes
from faultscape.classes.hierarchy import Hierarchy, chains, depths, of_edges, places
from faultscape.comparison import abstract_classes, class_distances, semantic_distances, word_path

FOUNTAIN, CHURCH, DRAKE, COOT = 562, 497, 97, 137
Chain = tuple[int, ...]


def place(name: str) -> int:
    return imagenet_classes().names.index(name)


@pytest.fixture(scope="module")
def nodes() -> np.ndarray:
    return places(imagenet(), imagenet_classes().wnids)


@pytest.fixture(scope="module")
def found(nodes: np.ndarray) -> dict[str, np.ndarray]:
    return {kind: class_distances(kind, imagenet(), nodes) for kind in ("wordnet", "hops", "path")}


def pairs(distances: np.ndarray) -> np.ndarray:
    return distances[np.triu_indices(len(distances), 1)]


# The twins: no shared ancestors, no csgraph; weights are fractions.


def outside(chain: Chain, other: Chain) -> Iterator[Fraction]:
    """Weights of the nodes of a chain that the other does not have (how the paper's code says it)."""
    return (Fraction(1, 2 ** (at - 1)) for at, node in enumerate(chain) if node not in other)


def below_prefix(chain: Chain, other: Chain) -> Iterator[Fraction]:
    """Weights of the edges of a chain below the last node down to which both are the same."""
    same = next(
        (at for at, (a, b) in enumerate(zip(chain, other, strict=False)) if a != b),
        min(len(chain), len(other)),
    )
    return (Fraction(1, 2 ** (at - 1)) for at in range(same, len(chain)))


def least_over_chains(of: Hierarchy, first: int, second: int, weights: object = below_prefix) -> Fraction:
    assert callable(weights)
    return min(
        sum(weights(p, q), sum(weights(q, p), Fraction(0)))
        for p, q in product(chains(of, first), chains(of, second))
    )


def fewest_edges(of: Hierarchy, first: int, second: int) -> int:
    both = product(chains(of, first), chains(of, second))
    return min(len(list(below_prefix(p, q))) + len(list(below_prefix(q, p))) for p, q in both)


def every_shortest_path(of: Hierarchy) -> list[list[Fraction]]:
    """Floyd and Warshall's algorithm on the undirected graph."""
    n = len(of)
    out = [[Fraction(0 if a == b else 10**6) for b in range(n)] for a in range(n)]
    depth = [min(len(c) - 1 for c in chains(of, node)) for node in range(n)]
    for child, above in enumerate(of.parents):
        for parent in above:
            out[child][parent] = out[parent][child] = Fraction(1, 2 ** depth[parent])
    for via, a, b in product(range(n), repeat=3):
        out[a][b] = min(out[a][b], out[a][via] + out[via][b])
    return out


@st.composite
def graphs(draw: st.DrawFn) -> Hierarchy:
    """A hierarchy of up to nine nodes, each with one to three parents among the earlier ones."""
    size = draw(st.integers(1, 8))
    above = {
        f"n{k}": draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=3)) for k in range(1, size + 1)
    }
    return of_edges({key: [f"n{parent}" for parent in sorted(parents)] for key, parents in above.items()})


@pytest.mark.slow
@given(graphs())
def test_every_kind_equals_the_twin_that_lists_chains_and_paths(of: Hierarchy) -> None:
    nodes = range(len(of))
    wordnet, hops, path = (class_distances(kind, of, nodes) for kind in ("wordnet", "hops", "path"))
    paths = every_shortest_path(of)
    for a, b in product(nodes, nodes):
        assert Fraction(wordnet[a, b]) == least_over_chains(of, a, b)
        assert hops[a, b] == fewest_edges(of, a, b)
        assert Fraction(path[a, b]) == paths[a][b]


@pytest.mark.slow
@given(graphs())
def test_shared_nodes_and_shared_beginnings_give_one_least_distance(of: Hierarchy) -> None:
    for a, b in product(range(len(of)), repeat=2):
        assert least_over_chains(of, a, b, outside) == least_over_chains(of, a, b, below_prefix)


@pytest.mark.slow
@given(graphs())
def test_depths_are_those_of_the_chains_and_word_paths_walk_the_edges_that_gave_the_distance(
    of: Hierarchy,
) -> None:
    lengths = [[len(chain) - 1 for chain in chains(of, node)] for node in range(len(of))]
    assert depths(of).tolist() == list(map(min, lengths))
    assert depths(of, longest=True).tolist() == list(map(max, lengths))
    for a, b in product(range(len(of)), repeat=2):
        way = [of.nodes.index(word) for word in word_path(of, a, b)]
        assert (way[0], way[-1]) == (a, b)
        assert all(p in of.parents[q] or q in of.parents[p] for p, q in pairwise(way))
        up = way.index(min(way))  # parents stand before their children: the shared node is the least place
        weights = [
            Fraction(1, 2 ** (max(lengths[min(way)]) + k))
            for edges in (up, len(way) - 1 - up)
            for k in range(edges)
        ]
        assert sum(weights) == least_over_chains(of, a, b)


def test_a_longer_chain_to_what_is_shared_makes_the_distance_smaller() -> None:
    of = of_edges({"a": ["c"], "b": ["c"], "c": ["root", "deep"], "deep": ["root"]})
    a, b = places(of, ["a", "b"])
    assert class_distances("wordnet", of, [a, b])[0, 1] == 0.25 + 0.25  # c at depth 2, by deep
    assert class_distances("path", of, [a, b])[0, 1] == 0.5 + 0.5  # c at depth 1, its least


def test_an_undirected_path_may_lead_down_and_up_again() -> None:
    of = of_edges(
        {"a": ["left"], "b": ["right"], "both": ["left", "right"], "left": ["root"], "right": ["root"]}
    )
    a, b = places(of, ["a", "b"])
    assert class_distances("wordnet", of, [a, b])[0, 1] == 0.5 + 1 + 1 + 0.5
    assert class_distances("path", of, [a, b])[0, 1] == 0.5 + 0.5 + 0.5 + 0.5  # under left, both, right


def test_01_is_1_for_any_two_classes() -> None:
    assert class_distances("01", None, range(3)).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]  # S2 eq. 2


def test_figure_2_fountain_and_church_are_further_apart_than_drake_and_coot_though_nearer_in_hops(
    found: dict[str, np.ndarray],
) -> None:
    names = imagenet_classes().names
    assert [names[c] for c in (FOUNTAIN, CHURCH, DRAKE, COOT)] == [
        "fountain",
        "church",
        "drake",
        "American coot",
    ]
    assert found["wordnet"][FOUNTAIN, CHURCH] == 0.0859375  # printed .0859
    assert found["wordnet"][DRAKE, COOT] == 0.003662109375  # printed .0037
    assert (found["hops"][FOUNTAIN, CHURCH], found["hops"][DRAKE, COOT]) == (4, 8)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("mortar", "guacamole", 1.990234375),
        ("bubble", "traffic light", 1.9609375),
        ("pretzel", "carousel", 1.990234375),
        ("shower curtain", "balloon", 0.1162109375),
    ],
)
def test_figure_1_distances(found: dict[str, np.ndarray], first: str, second: str, distance: float) -> None:
    assert found["wordnet"][place(first), place(second)] == distance


def test_the_nearest_classes_are_two_spaniels_and_the_furthest_an_ox_and_a_bubble(
    found: dict[str, np.ndarray],
) -> None:
    values = pairs(found["wordnet"])
    assert (
        values.min()
        == found["wordnet"][place("English springer"), place("Welsh springer spaniel")]
        == 2.0**-16
    )
    assert values.max() == found["wordnet"][place("ox"), place("bubble")]
    assert round(values.max(), 10) == 3.9921722412
    assert np.median(values) == 0.490234375


def test_499500_pairs_have_596_distinct_distances_and_the_zero_of_a_class_to_itself_makes_597(
    found: dict[str, np.ndarray],
) -> None:
    assert len(pairs(found["wordnet"])) == 499_500
    assert len(np.unique(pairs(found["wordnet"]))) == 596
    assert len(np.unique(found["wordnet"])) == 597
    assert [len(np.unique(pairs(found[kind]))) for kind in ("hops", "path")] == [25, 2816]


@pytest.mark.slow
def test_one_pair_in_a_hundred_of_imagenet_equals_its_chains_listed(
    found: dict[str, np.ndarray], nodes: np.ndarray
) -> None:
    rng = np.random.default_rng(0)
    for a, b in rng.integers(0, 1000, (5000, 2)):
        assert Fraction(found["wordnet"][a, b]) == least_over_chains(
            imagenet(), int(nodes[a]), int(nodes[b]), outside
        )


@pytest.mark.parametrize("kind", ["wordnet", "hops", "path"])
def test_tables_are_made_in_parts(
    found: dict[str, np.ndarray], nodes: np.ndarray, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic_distances, "_ROWS", 7)
    assert np.array_equal(class_distances(kind, imagenet(), nodes[:90]), found[kind][:90, :90])


def test_every_distance_of_2_or_more_involves_one_of_three_abstract_classes(
    found: dict[str, np.ndarray], nodes: np.ndarray
) -> None:
    three = abstract_classes(imagenet(), nodes)
    assert {imagenet_classes().names[c] for c in three} == {"bubble", "traffic light", "street sign"}
    far = found["wordnet"] >= 2
    assert found["wordnet"][far].min() == 3.75
    involved = np.isin(np.arange(1000), three)
    assert not far[~involved][:, ~involved].any()
    # five classes lie under abstraction too, and under physical entity
    assert far.sum(1)[involved].tolist() == [992, 992, 992]
    assert far.sum(1)[~involved].tolist().count(3) == 992
    assert round(100 * pairs(far).mean(), 2) == 0.60


def test_the_shortest_path_differs_from_the_chains_on_two_pairs_of_three(
    found: dict[str, np.ndarray],
) -> None:
    wordnet, path = pairs(found["wordnet"]), pairs(found["path"])
    assert int((path != wordnet).sum()) == 335_917
    assert round(100 * (path != wordnet).mean(), 2) == 67.25
    assert round(100 * (abs(path - wordnet) > 0.05).mean(), 1) == 21.8
    assert round(100 * (path > wordnet).mean(), 1) == 11.4
