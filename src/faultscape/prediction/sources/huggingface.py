"""A model that is a folder saved by the transformers library: semantic networks, query networks marginalised
as class x mask, and classifiers.

Conventions: images are prepared by the library's own processor, one at a time, so that no image depends on
its batch. Scores of a query network are the sum over queries of softmax(class), without the last, empty
class, times sigmoid(mask), with masks at the size at which the library marginalises them. For EoMT, long
images are cut into windows along their longer side, as its processor does. Weights come from safetensors, or
from checkpoints read as weights only. A model of the hub, ``hf:OWNER/MODEL`` or ``hf:OWNER/MODEL@REVISION``,
is fetched into the hub's own cache. The commit found is recorded with the model, so that every later run and
every worker uses the same one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import ModelError, library_text
from faultscape.prediction.devices import need_torch
from faultscape.prediction.inputs import Size, resized
from faultscape.prediction.sources.network import Answer
from faultscape.prediction.sources.torch_network import TorchNetwork, only_weights
from faultscape.process.library_warnings import without_warnings
from faultscape.study.settings import CLASSIFICATION, ModelOptions
from faultscape.uncertainty.networks import folder_weights

QUERIES = ("mask2former", "maskformer", "eomt", "eomt_dinov3")
_SMALL = (64, 64)  # an image that shows which tensors reach the answer
# asks a processor to keep the size of an image
AS_IT_IS = {"do_resize": False, "do_center_crop": False, "do_pad": False}
_BESIDE_WEIGHTS = ["*.json", "*.txt"]  # the other files of a folder
_MASKS_AT = (384, 384)  # where the library marginalises Mask2Former's masks, whatever the image size


class TransformersNetwork(TorchNetwork):
    """An open folder of the transformers library; ModelError if it has no suitable network."""

    def __init__(self, folder: str, options: ModelOptions, device: str = "cpu", name: str = "") -> None:
        name = name or str(folder)
        torch = need_torch(name)
        try:
            import transformers
        except ImportError:
            raise ModelError(f"{name}: running it needs transformers; install faultscape[torch]") from None
        classifies = options.get("task") == CLASSIFICATION
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        with without_warnings():
            config = _config(transformers, str(folder), name, classifies=classifies)
            self._kind = config.model_type
            self.marginal = self._kind in QUERIES and not classifies
            auto = (
                transformers.AutoModelForUniversalSegmentation
                if self.marginal
                else transformers.AutoModelForSemanticSegmentation
            )
            auto = transformers.AutoModelForImageClassification if classifies else auto
            safe = any(Path(folder).glob("*.safetensors"))
            with only_weights():
                module, fit = folder_weights.load(
                    auto, str(folder), name, use_safetensors=True if safe else None, dtype=torch.float32
                )
            self._processor = processor_of(transformers, str(folder))
        names = [str(config.id2label.get(k, k)) for k in range(config.num_labels)]
        said = {
            "mean": [0.485, 0.456, 0.406],
            "std": [0.229, 0.224, 0.225],
            "classes": [] if all(n == f"LABEL_{k}" for k, n in enumerate(names)) else names,
        }
        module = module.eval().to(device)
        super().__init__(module, name, said, options, device, channels=config.num_labels)
        self._own = {key: options[key] for key in ("mean", "std") if options.get(key)}
        self._refuse_random(fit.missing)
        self.notes = (*self._words(), *folder_weights.unused_note(name, fit.unused))

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an image prepared by the library's processor; with ``size``, it only normalises."""
        size = size or self.inputs.size
        if self._processor is None:
            return super().prepare(photo, target, size)
        changed: dict[str, Any] = {
            f"image_{key}": value if len(value) > 1 else value * 3 for key, value in self._own.items()
        }
        if size is not None:
            photo = resized(photo, size)
            changed |= AS_IT_IS
        if getattr(self._processor, "do_split_image", False):
            changed |= {"do_split_image": False, "do_pad": False}
        return processed(self._processor, photo, self.name, **changed)

    def windows(self, height: int, width: int) -> list[tuple[int, int, int, int]]:
        """Return the (top, left, height, width) of the windows that the processor would cut; none for most
        networks.
        """
        if not getattr(self._processor, "do_split_image", False):
            return []
        side = edge_of(self._processor.size, "shortest_edge")
        longer = max(height, width)
        number = math.ceil(longer / side)
        overlap = (number * side - longer) / (number - 1) if number > 1 else 0
        starts = [int(k * (side - overlap)) for k in range(number)]
        if height > width:
            return [(start, 0, min(side, height - start), width) for start in starts]
        return [(0, start, height, min(side, width - start)) for start in starts]

    def call(self, pictures: Any) -> Any:
        """Return the output of the library's module for a tensor of prepared images."""
        return self.module(pixel_values=pictures)

    def logits_of(self, given: Any) -> Any:
        """Return the logits, or the sums of class x mask, of the library's output."""
        return self._marginalised(given) if self.marginal else given.logits

    def _refuse_random(self, missing: Sequence[str]) -> None:
        """Raise ModelError if a tensor that the files lack changes the answer. Some do not: the library's
        networks also have heads and layers that only training uses, or none at all.
        """
        with folder_weights.undefined(self.module, missing) as any_undefined:
            if not any_undefined:
                return
            try:
                shown = self.prepare(np.zeros((*_SMALL, 3), np.uint8), _SMALL, None)
                (answer,) = self.run(shown[None])
            except (ModelError, MemoryError):
                answer = Answer()
            if answer.scores is not None and not np.isnan(answer.scores).any():
                return
        raise ModelError(
            f"{self.name}: its files lack {folder_weights.some(missing)}, which would be filled with random"
            " numbers; save the whole trained network or, if it never had a head, train one: `faultscape"
            " train STUDY --backbone FOLDER`"
        )

    def _marginalised(self, given: Any) -> Any:
        import torch

        masks = given.masks_queries_logits.float()
        size = _MASKS_AT if self._kind == "mask2former" else None
        if self._kind.startswith("eomt"):
            side = edge_of(self._processor.size, "shortest_edge") if self._processor else masks.shape[-1]
            size = (side, edge_of(self._processor.size, "longest_edge") or side) if self._processor else None
        if size is not None:
            masks = torch.nn.functional.interpolate(masks, size=size, mode="bilinear", align_corners=False)
        return torch.einsum(
            "bqc,bqhw->bchw", given.class_queries_logits.float().softmax(-1)[..., :-1], masks.sigmoid()
        )

    def _words(self) -> tuple[str, ...]:
        if self._processor is None:
            return (
                (
                    f"{self.name} has no processor; images are normalised with ImageNet statistics, or with"
                    " --mean and --std"
                ),
            )
        if getattr(self._processor, "do_center_crop", False) and self.inputs.size is None:
            cut = (
                f"note: the processor of {self.name} crops the center of each image, and the library"
                " stretches its labels over the whole image"
            )
            return (f"{cut}; use --input-size WIDTHxHEIGHT to process whole images",)
        return ()


def _config(transformers: Any, folder: str, name: str, *, classifies: bool) -> Any:
    """Return the folder's configuration; ModelError if its model type neither segments by class nor
    classifies images.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES as CLASSIFY,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES as SEMANTIC,
    )

    try:
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(f"{name}: transformers cannot read its config.json: {library_text(error)}") from None
    if classifies and config.model_type not in CLASSIFY:
        raise ModelError(f"{name}: model type {config.model_type!r} is not an image classifier")
    if not classifies and config.model_type not in (*SEMANTIC, *QUERIES):
        known = ", ".join(sorted([*SEMANTIC, *QUERIES]))
        raise ModelError(
            f"{name}: model type {config.model_type!r} does not segment by classes; supported types: {known}"
        )
    return config


def processor_of(transformers: Any, folder: str) -> Any:
    """Return the folder's image processor in its version without torchvision, or None if the folder
    has none.
    """
    if (
        not Path(folder, "preprocessor_config.json").is_file()
        and not Path(folder, "processor_config.json").is_file()
    ):
        return None
    now = int(transformers.__version__.partition(".")[0]) >= 5
    way = {"backend": "pil"} if now else {"use_fast": False}
    try:
        return transformers.AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, **way
        )
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(f"{folder}: its image processor cannot be loaded: {library_text(error)}") from None


def processed(processor: Any, photo: np.ndarray, name: str, **changed: Any) -> np.ndarray:
    """Return an image (H, W, 3) as (3, h, w), prepared by a processor of the library with some settings
    changed; ModelError if it fails.
    """
    try:
        made = processor(images=photo, return_tensors="np", input_data_format="channels_last", **changed)
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(
            f"{name}: its processor failed: {type(error).__name__}: {library_text(error)}"
        ) from None
    return np.ascontiguousarray(np.asarray(made["pixel_values"][0]), np.float32)


def edge_of(size: Any, key: str) -> int:
    """Return one edge of a processor's size, which is a dict or an object depending on the
    library's version.
    """
    return int((size.get(key) if isinstance(size, dict) else getattr(size, key, None)) or 0)


def open_hub(source: str, options: ModelOptions, device: str = "cpu") -> TransformersNetwork:
    """Open a model of the hub, at the revision of the options."""
    folder = folder_of(source, options.get("revision", ""))
    return TransformersNetwork(folder, options, device, source)


def is_of_hub(source: str, task: str) -> bool:
    """Whether a SOURCE is a model of the hub."""
    del task
    return source.startswith("hf:")


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a model's name and commit."""
    return hashlib.sha256(f"{source}@{options.get('revision', '')}".encode()).hexdigest()


def revision_of(source: str) -> str:
    """Return the commit that hf:OWNER/MODEL[@REVISION] currently names; ModelError if it is not available."""
    return fetch(source.removeprefix("hf:"))[1]


def folder_of(source: str, revision: str) -> str:
    """Return the folder of a model of the hub at a revision, or at the one in its name."""
    name, _, own = source.removeprefix("hf:").partition("@")
    return fetch(f"{name}@{revision or own}" if revision or own else name)[0]


def fetch(repository: str, *, pickled: bool = True) -> tuple[str, str]:
    """Return (folder, commit) of a repository; cached ones need no network. ModelError with what to do if it
    is not available. Without ``pickled``, only safetensors are fetched.
    """
    name, _, revision = repository.partition("@")
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        raise ModelError(
            f"hf:{repository}: fetching it needs huggingface_hub; install faultscape[torch]"
        ) from None

    def get(patterns: list[str]) -> Path:
        return Path(
            snapshot_download(name, revision=revision or None, allow_patterns=[*_BESIDE_WEIGHTS, *patterns])
        )

    try:
        folder = get(["*.safetensors"])
        if pickled and not any(folder.glob("*.safetensors")):
            folder = get(["pytorch_model*.bin"])
    except errors.HFValidationError:
        raise ModelError(
            f"hf:{repository}: expected a hub model as OWNER/MODEL, for example"
            " hf:nvidia/segformer-b0-finetuned-ade-512-512"
        ) from None
    except errors.GatedRepoError:
        raise ModelError(
            f"hf:{repository}: its owner requires you to accept terms first: do so on the model's page,"
            " then run `hf auth login`"
        ) from None
    except errors.RepositoryNotFoundError:
        raise ModelError(
            f"hf:{repository}: the hub has no such model, or it is private: check the name, or run `hf auth"
            " login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise ModelError(f"hf:{repository}: the model has no revision {revision!r}") from None
    except Exception as error:  # noqa: BLE001 - each HTTP library has its own errors
        why = library_text(error, first_line=True, most=200)
        raise ModelError(
            f"hf:{repository}: the hub cannot be reached and the model is not in its cache ({why}); on a"
            f" machine with network access run `hf download {name}`, copy that folder here, and pass the"
            " folder instead of the model"
        ) from None
    return str(folder), folder.name
