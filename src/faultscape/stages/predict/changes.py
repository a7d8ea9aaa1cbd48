"""The options of `predict` that rename and remove models, and applying them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultscape.errors import ModelError, counted
from faultscape.stages.predict import changed_models
from faultscape.study.settings import read_settings
from faultscape.study.tables import logs


def asked(
    rename: Sequence[str] | Mapping[str, str] | str | None, remove: Sequence[str] | str | None
) -> tuple[dict[str, str], list[str]]:
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
    removed = [remove] if isinstance(remove, str) else list(remove or [])
    for names in ([old for old, _ in words], removed):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ModelError(f"{twice!r} is given twice; name each model once")
    return dict(words), removed


def change(
    study: str, root: Path, renamed: dict[str, str], removed: list[str], given: dict[str, str]
) -> None:
    """Rename and remove models of a study that is held for writing."""
    words = [
        *(f"--rename {shlex.quote(f'{old}={new}')}" for old, new in renamed.items()),
        *(f"--remove {shlex.quote(n)}" for n in removed),
    ]
    models = [shlex.quote(f"{name}={source}") for name, source in given.items()]
    line = " ".join(["faultscape predict", shlex.quote(study), *models, *words])
    known = read_settings(root).models
    left = {name: logs.failures_of_model(root, name) for name in removed if name not in known}
    changed_models.change(root, renamed, removed, line=line, models=given)
    for name, rows in left.items():
        if rows:
            print(
                f"{name}: the study has no such model; {counted(len(rows), 'row')} of it "
                f"{'was' if len(rows) == 1 else 'were'} removed from failures.csv"
            )
    for name in removed:
        if (kept := root / "models" / name).exists():
            print(f"{name}: its checkpoints in {kept} are kept; delete them if you no longer need them")
