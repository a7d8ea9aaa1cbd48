"""Recipes for images that are made from others when they are read.

Conventions: the source of a made image is ``stress:`` followed by a JSON object: ``of``, the source of its
parent image, ``digest``, the parent's digest when it was collected, and one step with all its parameters. The
result depends only on these, so that every reader gets the same bytes. The digest of a made image is that of
its recipe without the parent's place: a moved parent makes the same image, a changed one makes none.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from faultscape.corpus.layouts.fishyscapes import add_overlay, read_overlay
from faultscape.corpus.stress.files import read_depth, read_object, read_textures, read_void
from faultscape.corpus.stress.recipe_versions import METHOD, code_of, method_of_blending
from faultscape.errors import FaultscapeError, ImageError
from faultscape.stressors.blend_plans import plan_of_text
from faultscape.stressors.composition import Blended, blend
from faultscape.stressors.corruption import corrupt
from faultscape.stressors.fog import Fog, add_fog

PREFIX = "stress:"
CANNOT = "cannot be made: "  # prefix of the reason why a step fails on an unchanged parent


@dataclass(frozen=True)
class CorruptStep:
    """A corruption at one severity; ``key`` identifies the image for random numbers, ``textures`` is a folder
    of frost textures, ``code`` the digest of the user's file or of the textures.
    """

    name: str
    severity: int
    seed: int
    key: str
    textures: str = ""
    code: str = ""


@dataclass(frozen=True)
class PlanStep:
    """Objects blended in by a plan (`stressors.BlendPlan`); ``objects`` is the folder of the cut-outs,
    ``void`` the digest of the mask of the base's void pixels there, '' unless fog needs it.
    """

    plan: str
    objects: str
    void: str = ""
    depth: str = ""
    depth_digest: str = ""


@dataclass(frozen=True)
class FogStep:
    """Fog with an attenuation ``beta`` per metre in grey ``light``; ``depth`` is a depth file, '' for the
    depth estimated from position.
    """

    beta: float
    light: int
    depth: str = ""
    depth_digest: str = ""


@dataclass(frozen=True)
class OverlayStep:
    """A published overlay (Fishyscapes Static) added to its base; ``code`` is the digest of its file."""

    overlay: str
    code: str


Step = CorruptStep | PlanStep | FogStep | OverlayStep
_KINDS: dict[str, type[Step]] = {
    "corrupt": CorruptStep,
    "blend": PlanStep,
    "fog": FogStep,
    "overlay": OverlayStep,
}
# fields with file places, whose digests are in other fields
_PLACES = ("textures", "objects", "depth", "overlay")
_PLAIN: dict[object, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}


@dataclass(frozen=True)
class Recipe:
    """How an image is made: the source and digest of its parent, and one step."""

    of: str
    digest: str
    step: Step

    @property
    def source(self) -> str:
        """The recipe as the source of an image."""
        return PREFIX + _text({"of": self.of, "digest": self.digest, self.kind: asdict(self.step)})

    @property
    def kind(self) -> str:
        """What the step does: corrupt, blend, fog or overlay."""
        return next(kind for kind, of in _KINDS.items() if isinstance(self.step, of))

    @property
    def made_digest(self) -> str:
        """The digest of the made image, from the parent's digest, the step without file places, and the
        version of the computation. CorpusError for an invalid plan.
        """
        step = {name: value for name, value in asdict(self.step).items() if name not in _PLACES}
        plan = plan_of_text(self.step.plan) if isinstance(self.step, PlanStep) else None
        if plan is not None:
            step["plan"] = replace(
                plan, objects=tuple(replace(placed, name="") for placed in plan.objects)
            ).text()
        number = METHOD if plan is None else method_of_blending(plan.preset)
        return hashlib.sha256(_text([number, self.digest, self.kind, step]).encode()).hexdigest()

    def moved(self, of: str) -> Recipe:
        """Return the recipe with its parent at another place."""
        return replace(self, of=of)


def recipe_of(source: str) -> Recipe | None:
    """Return the recipe in a source; None if it is a place. ImageError for a recipe that cannot be read.

    >>> recipe_of("a.png")
    >>> made = Recipe("a.png", "5f3c", CorruptStep("fog", 3, 0, "5f3c"))
    >>> recipe_of(made.source) == made
    True
    """
    if not source.startswith(PREFIX):
        return None
    try:
        held = json.loads(source[len(PREFIX) :])
        (kind,) = held.keys() & _KINDS.keys()
        recipe = Recipe(held["of"], held["digest"], _KINDS[kind](**held[kind]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        recipe = None
    if recipe is None or not (_plain(recipe.step) and _is_text(recipe.of) and _is_text(recipe.digest)):
        raise ImageError(
            f"{source[:60]}...: is not a recipe of an image; run the line of `faultscape stress` again"
        )
    return recipe


def _plain(step: Step) -> bool:
    """Return whether the fields of a step have their declared types, because a file may hold anything."""
    held = [(getattr(step, field.name), _PLAIN[field.type]) for field in fields(step)]
    return all(_is_text(value) if kinds == (str,) else type(value) in kinds for value, kinds in held)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def cook(recipe: Recipe, parent: np.ndarray) -> np.ndarray:
    """Return the image (H, W, 3) uint8 that a recipe makes from the pixels of its parent, of the same shape;
    ImageError if that fails: a file that it needs is missing or has changed.
    """
    try:
        return _cooked(recipe.step, parent)
    except (FaultscapeError, UnicodeEncodeError) as error:
        raise ImageError(f"{CANNOT}{error}") from None


def _cooked(step: Step, parent: np.ndarray) -> np.ndarray:
    if isinstance(step, CorruptStep):
        if code_of(step.name) not in ("", step.code):  # before the file is run
            raise ImageError(
                f"{step.name}: its file changed since images were made by it; put it back, or run the line of"
                " `faultscape stress` again"
            )
        textures = read_textures(step.textures, step.code) if step.textures else None
        return corrupt(parent, step.name, step.severity, seed=step.seed, key=step.key, textures=textures)
    if isinstance(step, OverlayStep):
        return add_overlay(parent, read_overlay(step.overlay, step.code), step.overlay)
    depth = read_depth(step.depth, step.depth_digest, parent.shape[:2]) if step.depth else None
    if isinstance(step, FogStep):
        return add_fog(parent, Fog(step.beta, (step.light, step.light, step.light)), depth=depth)
    return blended(step, parent, depth).image


def blended(
    step: PlanStep, base: np.ndarray, depth: np.ndarray | None = None, void: np.ndarray | None = None
) -> Blended:
    """Return a base (H, W, 3) uint8 with a step's objects blended in; ``void`` (H, W), if not given, is read
    when fog needs it.
    """
    plan = plan_of_text(step.plan)
    cutouts = [read_object(step.objects, placed.cutout) for placed in plan.objects]
    if void is None and step.void:
        void = read_void(step.objects, step.void)
    return blend(base, plan.placed(cutouts), plan, void, depth)


def _text(held: object) -> str:
    return json.dumps(held, sort_keys=True, separators=(",", ":"))
