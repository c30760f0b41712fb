"""The gateways that run on this machine, and requests to them: `Gateway`.

from hilgw.client import Gateway

gateway = Gateway.find()
gateway.send("rover.tx", b"ping")
for event in gateway.events(["packet"]):
    print(event["source"], event["data"])
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from hilgw.client import control_socket
from hilgw.client.connection import (
    NO_ANSWER,
    ask,
    ask_on,
    connected,
    demand_version,
    line_of,
    messages_on,
)
from hilgw.client.control_paths import is_live, live_sockets, program_at
from hilgw.client.control_socket import config_of, find_gateway, in_parallel, label
from hilgw.errors import HilgwError, PeerError, UsageError, printable, quoted
from hilgw.forms import decode, hints_of
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import LOOK, VersionError
from hilgw.protocols.gateway.requests import Request, RobotState, Row, answer_of

ANSWER_S = 5.0  # of a gateway that is selected: no other waits for it
REMOTE_S = 15.0  # a remote module has 10 s
RELEASE_S = 20.0  # motors stop first, and a driver may be slow to close
NOT_CONFIRMED = "stop NOT confirmed"
FIXES = {
    "invalid": "send at least one byte",
    "channel": "use a channel of allowedChannels and of the mapping of the hardware",
    "full": "wait, or increase bufferSize",
    "overflow": "wait, or increase bufferSize",
    "down": "the hardware is down and its queue is full; check the port",
    "too_long": "send less; `hilgw adapters NAME` shows the limit of the hardware",
}
Answer = dict[str, Any] | PeerError
A = TypeVar("A")


class Event(dict[str, Any]):
    """An event, with the keys of `hilgw.events.kinds`. Printed, it is a sentence."""

    def __str__(self) -> str:
        from hilgw.events.kinds import name_of, words  # most commands print no events

        return printable(f"{name_of(self)}: {words(self)}")


class Values(NamedTuple):
    """Values of a sensor.

    times: seconds of the gateway's clock, simulated or not. values: a number for each time, or an
    array of numbers if the sensor has several. units: of each of these.
    """

    times: array[float]
    values: array[float] | list[array[float]]
    units: list[str]


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway, at its control socket.

    label: names it in answers; "" for the only one, or a selected one.

    Each method is one request, on a connection of its own. HilgwError with the reason if the
    gateway refuses; PeerError if it does not answer, or is of another version. `hilgw bridge` and
    `hilgw mock` answer `events`, `values` and `report` alone.
    """

    path: Path
    label: str = ""

    def suffix(self) -> str:
        """Return the end of a line that reports an answer."""
        return f" (gateway {self.label})" if self.label else ""

    # --- which one --------------------------------------------------------------------------------

    @classmethod
    def find(cls, config: str | None = None, control: str | None = None) -> Gateway:
        """Return the only running gateway, or the selected one.

        Args:
          config: the file that it runs: a path, or its name without suffix.
          control: the socket.

        Raises:
          PeerError: there is none.
          UsageError: there are several.
        """
        return cls(find_gateway(control, config))

    @classmethod
    def find_all(cls) -> list[Gateway]:
        """Return all running gateways of this user, from any shell, with their labels.

        Bridges and mocks are left out.
        """
        sockets = live_sockets(everywhere=True)
        return [cls(path, label(path, config_of(path))) for path in sockets]

    # --- requests ---------------------------------------------------------------------------------

    def ask(
        self,
        request: Request[A],
        where: str = "",
        fixes: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = ANSWER_S,
    ) -> A:
        """Return the answer to a request.

        Args:
            request: The request.
            where: The subject of the request, in errors.
            fixes: The fix for each reason of a refusal.
            timeout_s: How long to wait for the answer.
        """
        answer = accepted(ask(self.path, request, timeout_s), self, where, fixes)
        return decoded(answer_of(type(request)), answer, self)

    def send(self, station: str, data: bytes | str, channel: int | None = None) -> None:
        """Queue one packet at an Emitter (rover.tx) or a station; None: on the current channel."""
        data = data.encode() if isinstance(data, str) else bytes(data)
        self.ask(requests.Send(station, data, channel), station, FIXES)

    def set(self, device: str, *, channel: int | None = None, range: float | None = None) -> None:
        """Set the channel of an Emitter or a Receiver, or the range of an Emitter in metres."""
        self.ask(requests.Set(device, channel, range), device)

    def charge(self, robot: str, energy_j: float) -> None:
        """Charge the battery of a robot to this energy."""
        self.ask(requests.Charge(robot, energy_j), robot)

    def place(
        self,
        name: str,
        position: Sequence[float] | None,
        rotation: Sequence[float] | None = None,
    ) -> None:
        """Move an object of the scene.

        `position` is in metres; None: unknown from now on. `rotation` is an axis and an angle in
        rad.
        """
        where = None if position is None else tuple(map(float, position))
        turn = None if rotation is None else tuple(map(float, rotation))
        self.ask(requests.Place(name, where, turn), name)  # type: ignore[arg-type]  # it checks

    def pose(self, name: str) -> tuple[Row, tuple[Row, Row, Row]] | None:
        """Return position and rotation matrix of an object; None if they are unknown."""
        answer = self.ask(requests.Pose(name), name)
        if answer.position is None or answer.rotation is None:
            return None
        return answer.position, answer.rotation

    def command(
        self, station: str, address: str, name: str, value: bytes = b""
    ) -> requests.RemoteValue:
        """Send an AT command through a station to another module of its network; return its answer.

        Without a `value` it reads.
        """
        request = requests.Command(station, address, name, value)
        return self.ask(request, station, timeout_s=REMOTE_S)

    def mode(self, robot: str, mode: str | None = None) -> RobotState:
        """Set the mode of a robot (simulation, remote, shadow); None: only return it."""
        return self.ask(requests.Mode(robot, mode), robot)

    def key(self, robot: str, keys: Sequence[int], hold_s: float = 0.5) -> None:
        """Hold these keys (`hilgw.devices.keys`) down for this long of simulated time."""
        self.ask(requests.Key(robot, list(keys), hold_s), robot)

    def say(self, robot: str, text: str) -> None:
        """Send a text to the controller's wwiReceiveText."""
        self.ask(requests.Say(robot, text), robot)

    def status(self, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """Return the state of ports, robots, clients, memory, losses and latencies.

        `hilgw status --json` prints it.
        """
        return self.ask(requests.Status(), timeout_s=timeout_s).status

    def network(self) -> dict[str, Any]:
        """Return the sum of the ledgers of all gateways of its federation.

        `hilgw status --network --json` prints it.

        Raises:
          HilgwError: the gateway is in no federation.
        """
        return self.ask(requests.Network()).network

    def report(self) -> dict[str, Any]:
        """Return the report so far, which `--report` writes at the end."""
        return self.ask(requests.Report()).report

    def arm(self, *robots: str, accept_positions: Sequence[str] = ()) -> requests.MayMove:
        """Let the motors of these robots move; none: of all whose bodies are up.

        `accept_positions` are motors whose position counts, though their zero was lost.

        Raises:
            PeerError: the real body of one of these robots is down.
        """
        request = requests.Arm(list(robots), not robots, list(accept_positions))
        return self.ask(request, ", ".join(robots))

    def disarm(self, *robots: str) -> list[str]:
        """Stop these robots, or all; their motors do not move until `arm`.

        `hilgw.client.arming.disarm` stops the robots of all gateways.

        Returns:
          The names of the robots.

        Raises:
          PeerError: the stop is not confirmed, or could not be sent.
          HilgwError: a name is unknown; the others are stopped.
        """
        answer = stop_answer(self.path, requests.Disarm(list(robots), not robots), ANSWER_S)
        confirmed = confirmed_by(answer)
        if isinstance(answer, PeerError) or confirmed is None:
            raise not_confirmed(self.path, answer)
        if errors := not_sent(answer, self):
            raise PeerError("; ".join(map(str, errors)))
        accepted(answer, self, "")
        return confirmed

    def record(self, name: str) -> requests.Recorded:
        """Start a recording in the folder of `record:`; its name: 1 to 64 of A-Z a-z 0-9 . _ -."""
        return self.ask(requests.Record(name), name)

    def end_record(self, name: str) -> requests.Recorded:
        """End a recording; its file is complete soon after."""
        return self.ask(requests.EndRecord(name), name)

    def note(self, text: str) -> None:
        """Add a remark, such as "antenna turned", to recordings and logs."""
        self.ask(requests.Note(text))

    @contextmanager
    def released(self, port: str, command: str = "a script") -> Iterator[requests.PortReleased]:
        """Free a port for another program; the end of the `with` block gives it back.

        Args:
          port: of a station (xbee0), a body or a controller (rover.body).
          command: the name of the program, as shown to others.

        Raises:
          SafetyError: the motors on it could not be stopped; the port is not free.
        """
        request = requests.ReleasePort(port, command, os.getpid())
        try:
            connection = connected(self.path, RELEASE_S)
        except OSError:
            raise self._silent() from None
        with connection:
            answer = accepted(ask_on(connection, request, RELEASE_S), self, port)
            yield decoded(requests.PortReleased, answer, self)

    # --- events -----------------------------------------------------------------------------------

    def events(
        self,
        kinds: Iterable[str] = (),
        names: Iterable[str] = (),
        *,
        lost: bool = False,
        states: bool = False,
        per_second: int = requests.RATE,
        seconds: float | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the events from now on, with the keys of `hilgw.events.kinds`.

        Args:
          kinds: their names; none: all.
          names: of robots, devices (ROBOT.DEVICE), stations and other parts; none: all.
          lost: only packets and requests that were lost.
          states: first the newest state of each part, with the times of its origin and the key
              `since_ns`.
          per_second: of packets, deliveries, frames and bytes, about this many of each kind are
              enough; events `left_out` count the rest.
          seconds: of real time, until it ends; else at the end of the gateway.
        """
        request = requests.Watch(list(kinds), list(names), lost, states, per_second)
        try:
            connection = connected(self.path, ANSWER_S)
        except OSError:
            raise self._silent() from None
        with connection:
            try:
                connection.sendall(line_of(request))
                answer = next(messages := messages_on(connection, seconds), None)
            except OSError:
                answer = None
            if answer is None:
                raise self._silent()
            demand_version(answer)
            accepted(answer, self, "watch")
            yield from (Event(event) for event in messages if "event" in event)

    def values(
        self, device: str, *, count: int | None = None, seconds: float | None = None
    ) -> Values:
        """Return the next values of a sensor (rover.gps).

        `numpy.array` takes its times and its values. There are at most `count` values, and those of
        at most `seconds` of real time.
        """
        from hilgw.events.kinds import numbers

        if count is None and seconds is None:
            raise UsageError("no end", fix="give count or seconds")
        times, rows, units = array("d"), [], []
        if count != 0:
            for event in self.events(["value"], [device], seconds=seconds):
                units, readings = event["units"], numbers(event)
                times.append(event["time_ns"] / 1e9)
                rows.append(array("d", [one.value for one in readings]))
                if len(rows) == count:
                    break
        is_scalar = all(len(row) == 1 for row in rows)
        return Values(times, array("d", (row[0] for row in rows)) if is_scalar else rows, units)

    def _silent(self) -> PeerError:
        return PeerError(NO_ANSWER, where=str(self.path), fix="is it still running?")


# --- answers --------------------------------------------------------------------------------------


def accepted(
    answer: dict[str, Any],
    gateway: Gateway,
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the answer.

    Raises:
        HilgwError: The gateway refuses.
    """
    if "error" in answer:
        error = HilgwError(str(answer["error"]), where=gateway.label)
        code = answer.get("exit_code")
        error.exit_code = code if type(code) is int and 0 < code < 256 else 1
        raise error
    if "refused" in answer:
        reason = str(answer["refused"])
        raise HilgwError(
            f"refused: {reason.replace('_', ' ')}",
            where=f"{where}{gateway.suffix()}",
            fix=fixes.get(reason, ""),
        )
    return answer


def decoded(kind: type[A], answer: Mapping[str, Any], gateway: Gateway) -> A:
    """Return the answer as its dataclass, without the keys that every answer has."""
    keys = hints_of(kind)  # type: ignore[arg-type]  # a class is hashable
    try:
        return decode(kind, {key: value for key, value in answer.items() if key in keys})
    except UsageError as error:
        problem = f"the gateway sent an invalid answer: {error.what}"
        raise PeerError(problem, where=str(gateway.path)) from None


def stop_answer(path: Path, request: Request[Any], timeout_s: float) -> Answer:
    """Return the answer to a request that stops robots, of any version; or why there is none."""
    try:
        return ask(path, request, timeout_s, any_version=True)
    except PeerError as error:
        return error


def not_sent(answer: dict[str, Any], gateway: Gateway) -> list[HilgwError]:
    """Return an error for each disarmed robot to whose body no stop could be sent."""
    fix = "stop it by hand if it moves"
    unsent = answer.get("not_sent", {})
    return [
        PeerError(printable(str(text)), where=f"{printable(str(robot))}{gateway.suffix()}", fix=fix)
        for robot, text in (unsent.items() if isinstance(unsent, dict) else ())
    ]


def not_armed(answer: requests.MayMove, gateway: Gateway) -> list[HilgwError]:
    """Return an error for the robots whose bodies are down, if there are any."""
    names = ", ".join(f"{printable(robot)}{gateway.suffix()}" for robot in answer.down)
    error = PeerError("not armed: its body is down", where=names, fix="connect it")
    return [error] if names else []


def confirmed_by(answer: Answer) -> list[str] | None:
    """Return the robots that the gateway stopped; None if its answer does not confirm a stop."""
    if isinstance(answer, PeerError) or not (answer.get("ok") is True or "unknown" in answer):
        return None
    robots = answer.get("robots")
    if not isinstance(robots, list) or not all(isinstance(robot, str) for robot in robots):
        return None
    return robots


def not_confirmed(path: Path, answer: Answer) -> PeerError:
    """Return an error with the gateway, and its process if its configuration is unknown."""
    if not isinstance(answer, PeerError):
        why = printable(str(answer.get("error", "its answer is not valid")))
        return PeerError(f"{NOT_CONFIRMED}: {why}", where=label(path, answer.get("config")))
    if path.is_socket() and not is_live(path):
        why = "this gateway was killed, and left its socket; its robots may move"
        fix = "stop them by hand, and remove the socket"
        return PeerError(f"{NOT_CONFIRMED}: {why}", where=str(path), fix=fix)
    program = program_at(path)
    where = f"{path} ({program})" if program else str(path)
    return PeerError(f"{NOT_CONFIRMED}: {answer.what}", where=where, fix="stop its robots by hand")


# --- the gateway that has a name, where several run on this machine -------------------------------


SELECT = "name one gateway with --config, or with --control"


def gateway_with(
    kind: str, name: str, control: str | None = None, config: str | None = None
) -> Gateway:
    """Find a gateway as `gateways_with` does, for one name."""
    return next(iter(gateways_with(kind, [name], control, config)))


def watched_gateway(
    names: Sequence[str], control: str | None = None, config: str | None = None
) -> Gateway:
    """Return the gateway, or the program that is only watched, that has these names.

    Without names see `find_gateway`.
    """
    if names and control is None and config is None:
        gateways = gateways_with("part", names, look=True)
        if len(gateways) > 1:
            raise UsageError("these names belong to several gateways", fix=SELECT)
        return next(iter(gateways))
    return Gateway(find_gateway(control, config, look=True))


def gateway_of_controller(robot: str, peer: str, control: str | None) -> Gateway:
    """Return the gateway that has this program as the controller of the robot.

    Args:
        robot: The name of the robot.
        peer: This end of its connection, or the path of the local socket.
        control: The first to ask.

    Raises:
        PeerError: no gateway of this user has it, such as one on another machine.
    """
    question = requests.Find("controller", [f"{robot} {peer}"])
    first = [Path(control)] if control else []
    live = list(dict.fromkeys([*first, *live_sockets(everywhere=True)]))
    answers = in_parallel(lambda path: _answer(path, question), live)
    for path, answer in zip(live, answers, strict=True):
        if question.names[0] in answer.get("found", ()):
            return Gateway(path)
    raise PeerError("no gateway of yours on this machine has this program as a controller")


def gateways_with(
    kind: str,
    names: Sequence[str],
    control: str | None = None,
    config: str | None = None,
    *,
    look: bool = False,
) -> dict[Gateway, list[str]]:
    """Return the gateways that have these names, each with its names.

    `kind` is one of `requests.NAMED`. `control` and `config` select one gateway, as in
    `find_gateway`; so does a gateway that is the only one. Such a gateway is not asked: it answers
    the request itself. `look` adds programs that are only watched.

    Raises:
        HilgwError: of several gateways, not exactly one has each name, or one did not answer; no
            request was made.
    """
    selected = control is not None or config is not None
    live = [] if selected else [*live_sockets(), *(live_sockets(LOOK) if look else ())]
    if len(live) < 2:
        only = live[0] if live else find_gateway(control, config)
        return {Gateway(only): list(names)}
    question = requests.Find(kind, list(names))
    answers = dict(zip(live, in_parallel(lambda path: _answer(path, question), live), strict=True))
    gateways = {path: Gateway(path, label(path, answers[path].get("config"))) for path in live}
    names_of: dict[Gateway, list[str]] = {}
    for name in dict.fromkeys(names):
        having = [path for path in live if name in answers[path].get("found", ())]
        silent = [path for path in live if "found" not in answers[path]]
        if len(having) != 1 or silent:
            raise _error(f"{kind} {quoted(name)}", having, silent, answers)
        names_of.setdefault(gateways[having[0]], []).append(name)
    return names_of


def _answer(path: Path, question: requests.Find) -> dict[str, Any]:
    try:
        answer = ask(path, question, control_socket.ASK_ALL_S)
    except VersionError as error:
        return {"why": error.what}
    except PeerError:
        return {}
    if not isinstance(answer.get("found", []), list):
        del answer["found"]
    return answer


def _error(
    subject: str, having: list[Path], silent: list[Path], answers: dict[Path, dict[str, Any]]
) -> HilgwError:
    def listed(paths: list[Path]) -> str:
        return ", ".join(label(path, answers[path].get("config")) for path in paths)

    unasked = f"no answer whether it has the {subject}: {listed(silent)}" if silent else ""
    if len(having) > 1:
        more = f"; {unasked}" if silent else ""
        text = f"several gateways have the {subject}: {listed(having)}{more}; nothing was sent"
        return UsageError(text, fix=SELECT)
    if silent:
        versions = {str(answers[path]["why"]) for path in silent if "why" in answers[path]}
        return PeerError(f"{unasked}; nothing was sent", fix="; ".join([SELECT, *versions]))
    fixes = [f"{listed([path])}: {each.get('fix', '')}" for path, each in answers.items()]
    return HilgwError(f"no running gateway has the {subject}", fix=joined(fixes))


def joined(fixes: Sequence[str]) -> str:
    """Join the answers of gateways to an unknown name; one with a similar name stands alone."""
    return "; ".join([each for each in fixes if "did you mean" in each] or fixes)
