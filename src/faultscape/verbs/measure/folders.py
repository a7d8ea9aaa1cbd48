"""Data sets of folders to measure: truth, maps and scores, matched by the names of files; what values mean.

Conventions: ids are the truth's, sorted; a shard is 64 of them in that order. ``kind`` is a kind of scores,
'' for maps; ``pattern`` is that of --pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from faultscape.arguments import place_text
from faultscape.classes.class_lists import palette
from faultscape.classes.mapping import of_file, pairs_of
from faultscape.classes.mask_folders import ask_about_void, not_meant, of_label_ids
from faultscape.classes.palettes import coded_by_palette
from faultscape.corpus import matches, sources
from faultscape.corpus.groups import assign_groups
from faultscape.corpus.packed_sources import is_there
from faultscape.corpus.walks import common_suffix
from faultscape.errors import (
    CorpusError,
    LabelMapError,
    ModelError,
    OptionError,
    closest_place,
    counted,
    shortened,
)
from faultscape.formats.scores import SCORE_ENDINGS
from faultscape.nouns import Classes
from faultscape.prediction.catalogue import makes_maps_of
from faultscape.study.folder import check_name
from faultscape.verbs.measure.jobs import Source
from faultscape.verbs.measure.options import FileRules
from faultscape.verbs.measure.sets import DataSet, Say, if_any

SHARD = 64
MASKS = Classes(("known", "anomaly"), (0, 1), palette(2), (255,))  # what values of masks mean


@dataclass(frozen=True)
class GivenFolders:
    """The folders of a data set: truth, maps {NAME: folder}, and scores {kind: {NAME: folder}}."""

    name: str
    truth: str
    maps: Mapping[str, str]
    scores: Mapping[str, Mapping[str, str]]


def of_files(
    of: GivenFolders, classes: Classes | None, *, rules: FileRules, regions: str, say: Say
) -> DataSet:
    """Return the data set of some folders. Without maps, the truth is masks, whose ``classes`` are `MASKS`.

    Errors: CorpusError if no files are found or match, ModelError if scores are given for a model without
    maps, LabelMapError for maps whose values may mean two things.
    """
    truth = of.truth
    models = of.maps
    folders = _folders(models, of.scores)
    images = place_text(rules.images)
    others = [*folders.values(), *([images] if images else [])]
    files, readings = _true_files(truth, others, rules.pattern, say)
    ids = tuple(sorted(files))

    def match(folder: str, endings: frozenset[str]) -> tuple[list[sources.Found], dict[str, str]]:
        return _matched(folder, endings, ids, readings, [*files.values()], say)

    notes: list[str] = []
    matched: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, model), folder in folders.items():
        found, matched[kind, model] = match(folder, SCORE_ENDINGS if kind else sources.MAP_ENDINGS)
        notes += _without_truth(model, folder, found, matched[kind, model])
    held = {truth: [*files.values()]}
    held |= {f"{model}={source}": [*matched["", model].values()] for model, source in models.items()}
    given = of_file(place_text(rules.labels), classes, None) if classes else {}
    asking = bool(models) and regions != "given"  # values of masks and region ids are no classes' ids
    meanings = _meanings_of_values(held, classes, given, rules, say, asking=asking) if classes else {}
    out: dict[str, Source] = {}
    for (kind, model), found in matched.items():
        places = [found.get(i) for i in ids]
        if kind:
            known = out.get(model, Source(of.scores[kind][model]))
            out[model] = replace(known, scores={**known.scores, kind: places})
        else:
            labels = meanings.get(f"{model}={models[model]}", {})
            out[model] = Source(models[model], labels, places, given=bool(given))
    of_group = assign_groups(ids, rules.group, rules.block)
    ignore = tuple(rules.ignore or ())
    return DataSet(
        check_name(of.name, "data set"),
        ids,
        {place // SHARD: (place, min(place + SHARD, len(ids))) for place in range(0, len(ids), SHARD)},
        Source(truth, meanings.get(truth, {}), [files[i] for i in ids], given=bool(given)),
        out,
        classes
        or Classes(("region",), (next(i for i in range(65535) if i not in ignore),), ((128, 0, 0),), ignore),
        bool(models) and classes is not None,
        match(images, sources.IMAGE_ENDINGS)[1] if images else {},
        together=if_any([of_group.get(i, "") for i in ids]),
        notes=tuple(notes),
    )


def _folders(
    models: Mapping[str, str], scores: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str], str]:
    """Return {(kind, NAME): folder} of maps, whose kind is '', and scores; ModelError and OptionError for
    folders that are not there or do not go together.
    """
    out: dict[tuple[str, str], str] = {}
    for model, source in models.items():
        path = Path(source)
        if path.suffix.lower() == ".onnx":
            raise ModelError(
                f"{model}={source}: measure takes folders of label maps; run the network with "
                "`faultscape predict` first"
            )
        if makes_maps_of(source):
            raise ModelError(
                f"{model}={source}: measure takes folders of label maps; `faultscape predict STUDY"
                f" {model}={source}` makes maps of these, and `faultscape measure STUDY` measures them"
            )
        out["", check_name(model)] = str(inner) if (inner := path / "labels").is_dir() else source
        if not is_there(source):
            raise ModelError(f"{model}={source}: there is no such folder{closest_place(source)}")
    for kind, named in scores.items():
        for model, source in named.items():
            out[kind, check_name(model)] = source
            if kind != "anomaly" and model not in models:
                known = ", ".join(models) or "none"
                raise ModelError(
                    f"--{kind} {model}={source}: no model has this name; models with maps are {known}"
                )
            if not Path(source).exists():
                raise ModelError(f"--{kind} {model}={source}: there is no such folder{closest_place(source)}")
    if models and scores.get("anomaly"):
        raise OptionError(
            "--anomaly scores need masks of 0, 1 and 255, maps need classes; measure them separately, or "
            "as two data sets"
        )
    return out


def _true_files(
    truth: str, others: Sequence[str], pattern: str | None, say: Say
) -> tuple[dict[str, str], list[str | None]]:
    """Return {image id: file} of the truth, and in which order the files of other folders are read: by the
    names as they are (None), or by the pattern, which comes first if it is not meant for the truth.

    CorpusError if the pattern fits no file of any folder.
    """
    endings = sources.MAP_ENDINGS | SCORE_ENDINGS | sources.IMAGE_ENDINGS

    def fits(place: str, endings: frozenset[str]) -> bool:
        quiet = {"strip": False, "some_or_none": True, "say": lambda _: None}
        return bool(sources.find([place], endings=endings, pattern=pattern, **quiet))

    of_others = pattern is not None and not fits(truth, sources.MAP_ENDINGS)
    of_others = of_others and any(fits(place, endings) for place in others)
    by = None if of_others else pattern
    found = sources.find([truth], endings=sources.MAP_ENDINGS, strip=False, pattern=by, say=say)
    found = matches.one_kind(found, say)
    suffix = "" if by else common_suffix([f.id for f in found])
    files = {f.id.removesuffix(suffix): f.path for f in found}
    return files, [pattern, None] if of_others else [None, *([pattern] if pattern else [])]


def _matched(
    folder: str,
    endings: frozenset[str],
    ids: Sequence[str],
    readings: Sequence[str | None],
    truths: Sequence[str],
    say: Say,
) -> tuple[list[sources.Found], dict[str, str]]:
    """Return the files of a folder, and {image id: file}, by the first reading of their names, a pattern or
    None, by which some are images'; ``truths`` are the files of the images' truth.
    """

    def by(pattern: str | None) -> tuple[list[sources.Found], dict[str, str]]:
        found = sources.find([folder], endings=endings, strip=False, pattern=pattern, say=say)
        return found, matches.fit(folder, found, ids, pattern=pattern, others=truths, say=say)

    for reading in readings:
        with suppress(CorpusError):
            return by(reading)
    return by(None)  # says what is wrong


def _without_truth(
    model: str, folder: str, found: list[sources.Found], matched: Mapping[str, str]
) -> list[str]:
    """Return a note about a model's files of maps or scores that no truth belongs to, if there are any."""
    kind = matches.one_kind(found, lambda _: None)
    used = {*matched.values()}
    names = {f.id for f in kind}
    alone = sorted(names - {f.id for f in kind if f.path in used})
    what = counted(len(alone), "file has", "files have")
    are = "is" if len(alone) == 1 else "are"
    note = (
        f"{model}: {what} no truth, of {len(names)} in {folder}, and {are} not measured:"
        f" {shortened(alone, most=3)}"
    )
    return [note] if alone else []


def _meanings_of_values(
    folders: Mapping[str, Sequence[str]],
    classes: Classes,
    given: dict[str, str],
    rules: FileRules,
    say: Say,
    *,
    asking: bool,
) -> dict[str, dict[str, str]]:
    """Return {folder: label mapping} of folders of maps, the one ``given`` or what their values show, and
    report how they are read. If ``asking``, LabelMapError for those whose values may mean two things.
    """
    pairs = pairs_of(place_text(rules.labels) or "")
    elsewhere = not_meant(folders, classes, given, pairs) if asking else {}
    known = {*map(int, given), *(rules.ignore or ())}
    out: dict[str, dict[str, str]] = {}
    noted: dict[str, list[str]] = {}
    asked: dict[str, str] = {}
    for where, files in folders.items():
        labels, note = (given, "") if given else of_label_ids(where, classes, files)
        if note:
            noted.setdefault(note, []).append(where)
        for value, class_ in elsewhere.get(where, {}).items():
            note = (
                f"--labels {value}={class_} is not used, because these maps hold {class_!r} as its own value"
            )
            noted.setdefault(f"{note} beside {value}", []).append(where)
        # void of the class list stays void in a mapping that lacks it
        out[where] = {v: name for v, name in labels.items() if v not in elsewhere.get(where, {})}
        if not asking:
            continue
        if not given:
            coded_by_palette(files, classes, out[where])
        try:
            ask_about_void(where, files, classes, out[where], known=known, if_void="--ignore {}")
        except LabelMapError as question:
            asked[where] = str(question)
    if asked:
        first, *others = asked
        also = f" (likewise {', '.join(others)}, for which the answer counts too)" if others else ""
        raise LabelMapError(f"{first}{also}: {asked[first].removeprefix(f'{first}: ')}")
    for note, places in noted.items():
        say(f"note: {', '.join(places)}: {note}")
    return out
