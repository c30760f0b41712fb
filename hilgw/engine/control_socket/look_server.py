"""The connections of a control socket, and the requests that only look.

A Unix stream socket of mode 0600 in a folder of mode 0700 (with a group: 0660 and 0710); one JSON
object per line in each direction. It is local, so the permissions of the file system are the
authentication. `hilgw bridge` and `hilgw mock` serve no more than this.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from inspect import isawaitable
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from hilgw.devices.kinds import Device
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_socket.handover import Handover
from hilgw.engine.control_socket.listener import ControlListener
from hilgw.engine.control_socket.subscriptions import (
    BUFFER_BYTES,
    Filter,
    Subscriber,
    Subscriptions,
)
from hilgw.engine.observer import Observers
from hilgw.engine.reporting.parts import TOGETHER, texts
from hilgw.engine.simulated.event_loop import in_real_time
from hilgw.errors import HilgwError, PeerError, UsageError, known_here, quoted, suggest
from hilgw.events.kinds import LIVE, Cell, StatusJson
from hilgw.forms import name_of
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import (
    LINE_BYTES,
    LOOK,
    VERSION,
    VersionError,
    encode,
    keys_of,
)
from hilgw.transports.base import Scheduler

IDLE_S = 10.0
MAX_CLIENTS = 64
MAX_STOPS, STOP_S = 128, 1.0  # beside them, each for a single request, `disarm`
URGENT = (b'"disarm"', b'"renew"', b'"end_hold"')  # in a request that waits for no other
READ_BYTES = 65536
CROWDED = "too many connections to the gateway"
TOO_LONG = b"too long\n"  # instead of a line
COMPARED = 500  # names in one turn of the event loop
SUGGESTED = 4  # unknown names of one request that get a suggestion each


@dataclass(slots=True)
class LookClient:
    """A connection to the control socket.

    lease: of the robots that it holds armed. subscriber: that gets events. handover: of the port
    that is released to it. is_extra: it may only disarm; yields: it has sent nothing, and gives its
    place to a new one.
    """

    connection: socket.socket
    is_extra: bool = False
    yields: bool = False
    lease: Lease | None = None
    subscriber: Subscriber | None = None
    handover: Handover | None = None


class Shown(Protocol):
    """The program that a control socket shows.

    timer: of its time, simulated or not; real_timer: of real time.
    """

    @property
    def observer(self) -> Observers: ...
    @property
    def timer(self) -> Scheduler: ...
    @property
    def real_timer(self) -> Scheduler: ...
    def names(self, kind: str) -> Iterable[str]:
        """Return the names of one kind of `requests.NAMED`."""

    def device_of(self, robot: str, name: str) -> Device | None:
        """Return the device of a robot; None while it is not known."""

    def states(self) -> Iterable[Cell]:
        """Return the present states of all parts, as the events that have led to them.

        Each has `since_ns`.
        """

    def report(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Watched:
    """A program that is only watched. parts: the names of all that its events are about."""

    observer: Observers
    timer: Scheduler
    report: Callable[[], dict[str, Any]]
    parts: Callable[[], Iterable[str]]

    @property
    def real_timer(self) -> Scheduler:
        return self.timer

    def names(self, kind: str) -> Iterable[str]:
        return self.parts() if kind == "part" else ()

    def device_of(self, robot: str, name: str) -> None:
        return None

    def states(self) -> Iterable[Cell]:
        return ()


Handler = Callable[[Any, LookClient], Any]
"""Does what a request asks, and returns its answer or an awaitable of it: the answer's dataclass,
or a dictionary where it has keys of its own, such as `refused`. Raises HilgwError."""


class LookServer:
    """The server of a control socket.

    handlers: by the class of their request; a subclass adds its own.

    A client has IDLE_S, in real time, for each request and IDLE_S to read its answer; besides
    MAX_CLIENTS connections further ones may disarm, and are else refused and counted: of those that
    send nothing, the oldest one gives its place to a new one. One turn of the event loop answers
    one request, and any that is urgent. path: where the socket is; None: in the folder of
    `hilgw.client.control_paths`, with this suffix. config: the file that the gateway runs. group:
    whose users may connect, too.
    """

    suffix = LOOK

    def __init__(
        self, shown: Shown, path: str | None = None, *, config: str = "", group: str | None = None
    ) -> None:
        self._shown = shown
        self._config = config
        self._listener = ControlListener(self._admit, path, group=group, suffix=self.suffix)
        self._clients: dict[asyncio.Task[None], LookClient] = {}
        self._refused = 0
        self._turn = asyncio.Lock()
        self.handlers: dict[type[Any], Handler] = {
            requests.Identify: lambda request, client: requests.Identity(os.getpid()),
            requests.Find: self._find,
            requests.Watch: self._watch,
            requests.Report: lambda request, client: requests.ReportMade(shown.report()),
        }

    def report(self) -> dict[str, Any]:
        """Return the part `control_socket` of the gateway's report."""
        return {"refused": self._refused}

    @cached_property
    def subscriptions(self) -> Subscriptions:
        """The subscriptions of those who watch.

        Its methods may be called for events that no other observer gets.
        """
        shown = self._shown
        return Subscriptions(
            *(shown.observer, shown.timer, shown.real_timer, shown.device_of),
            status=self.status_steps,
        )

    def status_steps(self) -> Iterator[StatusJson | None]:
        """Make the event of the status as it is now, a part in each step; empty: it has none."""
        return iter(())

    @property
    def path(self) -> Path:
        return self._listener.path

    async def start(self) -> None:
        """Start to listen. HilgwError when the socket cannot be made; then nothing is left."""
        self._listener.start()

    async def start_beside(self, inform: Callable[[str], None]) -> None:
        """Start to listen, for a program that also runs without the socket.

        Report when it cannot be made.
        """
        try:
            self._listener.start()
        except HilgwError as error:
            inform(f"it cannot be watched: {error}")

    async def close(self) -> None:
        """Stop listening, remove the socket, and close the connections."""
        self._listener.close()
        for task, client in self._clients.items():
            task.cancel()
            last = self._at_end(client)
            if last and client.subscriber is not None:  # the one writer of its connection
                client.subscriber.put(b"".join(self._texts(last)), 2 * BUFFER_BYTES)
            elif last:
                with suppress(OSError):  # it left, or reads nothing
                    client.connection.send(b"".join(self._texts(last)))
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _at_end(self, client: LookClient) -> Any:
        """Return the last message for this client, if there is one."""

    def _left(self, client: LookClient) -> None:
        if client.subscriber is not None:
            self.subscriptions.remove(client.subscriber)

    # --- connections ------------------------------------------------------------------------------

    def _admit(self, connection: socket.socket) -> None:
        if len(self._clients) >= MAX_CLIENTS + MAX_STOPS:
            self._refused += 1
            silent = next((each for each in self._clients.items() if each[1].yields), None)
            refused = connection if silent is None else silent[1].connection
            with suppress(OSError):  # the client left
                refused.send(encode({"error": CROWDED, "version": VERSION}))
            if silent is None:
                connection.close()
                return
            silent[0].cancel()
            silent[1].yields = False
        is_extra = len(self._clients) >= MAX_CLIENTS
        client = LookClient(connection, is_extra, yields=is_extra)
        task = asyncio.get_running_loop().create_task(self._serve(client))
        self._clients[task] = client
        task.add_done_callback(lambda task: self._clients.pop(task).connection.close())

    async def _serve(self, client: LookClient) -> None:
        received = bytearray()
        try:
            while line := await self._next_line(client, received):
                client.yields = False
                await self._send(client, await self._answer(line, client))
                if client.is_extra:
                    break
                await asyncio.sleep(0)  # many requests may have come at once: others have a turn
        except (OSError, TimeoutError):
            pass  # the client left, or stalled
        finally:
            self._left(client)

    async def _next_line(self, client: LookClient, received: bytearray) -> bytes:
        """Return the client's next line.

        One that reads events, or has a port, may have no further request for long.
        """
        line = _read_line(client.connection, received)
        if client.subscriber is not None or client.handover is not None:
            return await line
        return await in_real_time(line, STOP_S if client.is_extra else IDLE_S)

    async def _send(self, client: LookClient, answer: Any) -> None:
        line = bytearray()
        for number, text in enumerate(self._texts(answer), 1):
            line += text
            if number % TOGETHER == 0:
                await self._next_turn()
        if client.subscriber is None:
            loop = asyncio.get_running_loop()
            await in_real_time(loop.sock_sendall(client.connection, line), IDLE_S)
        elif client.subscriber.put(line, 2 * BUFFER_BYTES):  # where events find no room
            client.subscriber.send_soon()
        else:
            raise TimeoutError  # it reads neither its events nor its answers

    def _texts(self, answer: Any) -> Iterator[bytes]:
        keys = answer if isinstance(answer, dict) else {"ok": True, **keys_of(answer)}
        config = {"config": self._config} if self._config else {}
        yield from map(str.encode, texts({**keys, "version": VERSION, **config}.items()))
        yield b"\n"

    async def _answer(self, line: bytes, client: LookClient) -> Any:
        try:
            if line is TOO_LONG:
                raise UsageError(
                    f"not a valid request: longer than {LINE_BYTES} bytes",
                    fix="send less in one request",
                )
            if not (client.is_extra or any(word in line for word in URGENT)):
                await self._next_turn()  # one that asks without end delays no other by more
            request = requests.decode_request(line)
            if client.is_extra and not isinstance(request, requests.Disarm | requests.Identify):
                self._refused += 1
                raise PeerError(CROWDED, fix="end some, such as `hilgw watch`")
            if (handler := self.handlers.get(type(request))) is None:
                raise UsageError(
                    f"{name_of(type(request))} is not for this program: it can only be watched"
                )
            answer = handler(request, client)
            return await answer if isawaitable(answer) else answer
        except HilgwError as error:
            answer = {"error": str(error), "exit_code": error.exit_code}
            if isinstance(error, VersionError):
                answer["client_version"] = error.client
            return answer
        except (ValueError, RecursionError) as error:
            return {"error": f"not a valid request: {error}", "exit_code": 2}

    # --- requests ---------------------------------------------------------------------------------

    async def _find(self, request: requests.Find, client: LookClient) -> requests.Found:
        unknown, known = await self._unknown(request.kind, request.names)
        missing = set(unknown)
        present = [name for name in dict.fromkeys(request.names) if name not in missing]
        return requests.Found(present, suggestions(unknown, known))

    async def _watch(self, request: requests.Watch, client: LookClient) -> requests.Done:
        unknown, known = await self._unknown("part", request.names)
        if unknown:
            raise HilgwError(
                f"nothing here has the name {quoted(unknown[0])}", fix=suggest(unknown[0], known)
            )
        names, kinds = frozenset(request.names), frozenset(request.kinds or LIVE)
        chosen = Filter(kinds, names, request.lost, request.per_second)
        loop = asyncio.get_running_loop()
        self.subscriptions.encode()  # what passed before is for those who had asked for it
        if client.subscriber is None:
            client.subscriber = Subscriber(client.connection, chosen, loop)
        client.subscriber.chosen = chosen
        self.subscriptions.add(client.subscriber)
        if request.states:  # after the answer
            loop.call_soon(self.subscriptions.show, client.subscriber, self._shown.states())
        return requests.Done()

    async def _unknown(self, kind: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the unknown ones of these names, and some of the known ones."""
        missing, known, parts = dict.fromkeys(names), list[str](), iter(self._shown.names(kind))
        while missing and (some := list(islice(parts, COMPARED))):
            known = known or some  # more are not compared
            for name in some:
                missing.pop(name, None)
            await self._next_turn()
        return list(missing), known

    async def _next_turn(self) -> None:
        """Let others have their turn: of all that is made in turns, one goes on in each."""
        async with self._turn:
            await asyncio.sleep(0)


def suggestions(unknown: Sequence[str], known: Collection[str]) -> str:
    """Return the fix for these names; of many, without comparing each with all that are known."""
    if len(unknown) > SUGGESTED:
        return known_here(known)
    return "; ".join(dict.fromkeys(suggest(name, known) for name in unknown))


async def _read_line(connection: socket.socket, received: bytearray) -> bytes:
    """Return the next line, or TOO_LONG for one of more than LINE_BYTES.

    At the end, what came after the last one. received: bytes that came in and were not returned
    yet.
    """
    searched, is_long = 0, False
    while (end := received.find(b"\n", searched)) < 0:
        if len(received) > LINE_BYTES:
            is_long = True
            received.clear()
        searched = len(received)
        data = await asyncio.get_running_loop().sock_recv(connection, READ_BYTES)
        if not data:
            end = searched
            break
        received += data
    line = bytes(received[: end + 1])
    del received[: end + 1]
    return TOO_LONG if is_long else line
