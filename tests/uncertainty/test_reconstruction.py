"""The reconstruction of features: its error and its loss against plain NumPy, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from made_methods import Listed


def test_the_error_is_that_of_ssim_over_windows_of_five_cells(torch) -> None:
    from faultscape.uncertainty.methods.reconstruction import error_of

    rng = np.random.default_rng(0)
    made, given = rng.normal(size=(2, 1, 3, 7, 9))
    c1, c2 = (0.01 * 6) ** 2, (0.03 * 6) ** 2
    wanted = np.zeros((7, 9))
    for y, x in np.ndindex(wanted.shape):
        rows, columns = slice(max(0, y - 2), y + 3), slice(max(0, x - 2), x + 3)
        for channel in range(3):
            a, b = (one[0, channel, rows, columns].ravel() for one in (made, given))
            of_means = (2 * a.mean() * b.mean() + c1) / (a.mean() ** 2 + b.mean() ** 2 + c1)
            of_deviations = (2 * np.cov(a, b, bias=True)[0, 1] + c2) / (a.var() + b.var() + c2)
            wanted[y, x] += (1 - (of_means + of_deviations) / 2) / 2 / 3
    found = error_of(torch.from_numpy(made), torch.from_numpy(given))[0].numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_loss_is_that_of_its_definition(torch) -> None:
    from faultscape.uncertainty.methods.reconstruction import reconstruction_loss

    rng = np.random.default_rng(0)
    error, score = rng.random((2, 3, 4)), rng.normal(0, 3, (2, 3, 4))
    labels = rng.choice([0, 1, 255], (2, 3, 4))
    share = 1 / (1 + np.exp(-score))
    on_known, on_object = labels == 0, labels == 1
    of_error = error[on_known].mean() + (1 - error[on_object]).mean()
    of_score = -np.log(np.where(on_object, share, 1 - share))[on_known | on_object].mean()
    given = torch.from_numpy(error), torch.from_numpy(score), torch.from_numpy(labels)
    counts = int(on_known.sum()), int(on_object.sum())
    assert float(reconstruction_loss(*given, *counts)) == pytest.approx(of_error + of_score, abs=1e-6)
    alone = reconstruction_loss(given[0], None, given[2], *counts)
    assert float(alone) == pytest.approx(error[on_known].mean(), abs=1e-6)


def examples_of(torch, *, objects: bool):
    """Images of 8 x 12 cells whose fine features follow from the coarse ones, except in an object."""
    from faultscape.uncertainty.methods.block_fit import Grids

    mix = torch.randn(4, 3)

    def image() -> Grids:
        anomaly = np.zeros((8, 12), np.uint8)
        anomaly[2:6, 4:8] = objects
        coarse = torch.randn(3, 4, 6)
        fine = torch.einsum("df,fhw->dhw", mix, coarse.repeat_interleave(2, 1).repeat_interleave(2, 2))
        other = torch.where(torch.from_numpy(anomaly) == 1, torch.randn(4, 8, 12) * 2, fine)
        return Grids.of([coarse, other], torch.randn(3, 8, 12).numpy(), anomaly)

    return Listed([image() for _ in range(8)])


@pytest.mark.slow
@pytest.mark.parametrize("objects", [True, False])
def test_what_does_not_follow_from_the_coarse_layer_scores_high(torch, objects: bool) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.reconstruction import Reconstruction

    plan, options = BlockPlan(150, 1e-2, 4), {"width": 16}
    examples = examples_of(torch, objects=objects)
    made, _ = Reconstruction.train(["coarse", "fine"], options, examples, plan, negatives=objects)
    torch.manual_seed(0)
    shown = examples_of(torch, objects=True)  # the same mix
    gaps = []
    for number in range(len(shown)):
        (part,) = shown(number)
        features, logits, labels = part.shown("cpu")
        (score,) = made.values(features, logits)
        gaps.append(float(score[0, 0][labels[0] == 1].mean() - score[0, 0][labels[0] == 0].mean()))
        again = Reconstruction(["coarse", "fine"], options, made.tensors())
        assert torch.equal(again.values(features, logits)[0], score)
    assert min(gaps) > 0


def test_without_objects_error_and_energy_count_as_much(torch) -> None:
    from faultscape.uncertainty.methods.block_fit import BlockPlan
    from faultscape.uncertainty.methods.reconstruction import Reconstruction

    examples = examples_of(torch, objects=False)
    plan = BlockPlan(2, 1e-3, 2)
    made, _ = Reconstruction.train(["coarse", "fine"], {"width": 4}, examples, plan, negatives=False)
    scores, parts = [], []
    for number in range(len(examples)):
        (part,) = examples(number)
        features, logits, _ = part.shown("cpu")
        scores.append(made.values(features, logits)[0].numpy().ravel())
        energy = -torch.logsumexp(logits, 1)
        parts.append([made.block.error(features, logits).numpy().ravel(), energy.numpy().ravel()])
    values = np.concatenate(parts, axis=1).astype(float)
    standard = (values - values.mean(1, keepdims=True)) / values.std(1, keepdims=True)
    np.testing.assert_allclose(np.concatenate(scores), standard.sum(0), atol=1e-4)
