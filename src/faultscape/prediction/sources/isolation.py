"""Isolation of a program from what it must not see: the network, other processes, and folders of this
machine, as far as the system allows.

Conventions: Linux only, by namespaces that need no privileges. The program is started by this file, which
runs as a separate script and imports nothing of ours. It gets a user namespace, in which it is not an
administrator and cannot undo the isolation, a network without interfaces, its own process tree, an empty
folder over each hidden one, and an empty file over each hidden file. What works is tried before it is
promised (`available`). Its environment holds only what `environment` returns.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

NETWORK = "the network"
PROCESSES = "other processes"
FILES = "the study and its images"
REST = "other files of this machine"  # never hidden, because any of them may be needed by the program
_WAYS = ((NETWORK, PROCESSES, FILES), (NETWORK, FILES), (NETWORK,), (FILES,))  # tried in this order
_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)
_USER, _NET, _MOUNT, _PID, _IPC = 0x10000000, 0x40000000, 0x00020000, 0x20000000, 0x08000000  # CLONE_NEW...
_READ_ONLY, _NO_SUID, _NO_DEVICE, _NO_EXEC, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000  # MS_...
_BIND = 0x1000  # MS_BIND
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
CANNOT = "it cannot be isolated from "  # prefix of the message when promised isolation fails
_NOBODY = 1000  # the program's user id inside the namespace where we are root
_TRIAL = """
import os, sys
folder, *wanted = sys.argv[1:]
alone = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line] in ([], ["lo"])
few = all(int(name) < 9 for name in os.listdir("/proc") if name.isdigit())
found = {"the network": alone, "other processes": few, "the study and its images": not os.listdir(folder)}
sys.exit(0 if all(found[one] for one in wanted) else 1)
"""


@cache
def available() -> tuple[str, ...]:
    """Return what a program can be isolated from on this machine, by trying it."""
    if not sys.platform.startswith("linux"):
        return ()
    folder = os.path.dirname(os.path.abspath(__file__))  # any that holds something will do
    for way in _WAYS:
        trial = [sys.executable, "-I", "-S", "-c", _TRIAL, folder, *way]
        done = subprocess.run(  # noqa: S603 - a line of ours
            line_of(trial, way, [folder]), check=False, capture_output=True, stdin=subprocess.DEVNULL
        )
        if done.returncode == 0:
            return way
    return ()


def line_of(words: Sequence[str], hidden: Collection[str], folders: Sequence[str]) -> list[str]:
    """Return the arguments that run a command isolated from what is ``hidden``, including these ``folders``
    and files.
    """
    if not hidden:
        return list(words)
    plan = {"hidden": list(hidden), "folders": list(folders) if FILES in hidden else []}
    return [sys.executable, "-I", "-S", __file__, json.dumps(plan), *words]


def environment(ours: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the whole environment of a program.

    >>> environment({"PATH": "/bin", "FAULTSCAPE_DATA": "/data", "PWD": "/study"}, "/tmp/x")
    {'PATH': '/bin', 'HOME': '/tmp/x', 'TMPDIR': '/tmp/x', 'PWD': '/tmp/x', 'USER': 'submission', 'LOGNAME':
    'submission'}
    """
    kept = {"PATH": os.defpath} | {name: ours[name] for name in _KEPT if name in ours}
    return (
        kept
        | dict.fromkeys(("HOME", "TMPDIR", "PWD"), home)
        | dict.fromkeys(("USER", "LOGNAME"), "submission")
    )


def become(plan: str, *words: str) -> None:
    """Become the command, isolated as the plan says; exit status 126 if that fails, 127 if there is no such
    command.
    """
    import ctypes

    hidden, folders = (json.loads(plan)[key] for key in ("hidden", "folders"))
    system = ctypes.CDLL(None, use_errno=True)

    def call(what: str, *arguments: object) -> None:
        if getattr(system, what)(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def mount(kind: bytes, place: str, flags: int, options: bytes | None = None) -> None:
        call("mount", kind, os.fsencode(place), kind, ctypes.c_ulong(flags), options)

    try:
        user = os.getuid()
        group = os.getgid()
        call("unshare", _USER | _MOUNT | _IPC | _NET * (NETWORK in hidden) | _PID * (PROCESSES in hidden))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user or _NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group or _NOBODY} {group} 1")
        if PROCESSES in hidden:
            # the caller is not in the new process tree; its first child is, and all others end with that
            _fork()
            call("prctl", _DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        mount(b"none", "/", _RECURSIVE | _PRIVATE)
        if PROCESSES in hidden:
            mount(b"proc", "/proc", _NO_SUID | _NO_DEVICE | _NO_EXEC)
        for place in folders:
            if os.path.isdir(place):
                mount(b"tmpfs", place, _READ_ONLY | _NO_SUID | _NO_DEVICE | _NO_EXEC, b"size=4k,mode=0555")
            elif os.path.isfile(place):
                call("mount", b"/dev/null", os.fsencode(place), None, ctypes.c_ulong(_BIND), None)
    except OSError as error:
        sys.exit(_told(f"{CANNOT}{', '.join(hidden)}: {error.strerror}", 126))
    if PROCESSES in hidden:
        _fork()  # the first process of a tree ignores most signals, which programs do not expect
    try:
        os.execvp(words[0], words)  # noqa: S606 - the command that the user named; here it loses all rights over what was done
    except OSError as error:
        sys.exit(_told(f"{words[0]} cannot be run: {error.strerror}", 127))


def _fork() -> None:
    """Continue as a child; the parent waits for it, reaping orphans meanwhile, and exits with its status."""
    child = os.fork()
    while child:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _told(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status


if __name__ == "__main__":
    become(*sys.argv[1:])
