"""select: the few images that a person should label."""

from __future__ import annotations

from typing import Any

from faultscape.errors import OptionError, counted
from faultscape.nouns import Draw, PairSlot, Slots

SELECTORS = ("mad", "random", "disputed", "entropy", "expected-loss", "vma", "information", "mad+information", "model-picker")
_DUELS = ("concordance", "over", "per_class", "constraints", "scale", "spares", "keep_duplicates", "seed")
_PAIRS = (
    "distance", "hierarchy", "discrepancy", "top", "confidence", "cap", "cap_rule", "without", "spares", "keep_duplicates", "seed",
)  # fmt: skip
_DRAWN = ("budget", "more", "seed", "keep_duplicates")  # what every selector takes that draws for all models at once


def select(
    study: str,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: str | None = None,
    concordance: str | None = None,
    over: str | None = None,
    per_class: int | None = None,
    constraints: str | None = None,
    scale: Any = None,
    distance: str | None = None,
    hierarchy: str | None = None,
    discrepancy: str | None = None,
    top: int | None = None,
    confidence: float | None = None,
    cap: int | None = None,
    cap_rule: str | None = None,
    without: list[str] | None = None,
    spares: int | None = None,
    keep_duplicates: bool | None = None,
    budget: int | None = None,
    more: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    truth: str | None = None,
    engine: str = "processes",
    workers: int | None = None,
) -> Slots:
    """Choose the images on which models disagree most, with spares behind; or draw images for all models at once, with known probabilities.

    mad lets models duel: segmentation models per ordered pair and class (S0), classifiers per pair (S2). The other selectors draw --budget images one after the other.
    A selection's definition is fixed when it is made. The same name with more places, spares or draws extends it, duels also after models were added; what is not given is
    then as it was. Draws are of the models that there were: for others draw anew under another name, labels carry over.

    Parameters
    ----------
    study
        The study folder.
    as_
        Name of the selection (default main, of images drawn for all models the selector's name, or the goal); a study keeps any number of them, and labels are shared.
    selector
        mad (default), random, disputed, entropy, expected-loss, vma, information, mad+information or model-picker.
    goal
        order (of all models) or best (which model is best): draw images as measurements on real models recommend for it, instead of --selector.
    concordance
        Of label maps: miou (default), fwiou, mpa, pixel_accuracy, dice, or file.py:function.
    over
        Classes that a mean is over: union (of both maps; default), all, or truth (of the defender's map).
    per_class
        Images for each defender, attacker and class (K of S0; default 1).
    constraints
        none (S0 eq. 1), class (the defender predicts the class) or class+scale (in its usual size); default: class+scale with --scale, else class.
    scale
        The file that `faultscape scale` wrote; in Python also a Scale.
    distance
        Of classifiers: how far apart two classes are: wordnet (S2 eq. 3; default where classes have WordNet ids), path, hops, 01 (default elsewhere, and with --temperature), or a file.
    hierarchy
        What stands above the classes: a table of parents (CSV or JSON), or a folder of WordNet; default: WordNet above ImageNet's classes, which comes along.
    discrepancy
        top1 (default): between the likeliest classes; expected: what is to be expected under all probabilities that both models name, calibrated by labels where there are 20.
    top
        Images for each pair of classifiers (k of S2; default 30).
    confidence
        Both models must be at least so sure (default 0.8); where a model says no probabilities, it is left out.
    cap
        At most so many images of a pair with one predicted label of a model (default 3).
    cap_rule
        accepted (what was taken counts, as S2 says; default) or scanned (what the authors' code does).
    without
        A class that no candidate may be predicted as; repeat it for more.
    spares
        Images ranked behind the chosen ones, to take their place when one is discarded (default 3; of classifiers 10).
    keep_duplicates
        Let near-duplicate images stand in one cell.
    budget
        How many images the other selectors draw (default 100; with --goal best 10, since the next are drawn with what labels say).
    more
        Draw so many more, from the labels that there are by now.
    temperature
        Of mad: draw in proportion to discrepancy^(1 / temperature) instead of taking the largest, so that scores can be estimated.
    seed
        Seed of the draws, and of the order among images that are equally good (default 0).
    truth
        Which labels selectors learn from that look at them (default labels).
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    """
    from faultscape.selection.definitions import ADAPTIVE
    from faultscape.stages import agreement
    from faultscape.stages.select import draws as select_draws
    from faultscape.stages.select import duels, pairs
    from faultscape.study.folder import existing
    from faultscape.study.settings import read_settings

    root = existing(study)
    options = {
        "concordance": concordance, "over": over, "per_class": per_class, "constraints": constraints, "scale": scale, "distance": distance,
        "hierarchy": hierarchy, "goal": goal, "discrepancy": discrepancy, "top": top, "confidence": confidence, "cap": cap, "cap_rule": cap_rule, "without": without or None,
        "spares": spares, "keep_duplicates": keep_duplicates, "budget": budget, "more": more, "temperature": temperature, "seed": seed, "truth": truth,
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    if seed is not None and seed < 0:
        raise OptionError(f"seed cannot be negative; got {seed}")
    if goal is not None:
        selector = chosen_for(goal, selector)
    if selector is None:
        selector = _held(root, as_) or "mad"
    if selector not in SELECTORS:
        from faultscape.errors import closest

        raise OptionError(f"selector {selector!r} is not known; use {', '.join(SELECTORS)}.{closest(selector, SELECTORS)}")
    classifies = read_settings(root).classifies
    draws = selector != "mad" or temperature is not None or _held(root, as_, draws=True) != ""
    if not draws and (odd := next((key for key in ("budget", "more") if key in given), "")):
        raise OptionError(
            f"--{odd} is for images drawn for all models at once; --selector mad takes the top of each pair, --{'top' if classifies else 'per-class'} of them. "
            f"Give --temperature 1 to draw by MAD, or another --selector"
        )
    if draws:
        task = ("distance", "hierarchy") if classifies and selector == "mad" else () if classifies else ("concordance", "over")
        learns = selector in ADAPTIVE or (classifies and selector == "disputed")
        own = ("truth",) if learns else ("temperature",) if selector == "mad" else ()
        kind: tuple[str, ...] = (*_DRAWN, *(("goal",) if goal else ()), *own, *task)
    else:
        kind = _PAIRS if classifies else _DUELS
    if odd := next((key for key in given if key not in kind), None):
        raise OptionError(
            f"--{odd.replace('_', '-')} does not apply to {_words(selector, draws=draws, classifies=classifies)}; available options: {_listed(kind)}"
        )
    if truth is not None:
        _check_truth(root, truth)
    name = as_ if as_ is not None else goal or ("main" if selector == "mad" and not draws else selector)
    if draws:
        slots = select_draws.draw(root, name, selector, given, engine=engine, workers=workers)
    elif classifies:
        slots = pairs.pairs(root, name, given)
    else:
        asked = {key: options[key] for key in ("concordance", "over", "per_class", "spares", "keep_duplicates", "seed")}
        slots = duels.duels(root, name, asked, constraints, scale, engine, workers)
    agreement.tell_warnings(root)
    return slots


def chosen_for(goal: str, selector: str | None = None) -> str:
    """Return the selector that measurements recommend for a goal; OptionError for an unknown goal, or where a selector was given too.

    >>> chosen_for("order", "mad")
    Traceback (most recent call last):
    ...
    faultscape.errors.OptionError: --goal order chooses the selector; give --goal or --selector mad, not both
    """
    from faultscape.ranking.recommended import GOALS, check_goal

    check_goal(goal)
    if selector is not None:
        raise OptionError(f"--goal {goal} chooses the selector; give --goal or --selector {selector}, not both")
    return GOALS[goal]


def told(slots: Slots) -> str:
    """Return what a person reads after `select`: slots, distinct images, empty cells, and how that compares with the upper bound of the paper."""
    chosen, j = slots.chosen, len(slots.models)
    spares = len(slots.rows) - len(chosen)
    if chosen and isinstance(chosen[0], Draw):
        last = max(row.round for row in chosen)
        rounds = f" in {last} rounds, {sum(row.round == last for row in chosen)} in the last" if last > 1 else ""
        pool = max(row.pool for row in chosen)
        all_ = f"; these are all {pool:,} that could be drawn" if len(chosen) >= pool else ""
        more = (
            "; after their labels --more 10 draws on with what these say"
            if slots.definition.get("goal") == "best" and not all_
            else ""
        )
        return f"{counted(len(chosen), 'image')} drawn by {slots.definition['selector']}{rounds}, to be labelled for all {j} models{all_}{more}"
    if chosen and isinstance(chosen[0], PairSlot):
        k = slots.depth
        held = {cell: sum(row.cell == cell for row in chosen) for cell in dict.fromkeys(row.cell for row in chosen)}
        cells, full = j * (j - 1) // 2, sum(number == k for number in held.values())
        short = f"; {cells - full} of {cells} pairs have fewer than {k}" if full < cells else ""
        return (
            f"{counted(len(chosen), 'slot')}, {counted(len(slots.images), 'distinct image')} to label (at most J(J-1)/2 k = {j} x {j - 1} / 2 x {k} = {cells * k} slots){short}; "
            f"{counted(spares, 'spare')} behind"
        )
    groups = len(slots.definition["groups"])
    cells, full = j * (j - 1) * groups, len({(r.defender, r.attacker, r.class_) for r in chosen})
    most = cells * slots.depth
    return (
        f"{counted(len(chosen), 'slot')}, {counted(len(slots.images), 'distinct image')} to label; {cells - full} of {cells} cells are empty "
        f"(at most J(J-1)|Y|K = {j} x {j - 1} x {groups} x {slots.depth} = {most} slots); {counted(spares, 'spare')} behind"
    )


def _check_truth(root: Any, truth: str) -> None:
    """SelectionError for a truth that the study does not have; labels may come later."""
    from faultscape.errors import SelectionError, closest
    from faultscape.stages import evidence

    known = evidence.truths(root)
    if truth not in (*known, evidence.LABELS):
        have = f"there are {', '.join(known)}.{closest(truth, known)}" if known else "there are no labels yet."
        raise SelectionError(f"there is no truth {truth!r}; {have} Leave --truth out to learn from {evidence.LABELS}")


def _held(root: Any, name: str | None, *, draws: bool = False) -> str:
    """Return the selector of a selection that is there (with ``draws`` only where it drew by chance), else nothing."""
    from faultscape.study.tables import selections

    if name is None or name not in selections.names(root):
        return ""
    define = selections.read_selection(root, name)[0].definition
    return "" if draws and "temperature" not in define and define["selector"] == "mad" else define["selector"]


def _words(selector: str, *, draws: bool, classifies: bool) -> str:
    if draws:
        return f"--selector {selector}" + (" --temperature" if selector == "mad" else "")
    return "duels of classifiers" if classifies else "duels of segmentation models"


def _listed(kind: tuple[str, ...]) -> str:
    return ", ".join(f"--{key.replace('_', '-')}" for key in kind)
