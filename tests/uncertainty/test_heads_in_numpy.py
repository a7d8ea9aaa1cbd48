"""Heads against their equations in plain NumPy, with weights that are all different, so that no term can go
missing.
"""

from __future__ import annotations

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError
from faultscape.uncertainty.catalogue import head_named
from refusals import refused

pytestmark = pytest.mark.usefixtures("no_gradients")

D, C, F = 6, 4, 32


def head_of(torch, name: str, **options):
    """A head whose parameters are all away from where they start."""
    told = {**head_named(name).options, **options}
    head = head_named(name).build(D, C, None, 0, **told).eval()
    for parameter in head.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return head


def points(torch, count: int = 50):
    return 3 + 2 * torch.randn(count, D)


def softmax(values: np.ndarray) -> np.ndarray:
    shares = np.exp(values - values.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def phi_of(
    head, x: np.ndarray, member: int | None = None, *, scaled: bool = True, scale: float = 1.0
) -> np.ndarray:
    x = x if member is None else x * head.alpha[member].numpy()
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return (np.sqrt(2 / F) if scaled else scale) * np.cos(x @ head.kernel.numpy().T + head.phase.numpy())


def turned():
    import torch

    class Turned(torch.nn.Module):
        def forward(self, values):
            return values.transpose(1, 2)

    return Turned()


@pytest.mark.parametrize(("scaled", "scale"), [(True, 1.0), (False, 1.0), (False, 2.0)])
def test_the_gaussian_process_is_its_equations(torch, scaled: bool, scale: float) -> None:
    told = {"scaled": scaled, "feature_scale": scale}
    head, seen, x = (
        head_of(torch, "gp", features=F, ridge=4.0, mean_field=2.5, **told),
        points(torch, 80),
        points(torch),
    )
    fs.uncertainty.fit_covariance(head, [seen[:30], seen[30:]])
    before, phi = (phi_of(head, one.numpy(), scaled=scaled, scale=scale) for one in (seen, x))
    variance = 4.0 * np.einsum("nf,fg,ng->n", phi, np.linalg.inv(4.0 * np.eye(F) + before.T @ before), phi)
    size = np.sqrt(2 / F) if scaled else scale
    raw = phi @ (head.weight.numpy() / size).T + head.bias[0].numpy()
    said = head(x).numpy()
    np.testing.assert_allclose(said[:, C], variance, rtol=1e-3)
    np.testing.assert_allclose(said[:, :C], raw / np.sqrt(1 + 2.5 * variance)[:, None], rtol=1e-3, atol=1e-4)
    head.draws = 3
    drawn = head(x).numpy()[:, C:-1].reshape(len(x), 3, C)
    betas = head.weight.numpy() / size + 2.0 * (head.noise @ head.root[0]).numpy().reshape(3, C, F)
    np.testing.assert_allclose(
        drawn, np.einsum("nf,tcf->ntc", phi, betas) + head.bias[0].numpy(), rtol=1e-3, atol=1e-3
    )


def test_random_features_are_those_of_a_radial_kernel() -> None:
    head = head_named("gp").build(64, C, None, 0, features=4096)
    assert float(head.kernel.var()) == pytest.approx(2 / 64, rel=0.02)
    assert float(head.phase.max()) == pytest.approx(2 * np.pi, abs=0.02)


def test_before_anything_was_seen_the_variance_is_the_priors_whatever_the_ridge(torch) -> None:
    for ridge in (0.25, 4.0):
        head, x = head_of(torch, "gp", features=F, ridge=ridge), points(torch)
        np.testing.assert_allclose(head(x)[:, C].numpy(), (phi_of(head, x.numpy()) ** 2).sum(1), rtol=1e-4)
    assert float(head_of(torch, "gp", features=4096, ridge=4.0)(points(torch))[:, C].mean()) == pytest.approx(
        1, rel=0.05
    )


def test_a_batch_ensemble_of_gaussian_processes_is_one_for_each_member(torch) -> None:
    head = head_of(torch, "batch-ensemble+gp", features=F, ridge=2.0, mean_field=1.5, members=3)
    seen, x = points(torch, 60), points(torch)
    fs.uncertainty.fit_covariance(head, [seen])
    logits, variances = [], []
    for member in range(3):
        before, phi = (phi_of(head, values.numpy(), member) for values in (seen, x))
        variance = 2.0 * np.einsum(
            "nf,fg,ng->n", phi, np.linalg.inv(2.0 * np.eye(F) + before.T @ before), phi
        )
        beta = head.gamma[member].numpy()[:, None] * head.weight.numpy() / np.sqrt(2 / F)
        logits.append((phi @ beta.T + head.bias[member].numpy()) / np.sqrt(1 + 1.5 * variance)[:, None])
        variances.append(variance)
    said = head(x).numpy()
    np.testing.assert_allclose(said[:, :-1].reshape(len(x), 3, C), np.stack(logits, 1), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(said[:, -1], np.mean(variances, 0), rtol=1e-3)


def test_a_momentum_follows_the_mean_of_the_cells_however_a_batch_is_parted(torch) -> None:
    images = 3 + 2 * torch.randn(4, 2, 3, D)
    whole, parted, own = (
        head_named("gp").build(D, C, None, 0, features=F, momentum=0.9, ridge=2.0).train() for _ in range(3)
    )
    phi = phi_of(own, images.reshape(-1, D).numpy())
    wanted = 0.9 * 2.0 * np.eye(F) + 0.1 * phi.T @ phi / len(phi)
    own(images)
    whole.begin_batch()
    whole(images)
    whole.end_batch()
    parted.begin_batch()
    parted(images)  # an attempt that memory was too short for
    parted.begin_batch()
    for part in images.split(1):
        parted(part)
    parted.end_batch()
    for head in (own, whole, parted):
        np.testing.assert_allclose(head.precision[0].numpy(), wanted, rtol=1e-5, atol=1e-6)
    some = torch.zeros(4, 6)  # pixels of each image in the order of its cells
    some[0], some[1, :2], some[1, 2] = 1, 1, 1
    shares = some.reshape(4, 6, 1).mean(2)[:, :6].numpy().reshape(-1)
    own.counted = some[:, None]
    own(images.reshape(4, 1, 6, D))
    wanted = 0.9 * wanted + 0.1 * (phi * shares[:, None]).T @ phi / shares.sum()
    np.testing.assert_allclose(own.precision[0].numpy(), wanted, rtol=1e-5, atol=1e-6)
    own.counted = torch.zeros(4, 1, 6)  # nothing that counts changes nothing
    own(images.reshape(4, 1, 6, D))
    np.testing.assert_allclose(own.precision[0].numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_what_has_no_label_that_counts_stays_unknown_to_the_covariance(torch) -> None:
    layers = torch.nn.Conv2d(3, D, 1), torch.nn.ReLU(), torch.nn.Conv2d(D, C, 1)
    net = fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "gp", features=256).eval()
    image = torch.zeros(1, 3, 8, 8)
    image[..., :4], image[..., 4:] = (
        torch.tensor([3.0, 0.0, 0.0])[:, None, None],
        torch.tensor([0.0, 3.0, 0.0])[:, None, None],
    )
    counted = torch.zeros(1, 16, 16, dtype=torch.bool)
    counted[..., :8] = True
    fs.uncertainty.fit_covariance(net, [image])
    both = net(image).variance[0, 0]
    fs.uncertainty.fit_covariance(net, [(image, counted)])
    learnt = net(image).variance[0, 0]
    assert float(both.max()) < 0.05
    assert float(learnt[0]) < 0.05
    assert float(learnt[-1]) > 10 * float(both[-1])


def test_labels_of_another_shape_than_the_image_that_is_shown_lie_on_its_grid(torch) -> None:
    """A network of tokens sees a wide image as a square."""
    layers = (
        torch.nn.Conv2d(3, D, 4, 4),
        torch.nn.Flatten(2),
        turned(),
        torch.nn.Linear(D, C),
        turned(),
        torch.nn.Unflatten(2, (6, 6)),
    )
    net = fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "gp", features=16).eval()
    counted = torch.zeros(1, 24, 48, dtype=torch.bool)
    counted[..., :24] = True
    held: list = []
    head = net.head
    before = head._gather
    head._gather = lambda features, shares: held.append(shares) or before(features, shares)
    fs.uncertainty.fit_covariance(net, [(torch.rand(1, 3, 24, 24), counted)])
    torch.testing.assert_close(held[0].reshape(6, 6), (torch.arange(6) < 3).float().expand(6, 6))


def test_the_cells_of_tokens_are_found_by_the_shape_of_the_image(torch) -> None:
    from faultscape.uncertainty.heads.gaussian_process import shares_of_cells

    counted = torch.rand(2, 32, 48) < 0.4
    cells = counted.float().reshape(2, 4, 8, 6, 8).mean((2, 4))
    torch.testing.assert_close(shares_of_cells(counted.float(), (2, 4, 6, D)), cells)
    torch.testing.assert_close(shares_of_cells(counted.float(), (2, 24, D)), cells.flatten(1))
    with refused(ModelError, r"features of shape \(2, 25, 6\) do not form a grid for 2 images of 48x32"):
        shares_of_cells(counted.float(), (2, 25, D))
    with refused(ModelError, r"features of shape \(6, 24, 6\) do not form a grid for 2 images"):
        shares_of_cells(counted.float(), (6, 24, D))


def test_a_batch_ensemble_is_its_equation_and_its_mean_is_of_probabilities(torch) -> None:
    from faultscape.uncertainty.heads.channels import mean_of_members

    head, x = head_of(torch, "batch-ensemble", members=3), points(torch)
    each = [
        ((x.numpy() * head.alpha[e].numpy()) @ head.weight.numpy().T) * head.gamma[e].numpy()
        + head.bias[e].numpy()
        for e in range(3)
    ]
    said = head(x).reshape(len(x), 3, C)
    np.testing.assert_allclose(said.numpy(), np.stack(each, 1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        mean_of_members(said).exp().numpy(), softmax(np.stack(each, 1)).mean(1), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(head.start()[1].numpy(), head.bias.numpy().mean(0), rtol=1e-6)


@pytest.mark.slow
def test_random_signs_are_as_often_positive_as_they_are_told_and_each_vector_has_its_own() -> None:
    head = head_named("batch-ensemble").build(5000, 5000, None, 0, members=2, fast_start="signs", spread=0.8)
    assert float((head.alpha == 1).float().mean()) == pytest.approx(0.8, abs=0.02)
    assert float((head.alpha == head.gamma).float().mean()) == pytest.approx(0.68, abs=0.03)


@pytest.mark.parametrize(("shared", "efficient"), [(False, False), (True, False), (False, True)])
def test_the_heteroscedastic_head_is_its_equations(torch, shared: bool, efficient: bool) -> None:
    told = {"shared_noise": shared, "efficient": efficient}
    head = head_of(torch, "heteroscedastic", factors=3, samples=40, temperature=0.5, **told)
    head.location.mul_(6)  # so that some probabilities are below the floor
    x = points(torch)
    location = x.numpy() @ head.location.numpy().T + head.location_bias.numpy()
    factors = x.numpy() @ head.factor.numpy().T + head.factor_bias.numpy()
    if efficient:  # v(x) times the rows of one V
        factors = factors[:, :, None] * head.shared_factor.numpy()
        assert head.factor.numel() + head.shared_factor.numel() == C * D + C * 3
    factors = factors.reshape(len(x), C, 3)
    scale = np.log1p(np.exp(x.numpy() @ head.scale.numpy().T + head.scale_bias.numpy())) + 1e-3
    assert head.of_classes.shape == (40, 1 if shared else C)
    drawn = location[:, None] + np.einsum("nck,sk->nsc", factors, head.of_factors.numpy())
    drawn = drawn + scale[:, None] * head.of_classes.numpy()[None]
    wanted = np.log(np.maximum(softmax(drawn / 0.5).mean(1), 1e-7))
    assert wanted.min() == pytest.approx(np.log(1e-7), rel=1e-6)  # the floor is reached
    head.draws = 4
    said = head(x).numpy()
    np.testing.assert_allclose(said[:, :C], wanted, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(said[:, C:].reshape(len(x), 4, C), drawn[:, :4] / 0.5, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(head._mean_of_draws(*head.noise(x)).numpy(), wanted, rtol=1e-3, atol=1e-3)
