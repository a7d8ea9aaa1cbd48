"""Faultscape: choose between segmentation models, and trust them, with few human labels.

>>> import faultscape as fs

Verbs work on a study, a folder; each goes on where it stopped, and returns what it wrote.

>>> fs.run("study", "images/", {"unet": "unet.onnx", "fcn": "maps/fcn/"}, classes="voc")  # doctest: +SKIP

The same in memory, without a study: maps are {name: (I, H, W)}, and labels are asked for one by one.

>>> fs.which_is_better(maps, label=lambda image: truth[image], budget=30)  # doctest: +SKIP

Rooms work on arrays: `fs.metrics`, `fs.ranking`, `fs.selection`, `fs.stressors`, ...

>>> fs.metrics.miou([[0, 1]], [[0, 0]], classes=2)
0.25

`dir(fs)` lists verbs, rooms and groups of options (`fs.options`); `help(fs.rank)` explains a verb, and
`faultscape rank --help` the same on the command line. Everything is loaded when it is first used.
"""

import sys

# `python -m faultscape` has the current folder first on the path, in front of the standard library: a json.py
# among somebody's images would run. It goes before anything else is imported (the command has no such entry).
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:  # a module is being started, and argv not yet its own
    _started = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    if _started.partition(".")[0] == __name__:
        del sys.path[0]

import os

from faultscape.lazy_names import attach

# set before Arrow is loaded: its default memory pool grows by some MB with every thousand maps
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# files of a study, what rooms exchange, and checks for extensions are imported by their own names
_INNER = {"nouns", "questions", "study", "testing", "ties", "verbs"}
__getattr__, _, _names = attach(__name__, __file__)
__all__ = [name for name in _names if name not in _INNER]


def __dir__() -> list[str]:
    return __all__.copy()


__version__ = "0.1.0"
