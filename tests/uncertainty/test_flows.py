"""Flows against autograd, plain twins and zuko: their likelihood, their training, and layers joined."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from faultscape.errors import MetricError, ModelError
from flipped_bits import flip
from refusals import refused


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
        assert float(flow(row[None])[1].detach()) == pytest.approx(
            float(torch.linalg.slogdet(jacobian)[1]), abs=1e-10
        )


def test_the_permutations_and_the_start_of_a_flow_follow_from_its_seed(torch) -> None:
    from faultscape.uncertainty.methods.flow import RealNVP

    first = RealNVP(6, 3, 8, seed=4).state_dict()
    torch.manual_seed(9)
    torch.testing.assert_close(RealNVP(6, 3, 8, seed=4).state_dict(), first)
    assert sorted(first["orders"][0].tolist()) == [*range(6)]
    assert not torch.equal(RealNVP(6, 3, 8, seed=5).state_dict()["orders"], first["orders"])


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
    torch.testing.assert_close(
        flow.nll(rows), -NormalizingFlow(ComposedTransform(*parts), base).log_prob(rows)
    )


@pytest.mark.parametrize(("dimensions", "depth"), [(5, 1), (8, 2), (2, 1)])
def test_a_flow_in_use_says_what_its_plain_twin_says(torch, dimensions: int, depth: int) -> None:
    from faultscape.uncertainty.methods.flow_density import FixedFlow

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
    torch.testing.assert_close(
        latent.sort(1).values, ((rows - flow.centre) / flow.spread).sort(1).values, rtol=1e-3, atol=1e-4
    )


@pytest.mark.slow
def test_the_likelihood_of_gaussian_data_comes_near_its_entropy(torch) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    mix = torch.eye(3) + 0.5 * torch.randn(3, 3)
    entropy = 1.5 * (1 + math.log(2 * math.pi)) + float(torch.linalg.slogdet(mix)[1])
    made = train_flow(
        torch.randn(4000, 3) @ mix.T, FlowPlan(steps=250, rate=3e-3, batch=256, blocks=4, width=16)
    )
    assert made.tested == pytest.approx(entropy, abs=0.15)
    assert made.chosen == pytest.approx(entropy, abs=0.15)


def stopping(ticks: int) -> Callable[[int], None]:
    """What a training calls at each step, and which kills it once there were so many."""
    steps = iter(range(ticks))

    def stop(number: int) -> None:
        for _ in range(number):
            if next(steps, None) is None:
                raise KeyboardInterrupt

    return stop


def assert_same(torch, one, other) -> None:
    assert (one.step, one.chosen, one.learnt) == (other.step, other.chosen, other.learnt)
    for name, value in other.flow.state_dict().items():
        assert torch.equal(value, one.flow.state_dict()[name]), name


def test_a_flow_that_was_killed_goes_on_to_the_same_flow(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    rows, plan = torch.randn(400, 3), FlowPlan(steps=40, batch=32, blocks=2, width=8)
    whole = train_flow(rows, plan)
    with pytest.raises(KeyboardInterrupt):
        train_flow(rows, plan, tmp_path / "flow", "key", tick=stopping(27))
    again = train_flow(rows, plan, tmp_path / "flow", "key")
    assert_same(torch, again, whole)
    assert not (tmp_path / "flow").exists()


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["", "best"])
def test_a_flow_whose_checkpoints_have_a_flipped_bit_ends_as_the_same_flow(
    torch, tmp_path: Path, damaged: str
) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow
    from faultscape.uncertainty.training import checkpoints

    rows = torch.cat([torch.ones(200, 1), torch.randn(200, 3)], 1)
    plan = FlowPlan(40, rate=1e-2, batch=32, blocks=2, width=8)
    whole = train_flow(rows, plan)
    assert whole.step < 26  # the best flow is older than the last checkpoint
    with pytest.raises(KeyboardInterrupt):
        train_flow(rows, plan, tmp_path / "flow", "key", tick=stopping(27))
    held = checkpoints.found(tmp_path / "flow" / damaged)
    for path in held if damaged else held[-1:]:
        flip(path)
    again = train_flow(rows, plan, tmp_path / "flow", "key")
    assert_same(torch, again, whole)
    assert torch.equal(torch.as_tensor(again.channels), torch.as_tensor(whole.channels))


def test_a_flow_needs_embeddings_and_numbers(torch) -> None:
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    with refused(MetricError, r"20 embeddings of 3 numbers; a flow needs 100 or more"):
        train_flow(torch.randn(20, 3), FlowPlan(steps=1))
    with refused(ModelError, r"the flow's loss is nan at step 2"):
        train_flow(torch.randn(200, 3), FlowPlan(steps=2, rate=math.inf, blocks=1))


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


def trained(values, layer: str = "layer"):
    """A flow density of one layer, trained for a moment."""
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.flow_density import FlowDensity
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    plan = FlowPlan(steps=30, blocks=2, width=8, batch=64)
    flow = train_flow(values, plan)
    options = {**method_named("flow").options, "blocks": 2, "width": 8}
    return flow, FlowDensity.of([layer], options, [flow])


def test_eq_8_takes_the_minimum_of_what_is_printed_and_divides_by_features_on_request(torch) -> None:
    """S4 eq. 8 has no division; divided, the minimum over a wide and a narrow layer is another one."""
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.flow_density import FlowDensity

    wide, narrow = torch.randn(1200, 24), torch.randn(1200, 3)
    flows = [trained(values)[0] for values in (wide, narrow)]
    asked = [4 * wide[:20], 2 * narrow[:20]]
    own = [
        (flow.flow.nll(values) - flow.learnt).detach().numpy()
        for flow, values in zip(flows, asked, strict=True)
    ]
    grids = [values.T.reshape(1, -1, 4, 5) for values in asked]
    for per_feature, units in ((False, (1, 1)), (True, (24, 3))):
        options = {**method_named("flow").options, "blocks": 2, "width": 8, "per_feature": per_feature}
        made = FlowDensity.of(["a", "b"], options, flows)
        score = made.score([value[0].numpy() for value in made.values(grids, grids[0])], (5, 4))
        parts = [one / unit for one, unit in zip(own, units, strict=True)]
        np.testing.assert_allclose(score.ravel(), np.minimum(*parts), rtol=1e-3, atol=1e-3)
    assert method_named("flow").options["per_feature"] is False


def test_the_normalised_likelihood_of_what_was_learnt_has_mean_0(torch) -> None:
    """S4 eq. 8."""
    values = torch.randn(1200, 6) @ torch.randn(6, 6)
    flow, method = trained(values)
    order = torch.from_numpy(np.random.default_rng(0).permutation(1200))
    learnt = values[order[240:]]  # of a tenth each the others chose and tested
    assert float(flow.normalised_nll(learnt).mean()) == pytest.approx(0, abs=1e-4)
    assert float(flow.normalised_nll(3 * learnt).mean()) > 3  # nats, of six features
    (grid,) = method.values([learnt.T.reshape(1, 6, 24, 40)], learnt)
    # each cell its own
    torch.testing.assert_close(grid.reshape(-1), flow.normalised_nll(learnt), rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        held = [float(flow.flow.nll(values[order[k : k + 120]]).mean()) for k in (0, 120)]
    assert [flow.chosen, flow.tested] == pytest.approx(held, rel=1e-4)


@pytest.mark.slow
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
    for method in (joined, FlowDensity(["a", "b"], options, joined.tensors())):
        # as it was, and as a file brings it back
        np.testing.assert_allclose(
            method.score(values, (5, 3)), 2 * values[0][0] - 0.5 * values[1][0], rtol=1e-5
        )


def test_channels_that_never_vary_are_left_out(torch) -> None:
    """A batch norm whose weight is 0, or an activation that is always off: such a channel has no density, and
    a small number in it must not outweigh all others.
    """
    from faultscape.uncertainty.methods.flow_density import FlowDensity
    from faultscape.uncertainty.methods.flow_fit import FlowPlan, train_flow

    values = torch.randn(600, 6, generator=torch.Generator().manual_seed(0))
    held = torch.cat([values[:, :3], torch.full((600, 1), 0.7), values[:, 3:], torch.zeros(600, 1)], dim=1)
    plan = FlowPlan(steps=30, blocks=4, width=8, batch=64)
    made, without = train_flow(held, plan), train_flow(values, plan)
    assert made.channels.tolist() == [0, 1, 2, 4, 5, 6]
    assert torch.equal(made.normalised_nll(held), without.normalised_nll(values))
    other = held.clone()
    other[:, 3], other[:, 7] = 0.1, 1.0
    assert torch.equal(made.normalised_nll(other), made.normalised_nll(held))
    options = {"epsilon": 0.0, "blocks": 4, "width": 8, "depth": 1, "per_feature": False}
    method = FlowDensity.of(["a"], options, [made])
    grid = held[:12].T.reshape(1, 8, 3, 4)
    np.testing.assert_allclose(
        method.values([grid], grid)[0].ravel(), made.normalised_nll(held[:12]), rtol=1e-4, atol=1e-5
    )
    again = FlowDensity(["a"], options, method.tensors())
    assert torch.equal(again.values([grid], grid)[0], method.values([grid], grid)[0])
    with refused(MetricError, "1 of 3 channels vary; a flow needs 2 or more: choose another layer"):
        train_flow(torch.cat([values[:, :1], torch.zeros(600, 2)], dim=1), plan)


@pytest.mark.usefixtures("torch")
def test_a_method_without_options_is_that_of_arrays_without_options() -> None:
    from faultscape.uncertainty.methods.catalogue import method_named
    from faultscape.uncertainty.methods.flow_fit import FlowPlan
    from faultscape.uncertainty.methods.mahalanobis import SHRINK

    options = method_named("flow").options
    assert {"seed": 0, **{key: options[key] for key in vars(FlowPlan()) if key != "seed"}} == vars(FlowPlan())
    assert method_named("mahalanobis").options["shrink"] == SHRINK
