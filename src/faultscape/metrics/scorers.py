"""SCORERS: every way to score the doubt of a pixel without training, each a complete entry, from which help,
documents and tables are made.

Conventions: a score is (H, W) float32, large = more anomalous. All are computed from `PixelFacts`, so that
the order is the same for all: logits, bilinear to the wanted size, softmax, mean over members, score. To be
counted by value, scores are rounded once to float16 (`rounded`): a score between 0 and ``most`` by its logit,
whose steps are even in relative doubt; an unbounded one as its difference to a constant of the model (its
``offset``), beyond ``_FAR`` in steps of an eighth of an octave, up to 2^32, so that scores beyond float16
keep their order. Rounding starts from the float32 that would be stored, so that scores counted at once and
scores stored and counted later have the same counts. `SUBMITTED` is not an entry: it is not computed but read
from a submission (`scores.submissions` says how it is rounded).

``scorer`` is an entry of ``SCORERS``. ``facts`` are those of ``facts_of``. ``classes`` is the number of
classes. ``name`` is a scorer's name, or ``file.py:NAME``.

Source: Blum et al. 2021, section 4.1, eq. 1 and 2; Buchanan et al. 2022, section 3; Hendrycks and Gimpel
2017; Hendrycks et al. 2022 (max logit); Liu et al. 2020 (energy); Liu et al. 2023 (generalised entropy).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from faultscape import plug
from faultscape.errors import MetricError, OptionError
from faultscape.metrics.doubt import LOGIT_END
from faultscape.metrics.pixel_facts import EXPONENT, PixelFacts
from faultscape.metrics.scores.submissions import round_submitted

Needs = Literal[
    "nothing",
    "probabilities",
    "logits",
    "members",
    "variance",
    "submission",
    "fitted",
    "void",
    "outlier",
    "dirichlet",
]
Given = TypeVar("Given")
_BLOCK = 1 << 15  # pixels whose scores are rounded at a time
_FAR, _FAR_STEP, _FAR_STEPS = 61440.0, 32.0, 127  # the last values of float16, and the steps between them
_LEAST_VARIANCE = np.float32(1e-30)
NONE = "none"  # the name for no scorer
INFORMATION = "mutual-information"
CORRECTED = "mutual-information-corrected"
ORDER = "logits, bilinear to the working size, softmax, mean of members, score"


@dataclass(frozen=True)
class Scorer:
    """A score of doubt: its ``formula`` in the documentation's notation, what it ``needs`` from a model, and
    ``compute``, which makes (H, W) float32 from the facts.

    ``most`` returns the largest possible value for a number of classes; without it the score is unbounded.
    ``tells_errors`` says whether it can be used to find misclassified pixels (Blum et al. 2021, appendix A).
    """

    name: str  # the name for `--scorer`
    title: str  # the name in tables and charts
    formula: str
    compute: Callable[[PixelFacts], np.ndarray]
    needs: Needs = "probabilities"
    most: Callable[[int], float] | None = None
    source: str = ""  # the papers that define it
    tells_errors: bool = True


def _needed(values: Given | None) -> Given:
    assert values is not None  # `missing` reports what a model lacks before anything is computed
    return values


def _one(_classes: int) -> float:
    return 1.0


def _all_but_even(classes: int) -> float:
    return 1.0 - 1.0 / classes  # the largest probability is at least 1 / classes


def _even_generalised(classes: int) -> float:
    return classes * (1 / classes * (1 - 1 / classes)) ** EXPONENT  # the sum is concave


def _corrected_information(facts: PixelFacts) -> np.ndarray:
    """Return the mutual information without its bias of first order; an unbiased estimate does not exist."""
    if facts.members < 2:
        raise MetricError(f"scorer {CORRECTED}: needs two members or more; got {facts.members}")
    return _needed(facts.information) * np.float32(facts.members / (facts.members - 1))


def _negative_objectness(facts: PixelFacts) -> np.ndarray:
    """Return 1 - (1 - n) w + n of the winner's probability w among the classes and the negative one's n."""
    negative = _needed(facts.outlier)
    return facts.others + negative * (1 + facts.winner)


def _two(_classes: int) -> float:
    return 2.0


def _not_computed(_facts: PixelFacts) -> np.ndarray:
    raise AssertionError  # `missing` has reported that no facts provide it


SCORERS: tuple[Scorer, ...] = (
    Scorer(
        "random",
        "Random",
        "u, even between 0 and 1, of the image's bytes and the pixel's place",
        lambda facts: np.full(facts.winner.shape, np.float32(0.5)),
        needs="nothing",
        most=_one,
        source="Blum et al. 2021, Table 1",
    ),
    Scorer(
        "msp",
        "Max probability",
        "1 - max p",
        lambda facts: facts.others,
        most=_one,
        source="Buchanan et al. 2022; Blum et al. 2021, section 4.1; Hendrycks and Gimpel 2017",
    ),
    Scorer(
        "entropy",
        "Entropy",
        "-sum p log p",
        lambda facts: facts.entropy,
        most=math.log,
        source="Blum et al. 2021, eq. 1",
    ),
    Scorer(
        "gen",
        "Generalised entropy",
        "sum (p (1 - p))^.1",
        lambda facts: _needed(facts.generalised)(),
        most=_even_generalised,
        source="Liu et al. 2023",
    ),
    Scorer(
        "margin",
        "Margin",
        "1 - (p of the first - p of the second)",
        lambda facts: facts.others + facts.second,
        most=_one,
        source="Scheffer et al. 2001",
    ),
    Scorer(
        "max-logit",
        "Max logit",
        "-max z",
        lambda facts: -_needed(facts.top),
        needs="logits",
        source="Hendrycks et al. 2022",
    ),
    Scorer(
        "energy",
        "Energy",
        "-log sum exp z",
        lambda facts: -_needed(facts.log_sum),
        needs="logits",
        source="Liu et al. 2020",
    ),
    Scorer(
        "predictive-entropy",
        "Predictive entropy",
        "H(mean p)",
        lambda facts: _needed(facts.predictive),
        needs="members",
        most=math.log,
        source="Blum et al. 2021, eq. 1",
    ),
    Scorer(
        "expected-entropy",
        "Expected entropy",
        "mean H(p)",
        lambda facts: _needed(facts.expected),
        needs="members",
        most=math.log,
        source="Blum et al. 2021, eq. 2",
    ),
    Scorer(
        INFORMATION,
        "Mutual information",
        "H(mean p) - mean H(p)",
        lambda facts: _needed(facts.information),
        needs="members",
        most=math.log,
        source="Blum et al. 2021, eq. 2",
    ),
    Scorer(
        CORRECTED,
        "Mutual information, corrected for few members",
        "(H(mean p) - mean H(p)) T / (T - 1)",
        _corrected_information,
        needs="members",
        most=math.log,
        source="Blum et al. 2021, eq. 2; the factor is ours",
    ),
    Scorer(
        "void",
        "Void class",
        "p of the void class",
        _not_computed,
        needs="void",
        most=_one,
        source="Blum et al. 2021, section 4.1",
        tells_errors=False,
    ),
    Scorer(
        "outlier",
        "Outlier head",
        "sigmoid of the outlier head",
        lambda facts: _needed(facts.outlier),
        needs="outlier",
        most=_one,
        source="Blum et al. 2021, section 4.3; Bevandic et al. 2019",
    ),
    Scorer(
        "outlier-msp",
        "Outlier head and max probability",
        "sigmoid of the outlier head times 1 - max p",
        lambda facts: _needed(facts.outlier) * facts.others,
        needs="outlier",
        most=_one,
        source="Blum et al. 2021, section 4.3, names the combination; the product is ours",
    ),
    Scorer(
        "uno",
        "Uncertainty and negative objectness",
        "1 - max p of a class + p of the negative class",
        _negative_objectness,
        needs="outlier",
        most=_two,
        source="Delic et al. 2024",
    ),
    Scorer(
        "differential-entropy",
        "Dirichlet differential entropy",
        "entropy of Dirichlet(exp z)",
        _not_computed,
        needs="dirichlet",
        source="Blum et al. 2021, section 4.1, eq. 3; Malinin and Gales 2018",
    ),
    Scorer(
        "standardised-max-logit",
        "Standardised max logit",
        "-(max z - mean of its class) / deviation of its class",
        _not_computed,
        needs="fitted",
        source="Jung et al. 2021",
    ),
    Scorer(
        "odin",
        "ODIN",
        "1 - max softmax(z(x - e sign grad) / T)",
        _not_computed,
        needs="fitted",
        most=_all_but_even,
        source="Blum et al. 2021, appendix B.2; Liang et al. 2018",
    ),
    Scorer(
        "mahalanobis",
        "Mahalanobis distance",
        "min over classes of sqrt((f - m)' S^-1 (f - m) / D)",
        _not_computed,
        needs="fitted",
        source="Lee et al. 2018",
    ),
    Scorer(
        "neco",
        "NECO",
        "-max z |P (f - m)| / |f - m|",
        _not_computed,
        needs="fitted",
        source="Ben Ammar et al. 2024, eq. 6",
    ),
    Scorer(
        "energy-neco",
        "Energy and NECO",
        "energy - |P (f - m)| / |f - m|, both standardised",
        _not_computed,
        needs="fitted",
        source="Zhang et al. 2026; Ben Ammar et al. 2024; Liu et al. 2020",
    ),
    Scorer(
        "knn",
        "kNN density",
        "-log mean exp(cos(f, f_i)) over the k nearest",
        _not_computed,
        needs="fitted",
        source="Blum et al. 2021, section 4.1, eq. 5",
    ),
    Scorer(
        "knn-class",
        "kNN class density",
        "1 - share of the class in sum exp(cos(f, f_i)) over the k nearest",
        _not_computed,
        needs="fitted",
        source="Blum et al. 2021, section 4.1, eq. 4",
    ),
    Scorer(
        "flow",
        "Learned embedding density",
        "NLL of f - mean NLL of training",
        _not_computed,
        needs="fitted",
        source="Blum et al. 2021, section 4.2, eq. 6 to 8",
    ),
    Scorer(
        "residual",
        "Residual block",
        "-log sum exp (z + shift learnt with unknown objects)",
        _not_computed,
        needs="fitted",
        source="Liu et al. 2023 (RPL)",
    ),
    Scorer(
        "reconstruction",
        "Reconstruction of features",
        "(1 - SSIM) / 2 of features reconstructed from a coarse layer, coupled with z",
        _not_computed,
        needs="fitted",
        source="Vojir et al. 2021 (JSRNet)",
    ),
    Scorer(
        "resynthesis",
        "Resynthesis",
        "log-odds that x differs from an image painted from its labels",
        _not_computed,
        needs="fitted",
        source="Lis et al. 2019",
    ),
    Scorer(
        "perceptual",
        "Perceptual difference",
        "sum over layers of mean |f - f'| of the features of x and of what resynthesis paints",
        _not_computed,
        needs="fitted",
        source="Di Biase et al. 2021 (SynBoost)",
    ),
    Scorer(
        "fusion",
        "Fusion",
        "sum w s + g(s) of the parts' scores s, learnt with unknown objects",
        _not_computed,
        needs="fitted",
        source="Di Biase et al. 2021 (SynBoost)",
    ),
    Scorer(
        "variance",
        "Variance of logits",
        "log v",
        lambda facts: np.log(np.maximum(_needed(facts.variance), _LEAST_VARIANCE)),
        needs="variance",
        source="Buchanan et al. 2022, section 2; Liu et al. 2020",
    ),
)


_NAME = re.compile(r"[\w.+-]+")
_FITTED = re.compile(r"([\w.+-]+)@([0-9a-f]{12})")
SUBMITTED = Scorer(
    "submitted",
    "Submitted score",
    "what a submission wrote",
    _not_computed,
    needs="submission",
    source="Blum et al. 2021, section 4.3",
)


def scorer_named(name: str) -> Scorer:
    """Return the scorer with a name, or your own from ``file.py:NAME``; OptionError with the nearest name
    otherwise.

    >>> scorer_named("msp").title
    'Max probability'
    """
    if name == SUBMITTED.name:
        return SUBMITTED
    if fitted := split_fitted(name):
        name = fitted[0]
    if (method := _method_of(name)) is not None and name != method.name:
        return replace(method, name=name, title=f"{method.title} ({name.removeprefix(method.name + '-')})")
    return plug.find("scorer", name, {scorer.name: scorer for scorer in SCORERS}, of=Scorer)


def is_fitted(name: str) -> bool:
    """Whether a scorer's name is that of a method fitted to a model, possibly followed by the option and
    value of a sweep.

    >>> is_fitted("knn"), is_fitted("knn-k-5"), is_fitted("knn-class"), is_fitted("msp")
    (True, True, True, False)
    """
    return _method_of(name) is not None


def _method_of(name: str) -> Scorer | None:
    """Return the entry of the longest method name that a name begins with."""
    if not _NAME.fullmatch(name):  # a user-defined scorer, or not a name
        return None
    fitted = [
        scorer
        for scorer in SCORERS
        if scorer.needs == "fitted" and (name == scorer.name or name.startswith(f"{scorer.name}-"))
    ]
    return max(fitted, key=lambda scorer: len(scorer.name), default=None)


def plain_name(word: str) -> str:
    """Return the name of a scorer, without the digest of a fitted method.

    >>> plain_name("knn@3fa2c1b2d4e5"), plain_name("msp")
    ('knn', 'msp')
    """
    return fitted[0] if (fitted := split_fitted(word)) else word


def split_fitted(word: str) -> tuple[str, str] | None:
    """Return the name and the digest of a fitted method from its scorer name ``NAME@DIGEST``; None for other
    scorers.

    >>> split_fitted("knn@3fa2c1b2d4e5"), split_fitted("msp")
    (('knn', '3fa2c1b2d4e5'), None)
    """
    found = _FITTED.fullmatch(word)
    return (found[1], found[2]) if found else None


def fitted_words(words: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return {word: its name and digest} of the scorers that are fitted methods.

    >>> fitted_words(["msp", "knn@3fa2c1b2d4e5"])
    {'knn@3fa2c1b2d4e5': ('knn', '3fa2c1b2d4e5')}
    """
    found = {word: split_fitted(word) for word in words}
    return {word: parts for word, parts in found.items() if parts is not None}


_TRAINED = {
    "fitted": "a network (`faultscape fit` fits a method to one)",
    "void": "a class called void (a network trained with --loss void-class)",
    "dirichlet": "logits of a prior network (trained with --loss dirichlet)",
}


def missing(scorer: Scorer, facts: PixelFacts) -> str:
    """Return what a scorer needs and these facts lack, as text; '' if nothing is missing.

    >>> one = np.ones((1, 1), np.float32)
    >>> missing(scorer_named("energy"), PixelFacts(one, one, one, one))
    'logits'
    """
    if scorer.needs == "logits" and facts.log_sum is None:
        return "logits"
    if scorer.needs in _TRAINED:
        return _TRAINED[scorer.needs]
    if scorer.needs == "outlier" and facts.outlier is None:
        return "an outlier head or a negative class (a network trained with --loss outlier-head or uno)"
    if scorer.needs == "submission":
        return "a program that writes it (`reliability --submission`)"
    if scorer.needs == "variance" and facts.variance is None:
        return "the variance of logits (a network with the head gp)"
    members = (
        "several members (an ensemble, --flip, --scales, or a network trained with a head that has some)"
    )
    return members if scorer.needs == "members" and facts.information is None else ""


def score_pixels(scorer: Scorer, facts: PixelFacts, *, classes: int = 0, key: bytes = b"") -> np.ndarray:
    """Return the (H, W) float32 score; `random` depends on ``key``, which identifies the image. MetricError
    for a user-defined scorer that returns anything else.

    >>> from faultscape.metrics.pixel_facts import facts_of
    >>> facts = facts_of(np.log(np.array([[[0.7]], [[0.2]], [[0.1]]], np.float32)), (1, 1))
    >>> float(score_pixels(scorer_named("margin"), facts).round(4)[0, 0])
    0.5
    """
    if scorer.needs == "nothing":
        return random_scores(facts.winner.shape, key)
    score = np.asarray(scorer.compute(facts if scorer in SCORERS else facts.as_arrays()))
    if score.shape != facts.winner.shape or score.dtype.kind != "f":
        raise MetricError(
            f"scorer {scorer.name}: gave {score.dtype} of shape {score.shape}; expected floats of shape"
            f" {facts.winner.shape}"
        )
    most = np.inf if scorer.most is None or not classes else scorer.most(classes)
    # rounding of a sum may exceed the maximum
    return np.minimum(score, np.float32(most)).astype(np.float32, copy=False)


def random_scores(shape: tuple[int, int], key: bytes) -> np.ndarray:
    """Return (H, W) float32 scores, uniform between 0 and 1, that depend only on a key of the image.

    >>> bool((random_scores((2, 2), b"a") == random_scores((2, 2), b"a")).all())
    True
    """
    seed = int.from_bytes(key[:16].ljust(16, b"\0"), "little")
    return np.random.Generator(np.random.Philox(seed)).random(shape, np.float32)


def rounded(scorer: Scorer, score: np.ndarray, classes: int, offset: float | None = 0.0) -> np.ndarray:
    """Return a float32 score as float16 in the same order, as histograms count it. 0 and the largest value
    become -2048 and 2048. Without an ``offset``, a submitted score lies between 0 and 1.

    >>> rounded(scorer_named("msp"), np.array([0.5, 0.0], np.float32), 2).tolist()
    [0.0, -2048.0]
    >>> rounded(scorer_named("energy"), np.array([-12.5], np.float32), 2, offset=-10.0).tolist()
    [-2.5]
    """
    if scorer is SUBMITTED:
        return round_submitted(score, offset)
    out = np.empty(score.shape, np.float16)
    given = np.ascontiguousarray(score).ravel()
    flat = out.ravel()
    most = None if scorer.most is None else scorer.most(classes)
    for start in range(0, len(flat), _BLOCK):
        values = given[start : start + _BLOCK].astype(np.float64)
        flat[start : start + _BLOCK] = (
            _without_ends(values, offset or 0.0) if most is None else _logit(values / most)
        )
    return out


def _without_ends(values: np.ndarray, offset: float) -> np.ndarray:
    """Return values minus an offset, those beyond float16 in steps of an eighth of an octave.

    >>> _without_ends(np.array([3.0, -70_000.0, 1e6]), 1.0).tolist()
    [2.0, -61472.0, 62464.0]
    """
    found = values - offset
    far = np.abs(found) > _FAR
    if far.any():
        size = np.minimum(np.floor(8 * np.log2(np.abs(found[far]) / _FAR)), _FAR_STEPS)
        found[far] = np.copysign(_FAR + _FAR_STEP * size, found[far])
    return found


def _logit(shares: np.ndarray) -> np.ndarray:
    share = np.clip(shares, 0, 1)
    with np.errstate(divide="ignore"):
        logit = np.log(share) - np.log1p(-share)
    return np.clip(logit, -LOGIT_END, LOGIT_END)


def offset_of(scorer: Scorer, scores: Sequence[np.ndarray]) -> float:
    """Return the constant that is subtracted from an unbounded score: the median of some of a model's scores,
    in steps of 1/8 so that it is short to write; 0 for bounded scores.

    >>> offset_of(scorer_named("energy"), [np.array([-9.9, -10.1, -10.3], np.float32)])
    -10.125
    """
    if scorer.most is not None:
        return 0.0
    return float(np.round(np.median(np.concatenate([score.ravel() for score in scores])) * 8) / 8)


def with_corrected_members(words: Sequence[str]) -> list[str]:
    """Return scorers with the corrected mutual information instead of the plain one; OptionError if it is not
    among them.

    >>> with_corrected_members(["msp", "mutual-information"])
    ['msp', 'mutual-information-corrected']
    """
    if not {INFORMATION, CORRECTED} & {*words}:
        raise OptionError(f"--correct-members has no effect without --scorer {INFORMATION}; add it")
    return list(dict.fromkeys(CORRECTED if word == INFORMATION else word for word in words))


def check_scorers(words: Sequence[str]) -> None:
    """Raise OptionError for a scorer that is unknown or named twice, or for ``none`` with others."""
    for word in words:
        if word == SUBMITTED.name:
            raise OptionError(
                f"--scorer {word} is written by a submission itself (`reliability --submission`); it cannot"
                " be requested from a model"
            )
        if word != NONE:
            scorer_named(word)
    if NONE in words and len(words) > 1:
        raise OptionError(f"--scorer {NONE} means no scorer; use it alone")
    if len(set(words)) < len(words):
        twice = next(word for word in words if list(words).count(word) > 1)
        raise OptionError(f"--scorer {twice} is given twice")
