"""The control socket of a running gateway; `hilgw.client.control_socket` is its client.

A Unix stream socket of mode 0600 in a folder of mode 0700 (with a group: 0660 and 0710); one JSON
object per line in each direction. It is local, so the permissions of the file system are the
authentication.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.control.events import StopReason
from hilgw.control.modes import RobotMode
from hilgw.devices.fields import BROADCAST, CHANNEL_MAX
from hilgw.devices.keys import is_code
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_listener import ControlListener
from hilgw.engine.simulated.event_loop import in_real_time
from hilgw.engine.subscriptions import Filter, Subscriber, Subscriptions
from hilgw.errors import HilgwError, PeerError, UsageError, known_here, quoted
from hilgw.medium.pose import Pose
from hilgw.protocols.gateway.events import KINDS
from hilgw.protocols.gateway.messages import LINE_BYTES, LONGEST_LEASE_S, Do, encode
from hilgw.units import s_to_ns

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway

IDLE_S = 10.0
BODY_DOWN = "stop not sent: body down"
MAX_CLIENTS = 64
READ_BYTES = 65536
ADDRESS = re.compile(r"[0-9A-Fa-f]{16}|[0-9A-Fa-f]{4}")
COMMAND = re.compile(r"[A-Z%][A-Z0-9]")
COMMAND_BYTES = 64
HOLD_S = 0.5  # of a key: longer than the pause before a terminal repeats it
LONGEST_HOLD_S = 60.0


@dataclass(slots=True)
class _Client:
    """One connection. lease: of the robots that it holds armed. subscriber: that gets events."""

    connection: socket.socket
    lease: Lease | None = None
    subscriber: Subscriber | None = None


class ControlServer:
    """Answers requests on the gateway's control socket.

    A client has IDLE_S, in real time, for each request and IDLE_S to read its answer; beside
    MAX_CLIENTS connections it refuses and counts further ones. path: where the socket is;
    None: in the folder of `hilgw.client.control_paths`. config: the file that the gateway runs.
    group: whose users may connect, too.
    """

    def __init__(
        self,
        gateway: Gateway,
        path: str | None = None,
        *,
        config: str = "",
        group: str | None = None,
    ) -> None:
        self._gateway = gateway
        self._config = config
        self._listener = ControlListener(self._admit, path, group=group)
        self._clients: dict[asyncio.Task[None], _Client] = {}
        self._refused = 0

    def report(self) -> dict[str, Any]:
        """The part `control_socket` of the gateway's report."""
        return {"refused": self._refused}

    @cached_property
    def _subscriptions(self) -> Subscriptions:
        gateway = self._gateway
        device_of = gateway.control_loops.device_of
        return Subscriptions(gateway.observer, gateway.timer, gateway.real_timer, device_of)

    @property
    def path(self) -> Path:
        return self._listener.path

    async def start(self) -> None:
        """Starts listening. HilgwError when the socket cannot be made; then nothing is left."""
        self._listener.start()

    async def close(self) -> None:
        """Stops listening, removes the socket, and closes the connections. The motors have been
        stopped before: who holds robots reads that."""
        self._listener.close()
        for task, client in self._clients.items():
            task.cancel()
            if client.lease is not None:
                client.lease.end(StopReason.ENDED)
                with suppress(OSError):  # it left, or reads nothing
                    client.connection.send(encode(self._end_of(client.lease)))
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _admit(self, connection: socket.socket) -> None:
        if len(self._clients) >= MAX_CLIENTS:
            self._refused += 1
            with connection:
                try:
                    connection.send(encode({"error": "too many connections to the gateway"}))
                except OSError:
                    pass  # the client left
            return
        client = _Client(connection)
        task = asyncio.get_running_loop().create_task(self._serve(client))
        self._clients[task] = client
        task.add_done_callback(self._clients.pop)

    async def _serve(self, client: _Client) -> None:
        connection = client.connection
        received = bytearray()
        with connection:
            try:
                while line := await self._next_line(client, received):
                    answer = await self._answer(line, client)
                    if self._config:
                        answer["config"] = self._config  # every answer names its gateway
                    await self._send(client, encode(answer))
            except (OSError, ValueError, TimeoutError):
                pass  # the client left, stalled, or sent an endless line
            finally:
                if client.subscriber is not None:
                    self._subscriptions.remove(client.subscriber)
                if client.lease is not None:
                    client.lease.end(StopReason.LEASE_ENDED)

    async def _next_line(self, client: _Client, received: bytearray) -> bytes:
        """A client that reads events may have no further request."""
        line = _read_line(client.connection, received)
        return await (in_real_time(line, IDLE_S) if client.subscriber is None else line)

    async def _send(self, client: _Client, line: bytes) -> None:
        """An answer; between events, where the client gets them."""
        if client.subscriber is None:
            loop = asyncio.get_running_loop()
            await in_real_time(loop.sock_sendall(client.connection, line), IDLE_S)
        elif not client.subscriber.put(line):
            raise TimeoutError  # it reads neither its events nor its answers

    async def _answer(self, line: bytes, client: _Client) -> dict[str, Any]:
        try:
            request = json.loads(line)
            match request:
                case {"do": Do.SEND, "station": str(station), "data": str(text)}:
                    channel = request.get("channel")
                    if channel is not None and (
                        type(channel) is not int or not BROADCAST <= channel <= CHANNEL_MAX
                    ):
                        return {
                            "error": f"channel must be a whole number from -1 to {CHANNEL_MAX}",
                            "exit_code": 2,
                        }
                    reason = self._gateway.send(station, bytes.fromhex(text), channel)
                    return {"refused": reason} if reason else {"ok": True}
                case {"do": Do.PLACE, "object": str(name), "position": position}:
                    self._gateway.place(name, _pose(position, request.get("rotation")))
                    return {"ok": True}
                case {"do": Do.POSE, "object": str(name)}:
                    pose = self._gateway.scene.pose_of(name)
                    where = None if pose is None else list(pose.position)
                    rows = None if pose is None else [list(row) for row in pose.rows]
                    return {"ok": True, "position": where, "rotation": rows}
                case {"do": Do.CHARGE, "robot": str(robot), "energy_j": int() | float() as energy}:
                    self._gateway.control_loops[robot].steps.charge(float(energy))
                    return {"ok": True}
                case {"do": Do.SET, "device": str(device)}:
                    channel, range_m = request.get("channel"), request.get("range")
                    if not (channel is None or type(channel) is int) or not (
                        range_m is None or type(range_m) in (int, float)
                    ):
                        return {"error": "channel and range must be numbers", "exit_code": 2}
                    reason = self._gateway.set(device, channel, range_m)
                    return {"refused": reason} if reason else {"ok": True}
                case {"do": Do.COMMAND, "station": str(station), "address": str(address)}:
                    return await self._command(station, address, request)
                case {"do": Do.IDENTIFY}:
                    return {"ok": True, "config": self._config, "pid": os.getpid()}
                case {"do": Do.FIND, "kind": str(kind), "names": [*names]}:
                    return {"ok": True, **self._find(kind, names)}
                case {"do": Do.MODE, "robot": str(robot)}:
                    return {"ok": True, **self._mode(robot, request.get("mode"))}
                case {"do": Do.KEY, "robot": str(robot), "keys": [*keys]}:
                    hold_ns = _hold_ns(request.get("hold_s", HOLD_S))
                    self._gateway.control_loops[robot].steps.press(_keys(keys), hold_ns)
                    return {"ok": True}
                case {"do": Do.SAY, "robot": str(robot), "text": str(text)}:
                    self._gateway.control_loops[robot].steps.say(text)
                    return {"ok": True}
                case {"do": Do.ARM | Do.HOLD as do}:
                    robots = _robots(request)
                    robots = self._gateway.control_loops.names() if robots is None else robots
                    loops = self._gateway.control_loops
                    if do == Do.HOLD:
                        self._hold(client, robots, request.get("limit_s"))
                    else:
                        loops.arm(*robots)
                    notes = loops.absences(*robots)
                    return {"ok": True, "robots": robots} | ({"notes": notes} if notes else {})
                case {"do": Do.DISARM}:
                    return self._disarm(_robots(request))
                case {"do": Do.RENEW}:
                    lease = _lease_of(client)
                    return {"ok": True} if lease.renew() is None else self._end_of(lease)
                case {"do": Do.RELEASE}:
                    lease = _lease_of(client)
                    lease.end(StopReason.LEASE_ENDED)
                    return self._end_of(lease)
                case {"do": Do.WATCH}:
                    self._watch(client, request)
                    return {"ok": True}
                case {"do": Do.REPORT}:
                    return {"ok": True, "report": self._gateway.report()}
        except HilgwError as error:
            return {"error": str(error), "exit_code": error.exit_code}
        except (ValueError, RecursionError) as error:
            return {"error": f"not a valid request: {error}", "exit_code": 2}
        return {"error": "unknown request", "exit_code": 2}

    def _watch(self, client: _Client, request: dict[str, Any]) -> None:
        """The client gets the events that it chooses; instead of those of its last request."""
        kinds = _names_in(request, "kinds") or list(KINDS)
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            what = f"{quoted(unknown[0])} is not a kind of events"
            raise UsageError(what, fix=f"kinds: {', '.join(KINDS)}")
        lost, states = request.get("lost", False), request.get("states") is True
        if type(lost) is not bool:
            raise UsageError("lost must be true or false")
        chosen = Filter(frozenset(kinds), frozenset(_names_in(request, "names")), lost)
        if client.subscriber is not None:
            self._subscriptions.remove(client.subscriber)
        loop = asyncio.get_running_loop()
        client.subscriber = Subscriber(client.connection, chosen, loop)
        self._subscriptions.add(client.subscriber)
        if states:  # after the answer
            loop.call_soon(self._subscriptions.show, client.subscriber, self._gateway.states())

    def _end_of(self, lease: Lease) -> dict[str, Any]:
        """What the holder reads of a lease that has ended: all its robots are disarmed."""
        reason, estop = lease.ended or StopReason.LEASE_ENDED, self._gateway.control_loops.estop
        cause = "" if estop is None or reason is not StopReason.ESTOP else estop.cause
        text = f"{reason.doc}: {cause}" if cause else reason.doc
        answer = {"ok": True, "ended": reason, "text": text, "robots": lease.robots}
        not_sent = dict.fromkeys(lease.not_sent, BODY_DOWN)
        return {**answer, "not_sent": not_sent} if not_sent else answer

    def _mode(self, robot: str, mode: object) -> dict[str, Any]:
        """Sets the mode of a robot; None leaves it. The mode, and which bodies are there."""
        loop = self._gateway.control_loops[robot]
        if mode is not None:
            if mode not in tuple(RobotMode):
                modes = ", ".join(RobotMode)
                raise UsageError(f"{quoted(str(mode))} is not a mode", fix=f"modes: {modes}")
            loop.modes.switch(RobotMode(str(mode)))
        return {"robot": robot, "mode": loop.modes.mode, "bodies": loop.modes.states()}

    def _find(self, kind: str, names: list[object]) -> dict[str, Any]:
        """Which of these names are here; with a fix for the others."""
        known = dict.fromkeys(self._gateway.names(kind))
        found = [name for name in names if type(name) is str and name in known]
        return {"found": found, "fix": known_here(known) if len(found) < len(names) else ""}

    def _hold(self, client: _Client, robots: list[str], limit_s: Any) -> None:
        """Arms these robots for as long as the client renews its lease."""
        if client.lease is not None:
            raise UsageError("this connection holds robots already")
        is_number = type(limit_s) in (int, float)
        if limit_s is not None and not (is_number and 0 < limit_s <= LONGEST_LEASE_S):
            raise UsageError(f"limit_s must be null, or up to {LONGEST_LEASE_S:g} s")
        clock = self._gateway.real_timer
        client.lease = Lease(self._gateway.control_loops, clock, robots, limit_s)

    def _disarm(self, robots: list[str] | None) -> dict[str, Any]:
        """Disarms those of these robots that are here (None: all); `unknown` are the others, and
        `not_sent` those to which no stop was sent, with the reason."""
        loops = self._gateway.control_loops
        known = dict.fromkeys(loops)
        robots = list(known) if robots is None else robots
        stopped = [robot for robot in robots if robot in known]
        answer: dict[str, Any] = {"robots": stopped}
        if down := loops.disarm(*stopped):
            answer["not_sent"] = dict.fromkeys(down, BODY_DOWN)
        if unknown := [robot for robot in robots if robot not in known]:
            what = f"no robot {', '.join(map(quoted, unknown))} with a control loop here"
            fix = known_here(known)
            error = str(HilgwError(what, fix=fix))
            return {"error": error, "exit_code": 1, "unknown": unknown, "fix": fix, **answer}
        return {"ok": True, **answer}

    async def _command(self, station: str, address: str, request: dict[str, Any]) -> dict[str, Any]:
        """An AT command for another module of a station's network."""
        name, value = str(request.get("name")), bytes.fromhex(str(request.get("value", "")))
        if not ADDRESS.fullmatch(address):
            raise UsageError(f"{quoted(address)} is not an address of 16 or 4 hexadecimal digits")
        if not COMMAND.fullmatch(name):
            raise UsageError(f"{quoted(name)} is not an AT command of two characters")
        if len(value) > COMMAND_BYTES:
            raise UsageError(f"the value has {len(value)} bytes; up to {COMMAND_BYTES} fit")
        answer = await self._gateway.command(station, address, name, value)
        if answer.problem:
            raise PeerError(f"{name}: {answer.problem}", where=answer.asked)
        return {"ok": True, "address": answer.address, "value": answer.value.hex()}


async def _read_line(connection: socket.socket, received: bytearray) -> bytes:
    """The next line; at the end what came after the last one. received: bytes that came in and
    were not returned yet. ValueError for a line that is too long."""
    searched = 0
    while (end := received.find(b"\n", searched)) < 0:
        searched = len(received)
        if searched > LINE_BYTES:
            raise ValueError("the line is too long")
        data = await asyncio.get_running_loop().sock_recv(connection, READ_BYTES)
        if not data:
            end = searched
            break
        received += data
    line = bytes(received[: end + 1])
    del received[: end + 1]
    return line


def _lease_of(client: _Client) -> Lease:
    if client.lease is None:
        raise UsageError("this connection holds no robot")
    return client.lease


def _robots(request: dict[str, Any]) -> list[str] | None:
    """One robot or a list of them; None: all."""
    match request:
        case {"robot": str(robot)}:
            return [robot]
        case {"robots": [*names]} if names and all(type(name) is str for name in names):
            return names
        case {"all": True}:
            return None
    raise UsageError("robots must be a list of names")


def _names_in(request: dict[str, Any], key: str) -> list[str]:
    """A list of names; none where the request has none."""
    names = request.get(key) or []
    if not isinstance(names, list) or not all(type(name) is str for name in names):
        raise UsageError(f"{key} must be a list of names")
    return names


def _keys(given: list[object]) -> list[int]:
    """Key codes; UsageError for what is not one."""
    codes = [code for code in given if isinstance(code, int) and is_code(code)]
    if not codes or len(codes) < len(given):
        raise UsageError("keys must be codes of Webots' keyboard")
    return codes


def _hold_ns(given: object) -> int:
    if type(given) not in (int, float) or not 0 <= float(str(given)) <= LONGEST_HOLD_S:
        raise UsageError(f"hold_s must be 0 to {LONGEST_HOLD_S:g} s")
    return s_to_ns(float(str(given)))


def _pose(position: object, rotation: object) -> Pose | None:
    """None (null) for an unknown pose. UsageError or ConfigError for an invalid one."""
    if position is None:
        return None
    x, y, z = _numbers("position", position, 3)
    ax, ay, az, angle = _numbers("rotation", rotation or [0, 0, 1, 0], 4)
    return Pose.from_axis_angle((x, y, z), (ax, ay, az, angle))


def _numbers(what: str, given: object, count: int) -> list[float]:
    if not isinstance(given, list) or [type(n) in (int, float) for n in given] != [True] * count:
        raise UsageError(f"{what} must be {count} numbers")
    try:
        return [float(number) for number in given]
    except OverflowError:
        raise UsageError(f"{what} is out of range") from None
