"""Determine the network to train and its training plan, from a preset and the options.

Conventions: options take precedence over a preset, and a preset over the defaults. A network that starts from
another one of the study uses only a part of the preset's steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from faultscape import plug
from faultscape.errors import ModelError, OptionError, closest
from faultscape.nouns import JsonObject
from faultscape.plug import is_own
from faultscape.prediction.sources import huggingface as hub
from faultscape.prediction.stamps import digest_of_place
from faultscape.study.folder import check_name
from faultscape.uncertainty import description as descriptions
from faultscape.uncertainty.catalogue import Value, head_named
from faultscape.uncertainty.description import Description, Network
from faultscape.uncertainty.dirichlet import MOST_CLASSES
from faultscape.uncertainty.networks import transformers_networks
from faultscape.uncertainty.networks.catalogue import (
    BACKBONES,
    IMAGENET,
    MIDDLE,
    PLAIN,
    Backbone,
    backbone_named,
)
from faultscape.uncertainty.networks.deeplab import DeepLab
from faultscape.uncertainty.networks.segmenter import Segmenter
from faultscape.uncertainty.replace import DoubtNetwork
from faultscape.uncertainty.training.plan import CompletePlan
from faultscape.uncertainty.training.presets import TrainingPreset, preset_named
from faultscape.verbs.options import TrainOptions
from faultscape.verbs.train.options import MEMBER_BLOCKS, dropout_layers, head_options
from faultscape.verbs.train.withheld import Withheld

_WITH_OUTLIERS = ("linear", "batch-ensemble")


@dataclass(frozen=True)
class Wanted:
    """The network to train, the plan, and the existing network to start from, if any. ``file`` is the user's
    own code to copy with it, ``notes`` are to be printed, ``keep_head`` says whether the head is kept, and
    ``origin`` is a digest of the code or weights that it starts from.
    """

    description: Description
    plan: CompletePlan
    start: Network | None = None
    file: Path | None = None
    notes: tuple[str, ...] = ()
    keep_head: bool = False
    origin: str = ""


def want(root: Path, options: TrainOptions, withheld: Withheld, images: int) -> Wanted:
    """Return the requested network. Errors: OptionError and ModelError for an unknown network, or one that
    cannot start from the other.
    """
    preset = preset_named(options.preset) if options.preset else None
    kind = head_named(options.head)
    of_preset = preset.options_for(options.head, len(withheld.classes)) if preset else {}
    told: dict[str, Value] = {**of_preset, **head_options(options)}
    told.pop(MEMBER_BLOCKS, None)
    kind.check(told)
    plan = _plan(options, preset, len(withheld.classes), images)
    _need_start(options, preset)
    with descriptions.seeded(options.seed):
        description, start, file, told_of_start = _backbone(root, options, withheld, plan)
    if options.init and not preset:  # same input size as the network that it starts from
        plan = replace(plan, size=plan.size or description.size)
    plain = preset is not None and preset.plain_input and not options.init
    blocks = _member_blocks(options, preset, description, start)
    void = options.loss == "void-class"
    outlier = options.loss == "outlier-head"
    negative = options.loss == "uno"
    each = options.loss == "dirichlet" and options.smoothing != "shared"
    if each and len(withheld.classes.names) > MOST_CLASSES:
        raise OptionError(
            f"--loss dirichlet takes at most {MOST_CLASSES} classes, because its targets are smoothed by "
            f".01 a class (Blum et al. 2021, appendix B.4); got {len(withheld.classes.names)};"
            " --smoothing shared takes any number"
        )
    if (outlier or negative) and options.head not in _WITH_OUTLIERS:
        raise OptionError(
            f"--loss {options.loss} is for the heads {' and '.join(_WITH_OUTLIERS)}, whose last channel is a"
            f" logit by itself; got {options.head}"
        )
    before, wanted = (
        _shaped(head, given)
        for head, given in ((description.head, description.head_options), (options.head, told))
    )
    made_before = description.void_class, description.outlier_head, description.negative_class, before
    # B.4: all layers except the last
    same_head = made_before == (void, outlier, negative, wanted)
    keeps = bool(options.init) and same_head and options.loss != "dirichlet"
    description = replace(
        description,
        head=options.head,
        head_options=told,
        void_class=void,
        outlier_head=outlier,
        negative_class=negative,
        dirichlet=options.loss == "dirichlet",
        dropout_at=_dropout_layers(options, description),
        dropout_rate=options.dropout_rate,
        dropout_samples=options.dropout_samples,
        size=plan.size,
        member_blocks=blocks,
        window=preset.window if preset else description.window,
        stride=preset.stride if preset else description.stride,
        mean=PLAIN[0] if plain else description.mean,
        std=PLAIN[1] if plain else description.std,
    )
    entry = known_backbone(description)
    if any(side % description.multiple for side in plan.crop) and not (entry and entry.any_crop):
        raise OptionError(
            f"--crop {plan.crop[0]}x{plan.crop[1]}: both sides must be multiples of {description.multiple}"
            f" for {description.backbone}"
        )
    notes = [*told_of_start]
    if preset and told.get("scaled") is False:
        notes.append(f"note: --preset {options.preset}: {preset.notes}")
    if preset and preset.member_blocks and options.head == "batch-ensemble" and not blocks:
        notes.append(
            f"note: {description.backbone} is not a Segmenter, so --preset {options.preset} puts fast weights"
            " in the head only"
        )
    return Wanted(description, plan, start, file, tuple(notes), keeps, _origin(options))


def _dropout_layers(options: TrainOptions, description: Description) -> tuple[str, ...]:
    """Return the layers with MC dropout; ``middle`` means those that the backbone defines. OptionError if it
    defines none.
    """
    layers = dropout_layers(options)
    if layers != (MIDDLE,):
        return layers
    entry = known_backbone(description)
    if entry is None:
        raise OptionError(
            f"--dropout-at {MIDDLE}: works only for built-in backbones (fs.uncertainty.BACKBONES); name "
            f"the layers of {description.backbone}"
        )
    return entry.middle


def known_backbone(description: Description) -> Backbone | None:
    """Return the entry of a network's backbone, or None if it is not in BACKBONES."""
    return next((entry for entry in BACKBONES if entry.name == description.backbone), None)


def _member_blocks(
    options: TrainOptions, preset: TrainingPreset | None, description: Description, start: Network | None
) -> int:
    """Return how many encoder blocks have fast weights. OptionError if they are requested but impossible."""
    inner = start.net if isinstance(start, DoubtNetwork) else start
    able = options.head == "batch-ensemble" and (
        isinstance(inner, Segmenter) or description.backbone.startswith("segmenter-")
    )
    said = head_options(options).get(MEMBER_BLOCKS)
    if said is not None and (not isinstance(said, int) or isinstance(said, bool) or said < 0):
        raise OptionError(f"--head-option member-blocks must be a whole number, 0 or more; got {said!r}")
    if said and not able:
        raise OptionError(
            "--head-option member-blocks needs a Segmenter and --head batch-ensemble; got"
            f" {description.backbone} and {options.head}: leave it out"
        )
    return said if said is not None else preset.member_blocks if preset and able else 0


def _shaped(head: str, told: Mapping[str, Value]) -> tuple[str, dict[str, Value]]:
    """Return a head and its options, without those that are set after training."""
    return head, {**head_named(head).options, **told, "mean_field": 0.0}


def _origin(options: TrainOptions) -> str:
    """Return a digest of the code or weights that a network starts from; '' if it is randomly initialised or
    starts from another network of the study.
    """
    backbone = options.backbone or ""
    if options.init or not backbone:
        return ""
    if backbone.startswith("hf:"):
        return hub.revision_of(backbone)
    if Path(backbone, "config.json").is_file():
        return digest_of_place(backbone, {})
    return plug.digest(backbone)


def folder_of(root: Path, name: str) -> Path:
    """Return the folder of a network to train."""
    return root / "models" / check_name(name, "network")


def _plan(options: TrainOptions, preset: TrainingPreset | None, classes: int, images: int) -> CompletePlan:
    plan = preset.plan_for(classes, options.head) if preset else CompletePlan()
    said = options.plan.given
    if "steps" in said and "epochs" in said:
        raise OptionError("give either --steps or --epochs, not both")
    if options.plan.steps is not None and options.plan.steps < 1:
        raise OptionError(f"--steps must be 1 or more; got {options.plan.steps}")
    if "epochs" in said:
        said["steps"] = 0
    plan = replace(plan, **said, seed=options.seed)
    plan.check()
    if preset and options.init and preset.from_init < 1 and not {"steps", "epochs"} & said.keys():
        plan = replace(plan, steps=max(1, round(plan.all_steps(images) * preset.from_init)))
    return plan


def _need_start(options: TrainOptions, preset: TrainingPreset | None) -> None:
    """Raise OptionError if a preset starts heads from a trained linear network and none is named, or
    --from-scratch has no effect.
    """
    if options.from_scratch and not (preset and preset.from_init < 1):
        raise OptionError(
            "--from-scratch is for presets that start heads from a trained network (camvid-small); leave it"
            " out: without --init everything is trained"
        )
    if (
        preset
        and preset.from_init < 1
        and options.head != "linear"
        and not options.init
        and not options.from_scratch
    ):
        raise OptionError(
            f"--preset {preset.name} starts this head from a trained linear network: name it with --init, or"
            " use --from-scratch to train everything"
        )


def _backbone(
    root: Path, options: TrainOptions, withheld: Withheld, plan: CompletePlan
) -> tuple[Description, Network | None, Path | None, tuple[str, ...]]:
    """Return the description of a backbone with a linear head, the backbone if it is already built, the
    user's own file, if any, and notes on how weights fit the backbone.
    """
    names = withheld.classes.names
    image = max(plan.crop)
    channels = len(names) + (options.loss in ("void-class", "outlier-head", "uno"))
    own = preset_named(options.preset).dropout if options.preset else 0.1
    dropout = options.plan.dropout if options.plan.dropout is not None else own
    if not 0 <= dropout < 1:
        raise OptionError(f"--dropout must be at least 0 and below 1; got {dropout}")
    if options.init:
        return *_of_network(root, options, names, dropout), ()
    if not options.backbone:
        raise OptionError(
            "name a network to train: --backbone NAME, or --init NETWORK to start from one in the study"
        )
    if Path(options.backbone, "config.json").is_file() or options.backbone.startswith("hf:"):
        folder = (
            hub.folder_of(options.backbone, "") if options.backbone.startswith("hf:") else options.backbone
        )
        start, notes = transformers_networks.of_folder(folder, channels)
        config, multiple = transformers_networks.config_of(start)
        if not isinstance(start, Segmenter | DeepLab):
            config = {**config, "num_labels": channels, "id2label": dict(enumerate(names)), "label2id": {}}
        mean, std = _input_of(folder)
        called = options.backbone if options.backbone.startswith("hf:") else Path(options.backbone).name
        about = Description(
            called,
            names,
            dropout=dropout,
            mean=mean,
            std=std,
            multiple=multiple,
            config=_plain(config),
            seed=options.seed,
        )
        return about, start, None, notes
    if is_own(options.backbone):
        file, _, function = options.backbone.rpartition(":")
        start = descriptions.of_file(options.backbone)
        mean, std = (
            tuple(getattr(start, key, None) or plain)
            for key, plain in zip(("mean", "std"), PLAIN, strict=True)
        )
        multiple = int(getattr(start, "multiple", 1))
        return (
            Description(
                f"{Path(file).name}:{function}",
                names,
                dropout=dropout,
                mean=mean,
                std=std,
                multiple=multiple,
                seed=options.seed,
            ),
            start,
            Path(file),
            (),
        )
    entry = backbone_named(options.backbone)
    assert entry is not None
    about = Description(
        entry.name,
        names,
        dropout=dropout,
        image=image,
        mean=entry.mean,
        std=entry.std,
        multiple=entry.multiple,
        seed=options.seed,
    )
    return about, None, None, ()


def folder_of_start(root: Path, name: str) -> Path:
    """Return the folder of the network to start from; ModelError if the study has none of this name."""
    folder = root / "models" / name
    if not (folder / descriptions.NETWORK).is_file():
        known = sorted(path.parent.name for path in (root / "models").glob(f"*/{descriptions.NETWORK}"))
        raise ModelError(
            f"--init {name}: the study has no trained network with this name; it has"
            f" {', '.join(known) or 'none'}; train it first, or start from another"
            f".{closest(name, known)}"
        )
    return folder


def start_of(root: Path, options: TrainOptions, names: tuple[str, ...]) -> tuple[Path, Description]:
    """Return the folder and the description of the network to start from; ModelError if it is not there, its
    backbone is not the one that was named, or it has other classes than ``names``.
    """
    folder = folder_of_start(root, str(options.init))
    before = descriptions.read_description(folder)
    if before.own_function:
        _need_own_code(folder, before, options)
    elif options.backbone and options.backbone != before.backbone:
        raise ModelError(
            f"--init {options.init}: is a {before.backbone}, but --backbone is {options.backbone}; both must"
            " be the same"
        )
    if before.classes != names:
        raise ModelError(
            f"--init {options.init}: has {len(before.classes)} classes, but {len(names)} are to be learnt"
            f" ({_difference(before.classes, names)}); --withhold says which holdout is withheld"
        )
    return folder, before


def _of_network(
    root: Path, options: TrainOptions, names: tuple[str, ...], dropout: float
) -> tuple[Description, Network, Path | None]:
    """Return the description of the network to start from, and its backbone with its weights."""
    folder, before = start_of(root, options, names)
    before, net = descriptions.load(folder, own_code=bool(before.own_function))
    if not isinstance(net, DoubtNetwork) or before.member_blocks:
        raise ModelError(
            f"--init {options.init}: has MC dropout or fast weights in its blocks; start from a network "
            "without them"
        )
    file = folder / descriptions.OWN_FILE
    about = replace(before, dropout_at=(), dropout=dropout, seed=options.seed)
    return about, net, file if file.is_file() else None


def _difference(before: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Return a text on the classes that two networks do not share."""
    gone, new = (
        [name for name in one if name not in other] for one, other in ((before, names), (names, before))
    )
    parts = [
        f"{word} {', '.join(some[:4])}{', ...' if len(some) > 4 else ''}"
        for word, some in (("without", gone), ("also", new))
        if some
    ]
    return "; ".join(parts) or "in another order"


def _need_own_code(folder: Path, before: Description, options: TrainOptions) -> None:
    """Raise ModelError if the network to start from has custom code as its backbone and the command does not
    name that code: a study from someone else must not run code by itself.
    """
    given = options.backbone or ""
    if not is_own(given):
        raise ModelError(
            f"--init {options.init}: its backbone is Python code, which would run with your permissions; if"
            f" you trust it, add --backbone {folder / descriptions.OWN_FILE}:{before.own_function}"
        )
    file, _, function = given.rpartition(":")
    try:
        same = Path(file).read_bytes() == (folder / descriptions.OWN_FILE).read_bytes()
    except OSError as error:
        raise ModelError(f"--backbone {given}: {error.strerror}") from None
    if not same or function != before.own_function:
        raise ModelError(
            f"--init {options.init}: was trained with another version of its backbone, which is"
            f" {folder / descriptions.OWN_FILE}:{before.own_function}; name that one with --backbone"
        )


def _input_of(folder: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the pixel mean and standard deviation from a transformers folder, else ImageNet's."""
    path = Path(folder, "preprocessor_config.json")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return tuple(map(float, said["image_mean"])), tuple(map(float, said["image_std"]))
    except (OSError, ValueError, KeyError, TypeError):
        return IMAGENET


def _plain(config: JsonObject) -> JsonObject:
    """Return a configuration as JSON values, without its origin."""
    held = json.loads(json.dumps(config, default=str))
    return {
        key: value
        for key, value in held.items()
        if key not in ("_name_or_path", "transformers_version", "architectures", "dtype")
    }
