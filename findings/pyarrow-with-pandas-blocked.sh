#!/usr/bin/env bash
# pyarrow 26.0.1: in a process where pandas is blocked the usual way, the first array or scalar fails, and the second is made.
# Expected: with sys.modules["pandas"] = None, by which tests stand in for a library that is not installed,
# `import pandas` raises ImportError, and pyarrow, to which pandas is optional, does what it does without pandas.
# Seen: beside NumPy 2.4.6, pa.array([1]) and pa.scalar(1) raise AttributeError, "'NoneType' object has no attribute
# '__version__'"; the same call again succeeds. A finder that raises ModuleNotFoundError for pandas has no such effect,
# nor has its absence.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pyarrow==26.0.1 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys

BLOCKED = "import sys; sys.modules['pandas'] = None"
FINDER = """
import sys

class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Without)
"""
TWICE = """
import pyarrow as pa

for _ in range(2):
    try:
        {call}
        print("made")
    except AttributeError as error:
        print(error)
"""
CALLS = ("pa.array([1])", "pa.scalar(1)")
WORDS = "'NoneType' object has no attribute '__version__'"


def said(before: str, call: str) -> list[str]:
    words = [sys.executable, "-c", before + TWICE.format(call=call)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


for call in CALLS:
    seen = {name: said(before, call) for name, before in (("blocked", BLOCKED), ("finder", FINDER), ("absent", ""))}
    print(call, seen)
    assert seen == {"blocked": [WORDS, "made"], "finder": ["made"] * 2, "absent": ["made"] * 2}
PYTHON
echo "as described"
