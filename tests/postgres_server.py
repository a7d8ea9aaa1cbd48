"""A PostgreSQL server for tests: one for all of them, in a folder of its own, reached through a socket in it;
and what runs on both kinds of database.

Conventions: it writes as in earnest (fsync on). It refuses to run as root, so it is run as another user where
tests are. Each test has a schema of its own, which takes less time than a database.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count, takewhile
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

_NUMBERS = count(1)
_PLACES = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")


class Server:
    """One that runs in a folder, for a user."""

    def __init__(self, folder: Path, user: str) -> None:
        self.folder, self.user = folder, user

    def address(self) -> str:
        """The address of tables of one's own: a new, empty schema."""
        import psycopg

        name, where = f"test_{next(_NUMBERS)}", f"postgresql://{self.user}@/postgres?host={self.folder}"
        with closing(psycopg.connect(where, autocommit=True)) as held:
            held.execute(f"CREATE SCHEMA {name}")
        return f"{where}&options=-csearch_path%3D{name}"


def programs() -> Path | None:
    """Where initdb and postgres lie; None where there are none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    found = sorted(path.parent for place in _PLACES for path in Path(place).glob("**/bin/initdb"))
    return found[-1] if found else None


@contextmanager
def running() -> Iterator[Server]:
    """A server that is there until the end; tests are skipped where none can be had."""
    pytest.importorskip("psycopg", reason="no psycopg: the extra postgres is not installed")
    where = programs()
    if where is None:
        pytest.skip("no PostgreSQL server on this machine (initdb)")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = (
        next((name for name in ("postgres", "nobody") if name in names), "")
        if root
        else pwd.getpwuid(os.geteuid()).pw_name
    )
    if not user:
        pytest.skip("PostgreSQL does not run as root, and there is no other user here")
    who: dict[str, Any] = (
        {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if root else {}
    )
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a path of a socket has at most some 100 characters
    try:
        if root:
            shutil.chown(folder, user)
        data = folder / "data"
        line = [
            where / "initdb",
            "--pgdata",
            data,
            "--username",
            user,
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--no-sync",
        ]
        made = subprocess.run(
            [str(word) for word in line], cwd=folder, capture_output=True, text=True, check=False, **who
        )
        if made.returncode:
            pytest.skip(f"no PostgreSQL server could be made here: {made.stderr.strip().splitlines()[-1:]}")
        line = [
            where / "postgres",
            "-D",
            data,
            "-c",
            "listen_addresses=",
            "-c",
            f"unix_socket_directories={folder}",
        ]
        with subprocess.Popen(
            [str(word) for word in line], cwd=folder, stderr=subprocess.PIPE, text=True, **who
        ) as server:
            assert server.stderr is not None
            said = list(takewhile(lambda line: "ready to accept connections" not in line, server.stderr))
            assert server.poll() is None, "".join(said)
            silent = Thread(target=server.stderr.read)  # what it says later would fill the pipe
            silent.start()
            try:
                yield Server(folder, user)
            finally:
                server.send_signal(signal.SIGQUIT)
                server.wait()
                silent.join()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
