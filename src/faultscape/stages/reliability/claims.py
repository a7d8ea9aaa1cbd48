"""What a submission claims to reach on sets that its authors have, compared with what is measured here: who
cannot be run again to the same numbers is not taken.

Conventions: a claim is ``SET:AP:FPR95``, both shares of 1, of a condition of the card, all of whose images
the submission must have answered. Claims stand in study.toml, so that every card repeats them.
Source: the acceptance rule of the benchmark of Blum et al. 2021, AP and FPR95 within .01.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultscape.errors import OptionError, closest, counted
from faultscape.metrics.scorers import SUBMITTED
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardClaim
from faultscape.stages.reliability.card import Judgement
from faultscape.stages.reliability.conditions import Condition

WITHIN = 0.01
_ROUNDING = 1e-9  # of decimal numbers: .81 is within .01 of .80


@dataclass(frozen=True)
class Claim:
    """What is claimed on a set."""

    condition: str
    average_precision: float
    fpr95: float


def read_claims(words: Sequence[str]) -> list[Claim]:
    """Return claims; OptionError for a word that is none, or two of one set.

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
    """OptionError for a claim of a set on which nobody looks for anomalies."""
    known = [condition.name for condition in conditions if condition.with_anomalies]
    if odd := next((claim.condition for claim in claims if claim.condition not in known), None):
        there = ", ".join(known) or "none"
        raise OptionError(
            f"--claims {odd}: is not a set with anomalies on the card; it has {there}.{closest(odd, known)}"
        )


def compare_claims(
    model: str, claims: Sequence[Claim], conditions: Sequence[Condition], found: Judgement
) -> list[CardClaim]:
    """Return what a submission claims beside what is measured, and whether that is near enough."""
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
