"""Which artefacts of a study are done, stale or missing, why, and what to run next: one algorithm over the
artefacts, and the only place that decides this.

Conventions: an artefact is missing if it, or a part of it, does not exist; stale if it was made from
something other than the current study; else done. Nodes are in the order in which they are made. `status`,
`run`, errors and notes in reports read this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from faultscape.reading.annotator_truths import JOINED
from faultscape.reading.artefact import METHOD, Again, Artefact
from faultscape.reading.study import Study
from faultscape.verbs.collect.artefact import CORPUS
from faultscape.verbs.compare.artefact import PAIRS
from faultscape.verbs.fit.artefact import METHODS
from faultscape.verbs.label.artefact import ANSWERS, DISCARDS, LABELS_OF_SELECTION
from faultscape.verbs.loop.artefact import LOOP
from faultscape.verbs.measure.artefact import BOX_MEASURES, MEASURES, POINT_MEASURES, PRESENT_MEASURES
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.plan.open_question import OPEN_QUESTION
from faultscape.verbs.predict.artefact import MAPS
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.reliability.artefact import RELIABILITY
from faultscape.verbs.report.artefact import REPORT
from faultscape.verbs.select.artefact import SELECTION
from faultscape.verbs.stress.artefact import SETS
from faultscape.verbs.train.artefact import NETWORKS

ARTEFACTS = (
    CORPUS,
    SETS,
    NETWORKS,
    METHODS,
    MAPS,
    PAIRS,
    DISCARDS,
    ANSWERS,
    JOINED,
    SELECTION,
    LABELS_OF_SELECTION,
    LOOP,
    STANDINGS,
    PLAN,
    OPEN_QUESTION,
    MEASURES,
    POINT_MEASURES,
    BOX_MEASURES,
    PRESENT_MEASURES,
    RELIABILITY,
    REPORT,
)
State = Literal["done", "stale", "missing"]
_MODELS = "models"  # the input that lists names, with commas
EXPLAINS_ALL = (METHOD, _MODELS)  # with a changed method or renamed models, all inputs may differ
EXPLAINED = {
    "photos": ("selection", "maps"),  # different images have different photos
    "standings": ("names",),  # which are out of date once classes are renamed
}


@dataclass(frozen=True)
class Node:
    """One artefact of a study: its state, why it is stale, a text about it, and the command that makes it (''
    if none helps); ``in_the_way`` is what someone must fix first.
    """

    artefact: str
    verb: str
    name: str
    state: State
    why: tuple[str, ...]
    words: str
    line: str
    waits: bool
    in_the_way: str = ""


def nodes(study: Study) -> tuple[Node, ...]:
    """Return every artefact that a study has or should have, in the order in which they are made."""
    if not study.image_count:  # nothing else can exist
        return (node(study, CORPUS, ""), node(study, MAPS, ""))
    return tuple(node(study, artefact, name) for artefact in ARTEFACTS for name in artefact.instances(study))


def undone(study: Study, artefact: str) -> list[Node]:
    """Return what must be made of one kind of artefact."""
    return [one for one in nodes(study) if one.artefact == artefact and one.state != "done" and one.line]


def node(study: Study, artefact: Artefact, name: str = "") -> Node:
    """Return the node of one artefact of a study."""
    held = artefact.made_from(study, name)
    now = artefact.made_from_now(study, name)
    state, differing = state_of(artefact, held, now)
    again = artefact.again(study, name) if state != "done" else Again({})
    line = artefact.line(study, name) if state != "done" and not again.in_the_way else ""
    words = artefact.describe(study, name)
    waits = artefact.waits(study, name)
    added = () if held is None else _added(held.get(_MODELS, ""), now.get(_MODELS, ""))
    why = (*why_text(artefact, differing, added), *again.left_out, *filter(None, [again.in_the_way]))
    return Node(artefact.name, artefact.verb, name, state, why, words, line, waits, again.in_the_way)


def state_of(
    artefact: Artefact, held: dict[str, str] | None, now: dict[str, str]
) -> tuple[State, tuple[str, ...]]:
    """Return the state of an artefact ``made from`` some inputs, None if it does not exist, and the inputs
    that differ ``now``.

    >>> state_of(PLAN, {"maps": "a", "labels": "b"}, {"maps": "a", "labels": "c"})
    ('stale', ('labels',))
    """
    if held is None:
        return "missing", ()
    lacking = [name for name in now if name not in held]
    changed = [
        name for name in held if held[name] != now.get(name, held[name] if artefact.in_parts else None)
    ]
    if artefact.in_parts:
        return ("stale" if changed else "missing" if lacking else "done"), tuple(changed)
    differing = tuple(dict.fromkeys([*changed, *lacking]))
    return ("stale" if differing else "done"), _reasons(differing)


def _reasons(differing: tuple[str, ...]) -> tuple[str, ...]:
    """Return the inputs that explain why something is stale, without those that another one explains.

    >>> _reasons(("selection", "photos", "labels")), _reasons(("models", "selection", "maps"))
    (('selection', 'labels'), ('models',))
    >>> _reasons(("standings of main", "names"))
    ('names',)
    """
    if first := next((name for name in EXPLAINS_ALL if name in differing), None):
        return (first,)
    return tuple(
        name
        for name in differing
        if not any(other in differing for other in EXPLAINED.get(name.partition(" of ")[0], ()))
    )


def next_line(found: Iterable[Node]) -> str:
    """Return what to run next: the first command of a node that is not done, those that can wait last; '' if
    all is done, or someone must fix something first (`is_stuck`).
    """
    open_ = [node for node in found if node.state != "done" and node.line]
    return next((node.line for node in sorted(open_, key=lambda node: node.waits)), "")


def is_stuck(found: Iterable[Node]) -> bool:
    """Whether something is not done and has no command because someone must fix something first."""
    return any(node.in_the_way for node in found)


def why_text(artefact: Artefact, differing: Iterable[str], added: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the reasons why an artefact is stale, each once; ``added`` are the models that came, if none was
    renamed or removed.
    """
    of_added = f"{listed_models(added)} added" if added else ""
    said = [of_added if added and name == _MODELS else artefact.reason(name) for name in differing]
    return tuple(dict.fromkeys(reason for reason in said if reason))


def listed_models(names: Sequence[str]) -> str:
    """Return the subject of a sentence about some models.

    >>> listed_models(["fcn"]), listed_models(["fcn", "unet"])
    ('model fcn was', 'models fcn, unet were')
    """
    return f"model {names[0]} was" if len(names) == 1 else f"models {', '.join(names)} were"


def _added(held: str, now: str) -> tuple[str, ...]:
    """Return the models of a list that another lacks; () if one of the other's is missing.

    >>> _added("a,b", "a,b,c"), _added("a,b", "a,c")
    (('c',), ())
    """
    before = held.split(",")
    after = now.split(",")
    return tuple(name for name in after if name not in before) if set(before) <= set(after) else ()
