"""joined.json: the truths that were merged from the labels of several annotators, and from what.

Conventions: ``of`` are the truths that were merged, ``others`` those of annotators that were there and left
out, ``inputs`` {truth: a key of its labels when they were merged}.
"""

from __future__ import annotations

from pathlib import Path

import pydantic

from faultscape.study.folder import put

_FILE = "joined.json"


class Joined(pydantic.BaseModel):
    """How one truth was merged: see the conventions above."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    of: list[str]
    others: list[str] = []
    tie: str = "void"
    least: int = 2
    inputs: dict[str, str] = {}


class JoinedTruths(pydantic.BaseModel):
    """All that joined.json holds."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    truths: dict[str, Joined] = {}


def read_joined(root: Path) -> dict[str, Joined]:
    """Return {truth: how it was merged}; {} if the file cannot be read: then merged truths count as any
    other.
    """
    path = root / _FILE
    try:
        return JoinedTruths.model_validate_json(path.read_bytes()).truths if path.exists() else {}
    except (OSError, ValueError):
        return {}


def keep_joined(root: Path, truth: str, joined: Joined) -> None:
    """Record how one truth was merged."""
    every = JoinedTruths(truths={**read_joined(root), truth: joined})
    put(root / _FILE, (every.model_dump_json(indent=1) + "\n").encode())
