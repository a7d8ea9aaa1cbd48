"""A worker process ends when the process that started it is gone, whatever that was and whatever it does
itself at that moment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import children
from faultscape.engine.worker import Worker

# What Python runs in every process before all else. Tasks lie here so that a worker has them already: finding
# them would let other threads run.
# PyDLL keeps the interpreter's lock during a call, as some libraries do; the interval has no thread take it
# from another before that.
BEFORE_ALL = """
import ctypes, os, sys

def idle(tick):
    return "done"

def hold(tick):
    os.write(2, b"at work\\n")
    ctypes.PyDLL(None).sleep(600)

if "faultscape.engine.worker" in sys.orig_argv:
    sys.setswitchinterval(1000)
    if gate := os.environ.get("GATE"):
        os.write(2, b"starting\\n")
        os.close(os.open(gate, os.O_RDONLY))
"""
PARENT = """
import os, sys
from faultscape.engine.worker import Worker
worker = Worker()
for said in worker.ask({"task": "sitecustomize:" + sys.argv[1], "call": {}, "attempt": 0}):
    os.write(2, b"idle\\n")
sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path, request: pytest.FixtureRequest) -> subprocess.Popen[bytes]:
    """A process that gives a worker one task, waits, and is killed when the worker has said how far it is."""
    task, moment = request.param
    (tmp_path / "sitecustomize.py").write_text(BEFORE_ALL)
    about = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    if moment == "starting":
        os.mkfifo(tmp_path / "gate")
        about["GATE"] = str(tmp_path / "gate")
    words = [sys.executable, "-c", PARENT, task]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=about, start_new_session=True, bufsize=0
    )
    assert process.stderr is not None
    assert process.stderr.readline().decode().strip() == moment
    process.kill()
    process.wait()
    return process


@pytest.mark.parametrize(
    "parent",
    [("idle", "idle"), ("hold", "starting"), ("hold", "at work")],
    indirect=True,
    ids=["idle", "starting", "at work"],
)
def test_a_worker_ends_when_its_parent_was_killed(parent: subprocess.Popen[bytes], tmp_path: Path) -> None:
    if (gate := tmp_path / "gate").exists():
        os.close(os.open(gate, os.O_WRONLY))  # it goes on starting, and its call lies in its pipe
    assert children.end(parent, 60) == ""


def test_a_worker_whom_nobody_hears_ends_at_once_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with closing(Worker()) as worker:
        process = worker._process  # pyright: ignore[reportPrivateUsage]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        # the answer is a mistake
        process.stdin.write(b'{"task": "faultscape.engine:nothing", "call": {}, "attempt": 0}\n')
        process.stdin.flush()
        assert process.wait(60) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_who_still_lives_is_named_and_killed() -> None:
    words = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)  # the"
        " stray'])"
    )
    program = subprocess.Popen([sys.executable, "-c", words], stderr=subprocess.PIPE, start_new_session=True)
    with pytest.raises(AssertionError, match=r"after 1 s there still lived: .*# the stray"):
        children.end(program, 1)  # which waits for the end of all, once they are killed
