"""The options of `predict` that rename and remove models, and applying them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from faultscape.arguments import Renames
from faultscape.errors import ModelError, counted
from faultscape.reading.study import Study
from faultscape.study.tables import logs
from faultscape.terminal_lines import option_words
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict import changed_models


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
    asked = _of_models(options) if given else []
    line = " ".join(["faultscape predict", study.place, *models, *words, *asked])
    root = study.root
    known = study.settings.models
    left = {name: logs.failures_of_model(root, name) for name in removed if name not in known}
    changed_models.change(study, renamed, removed, line=line, models=given)
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
