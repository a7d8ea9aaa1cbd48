"""What distances of classes cost: ``python benchmarks/class_distances.py`` prints the table of
docs/explanation/class-distances.md.

Conventions: processor time of this thread, best of several in turns with the peer; the peers are plain
Python, written out here, and scipy's Dijkstra. Their distances are held equal to ours before anything is
timed. The plain peers run on a part of the pairs, and their time is scaled to all 499,500.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from clock import best, in_turns

from faultscape.classes import imagenet, imagenet_classes
from faultscape.classes.hierarchy import Hierarchy, chains, depths, places
from faultscape.comparison import class_distances, expected_distance, pair_distances, word_path

PART = 60  # classes of the plain peers: 1,770 pairs
IMAGES = 1_000_000


def row(what: str, measured: str, target: str) -> None:
    print(f"| {what} | {measured} | {target} |", flush=True)


def over_chains(of: Hierarchy, nodes: Sequence[int]) -> np.ndarray:
    """Every pair of root chains, the weights of what only one of them has, and the least of them."""
    listed = [[(chain, set(chain)) for chain in chains(of, node)] for node in nodes]
    out = np.zeros((len(nodes), len(nodes)))
    for a in range(len(nodes)):
        for b in range(a):
            costs = []
            for p, in_p in listed[a]:
                for q, in_q in listed[b]:
                    mine = sum(2.0 ** (1 - at) for at, node in enumerate(p) if node not in in_q)
                    costs.append(mine + sum(2.0 ** (1 - at) for at, node in enumerate(q) if node not in in_p))
            out[a, b] = out[b, a] = min(costs)
    return out


def paths(of: Hierarchy, nodes: Sequence[int]) -> np.ndarray:
    """Dijkstra's algorithm with a heap, once from each class."""
    depth, beside = depths(of), [[] for _ in range(len(of))]
    for child, above in enumerate(of.parents):
        for parent in above:
            beside[child].append((parent, 2.0 ** -depth[parent]))
            beside[parent].append((child, 2.0 ** -depth[parent]))
    out = np.zeros((len(nodes), len(nodes)))
    for at, start in enumerate(nodes):
        cost, heap = {}, [(0.0, start)]
        while heap:
            so_far, node = heapq.heappop(heap)
            if node not in cost:
                cost[node] = so_far
                for other, weight in beside[node]:
                    if other not in cost:
                        heapq.heappush(heap, (so_far + weight, other))
        out[at] = [cost[node] for node in nodes]
    return out


def tables(of: Hierarchy, nodes: np.ndarray) -> None:
    part = nodes[np.random.default_rng(0).permutation(len(nodes))[:PART]].tolist()
    pairs = len(nodes) * (len(nodes) - 1) / (PART * (PART - 1))
    for kind, peer, scale in (("wordnet", over_chains, pairs), ("path", paths, len(nodes) / PART)):
        assert np.array_equal(class_distances(kind, of, part), peer(of, part))
        ours, theirs = in_turns(
            lambda k=kind: class_distances(k, of, nodes), lambda f=peer: f(of, part), goes=(2, 1)
        )
        row(
            f"`{kind}`, 499,500 pairs, times plain Python (scaled)",
            f"{theirs * scale / ours:.0f}x ({ours:.2f} s)",
            "< 1 s",
        )
    ours, theirs = in_turns(
        lambda: class_distances("wordnet", of, nodes), lambda: class_distances("path", of, nodes), goes=(2, 2)
    )
    row("`wordnet`, times scipy's Dijkstra (another distance)", f"{theirs / ours:.1f}x", "reported")
    row("`hops`, 499,500 pairs", f"{best(lambda: class_distances('hops', of, nodes)):.2f} s", "< 1 s")
    row("ImageNet-1k hierarchy from its file", f"{1000 * best(imagenet.__wrapped__):.0f} ms", "reported")
    row(
        "words of one path",
        f"{1000 * best(lambda: word_path(of, int(nodes[0]), int(nodes[999]))):.1f} ms",
        "reported",
    )


def predictions(of: Hierarchy, nodes: np.ndarray) -> None:
    rng, distances = np.random.default_rng(0), class_distances("wordnet", of, nodes)
    labels = rng.integers(0, len(nodes), (11, IMAGES)).astype(np.int32)

    def all_pairs() -> None:
        for a in range(11):
            for b in range(a):
                pair_distances(distances, labels[a], labels[b])

    row("distances of 11 models' labels on 10^6 images, 55 pairs", f"{best(all_pairs, 2):.1f} s", "< 10 s")
    images = IMAGES // 10
    kept = [(rng.integers(0, 1000, (images, 5)), rng.dirichlet(np.ones(6), images)[:, :5]) for _ in range(2)]
    seconds = best(lambda: expected_distance(kept[0], kept[1], distances), 3)
    row("expected distance of a pair, 5 labels an image, 10^5 images", f"{seconds:.2f} s", "reported")


if __name__ == "__main__":
    hierarchy = imagenet()
    classes = places(hierarchy, imagenet_classes().wnids)
    tables(hierarchy, classes)
    predictions(hierarchy, classes)
