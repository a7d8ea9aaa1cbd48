"""select: the few images that a person should label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import Scale, Slots


def select(
    study: str,
    *,
    as_: str = "main",
    concordance: str | None = None,
    over: str | None = None,
    per_class: int | None = None,
    constraints: str | None = None,
    scale: Any = None,
    spares: int | None = None,
    keep_duplicates: bool | None = None,
    engine: str = "processes",
    workers: int | None = None,
) -> Slots:
    """Choose the images on which models disagree most: for each ordered pair and class the lowest concordances, with spares behind.

    A selection's definition is fixed when it is made. The same name with a larger --per-class or more --spares, or after models were added, extends it;
    what is not given is then as it was.

    Parameters
    ----------
    study
        The study folder.
    as_
        Name of the selection; a study keeps any number of them.
    concordance
        miou (default), fwiou, mpa, pixel_accuracy, dice, or file.py:function.
    over
        Classes that a mean is over: union (of both maps; default), all, or truth (of the defender's map).
    per_class
        Images for each defender, attacker and class (K of S0; default 1).
    constraints
        none (S0 eq. 1), class (the defender predicts the class) or class+scale (in its usual size); default: class+scale with --scale, else class.
    scale
        The file that `faultscape scale` wrote; in Python also a Scale.
    spares
        Images ranked behind the chosen ones, to take their place when one is discarded (default 3).
    keep_duplicates
        Let near-duplicate images stand in one cell.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    """
    from faultscape import engine as engines
    from faultscape import plug
    from faultscape.comparison.stored import corpus_key
    from faultscape.corpus.classes import resolve
    from faultscape.metrics.pixel import METRICS
    from faultscape.selection import duel
    from faultscape.selection.best import Best
    from faultscape.selection.quartiles import from_json, read_scale
    from faultscape.selection.spares import extended
    from faultscape.study import selections
    from faultscape.study.corpus import shard_sizes
    from faultscape.study.folder import existing
    from faultscape.study.lock import writing
    from faultscape.study.pool import read_pool
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import log

    root = existing(study)
    if concordance is not None:
        plug.find("concordance", concordance, METRICS)
    if (per_class is not None and not 1 <= per_class <= MOST) or (spares is not None and not 0 <= spares <= MOST):
        raise OptionError(
            f"per-class must be at least 1 and spares at least 0, neither above {MOST:,}; got {per_class} and {spares}"
        )
    selections.path(root, as_)
    with writing(root):
        settings = read_settings(root)
        classes, models = resolve(settings.class_list), tuple(settings.models)
        quartiles = scale if isinstance(scale, Scale) else read_scale(scale, classes) if scale else None
        if quartiles is not None and constraints not in (None, "class+scale"):
            raise OptionError(f"--scale is for --constraints class+scale; got {constraints}")
        asked = {
            "concordance": concordance,
            "over": over,
            "per_class": per_class,
            "spares": spares,
            "keep_duplicates": keep_duplicates,
        }
        given = {key: value for key, value in asked.items() if value is not None}
        old = selections.read_selection(root, as_) if as_ in selections.names(root) else None
        if old is not None and (gone := [m for m in old[0].models if m not in models]):
            raise SelectionError(
                f"selection {as_!r} was drawn with {gone[0]!r}, which the study has no more; draw a new one with --as NAME (labels carry over to it)"
            )
        if old is None:
            define = duel.definition(classes, constraints=constraints, scale=quartiles, **{**DEFAULTS, **given})
            if constraints is None:
                print(f"constraints: {define['constraints']}" + ("" if scale else " (no --scale given)"))
        else:
            define = _extended(as_, old[0].definition, given, constraints, quartiles)
            for key in ("per_class", "spares"):
                if (asked[key] or 0) < define[key] and asked[key] is not None:
                    print(f"selection {as_!r} never shrinks: {key} stays {define[key]}")
            if define["constraints"] == "class+scale":
                quartiles = from_json({"classes": define["scale"]}, classes, f"selection {as_}")
        drawn_from = corpus_key(root, settings, models)
        if old is not None and old[1] != corpus_key(root, settings, old[0].models):
            raise SelectionError(
                f"images or predictions changed since selection {as_!r} was drawn; draw a new one with --as NAME (labels carry over to it)"
            )
        best, drawn = duel.empty(models, define), read_pool(root, keep_duplicates=define["keep_duplicates"])
        calls = [{"study": str(root), "number": n, "models": list(models), "define": define} for n in sorted(shard_sizes(root))]
        with engines.progress("select", len(drawn.ids)) as tick:
            for number, file in engines.run("faultscape.verbs.select:shard", calls, engine=engine, workers=workers, tick=tick):
                found = Best.of_bytes((root / file).read_bytes())
                found.renumber(int(np.searchsorted(drawn.shards, calls[number]["number"])), drawn.ranks, drawn.families)
                best.merge(found)
                (root / file).unlink()
        result = duel.slots(best, models, define, drawn.names(np.unique(best.images[best.images >= 0])))
        if old is not None:
            result = Slots(models, define, old[0].rows + extended(old[0], result))
        selections.write_selection(root, result, drawn_from, as_)
        log(root, "select", name=as_, **{k: v for k, v in define.items() if k != "scale"})
    return result


def shard(study: str, number: int, models: list[str], define: dict[str, Any], tick: Any) -> str:
    """Find the best candidates of one shard, numbered within it, and return the name of a temporary file in the study that holds them."""
    from faultscape.corpus.classes import resolve
    from faultscape.selection import duel
    from faultscape.selection.quartiles import from_json
    from faultscape.study.corpus import part_name, pool, read_corpus
    from faultscape.study.folder import TEMPORARY, put
    from faultscape.study.settings import read_settings

    root = Path(study)
    settings, rows = read_settings(root), pool(read_corpus(root, number))
    best = duel.empty(models, define)
    if rows:
        classes = resolve(settings.class_list)
        scale = from_json({"classes": define["scale"]}, classes, f"{study}: the scale") if define["scale"] else None
        places = np.arange(len(rows))
        ranks = np.argsort(np.argsort(np.array([image.id for image in rows], dtype=object), kind="stable"), kind="stable")
        groups: dict[str, int] = {}
        families = np.array([groups.setdefault(image.group, len(groups)) for image in rows])
        counts = block(root, settings, rows, tuple(models))
        duel.take(best, counts, define, scale, places, ranks, places if define["keep_duplicates"] else families)
    tick(len(rows))
    file = f"{TEMPORARY}select-{part_name(number)}"
    put(root / file, best.to_bytes())
    return file


MOST = 10_000  # images of a cell: who wants more wants random sampling
DEFAULTS = {"concordance": "miou", "over": "union", "per_class": 1, "spares": 3, "keep_duplicates": False}


def block(root: Path, settings: Any, rows: Any, models: tuple[str, ...], truths: tuple[str, ...] = ()) -> Any:
    """Return the counts of one shard's images of the pool."""
    from faultscape.comparison.stored import read_block

    return read_block(root, settings, rows, models, truths)


def told(slots: Slots) -> str:
    """Return what a person reads after `select`: slots, distinct images, empty cells, and how that compares with the upper bound of S0."""
    chosen, j = slots.chosen, len(slots.models)
    groups = len(slots.definition["groups"])
    cells, full = j * (j - 1) * groups, len({(r.defender, r.attacker, r.class_) for r in chosen})
    most = cells * slots.depth
    return (
        f"{len(chosen)} slots, {len(slots.images)} distinct images to label; {cells - full} of {cells} cells are empty "
        f"(at most J(J-1)|Y|K = {j} x {j - 1} x {groups} x {slots.depth} = {most} slots); {len(slots.rows) - len(chosen)} spares behind"
    )


def _extended(name: str, was: dict[str, Any], given: dict[str, Any], constraints: str | None, quartiles: Any) -> dict[str, Any]:
    """Return the definition of an existing selection with what may grow; SelectionError when anything else was asked for."""
    from faultscape import plug
    from faultscape.selection.quartiles import to_json

    if was.get("concordance_file", "") != plug.digest(was["concordance"]):
        raise SelectionError(
            f"selection {name!r} was made with {was['concordance']}, which is another file now; its definition is fixed: use --as NAME for a new one"
        )
    asked = {key: value for key, value in given.items() if key not in ("per_class", "spares")}
    asked |= {"constraints": constraints} if constraints else {}
    asked |= {"scale": to_json(quartiles)["classes"]} if quartiles is not None else {}
    for key, value in asked.items():
        if was.get(key) != value:
            words = "another scale file, or none" if key == "scale" else f"{key} {was.get(key)}, not {value}"
            raise SelectionError(
                f"selection {name!r} was made with {words}; its definition is fixed: use --as NAME for a new one"
            )
    return {**was, **{key: max(was[key], given.get(key, 0)) for key in ("per_class", "spares")}}
