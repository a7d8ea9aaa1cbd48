"""Connections of a server that say nothing, or hardly anything: they are closed after a while, and they are
never so many that others cannot connect.

Conventions: a connection waits while it has no complete head of a request. One that waits too long is closed;
when too many wait, the one that has waited longest makes room for a new one. A body, and what a client reads
of a response, must keep a lowest speed; the time in which the server itself does not read does not count. All
of this is per connection, below the app, which sees a client that disconnected.
"""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

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
