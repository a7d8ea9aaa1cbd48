"""Draw images for all models at once, mostly with known probabilities: a new selection, or more images for
one.

Conventions: as in ``reading.pool``. An image without a prediction of every model is in no pool.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import FixedSelectionError, ModelError, OptionError, SelectionError, counted
from faultscape.nouns import Slots
from faultscape.reading.label_counts import refuse_waiting, tell_waiting
from faultscape.reading.pairs import corpus_key
from faultscape.reading.study import Study
from faultscape.selection.definitions import ROUND, learns
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.verbs.select.next_draws import definition, next_draws
from faultscape.verbs.select.replacement import replace_selection
from faultscape.verbs.select.ties import tell_ties
from faultscape.verbs.select.too_few_models import too_few_models

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions

BUDGET = 100
MOST = 1_000_000


def draw(
    root: Path,
    name: str,
    selector: str,
    given: dict[str, Any],
    options: SelectOptions,
) -> Slots:
    """Draw, extend or redraw a selection of a study, or in a dry run of a copy of it."""
    selections.path(root, name)
    anew = options.replace
    number = given.get("more", given.get("budget", ROUND if given.get("goal") == "best" else BUDGET))
    if "more" in given and "budget" in given:
        raise OptionError("--budget is the total number of images, --more how many to add; give one of them")
    if not 1 <= number <= MOST:
        raise OptionError(
            f"--{'more' if 'more' in given else 'budget'} must be 1 to {MOST:,} images; got {number}"
        )
    with writing(root):
        settings = read_settings(root)
        models = tuple(settings.models)
        if len(models) < 2:
            raise ModelError(too_few_models(root, models))
        old = selections.read_selection(root, name) if not anew and name in selections.names(root) else None
        if old is None and "more" in given:
            raise SelectionError(
                f"there is no selection {name!r} to draw more of; make it with --budget {number}"
            )
        define = definition(name, selector, settings, given, None if old is None else old[0].definition)
        held = () if old is None else old[0].rows
        if old is not None and (old[0].models != models or old[1] != corpus_key(Study(root), models)):
            what = "models" if old[0].models != models else "images or predictions"
            raise FixedSelectionError(
                f"{what} changed since selection {name!r} was drawn, so that no more can be added; "
                f"redraw it with --selector {selector} --replace, or draw another with --as NAME (labels "
                "count for both)"
            )
        if old is not None and not {"more", "budget"} & set(given):
            number = len(held)  # no more were requested
        number -= 0 if "more" in given else len(held)
        if number <= 0 and old is not None:
            print(f"selection {name!r} has {counted(len(held), 'image')}; --more N adds to them")
            return old[0]
        if options.dry_run and held and settings.store and learns(define):
            raise OptionError(
                f"--dry-run: selection {name!r} learns from labels, which would be counted in the study's"
                " store; leave it out"
            )
        if held and "more" in given:
            refuse_waiting(Study(root), name, number)
        if held:
            tell_waiting(Study(root), name, given.get("truth"), learns=learns(define))
        found = next_draws(
            root,
            settings,
            name,
            Slots(models, define, held),
            number,
            truth=given.get("truth"),
            engine=options.engine,
            workers=options.workers,
        )
        print("".join(f"{note}\n" for note in found.notes), end="")
        tell_ties(found.tied, len(found.rows), define)
        result = Slots(models, define, (*held, *found.rows), found.tied)
        if anew:
            print(replace_selection(root, result, corpus_key(Study(root), models), name))
        else:
            selections.write_selection(root, result, corpus_key(Study(root), models), name)
        log(root, "select", name=name, number=len(found.rows), **define)
    return result
