"""The tensor in a file of torch.save, read so that nothing in the file is run.

Conventions: torch reads it with ``weights_only=True``, after the archive was checked: it holds one small
description and numbers that are not compressed, so that it cannot unpack to more than its own size.
"""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np

from faultscape.errors import ModelError, library_text
from faultscape.formats.guard import decoding

TORCH_FILES = (".pt", ".pth")
_ZIP = b"PK\x03\x04"
_MOST_PICKLE = 1 << 20  # bytes of the description of one tensor
_SAVE = "torch.save(logits.cpu(), FILE)"


def tensor_of(data: bytes, path: str | os.PathLike[str], *, most: int) -> np.ndarray:
    """Return the only tensor in the bytes of a file, at most ``most`` bytes, as an array; ModelError says
    what the file holds instead.
    """
    try:
        import torch
    except ImportError:
        raise ModelError(
            f"{path}: reading it needs torch: pip install 'faultscape[torch]', or save scores with np.save"
        ) from None
    _check_archive(data, path)
    try:
        held = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - a damaged file may raise nearly anything
        refused = "Weights only" in str(error)
        why = "holds more than a tensor, and nothing else is loaded" if refused else library_text(error)
        raise ModelError(f"{path}: {why}; save one tensor: {_SAVE}") from None
    if not isinstance(held, torch.Tensor):
        inside = f"a {type(held).__name__}"
        raise ModelError(f"{path}: holds {inside}; expected one tensor: {_SAVE}")
    if held.layout != torch.strided or held.is_quantized or held.device.type != "cpu":
        raise ModelError(f"{path}: its tensor is not a dense one of plain numbers; save logits.cpu()")
    if held.numel() * held.element_size() > most:  # a tensor may repeat a few numbers
        raise ModelError(f"{path}: unpacks to more than {most >> 30} GiB, the most that is read")
    held = held.detach().resolve_conj().resolve_neg()
    narrow = held.dtype.is_floating_point and held.dtype not in (torch.float16, torch.float32, torch.float64)
    return np.asarray((held.float() if narrow else held).numpy())


def _check_archive(data: bytes, path: str | os.PathLike[str]) -> None:
    """Raise ModelError unless a file is an archive as torch saves one, with nothing compressed in it."""
    if data[:4] != _ZIP:
        raise ModelError(
            f"{path}: is not a file that torch saves since version 1.6; load it, and save it again with"
            " torch.save"
        )
    with decoding(path, ModelError), zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    names = {entry.filename.rpartition("/")[2] for entry in entries}
    if "constants.pkl" in names:
        raise ModelError(f"{path}: is a TorchScript network, not a tensor; give it as NAME={path}")
    pickles = sum(entry.file_size for entry in entries if entry.filename.endswith(".pkl"))
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or pickles > _MOST_PICKLE:
        raise ModelError(f"{path}: is not an archive of one tensor; save it with {_SAVE}")
