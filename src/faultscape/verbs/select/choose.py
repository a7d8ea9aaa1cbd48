"""Choose the images of a selection: find its selector, check that the options apply to it, and run it."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultscape import plug
from faultscape.comparison import combinations
from faultscape.errors import OptionError, SelectionError, closest, counted, shortened
from faultscape.nouns import Point, Row, Slots
from faultscape.reading.label_counts import labelled_already
from faultscape.reading.study import LABELS, Study, opened
from faultscape.selection.catalogue import POINTS, Selector, Task, chosen_for, find_selector
from faultscape.study.folder import refuse_twin
from faultscape.study.tables import selections
from faultscape.verbs.compare import agreement
from faultscape.verbs.graph import next_line, node, nodes
from faultscape.verbs.label.artefact import LABELS_OF_SELECTION, come_first
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.select import replacement
from faultscape.verbs.select.artefact import SELECTION, line_again
from faultscape.verbs.select.chosen_images import chosen_images
from faultscape.verbs.select.chosen_result import ChosenImages, Selected
from faultscape.verbs.select.draws import draw
from faultscape.verbs.select.duels import duels
from faultscape.verbs.select.pairs import pairs
from faultscape.verbs.select.points import draw_points
from faultscape.verbs.status.change_result import Changed, stale_lines
from faultscape.verbs.status.consequences import became_stale, change
from faultscape.verbs.status.costs import hours_of
from faultscape.verbs.status.more_images import few_note

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions


def choose(asked: SelectOptions) -> Selected | Changed | ChosenImages:
    """Make, extend, replace or remove a selection, or list its images. OptionError for options that do not
    apply, SelectionError if nothing can be chosen.
    """
    study = opened(asked.study)
    asked = _in_any_folder(asked)
    if asked.printing.list_:
        with redirect_stdout(sys.stderr):  # so that the list can be piped
            name, _ = _made(study, asked)
        return chosen_images(study, name)
    if asked.remove is not None:
        others = {"as": asked.as_, "selector": asked.selector, "replace": asked.replace or None}
        replacement.refuse_other_options(
            [*(key for key, value in others.items() if value is not None), *_given(asked)]
        )
        return replacement.remove(study, asked.remove, dry_run=asked.dry_run)
    if asked.dry_run:
        if asked.replace:
            _refuse_more(asked)
        return change(study, lambda copy: _words_of_adding(copy, asked), "select", dry_run=True)
    held = _held_by_all(study)
    name, slots = _made(study, asked)
    study = study.skipping_damaged()  # what was made is told in any case
    if name == selections.MAIN and name not in held:
        print("".join(f"{note}\n" for note in _stale_notes(study)), end="")
    if name in held and not asked.replace and (added := _added(slots, held[name])):
        print(f"{_added_text(study, added, 'added')}")
    return _selected(study, name, slots)


def _in_any_folder(asked: SelectOptions) -> SelectOptions:
    """Return the options with absolute paths, as recorded: the selection may be extended from a different
    folder.
    """
    selector = None if asked.selector is None else plug.absolute(asked.selector)
    given = asked.maps.concordance
    concordance = None if given is None else combinations.absolute(given)
    return replace(asked, selector=selector, maps=replace(asked.maps, concordance=concordance))


def _given(asked: SelectOptions) -> dict[str, Any]:
    """Return {option: value} of the given options that decide what is chosen."""
    own = ("goal", "per_class", "top", "budget", "more", "seed", "truth")
    flat = {name: getattr(asked, name) for name in own}
    flat |= vars(asked.maps) | vars(asked.classifiers) | vars(asked.sampling)
    return {name: value for name, value in flat.items() if value is not None}


def _held_by_all(study: Study) -> dict[str, frozenset[str]]:
    """Return {name: its images, or the numbers of its points} of the selections that can be read."""
    readable = study.skipping_damaged().selections
    return {name: frozenset(map(_item, made.slots.chosen)) for name, made in readable.items()}


def _item(row: Row) -> str:
    """Return what a row asks about: its image, or for a point the number of its draw."""
    return str(row.step) if isinstance(row, Point) else row.image


def _added(slots: Slots, held: frozenset[str]) -> Slots | None:
    """Return a selection with the rows of those images or points alone that it did not hold before; None if
    there are none.
    """
    rows = tuple(row for row in slots.chosen if _item(row) not in held)
    return replace(slots, rows=rows) if rows else None


def _added_text(study: Study, added: Slots, how: str) -> str:
    """Return how many images or points a selection gains, and how many of them are labelled already.

    ``how`` is "added", or what it would be.
    """
    labelled = labelled_already(study, added, study.likely_truth)
    what = counted(added.asked, "point" if added.points else "image")
    return f"{what} {how}, {labelled or 'none'} of them {'answered' if added.points else 'labelled'} already"


def _words_of_adding(study: Study, asked: SelectOptions) -> str:
    """Make, extend or replace a selection in a dry run, and return its printed output and how many images it
    gains.
    """
    held = {} if asked.replace else _held_by_all(study)
    with redirect_stdout(io.StringIO()) as said:
        name, slots = _choose(study, _here(asked))
    before = held.get(name, frozenset())
    if (added := _added(slots, before)) is None:
        words = f"no {'point' if slots.points else 'image'} would be added to its {len(before):,}"
    else:
        more = f"would be added to its {len(before):,}" if name in held else "would be chosen"
        words = _added_text(study, added, more)
    return f"{name}: {words}\n{said.getvalue()}".rstrip()


def _stale_notes(study: Study) -> list[str]:
    """Return a note on each stale selection beside a new main: who added a model may have meant that one."""
    found = (node(study, SELECTION, name) for name in study.selections if name != selections.MAIN)
    return [
        (
            f"note: main is a new selection; selection {stale.name} is stale ({', '.join(stale.why)}):"
            f" `{stale.line}` draws it again, and its labels count"
        )
        for stale in found
        if stale.state == "stale" and stale.line
    ]


def _selected(study: Study, name: str, slots: Slots) -> Selected:
    """Return a selection with how many of its images have labels, and what to run next for it."""
    labels, standings = (node(study, artefact, name) for artefact in (LABELS_OF_SELECTION, STANDINGS))
    # that other selections answer another question does not count here
    first = labels.line if labels.state != "done" and come_first(study, name) else ""
    line = first or next_line([labels, standings])
    labelled = study.label_count(name).labelled
    asks = bool(line) and line == labels.line
    return Selected(
        slots.models,
        slots.definition,
        slots.rows,
        slots.tied,
        slots.moved,
        name,
        labelled,
        line,
        hours_of(study, study.selection(name).now.asked - labelled, name) if asks else None,
    )


def _made(study: Study, asked: SelectOptions) -> tuple[str, Slots]:
    """Make, extend or replace a selection, report what becomes stale, and return (name, selection)."""
    if not asked.replace:
        return _choose(study, asked)
    _refuse_more(asked)
    before = nodes(study)
    name, slots = _choose(study, asked)
    print("\n".join(stale_lines(became_stale(before, nodes(study)))))
    return name, slots


def _refuse_more(asked: SelectOptions) -> None:
    if "more" in _given(asked):
        raise OptionError("--more adds to a selection, and --replace starts over; give --budget instead")


def _here(asked: SelectOptions) -> SelectOptions:
    """Return the options for a dry run: a cluster cannot see it, and all engines choose the same."""
    return replace(asked, engine="processes") if asked.engine.startswith("ray") else asked


def _choose(study: Study, asked: SelectOptions) -> tuple[str, Slots]:
    """Make or extend a selection, report problems with the models, and return (name, selection)."""
    given = _given(asked)
    goal = asked.goal
    _refuse_unsaid_selector(study, asked)
    extended = asked.as_ if "more" in given and not _says_how(asked) else None
    if extended is not None and extended not in selections.names(study.root):
        selections.read_selection(study.root, extended)  # says which there are
    named = _name_of(study, asked)
    selector = find_selector(named)
    task: Task = study.settings.task
    draws = (
        not selector.duels
        or asked.sampling.temperature is not None
        or (not asked.replace and _drew(study, asked.as_))
    )
    if not draws and (odd := next((key for key in ("budget", "more") if key in given), "")):
        drew = [name for name in selections.names(study.root) if _drew(study, name)]
        if "more" in given and asked.as_ is None and drew:
            names = shortened([f"--as {name}" for name in drew])
            raise OptionError(f"--more adds to images drawn for all models at once; say to which: {names}")
        raise OptionError(
            f"--{odd} is for selectors that draw for all models at once; --selector mad takes the top "
            f"images of each pair, --{'top' if task == 'classification' else 'per-class'} of them. Give "
            "--temperature 1 to draw by MAD, or another --selector"
        )
    takes = selector.takes(task, goal=goal is not None) if draws else selector.duels[task]
    if odd := next((key for key in given if key not in takes), None):
        words = ", ".join(f"--{key.replace('_', '-')}" for key in takes)
        raise OptionError(
            f"--{odd.replace('_', '-')} does not apply to {_words(selector, task, draws=draws)}; available"
            f" options: {words}"
        )
    if asked.truth is not None:
        _check_truth(study, asked.truth)
    usual = selector.name if selector.pixels else goal or (selector.name if draws else selections.MAIN)
    name = asked.as_ if asked.as_ is not None else usual
    refuse_twin(name, selections.names(study.root), "selection")
    if selector.pixels:
        slots = draw_points(study, name, given, asked)
    elif draws:
        slots = draw(study, name, named, given, asked)
    elif task == "classification":
        slots = pairs(study, name, given, anew=asked.replace)
    else:
        slots = duels(study, name, given, asked)
    if note := few_note(slots, study):
        print(note)
    agreement.tell_warnings(study)
    return name, slots


def _name_of(study: Study, asked: SelectOptions) -> str:
    """Return the requested selector, that of the goal, or that of the existing selection; mad by default."""
    if asked.sampling.points is not None and asked.selector in (None, POINTS):
        return POINTS
    if asked.goal is not None and asked.selector != POINTS:
        return chosen_for(asked.goal, asked.selector)
    if asked.selector is not None:
        return asked.selector
    if asked.as_ is not None and not asked.replace and asked.as_ in selections.names(study.root):
        return str(study.selection(asked.as_).slots.definition["selector"])
    return "mad"


def _refuse_unsaid_selector(study: Study, asked: SelectOptions) -> None:
    """Raise SelectionError if a selection is to be redrawn and nothing names the selector: duels, or
    unintended draws, would replace it.
    """
    name = selections.MAIN if asked.as_ is None else asked.as_
    if asked.replace and not _says_how(asked) and _drew(study, name):
        raise SelectionError(
            f"selection {name!r} was drawn for all models at once, and --replace starts over; name the "
            f"selector: as before with `{line_again(study, name)}`, or give "
            "another --selector (mad for duels)"
        )


def _says_how(asked: SelectOptions) -> bool:
    """Whether options say how images are drawn."""
    how = (asked.selector, asked.goal, asked.sampling.points, asked.sampling.temperature)
    return any(option is not None for option in how)


def _drew(study: Study, name: str | None) -> bool:
    """Whether the selection exists and drew images for all models at once."""
    if name is None or name not in selections.names(study.root):
        return False
    define = study.selection(name).slots.definition
    return "temperature" in define or not find_selector(define["selector"]).duels


def _words(selector: Selector, task: Task, *, draws: bool) -> str:
    """Return how messages name a selection to which an option does not apply."""
    if draws:
        return f"--selector {selector.name}" + (" --temperature" if selector.duels else "")
    return "duels of classifiers" if task == "classification" else "duels of segmentation models"


def _check_truth(study: Study, truth: str) -> None:
    """Raise SelectionError for a truth that the study does not have; its labels may come later."""
    known = study.truths
    if truth not in (*known, LABELS):
        have = (
            f"available: {', '.join(known)}.{closest(truth, known)}"
            if known
            else "the study has no labels yet."
        )
        raise SelectionError(f"there is no truth {truth!r}; {have} Leave --truth out to learn from {LABELS}")
