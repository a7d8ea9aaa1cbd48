"""Select duels of segmentation models (Yan et al. 2021): for each ordered pair and class, the images of
lowest concordance.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape import plug
from faultscape.classes.class_lists import resolve
from faultscape.errors import FixedSelectionError, OptionError, SelectionError, counted
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.nouns import Definition, Scale, Slots
from faultscape.reading.study import Study
from faultscape.selection import duel
from faultscape.selection.quartiles import from_json, read_scale, to_json
from faultscape.selection.spares import extended
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.verbs.select import map_duels
from faultscape.verbs.select.replacement import replace_selection
from faultscape.verbs.select.ties import tell_moved, tell_ties
from faultscape.verbs.select.too_few_models import too_few_models

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions

MOST = 10_000  # images per cell: for more, use random sampling
PILE = 10  # slots of one image above which a note is printed


def duels(root: Path, name: str, chosen: dict[str, Any], options: SelectOptions) -> Slots:
    """Draw or extend a selection of a study, as the ``chosen`` options say."""
    asked = {key: chosen.get(key) for key in duel.DEFAULTS}
    constraints = chosen.get("constraints")
    scale = chosen.get("scale")
    if "concordance" in chosen:
        plug.find("concordance", chosen["concordance"], CONCORDANCES)
    for option, key, least in (("per-class", "per_class", 1), ("spares", "spares", 0)):
        value = chosen.get(key)
        if value is not None and not least <= value <= MOST:
            raise OptionError(f"{option} must be at least {least} and at most {MOST:,}; got {value}")
    selections.path(root, name)
    with writing(root):
        settings = read_settings(root)
        classes = resolve(settings.class_list)
        models = tuple(settings.models)
        if len(models) < 2:
            raise SelectionError(too_few_models(root, models))
        quartiles = scale if isinstance(scale, Scale) else read_scale(scale, classes) if scale else None
        if quartiles is not None and constraints not in (None, "class+scale"):
            raise OptionError(f"--scale is for --constraints class+scale; got {constraints}")
        given = {key: value for key, value in asked.items() if value is not None}
        anew = options.replace
        old = selections.read_selection(root, name) if not anew and name in selections.names(root) else None
        if (
            anew
            and quartiles is None
            and constraints in (None, "class+scale")
            and name in selections.names(root)
        ):
            was = selections.read_selection(root, name)[0].definition
            if was.get("constraints") == "class+scale":
                quartiles = from_json({"classes": was["scale"]}, classes, f"selection {name}")
                print("scale: kept as it was; change it with --scale, drop it with --constraints class")
        if old is not None and (gone := [m for m in old[0].models if m not in models]):
            raise FixedSelectionError(
                f"selection {name!r} was drawn with {gone[0]!r}, which is no longer in the study; redraw "
                "it with --replace, or draw another with --as NAME (labels count for both)"
            )
        if old is None:
            define = duel.definition(
                classes, constraints=constraints, scale=quartiles, **{**duel.DEFAULTS, **given}
            )
        else:
            define = _extended(name, old[0].definition, given, constraints, quartiles)
            # earlier versions left those from before a rename
            define["groups"] = duel.group_names(classes, define["constraints"])
            for key in ("per_class", "spares"):
                if (asked[key] or 0) < define[key] and asked[key] is not None:
                    print(f"selection {name!r} cannot shrink: {key} stays {define[key]}")
            if define["constraints"] == "class+scale":
                quartiles = from_json({"classes": define["scale"]}, classes, f"selection {name}")
        study = Study(root)
        drawn_from = study.drawn_from(models)
        if old is not None and old[1] != study.drawn_from(old[0].models):
            raise FixedSelectionError(
                f"images or predictions changed since selection {name!r} was drawn; redraw it with "
                "--replace, or draw another with --as NAME (labels count for both)"
            )
        result = map_duels.search(
            study, models, define, title="select", engine=options.engine, workers=options.workers
        )
        tell_ties(result.tied, len(result.chosen), define)
        tell_moved(result.moved)
        if old is not None:
            rows = old[0].rows + extended(old[0], result)
            result = Slots(models, define, rows, result.tied, result.moved)
        _tell_piles(result)
        if anew:
            print(replace_selection(root, result, drawn_from, name))
        else:
            selections.write_selection(root, result, drawn_from, name)
        log(root, "select", name=name, **{k: v for k, v in define.items() if k != "scale"})
    return result


def _tell_piles(slots: Slots) -> None:
    """Report how many images fill more than ten slots each, where the constraint allows it: a few hard images
    then represent many classes.
    """
    held = Counter(row.image for row in slots.chosen)
    piles = [image for image, number in held.most_common() if number > PILE]
    if slots.definition["constraints"] == "class" and piles:
        share = sum(held[image] for image in piles) / len(slots.chosen)
        of = f"{len(piles)} of the " if len(held) > 1 else ""
        print(
            f"note: {of}{counted(len(held), 'image')} decide{'s' * (len(piles) == 1)}"
            f" {100 * share:.0f} % of the comparisons of two models (most: {piles[0]}, {held[piles[0]]}); to"
            " spread them over more images, give --scale FILE, which `faultscape scale` makes from old masks"
        )


def _extended(
    name: str, was: Definition, given: dict[str, Any], constraints: str | None, quartiles: Scale | None
) -> Definition:
    """Return the definition of an existing selection with its numbers grown; SelectionError if any other
    option changed.
    """
    if was.get("concordance_file", "") != plug.digest(was["concordance"]):
        raise FixedSelectionError(
            f"selection {name!r} was made with {was['concordance']}, which has changed since; its "
            "definition is fixed: use --as NAME for another, or --replace to redraw it"
        )
    asked = {key: value for key, value in given.items() if key not in ("per_class", "spares")}
    asked |= {"constraints": constraints} if constraints else {}
    asked |= {"scale": to_json(quartiles)["classes"]} if quartiles is not None else {}
    for key, value in asked.items():
        if was.get(key) != value:
            words = f"{key} {was[key]}, not {value}" if key in was else f"no {key}"
            words = "another scale file, or none" if key == "scale" else words
            raise FixedSelectionError(
                f"selection {name!r} was made with {words}; its definition is fixed: use --as NAME for "
                "another, or --replace to redraw it"
            )
    grown: Definition = {**was}
    for key in ("per_class", "spares"):
        grown[key] = max(was[key], given.get(key, 0))
    return grown
