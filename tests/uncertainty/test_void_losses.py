"""Prior networks, outlier heads and their scores, against the distributions of torch."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.metrics.scores.trained_doubt import class_share, differential_entropy, outlier_share


@pytest.fixture
def torch():
    import torch

    torch.manual_seed(0)
    return torch


def test_divergences_and_entropies_of_dirichlets_are_those_of_torch(torch) -> None:
    from torch.distributions import Dirichlet, kl_divergence

    from faultscape.uncertainty import dirichlet

    logits, other = torch.randn(20, 5) * 2, torch.randn(20, 5)
    alpha, beta = dirichlet.concentrations(logits), dirichlet.concentrations(other)
    torch.testing.assert_close(
        dirichlet.divergence(alpha, beta),
        kl_divergence(Dirichlet(alpha), Dirichlet(beta)),
        rtol=1e-3,
        atol=1e-4,
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


def test_labels_of_a_prior_network_are_smoothed_in_both_readings_of_the_paper(torch) -> None:
    """S4 B.4 for 19 classes: "smoothed with .01 and scaled by 100"."""
    from faultscape.uncertainty.dirichlet import sharp

    for smoothing, own, other in (("each", 82, 1), ("shared", 99.0526, 0.0526)):
        target = sharp(torch.tensor([3]), 19, smoothing)[0]
        assert float(target[3]) == pytest.approx(own, abs=1e-3)
        assert torch.cat([target[:3], target[4:]]).tolist() == pytest.approx([other] * 18, abs=1e-4)
        assert float(target.sum()) == pytest.approx(100, abs=1e-3)
    assert torch.equal(sharp(torch.tensor([3]), 19), sharp(torch.tensor([3]), 19, "each"))


@pytest.mark.parametrize(("smoothing", "own", "other"), [("each", 97.0, 1.0), ("shared", 99.25, 0.25)])
def test_the_loss_of_a_prior_network_is_that_of_torchs_distributions(
    torch, smoothing: str, own: float, other: float
) -> None:
    """S4 eq. 3 and B.4: .1 of each divergence beside the cross-entropy, from the target to the network."""
    from torch.distributions import Dirichlet, kl_divergence

    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.losses import loss

    logits, labels = torch.randn(1, 4, 2, 3), torch.tensor([[[0, 3, -1], [-1, -100, 2]]])
    known, outside = labels >= 0, labels == -1
    said = Dirichlet(logits.movedim(1, -1).exp())
    target = torch.full((1, 2, 3, 4), other).scatter(-1, labels.clamp_min(0)[..., None], own)
    first = kl_divergence(Dirichlet(target), said)[known].mean()
    second = kl_divergence(Dirichlet(torch.ones(4)), said)[outside].mean()
    entropy = torch.nn.functional.cross_entropy(logits, labels.clamp_min(0), reduction="none")[known].mean()
    torch.testing.assert_close(
        loss(Doubt(logits), labels, name="dirichlet", smoothing=smoothing),
        entropy + 0.1 * first + 0.1 * second,
    )


def test_the_loss_of_an_outlier_head_weighs_known_and_void_pixels_alike(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.losses import loss

    logits, outlier = torch.randn(1, 3, 2, 3), torch.randn(1, 2, 3)
    labels = torch.tensor([[[0, 1, -1], [2, -100, 2]]])
    known, outside = labels >= 0, labels == -1
    entropy = torch.nn.functional.cross_entropy(logits, labels.clamp_min(0), reduction="none")[known].mean()
    softplus = torch.nn.functional.softplus
    apart = 0.5 * (softplus(outlier[known]).mean() + softplus(-outlier[outside]).mean())
    torch.testing.assert_close(
        loss(Doubt(logits, outlier=outlier), labels, name="outlier-head"), entropy + apart
    )
