"""PRESETS: training plans with the options of heads, each a complete entry.

Conventions: a preset of Buchanan et al. 2022 has the settings for Cityscapes and those for ADE20K (150
classes); a class list of a hundred or more uses the latter. ``heads`` are options of heads that differ from
their defaults under the preset. The paper and its code leave some choices open, which are ours: the
optimiser's other constants, crops of images scaled by .5 to 2, flips.
Source: Buchanan et al. 2022, section 2 (s3-paper) and the code of its authors (s3-code), which differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from faultscape.errors import OptionError, closest
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.training.plan import CompletePlan

MANY_CLASSES = 100  # like ADE20K


@dataclass(frozen=True)
class TrainingPreset:
    """A plan by name: ``many`` is the plan for a class list of a hundred or more, ``heads`` the options of
    heads, ``heads_of_many`` those that differ for so many classes, ``epochs_of_many`` the epochs of heads
    that differ in ``many``, ``window`` and ``stride`` the windows in use.

    ``member_blocks``: the number of last encoder blocks with fast weights for the head batch-ensemble.
    ``from_init``: the share of the steps for a network that starts from another one.
    """

    name: str
    plan: CompletePlan
    many: CompletePlan
    heads: Mapping[str, Mapping[str, Value]]
    dropout: float = 0.1
    plain_input: bool = True
    window: int = 0
    stride: int = 0
    member_blocks: int = 0
    heads_of_many: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    epochs_of_many: Mapping[str, float] = field(default_factory=dict)
    from_init: float = 1.0
    notes: str = ""
    source: str = ""

    def plan_for(self, classes: int, head: str = "linear") -> CompletePlan:
        """Return the plan for a number of classes and a head."""
        if classes < MANY_CLASSES:
            return self.plan
        return replace(self.many, epochs=self.epochs_of_many.get(head, self.many.epochs))

    def options_for(self, head: str, classes: int) -> dict[str, Value]:
        """Return the options of a head for a number of classes, as far as they differ from its defaults.

        >>> preset_named("s3-code").options_for("heteroscedastic", 150)["temperature"]
        2.0
        """
        of_many = self.heads_of_many if classes >= MANY_CLASSES else {}
        return {**self.heads.get(head, {}), **of_many.get(head, {})}


_PAPER = CompletePlan(
    epochs=100,
    batch=64,
    rate=1e-4,
    schedule="polynomial",
    optimiser="adam",
    weight_decay=0.0,
    gradient_norm=1.0,
    crop=(768, 768),
)
_PAPER_MANY = replace(_PAPER, batch=32, rate=3e-5, crop=(640, 640))
_CODE, _CODE_MANY = (replace(plan, schedule="cosine", warm_up=1) for plan in (_PAPER, _PAPER_MANY))
_GP = {"features": 1024, "ridge": 1.0, "mean_field": 1.0, "normalised": True}
_ENSEMBLE: dict[str, Value] = {"members": 3, "fast_start": "normal", "spread": 0.5}
_NOISE: dict[str, Value] = {"factors": 5, "samples": 1000, "temperature": 1.0}
_OF_AUTHORS: dict[str, Value] = {**_GP, "scaled": False, "momentum": 0.99}
_SMALL = CompletePlan(
    steps=600,
    batch=8,
    rate=1e-3,
    schedule="polynomial",
    warm_up=1,
    optimiser="adamw",
    size=(320, 256),
    crop=(320, 256),
    scale=(0.75, 1.5),
    validate_every=5,
)
_BAYESIAN = CompletePlan(  # what S4 leaves open is DeepLab's own
    steps=90_000,
    batch=16,
    rate=7e-3,
    schedule="polynomial",
    optimiser="sgd",
    weight_decay=4e-5,
    gradient_norm=1e6,
    crop=(513, 513),
)
_UNSCALED = (
    "the variance of random features that are not scaled is half their number before training and about their"
    " number after it, so that logits shrink by some 30 times: ranking by doubt survives, and probabilities"
    " are nearly even"
)
_CHECKPOINT = (
    "the authors start from hf:google/vit-large-patch16-384 (ImageNet-21k, then ImageNet at 384 pixels)"
)

PRESETS: tuple[TrainingPreset, ...] = (
    TrainingPreset(
        "s3-paper",
        _PAPER,
        _PAPER_MANY,
        {
            "batch-ensemble": _ENSEMBLE,
            "gp": _OF_AUTHORS,
            "heteroscedastic": {**_NOISE, "shared_noise": False},
            "batch-ensemble+gp": {**_OF_AUTHORS, **_ENSEMBLE},
        },
        window=768,
        stride=512,
        notes=f"{_UNSCALED}; {_CHECKPOINT}",
        source="Buchanan et al. 2022, section 2",
    ),
    TrainingPreset(
        "s3-code",
        _CODE,
        _CODE_MANY,
        {
            "batch-ensemble": _ENSEMBLE,
            "gp": {**_OF_AUTHORS, "wide_start": True},
            "heteroscedastic": {**_NOISE, "shared_noise": True, "wide_start": True},
            "batch-ensemble+gp": {**_OF_AUTHORS, "wide_start": True, **_ENSEMBLE},
        },
        window=768,
        stride=512,
        member_blocks=2,
        heads_of_many={"heteroscedastic": {"factors": 10, "temperature": 2.0}},  # of the network evaluated
        epochs_of_many={"batch-ensemble": 50},
        notes=f"{_UNSCALED}; {_CHECKPOINT}",
        source="the code of Buchanan et al. 2022",
    ),
    TrainingPreset(
        "s4-bayesian",
        _BAYESIAN,
        _BAYESIAN,
        {},
        plain_input=False,
        source="Blum et al. 2021, appendix B.3; Mukhoti and Gal 2018",
    ),
    TrainingPreset(
        "camvid-small",
        _SMALL,
        _SMALL,
        {"heteroscedastic": {"samples": 100}},
        plain_input=False,
        from_init=0.2,
        source="ours",
    ),
)


def preset_named(name: str) -> TrainingPreset:
    """Return the preset with a name; OptionError with the nearest name otherwise.

    >>> preset_named("s3-paper").plan.batch
    64
    """
    for preset in PRESETS:
        if preset.name == name:
            return preset
    known = [preset.name for preset in PRESETS]
    raise OptionError(f"--preset {name!r} is not known; use {', '.join(known)}.{closest(name, known)}")
