"""Images that are made of others when they are read: what each is made of, and how.

Conventions: the source of such an image is ``stress:`` and a JSON object: ``of``, the source of the image that it is made of (its parent), ``digest``, that of the parent as it was
collected, and one step with all its parameters. What is made follows from these alone, so that it is the same bytes whoever reads it. The digest of a made image is that of its
recipe, without the place of the parent: a parent that was moved makes the same image, one that changed makes none.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from faultscape import plug
from faultscape.errors import ImageError
from faultscape.formats.pictures import read_rgb
from faultscape.stressors.corruption import corrupt

PREFIX = "stress:"
METHOD = 1  # raised when the same recipe makes other pixels
_TEXTURES = frozenset([".png", ".jpg", ".jpeg"])


@dataclass(frozen=True)
class CorruptStep:
    """A corruption at one severity; ``key`` stands for the image in the order of chance, ``textures`` is a folder of frost, ``code`` the digest of a file of one's own or of the textures."""

    name: str
    severity: int
    seed: int
    key: str
    textures: str = ""
    code: str = ""


Step = CorruptStep


@dataclass(frozen=True)
class Recipe:
    """What an image is made of, and how: the source and digest of its parent, and one step."""

    of: str
    digest: str
    step: Step

    @property
    def source(self) -> str:
        """The recipe as the source of an image."""
        return PREFIX + _text({"of": self.of, "digest": self.digest, "corrupt": asdict(self.step)})

    @property
    def made_digest(self) -> str:
        """The digest of the image that is made: of the parent's, the step, and how it is computed now."""
        step = {name: value for name, value in asdict(self.step).items() if name != "textures"}
        return hashlib.sha256(_text([METHOD, self.digest, step]).encode()).hexdigest()

    def moved(self, of: str) -> Recipe:
        """Return the recipe with its parent at another place."""
        return replace(self, of=of)


def recipe_of(source: str) -> Recipe | None:
    """Return the recipe that a source is; None of one that is a place. ImageError for a recipe that cannot be read.

    >>> recipe_of("a.png")
    >>> made = Recipe("a.png", "5f3c", CorruptStep("fog", 3, 0, "5f3c"))
    >>> recipe_of(made.source) == made
    True
    """
    if not source.startswith(PREFIX):
        return None
    try:
        held = json.loads(source[len(PREFIX) :])
        return Recipe(str(held["of"]), str(held["digest"]), CorruptStep(**held["corrupt"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ImageError(f"{source[:60]}...: is no recipe of an image; run the line of `faultscape stress` again") from None


def cook(recipe: Recipe, parent: np.ndarray) -> np.ndarray:
    """Return the image (H, W, 3) uint8 that a recipe makes of the pixels of its parent, of the same shape."""
    step = recipe.step
    textures = read_textures(step.textures, step.code) if step.textures else None
    return corrupt(parent, step.name, step.severity, seed=step.seed, key=step.key, textures=textures)


def textures_digest(folder: str) -> str:
    """Return a digest of the images of a folder of textures, whatever they are called; ImageError where there are none."""
    return hashlib.sha256("".join(sorted(_digests(folder))).encode()).hexdigest()[:16]


@lru_cache(maxsize=2)
def read_textures(folder: str, digest: str) -> tuple[np.ndarray, ...]:
    """Return the textures of a folder in the order of their bytes' digests; ImageError where they are others than those of this digest."""
    held = _digests(folder)
    if textures_digest(folder) != digest:
        raise ImageError(
            f"{folder}: the textures of frost changed since images were made of them; put them back, or run the line of `faultscape stress` again"
        )
    return tuple(read_rgb(held[one]) for one in sorted(held))


def code_of(name: str) -> str:
    """Return the digest of the file that a corruption of one's own, ``file.py:NAME``, lies in; '' for one that is built in."""
    return plug.digest(name) if ".py:" in name else ""


def _digests(folder: str) -> dict[str, Path]:
    """Return {digest: path} of the images of a folder."""
    try:
        found = {
            hashlib.sha256(path.read_bytes()).hexdigest(): path
            for path in sorted(Path(folder).iterdir())
            if path.suffix.lower() in _TEXTURES
        }
    except OSError as error:
        raise ImageError(f"{folder}: {error.strerror}; expected a folder of textures (png or jpg)") from None
    if not found:
        raise ImageError(f"{folder}: holds no textures; expected images ending in {' '.join(sorted(_TEXTURES))}")
    return found


def _text(held: object) -> str:
    return json.dumps(held, sort_keys=True, separators=(",", ":"))
