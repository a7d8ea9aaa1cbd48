"""Facts about each pixel's class probabilities, computed in one pass without holding the probabilities;
confidence and every scorer are made from them.

Conventions: scores are (C, h, w) float32 of any size: logits, or, for a ``marginal`` network, sums of class x
mask. The order is the same everywhere: bilinear to the wanted size (width, height), softmax, mean over
members if there are several, then the score; a score is never resized. Facts are (H, W) float32. Values close
to 0 are summed from small terms, so that pixels tie only where their scores are equal: ``others`` equals 1 -
winner but is not computed from it. The generalised entropy needs a second pass, made only when asked for.

``scores`` (C, h, w) are the output of one network. ``members`` are the scores of each member.

Source: Blum et al. 2021, eq. 1 and 2; Buchanan et al. 2022 (maximum softmax probability); Liu et al. 2023
(generalised entropy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.maps.winners import OnDevice, between, enlarged, finite

_AT_ONCE = 1 << 20  # probabilities of all members held at once
EXPONENT = 0.1  # of the generalised entropy (Liu et al. 2023, section 4)


@dataclass(frozen=True, eq=False)
class PixelFacts:
    """Facts about each pixel's class probabilities, (H, W) float32 each: arrays, or what stands for them
    where scores lie on a device.

    ``winner`` is the largest probability, ``second`` the next, ``others`` the sum of all but the largest,
    ``entropy`` in nats (Blum et al. 2021, eq. 1). For logits, ``top`` is the largest and ``log_sum`` the
    logarithm of the sum of their exponentials; None otherwise. For several members, ``labels`` is the class
    of the largest mean probability, ``predictive`` the entropy of the mean, ``expected`` the mean of the
    members' entropies and ``information`` the mutual information, predictive - expected (Blum et al. 2021,
    eq. 2), computed without a difference; ``members`` is their number T. Few members make the information too
    small, by about its T-th part, because their own mean stands for the mean of all. ``variance`` is that of
    the logits, for a network that provides it (Buchanan et al. 2022, Gaussian process), ``outlier`` the
    probability of an outlier, or of the negative class, for a network that was trained with one.
    ``generalised`` computes the sum over all classes of (p (1 - p)) ^ .1 (Liu et al. 2023; of 1000 classes
    they take the 100 likeliest, a label map has fewer).
    """

    winner: np.ndarray
    second: np.ndarray
    others: np.ndarray
    entropy: np.ndarray
    top: np.ndarray | None = None
    log_sum: np.ndarray | None = None
    labels: np.ndarray | None = None
    predictive: np.ndarray | None = None
    expected: np.ndarray | None = None
    information: np.ndarray | None = None
    variance: np.ndarray | None = None
    outlier: np.ndarray | None = None
    members: int = 0
    generalised: Callable[[], np.ndarray] | None = None

    def as_arrays(self) -> PixelFacts:
        """Return these facts as arrays of NumPy, copied from the device if they are there."""
        there = {name: value for name, value in vars(self).items() if isinstance(value, OnDevice)}
        return replace(self, **{name: np.asarray(value) for name, value in there.items()})


def facts_of(scores: np.ndarray | OnDevice, size: tuple[int, int], *, marginal: bool = False) -> PixelFacts:
    """Return the facts of every pixel of scores (C, h, w) at ``size`` (width, height); MetricError for other
    shapes.

    >>> facts = facts_of(np.log(np.array([[[0.7]], [[0.2]], [[0.1]]], np.float32)), (1, 1))
    >>> [round(float(values[0, 0]), 4) for values in (facts.winner, facts.others, facts.entropy)]
    [0.7, 0.3, 0.8018]
    """
    sums = scores.softmax_sums(size, marginal=marginal) if isinstance(scores, OnDevice) else None
    if sums is not None:
        top, second, others, spread = sums
    else:
        scores = finite(checked_arrays.numbers(scores, "scores", MetricError, "C x h x w"))
        top, second, others, spread = np.empty((4, size[1], size[0]), np.float32)
        rows = between(scores.shape[1], size[1])
        columns = between(scores.shape[2], size[0])
        _kernels().softmax_sums(scores, *rows, *columns, marginal, top, second, others, spread)
    total = 1 + others
    more = np.log1p(others)
    held = None if marginal else top
    return PixelFacts(
        1 / total,
        second / total,
        others / total,
        more + spread / total,
        held,
        None if held is None else held + more,
        generalised=partial(_generalised, scores, size, marginal=marginal),
    )


def facts_of_members(
    members: Sequence[np.ndarray | OnDevice],
    size: tuple[int, int],
    *,
    marginal: Sequence[bool] | bool = False,
) -> PixelFacts:
    """Return the facts of the mean of several members' probabilities at ``size`` (width, height), from their
    scores (C, h, w) of the same classes, Blum et al. 2021, eq. 1 and 2.

    Errors: MetricError for no members, or members with unequal numbers of classes.

    >>> sure = np.log(np.array([[[0.9]], [[0.1]]], np.float32))
    >>> facts = facts_of_members([sure, sure[::-1]], (1, 1))
    >>> [round(float(values[0, 0]), 4) for values in (facts.entropy, facts.expected + facts.information)]
    [0.6931, 0.6931]
    """
    members = checked_arrays.sequence(members, "members", MetricError)
    kinds = [bool(marginal)] * len(members) if isinstance(marginal, bool) else list(marginal)
    held = [
        scores
        if isinstance(scores, OnDevice)
        else finite(checked_arrays.numbers(scores, "member", MetricError, "C x h x w"))
        for scores in members
    ]
    if len({len(scores) for scores in held}) != 1:
        raise MetricError(
            f"members have {', '.join(str(len(scores)) for scores in held) or 'no'} classes; expected the"
            " same number for all"
        )
    first, *rest = held
    sums = first.member_sums(rest, size, kinds) if isinstance(first, OnDevice) else None
    labels, winner, second, others, entropy, expected, information = sums or _member_sums(held, size, kinds)
    return PixelFacts(
        winner,
        second,
        others,
        entropy,
        labels=labels,
        predictive=entropy,
        expected=expected,
        information=information,
        members=len(held),
        generalised=partial(_generalised_of_members, held, size, kinds),
    )


def _member_sums(
    members: Sequence[np.ndarray | OnDevice], size: tuple[int, int], kinds: Sequence[bool]
) -> tuple[np.ndarray, ...]:
    """Return the facts (H, W) of members that `PixelFacts` has under these names: labels, winner, second,
    others, entropy, expected, information.
    """
    winner, second, others, entropy, expected, information = np.empty((6, size[1], size[0]), np.float32)
    labels = np.empty((size[1], size[0]), np.uint8 if len(members[0]) <= 256 else np.uint16)
    for rows, shares, own in _strips(members, size, kinds):
        expected[rows] = own.mean(0)
        of_mean = (labels, winner, second, others, entropy, information)
        _kernels().mean_sums(shares, *(values[rows] for values in of_mean))
    return labels, winner, second, others, entropy, expected, information


def _strips(
    members: Sequence[np.ndarray | OnDevice], size: tuple[int, int], kinds: Sequence[bool]
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield some rows, the probabilities (T, C, rows, W) of members there, and the members' entropies (T,
    rows, W); the next ones replace them.
    """
    members = [np.asarray(scores) for scores in members]
    classes = len(members[0])
    strip = min(size[1], max(1, _AT_ONCE // max(1, classes * len(members) * size[0])))
    shares = np.empty((len(members), classes, strip, size[0]), np.float32)
    own, aside = np.empty((2, len(members), strip, size[0]), np.float32)
    for y in range(0, size[1], strip):
        rows = slice(y, min(y + strip, size[1]))
        some = slice(rows.stop - y)
        for t, (scores, of_marginal) in enumerate(zip(members, kinds, strict=True)):
            z = np.array(enlarged(scores, size, rows))
            _kernels().member_sums(z, of_marginal, shares[t, :, some], aside[t, some], own[t, some])
        yield rows, shares[:, :, some], own[:, some]


def _generalised(scores: np.ndarray | OnDevice, size: tuple[int, int], *, marginal: bool) -> np.ndarray:
    """Return the generalised entropy (H, W) of scores (C, h, w) at a size."""
    if isinstance(scores, OnDevice) and (there := scores.generalised(size, marginal=marginal)) is not None:
        return there
    scores = finite(np.asarray(scores))
    out = np.empty((size[1], size[0]), np.float32)
    places = (*between(scores.shape[1], size[1]), *between(scores.shape[2], size[0]))
    _kernels().generalised_sums(scores, *places, marginal, np.float32(EXPONENT), out)
    return out


def _generalised_of_members(
    members: Sequence[np.ndarray | OnDevice], size: tuple[int, int], kinds: Sequence[bool]
) -> np.ndarray:
    """Return the generalised entropy (H, W) of the mean of members' probabilities."""
    first, *rest = members
    if isinstance(first, OnDevice) and (there := first.generalised_of_members(rest, size, kinds)) is not None:
        return there
    out = np.empty((size[1], size[0]), np.float32)
    for rows, shares, _ in _strips(members, size, kinds):
        mean = shares.mean(0)
        out[rows] = _generalised(mean, (size[0], mean.shape[1]), marginal=True)
    return out


def _kernels() -> ModuleType:
    try:
        from faultscape.metrics.kernels import softmax as compiled_softmax
    except ImportError:
        from faultscape.metrics.kernels import plain_softmax as compiled_softmax
    return compiled_softmax
