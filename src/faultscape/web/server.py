"""Serve an app from this machine until Ctrl-C: on a free port, with one line that says where, and no request
log.

Conventions: the default address is 127.0.0.1. Port 0 means any free port; if the requested port is taken, the
next free one within ten is used. Connections that say nothing are closed (`connections`).

Connections of a server that say nothing, or hardly anything: they are closed after a while, and they are
never so many that others cannot connect.

Conventions: a connection waits while it has no complete head of a request. One that waits too long is closed;
when too many wait, the one that has waited longest makes room for a new one. A body, and what a client reads
of a response, must keep a lowest speed; the time in which the server itself does not read does not count. All
of this is per connection, below the app, which sees a client that disconnected.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from faultscape.errors import OptionError, counted

HOST = "127.0.0.1"
PORT = 8750
TRIES = 10
# Pending connections. asyncio takes as many in one turn, and those of three turns before the first is closed
# for room: together fewer than the files that `connections` keeps free.
_BACKLOG = 32
_PATIENCE = 5  # seconds that idle connections are kept
HEAD_SECONDS = 10.0  # for the whole head of a request
BODY_SECONDS = 20.0  # in which a body brings so many bytes, again and again until it is complete:
FEWEST_BYTES = 20_000
READ_SECONDS = 60.0  # in which a client reads some of what is ready for it
MOST_WAITING = 100  # connections without a request
MOST_OPEN, _FEWEST_OPEN = 1000, 16  # connections
_KEPT_FREE = 192  # files that are left for the study, its database, and connections that are being accepted
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_HEAD = "head"
_BODY = "body"
_RESPONSE = "response"


class Connection(H11Protocol):
    """One connection of a server, with its deadlines; ``since`` is when it began what it does now, in seconds
    of the loop.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._phase = ""
        self.since = 0.0
        self._taken = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._read_deadline: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether it has no complete head of a request."""
        return self._phase == _HEAD

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, and make room if too many connections do."""
        super().connection_made(transport)
        self._look()
        waiting = [one for one in self.connections if isinstance(one, Connection) and one.waits]
        if len(waiting) > MOST_WAITING or len(self.connections) > most_open():
            min(waiting, key=lambda one: one.since).close()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        self._taken += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Go on after the client read."""
        super().resume_writing()
        self._read_deadline = _cancelled(self._read_deadline)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._deadline, self._read_deadline = _cancelled(self._deadline), _cancelled(self._read_deadline)
        self._phase = ""
        super().connection_lost(exc)

    def close(self) -> None:
        """Close the connection once the client has what was written, or does not read it in time."""
        self.connections.discard(self)
        self.transport.close()
        self._deadline = _cancelled(self._deadline)
        self._wait_for_reader()

    def _wait_for_reader(self) -> None:
        _cancelled(self._read_deadline)
        self._read_deadline = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def _look(self) -> None:
        """Set the deadline of what the connection has to do next."""
        if self.transport.is_closing():  # once what was written is read
            self._wait_for_reader()
            return
        state = self.conn.their_state
        phase = _HEAD if state is h11.IDLE else _BODY if state is h11.SEND_BODY else _RESPONSE
        if phase == self._phase:
            return
        self._phase, self.since, self._taken = phase, self.loop.time(), 0
        self._deadline = _cancelled(self._deadline)
        if phase == _HEAD:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.close)
        elif phase == _BODY:
            self._deadline = self.loop.call_later(BODY_SECONDS, self._judge_body)

    def _judge_body(self) -> None:
        """Close the connection if its body came too slowly."""
        if self._taken < FEWEST_BYTES and not self.flow.read_paused:
            self.transport.abort()
            return
        self._taken = 0
        self._deadline = self.loop.call_later(BODY_SECONDS, self._judge_body)


def most_open() -> int:
    """Return how many connections may be open: as many as this process may open files, less some for the
    study and its database.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_OPEN
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST_OPEN
    return max(min(MOST_OPEN, allowed - _KEPT_FREE), _FEWEST_OPEN)


def said_once() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return a handler of a loop's errors that reports once that no more files can be opened, which asyncio
    would report with a traceback for each connection and second.
    """
    told = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_MORE_FILES:
            loop.default_exception_handler(context)
        elif not told:
            told = True
            print(
                f"faultscape: {error.strerror}: new connections wait until others are closed; allow more with"
                " `ulimit -n NUMBER` before the next start",
                file=sys.stderr,
            )

    return handle


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


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
