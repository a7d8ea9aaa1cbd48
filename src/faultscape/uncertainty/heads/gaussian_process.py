"""A Gaussian process as a last layer: random features, a linear layer on them, and a Laplace approximation of
the posterior of its weights; alone, or with BatchEnsemble's members.

Conventions: phi(x) = s cos(W x' + b), x' the features at mean 0 and standard deviation 1 (``normalised``), W
~ Normal(0, 2 / D) and b uniform in [0, 2 pi) from the seed, never trained. s = sqrt(2 / F) for F random
features, so that the prior variance is 1; with ``scaled=False`` s is ``feature_scale``, for which the authors
tried 1 and 2, and the prior variance is s^2 F / 2. The likelihood is Gaussian, so that all classes share one
precision P = ridge I + sum phi phi^T, and the variance is ridge phi^T P^-1 phi. In use, logits are phi beta /
sqrt(1 + m v) with the mean-field factor m, before up-sampling; in training they are phi beta. P is summed
once over the training data after training (`fit.fit_covariance`), or updated during training with a
``momentum``: P <- m P + (1 - m) phi^T phi / n for the n cells of features in the batch, as the authors' code
does. Pixels without a label that counts (void, withheld, padding) do not contribute: a cell of features
counts by the share of its pixels that have one. Drawn members are linear layers beta_s ~ Normal(beta, ridge
P^-1) on the same features, so that they differ smoothly over an image; their variance is that of the
posterior itself, which m = pi / 8 approximates.
Source: Liu et al. 2020; Buchanan et al. 2022, section 2; with BatchEnsemble, Buchanan et al. 2022, section 3
(left there for later work).
"""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn

from faultscape.choices import FastStart
from faultscape.errors import ModelError
from faultscape.uncertainty.heads.batch_ensemble import SPREAD, fast_weights
from faultscape.uncertainty.heads.channels import Channels, Head, Start, is_exporting, whole_precision
from faultscape.uncertainty.heads.linear import linear_parameters

FEATURES = 1024
RIDGE = 1.0
MEAN_FIELD = 1.0
_ROWS = 1 << 14  # pixels whose random features are held at once


class GaussianProcessHead(Head):
    """Features (..., D) to logits (..., C), in use followed by the variance; with ``members``, to logits of
    members.

    >>> head = GaussianProcessHead(3, 2, features=64).eval()
    >>> held = head(torch.zeros(5, 3))
    >>> held.shape, bool((held[:, -1] - 1).abs().max() < 0.5)
    (torch.Size([5, 3]), True)
    """

    in_whole_precision = True
    kernel: Tensor
    phase: Tensor
    precision: Tensor
    root: Tensor
    noise: Tensor

    def __init__(
        self,
        dimensions: int,
        classes: int,
        start: Start | None = None,
        seed: int = 0,
        *,
        features: int = FEATURES,
        ridge: float = RIDGE,
        mean_field: float = MEAN_FIELD,
        momentum: float = 0.0,
        scaled: bool = True,
        feature_scale: float = 1.0,
        normalised: bool = True,
        wide_start: bool = False,
        members: int = 0,
        fast_start: FastStart = "normal",
        spread: float = SPREAD,
    ) -> None:
        super().__init__()
        del start  # weights on features do not carry over to random features
        self.dimensions = dimensions
        self.classes = classes
        self.members = members
        self.ridge = ridge
        self.mean_field = mean_field
        self.momentum = momentum
        self.normalised = normalised
        self.seed = seed
        self.size = (2 / features) ** 0.5 if scaled else feature_scale
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer(
            "kernel", torch.randn(features, dimensions, generator=generator) * (2 / dimensions) ** 0.5
        )
        self.register_buffer("phase", torch.rand(features, generator=generator) * 2 * math.pi)
        self.weight, bias = linear_parameters(features, classes, None, seed, wide=wide_start)
        count = max(1, members)
        self.bias = nn.Parameter(bias.detach().repeat(count, 1))
        if members:
            self.alpha = fast_weights(members, dimensions, fast_start, spread, generator)
            self.gamma = fast_weights(members, classes, fast_start, spread, generator)
        self.register_buffer(
            "precision", torch.eye(features, dtype=torch.float64).repeat(count, 1, 1) * ridge
        )
        self.register_buffer("root", torch.eye(features).repeat(count, 1, 1) / ridge**0.5)
        self.register_buffer("noise", torch.empty(0), persistent=False)
        self.gathering = False
        self.counted: Tensor | None = None  # (N, H, W): pixels of the next images that count; None for all
        self._waiting: Tensor | None = None  # sum over the parts of a batch so far
        self._cells = 0.0

    @property
    def channels(self) -> Channels:
        """Logits, in use with the variance and the requested members; if it has its own members, these
        instead of logits.
        """
        used = not self.training
        return Channels(
            self.classes, not self.members, self.members or (self.draws if used else 0), variance=used
        )

    def fast_parameters(self) -> list[nn.Parameter]:
        """Return alpha and gamma, if there are members."""
        return [self.alpha, self.gamma] if self.members else []

    def train(self, mode: bool = True) -> Self:
        """Switch between training and use; for use, apply the precision updated with a momentum."""
        if self.training and not mode and self.momentum:
            self.invert_precision()
        return super().train(mode)

    @property
    def beta(self) -> Tensor:
        """The weights (C, F) of phi. The trained weights are those of cos(W x' + b), so that training does
        not depend on the scale of phi.
        """
        return self.weight / self.size

    def random_features(self, features: Tensor, member: int = 0) -> Tensor:
        """Return phi (n, F) of features (n, D) for one member."""
        if self.members:
            features = features * self.alpha[member]
        if self.normalised:
            features = nn.functional.layer_norm(features, features.shape[-1:])
        return self.size * torch.cos(nn.functional.linear(features, self.kernel, self.phase))

    def variance(self, phi: Tensor, member: int = 0) -> Tensor:
        """Return the variance (n,) of the logits at phi (n, F), ridge phi^T P^-1 phi."""
        return self.ridge * nn.functional.linear(phi, self.root[member]).square().sum(-1)

    def forward(self, features: Tensor) -> Tensor:
        """Return the channels of features (..., D), in full precision."""
        with whole_precision(features.device):
            return self._channels_of(features.float())

    def _channels_of(self, features: Tensor) -> Tensor:
        flat = features.reshape(-1, features.shape[-1])
        if self.gathering or (self.training and self.momentum):
            shares = (
                None
                if self.counted is None
                else shares_of_cells(self.counted.to(flat), tuple(features.shape)).reshape(-1)
            )
            self._gather(flat.detach(), shares)
        whole = is_exporting()  # no blocks in an exported file, because their number would fix the image size
        made = self._block(flat) if whole else torch.cat([self._block(block) for block in flat.split(_ROWS)])
        return made.reshape(*features.shape[:-1], -1)

    def _block(self, features: Tensor) -> Tensor:
        logits = []
        variances = []
        drawn = []
        for member in range(max(1, self.members)):
            phi = self.random_features(features, member)
            weight = self.gamma[member][:, None] * self.beta if self.members else self.beta
            own = nn.functional.linear(phi, weight, self.bias[member])
            if not self.training:
                variance = self.variance(phi, member)
                own = own / torch.sqrt(1 + self.mean_field * variance)[:, None]
                variances.append(variance)
                if self.draws and not self.members:
                    drawn.append(
                        nn.functional.linear(phi, self._drawn_weights(), self.bias.repeat(1, self.draws)[0])
                    )
            logits.append(own)
        shown = [torch.stack(variances).mean(0)[:, None]] if variances else []
        return torch.cat([*logits, *drawn, *shown], dim=1)

    def _drawn_weights(self) -> Tensor:
        """Return the weights (T x C, F) of the drawn members."""
        count = self.draws * self.classes
        features = self.weight.shape[1]
        if len(self.noise) != count:
            generator = torch.Generator().manual_seed(self.seed + 2)
            self.noise = torch.randn(count, features, generator=generator).to(self.weight.device)
        return self.beta.repeat(self.draws, 1) + self.ridge**0.5 * self.noise @ self.root[0]

    @torch.no_grad()
    def _gather(self, features: Tensor, shares: Tensor | None) -> None:
        """Add the contribution of features (n, D) to the precision: their sum, or with a momentum their mean
        once the batch is complete.
        """
        total = torch.zeros_like(self.precision)
        weights = features.new_ones(len(features)) if shares is None else shares
        cells = float(weights.double().sum())
        for member in range(max(1, self.members)):
            for block, weight in zip(features.split(_ROWS), weights.split(_ROWS), strict=True):
                phi = self.random_features(block, member).double() * weight.double().sqrt()[:, None]
                total[member] += phi.T @ phi
        if self.gathering or not self.momentum:
            self.precision += total
        elif self._waiting is None:
            self._follow(total, cells)
        else:
            self._waiting += total
            self._cells += cells

    @torch.no_grad()
    def begin_batch(self) -> None:
        """Delay the update of the covariance until all parts of a batch were seen; discard a previous
        attempt.
        """
        self._waiting = torch.zeros_like(self.precision)
        self._cells = 0.0

    @torch.no_grad()
    def end_batch(self) -> None:
        """Update the covariance with the batch whose parts were seen."""
        if self._waiting is not None:
            self._follow(self._waiting, self._cells)
        self._waiting = None
        self._cells = 0.0

    def _follow(self, total: Tensor, cells: float) -> None:
        if cells:  # skip a batch without labelled pixels
            self.precision.mul_(self.momentum).add_(total, alpha=(1 - self.momentum) / cells)

    @torch.no_grad()
    def reset_precision(self) -> None:
        """Discard the data's contribution: the variance is the prior's again."""
        self.precision.copy_(torch.eye(self.precision.shape[-1], dtype=torch.float64) * self.ridge)
        self.invert_precision()

    @torch.no_grad()
    def invert_precision(self) -> None:
        """Apply the precision: root^T root = P^-1, by Cholesky in float64."""
        lower = _cholesky(self.precision)
        unit = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device).expand_as(lower)
        self.root.copy_(torch.linalg.solve_triangular(lower, unit, upper=False))


def processes_of(net: nn.Module) -> list[GaussianProcessHead]:
    """Return the Gaussian processes in a network."""
    return [module for module in net.modules() if isinstance(module, GaussianProcessHead)]


def shares_of_cells(counted: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the share of pixels that count in every cell of features (N, ..., D) of images (N, H, W): (N, h,
    w) for a grid, (N, n) for tokens in row order, (N,) for one answer per image.

    Errors: ModelError for features whose cells do not form a grid that fits the images.

    >>> counted = torch.tensor([[[1.0, 1.0, 0.0, 0.0]] * 2])
    >>> shares_of_cells(counted, (1, 2, 3)).tolist(), shares_of_cells(counted, (1, 3)).tolist()
    ([[1.0, 0.0]], [0.5])
    """
    tall, wide = counted.shape[1:]
    grid = (
        (1, 1)
        if len(shape) == 2
        else _grid(shape[1], tall / wide)
        if len(shape) == 3
        else (shape[1], shape[2])
    )
    if (
        shape[0] != len(counted)
        or len(shape) not in (2, 3, 4)
        or (len(shape) == 3 and not 0.8 < grid[1] / grid[0] / (wide / tall) < 1.25)
    ):
        raise ModelError(
            f"features of shape {shape} do not form a grid for {len(counted)} images of {wide}x{tall}, so"
            " pixels"
            " without a label cannot be left out of the covariance"
        )
    return nn.functional.adaptive_avg_pool2d(counted[:, None], grid).reshape(shape[:-1])


def _grid(cells: int, ratio: float) -> tuple[int, int]:
    """Return the (rows, columns) of a number of cells that come nearest to a ratio of height to width."""
    able = [rows for rows in range(1, cells + 1) if cells % rows == 0]
    rows = min(able, key=lambda rows: abs(math.log(rows * rows / cells / ratio)))
    return rows, cells // rows


def _cholesky(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of precisions (E, F, F). If a momentum has let the ridge fade so that one is
    singular, add a little of its mean diagonal. ModelError if that is not enough.
    """
    unit = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    size = precision.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    for share in (0.0, 1e-10, 1e-8, 1e-6):
        lower, failed = torch.linalg.cholesky_ex(precision + share * size * unit)
        if not failed.any():
            return lower
    raise ModelError(
        "the precision matrix of the Gaussian process is not finite or not positive definite: features are"
        " not finite, or a momentum let it fade"
    )
