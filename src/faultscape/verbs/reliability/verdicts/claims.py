"""Compare what a submission claims on sets that its authors have with what is measured here; a submission
whose numbers cannot be reproduced is refused.

Conventions: a claim is ``SET:AP:FPR95``, both between 0 and 1, for a condition of the card; the submission
must have answered all of its images. Claims are stored in study.toml, so that every card repeats them.
Source: the acceptance rule of the benchmark of Blum et al. 2021, AP and FPR95 within .01.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultscape.errors import OptionError, closest, counted
from faultscape.metrics.scorers import SUBMITTED
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardClaim
from faultscape.verbs.reliability.card import Judgement
from faultscape.verbs.reliability.conditions import Condition

WITHIN = 0.01
_ROUNDING = 1e-9  # of decimal fractions: .81 is within .01 of .80


@dataclass(frozen=True)
class Claim:
    """A claim about one set."""

    condition: str
    average_precision: float
    fpr95: float


def read_claims(words: Sequence[str]) -> list[Claim]:
    """Return claims; OptionError for a malformed one, or two for the same set.

    >>> read_claims(["fs-static:0.8:0.1"])
    [Claim(condition='fs-static', average_precision=0.8, fpr95=0.1)]
    """
    out: list[Claim] = []
    for word in words:
        name, *numbers = word.rsplit(":", 2)
        try:
            precision, rate = map(float, numbers)
        except ValueError:
            raise OptionError(
                f"--claims {word}: is not SET:AP:FPR95, for example fs-static-validation:0.81:0.12"
            ) from None
        if not (name and 0 <= precision <= 1 and 0 <= rate <= 1):
            raise OptionError(f"--claims {word}: AP and FPR95 must be between 0 and 1")
        if name in (claim.condition for claim in out):
            raise OptionError(f"--claims {word}: {name} is claimed twice")
        out.append(Claim(name, precision, rate))
    return out


def refuse_unknown_sets(claims: Sequence[Claim], conditions: Sequence[Condition]) -> None:
    """Raise OptionError for a claim about a set without anomalies."""
    known = [condition.name for condition in conditions if condition.with_anomalies]
    if odd := next((claim.condition for claim in claims if claim.condition not in known), None):
        there = ", ".join(known) or "none"
        raise OptionError(
            f"--claims {odd}: is not a set with anomalies on the card; it has {there}.{closest(odd, known)}"
        )


def compare_claims(
    model: str, claims: Sequence[Claim], conditions: Sequence[Condition], found: Judgement
) -> list[CardClaim]:
    """Return a submission's claims with the measured numbers, and whether they are close enough."""
    return [
        _compared(model, claim, next((c for c in conditions if c.name == claim.condition), None), found)
        for claim in claims
    ]


def _compared(model: str, claim: Claim, condition: Condition | None, found: Judgement) -> CardClaim:
    key = (model, SUBMITTED.name, claim.condition)
    measured = [found.evidence.get((*key, metric)) for metric in ("average_precision", "fpr95")]
    precision, rate = (None if one is None else number(one.value) for one in measured)
    lacking = 0 if condition is None else len(condition.images) - len(found.images.get(key, ()))
    near = (
        precision is not None
        and rate is not None
        and max(abs(precision - claim.average_precision), abs(rate - claim.fpr95)) <= WITHIN + _ROUNDING
    )
    if precision is None or rate is None:
        why = "nothing was measured there"
    elif lacking:
        why = f"it left out {counted(lacking, 'image')}"
    else:
        why = "" if near else f"not within {WITHIN}"
    return {
        "condition": claim.condition, "average_precision": claim.average_precision, "fpr95": claim.fpr95,
        "measured_average_precision": precision, "measured_fpr95": rate, "accepted": not why, "why": why,
    }  # fmt: skip
