"""One fit of a method, with these layers and options: to samples of features, or by training on what the
network gives for images.

Conventions: flows and blocks that are trained are kept by a key of all that they follow from, so that a
search trains none twice; their checkpoints lie in a folder named by the key.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.corpus.unread_images import UnreadImages
from faultscape.nouns import JsonObject
from faultscape.prediction.doubt_methods import OnBackbone
from faultscape.prediction.sources.backbone import Backbone
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.block_fit import BlockPlan
from faultscape.uncertainty.methods.catalogue import AGAIN, Method
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.flow_density import FlowDensity
from faultscape.uncertainty.methods.flow_fit import FlowPlan, TrainedFlow, train_flow
from faultscape.uncertainty.methods.method import Fitted
from faultscape.verbs.fit.fusion_parts import Parts
from faultscape.verbs.fit.network_grids import NetworkGrids
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.options import Request
from faultscape.verbs.fit.samples import LOGITS, Meaning
from faultscape.verbs.fit.shown_labels import ShownLabels
from faultscape.verbs.train.labelled_images import LabelledImages
from faultscape.verbs.train.negatives import NegativeImages

_KEY = 16  # digits of a key in the name of a checkpoint folder
Made = tuple[Fitted, dict[str, object]]  # a method, and statistics of its fit


@dataclass(frozen=True, eq=False)
class Work:
    """Everything that fitting a method needs: the open model, samples by layer, their ``key``, what teaches,
    what is recorded of it, and perf_counter() when it was ``begun``.
    """

    study: Study
    asked: Request
    model: OpenedModel
    meaning: Meaning
    samples: Mapping[str, Embeddings]
    key: str
    rows: LabelledImages | None
    negatives: NegativeImages | None
    backbone: Backbone | None
    parts: Parts | None
    provenance: JsonObject
    unread: Sequence[UnreadImages]
    begun: float
    flows: dict[str, TrainedFlow] = field(default_factory=dict)  # {key: flow} already trained
    blocks: dict[str, Made] = field(default_factory=dict)  # likewise

    @property
    def method(self) -> Method:
        """The method to fit."""
        return self.asked.method

    @property
    def folder(self) -> Path:
        """The folder of the model's methods."""
        return self.study.root / "methods" / self.asked.model

    @property
    def called(self) -> str:
        """The name of what is fitted, without the option of a sweep."""
        return self.asked.options.as_ or self.method.name

    def checkpoints(self, key: str) -> Path:
        """Return the folder of the checkpoints of a fit."""
        return self.folder / f".{self.method.name}-{self.called}-{key[:_KEY]}"

    def remove_checkpoints(self) -> None:
        """Remove the checkpoints that stopped runs left, whose options then changed."""
        for left in self.folder.glob(self.checkpoints("").name + "[0-9a-f]" * _KEY):
            shutil.rmtree(left, ignore_errors=True)

    @property
    def device(self) -> str:
        """The device that trains."""
        device = self.model.inference.network.device
        return device if device.startswith("cuda") else "cpu"

    def fit(
        self, layers: Sequence[str], options: Mapping[str, Value], weights: np.ndarray | None = None
    ) -> Made:
        """Return the method fitted to these layers, or to a backbone, and statistics of the fit."""
        if self.method.negatives != "no" or self.method.taps == "image":
            return self._trained(layers, options)
        if self.method.taps == AGAIN:
            assert self.parts is not None
            return self.method.build(layers, options, {}, self.parts.built(self.model.inference.network)), {}
        method, numbers = (
            self._flows(layers, options, weights)
            if self.method.name == "flow"
            else (self._of_samples(layers, options), {})
        )
        return (method if self.backbone is None else OnBackbone(method, self.backbone)), numbers

    def _of_samples(self, layers: Sequence[str], options: Mapping[str, Value]) -> Fitted:
        wanted = [*layers, *[LOGITS] * self.method.of_logits] or [LOGITS]
        samples = [self.samples[layer] for layer in wanted] if self.method.learns else []
        return self.method.build.fit(layers, samples, options, self.meaning.channels)

    def _flows(self, layers: Sequence[str], options: Mapping[str, Value], weights: np.ndarray | None) -> Made:
        chosen: Any = {key: options[key] for key in ("steps", "rate", "batch", "blocks", "width", "depth")}
        plan = FlowPlan(**chosen, seed=self.asked.options.seed)
        flows = list[TrainedFlow]()
        numbers = dict[str, object]()
        for layer in layers:
            key = key_of(self.key, layer, vars(plan))
            if key not in self.flows:
                folder = self.checkpoints(key)
                values = self.samples[layer].values
                with progress(f"flow of {layer}", plan.steps) as tick:
                    self.flows[key] = train_flow(values, plan, folder, key, self.device, tick)
            flow = self.flows[key]
            flows.append(flow)
            numbers[layer] = {"nll": [flow.learnt, flow.chosen, flow.tested], "step": flow.step}
        return FlowDensity.of(layers, options, flows, weights), numbers

    def _trained(self, layers: Sequence[str], options: Mapping[str, Value]) -> Made:
        """Return a method that was trained on images beside what the network gives for them."""
        examples, more = self._examples(layers)
        chosen: Any = {key: options[key] for key in ("steps", "rate", "batch")}
        plan = BlockPlan(**chosen, seed=self.asked.options.seed)
        key = key_of(self.method.name, examples.key(), vars(plan), dict(options))
        if key not in self.blocks:
            with progress(self.called, plan.steps) as tick:
                self.blocks[key] = self.method.build.train(
                    layers, options, examples, plan, self.checkpoints(key), key, self.device, tick, **more
                )
            for unread in (examples.unread, *((self.negatives.unread,) if self.negatives else ())):
                unread.tell()
        return self.blocks[key]

    def _examples(self, layers: Sequence[str]) -> tuple[ShownLabels | NetworkGrids, dict[str, Any]]:
        """Return the images to learn from, and what else the method's training is told."""
        if self.method.taps == "image":
            assert self.rows is not None
            shown = ShownLabels(self.study, self.model, self.meaning, self.rows)
            return shown, {"channels": self.meaning.channels, "classes": len(self.study.classes)}
        seen = self.method.sees(layers)
        grids = NetworkGrids(self.study, self.model, self.meaning, seen, self.negatives, self.rows)
        if self.parts is not None:
            return grids, {"parts": self.parts.built(self.model.inference.network)}
        is_told = self.method.negatives == "may"
        return grids, {"negatives": self.negatives is not None} if is_told else {}
