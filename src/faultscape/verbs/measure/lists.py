"""Find the data sets that `measure` is given, by its arguments or by a TOML list.

Conventions: sources are NAME=FOLDER arguments, dicts, or lists of either; paths in a TOML list are relative
to its folder. A data set has `truth` with `models`, `masks` with `anomaly`, or `study`.
"""

from __future__ import annotations

import glob
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from faultscape.arguments import ClassList, Sources, shown
from faultscape.classes.class_lists import checked, resolve
from faultscape.corpus.packed_sources import is_there
from faultscape.errors import ClassesError, FaultscapeError, ModelError, OptionError, closest
from faultscape.nouns import Classes
from faultscape.reading.study import Study
from faultscape.study.folder import check_name, refuse_twin
from faultscape.verbs.measure.folders import MASKS, GivenFolders, of_files
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.options import FileRules
from faultscape.verbs.measure.sets import SCORES, DataSet, Say, SetPart, name_part, of_study
from faultscape.verbs.stress.artefact import is_outdated

_KEYS = (
    "truth",
    "masks",
    "study",
    "classes",
    "models",
    "images",
    "ignore",
    "labels",
    "background",
    "pattern",
    "group",
    "block",
    *SCORES,
)


def study_of(source: str | None) -> Study | None:
    """Return the study to measure; None for folders and for a list of data sets."""
    return Study(source) if source and (Path(source) / "study.toml").is_file() else None


def of_line(asked: Measurement, earlier: Sequence[SetPart], say: Say) -> list[DataSet]:
    """Return the data sets of a command: a single one, or each named set of a study, followed by those of
    ``earlier`` commands. OptionError if its arguments do not fit together.
    """
    options = asked.options
    source = options.source
    if source is None:
        raise OptionError(
            "nothing to measure; give TRUTH NAME=MAPS ... --classes C, or MASKS --anomaly NAME=SCORES, "
            "or STUDY, or --datasets LIST"
        )
    if "=" in source and not Path(source).exists():
        raise OptionError(
            f"{source!r} is in the place of the truth; give the folder of true maps first, then NAME=MAPS"
        )
    if not is_there(source) and not glob.has_magic(source):
        raise OptionError(
            f"{source}: there is no such folder; give the folder of true maps, of anomaly masks, or a study"
        )
    if asked.study is not None:
        refuse_classifiers(asked.study)
    scores = {kind: words(given, f"--{kind}") for kind, given in vars(options.scores).items()}
    maps = words(list(options.models), "a model")
    part = options.part
    if asked.study is not None:
        if maps or options.classes is not None or any(scores.values()):
            raise OptionError(
                f"{source} is a study: it holds its models and classes; measure it alone, or give a folder of"
                " true maps"
            )
        if options.files.group is not None or options.files.block is not None:
            raise OptionError(
                f"{source} is a study: group its images with `faultscape collect {source} --group ...`, "
                f"or cut groups into runs of images with `faultscape collect {source} --block N`"
            )
        named = [(set_, part.holdout or "") for set_ in part.set_ or [""]]
        return _parts_of_study(asked.study, asked.study.truth(options.truth), named, earlier, say)
    if part.given:
        raise OptionError(
            f"--{'set' if part.set_ else 'holdout'} selects a part of a study, but {source} is not a study"
        )
    if options.truth is not None:
        raise OptionError(f"--truth names a truth of a study, but {source} is not a study")
    given = GivenFolders("data", source, maps, scores)
    return [_of_folders(given, options.classes, options.files, asked.definitions.regions, say)]


def _parts_of_study(
    study: Study, truth: str, named: Sequence[SetPart], earlier: Sequence[SetPart], say: Say
) -> list[DataSet]:
    """Return the parts of a study that the command names, then those of earlier commands that can still be
    measured.
    """
    found = [of_study(study, truth, *one) for one in dict.fromkeys(named)]
    for one in earlier:
        if one not in named:
            try:
                found.append(replace(of_study(study, truth, *one), earlier=True))
            except FaultscapeError as error:
                say(
                    f"note: {name_part(one[0] or truth, one[1])} was measured before and is left out:  "
                    f"{error}"
                )
    for set_ in dict.fromkeys(data.part[0] for data in found):
        if is_outdated(study, set_):
            say(
                f"note: set {set_} was made of other images, labels or files than the study has now; "
                f"`faultscape status {study.root}` prints the line that makes it again"
            )
    return found


def of_list(path: Path, asked: Measurement, say: Say) -> list[DataSet]:
    """Return the data sets of a TOML list; OptionError names the faulty table and what is wrong with it."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise OptionError(f"{path} is not TOML: {error}") from None
    if not tables or not all(isinstance(entry, Mapping) for entry in tables.values()):
        raise OptionError(
            f"{path}: expected one table for each data set, [NAME] with truth, classes and [NAME.models]"
        )
    return [
        _of_table(path, check_name(name, "data set"), entry, asked, say) for name, entry in tables.items()
    ]


def words(given: Sources | None, what: str) -> dict[str, str]:
    """Return {NAME: source} of NAME=SOURCE arguments, dicts, or lists of them; ModelError for any other form
    or a name given twice.

    >>> words(["a=x", {"b": "y"}], "a model")
    {'a': 'x', 'b': 'y'}
    """
    out: dict[str, str] = {}
    for word in [given] if isinstance(given, str | Mapping) else given or ():
        if isinstance(word, Mapping):
            if odd := next((k for k, v in word.items() if not isinstance(v, str | os.PathLike)), None):
                raise ModelError(f"{what}: {odd}: expected the name of a folder; got {shown(word[odd])}")
            items = [(str(k), os.fspath(v)) for k, v in word.items()]
        else:
            name, equals, source = str(word).partition("=")
            if not equals or not source:
                raise ModelError(f"{what}: {word!r} is not NAME=FOLDER, for example unet=maps/unet")
            items = [(name, source)]
        for name, source in items:
            if check_name(name) in out:
                raise ModelError(f"{what}: the name {name!r} is given twice; give each its own")
            refuse_twin(name, out)
            out[name] = source
    return out


def refuse_classifiers(study: Study) -> None:
    """Raise OptionError for a study of classifiers, which has no pixels to measure."""
    if study.classifies:
        raise OptionError(f"measure is for label maps; for classifiers run `faultscape rank {study.root}`")


def _of_table(path: Path, name: str, entry: Mapping[str, Any], asked: Measurement, say: Say) -> DataSet:
    if unknown := [key for key in entry if key not in _KEYS]:
        raise OptionError(
            f"{path}, [{name}]: {unknown[0]!r} is not known; use "
            f"{', '.join(_KEYS)}.{closest(unknown[0], list(_KEYS))}"
        )

    def there(value: Any, key: str) -> str:
        if not isinstance(value, str):
            raise OptionError(f"{path}, [{name}]: {key} is {value!r}; expected a path")
        return os.path.join(path.parent, value)

    def folders(key: str) -> dict[str, str]:
        given = entry.get(key, {})
        if not isinstance(given, Mapping):
            raise OptionError(f"{path}, [{name}]: {key} is a table NAME = FOLDER; got {given!r}")
        return {check_name(model): there(source, f"{key}.{model}") for model, source in given.items()}

    roots = [key for key in ("truth", "masks", "study") if key in entry]
    if "study" in roots:
        root = there(entry["study"], "study")
        if (study := study_of(root)) is None:
            raise OptionError(f"{path}, [{name}]: {root} is not a study")
        if more := [key for key in entry if key not in ("study", "truth")]:
            raise OptionError(
                f"{path}, [{name}]: a study holds its own models, classes and images; leave out {more[0]!r}"
            )
        refuse_classifiers(study)
        return replace(of_study(study, study.truth(entry.get("truth"))), name=name)
    if len(roots) != 1:
        raise OptionError(f"{path}, [{name}]: give truth (with models), or masks (with anomaly), or study")
    rules = asked.options.files
    classes = entry.get("classes")
    if isinstance(classes, str) and (path.parent / classes).is_file():
        classes = str(path.parent / classes)
    mine = replace(rules, **{key: entry[key] for key in ("background", "pattern", "block") if key in entry})
    if isinstance(group := entry.get("group"), str):
        mine = replace(mine, group=there(group, "group") if group.lower().endswith(".csv") else group)
    if group is not None and not isinstance(group, str):
        raise OptionError(
            f"{path}, [{name}]: group is {group!r}; expected a pattern with {{group}}, or a CSV file"
        )
    if type(mine.block) is not int and mine.block is not None:
        raise OptionError(f"{path}, [{name}]: block is {mine.block!r}; expected a whole number of images")
    images = there(entry["images"], "images") if "images" in entry else None
    if (labels := entry.get("labels")) is not None:
        beside = there(labels, "labels")
        mine = replace(mine, labels=beside if Path(beside).is_file() else labels)
    mine = replace(mine, ignore=list(entry.get("ignore", rules.ignore or ())), images=images)
    scores = {kind: folders(kind) for kind in SCORES}
    given = GivenFolders(name, there(entry[roots[0]], roots[0]), folders("models"), scores)
    return _of_folders(given, classes, mine, asked.definitions.regions, say)


def _of_folders(
    given: GivenFolders, classes: ClassList | None, rules: FileRules, regions: str, say: Say
) -> DataSet:
    known: Classes | None = None
    if regions == "given" and (
        more := [kind for kind in ("confidence", "doubt", "probabilities") if given.scores.get(kind)]
    ):
        raise OptionError(
            f"--{more[0]} needs classes, and --regions given means maps of region ids; leave one of them out"
        )
    if given.maps:
        if classes is None and regions != "given":
            raise ClassesError(
                "maps are measured by class; give --classes C (a class file, a built-in name or a "
                "number), or --regions given"
            )
        known = None if classes is None else _classes(classes, rules)
    elif given.scores.get("anomaly"):
        known = _classes(MASKS, replace(rules, background=None))
    else:
        raise ModelError("no model given; give NAME=MAPS with --classes C, or --anomaly NAME=SCORES")
    return of_files(given, known, rules=rules, regions=regions, say=say)


def _classes(classes: ClassList, rules: FileRules) -> Classes:
    """Return the classes with the additional void values and background."""
    ignore = tuple(rules.ignore or ())
    background = rules.background
    if isinstance(classes, str) and classes.isdecimal():
        classes = int(classes)
    if isinstance(classes, int):
        return resolve(classes, background=background, void=ignore)
    known = resolve(classes)
    void = tuple(sorted({*known.void, *ignore}))
    return checked(
        replace(known, void=void, background=known.background if background is None else background),
        "classes",
    )
