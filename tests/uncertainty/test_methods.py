"""Methods against their equations in plain NumPy: flows, neighbours, Gaussians, ODIN, standardised logits, Dirichlets."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import MetricError, ModelError, OptionError
from faultscape.metrics.scores.trained_doubt import class_share, differential_entropy, outlier_share
from refusals import refused


@pytest.fixture
def torch():
    import torch

    torch.manual_seed(0)
    return torch


def rough(torch, dimensions: int = 5, steps: int = 3, **how):
    """A flow in use, none of whose numbers is where it starts."""
    from faultscape.uncertainty.methods.flow import RealNVP

    flow = RealNVP(dimensions, steps, 16, **how).double()
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    for norm in flow.norms:
        norm.mean.normal_()
        norm.variance.uniform_(0.5, 2)
    flow.centre.normal_()
    flow.spread.uniform_(0.5, 2)
    return flow.eval()


def test_the_determinant_of_a_flow_is_that_of_its_jacobian(torch) -> None:
    flow = rough(torch, depth=2)
    for row in torch.randn(6, 5, dtype=torch.float64):
        jacobian = torch.autograd.functional.jacobian(lambda one: flow(one[None])[0][0], row)
        assert float(flow(row[None])[1].detach()) == pytest.approx(float(torch.linalg.slogdet(jacobian)[1]), abs=1e-10)


def test_a_flow_is_inverted_exactly(torch) -> None:
    flow, rows = rough(torch), torch.randn(20, 5, dtype=torch.float64)
    torch.testing.assert_close(flow.inverse(flow(rows)[0]), rows)


def test_the_likelihood_of_a_flow_is_that_of_zukos_couplings_and_permutations(torch) -> None:
    from torch.distributions import AffineTransform, Independent, Normal
    from zuko.distributions import NormalizingFlow
    from zuko.transforms import ComposedTransform, CouplingTransform, PermutationTransform

    flow = rough(torch, 6, 4)

    def half(coupling):
        def meta(kept):
            raw, shift = coupling.net(kept).chunk(2, dim=-1)
            return AffineTransform(shift, (2.0 * torch.tanh(raw / 2.0)).exp(), event_dim=1)

        return meta

    parts = [AffineTransform(-flow.centre / flow.spread, 1 / flow.spread, event_dim=1)]
    for coupling, norm, order in flow.parts:
        gain = norm.log_scale.exp() / (norm.variance + norm.epsilon).sqrt()
        parts += [
            CouplingTransform(half(coupling), torch.arange(6) < 3),
            AffineTransform(norm.shift - norm.mean * gain, gain, event_dim=1),
            PermutationTransform(order),
        ]
    base = Independent(Normal(torch.zeros(6, dtype=torch.float64), torch.ones(6, dtype=torch.float64)), 1)
    rows = torch.randn(50, 6, dtype=torch.float64)
    torch.testing.assert_close(flow.nll(rows), -NormalizingFlow(ComposedTransform(*parts), base).log_prob(rows))


@pytest.mark.parametrize(("dimensions", "depth"), [(5, 1), (8, 2), (2, 1)])
def test_a_flow_in_use_says_what_its_plain_twin_says(torch, dimensions: int, depth: int) -> None:
    from faultscape.uncertainty.methods.fixed_flow import FixedFlow

    flow = rough(torch, dimensions, 4, depth=depth)
    features = (3 * torch.randn(1100, dimensions, dtype=flow.centre.dtype)).requires_grad_()
    plain, fixed = flow.nll(features), FixedFlow.of(flow).nll(features)
    torch.testing.assert_close(fixed, plain, rtol=1e-4, atol=1e-4)
    one, other = (torch.autograd.grad(said.sum(), features)[0] for said in (plain, fixed))
    torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4)


def test_a_flow_starts_as_the_map_that_standardises(torch) -> None:
    from faultscape.uncertainty.methods.flow import RealNVP

    flow, rows = RealNVP(4, 32).eval(), torch.randn(50, 4) * 3 + 1
    flow.centre.copy_(rows.mean(0))
    flow.spread.copy_(rows.std(0))
    latent = flow(rows)[0]
    torch.testing.assert_close(latent.sort(1).values, ((rows - flow.centre) / flow.spread).sort(1).values, rtol=1e-3, atol=1e-4)


def test_the_likelihood_of_gaussian_data_comes_near_its_entropy(torch) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    mix = torch.eye(3) + 0.5 * torch.randn(3, 3)
    entropy = 1.5 * (1 + math.log(2 * math.pi)) + float(torch.linalg.slogdet(mix)[1])
    made = train_flow(torch.randn(4000, 3) @ mix.T, FlowPlan(steps=250, rate=3e-3, batch=256, blocks=4, width=16))
    assert made.tested == pytest.approx(entropy, abs=0.15)
    assert made.chosen == pytest.approx(entropy, abs=0.15)


def test_a_flow_that_was_killed_goes_on_to_the_same_flow(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    rows, plan = torch.randn(400, 3), FlowPlan(steps=40, batch=32, blocks=2, width=8)
    whole = train_flow(rows, plan)
    steps = iter(range(27))

    def stop(number: int) -> None:
        for _ in range(number):
            if next(steps, None) is None:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_flow(rows, plan, tmp_path / "flow", "key", tick=stop)
    again = train_flow(rows, plan, tmp_path / "flow", "key")
    assert (again.step, again.chosen, again.learnt) == (whole.step, whole.chosen, whole.learnt)
    for name, value in whole.flow.state_dict().items():
        assert torch.equal(value, again.flow.state_dict()[name]), name
    assert not (tmp_path / "flow").exists()


def test_a_flow_needs_embeddings_and_numbers(torch) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    with refused(MetricError, r"20 embeddings of 3 numbers; a flow needs 100 or more"):
        train_flow(torch.randn(20, 3), FlowPlan(steps=1))
    with refused(ModelError, r"the flow's loss is nan at step 1"):
        train_flow(torch.full((200, 3), math.nan), FlowPlan(steps=1))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_neighbours_are_those_that_numpy_finds(seed: int) -> None:
    import torch

    from faultscape.uncertainty.methods import neighbours

    rng = np.random.default_rng(seed)
    queries, keys = (neighbours.unit(torch.from_numpy(rng.normal(size=(n, 6))).float()) for n in (9, 70))
    k = int(rng.integers(1, 12))
    before = neighbours._QUERIES, neighbours._KEYS
    neighbours._QUERIES, neighbours._KEYS = 4, 16
    try:
        cosines, places = neighbours.nearest(queries, keys, k)
    finally:
        neighbours._QUERIES, neighbours._KEYS = before
    wanted = queries.numpy() @ keys.numpy().T
    np.testing.assert_allclose(cosines, -np.sort(-wanted, axis=1)[:, :k], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(wanted, places.numpy(), 1), cosines, rtol=1e-5, atol=1e-6)


def test_densities_are_those_of_equations_4_and_5(torch) -> None:
    from faultscape.uncertainty.methods.neighbours import class_score, density_score

    cosines, has = torch.rand(7, 5) * 2 - 1, torch.rand(7, 5) > 0.5
    c, h = cosines.numpy().astype(float), has.numpy()
    np.testing.assert_allclose(density_score(cosines), -np.log(np.exp(c).mean(1)), rtol=1e-5)
    np.testing.assert_allclose(density_score(cosines, printed=True), np.exp(-c).mean(1), rtol=1e-5)
    np.testing.assert_allclose(class_score(cosines, has), 1 - (np.exp(c) * h).sum(1) / np.exp(c).sum(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        class_score(cosines, has, printed=True), 1 - (np.exp(-c) * h).sum(1) / np.exp(-c).sum(1), rtol=1e-4, atol=1e-6
    )


def test_a_training_embedding_is_least_anomalous_of_all(torch) -> None:
    from faultscape.uncertainty.catalogue import Value
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnDensity

    values = torch.randn(60, 8)
    options: dict[str, Value] = {"k": 1, "printed": False}
    method = KnnDensity.fit(["layer"], [Embeddings(values, torch.ones(60, 2, dtype=torch.bool))], options, np.arange(2))
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
            assert float(score[0, 0, y, x]) == pytest.approx(1 - (weights * has).sum() / weights.sum(), abs=1e-5)


def test_too_few_embeddings_for_so_many_neighbours_are_refused(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.knn_density import KnnDensity

    some = Embeddings(torch.randn(5, 4), torch.ones(5, 2, dtype=torch.bool))
    with refused(MetricError, "k is 10, and there are 5 training embeddings; lower k, or keep more"):
        KnnDensity.fit(["layer"], [some], {"k": 10, "printed": False}, np.arange(2))


def test_the_mahalanobis_distance_is_that_to_the_nearest_class(torch) -> None:
    from faultscape.uncertainty.methods.mahalanobis import class_gaussians, mahalanobis_distances

    values, classes = torch.randn(300, 4) @ torch.randn(4, 4), torch.randint(-1, 3, (300,))
    values += 4 * classes[:, None]
    means, whiten = class_gaussians(values, classes, shrink=0.0)
    v, c = values.numpy().astype(float), classes.numpy()
    wanted = np.stack([v[c == k].mean(0) for k in range(3)])
    np.testing.assert_allclose(means, wanted, rtol=1e-4, atol=1e-4)
    rest = np.concatenate([v[c == k] - wanted[k] for k in range(3)])
    inverse = np.linalg.inv(rest.T @ rest / len(rest))
    gaps = v[:20, None] - wanted[None]
    np.testing.assert_allclose(
        mahalanobis_distances(values[:20], means, whiten),
        np.einsum("nkd,de,nke->nk", gaps, inverse, gaps).min(1),
        rtol=1e-2,
        atol=1e-3,
    )
    with refused(MetricError, "no training embedding lies in a patch of one class"):
        class_gaussians(values, torch.full((300,), -1))


def test_standardised_logits_have_mean_0_and_deviation_1_where_each_class_is_predicted(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.standardised_logit import StandardisedMaxLogit

    logits = torch.randn(3, 100, 40) * torch.tensor([1.0, 3.0, 0.5])[:, None, None] + torch.tensor([0.0, 1.0, 0.4])[:, None, None]
    rows = logits.reshape(3, -1).T
    method = StandardisedMaxLogit.fit([], [Embeddings(rows, torch.ones(len(rows), 3, dtype=torch.bool))], {}, np.arange(3))
    score, said = method.score([logits.numpy()], (40, 100)), logits.argmax(0).numpy()
    for channel in range(3):
        own = score[said == channel]
        assert (own.mean(), own.std()) == (pytest.approx(0, abs=1e-4), pytest.approx(1, abs=1e-4))


def test_odin_moves_the_input_so_that_the_network_is_surer(torch) -> None:
    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.prediction.doubt_methods.input_gradient import moved
    from faultscape.uncertainty.methods.odin import Odin

    net, block = torch.nn.Conv2d(3, 4, 3, padding=1), np.random.default_rng(0).normal(size=(2, 3, 6, 8)).astype(np.float32)
    method = Odin([], {"temperature": 3.0, "epsilon": 0.01}, {})
    there = moved(net, net, "net", "cpu", block, method)
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
    assert net.weight.grad is None or (net.weight.grad != 0).any()  # the network itself learns nothing from it


def test_patches_with_withheld_pixels_are_never_drawn(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import draw, patch_classes

    labels = np.random.default_rng(0).integers(0, 3, (12, 16)).astype(np.int16)
    labels[:4, :4], labels[8:, 12:] = -100, -1
    has, may, _ = patch_classes(labels, (3, 4), 3)
    assert may.reshape(3, 4).tolist() == [[False, True, True, True], [True] * 4, [True, True, True, False]]
    for place in range(12):
        y, x = divmod(place, 4)
        part = labels[4 * y : 4 * y + 4, 4 * x : 4 * x + 4]
        assert has[place].tolist() == [(part == k).any() for k in range(3)]
    grid = torch.arange(12.0).reshape(1, 3, 4)
    assert draw(grid, labels, 3, 99, "key").values[:, 0].tolist() == [*range(1, 11)]
    some = draw(grid, labels, 3, 4, "key")
    assert torch.equal(some.values, draw(grid, labels, 3, 4, "key").values)
    assert len({tuple(draw(grid, labels, 3, 4, f"key {k}").values[:, 0].tolist()) for k in range(8)}) > 3
    with refused(ModelError, "the layer gave NaN or infinity"):
        draw(grid * math.nan, labels, 3, 4, "key")


@pytest.mark.parametrize(("tokens", "size"), [(24, (64, 96)), (25, (64, 96)), (29, (64, 96)), (12, (50, 70)), (20, (50, 70))])
def test_tokens_are_a_grid_whatever_stands_before_them(torch, tokens: int, size: tuple[int, int]) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    values = torch.randn(2, tokens, 3)
    grid = as_grid(values, size)
    places = grid.shape[2] * grid.shape[3]
    torch.testing.assert_close(grid.flatten(2).transpose(1, 2), values[:, tokens - places :])
    assert abs(grid.shape[2] / grid.shape[3] - size[0] / size[1]) < 0.2


def test_what_is_no_grid_is_refused(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    for values in (torch.zeros(1, 8), torch.zeros(1, 8, 1, 1), torch.zeros(1, 23 * 5, 8)):
        with refused(ModelError, r"layer x: gave \(1, .*\) for an image of 96x64; expected features N x D x h x w"):
            as_grid(values, (64, 96), "layer x")


def test_divergences_and_entropies_of_dirichlets_are_those_of_torch(torch) -> None:
    from torch.distributions import Dirichlet, kl_divergence

    from faultscape.uncertainty import dirichlet

    logits, other = torch.randn(20, 5) * 2, torch.randn(20, 5)
    alpha, beta = dirichlet.concentrations(logits), dirichlet.concentrations(other)
    torch.testing.assert_close(
        dirichlet.divergence(alpha, beta), kl_divergence(Dirichlet(alpha), Dirichlet(beta)), rtol=1e-3, atol=1e-4
    )
    wanted = Dirichlet(alpha.double()).entropy()
    torch.testing.assert_close(dirichlet.differential_entropy(logits).double(), wanted, rtol=1e-3, atol=1e-3)
    scores = logits.T.reshape(5, 4, 5).numpy()
    np.testing.assert_allclose(differential_entropy(scores, (5, 4)).ravel(), wanted, rtol=1e-4, atol=1e-4)


def test_scores_of_trained_doubt_are_made_at_the_size_of_the_labels(torch) -> None:
    logits = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    large = torch.nn.functional.interpolate(torch.from_numpy(logits)[None], (9, 11), mode="bilinear")[0]
    np.testing.assert_allclose(class_share(logits, 2, (11, 9)), large.softmax(0)[2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outlier_share(logits[:1], (11, 9)), large[0].sigmoid(), rtol=1e-4, atol=1e-6)


def test_a_logistic_regression_joins_layers_as_scikit_learn_does() -> None:
    from sklearn.linear_model import LogisticRegression

    from faultscape.uncertainty.methods.logistic import logistic_weights

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 3)) * [1, 5, 0.2] + [0, 3, -1]
    anomalous = rng.random(3000) < 1 / (1 + np.exp(-(scores @ [1.5, -0.2, 4] + 3)))
    wanted = LogisticRegression(C=1e6, max_iter=1000).fit(scores, anomalous).coef_[0]
    np.testing.assert_allclose(logistic_weights(scores, anomalous), wanted, rtol=2e-2, atol=1e-3)
    assert np.isfinite(logistic_weights(scores[:, :1], scores[:, 0] > 0)).all()  # parted wholly
    with refused(MetricError, "a logistic regression needs anomalous pixels and others"):
        logistic_weights(scores, np.ones(3000, bool))


def test_the_file_of_a_method_holds_all_of_it_and_hostile_ones_are_refused(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.method_files import MethodAbout, read_about
    from faultscape.uncertainty.methods.method import read, write

    about = MethodAbout("knn", {"k": 3, "printed": False}, ("layer",), "abc", ("tuned-with-ood",), more={"images": 4})
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
    with refused(ModelError, "there is no such fitted method"):
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


def trained(values, layer: str = "layer"):
    """A flow density of one layer, trained for a moment."""
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.flow_density import FlowDensity
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    plan = FlowPlan(steps=30, blocks=2, width=8, batch=64)
    flow = train_flow(values, plan)
    options = {**method_named("flow").options, "blocks": 2, "width": 8}
    return flow, FlowDensity.of([layer], options, [flow])


def test_the_normalised_likelihood_of_what_was_learnt_has_mean_0(torch) -> None:
    """S4 eq. 8."""
    values = torch.randn(1200, 6) @ torch.randn(6, 6)
    flow, method = trained(values)
    order = torch.from_numpy(np.random.default_rng(0).permutation(1200))
    learnt = values[order[240:]]  # of a tenth each the others chose and tested
    assert float(flow.normalised_nll(learnt).mean()) == pytest.approx(0, abs=1e-4)
    assert float(flow.normalised_nll(3 * learnt).mean()) > 0.5
    (grid,) = method.values([learnt.T.reshape(1, 6, 24, 40)], learnt)
    torch.testing.assert_close(grid.reshape(-1), flow.normalised_nll(learnt), rtol=1e-4, atol=1e-4)  # each cell its own
    with torch.no_grad():
        held = [float(flow.flow.nll(values[order[k : k + 120]]).mean()) for k in (0, 120)]
    assert [flow.chosen, flow.tested] == pytest.approx(held, rel=1e-4)


def test_a_flow_is_the_one_that_was_best_on_embeddings_it_did_not_learn(torch) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    values = torch.randn(150, 8)
    found = train_flow(values, FlowPlan(steps=400, rate=1e-2, blocks=4, width=64, batch=130))
    assert found.step < 400  # it learns so few by heart
    assert found.chosen > found.learnt
    with torch.no_grad():
        held = values[torch.from_numpy(np.random.default_rng(0).permutation(150))[:15]]
        assert float(found.flow.nll(held).mean()) == pytest.approx(found.chosen, rel=1e-4)


def test_layers_are_joined_by_their_minimum_or_by_weights(torch) -> None:
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.flow_density import FlowDensity

    flow, _ = trained(torch.randn(200, 4))
    options = {**method_named("flow").options, "blocks": 2, "width": 8}
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(1, 3, 5)).astype(np.float32) for _ in range(2)]
    least = FlowDensity.of(["a", "b"], options, [flow, flow])
    np.testing.assert_array_equal(least.score(values, (5, 3)), np.minimum(values[0], values[1])[0])
    joined = FlowDensity.of(["a", "b"], options, [flow, flow], np.array([2.0, -0.5]))
    for method in (joined, FlowDensity(["a", "b"], options, joined.tensors())):  # as it was, and as a file brings it back
        np.testing.assert_allclose(method.score(values, (5, 3)), 2 * values[0][0] - 0.5 * values[1][0], rtol=1e-5)


def test_distances_and_densities_of_a_grid_are_those_of_its_cells(torch) -> None:
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.class_distance import ClassDistance
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.mahalanobis import class_gaussians, mahalanobis_distances
    from faultscape.uncertainty.methods.neighbours import density_score, nearest, unit

    values, own = torch.randn(90, 3), torch.arange(90) % 2
    some = Embeddings(values, torch.nn.functional.one_hot(own).bool())
    grid = torch.randn(1, 3, 2, 5)
    cells = grid[0].reshape(3, 10).T
    for printed in (False, True):
        build = method_named("knn").build
        (score,) = build.fit(["layer"], [some], {"k": 4, "printed": printed}, np.arange(2)).values([grid], grid)
        expected = density_score(nearest(unit(cells), unit(values), 4)[0], printed=printed)
        torch.testing.assert_close(score.reshape(-1), expected)
    (score,) = ClassDistance.fit(["layer"], [some], {"shrink": 0.5}, np.arange(2)).values([grid], grid)
    expected = mahalanobis_distances(cells, *class_gaussians(values, own, 0.5))
    torch.testing.assert_close(score.reshape(-1), (expected / 3).sqrt())


def test_a_patch_with_void_pixels_is_of_no_single_class(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import draw

    labels = np.array([[0, 0, 1, 1], [0, 0, -1, 1]], np.int16)
    drawn = draw(torch.randn(3, 1, 2), labels, 2, 2, "key")
    assert drawn.classes.tolist() == [[True, False], [False, True]]
    assert drawn.only_class.tolist() == [0, -1]


def test_a_grid_whose_channels_come_last_is_turned_and_attention_is_none(torch) -> None:
    from faultscape.uncertainty.methods.embeddings import as_grid

    assert as_grid(torch.zeros(1, 8, 12, 96), (32, 48)).shape == (1, 96, 8, 12)
    assert as_grid(torch.zeros(1, 96, 8, 12), (32, 48)).shape == (1, 96, 8, 12)
    with refused(ModelError, r"the layer: gave \(1, 3, 24, 24\) for an image of 48x32; expected features"):
        as_grid(torch.zeros(1, 3, 24, 24), (32, 48))


def test_an_activation_in_place_does_not_change_what_a_layer_is_said_to_give(torch) -> None:
    from faultscape.prediction.sources.torch_pass import watched
    from faultscape.uncertainty.methods.layers import before_activation

    body = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(inplace=True), torch.nn.Conv2d(8, 2, 1)
    net, image = torch.nn.Sequential(*body).eval(), torch.randn(1, 3, 8, 12)
    assert before_activation(net, lambda: net(image), (8, 12)) == "1"
    with torch.no_grad(), watched(net, "net", ["1", "2:in"]) as seen:
        net(image)
    assert float(seen["1"].min()) < 0
    assert torch.equal(seen["1"], seen["2:in"])


def test_the_loss_of_a_prior_network_is_that_of_torchs_distributions(torch) -> None:
    """S4 eq. 3 and B.4: .1 of each divergence beside the cross-entropy, from the target to the network."""
    from torch.distributions import Dirichlet, kl_divergence

    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.losses import loss

    logits, labels = torch.randn(1, 4, 2, 3), torch.tensor([[[0, 3, -1], [-1, -100, 2]]])
    known, outside = labels >= 0, labels == -1
    said = Dirichlet(logits.movedim(1, -1).exp())
    target = torch.full((1, 2, 3, 4), 1.0).scatter(
        -1, labels.clamp_min(0)[..., None], 97.0
    )  # 100 (.01 a class, 1 - 3 x .01 its own)
    first = kl_divergence(Dirichlet(target), said)[known].mean()
    second = kl_divergence(Dirichlet(torch.ones(4)), said)[outside].mean()
    entropy = torch.nn.functional.cross_entropy(logits, labels.clamp_min(0), reduction="none")[known].mean()
    torch.testing.assert_close(loss(Doubt(logits), labels, name="dirichlet"), entropy + 0.1 * first + 0.1 * second)


def test_the_loss_of_an_outlier_head_weighs_known_and_void_pixels_alike(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.losses import loss

    logits, outlier = torch.randn(1, 3, 2, 3), torch.randn(1, 2, 3)
    labels = torch.tensor([[[0, 1, -1], [2, -100, 2]]])
    known, outside = labels >= 0, labels == -1
    entropy = torch.nn.functional.cross_entropy(logits, labels.clamp_min(0), reduction="none")[known].mean()
    softplus = torch.nn.functional.softplus
    apart = 0.5 * (softplus(outlier[known]).mean() + softplus(-outlier[outside]).mean())
    torch.testing.assert_close(loss(Doubt(logits, outlier=outlier), labels, name="outlier-head"), entropy + apart)


def test_a_file_whose_tensors_are_not_those_of_its_method_is_refused(torch, tmp_path: Path) -> None:
    from faultscape.prediction.doubt_methods.beside_network import built
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
    from faultscape.uncertainty.methods.standardised_logit import StandardisedMaxLogit

    rows = torch.randn(400, 3)
    rows[:, 2] -= 20
    rows[0, 2] = 9.0
    method = StandardisedMaxLogit.fit([], [Embeddings(rows, torch.ones(400, 3, dtype=torch.bool))], {}, np.arange(3))
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
        RealNVP(4, steps=1).eval().nll(torch.zeros(2, 3))
