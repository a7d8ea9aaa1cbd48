"""Prior networks, outlier heads, negative classes and their scores, against the distributions of torch."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.metrics.scores.trained_doubt import class_share, differential_entropy, outlier_share


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


@pytest.mark.parametrize("weights", [None, [1.0, 3.0, 0.5]])
def test_the_loss_of_uno_is_the_cross_entropy_over_the_classes_and_a_negative_one(torch, weights) -> None:
    """Delic et al. 2024: a mean over known pixels, and a mean over negative ones."""
    from faultscape.uncertainty.heads.channels import Doubt, without_negative
    from faultscape.uncertainty.training.losses import loss

    channels = torch.randn(2, 4, 2, 3)
    labels = torch.tensor([[[0, 1, -1], [2, -100, 2]], [[-1, -1, 0], [1, 1, 2]]])
    said = without_negative(Doubt(channels))
    told = None if weights is None else torch.tensor(weights)
    made = loss(said, labels, told, name="uno", outside_weight=0.3)
    entropy = torch.nn.functional.cross_entropy
    known = entropy(
        channels,
        labels.masked_fill(labels == -1, -100),
        None if told is None else torch.tensor([*weights, 1.0]),
    )
    negative = -channels.log_softmax(1)[:, 3][labels == -1].mean()
    torch.testing.assert_close(made, known + 0.3 * negative, rtol=1e-6, atol=1e-6)
    parts = sum(
        loss(
            without_negative(Doubt(channels[k : k + 1])), labels[k : k + 1], told, "uno", 0.3,
            of=counts(labels, told),
        )
        for k in range(2)
    )  # fmt: skip
    torch.testing.assert_close(parts, made)


def counts(labels, weights):
    from faultscape.uncertainty.training.losses import counts_of

    return counts_of(labels, weights, "uno", 4)


def test_the_score_of_uno_is_doubt_among_all_classes_and_the_negative_one_s_probability(torch) -> None:
    """Delic et al. 2024, plus 1; the probabilities of a softmax over K + 1 logits."""
    from dataclasses import replace

    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.metrics.scorers import score_pixels, scorer_named
    from faultscape.uncertainty.heads.channels import Doubt, without_negative

    channels = torch.randn(1, 5, 6, 7) * 4
    said = without_negative(Doubt(channels))
    p = channels[0].double().softmax(0).numpy()
    facts = facts_of(said.own[0].numpy(), (7, 6))
    facts = replace(facts, outlier=outlier_share(said.outlier.numpy(), (7, 6)))
    wanted = 1 - p[:4].max(0) + p[4]
    np.testing.assert_allclose(score_pixels(scorer_named("uno"), facts, classes=4), wanted, rtol=1e-5)
    np.testing.assert_allclose(score_pixels(scorer_named("outlier"), facts, classes=4), p[4], rtol=1e-5)
    assert (said.logits[0].numpy().argmax(0) == p[:4].argmax(0)).all()  # a label is never the negative class


def test_members_with_a_negative_class_have_the_mean_of_their_odds(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt, without_negative

    members = torch.randn(2, 3, 4, 5, 6)
    said = without_negative(Doubt(None, members))
    odds = torch.stack([without_negative(Doubt(members[:, t])).outlier for t in range(3)])
    torch.testing.assert_close(said.outlier, odds.mean(0))
    assert said.members.shape == (2, 3, 3, 5, 6)
