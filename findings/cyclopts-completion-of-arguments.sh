#!/usr/bin/env bash
# cyclopts 5.4.0: its completion script of bash takes every word that is the name of some command for one, wherever
# the word stands. After an argument of that name no option is completed any more.
# Expected: `app select demo --per<TAB>` completes --per-class, as `app select study --per<TAB>` does: both lines run
# `select`, one with the argument "demo".
# Seen: --per-class after "study", nothing after "demo", which is also a command.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cyclopts==5.4.0
cd "$folder"
cat > app.py <<'PYTHON'
import cyclopts

app = cyclopts.App(name="app", result_action="return_value")


@app.command
def select(study: str, /, *, per_class: int = 1) -> str:
    return f"select of {study}, {per_class} per class"


@app.command
def demo() -> str:
    return "demo"
PYTHON
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
from importlib.metadata import version

from app import app

assert app(["select", "demo", "--per-class", "2"]) == "select of demo, 2 per class"
script = app.generate_completion(prog_name="app", shell="bash")
seen = {}
for study in ("study", "demo"):
    typed = f'COMP_WORDS=(app select {study} --per)\nCOMP_CWORD=3\n_app\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{typed}"], capture_output=True, text=True)
    seen[study] = done.stdout.split()
print("cyclopts", version("cyclopts"), "completes", seen)
assert seen == {"study": ["--per-class"], "demo": []}, "the behaviour changed"
PYTHON
