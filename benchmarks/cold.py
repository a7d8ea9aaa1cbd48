"""What a first run costs that later ones do not: kernels that numba compiles, and the memory of a process
before it has work.

    python benchmarks/cold.py                  # README's lines, three times; then memory
    python benchmarks/cold.py --demo --times 1
    python benchmarks/cold.py --kernels        # each kernel and its types, with its seconds of compiling

Conventions: processor seconds are those of the command and of all processes that it waited for; ``cold`` is an
empty folder for numba's cache, ``warm`` the same folder again; Python's own .pyc files are there before. The
seconds of a kernel are those of its thread without the kernels that it calls. README's lines are of twelve
images of 256 x 256 and three models. MiB are resident: the peak of a command, and what a worker holds.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import made_study
import numpy as np
from made_maps import maps

from faultscape.engine.worker import Worker

IMAGES, MODELS, SIDE, CLASSES = 12, 3, 256, "voc"
NAMES = made_study.names(MODELS)
_HOOK = '''
import os, sys


class Finder:
    """Listens to numba as soon as it is imported, and imports it for nobody."""

    def find_spec(self, name, path, target=None):
        if name == "numba.core.dispatcher":
            sys.meta_path.remove(self)
            import json, time
            from numba.core import event

            open_ones = []

            class Compiled(event.Listener):
                def on_start(self, event):
                    open_ones.append([time.thread_time(), 0.0])

                def on_end(self, event):
                    start, inner = open_ones.pop()
                    took = time.thread_time() - start
                    if open_ones:
                        open_ones[-1][1] += took
                    function = event.data["dispatcher"].py_func
                    said = [os.getpid(), function.__module__, function.__name__, str(event.data["args"]), took - inner]
                    with open(os.environ["COLD_KERNELS"], "a") as file:
                        file.write(json.dumps(said) + "\\n")

            event.register("numba:compile", Compiled())


sys.meta_path.insert(0, Finder())
'''
_PEAK = """
import re, sys
exec(sys.argv.pop(1))
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@dataclass(frozen=True)
class Kernel:
    """One compilation of a kernel."""

    process: int
    module: str
    name: str
    types: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """What some commands cost together."""

    processor: float
    seconds: float
    kernels: list[Kernel]


class Place:
    """A folder to run in, with a cache of kernels of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        hook = folder / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(_HOOK)
        self.told = folder / "kernels.jsonl"
        self.environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": str(hook),
            "COLD_KERNELS": str(self.told),
        }

    def run(self, *lines: list[str]) -> Run:
        """Run command lines one after another."""
        self.told.write_text("")
        start, before = time.perf_counter(), _processor()
        for words in lines:
            subprocess.run(
                [sys.executable, "-m", "faultscape", *words],
                cwd=self.folder,
                env=self.environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        took, used = time.perf_counter() - start, _processor() - before
        return Run(used, took, [Kernel(*json.loads(line)) for line in self.told.read_text().splitlines()])


def write_files(folder: Path) -> None:
    """Write ``photos`` and ``maps/NAME`` of some images."""
    rng = np.random.default_rng(0)
    for k in range(IMAGES):
        made = {"photos": cv2.resize(rng.integers(0, 256, (8, 8, 3), np.uint8), (SIDE, SIDE))}
        stack = maps("web", MODELS, SIDE, 21, seed=k)
        made |= {f"maps/{name}": each for name, each in zip(NAMES, stack, strict=True)}
        for room, pixels in made.items():
            (folder / room).mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / room / f"{k:02d}.png"), pixels)


def readme(place: Place) -> Run:
    """Run README's three lines; the labels are the maps of the first model."""
    study, labels = place.folder / "study", place.folder / "to-label"
    for made in (study, labels):
        shutil.rmtree(made, ignore_errors=True)
    models = [f"{name}=maps/{name}" for name in NAMES]
    begun = place.run(
        ["run", "study", "photos", *models, "--classes", CLASSES],
        ["label", "export", "study", "to-label", "--selection", "order"],
    )
    kernels = begun.kernels
    for image in (labels / "images").rglob("*.png"):
        mask = labels / "labels" / image.relative_to(labels / "images")
        mask.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(place.folder / "maps" / NAMES[0] / image.relative_to(labels / "images"), mask)
    ended = place.run(["label", "import", "study", "to-label"], ["run", "study"])
    return Run(begun.processor + ended.processor, begun.seconds + ended.seconds, kernels + ended.kernels)


def demo(place: Place) -> Run:
    """Run the demo."""
    shutil.rmtree(place.folder / "demo-study", ignore_errors=True)
    return place.run(["demo", "demo-study"])


def cold_and_warm(what: str, times: int, *, kernels: bool) -> None:
    """Print a row of medians for a cold and a warm cache, and the kernels of the last cold one."""
    found: dict[str, list[Run]] = {"cold": [], "warm": []}
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder))
            if what == "README":
                write_files(place.folder)
            for runs in found.values():
                runs.append({"README": readme, "demo": demo}[what](place))
    for cache, runs in found.items():
        last = runs[-1].kernels
        print(
            f"{what}, {cache}: {statistics.median(run.processor for run in runs):.1f} s of processor"
            f" ({', '.join(f'{run.processor:.1f}' for run in runs)}),"
            f" {statistics.median(run.seconds for run in runs):.1f} s on the clock; {len(last)} compilations of"
            f" {len({(k.module, k.name) for k in last})} kernels in {len({k.process for k in last})} processes,"
            f" {sum(k.seconds for k in last):.1f} s; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    if kernels:
        _print_kernels(found["cold"][-1].kernels)


def _print_kernels(kernels: list[Kernel]) -> None:
    """Print each kernel, the dearest first: seconds, compilations, distinct types, name."""
    by_name: dict[tuple[str, str], list[Kernel]] = collections.defaultdict(list)
    for kernel in kernels:
        by_name[kernel.module, kernel.name].append(kernel)
    for (module, name), these in sorted(by_name.items(), key=lambda item: -sum(k.seconds for k in item[1])):
        types = sorted({k.types for k in these})
        print(f"{sum(k.seconds for k in these):6.2f} s {len(these):3} x {module}.{name}, {len(types)} types")
        for each in types:
            print(f"           {each}")


def peak(words: str, *given: str) -> float:
    """Return the peak of a process that executes these lines of Python."""
    line = [sys.executable, "-c", _PEAK, words, *given]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()
    return int(said[-1]) / 1024


def worker() -> list[float]:
    """Return what a worker holds once it has begun, and once it has loaded the task of `compare`."""
    process, held = Worker(), []
    try:
        for wanted in ("json:dumps", "faultscape.verbs.compare.count:shard"):
            asked = {"task": "faultscape.engine.tasks:load", "call": {"wanted": wanted}, "attempt": 0}
            assert "error" not in list(process.ask(asked))[-1]
            held.append(_resident(process))
        return held
    finally:
        process.close()


def _resident(process: Worker) -> float:
    said = Path(f"/proc/{process._process.pid}/status").read_text()  # noqa: SLF001 - nobody else asks for it
    match = re.search(r"VmRSS:\s+(\d+)", said)
    assert match
    return int(match[1]) / 1024


def memory() -> None:
    """Print the peaks of `--help` and `status`, and what a worker holds."""
    call = "from faultscape.cli import main\nmain(sys.argv[1:])"
    print(f"Python alone {peak('pass'):.0f} MiB, --help {peak(call, '--help'):.0f} MiB")
    libraries = peak("import numpy, pyarrow.parquet")
    print(f"numpy and pyarrow.parquet {libraries:.0f} MiB")
    for images in (1000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "study")
            made_study.write_predicted(root, images, MODELS, 16)
            used = peak(call, "status", str(root))
            print(f"status of {images:,} images: {used:.0f} MiB, {used - libraries:.0f} above the libraries")
    print("a worker: {:.0f} MiB, {:.0f} with the task of compare".format(*worker()))


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a first run costs that later ones do not.")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--demo", action="store_true", help="the demo in place of README's lines")
    parser.add_argument("--kernels", action="store_true", help="list the kernels of the last cold run")
    parser.add_argument("--memory", action="store_true", help="memory alone")
    asked = parser.parse_args()
    if not asked.memory:
        cold_and_warm("demo" if asked.demo else "README", asked.times, kernels=asked.kernels)
    if asked.memory or not asked.demo:
        memory()
