"""SELECTORS: the ways to choose images for people to label, each complete; every list of selectors is derived
from this tuple.

Conventions: a selector that draws has ``weigh`` (at random, with known probabilities) or ``prefer`` (the best
first); ``mad`` draws with a temperature, and runs duels between models without one. Your own is a `Selector`
in a file, named ``file.py:NAME``; nothing is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from faultscape import plug
from faultscape.errors import OptionError, closest
from faultscape.selection import model_picker
from faultscape.selection import selector_weights as weights
from faultscape.selection.selector import BOTH, Facts, Selector, Task, Weigh

SELECTORS = (
    Selector(
        name="random",
        title="random",
        purpose="all alike; the only one whose scores are of the whole corpus, agreed images too",
        source="simple random sampling",
        weigh=weights.weigh_random,
        even=True,
    ),
    Selector(
        name="disputed",
        title="disputed",
        purpose=(
            "classifiers: at random where any two differ, with labels more often where two trusted ones"
            " differ; label maps: in proportion to the mean pairwise 1 - concordance"
        ),
        source="ours",
        needs=("dispute",),
        weigh=weights.weigh_disputed,
        learns="votes",
    ),
    Selector(
        name="entropy",
        title="entropy of votes",
        purpose=(
            "the most divided votes first (of label maps: mean over pixels; votes count alike, also where"
            " models say probabilities)"
        ),
        source="vote entropy, Dagan and Engelson 1995",
        needs=("entropy",),
        prefer=weights.prefer_entropy,
    ),
    Selector(
        name="expected-loss",
        title="expected loss",
        purpose="in proportion to the loss to expect if the other models are believed",
        source="Kossen et al. 2021, eq. 7 and 8",
        needs=("expected", "dispute"),
        weigh=weights.weigh_expected_loss,
        learns="accuracy",
    ),
    Selector(
        name="vma",
        title="variance among models (VMA)",
        purpose="in proportion to how expected losses differ between models",
        source="Matsuura and Hara 2023",
        needs=("expected", "dispute"),
        weigh=weights.weigh_vma,
        learns="accuracy",
    ),
    Selector(
        name="mad",
        title="maximum discrepancy (MAD)",
        purpose="in proportion to how far each pair of models differs, every pair alike",
        source="Yan et al. 2021, eq. 1 and 2, Wang et al. 2020, eq. 4",
        needs=("discrepancy",),
        weigh=weights.weigh_mad,
        options=("temperature",),
        of_task={"segmentation": ("concordance", "over"), "classification": ("distance", "hierarchy")},
        duels={
            "segmentation": (
                "concordance",
                "over",
                "per_class",
                "constraints",
                "scale",
                "spares",
                "keep_duplicates",
                "seed",
            ),
            "classification": (
                "distance",
                "hierarchy",
                "discrepancy",
                "top",
                "confidence",
                "cap",
                "cap_rule",
                "without",
                "spares",
                "keep_duplicates",
                "seed",
            ),
        },
    ),
    Selector(
        name="information",
        title="information",
        purpose=(
            "in proportion to how much the answer tells about which model is best, not below a tenth of the"
            " mean"
        ),
        source="ours; the idea of Select-LLM, arXiv 2605.24981",
        needs=("similarity", "dispute"),
        weigh=weights.weigh_information,
        learns="belief",
        goals=("order", "best"),
    ),
    Selector(
        name="mad+information",
        title="MAD and information",
        purpose="three quarters by `mad` with temperature 1, one quarter by `information`",
        source="ours",
        needs=("similarity", "dispute", "discrepancy"),
        weigh=weights.weigh_mad_and_information,
        learns="belief",
    ),
    Selector(
        name="model-picker",
        title="model picker",
        purpose="what is expected to tell most about which classifier is best",
        source="Okanovic et al. 2024",
        needs=("labels",),
        prefer=weights.prefer_model_picker,
        learns="queries",
        tasks=("classification",),
        defaults={"epsilon": model_picker.EPSILON},
    ),
    Selector(
        name="points",
        title="points",
        purpose="single pixels instead of images, by what each is expected to tell about the models' mIoU",
        source="ours; Neyman 1934 for the draws",
        learns="accuracy",
        tasks=("segmentation",),
        options=("border", "per_image", "truth"),
        pixels=True,
    ),
)
NAMES = tuple(one.name for one in SELECTORS)
ADAPTIVE = tuple(one.name for one in SELECTORS if one.adaptive)
GOALS = {goal: one.name for one in SELECTORS for goal in one.goals}


def find_selector(name: str) -> Selector:
    """Return the selector of the catalogue called ``name``, or the `Selector` that ``file.py:NAME`` names;
    OptionError with the known names otherwise.

    >>> find_selector("vma").title
    'variance among models (VMA)'
    """
    found = next((one for one in SELECTORS if one.name == name), None)
    if found is None and not name.rpartition(":")[0].endswith(".py"):
        raise OptionError(
            f"selector {name!r} is not known; use {', '.join(NAMES)}, or file.py:NAME.{closest(name, NAMES)}"
        )
    if found is None:
        found = plug.find("selector", name, {}, of=Selector)
        assert isinstance(found, Selector)
        if (found.weigh is None) == (found.prefer is None):
            raise OptionError(f"selector {name} must have one of weigh and prefer")
        _refuse_unknown_words(name, found)
        if found.name in NAMES:
            raise OptionError(
                f"selector {name} is called {found.name!r}, as one that is there; give it another name"
            )
        found = replace(
            found,
            weigh=found.weigh
            and _checked(name, found.weigh, _WEIGHTS, lambda said: np.isfinite(said) & (said >= 0)),
            prefer=found.prefer and _checked(name, found.prefer, _PREFERENCES, lambda said: said < np.inf),
        )
    return found


FACTS: Mapping[str, tuple[Task, ...]] = (
    MappingProxyType(  # what a selector may need, and for which tasks it exists
        {
            "dispute": BOTH,
            "expected": BOTH,
            "discrepancy": BOTH,
            "entropy": BOTH,
            "similarity": BOTH,
            "labels": ("classification",),
            "agreement": ("segmentation",),
        }
    )
)
LEARNS = ("never", "votes", "accuracy", "belief", "queries")
POINTS = "points"  # the selector that draws pixels


def _refuse_unknown_words(source: str, found: Selector) -> None:
    """Raise OptionError if a selector of your own has needs, learns or tasks that do not exist."""
    if odd := next((task for task in found.tasks if task not in BOTH), ""):
        raise OptionError(f"selector {source} is for the task {odd!r}; tasks are {' and '.join(BOTH)}")
    for need in found.needs:
        if need not in FACTS:
            raise OptionError(
                f"selector {source} needs {need!r}; facts are {', '.join(FACTS)} (complete is always"
                f" there).{closest(need, [*FACTS])}"
            )
        if other := next((task for task in found.tasks if task not in FACTS[need]), ""):
            (task,) = FACTS[need]
            raise OptionError(
                f"selector {source} needs {need!r}, which is not there in {other}; give tasks=({task!r},), or"
                " need similarity"
            )
    if found.learns not in LEARNS:
        raise OptionError(f"selector {source} learns {found.learns!r}; use {', '.join(LEARNS)}")
    if found.learns == "queries" and "epsilon" not in found.defaults:
        raise OptionError(
            f"selector {source} learns queries, whose noise its defaults must say, for example {{'epsilon':"
            f" {model_picker.EPSILON}}}"
        )


_WEIGHTS = "one finite weight, none below 0"
_PREFERENCES = "one number, -inf where it is never to be taken"


def _checked(source: str, function: Weigh, expected: str, fits: Callable[[np.ndarray], np.ndarray]) -> Weigh:
    """Return the function of your own selector with a check of its result."""

    def checked(facts: Facts, options: weights.DrawOptions) -> np.ndarray:
        complete = facts["complete"]
        with plug.plain_errors(
            f"selector {source}", OptionError, f"; it was given the facts {', '.join(facts)}"
        ):
            said = np.array(
                function({name: plug.read_only(held) for name, held in facts.items()}, options), dtype=float
            )
        if said.shape != complete.shape or not fits(said[complete]).all():
            got = f"an array of shape {said.shape}" if said.shape != complete.shape else "other numbers"
            raise OptionError(
                f"selector {source}: gave {got}; it must give each of {len(complete)} images {expected}"
            )
        return said

    return checked


def check_goal(goal: str) -> None:
    """Raise OptionError for an unknown goal of drawn images."""
    if goal == "values":
        raise OptionError(
            "--goal values is for points; add --points N, or draw images with --goal order or best"
        )
    if goal not in GOALS:
        raise OptionError(f"--goal is {' or '.join(GOALS)}; got {goal!r}.{closest(goal, list(GOALS))}")


def chosen_for(goal: str, selector: str | None = None) -> str:
    """Return the selector that measurements recommend for a goal; OptionError for an unknown goal, or if a
    selector was given too.

    >>> chosen_for("order", "mad")
    Traceback (most recent call last):
    ...
    faultscape.errors.OptionError: --goal order chooses the selector; use --goal or --selector mad, not both
    """
    check_goal(goal)
    if selector is not None:
        raise OptionError(
            f"--goal {goal} chooses the selector; use --goal or --selector {selector}, not both"
        )
    return GOALS[goal]
