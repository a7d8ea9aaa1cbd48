"""Methods against their equations in plain NumPy: neighbours, Gaussians, ODIN, standardised logits; and their
files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import MetricError, ModelError, OptionError
from refusals import refused


def nearest_in_small_blocks(queries, keys, k: int):
    """The nearest of four queries at a time, among 16 keys at a time."""
    from faultscape.uncertainty.methods import neighbours

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "_BLOCK", (4, 16))
        return neighbours.nearest(queries, keys, k)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_neighbours_are_those_that_numpy_finds(seed: int) -> None:
    import torch

    from faultscape.uncertainty.methods import neighbours

    rng = np.random.default_rng(seed)
    queries, keys = (neighbours.unit(torch.from_numpy(rng.normal(size=(n, 6))).float()) for n in (9, 70))
    k = int(rng.integers(1, 12)) if seed % 3 else int(rng.integers(12, 70))
    cosines, places = nearest_in_small_blocks(queries, keys, k)
    wanted = queries.numpy() @ keys.numpy().T
    np.testing.assert_allclose(cosines, -np.sort(-wanted, axis=1)[:, :k], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(wanted, places.numpy(), 1), cosines, rtol=1e-5, atol=1e-6)
    assert all(len(set(row)) == k for row in places.tolist())


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_of_equally_near_neighbours_the_first_are_taken(seed: int) -> None:
    """So that the nearest of a few are those of many, whoever else searches."""
    import torch

    from faultscape.uncertainty.methods import neighbours

    rng = np.random.default_rng(seed)
    rows = [
        np.sign(rng.permuted(np.r_[np.ones(4), np.zeros(4)] * rng.choice([-1, 1], (n, 8)), axis=1))
        for n in (9, 70)
    ]
    # of halves: cosines are exact
    queries, keys = (neighbours.unit(torch.from_numpy(some).float()) for some in rows)
    queries[4] = 0
    k = int(rng.integers(1, 40))
    _, places = nearest_in_small_blocks(queries, keys, k)
    np.testing.assert_array_equal(
        places, np.argsort(-(queries @ keys.T).numpy(), axis=1, kind="stable")[:, :k]
    )


def test_neighbours_of_nothing_and_of_what_is_no_number(torch, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.uncertainty.methods import neighbours

    monkeypatch.setattr(neighbours, "_BLOCK", (4, 8))
    keys = neighbours.unit(torch.randn(20, 3))
    assert [part.shape for part in neighbours.nearest(keys[:0], keys, 3)] == [(0, 3), (0, 3)]
    for place in (1, 15):  # in the first block and in a later one
        bad = keys.clone()
        bad[place] = torch.nan
        assert neighbours.nearest(keys[:5], bad, 3)[0][:, 0].isnan().all()
    assert neighbours.nearest(torch.full((2, 3), torch.nan), keys, 3)[0].isnan().all()


def test_densities_are_those_of_equations_4_and_5(torch) -> None:
    from faultscape.uncertainty.methods.neighbours import class_score, density_score

    cosines, has = torch.rand(7, 5) * 2 - 1, torch.rand(7, 5) > 0.5
    c, h = cosines.numpy().astype(float), has.numpy()
    np.testing.assert_allclose(density_score(cosines), -np.log(np.exp(c).mean(1)), rtol=1e-5)
    np.testing.assert_allclose(density_score(cosines, printed=True), np.exp(-c).mean(1), rtol=1e-5)
    np.testing.assert_allclose(
        class_score(cosines, has), 1 - (np.exp(c) * h).sum(1) / np.exp(c).sum(1), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        class_score(cosines, has, printed=True),
        1 - (np.exp(-c) * h).sum(1) / np.exp(-c).sum(1),
        rtol=1e-4,
        atol=1e-6,
    )


def test_a_training_embedding_is_least_anomalous_of_all(torch) -> None:
    from faultscape.uncertainty.catalogue import Value
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnDensity

    values = torch.randn(60, 8)
    options: dict[str, Value] = {"k": 1, "printed": False}
    method = KnnDensity.fit(
        ["layer"], [Embeddings(values, torch.ones(60, 2, dtype=torch.bool))], options, np.arange(2)
    )
    grid = torch.cat([values[:20], torch.randn(20, 8)]).T.reshape(1, 8, 4, 10)
    (score,) = method.values([grid], torch.zeros(1, 2, 4, 10))
    assert score.reshape(-1)[:20].max() < score.reshape(-1)[20:].min()
    assert score.reshape(-1)[:20].numpy() == pytest.approx(-1, abs=1e-5)


def test_class_density_counts_neighbours_whose_patch_has_the_predicted_class(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnClassDensity

    values, classes = torch.randn(30, 4), torch.rand(30, 3) > 0.5
    options = {"k": 9, "printed": False}
    channels = np.array([2, 0, -1])  # the network's channels in another order, and one of no class
    method = KnnClassDensity.fit(["layer"], [Embeddings(values, classes)], options, channels)
    grid, logits = torch.randn(1, 4, 2, 3), torch.randn(1, 3, 4, 6)
    (score,) = method.values([grid], logits)
    shares = np.exp(logits[0].numpy()) / np.exp(logits[0].numpy()).sum(0)
    said = channels[shares.reshape(3, 2, 2, 3, 2).mean((2, 4)).argmax(0)]
    keys, rows = values.numpy() / np.linalg.norm(values, axis=1, keepdims=True), grid[0].numpy()
    for y in range(2):
        for x in range(3):
            cosines = keys @ (rows[:, y, x] / np.linalg.norm(rows[:, y, x]))
            best = np.argsort(-cosines)[:9]
            weights = np.exp(cosines[best])
            has = classes.numpy()[best, said[y, x]] if said[y, x] >= 0 else np.zeros(9, bool)
            assert float(score[0, 0, y, x]) == pytest.approx(
                1 - (weights * has).sum() / weights.sum(), abs=1e-5
            )


def test_too_few_embeddings_for_so_many_neighbours_are_refused(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnDensity

    some = Embeddings(torch.randn(5, 4), torch.ones(5, 2, dtype=torch.bool))
    with refused(MetricError, "k is 10, and there are 5 training embeddings; lower k, or keep more"):
        KnnDensity.fit(["layer"], [some], {"k": 10, "printed": False}, np.arange(2))


def test_no_neighbours_and_features_that_are_no_numbers_are_refused(torch) -> None:
    import faultscape as fs

    bad = torch.randn(200, 3)
    bad[7, 1] = torch.nan
    with refused(MetricError, "k is 0; expected 1 or more neighbours"):
        fs.uncertainty.nearest(bad, bad, 0)
    with refused(MetricError, "features hold NaN or infinity; expected finite numbers"):
        fs.uncertainty.class_gaussians(bad, torch.zeros(200, dtype=torch.long))
    with refused(MetricError, "embeddings hold NaN or infinity; expected finite numbers"):
        fs.uncertainty.train_flow(bad, fs.uncertainty.FlowPlan(steps=1, blocks=1, width=4))


def test_methods_of_several_k_share_one_search_of_a_grid(torch, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.uncertainty.methods import knn_density, neighbours
    from faultscape.uncertainty.methods.embeddings import Embeddings

    # all are twice there
    sample, channels = Embeddings(torch.randn(20, 3).repeat(2, 1), torch.rand(40, 2) > 0.3), np.arange(2)
    logits, grids = torch.randn(1, 2, 4, 6), [torch.randn(1, 3, 4, 6) for _ in range(2)]
    kinds = {"knn": knn_density.KnnDensity, "knn-class": knn_density.KnnClassDensity}
    asked = [(name, k) for name in kinds for k in (3, 1, 7)]
    alone = [
        [
            kinds[name](
                ["x"],
                {"k": k, "printed": False},
                kinds[name].fit(["x"], [sample], {"k": k, "printed": False}, channels).tensors(),
            ).values([grid], logits)[0]
            for grid in grids
        ]
        for name, k in asked
    ]
    searches = []
    found = neighbours.nearest
    monkeypatch.setattr(
        neighbours, "nearest", lambda queries, keys, k: searches.append(k) or found(queries, keys, k)
    )
    methods = [kinds[name].fit(["x"], [sample], {"k": k, "printed": False}, channels) for name, k in asked]
    # as read from a file
    again = kinds["knn"](["x"], {"k": 2, "printed": False}, {"keys": sample.neighbours.keys.clone()})
    knn_density.share_neighbours([object(), *methods, again])
    assert again.neighbours is sample.neighbours
    for place, grid in enumerate(grids):
        for method, wanted in zip(methods, alone, strict=True):
            torch.testing.assert_close(method.values([grid], logits)[0], wanted[place])
    assert searches == [7, 7]
    knn_density.forget_neighbours(methods)
    knn_density.share_neighbours(methods[:1])
    methods[0].values(grids[:1], logits)
    assert searches == [7, 7, 3]  # nothing is left of what they shared


@pytest.mark.parametrize("breaks", [False, True])
def test_methods_beside_a_network_share_a_search_and_keep_nothing_of_it(
    torch, monkeypatch: pytest.MonkeyPatch, breaks: bool
) -> None:
    from faultscape.prediction.doubt_methods import with_values
    from faultscape.prediction.inference import Inference
    from faultscape.prediction.sources.network import Answer, Network
    from faultscape.uncertainty.methods import knn_density, neighbours
    from faultscape.uncertainty.methods.embeddings import Embeddings

    sample = Embeddings(torch.randn(40, 3), torch.rand(40, 2) > 0.3)
    asked = {"knn": (knn_density.KnnDensity, 3), "knn-class": (knn_density.KnnClassDensity, 7)}
    methods = {
        name: kind.fit(["x"], [sample], {"k": k, "printed": False}, np.arange(2))
        for name, (kind, k) in asked.items()
    }
    network = Network("net", {}, {"batch": 2})
    Inference(network, methods=methods)
    searches, found = [], neighbours.nearest
    monkeypatch.setattr(
        neighbours, "nearest", lambda queries, keys, k: searches.append(k) or found(queries, keys, k)
    )
    rng = np.random.default_rng(0)
    answers = [
        Answer(
            rng.normal(size=(2, 4, 6)).astype("f4"), embeddings={"x": rng.normal(size=(3, 4, 6)).astype("f4")}
        )
        for _ in "ab"
    ]
    if breaks:
        monkeypatch.setattr(knn_density, "class_score", lambda *_, **__: 1 / 0)
        with refused(ModelError, "net: the network failed: ZeroDivisionError: division by zero"):
            with_values(network, methods, np.zeros((2, 3, 8, 12), np.float32), answers, (), {})
    else:
        with_values(network, methods, np.zeros((2, 3, 8, 12), np.float32), answers, (), {})
        assert searches == [7, 7]  # once an image, for both
    assert sample.neighbours._last is None


def test_the_mahalanobis_distance_is_that_to_the_nearest_class(torch) -> None:
    from faultscape.uncertainty.methods.mahalanobis import class_gaussians, mahalanobis_distances

    # of more than a block
    values, classes = torch.randn(1200, 4) @ torch.randn(4, 4), torch.randint(-1, 3, (1200,))
    values += 4 * classes[:, None]
    means, whiten = class_gaussians(values, classes, shrink=0.0)
    v, c = values.numpy().astype(float), classes.numpy()
    wanted = np.stack([v[c == k].mean(0) for k in range(3)])
    np.testing.assert_allclose(means, wanted, rtol=1e-4, atol=1e-4)
    rest = np.concatenate([v[c == k] - wanted[k] for k in range(3)])
    inverse = np.linalg.inv(rest.T @ rest / len(rest))
    gaps = v[:, None] - wanted[None]
    np.testing.assert_allclose(
        mahalanobis_distances(values, means, whiten),
        np.einsum("nkd,de,nke->nk", gaps, inverse, gaps).min(1),
        rtol=1e-2,
        atol=1e-3,
    )
    with refused(MetricError, "no training embedding lies in a patch of a single class"):
        class_gaussians(values, torch.full((1200,), -1))


def principal_space(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of features, and as few singular vectors as hold 90 % of their variance."""
    mean = values.mean(0)
    _, sizes, rows = np.linalg.svd(values - mean, full_matrices=False)
    return mean, rows[: np.searchsorted(np.cumsum(sizes**2) / (sizes**2).sum(), 0.9) + 1]


def test_neco_is_the_largest_logit_times_the_share_of_a_feature_in_the_principal_space(torch) -> None:
    """Ben Ammar et al. 2024, eq. 6; Zhang et al. 2026 with equal weights and statistics of training."""
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.neco import EnergyNeco, Neco

    rng = np.random.default_rng(0)
    train = rng.normal(size=(400, 6)) * [5, 3, 2, 0.5, 0.3, 0.1] + rng.normal(size=6)
    of_train, grid, logits = (
        rng.normal(size=size).astype(np.float32) for size in ((300, 4), (1, 6, 5, 7), (1, 4, 5, 7))
    )
    samples = [
        Embeddings(torch.from_numpy(rows.astype(np.float32)), torch.ones(len(rows), 4, dtype=torch.bool))
        for rows in (train, of_train)
    ]
    mean, axes = principal_space(train)
    assert len(axes) == 3

    def share(features: np.ndarray) -> np.ndarray:
        centred = features - mean
        return np.sqrt((centred @ axes.T @ axes * centred).sum(1) / (centred**2).sum(1))

    def energy(values: np.ndarray) -> np.ndarray:
        return -np.log(np.exp(values.astype(float)).sum(1))

    def scored(method) -> np.ndarray:
        values = method.values([torch.from_numpy(grid)], torch.from_numpy(logits))
        return method.score([value[0].numpy() for value in values], (7, 5))

    cells, own = grid[0].reshape(6, -1).T, logits[0].reshape(4, -1).T
    plain = -own.max(1) * share(cells)
    np.testing.assert_allclose(
        scored(Neco.fit(["x"], samples, {}, np.arange(4))).ravel(), plain, rtol=1e-5, atol=1e-6
    )
    both = sum(
        (score - of.mean()) / of.std()
        for score, of in ((energy(own), energy(of_train)), (-share(cells), -share(train)))
    )
    fitted = EnergyNeco.fit(["x"], samples, {}, np.arange(4))
    np.testing.assert_allclose(scored(fitted).ravel(), both, rtol=1e-5, atol=1e-5)
    again = EnergyNeco(["x"], {}, fitted.tensors())
    assert np.array_equal(scored(again), scored(fitted))


def test_a_principal_space_leaves_an_axis_out_and_features_at_the_mean_have_no_share(torch) -> None:
    """All axes would hold all of every feature."""
    from faultscape.uncertainty.methods.neco import principal_axes, principal_share

    even = torch.cat([torch.eye(3), -torch.eye(3)])
    mean, axes = principal_axes(even)
    assert axes.shape == (3, 2)
    assert principal_share(mean[None], mean, axes).tolist() == [0.0]


def test_standardised_logits_have_mean_0_and_deviation_1_where_each_class_is_predicted(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.logits.standardised_logit import StandardisedMaxLogit

    logits = (
        torch.randn(3, 100, 40) * torch.tensor([1.0, 3.0, 0.5])[:, None, None]
        + torch.tensor([0.0, 1.0, 0.4])[:, None, None]
    )
    rows = logits.reshape(3, -1).T
    method = StandardisedMaxLogit.fit(
        [], [Embeddings(rows, torch.ones(len(rows), 3, dtype=torch.bool))], {}, np.arange(3)
    )
    score, said = method.score([logits.numpy()], (40, 100)), logits.argmax(0).numpy()
    for channel in range(3):
        own = score[said == channel]
        assert (own.mean(), own.std()) == (pytest.approx(0, abs=1e-4), pytest.approx(1, abs=1e-4))


def test_odin_moves_the_input_so_that_the_network_is_surer(torch) -> None:
    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.prediction.doubt_methods import moved
    from faultscape.prediction.sources.torch_network import TorchNetwork
    from faultscape.uncertainty.methods.logits.odin import Odin

    net, block = (
        torch.nn.Conv2d(3, 4, 3, padding=1),
        np.random.default_rng(0).normal(size=(2, 3, 6, 8)).astype(np.float32),
    )
    method = Odin([], {"temperature": 3.0, "epsilon": 0.01}, {})
    there = moved(TorchNetwork(net, "net", {}, {}), block, method)
    assert net.weight.grad is None  # the network itself learns nothing from it
    assert not net.weight.requires_grad  # so that torch keeps no inputs of layers for it
    image = torch.from_numpy(block).requires_grad_()
    (net(image) / 3).log_softmax(1).amax(1).sum().backward()
    np.testing.assert_allclose(there, block + 0.01 * image.grad.sign().numpy(), atol=1e-6)
    with torch.no_grad():
        before, after = (net(torch.from_numpy(one)).log_softmax(1).amax(1).mean() for one in (block, there))
        assert after > before
        logits = net(torch.from_numpy(there))
    (value,) = method.values([], logits)
    np.testing.assert_allclose(
        method.score([value[0].numpy()], (8, 6)), facts_of(logits[0].numpy() / 3, (8, 6)).others, rtol=1e-5
    )


def test_the_file_of_a_method_holds_all_of_it_and_hostile_ones_are_refused(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.method_files import MethodAbout, about_of, read_about
    from faultscape.uncertainty.methods.method import read, write

    about = MethodAbout(
        "knn", {"k": 3, "printed": False}, ("layer",), "abc", ("tuned-with-ood",), more={"images": 4}
    )
    write(tmp_path / "a" / "knn.safetensors", about, {"keys": torch.ones(2, 3)})
    said, tensors = read(tmp_path / "a" / "knn.safetensors")
    assert (said, [*tensors]) == (about, ["keys"])
    for name, code in {
        "empty": b"",
        "cut": (tmp_path / "a" / "knn.safetensors").read_bytes()[:60],
        "pickle": b"\x80\x04N.",
    }.items():
        (tmp_path / name).write_bytes(code)
        with refused(ModelError, r"not the file of a fitted method: .*; fit it again"):
            read_about(tmp_path / name)
    for name, text, why in (
        ("list", "[]", "its metadata are not a JSON object"),
        ("words", '{"method": 3, "options": {"k": []}}', "no valid method, options, layers, network in its"),
    ):
        with refused(ModelError, f"not the file of a fitted method: {why}.*; fit it again$"):
            about_of(text, tmp_path / name)
    with refused(ModelError, "fitted method not found"):
        read(tmp_path / "nothing")


def test_options_of_a_method_are_checked() -> None:
    from faultscape.uncertainty.methods.catalogue import METHODS, method_named

    with refused(OptionError, r"method knn has no option 'kk'; it has k, printed\. Did you mean 'k'\?"):
        method_named("knn").check({"kk": 3})
    with refused(OptionError, "method knn: k is a whole number, 1 or more; got 0"):
        method_named("knn").check({"k": 0})
    with refused(OptionError, r"method 'kn' is not known; known are .*Did you mean 'knn'\?"):
        method_named("kn")
    for method in METHODS:
        method.check(dict(method.options))
        assert method.build


def test_distances_and_densities_of_a_grid_are_those_of_its_cells(torch) -> None:
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.mahalanobis import (
        ClassDistance,
        class_gaussians,
        mahalanobis_distances,
    )
    from faultscape.uncertainty.methods.neighbours import density_score, nearest, unit

    values, own = torch.randn(90, 3), torch.arange(90) % 2
    some = Embeddings(values, torch.nn.functional.one_hot(own).bool())
    grid = torch.randn(1, 3, 2, 5)
    cells = grid[0].reshape(3, 10).T
    for printed in (False, True):
        build = method_named("knn").build
        (score,) = build.fit(["layer"], [some], {"k": 4, "printed": printed}, np.arange(2)).values(
            [grid], grid
        )
        expected = density_score(nearest(unit(cells), unit(values), 4)[0], printed=printed)
        torch.testing.assert_close(score.reshape(-1), expected)
    (score,) = ClassDistance.fit(["layer"], [some], {"shrink": 0.5}, np.arange(2)).values([grid], grid)
    expected = mahalanobis_distances(cells, *class_gaussians(values, own, 0.5))
    torch.testing.assert_close(score.reshape(-1), (expected / 3).sqrt())


def test_a_file_whose_tensors_are_not_those_of_its_method_is_refused(torch, tmp_path: Path) -> None:
    from faultscape.prediction.doubt_methods import built
    from faultscape.uncertainty.method_files import MethodAbout
    from faultscape.uncertainty.methods.method import write

    wrong = {
        "knn": ({"k": 3}, {}),
        "knn-class": ({"k": 0}, {"keys": torch.ones(9, 2)}),
        "flow": ({"blocks": 2}, {"means": torch.zeros(1), "flow0/centre": torch.zeros(3)}),
        "mahalanobis": ({}, {"means": torch.zeros(1, 2)}),
        "odin": ({"temperature": -1.0}, {}),
        "nothing": ({}, {}),
    }
    for name, (options, tensors) in wrong.items():
        write(tmp_path / f"{name}.safetensors", MethodAbout(name, options, ("layer",), "abc"), tensors)
        with refused(ModelError, "not the file of a fitted method: .*; fit it again"):
            built(tmp_path / f"{name}.safetensors")


def test_a_class_that_is_hardly_ever_predicted_has_the_statistics_of_all(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.logits.standardised_logit import StandardisedMaxLogit

    rows = torch.randn(400, 3)
    rows[:, 2] -= 20
    rows[0, 2] = 9.0
    method = StandardisedMaxLogit.fit(
        [], [Embeddings(rows, torch.ones(400, 3, dtype=torch.bool))], {}, np.arange(3)
    )
    top = rows.max(1).values
    assert float(method.mean[2]) == pytest.approx(float(top.mean()), rel=1e-4)
    assert float(method.deviation[2]) == pytest.approx(float(top.std(correction=0)), rel=1e-4)


def test_shapes_that_do_not_fit_are_said(torch) -> None:
    from faultscape.uncertainty import RealNVP, class_score, density_score

    with refused(MetricError, r"cosines are \(n, k\); got \(3,\)"):
        density_score(torch.zeros(3))
    with refused(MetricError, r"cosines and has are \(n, k\) both; got \(3, 2\) and \(3, 1\)"):
        class_score(torch.zeros(3, 2), torch.zeros(3, 1, dtype=torch.bool))
    with refused(MetricError, r"this flow is of features \(n, 4\); got \(2, 3\)"):
        RealNVP(4, blocks=1).eval().nll(torch.zeros(2, 3))


def test_a_method_that_is_another_by_now_or_gone_is_refused(torch, tmp_path: Path) -> None:
    """A worker that begins after the driver has read the study may find that a method was fitted again
    meanwhile.
    """
    from faultscape.prediction.doubt_methods import load_methods
    from faultscape.uncertainty.method_files import MethodAbout, digest
    from faultscape.uncertainty.methods.method import write

    path, about = tmp_path / "knn.safetensors", MethodAbout("knn", {"k": 1}, ("layer",), "abc")
    write(path, about, {"keys": torch.ones(2, 3)})
    word = f"knn@{digest(path)}"
    assert [*load_methods(str(tmp_path), ["msp", word], "net")] == [word]
    write(path, about, {"keys": torch.zeros(2, 3)})
    for change in (lambda: None, path.unlink):
        change()
        with refused(
            ModelError,
            "net: its method knn was refitted or removed; run `faultscape predict` again with --scorer knn",
        ):
            load_methods(str(tmp_path), ["msp", word], "net")


def test_a_file_of_another_method_s_tensors_is_refused(torch, tmp_path: Path) -> None:
    from faultscape.prediction.doubt_methods import built
    from faultscape.uncertainty.method_files import MethodAbout
    from faultscape.uncertainty.methods.method import write

    path = tmp_path / "knn-class.safetensors"
    write(path, MethodAbout("knn-class", {"k": 1}, ("layer",), "abc"), {"keys": torch.ones(2, 3)})
    with refused(ModelError, "not the file of a fitted method: 'classes'; fit it again"):
        built(path)
