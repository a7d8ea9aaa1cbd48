"""A network that continues another one on images where models fail: which images it learns from, what it
takes over, and how it joins the study (Yan et al. 2021, section 5).

Conventions: `--init OLD --set selection:NAME` names the parent and the selection, whose labelled images are
new to the network. The old images, mixed in so that it does not forget, are those that trained the parent, or
the sets that are named beside the selection.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from faultscape.errors import FaultscapeError, OptionError, StudyError, counted
from faultscape.metrics.scorers import plain_name, split_fitted
from faultscape.prediction.sources.network_folder import folder_of
from faultscape.reading.study import Study
from faultscape.study.settings import ModelSettings
from faultscape.study.trained_images import all_images_of
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict.models import predict_models
from faultscape.verbs.predict.options import Hardware, Shown
from faultscape.verbs.train.artefact import MODELS, NETWORKS
from faultscape.verbs.train.examples import boxes_that_teach, truth_of_masks
from faultscape.verbs.train.labelled_images import (
    BoxesOf,
    LabelledImages,
    find_labelled,
    selections_of,
    sets_of,
)
from faultscape.verbs.train.network import start_of
from faultscape.verbs.train.withheld import find_withheld

if TYPE_CHECKING:
    from faultscape.verbs.options import TrainOptions

# what describes a network and the images that it sees, rather than how long it is trained
_TAKEN_OVER = ("head", "loss", "smoothing")
_OF_DATA = ("withhold", "negatives")
_OF_PLAN = ("size", "crop", "scale")


def continues(options: TrainOptions) -> bool:
    """Whether a network continues another one on the images of a selection."""
    return bool(options.init) and bool(selections_of(options.data.set_))


def taken_over(study: Study, options: TrainOptions) -> TrainOptions:
    """Return the options of a network that continues another one, with the head, the loss and what taught it
    what is unknown, the withheld classes, and the sizes of its parent where none are given.
    """
    parent = str(options.init)
    told = dict(NETWORKS.options_again(study, parent)[0])
    given = options.given()
    found: dict[str, Any] = {name: told[name] for name in _TAKEN_OVER if name in told and name not in given}
    if "head" not in given and not options.head_options and told.get("head_options"):
        found["head_options"] = told["head_options"]
    plan = {
        name: tuple(value) if isinstance(value := told[name], list) else value
        for name in _OF_PLAN
        if name in told and name not in given
    }
    data = {name: str(told[name]) for name in _OF_DATA if name in told and name not in given}
    loss = found.get("loss", options.loss)
    boxes = options.data.boxes or (bool(told.get("boxes")) and loss == "ce")
    of_data = replace(options.data, **data, boxes=boxes)
    return replace(options, **found, plan=replace(options.plan, **plan), data=of_data)


def find_continued(study: Study, options: TrainOptions) -> LabelledImages:
    """Return the labelled images of the selections, and behind them the old images. StudyError if there are
    none of either.
    """
    parent = str(options.init)
    data = options.data
    truth = truth_of_masks(study, data)
    withheld = find_withheld(study.stress, study.classes, data.withhold)
    boxes = boxes_that_teach(study, data, withheld)
    asked = data.set_ or ()
    chosen = [word for word in asked if word not in sets_of(asked)]
    new = find_labelled(study, truth, chosen, "train", "set", boxes)
    mine = {image.id for image, _ in new.rows}
    if sets := sets_of(asked):
        old = find_labelled(study, truth, sets, "train", "set", boxes)
    else:
        old = _of_parent(study, parent, truth, boxes)
    rest = [
        k for k, (image, _) in enumerate(old.rows) if image.id not in mine and image.set != data.negatives
    ]
    if not rest:
        raise StudyError(
            f"--set {' --set '.join(asked)}: no image is left to mix in, so that {options.name} would forget"
            f" what {parent} knows; name a labelled set of other images with --set"
        )
    return LabelledImages(
        study,
        [*new.rows, *(old.rows[k] for k in rest)],
        [*new.roles, *(old.roles[k] for k in rest)],
        boxes=boxes,
        new=len(new),
        sets=sets,
    )


def refuse_parent(study: Study, options: TrainOptions) -> None:
    """Raise ModelError or StudyError for what keeps a network from continuing its parent, before people label
    images for it: the parent is not there, has other classes or another backbone, or what trained it is gone.
    """
    options = taken_over(study, options)
    withheld = find_withheld(study.stress, study.classes, options.data.withhold)
    start_of(study.root, options, withheld.classes.names)
    boxes = boxes_that_teach(study, options.data, withheld)
    _of_parent(study, str(options.init), truth_of_masks(study, options.data), boxes)


def _of_parent(study: Study, parent: str, truth: str | None, boxes: BoxesOf) -> LabelledImages:
    """Return the labelled images that trained a network of the study."""
    record = NETWORKS.record(study, parent)
    trained = {} if record is None else all_images_of(record)
    instead = (
        f"name a labelled set with --set, which is mixed in so that what {parent} knows is not forgotten"
    )
    if not trained:
        raise StudyError(f"--init {parent}: it is not recorded which images trained it; {instead}")
    keys = {*trained.values()}
    whole = find_labelled(study, truth, list(study.sets), "train", "set", boxes)
    kept = [k for k, (image, _) in enumerate(whole.rows) if image.id in trained and image.key in keys]
    if not kept:
        raise StudyError(
            f"--init {parent}: the {counted(len(trained), 'image')} that trained it left the study, or"
            f" {'has' if len(trained) == 1 else 'have'} no labels now; {instead}"
        )
    if lost := len(trained) - len(kept):
        print(
            f"note: {lost} of the {counted(len(trained), 'image')} that trained {parent} left, or lack labels"
        )
    return LabelledImages(study, [whole.rows[k] for k in kept], [whole.roles[k] for k in kept], boxes=boxes)


def model_of(study: Study, network: str) -> ModelSettings | None:
    """Return the model of a study that is one of its networks; None if none is."""
    folder = (study.root / MODELS / network).resolve()
    models = study.settings.models.values()
    return next(
        (one for one in models if one.kind == "trained" and folder_of(one.source).resolve() == folder), None
    )


def refuse_other_model(study: Study, name: str) -> None:
    """Raise OptionError if a model of this name comes from elsewhere, since the network could not join."""
    held = study.settings.models.get(name)
    if held is not None and held != model_of(study, name):
        raise OptionError(
            f"{name!r} is already a model of the study, {held.source}; give the network another name"
        )


def join(study: Study, options: TrainOptions, source: str) -> int:
    """Predict a network as a model of the study, in the way of its parent; return how many maps it has."""
    about = model_of(study, str(options.init))
    held: dict[str, Any] = {} if about is None else dict(about.options)
    shown = {of.name: held[of.name] for of in fields(Shown) if of.name in held}
    hardware = {of.name: held[of.name] for of in fields(Hardware) if of.name in held and of.name != "device"}
    asked = PredictOptions(
        study=options.study,
        models=({options.name: source},),
        engine="local",
        keep=held.get("keep", ()),
        scorer=tuple(plain_name(word) for word in held.get("scorer", ()) if not split_fitted(word)),
        unmapped=held.get("unmapped"),
        shown=Shown(**shown, **({"input_size": held["size"]} if "size" in held else {})),
        hardware=Hardware(**hardware, device=options.machine.device),
    )
    try:
        return predict_models(asked).models[options.name][0]
    except FaultscapeError as error:
        raise type(error)(f"{options.name} is trained, but could not join the study: {error}") from None
