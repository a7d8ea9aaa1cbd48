"""select: the few images that a person should label."""

from __future__ import annotations

from typing import Any

from faultscape.errors import OptionError
from faultscape.nouns import Slots


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
        mad (default), random, disputed, entropy, expected-loss, vma, information, mad+information or model-picker, or file.py:NAME, a Selector of your own.
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
    if seed is not None and seed < 0:
        raise OptionError(f"seed cannot be negative; got {seed}")
    from faultscape.stages.select.choose import choose
    from faultscape.stages.select.options import SelectOptions

    return choose(
        SelectOptions(
            study, as_, selector, goal, concordance, over, per_class, constraints, scale, distance, hierarchy, discrepancy, top, confidence, cap, cap_rule,
            tuple(without) if without else None, spares, keep_duplicates, budget, more, temperature, seed, truth, engine, workers,
        )
    )  # fmt: skip
