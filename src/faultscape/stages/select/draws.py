"""The part of select that draws images for all models at once, most of it with known probabilities.

Conventions: called by `select`, and by `rank` for the pool that was drawn from. What the models say of one image is summed up in few numbers: of label maps shard by shard, through
the engines; of classifiers all at once. An image that some model has nothing to say of is in no pool. Order is that among equals (study.pool), so that the same draws fall on the
same images whatever they are called.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import ModelError, OptionError, SelectionError, counted
from faultscape.nouns import Draw, Slots
from faultscape.ranking.drawn.steps import LEARNING
from faultscape.selection import draws, information, model_picker, proposals
from faultscape.selection.weights import CHANCE, INFORMED, NEEDS, drawing_weights, fitted_sharpness
from faultscape.stages.select.ties import tell_ties
from faultscape.ties import RULE, count_tied, tie_seed

BUDGET, MOST = 100, 1_000_000
ROUND = 10  # images at first where the best is sought: the next are drawn with what labels say
# selectors that learn from labels between rounds
ADAPTIVE = (*LEARNING, "model-picker")
WEIGHED = {
    "votes": "weighed"
}  # in the definition of disputed classifiers that are drawn with what labels say; of earlier versions it lacks
# in the definition of what is drawn from a stream of random numbers of its own; of earlier versions, whose stream is the selector's alone, it lacks
STREAM = {"stream": "definition"}
_NEEDS = {**NEEDS, "entropy": ("entropy",), "model-picker": ("labels",)}
Facts = dict[str, np.ndarray]  # see selection.stored_facts


def draw(root: Path, name: str, selector: str, given: dict[str, Any], *, engine: str, workers: int | None) -> Slots:
    """Draw a selection of a study, or more of one."""
    from faultscape.stages.compare.counts import corpus_key
    from faultscape.stages.status.selections import tell_waiting
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.logs import log

    selections.path(root, name)
    number = given.get("more", given.get("budget", ROUND if given.get("goal") == "best" else BUDGET))
    if "more" in given and "budget" in given:
        raise OptionError("--budget says how many images in all, --more how many others; give one of them")
    if not 1 <= number <= MOST:
        raise OptionError(f"--{'more' if 'more' in given else 'budget'} is 1 to {MOST:,} images; got {number}")
    with writing(root):
        settings = read_settings(root)
        models = tuple(settings.models)
        if len(models) < 2:
            raise ModelError(
                f"a selection needs two models; the study has {', '.join(models) or 'none'}; add more with `faultscape predict`"
            )
        old = selections.read_selection(root, name) if name in selections.names(root) else None
        if old is None and "more" in given:
            raise SelectionError(f"there is no selection {name!r} to draw more of; make it with --budget {number}")
        define = _definition(name, selector, settings, given, None if old is None else old[0].definition)
        held = () if old is None else old[0].rows
        if old is not None and (old[0].models != models or old[1] != corpus_key(root, settings, models)):
            what = "models" if old[0].models != models else "images or predictions"
            raise SelectionError(
                f"{what} changed since selection {name!r} was drawn, and its draws are of what there was; draw a new one with --selector {selector} --as NAME (labels carry over to it)"
            )
        if old is not None and not {"more", "budget"} & set(given):
            number = len(held)  # nothing new was asked for
        number -= 0 if "more" in given else len(held)
        if number <= 0 and old is not None:
            print(f"selection {name!r} has {counted(len(held), 'image')}; --more N draws others")
            return old[0]
        pool = read_drawing_pool(root, define)[0]
        known = _known(root, models, define, given, len(held), engine)
        if held:
            tell_waiting(root, settings, name, given.get("truth"), learns=learns(define))
        needs = (*_NEEDS[define["selector"]], *(("labels",) if _weighs(define) and "trust" in known else ()))
        facts = gather(root, settings, models, define, needs, known, engine=engine, workers=workers)
        if _weighs(define) and "trust" in known:
            facts["trust"] = known["trust"]
        if define["selector"] in INFORMED:
            define.setdefault("sharpness", fitted_sharpness(facts))
            facts["belief"] = _belief(define, facts, known, pool)
        if left_out := int((~facts["complete"]).sum()):
            print(f"{left_out} of {len(pool.ids)} images are in no pool: some model has nothing to say of them (failures.csv)")
        place = {id_: k for k, id_ in enumerate(pool.ids.to_pylist())} if held else {}
        taken = np.array([place[row.image] for row in held], np.intp)
        rows, tied = _rows(
            define, facts, number, taken, pool, known, len(settings.classes.names), max((r.round for r in held), default=0) + 1
        )
        tell_ties(tied, len(rows), define)
        result = Slots(models, define, (*held, *rows), tied)
        selections.write_selection(root, result, corpus_key(root, settings, models), name)
        log(root, "select", name=name, number=len(rows), **define)
    return result


def learns(define: dict[str, Any]) -> bool:
    """Return whether draws learn from the labels before them; not where the order of all is asked for: what is learnt is soon of the best alone (docs/benchmarks-choice.md)."""
    return (define["selector"] in ADAPTIVE and define.get("goal") != "order") or _weighs(define)


def _weighs(define: dict[str, Any]) -> bool:
    """Return whether disputes count by how far labels so far trust the models; without labels all models count alike."""
    return define["selector"] == "disputed" and define.get("votes") == WEIGHED["votes"]


def gather(
    root: Path,
    settings: Any,
    models: Sequence[str],
    define: dict[str, Any],
    needs: Sequence[str],
    known: dict[str, Any] | None = None,
    *,
    engine: str = "local",
    workers: int | None = None,
) -> Facts:
    """Return what a selector must know of every image of the pool, in the order among equals; ``known`` may hold the ``trust`` (J,) that labels so far put in each model."""
    from faultscape import engine as engines
    from faultscape.progress import progress
    from faultscape.stages.select import facts as stored_facts
    from faultscape.study.tables.corpus import shard_sizes

    trust = (known or {}).get("trust")
    pool, order = read_drawing_pool(root, define)
    similar = "labels" if settings.classifies else "agreement"
    needs = [similar if need == "similarity" else need for need in needs]
    if settings.classifies:
        return stored_facts.of_classes(root, settings, pool.ids, models, define, needs, trust)
    about = {"models": list(models), "define": define, "needs": list(needs), "trust": None if trust is None else trust.tolist()}
    sizes = shard_sizes(root)
    calls = [{"study": str(root), "number": n, **about} for n in sorted(sizes)]
    found: list[Facts] = [{}] * len(calls)
    with progress("select", sum(sizes.values())) as tick:
        for k, file in engines.run("faultscape.stages.select.draws:shard", calls, engine=engine, workers=workers, tick=tick):
            with np.load(root / file) as held:
                found[k] = {key: held[key] for key in held.files}
            (root / file).unlink()
    return {key: np.concatenate([part[key] for part in found], axis=-1)[..., order] for key in found[0]}


def shard(
    study: str, number: int, models: list[str], define: dict[str, Any], needs: list[str], trust: list[float] | None, tick: Any
) -> str:
    """Sum up one shard's images of the pool, and return the name of a temporary file in the study that holds it."""
    import io

    from faultscape.stages.select import facts as stored_facts
    from faultscape.study.folder import TEMPORARY, put
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.corpus import part_name, pool, read_corpus

    root = Path(study)
    settings, rows = read_settings(root), pool(read_corpus(root, number))
    facts = stored_facts.of_shard(root, settings, rows, models, define, needs, None if trust is None else np.array(trust))
    tick(len(rows))
    file, sink = f"{TEMPORARY}draws-{part_name(number)}", io.BytesIO()
    np.savez(sink, **facts)  # type: ignore[arg-type]
    put(root / file, sink.getvalue())
    return file


@dataclass(frozen=True, eq=False)
class Pool:
    """The images that a selection draws from, the loss (J, N) to expect of each model on them, those on which no two models differ, which it leaves out, and how many it leaves out besides."""

    images: list[str]
    expected: np.ndarray
    agreed: list[str]
    others: int


def drawn_from(root: Path, settings: Any, slots: Slots, trust: np.ndarray | None = None) -> Pool:
    """Return the pool of a selection that draws for all models; of one that draws nothing by chance, the images on which models differ. ``trust`` (J,) weighs the votes for what is expected."""
    define = slots.definition
    selector = define["selector"]
    pool = read_drawing_pool(root, define)[0]
    needs = dict.fromkeys([*(_NEEDS[selector] if selector in CHANCE and selector not in INFORMED else ()), "dispute", "expected"])
    facts = gather(root, settings, slots.models, define, [*needs], {"trust": trust})
    # what information draws from is where models differ, whatever it weighs there
    weight = weights(define if selector in CHANCE and selector not in INFORMED else {**define, "selector": "disputed"}, facts)
    inside = np.flatnonzero((weight > 0) & draws.representatives(pool.families, weight > 0))
    rest = facts["complete"] & ~np.isin(pool.families, pool.families[inside])
    rest &= draws.representatives(pool.families, rest)
    agreed, others = np.flatnonzero(rest & (facts["dispute"] == 0)), rest & (facts["dispute"] > 0)
    names = pool.names(np.concatenate([inside, agreed]))
    expected = facts["expected"][:, inside]
    return Pool([names[k] for k in inside.tolist()], expected, [names[k] for k in agreed.tolist()], int(others.sum()))


def read_drawing_pool(root: Path, define: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """Return the pool in the order in which a selection draws it, and the places (I,) of its images in corpus order, in which those of earlier versions do."""
    from faultscape.study.tables.pool import read_pool

    seed = tie_seed(define)
    pool = read_pool(root, keep_duplicates=define.get("keep_duplicates", False), seed=seed)
    order = np.arange(len(pool.ranks)) if seed is None else np.argsort(pool.ranks)
    return pool.taken(order), order


def stream(define: dict[str, Any]) -> tuple[int, int]:
    """Return the seed of a selection's random numbers: what is drawn otherwise is drawn from others, so that labels of two selections are of independent draws.

    >>> stream({"selector": "random", "seed": 0}), stream({"selector": "random", "seed": 0, "goal": "order", **STREAM})
    ((0, 373021397), (0, 995265046))
    """
    words = [define["selector"]]
    if define.get("stream") == STREAM["stream"]:  # of files the name alone: where they lie decides nothing
        told = (define.get(key) for key in ("goal", "temperature", "concordance", "over", "distance"))
        words += [f"{one:g}" if isinstance(one, float | int) else Path(one).name for one in told if one is not None]
    return define["seed"], zlib.crc32(" ".join(words).encode())


def weights(define: dict[str, Any], facts: Facts) -> np.ndarray:
    """Return the weights (I,) in proportion to which a selection so defined draws images, zero outside the pool."""
    asked = {key: define[key] for key in ("temperature", "sharpness") if key in define}
    return drawing_weights(define["selector"], facts, **asked)


def _belief(define: dict[str, Any], facts: Facts, known: dict[str, Any], pool: Any) -> np.ndarray:
    """Return the belief (J,) that each model is the best after the labels so far, even where nothing is to be learnt from them."""
    said = facts["labels"] if "labels" in facts else facts["agreement"]
    if "labelled" not in known:
        return np.full(len(said), 1 / len(said))
    images, scores = known["labelled"]
    if "labels" in facts:
        return information.belief_of_labels(scores > 0, define["sharpness"])
    place = {id_: k for k, id_ in enumerate(pool.ids.to_pylist()) if facts["complete"][k]}
    kept = sorted(
        (k for k, image in enumerate(images) if image in place), key=lambda k: place[images[k]]
    )  # sums in the pool's order
    there = facts["agreement"][..., [place[images[k]] for k in kept]]
    return information.belief_of_similarities(there, scores[:, kept], define["sharpness"])


def _rows(
    define: dict[str, Any],
    facts: Facts,
    number: int,
    taken: np.ndarray,
    pool: Any,
    known: dict[str, Any],
    classes: int,
    round_: int,
) -> tuple[list[Draw], int]:
    """Return the next draws, and how many of them ties decided."""
    selector, tied = define["selector"], 0
    if selector in CHANCE:
        weight = weights(define, facts)
        found = draws.draw(weight, number, seed=stream(define), taken=taken, families=pool.families)
        images, chances, score, size = found.images, found.probability, weight, found.pool
    else:
        inside = facts["complete"] & draws.representatives(pool.families, facts["complete"])
        preference = np.full(len(inside), -np.inf)
        if selector == "entropy":
            preference[inside] = facts["entropy"][inside]
            score = preference
        else:
            held, belief = facts["labels"][:, inside], known["belief"]
            preference[inside] = -model_picker.remaining(held, belief, classes, epsilon=define["epsilon"])
            score = np.full(len(inside), belief.max())
        preference[taken] = -np.inf
        images = proposals.top(preference, min(number, int(np.isfinite(preference).sum())))
        tied = count_tied(preference, images)
        chances, size = np.full(len(images), np.nan), int(inside.sum())
    if not len(images):
        raise SelectionError(f"no image is left to draw: all {size} are drawn")
    names = pool.names(images)
    rows = [
        Draw(selector, round_, len(taken) + step, names[k], round(float(score[k]), 12), float(f"{chance:.12g}"), size)
        for step, (k, chance) in enumerate(zip(images.tolist(), chances.tolist(), strict=True), 1)
    ]
    return rows, tied


def _definition(name: str, selector: str, settings: Any, given: dict[str, Any], was: dict[str, Any] | None) -> dict[str, Any]:
    """Return what fixes a selection; OptionError for what does not fit, SelectionError where it is another than the one that is there."""
    from faultscape import plug
    from faultscape.metrics.pixel import METRICS
    from faultscape.stages.compare import answers

    if selector == "model-picker" and not settings.classifies:
        raise OptionError(model_picker.ONLY_CLASSES)
    defaults: dict[str, Any] = (
        {"seed": 0, "keep_duplicates": False, "ties": RULE}
        | ({"goal": given["goal"]} if "goal" in given else {})
        | ({} if settings.classifies else {"concordance": "miou", "over": "union"})
    )
    if selector == "disputed" and settings.classifies:
        defaults |= WEIGHED
    if selector in CHANCE:
        defaults |= STREAM
    if selector == "model-picker":
        defaults["epsilon"] = model_picker.EPSILON
    asked = {key: given[key] for key in (*defaults, "temperature") if key in given}
    if not settings.classifies:
        plug.find("concordance", asked.get("concordance", "miou"), METRICS)
    about: dict[str, Any] = {}
    mad = selector == "mad" or (selector == "mad+information" and (was is None or "distances" in was))
    if mad and settings.classifies:  # a label is right or wrong, so that 0-1 is the distance here (docs/benchmarks-labels.md)
        about = answers.define_distances(settings.class_list, given, was, "01")[0]
    if was is None:
        define = {"selector": selector, **defaults, **asked, **about}
        if own := plug.digest(str(define.get("concordance", ""))):
            define["concordance_file"] = own
        return define
    fixed = "its definition is fixed: use --as NAME for a new one"
    if was["selector"] != selector:
        raise SelectionError(f"selection {name!r} was drawn by {was['selector']}, not by {selector}; {fixed}")
    for key, value in asked.items():
        if was.get(key) != value:
            raise SelectionError(f"selection {name!r} was drawn with {key} {was.get(key)}, not {value}; {fixed}")
    if was.get("distances", about.get("distances")) != about.get("distances"):
        raise SelectionError(f"selection {name!r} was drawn with other distances between classes; {fixed}")
    return {**was, **about}


def _known(
    root: Path, models: tuple[str, ...], define: dict[str, Any], given: dict[str, Any], drawn: int, engine: str
) -> dict[str, Any]:
    """Return what the labels so far teach a selector that learns: how far each model is to be trusted, or the belief that it is the best."""
    from faultscape.ranking.drawn.estimates import vote_weights
    from faultscape.stages import evidence
    from faultscape.stages.compare.shard import count
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.answers import Answers

    if not learns(define):
        return {}
    truth = given.get("truth", evidence.LABELS)
    there = drawn and truth in evidence.truths(root)
    if drawn and not there and (not _weighs(define) or "truth" in given):
        raise SelectionError(
            f"{define['selector']} draws more from the labels so far, and there are none in truth {truth!r}; import them first"
        )
    if there and not read_settings(root).classifies:
        count(root, [truth], engine=engine)
    images, values = (
        evidence.scores(root, models, truth, define, Answers(root).discarded()) if there else ([], np.zeros((len(models), 0)))
    )
    decided = np.asarray(~np.isnan(values).any(0))
    values = values[:, decided]
    if define["selector"] in INFORMED:
        return {"labelled": ([image for image, one in zip(images, decided.tolist(), strict=True) if one], values)}
    if define["selector"] == "model-picker":
        right = np.zeros((len(models), values.shape[1]), np.int64)
        right[values > 0] = 1
        return {"belief": model_picker.belief(right, np.ones(values.shape[1], np.int64), define["epsilon"])}
    if not (n := values.shape[1]):
        return {}
    if read_settings(root).classifies:
        return {"trust": vote_weights(1 - values)}
    return {"trust": (np.array([math.fsum(own) for own in values]) + 1) / (n + 2)}
