"""Programs that are handed in, for tests: one that writes whatever a test asks for, in nothing but Python's
own library, so that it starts fast, and one that looks at the pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

WRITES = """
import os, struct, sys, time
way, inward, outward = sys.argv[1:4]

def put(name, kind, shape, data):
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (118 - len(head) - 1) + bytes([10])
    with open(os.path.join(outward, name), "wb") as file:
        file.write(bytes([0x93]) + b"NUMPY" + bytes([1, 0]) + struct.pack("<H", len(head)) + head + data)

def answer(number, height, width, score=0.5, label=1):
    put(number + "_anomaly.npy", "<f4", (height, width), struct.pack("<f", score) * height * width)
    put(number + "_segmentation.npy", "|u1", (height, width), bytes([label]) * height * width)

shown = {}
for name in sorted(os.listdir(inward)):
    with open(os.path.join(inward, name), "rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    shown[name.removesuffix(".png")] = (height, width)
exec(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), way + ".py")).read())
"""
ANSWERS = "for number, size in shown.items(): answer(number, *size, score=int(number))\n"
PIXELS = """
import sys
from pathlib import Path
import numpy as np
from PIL import Image
for path in sorted(Path(sys.argv[1]).iterdir()):
    photo = np.asarray(Image.open(path).convert("RGB"))
    np.save(Path(sys.argv[2], path.stem + "_segmentation.npy"), (photo[..., 0] > 127).astype(np.int64))
    np.save(Path(sys.argv[2], path.stem + "_anomaly.npy"), photo[..., 0] / 3 - photo[..., 1])
"""


def writes(folder: Path, code: str, way: str = "way") -> str:
    """Return the command of a program that does what the code says, with ``shown`` {number: (height, width)}
    and ``answer``.
    """
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(WRITES)
    (folder / f"{way}.py").write_text(code)
    return f"{sys.executable} -I -S {folder / 'program.py'} {way}"


def pixels(folder: Path) -> str:
    """Return the command of a program whose answers follow from the pixels: red is label 1, and anomalous."""
    (folder / "pixels.py").write_text(PIXELS)
    return f"{sys.executable} {folder / 'pixels.py'}"
