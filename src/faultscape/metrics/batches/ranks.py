"""What the ranks of torch.distributed have counted, sent to all of them as bytes.

Conventions: NumPy's own format without pickle, so that integers and floats arrive as they are; the order is
that of ranks. The backend decides where the bytes travel: NCCL takes them from the GPU, gloo from memory.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence

import numpy as np

Counted = tuple[dict[str, np.ndarray], list[str]]  # statistics and the group of each image
_GROUPS = "groups of images"


def gathered(stats: Mapping[str, np.ndarray], groups: Sequence[str]) -> list[Counted]:
    """Return the statistics and groups of every rank; of this process alone where no process group is
    initialised.
    """
    torch = sys.modules.get("torch")
    if torch is None or not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [(dict(stats), [*groups])]
    distributed = torch.distributed
    device = torch.device("cuda") if distributed.get_backend() == "nccl" else torch.device("cpu")
    own = torch.from_numpy(np.frombuffer(encoded(stats, groups), np.uint8).copy()).to(device)
    lengths = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(distributed.get_world_size())]
    distributed.all_gather(lengths, torch.tensor([len(own)], device=device))
    longest = max(int(length) for length in lengths)
    padded = torch.nn.functional.pad(own, (0, longest - len(own)))
    parts = [torch.empty_like(padded) for _ in lengths]
    distributed.all_gather(parts, padded)
    return [decoded(part[: int(n)].cpu().numpy().tobytes()) for part, n in zip(parts, lengths, strict=True)]


def encoded(stats: Mapping[str, np.ndarray], groups: Sequence[str]) -> bytes:
    """Return statistics and groups as bytes.

    >>> stats, groups = decoded(encoded({"both": np.array([[1, 2]])}, ["drive-1"]))
    >>> stats["both"].tolist(), groups
    ([[1, 2]], ['drive-1'])
    """
    out = io.BytesIO()
    names = np.frombuffer(json.dumps([*groups]).encode(), np.uint8)
    np.savez(out, allow_pickle=False, **{_GROUPS: names}, **stats)
    return out.getvalue()


def decoded(data: bytes) -> Counted:
    """Return what `encoded` was given."""
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        stats = {name: held[name] for name in held.files if name != _GROUPS}
        return stats, json.loads(held[_GROUPS].tobytes())
