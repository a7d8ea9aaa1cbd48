"""Serve an app from this machine until Ctrl-C: on a free port, with one line that says where, and no request
log.

Conventions: the default address is 127.0.0.1. Port 0 means any free port; if the requested port is taken, the
next free one within ten is used. Connections that say nothing are closed (`connections`).
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

from faultscape.errors import OptionError, counted
from faultscape.web.connections import Connection, said_once

HOST = "127.0.0.1"
PORT = 8750
TRIES = 10
# Pending connections. asyncio takes as many in one turn, and those of three turns before the first is closed
# for room: together fewer than the files that `connections` keeps free.
_BACKLOG = 32
_PATIENCE = 5  # seconds that idle connections are kept


def bind(host: str = HOST, port: int = PORT) -> socket.socket:
    """Return a listening socket on an address and port, or on one of the next ports; OptionError if none is
    available.

    >>> with bind(port=0) as one, bind(port=0) as other:
    ...     one.getsockname()[1] != other.getsockname()[1]
    True
    """
    if not 0 <= port <= 65535:
        raise OptionError(f"--port {port}: expected a port from 0 (any free port) to 65535")
    try:
        (family, *_, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise OptionError(f"--host {host}: not an address of this machine; leave it out for {HOST}") from None
    last = port if port == 0 else min(port + TRIES - 1, 65535)
    for number in range(port, last + 1):
        # without the protocol, asyncio leaves Nagle's delays on: 40 ms per response
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address[0], number, *address[2:]))
            made.listen(_BACKLOG)
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE:
                raise OptionError(
                    f"--host {host} --port {number}: {error.strerror}; choose another"
                ) from None
        else:
            return made
    raise OptionError(
        f"--port {port}: it and the next {counted(TRIES - 1, 'port')} are in use; give another, or 0 for any"
        " free one"
    )


def port_note(listener: socket.socket, port: int) -> str:
    """Return a note if the requested port was taken, so that a link to it leads elsewhere; else ''.

    >>> with bind(port=0) as one:
    ...     port_note(one, one.getsockname()[1]), port_note(one, 0)
    ('', '')
    """
    number = listener.getsockname()[1]
    return f"note: port {port} is in use; this server listens on {number}" if port not in (0, number) else ""


def address_of(listener: socket.socket) -> str:
    """Return the address that a person opens.

    >>> with bind(port=0) as one:
    ...     address_of(one).startswith("http://127.0.0.1:")
    True
    """
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def is_private(listener: socket.socket) -> bool:
    """Whether a socket can be reached only from this machine."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def names_of(listener: socket.socket, host: str) -> list[str]:
    """Return the host names, besides addresses and localhost, that an app on a socket answers to: the given
    one, and the machine's name if others can reach it.
    """
    return [host] if is_private(listener) else [host, socket.gethostname()]


def configured(app: Any) -> uvicorn.Config:
    """Return the server's configuration: no request log, and no header that names the server."""
    return uvicorn.Config(
        app,
        http=Connection,
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_keep_alive=_PATIENCE,
        timeout_graceful_shutdown=1,
        server_header=False,
    )


class Server(uvicorn.Server):
    """A server that reports once, in a line, that it may open no more files."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(said_once())
        await super().startup(sockets)


def serve(app: Any, listener: socket.socket, begun: Callable[[], None] | None = None) -> None:
    """Answer requests on a socket until Ctrl-C; ``begun`` is called just before."""
    if begun is not None:
        begun()
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after shutting down
        Server(configured(app)).run(sockets=[listener])
