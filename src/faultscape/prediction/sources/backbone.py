"""A frozen vision backbone of the transformers library: the features of an image's patches, which methods
score instead of a layer of the judged model.

Conventions: SOURCE is ``hf:OWNER/MODEL``, ``hf:OWNER/MODEL@REVISION``, or a folder of the library with
config.json, an image processor and safetensors weights. Of a network of images and text, the half that sees
images is taken. The grid (D, h, w) is the last hidden state; class and register tokens, which come first, are
dropped. The whole image is shown, at the size that the processor resizes to, never its crop; both sides are
rounded to the nearest multiple of the patch, so that no patch holds padding. The processor's mean and std
apply. Images run one at a time in float32, so that no feature depends on a batch.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from faultscape.errors import ModelError, closest_place, library_text
from faultscape.prediction.devices import need_torch
from faultscape.prediction.inputs import Size
from faultscape.prediction.sources import huggingface
from faultscape.prediction.sources.torch_network import running
from faultscape.prediction.stamps import digest_of_files
from faultscape.process.library_warnings import without_warnings
from faultscape.uncertainty.networks import folder_weights

_PARTS = ("config.json", "preprocessor_config.json", "processor_config.json", "*.safetensors")
_BESIDE = range(9)  # possible numbers of class and register tokens
_MULTIPLE = 32  # of sides shown to a network that halves its grid from stage to stage
_SMALL = (64, 64, 3)  # an image on which a backbone is tried


class Backbone:
    """An open backbone: its ``source`` with the commit found, and a ``digest`` of its files. ModelError if
    the source is not a backbone, or is not available.
    """

    def __init__(self, source: str, device: str = "cpu") -> None:
        self._device = device if device.startswith("cuda") else "cpu"
        self.source, folder = _found(source)
        torch = need_torch(source)
        try:
            import transformers
        except ImportError:
            raise ModelError(f"{source}: running it needs transformers; install faultscape[torch]") from None
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        config = _vision_config(transformers, folder, source)
        _check_files(folder, source)
        with without_warnings():
            self._processor = huggingface.processor_of(transformers, str(folder))
        files = sorted(path for part in _PARTS for path in folder.glob(part))
        self.digest = digest_of_files(source, [(path, path.stat().st_size) for path in files])
        network, fit = folder_weights.load(
            transformers.AutoModel,
            str(folder),
            source,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
        )
        self._network = network.eval().requires_grad_(requires_grad=False).to(self._device)
        self._staged = hasattr(config, "depths")
        self._patch = _pair(getattr(config, "patch_size", None))
        takes = inspect.signature(network.forward).parameters
        # position encodings of another size than the network was trained at
        self._told = {"interpolate_pos_encoding": True} if "interpolate_pos_encoding" in takes else {}
        with folder_weights.undefined(self._network, fit.missing):
            grid = self.grid(self.prepare(np.zeros(_SMALL, np.uint8)))
        if fit.missing and np.isnan(grid).any():
            raise ModelError(
                f"{source}: its files lack {folder_weights.some(fit.missing)}, which would be filled with"
                " random numbers; copy the whole network"
            )

    def prepare(self, photo: np.ndarray) -> np.ndarray:
        """Return an image (H, W, 3) uint8 as (3, h, w), as the network sees it."""
        size = self._size_of(photo.shape[1], photo.shape[0])
        filtered = getattr(self._processor, "resample", None)
        how = Image.Resampling.BILINEAR if filtered is None else Image.Resampling(int(filtered))
        shown = photo if photo.shape[1::-1] == size else np.asarray(Image.fromarray(photo).resize(size, how))
        return huggingface.processed(self._processor, shown, self.source, **huggingface.AS_IT_IS)

    def grid(self, view: np.ndarray) -> np.ndarray:
        """Return the features (D, h, w) of the patches of a prepared image. ModelError if the network gives
        no grid of patches, MemoryError if memory is short.
        """
        import torch

        with running(self.source, self._device, "float32"):
            shown = torch.from_numpy(view)[None].to(self._device)
            given = self._network(pixel_values=shown, **self._told)
            features = self._as_grid(getattr(given, "last_hidden_state", None), view.shape[1:])
            return features[0].float().cpu().numpy()

    def _as_grid(self, values: Any, size: tuple[int, ...]) -> Any:
        """Return the last hidden state of images of a ``size`` (height, width) as (N, D, h, w)."""
        from faultscape.uncertainty.methods.embeddings import as_grid

        shape = tuple(getattr(values, "shape", ()))
        if len(shape) == 4 or (len(shape) == 3 and self._staged):
            return as_grid(values, (size[0], size[1]), f"{self.source}: its last hidden state")
        if len(shape) == 3 and self._patch is not None:
            sides = size[0] // self._patch[0], size[1] // self._patch[1]
            before = shape[1] - sides[0] * sides[1]
            if before in _BESIDE:
                return values[:, before:].transpose(1, 2).unflatten(2, sides)
        raise ModelError(
            f"{self.source}: gives no grid of patches, but {shape or 'no last hidden state'} for an image of"
            f" {size[1]}x{size[0]}; take a network that keeps all patches, such as DINOv2 or SigLIP"
        )

    def _size_of(self, width: int, height: int) -> Size:
        """Return the (width, height) at which an image is shown."""
        size = getattr(self._processor, "size", None)
        wide: float = width
        tall: float = height
        if getattr(self._processor, "do_resize", False) and size is not None:
            edges = {
                key: huggingface.edge_of(size, key)
                for key in ("height", "width", "shortest_edge", "longest_edge", "max_height", "max_width")
            }
            if edges["height"] and edges["width"]:
                wide, tall = edges["width"], edges["height"]
            else:
                wanted = edges["shortest_edge"] / min(width, height) or float("inf")
                bounds = [wanted]
                bounds += [edges["longest_edge"] / max(width, height)] if edges["longest_edge"] else []
                bounds += [edges["max_height"] / height] if edges["max_height"] else []
                bounds += [edges["max_width"] / width] if edges["max_width"] else []
                scale = min(bounds) if min(bounds) < float("inf") else 1.0
                wide, tall = width * scale, height * scale
        down, right = self._patch if self._patch and not self._staged else (_MULTIPLE, _MULTIPLE)
        # at least two patches a side: one row is no grid
        return max(2, round(wide / right)) * right, max(2, round(tall / down)) * down


def _found(source: str) -> tuple[str, Path]:
    """Return a source as it is recorded, and its folder."""
    if source.startswith("hf:"):
        name = source.removeprefix("hf:")
        folder, commit = huggingface.fetch(name, pickled=False)
        return f"hf:{name.partition('@')[0]}@{commit}", Path(folder)
    folder = Path(source)
    if not folder.is_dir():
        raise ModelError(
            f"--backbone {source}: there is no such folder; give a folder of the transformers library, or"
            f" hf:OWNER/MODEL{closest_place(source)}"
        )
    return os.path.abspath(source), folder


def _vision_config(transformers: Any, folder: Path, source: str) -> Any:
    """Return the configuration of the network in a folder that sees images; ModelError if none does."""
    from faultscape.uncertainty.networks import transformers_networks

    if not (folder / "config.json").is_file():
        raise ModelError(f"{source}: has no config.json; give a folder that the transformers library saved")
    try:
        config = transformers.AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(
            f"{source}: transformers cannot read its config.json: {library_text(error)}"
        ) from None
    if unsafe := transformers_networks.from_elsewhere(config.to_dict()):
        raise ModelError(
            f"{source}: its configuration has {unsafe!r}, which loads code or weights from elsewhere"
        )
    seeing = getattr(config, "vision_config", None) or config
    network = transformers.MODEL_MAPPING.get(type(seeing), None)
    if getattr(network, "main_input_name", "") != "pixel_values":
        raise ModelError(
            f"{source}: is of kind {config.model_type!r}, which does not see images; --backbone takes a"
            " vision network, such as DINOv2 or SigLIP"
        )
    return seeing


def _check_files(folder: Path, source: str) -> None:
    """Raise ModelError if a folder has no image processor, or no weights that are read."""
    if not any((folder / part).is_file() for part in _PARTS[1:3]):
        raise ModelError(
            f"{source}: has no image processor (preprocessor_config.json), which says how images are"
            " resized and normalised; copy it from where the network comes from"
        )
    if not any(folder.glob(_PARTS[3])):
        raise ModelError(
            f"{source}: has no safetensors weights; other formats are not read because they can run code:"
            " save it again with save_pretrained of transformers"
        )


def _pair(patch: Any) -> tuple[int, int] | None:
    """Return the (height, width) of a patch of a configuration, None if it has none."""
    if isinstance(patch, int):
        return patch, patch
    return (int(patch[0]), int(patch[1])) if isinstance(patch, list | tuple) and len(patch) == 2 else None
