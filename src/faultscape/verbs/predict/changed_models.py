"""Rename and remove models of a study. Valid maps, counts and statistics are kept under the new names;
nothing is counted again.

Conventions: renames are ``{old: new}``, removals are names. The change is first noted in ``.change.json``,
with the counts and selections that were valid before. Every step is idempotent: repeating the command
finishes a change that was killed, and nothing else writes until then (study.lock). Labels, answers, logs and
checkpoints (models/NAME) are kept; selections drawn with a removed model stay unchanged.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from faultscape.arguments import Renames
from faultscape.comparison import sparse_counts
from faultscape.errors import ModelError, StudyError, closest, counted
from faultscape.nouns import Slots
from faultscape.reading.study import LABELS, Study
from faultscape.study.folder import check_name, put, refuse_twin
from faultscape.study.lock import CHANGE, Asked, ChangeNote, Right, noted, unfinished
from faultscape.study.part_folders import made, move, remove
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import change_models
from faultscape.study.tables import logs, selections
from faultscape.study.tables import pairs as pair_table
from faultscape.study.tables.pairs import PairPart
from faultscape.terminal_lines import option_words
from faultscape.verbs.loop.artefact import rename_networks
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.train.artefact import rename_parent

# below reliability, one file per model: what was drawn or counted before
_KEPT = ("pictures", "components")


def asked(rename: Renames | None, remove: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return {old: new} and the names to remove; ModelError for an argument that is not OLD=NEW, or a name
    given twice.

    >>> asked(["unet=unet-2019"], ["fcn"])
    ({'unet': 'unet-2019'}, ['fcn'])
    """
    words = list(rename.items()) if isinstance(rename, Mapping) else []
    for word in [rename] if isinstance(rename, str) else rename if not words and rename else ():
        old, equals, new = str(word).partition("=")
        if not (old and equals and new):
            raise ModelError(f"--rename {word}: is not OLD=NEW, for example --rename unet=unet-2019")
        words.append((old, new))
    removed = list(remove)
    for names in ([old for old, _ in words], removed):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ModelError(f"{twice!r} is given twice; name each model once")
    return dict(words), removed


def change(
    options: PredictOptions, study: Study, renamed: dict[str, str], removed: list[str], given: dict[str, str]
) -> None:
    """Rename and remove models of a study that is held for writing."""
    words = [
        *(f"--rename {shlex.quote(f'{old}={new}')}" for old, new in renamed.items()),
        *(f"--remove {shlex.quote(n)}" for n in removed),
    ]
    models = [shlex.quote(f"{name}={source}") for name, source in given.items()]
    others = _of_models(options) if given else []
    line = " ".join(["faultscape predict", study.place, *models, *words, *others])
    root = study.root
    known = study.settings.models
    left = {name: logs.failures_of_model(root, name) for name in removed if name not in known}
    _change(study, renamed, removed, line=line, models=given)
    for name, rows in left.items():
        if rows:
            print(
                f"{name}: the study has no such model; {counted(len(rows), 'row')} of it "
                f"{'was' if len(rows) == 1 else 'were'} removed from failures.csv"
            )
    for name in removed:
        if (kept := root / "models" / name).exists():
            print(f"{name}: its checkpoints in {kept} are kept; delete them if you no longer need them")


def _of_models(options: PredictOptions) -> list[str]:
    """Return the options of the models that are predicted after a change, as a command line spells them."""
    asked = options.given(but=("rename", "remove"))
    if options.labels and os.path.exists(options.labels):
        return option_words({**asked, "labels": os.path.abspath(options.labels)})
    return option_words(asked)


def _change(
    study: Study,
    renamed: Mapping[str, str],
    removed: Collection[str],
    *,
    line: str,
    models: Mapping[str, str],
) -> None:
    """Rename and remove models of a study that is locked for writing, or finish an interrupted change.

    ``line`` is the command that repeats the request, ``models`` what else it asks for: rerun after a kill, it
    finds the change done. Errors: ModelError for names that are unknown or taken; StudyError while another
    change is unfinished.
    """
    root = study.root
    asked: Asked = {"rename": dict(renamed), "remove": sorted(removed), "models": dict(models)}
    note: ChangeNote | None = noted(root)
    if other := unfinished(root):
        if note is None or note["asked"] != asked:
            raise StudyError(f"a change of models was interrupted in {root}; finish it first: {other}")
    elif note is None or note["asked"] != asked:
        _check(study, renamed, removed)
        names = {name: renamed.get(name, name) for name in study.models if name not in removed}
        right: Right = {
            "pairs": _right_pairs(study, names),
            "selections": _right_selections(study, names),
        }
        note = {"line": line, "asked": asked, "done": False, "names": names, "right": right}
        put(root / CHANGE, json.dumps(note, ensure_ascii=False).encode())
    if not note["done"]:
        _apply(study, renamed, removed, note)
        put(root / CHANGE, json.dumps(note | {"done": True, "right": {}}, ensure_ascii=False).encode())
    study.reread()


def forget(root: Path) -> None:
    """Delete the note of a change once everything its command asked for is done."""
    if not unfinished(root):
        (root / CHANGE).unlink(missing_ok=True)


def withdraw(study: Study, names: Collection[str]) -> None:
    """Remove models that were just added and had nothing usable; their rows in failures.csv stay."""
    change_models(study.root, {name: name for name in study.reread().models if name not in names})
    for name in names:
        for folder in _folders(study.root, name):
            remove(study.root, folder)


def _check(study: Study, renamed: Mapping[str, str], removed: Collection[str]) -> None:
    """Raise ModelError unless the old names exist and the new ones are free."""
    root = study.root
    known = list(study.models)
    truths = {LABELS, *study.truths}
    words = f"it has {', '.join(known)}" if known else "it has none"
    for name in (*renamed, *removed):
        check_name(name)
        if name not in known and not (
            name in removed and (_folders(root, name) or logs.failures_of_model(root, name))
        ):
            # remains of a model that was removed from study.toml by hand, or never added
            raise ModelError(f"the study has no model {name!r}; {words}.{closest(name, known)}")
    for ensemble, about in study.settings.models.items():
        members = about.source.partition(":")[2].split(",") if about.kind == "ensemble" else ()
        if ensemble not in removed and (member := next((name for name in members if name in removed), None)):
            raise ModelError(f"{member} is a member of {ensemble}; remove {ensemble} too, or first")
    for old, new in renamed.items():
        check_name(new)
        refuse_twin(new, [name for name in known if name != old and name not in removed])
        if old in removed:
            raise ModelError(f"{old!r} cannot be both renamed and removed; give one of the two")
        if new in known:
            raise ModelError(
                f"--rename {old}={new}: the study has a model {new!r} already; choose another name"
            )
        if list(renamed.values()).count(new) > 1:
            raise ModelError(f"two models would be named {new!r}; give each its own name")
        if new in truths:
            raise ModelError(
                f"--rename {old}={new}: {new!r} is the name of a truth of this study; choose another name"
            )
        if _folders(root, new):
            raise ModelError(
                f"--rename {old}={new}: there are files of an earlier model {new!r}; choose another name, or"
                f" --remove {new} first"
            )
        if (root / "models" / old).exists() and (root / "models" / new).exists():
            raise ModelError(
                f"--rename {old}={new}: {root / 'models' / new} holds another network; choose another name"
            )
        for name in selections.names(root):
            if new in study.selection(name).slots.models:
                raise ModelError(
                    f"--rename {old}={new}: selection {name!r} was drawn with another {new!r}; choose another"
                    " name"
                )


def _folders(root: Path, name: str) -> list[Path]:
    """Return the folders that hold parts of a model."""
    folders = [
        path for room in ("predictions", "pairs") for path in made(root, room) if path == root / room / name
    ]
    folders += dict.fromkeys(path.parent for path in made(root, "reliability") if path.parent.name == name)
    return folders + [path for path in made(root, "measures") if path.name == name]


def _right_pairs(study: Study, names: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the partners of each currently valid pair part that involves a changing model, by the model's
    new name.
    """
    right: dict[str, dict[str, list[str]]] = {}
    held = {name: study.stored_pairs[name] for name in names}
    for part in study.wanted_pairs:
        entry = held.get(part.name, {}).get(part.part)
        if (
            entry is not None
            and entry.key == part.key
            and any(names.get(other) != other for other in part.others)
        ):
            right.setdefault(names[part.name], {})[part.part] = list(part.others)
    return right


def _right_selections(study: Study, names: Mapping[str, str]) -> list[str]:
    """Return the selections that were drawn from the current images and predictions and keep all their
    models.
    """
    return [
        name
        for name, made in study.selections.items()
        if all(model in names for model in made.slots.models)
        and made.drawn_from == study.pool_key(made.slots)
    ]


def _apply(study: Study, renamed: Mapping[str, str], removed: Collection[str], note: ChangeNote) -> None:
    """Do every step; a step that was already done changes nothing."""
    root = study.root
    for name in removed:
        for folder in (root / "predictions" / name, root / "pairs" / name, *_folders(root, name)):
            remove(root, folder)
        if not (root / "models" / name).exists():  # those of a network trained here stay with it
            remove(root, root / "methods" / name)
        for kept in _KEPT:
            (root / "reliability" / kept / f"{name}.json").unlink(missing_ok=True)
    for old, new in renamed.items():
        if (root / "models" / old).exists():
            rename_parent(root, old, new)
        for kept in _KEPT:
            with suppress(FileNotFoundError):
                (root / "reliability" / kept / f"{old}.json").replace(
                    root / "reliability" / kept / f"{new}.json"
                )
        for folder in dict.fromkeys(
            (
                root / "predictions" / old,
                root / "pairs" / old,
                *_folders(root, old),
                root / "models" / old,
                root / "methods" / old,
            )
        ):
            move(root, folder, folder.with_name(new))
    change_models(root, note["names"])
    study.reread()
    _pairs(study, note["right"]["pairs"], renamed, removed)
    for name in selections.names(root):
        _selection(study, name, renamed, right=name in note["right"]["selections"])
    study.choices.rename(renamed)
    rename_networks(study.reread(), renamed)
    logs.rename_rows(root, {**renamed, **dict.fromkeys(removed)})
    logs.log(
        root, "predict", **{key: said for key, said in note["asked"].items() if said and key != "models"}
    )


def _pairs(
    study: Study,
    right: Mapping[str, Mapping[str, list[str]]],
    renamed: Mapping[str, str],
    removed: Collection[str],
) -> None:
    """Give the counts that were valid their new keys, without the removed models."""
    todo: dict[str, list[PairPart]] = {}
    for part in study.wanted_pairs if right else ():
        before = right.get(part.name, {}).get(part.part)
        if before is not None and part.others == tuple(
            renamed.get(name, name) for name in before if name not in removed
        ):
            todo.setdefault(part.name, []).append(part)
    for name, parts in todo.items():
        folder = pair_table.folder(study.root, name)
        manifest = study.manifest(folder)
        entries: dict[str, Part] = {}
        for part in parts:
            if (entry := manifest.get(part.part)) is None or entry.key == part.key:
                continue
            gone = [place for place, other in enumerate(right[name][part.part]) if other in removed]
            sha = (
                _repacked(folder, part, entry, gone, len(right[name][part.part]), len(study.classes))
                if gone
                else entry.sha256
            )
            entries[part.part] = replace(entry, sha256=sha, key=part.key)
        write_manifest(folder, {**manifest, **entries})


def _repacked(folder: Path, part: PairPart, entry: Part, gone: list[int], partners: int, classes: int) -> str:
    """Write a part without the partners that left and return its checksum."""
    ids, column = pair_table.read_counts(folder, part, entry)
    n = classes + 1
    return pair_table.put_counts(
        folder, part, ids, [sparse_counts.without(code, gone, partners, n) for code in column.to_pylist()]
    )


def _selection(study: Study, name: str, renamed: Mapping[str, str], *, right: bool) -> None:
    """Rename the models of a selection."""
    held = study.selection(name)
    slots = held.slots
    if not any(model in renamed for model in slots.models):
        return
    models = tuple(renamed.get(model, model) for model in slots.models)
    named = ("defender", "attacker", "model_a", "model_b")
    rows = tuple(
        replace(
            row,
            **{
                key: renamed.get(value, value)
                for key in named
                if (value := getattr(row, key, None)) is not None
            },
        )
        for row in slots.rows
    )
    define = slots.definition.copy()
    if known := define.get("temperatures"):
        define["temperatures"] = {
            renamed.get(model, model): temperature for model, temperature in known.items()
        }
    found = Slots(models, define, rows)
    key = study.pool_key(found) if right else held.drawn_from
    selections.write_selection(study.root, found, key, name)
