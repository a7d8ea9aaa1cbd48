"""Try the installed wheel: run by its own environment's python, from a folder that is no checkout."""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

os.environ["FAULTSCAPE_NUMBA"] = "0"  # the tests compile and try the kernels; here their plain twins do

import faultscape as fs

assert "site-packages" in str(Path(fs.__file__)), f"not the wheel: {fs.__file__}"
assert find_spec("numba"), "the wheel did not bring numba"
command = Path(sys.executable).parent / "faultscape"
words = subprocess.run([command, "--help"], check=True, capture_output=True, text=True).stdout
assert "collect" in words, words
htmx = Path(fs.__file__).parent / "reporting" / "templates" / "app" / "htmx.min.js"
assert htmx.stat().st_size > 10_000, "the wheel has no htmx"
with tempfile.TemporaryDirectory() as folder:
    made = fs.demo(str(Path(folder) / "study"), scenes=8)
    assert len(made.drawn.models) == 5, made
    assert (Path(folder) / "study" / "report.html").stat().st_size > 10_000
    measured = fs.measure(str(Path(folder) / "study"), resamples=20)
    assert len(measured.models) == 5, measured
    assert (Path(measured.path) / "report.html").stat().st_size > 10_000
print("the wheel works")
