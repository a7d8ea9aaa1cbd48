"""Extend, replace or remove a selection without losing anything that people labelled.

Conventions: a selection counts as labelled if any of its images, including spares, has a label or an answer
under any truth, or any of its points an answer. Dates are local.
"""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from faultscape.comparison.combinations import spelt
from faultscape.errors import (
    DamagedSelectionError,
    FixedSelectionError,
    ModelError,
    OptionError,
    SelectionError,
    closest,
    counted,
)
from faultscape.nouns import Definition, Slots
from faultscape.reading.evidence import labelled_among
from faultscape.reading.label_counts import count_labels
from faultscape.reading.study import Selection, Study
from faultscape.selection.spares import effective
from faultscape.study.folder import put
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.report.artefact import REPORT
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.status.consequences import change

_TOLD = (
    "selector",
    "goal",
    "temperature",
    "concordance",
    "over",
    "per_class",
    "constraints",
    "distance",
    "discrepancy",
    "top",
    "confidence",
    "cap",
    "cap_rule",
    "keep_duplicates",
    "spares",
    "seed",
)


def refuse_other_options(given: Sequence[str]) -> None:
    """Raise OptionError if a command that removes a selection has any other option."""
    if given:
        raise OptionError(
            f"--remove deletes a selection, and --{given[0].replace('_', '-')} sets how to make one; "
            "give one of them"
        )


def remove(study: Study, name: str, *, dry_run: bool) -> Changed:
    """Remove a selection with its standings and report; the files of a labelled one move to STUDY/removed.
    SelectionError for an unknown name.
    """
    known = selections.names(study.root)
    if name not in known:
        have = f"available: {', '.join(known)}.{closest(name, known)}" if known else "the study has none."
        raise SelectionError(f"there is no selection {name!r} to remove; {have}")
    try:
        slots = study.selection(name).slots
    except DamagedSelectionError:
        return change(
            study, lambda of: _cleared(of, name), "select", dry_run=dry_run, readable=False, remove=name
        )
    return change(study, lambda of: _removed(of, name, slots), "select", dry_run=dry_run, remove=name)


def _files(study: Study, name: str) -> list[Path]:
    """Return the paths of all files of a selection, its table last."""
    root = study.root
    table = selections.path(root, name)
    about = selections.path(root, name, "json")
    return [REPORT.path(study, name), STANDINGS.path(study, name), about, table]


def _cleared(study: Study, name: str) -> str:
    """Remove a damaged selection; its files are kept under names that no selection has."""
    files = _files(study, name)
    kept = {file: f"damaged-{file.name}" for file in files if file.exists()}
    folder = _free(
        study.root / selections.REMOVED,
        name,
        lambda path: not all(_alike(path / to, file) for file, to in kept.items()),
    )
    for file, to in kept.items():
        put(folder / to, file.read_bytes())
    for file in files:
        file.unlink(missing_ok=True)
    return (
        f"selection {name} (damaged) was removed; its files are kept in "
        f"{selections.REMOVED}/{folder.name}, and labels are kept"
    )


def _labelled(study: Study, slots: Slots) -> int:
    """Return how many of the images that a selection asks for now have labels, without its spares, or how
    many of its points have answers.
    """
    if slots.points:
        return max((count_labels(study, slots, truth).labelled for truth in study.truths), default=0)
    return len(labelled_among(study, effective(slots, study.discarded).images))


def _has_labels(study: Study, slots: Slots) -> bool:
    """Whether any image of a selection, spares included, has a label, or any of its points an answer."""
    if slots.points:
        return _labelled(study, slots) > 0
    return bool(labelled_among(study, {row.image for row in slots.rows}))


def _removed(study: Study, name: str, slots: Slots) -> str:
    files = _files(study, name)
    words = f"selection {name} was removed"
    if _has_labels(study, slots):
        folder = _free(
            study.root / selections.REMOVED,
            name,
            lambda path: not all(_alike(path / file.name, file) for file in files),
        )
        for file in (file for file in reversed(files) if file.exists()):
            # table first, then JSON, the order in which a selection is written
            put(folder / file.name, file.read_bytes())
        labelled = _labelled(study, slots)
        items = "points" if slots.points else "images"
        those = f"{labelled} of its {items}" if labelled else "only spares of it"
        words += (
            f"; {those} {'has' if labelled == 1 else 'have'} labels, which are kept; its files are kept in "
            f"{selections.REMOVED}/{folder.name}"
        )
    for file in files:
        file.unlink(missing_ok=True)
    return words


def existing_selection(study: Study, name: str, *, anew: bool, least: int = 2) -> Selection | None:
    """Return the selection that is to be extended, None if there is none or it is drawn ``anew``; ModelError
    for a study with fewer models than ``least``.
    """
    if len(study.models) < least:
        raise ModelError(_too_few_models(study))
    return study.selection(name) if not anew and name in selections.names(study.root) else None


def _too_few_models(study: Study) -> str:
    """Return why nothing can be chosen for a study, and what to do instead."""
    place = shlex.quote(str(study.root))
    add = f"with `faultscape predict {place} NAME=SOURCE`"
    if not study.models:
        return f"a comparison needs two models; the study has none: add them {add}"
    one = f"the study has one ({study.models[0]}): add another {add}"
    score = f"score it against labels with `faultscape measure {place}`"
    maps = "" if study.classifies else f", or by points with `faultscape select {place} --points 300`"
    return f"a comparison needs two models; {one}, or {score}{maps}"


def refuse_gone_models(study: Study, old: Selection) -> None:
    """Raise FixedSelectionError for duels with a model that left the study, which cannot be extended."""
    if gone := [model for model in old.slots.models if model not in study.models]:
        raise FixedSelectionError(
            f"selection {old.name!r} was drawn with {gone[0]!r}, which is no longer in the study; redraw "
            "it with --replace, or draw another with --as NAME (labels count for both)"
        )


def refuse_other_pool(study: Study, old: Selection) -> None:
    """Raise FixedSelectionError for duels that were drawn from other images or predictions."""
    if old.drawn_from != study.drawn_from(old.slots.models):
        raise FixedSelectionError(
            f"images or predictions changed since selection {old.name!r} was drawn; redraw it with "
            "--replace, or draw another with --as NAME (labels count for both)"
        )


def put_selection(study: Study, name: str, slots: Slots, *, anew: bool, **about: object) -> None:
    """Write a selection, instead of the one of the same name if it is drawn ``anew``, and log it with what
    else is said ``about`` it.
    """
    drawn_from = study.pool_key(slots)
    if anew:
        print(replace_selection(study, slots, drawn_from, name))
    else:
        selections.write_selection(study.root, slots, drawn_from, name)
    log(study.root, "select", name=name, **about)


def replace_selection(study: Study, slots: Slots, drawn_from: str, name: str) -> str:
    """Replace the selection of the same name, and return what became of the old one; a labelled one is kept
    under a dated name, and `rank` makes its standings under that name.
    """
    root = study.root
    known = selections.names(root)
    words = f"selection {name} was redrawn" if name in known else _nothing_to_replace(name, known)
    if name in known:
        old = study.selection(name)
        words += _changes_text(old.slots.definition, slots.definition)
        if _has_labels(study, old.slots):
            as_kept = replace(old.slots, definition={**old.slots.definition, selections.REPLACED_BY: name})
            kept = _free(
                root, name, lambda path: path.name in known and not _is_kept(study, path.name, name, as_kept)
            ).name
            selections.write_selection(root, as_kept, old.drawn_from, kept)
            labelled = _labelled(study, old.slots)
            item = "point" if old.slots.points else "image"
            those = counted(labelled, f"{item} has", f"{item}s have") if labelled else "only spares have"
            for_both = (
                "an answer counts wherever its pixel is drawn again"
                if old.slots.points
                else "labels count for both"
            )
            words += f"; the old one, of which {those} labels, is {kept} now, and {for_both}"
        # until the new one is written there is none, rather than a mixture of old and new
        selections.path(root, name, "json").unlink()
    selections.write_selection(root, slots, drawn_from, name)
    return words


def _changes_text(before: Definition, now: Definition) -> str:
    """Return the options of a selection that changed, as text; '' if none did.

    >>> _changes_text({"selector": "mad", "concordance": "fwiou"}, {"selector": "mad", "concordance": "miou"})
    ' (concordance fwiou before, miou now)'
    """
    was, is_ = ({**define, "concordance": spelt(define)} for define in (before, now))
    changed = [
        f"{key} {was[key]} before, {is_[key]} now"
        for key in _TOLD
        if key in before and key in now and was[key] != is_[key]
    ]
    return f" ({'; '.join(changed)})" if changed else ""


def _is_kept(study: Study, kept: str, name: str, slots: Slots) -> bool:
    """Whether a killed run of the same command has already kept this selection."""
    if not _alike(selections.path(study.root, kept), selections.path(study.root, name)):
        return False
    try:
        return study.selection(kept).slots.definition == slots.definition
    except SelectionError:  # damaged
        return False


def _alike(kept: Path, file: Path) -> bool:
    """Whether a file is not kept yet, or was kept by a killed run of the same command, which may have removed
    the original.
    """
    return not (kept.exists() and file.exists()) or kept.read_bytes() == file.read_bytes()


def _nothing_to_replace(name: str, known: Sequence[str]) -> str:
    """Report that there was no selection to replace. It is not an error, because a command killed between
    removing the old and writing the new may be rerun; the note exposes a mistyped name.
    """
    held = f"; selections of this study: {', '.join(known)}.{closest(name, [*known])}" if known else ""
    return f"there was no selection {name} to replace; it was drawn{held}"


def _free(folder: Path, name: str, taken: Callable[[Path], bool]) -> Path:
    """Return a path named after a selection and today's date, with a number if that is taken."""
    day = f"{name}-{time.strftime('%Y-%m-%d')}"
    names = itertools.chain([day], (f"{day}-{number}" for number in itertools.count(2)))
    return next(path for path in (folder / one for one in names) if not taken(path))
