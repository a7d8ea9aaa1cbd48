"""What every test may use: the real data where it is there, and a word on what was skipped."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import faultscape
import golden
import loopback
import postgres_server
import shares
from faultscape import engine
from faultscape.maps import kernel_choice

hypothesis.settings.register_profile(
    "faultscape", derandomize=True, deadline=None, database=None, print_blob=False
)
hypothesis.settings.load_profile("faultscape")


HERE = Path(__file__).parent
gc.disable()  # what is imported and collected stays: looking through it again and again takes half of the time
# else a worker begins one of these when the others have ended
FIRST = tuple((HERE / "slowest_files.txt").read_text().split())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: of the laws that kill, wait or run a cluster a core sees
    little.
    """
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


BEGUN = time.monotonic()


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker one thread for torch, and have the kernels compiled once where several workers are to
    come and none were compiled beside this package.
    """
    kernel_choice.ALWAYS = True  # here, where tests hold arrays; a program begins as one of a user does
    os.environ.setdefault("FAULTSCAPE_PROGRESS", "off")  # else what takes long says so on standard error
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of several workers would wait for one another
    several = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    compiled = Path(faultscape.__file__).parent / "maps" / "kernels" / "__pycache__"
    if several and not [*compiled.glob("*.nbi")]:
        words = [
            [sys.executable, str(HERE / "compile_kernels.py"), part] for part in ("line", "scores", "stress")
        ]
        at_work = [
            subprocess.Popen(
                line,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"FAULTSCAPE_NUMBA": "1"},
            )
            for line in words
        ]
        for process in at_work:
            process.wait()  # what fails here will be compiled, or fail, where it is needed


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; the others keep their order. Where FAULTSCAPE_SHARE is one of
    several, "2/3", keep that share of the files.
    """
    place = {HERE / name: k for k, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    if share := os.environ.get("FAULTSCAPE_SHARE"):
        kept = shares.files_of(share, [item.path for item in items])
        left = [item for item in items if item.path not in kept]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.path in kept]


def pytest_collection_finish() -> None:
    """From now on look for garbage, but only among what tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data: FAULTSCAPE_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("FAULTSCAPE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no real data: set FAULTSCAPE_DATA to its folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _goldens(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All processes of a run share the studies that are made once."""
    own = tmp_path_factory.getbasetemp()
    golden.Goldens.root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "golden"


@pytest.fixture(scope="session", autouse=True)
def _one_core() -> Iterator[None]:
    """Verbs do their work in this process where nobody says how many workers, as on a machine of one core;
    who tests engines says how many.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "cores", lambda: 1)
        # no test takes the power away; those that ask whether it is called put their own in
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches beyond this machine fails."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with the files that took longest, as slowest_files.txt holds them, with what was skipped and why,
    and with the time of the run.
    """
    seconds: Counter[str] = Counter()
    for report in (
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if hasattr(report, "duration")
    ):
        seconds[report.nodeid.partition("::")[0].removeprefix("tests/")] += report.duration
    if len(seconds) > len(FIRST):
        terminalreporter.section("slowest files")
        for name, took in seconds.most_common(len(FIRST)):
            terminalreporter.write_line(f"{took:>6.0f} s  {name}")
    reasons = Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        for report in terminalreporter.getreports("skipped")
    )
    terminalreporter.section("skipped, and why")
    for reason, times in sorted(reasons.items()):
        terminalreporter.write_line(f"{times:>4}  {reason.removeprefix('Skipped: ')}")
    if not reasons:
        terminalreporter.write_line("nothing was skipped")
    terminalreporter.section("time")  # of this process and all that it started: workers have ended by now
    terminalreporter.write_line(
        f"{sum(os.times()[:4]):,.0f} s of processor in {time.monotonic() - BEGUN:,.0f} s"
    )


@pytest.fixture(scope="session")
def _loopback() -> Iterator[loopback.Server]:
    server = loopback.Server()
    yield server
    server.stop()


@pytest.fixture
def bucket(
    _loopback: loopback.Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[loopback.Bucket]:
    """A bucket of a store on this machine, which the environment says is the store."""
    for name, value in {
        "ENDPOINT_URL": _loopback.url,
        "ACCESS_KEY_ID": "key",
        "SECRET_ACCESS_KEY": "secret",
        "REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield loopback.Bucket(_loopback, f"b{zlib.crc32(request.node.nodeid.encode())}")
    _loopback.refusing = None


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A PostgreSQL server for all tests of this process."""
    with postgres_server.running() as server:
        yield server
