"""The gateway: one medium, the robots and stations on it, and their life from start to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hilgw.adapters.base import RemoteAnswer
from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.guardian import START_NS
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.lines import Lines
from hilgw.engine.neighbour import Federated, Neighbour
from hilgw.engine.observer import Direction, FrameEvent, Observers
from hilgw.engine.recording.event_stream import Newest, placed, state_of
from hilgw.engine.reporting.latency import Latency
from hilgw.engine.reporting.parts import Parts, whole
from hilgw.engine.reporting.statistics import PortHistory
from hilgw.engine.robot.ports import EmitterPort, Robot
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.engine.simulated.pace import Hold, Holds, SimulatedClock, SpeedMeter
from hilgw.engine.station.line import FrameTap, OnFrame
from hilgw.engine.station.station_watch import StationWatches
from hilgw.engine.supervisor import ObservedPort
from hilgw.errors import AdapterError, HilgwError, PeerError, suggest
from hilgw.events.kinds import Armed, Cell, Mode, Port, Stopped
from hilgw.events.wire import link
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import RejectedReason
from hilgw.transports.base import Scheduler
from hilgw.units import ns_to_s, s_to_ns

if TYPE_CHECKING:
    from hilgw.engine.listening import Listening
    from hilgw.engine.mock_host import MockHost
    from hilgw.engine.processes.processes import Child
    from hilgw.engine.scene import Mocap, Scene
    from hilgw.engine.station.station import Station
    from hilgw.record.replay import Replay

STOP_S = 1.5  # the longest wait for ports to close
REPORT_VERSION = 1  # of the form of the report
COMMAND_SOURCE = "command"  # the emitter that counts the packets of `hilgw send`


class Gateway:
    """A gateway, with everything that runs in it.

    `hilgw.assemble.gateway` adds the parts of a configuration.

    timer: the clock of all that it simulates. real_timer: for deadlines of other processes, the
    same clock unless time is simulated. holds: where a synchronized controller holds simulated
    time; without effect in real time. listening: where others connect. description: lines that show
    the configuration. reports: of further parts; replays: of those that are recordings.
    environment: further variables of the programs that it starts. opened: closes what assembly
    has opened, such as virtual ports. paced: the event loop at another speed than real time, whose
    clock is `timer`. guardian_ms: as of `GatewayConfig`.
    """

    def __init__(
        self,
        timer: Timer | SimulatedClock,
        medium: Medium,
        scene: Scene,
        observer: Observers,
        paced: PacedLoop | None = None,
        mocap: Mocap | None = None,
        guardian_ms: int = DEFAULT_GUARDIAN_MS,
    ) -> None:
        self.timer = timer
        self.medium = medium
        self.ledger = medium.ledger
        self.scene = scene
        self.observer = observer
        self.real_timer: Scheduler = timer if paced is None else paced.real_timer
        self.holds = Holds() if paced is None else paced.holds
        self.lines = Lines(observer, timer.now)
        self.lines.report_to(observer)
        self.holds.on_expired = self._hold_expired
        self.control_loops = ControlLoops(
            timer, simulated=isinstance(timer, SimulatedClock), guardian_ms=guardian_ms
        )
        self.device_of = self.control_loops.device_of
        self.robots: dict[str, Robot] = {}
        self.stations: dict[str, Station] = {}
        self._taps_stations = False
        observer.switch("frame", self._tap_stations)
        self.watches = StationWatches(timer, observer)
        self.supervisors: dict[str, ObservedPort] = {}
        self.hosts: list[MockHost] = []
        self.opened = ExitStack()
        self.children: list[Child] = []
        self.mocap = mocap
        self.description: list[str] = []
        self.reports: dict[str, Callable[[], dict[str, Any]]] = {}
        self.listening: list[Listening] = []
        self.environment: dict[str, str] = {}
        self.federation: Federated | None = None
        self.history = PortHistory(self.real_timer, self.counters)
        observer.add(self.history)
        self._newest = Newest(timer.now)
        observer.add(self._newest)
        self._speed = SpeedMeter(paced.speed, timer.now) if paced is not None else None
        self.replays: dict[str, Replay] = {}
        self._stop_event: asyncio.Event | None = None
        self._fatal: list[HilgwError] = []
        self._on_ready: Callable[[], None] | None = None
        self._started_ns: int | None = None

    def _tap_stations(self, report: object) -> None:
        was, self._taps_stations = self._taps_stations, report is not None
        for station in self.stations.values() if was is not self._taps_stations else ():
            if self._taps_stations:
                station.taps.insert(0, FrameTap(self._on_frame_of(station)))
            else:
                del station.taps[0]

    def _on_frame_of(self, station: Station) -> OnFrame:
        def on_frame(direction: Direction, data: bytes) -> None:
            if (report := self.observer.frame) is not None:
                report(FrameEvent(station.name, direction, data, station.session.describe))

        return on_frame

    def _hold_expired(self, hold: Hold) -> None:
        self.observer.notice(
            hold.holder,
            f"no request for {ns_to_s(hold.longest_ns):g} s: simulated time goes on without it",
        )

    def join(self, federation: Federated) -> None:
        """Make this gateway run as one of a federation."""
        self.federation = self.supervisors[federation.name] = federation
        self.reports[federation.name] = federation.summary

    # --- life --------------------------------------------------------------------------------

    async def run(
        self,
        stop: asyncio.Event,
        duration_s: float | None = None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Run until `stop` is set or the duration is over; raise the first fatal error.

        Replays in simulated time last as long as their recordings where there is no duration.

        on_ready: called once, when every port is up but those of unused bodies.
        """
        self._on_ready, self._stop_event = on_ready, stop
        self._started_ns = self.timer.now()
        if self._speed is not None:
            self._speed.start()
        waiting = asyncio.create_task(stop.wait())
        tasks: list[asyncio.Task[None]] = []
        try:
            if self.mocap is not None:
                await self.mocap.start()
            beside = self.control_loops.unused(shadows=True)
            tasks += [
                asyncio.create_task(self._supervise(each, is_needed=name not in beside))
                for name, each in self.supervisors.items()
            ]
            for robot in self.robots.values():
                robot.start()
            self.control_loops.start()
            self.watches.start()
            self.history.start()
            self.check_ready()
            if duration_s is None and self._speed is not None and self.replays:
                duration_s = ns_to_s(max(each.length_ns for each in self.replays.values()))
            if duration_s is not None:
                end_ns = self.timer.now() + s_to_ns(duration_s)
                self.timer.call_at(end_ns, waiting.cancel, is_last=True)
            await asyncio.wait([waiting])
        finally:
            await self._stop([*tasks, waiting])
            if self._speed is not None:
                self._speed.stop()
        if self._fatal:
            raise self._fatal[0]
        self.control_loops.demand_none_latched()
        if duration_s is not None and not stop.is_set():
            self._demand_all_up()

    async def _supervise(self, supervisor: ObservedPort, *, is_needed: bool) -> None:
        """Run one supervisor. An error that ends it ends the gateway without delaying others."""
        try:
            await self.control_loops.await_bodies(limit_ns=START_NS)  # for the guardian alone
            await supervisor.run(self.check_ready, is_needed=is_needed)
        except HilgwError as error:
            self.end(error)
        except Exception as error:  # noqa: BLE001 - every failed task is reported
            self.end(AdapterError(f"fault: {error!r:.200}", where=supervisor.name))

    def end(self, error: HilgwError) -> None:
        """End the run, which raises the first error."""
        self._fatal.append(error)
        if self._stop_event is not None:
            self._stop_event.set()

    async def _stop(self, tasks: list[asyncio.Task[Any]]) -> None:
        for replay in self.replays.values():
            replay.end()
        await self.control_loops.stop_motors()
        self.watches.stop()
        self.history.close()
        for station in self.stations.values():
            station.end()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S)
        # Their connections have ended: a controller that waits for a step is on its way out.
        # Simulated time stands still, so that nothing else goes on meanwhile.
        hold = self.holds.hold("the end of the programs")
        ends = [child.stop() for child in self.children]
        ends += [end for host in self.hosts for end in host.ends()]
        await asyncio.gather(*ends)
        hold.release()
        self.control_loops.close()
        for robot in self.robots.values():
            robot.close()
        for station in self.stations.values():
            station.close()
        self.scene.close()
        if self.mocap is not None:
            self.mocap.close()
        self.opened.close()

    def _demand_all_up(self) -> None:
        for supervisor in self.required():
            if not supervisor.was_up:
                raise supervisor.last_error or PeerError("was never up", where=supervisor.name)

    def check_ready(self) -> None:
        """Call `on_ready`, once, when every port is up but those of unused bodies."""
        if self._on_ready is None:
            return
        if all(each.ready for each in self.required()):
            on_ready, self._on_ready = self._on_ready, None
            on_ready()

    def close(self) -> None:
        """Close what assembly has opened, and the timer: after `run` has ended, or without it."""
        self.opened.close()
        self.timer.close()

    def states(self) -> Iterator[Cell]:
        """Yield the present states, as the events that have led to them.

        Each has the time of its origin.

        The order: ports, robots, other gateways and poses, then the devices of each robot. Each is
        made when it is asked for.
        """
        since, now = self._newest.since, self.timer.now()
        for name, port in list(self.supervisors.items()):
            yield since(Port(name, str(port.state), str(port.reason)))
        for name in self.control_loops:
            loop = self.control_loops[name]
            yield since(Armed(name, loop.safety.state.armed, ""))
            if len(loop.modes.states()) > 1:
                yield since(Mode(name, str(loop.modes.mode)))
        yield from [each for each in self._newest.known.values() if type(each) is Stopped]
        if self.federation is not None:
            gateways = self.federation.status()["gateways"]
            links = (link(each.name, gateways[each.member]) for each in self.neighbours())
            yield from (replace(each, since_ns=now) for each in links)
        for name in self.scene.objects:
            yield replace(placed(name, self.scene.pose_of(name)), since_ns=now)
        for name in self.control_loops:
            for event in self.control_loops[name].newest():
                made = state_of(event, self.device_of(name, event.device))
                yield replace(made, since_ns=event.now)

    # --- traffic -----------------------------------------------------------------------------

    def send(self, station: str, data: bytes, channel: int | None) -> str | None:
        """Send a packet of the user through a robot's Emitter or a hardware station.

        Returns None when it was queued, else the reason. Raises HilgwError for an unknown name.
        """
        robot, _, device = station.partition(".")
        if robot in self.robots and device in self.robots[robot].emitters:
            return self.robots[robot].emitters[device].send(data, channel)
        if station not in self.stations:
            raise HilgwError(f"no station {station!r} here", fix=suggest(station, self.sendable()))
        return self._send_through(self.stations[station], data, channel)

    def sendable(self) -> list[str]:
        """Return the names `send` takes."""
        devices = [f"{name}.{d}" for name, robot in self.robots.items() for d in robot.emitters]
        return [*devices, *self.stations]

    def _send_through(self, station: Station, data: bytes, channel: int | None) -> str | None:
        count = self.ledger.emitter(COMMAND_SOURCE)
        if not data:
            count.offer(RejectedReason.INVALID)
            return RejectedReason.INVALID
        count.offer(None)
        count.depart()
        packet = Packet(
            data=data,
            channel=station.common.channel if channel is None else channel,
            type=station.listener.type,
            source=COMMAND_SOURCE,
            sent_ns=self.timer.now(),
        )
        refused = self.ledger.station(station.name).refused
        before = refused.copy()
        return self.medium.send_to(packet, station.name) or next(iter(refused - before), None)

    def place(self, name: str, pose: Pose | None) -> None:
        """Set the pose of a robot, a module or an obstacle from now on; None: it is unknown.

        Raises HilgwError for a name that is not an object of the scene.
        """
        if self.scene.place(name, pose):
            self.observer.notice(name, "its pose is set from now on; its motion ends")

    def set(
        self, device: str, channel: int | None = None, range: float | None = None
    ) -> str | None:
        """Set channel or range of a robot's device; return None when it was set, else the reason.

        Raises HilgwError for an unknown name, or a Receiver's range.
        """
        robot, _, name = device.partition(".")
        port = self.robots[robot].device(name) if robot in self.robots else None
        if port is None:
            raise HilgwError(f"no device {device!r} here", fix=suggest(device, self.settable()))
        if range is not None:
            if not isinstance(port, EmitterPort):
                raise HilgwError("a Receiver has no range", where=device)
            if not port.setRange(range):
                return "range"
        return "channel" if channel is not None and not port.setChannel(channel) else None

    def settable(self) -> list[str]:
        """Return the names `set` takes."""
        return [f"{name}.{d}" for name, robot in self.robots.items() for d in robot.devices()]

    def names(self, kind: str) -> Iterable[str]:
        """Return the names of one kind of thing that requests take; none of an unknown kind."""
        match kind:
            case "robot":
                return self.control_loops
            case "station":
                return self.sendable()
            case "device":
                return self.settable()
            case "hardware station":
                return self.stations
            case "object":
                return self.scene.objects
            case "port":
                return self.supervisors
            case "controller":
                peers = {name: each.peer for name, each in self.supervisors.items() if each.peer}
                return [f"{name.partition('.')[0]} {peer}" for name, peer in peers.items()]
            case "part":
                return self._parts()
        return ()

    def _parts(self) -> Iterable[str]:
        loops = self.control_loops
        yield from (*self.robots, *loops, *self.sendable(), *self.settable(), *self.scene.objects)
        yield from (f"{robot}.{name}" for robot in loops for name in [*loops[robot].devices()])
        yield from (*self.supervisors, *(child.name for child in self.children))
        yield from (COMMAND_SOURCE, "mocap", "estop")
        if self.federation is not None:
            yield from self.federation.parts()

    def pose_of(self, name: str) -> Pose | None:
        """Return the pose of an object; None: it is unknown.

        HilgwError for a name that is none here.
        """
        if name not in self.robots and name not in self.scene.objects:
            raise HilgwError(f"no object {name!r} here", fix=suggest(name, self.scene.objects))
        return self.scene.pose_of(name)

    async def command(self, station: str, address: str, name: str, value: bytes) -> RemoteAnswer:
        """Send an AT command to another module of a station's network; return its answer.

        address: 16 or 4 hexadecimal digits. HilgwError for a station that has no such commands,
        or is not up.
        """
        if station not in self.stations:
            raise HilgwError(
                f"no station {station!r} with hardware here", fix=suggest(station, self.stations)
            )
        answered: asyncio.Future[RemoteAnswer] = asyncio.get_running_loop().create_future()

        def answer(event: RemoteAnswer) -> None:
            if not answered.done():
                answered.set_result(event)

        self.stations[station].command(address.upper(), name, value, answer)
        return await answered

    # --- what happened -----------------------------------------------------------------------

    def required(self) -> list[ObservedPort]:
        """Return the ports that the gateway needs.

        All but those of unused bodies and of other gateways.
        """
        beside = {*self.control_loops.unused(shadows=False), *(e.name for e in self.neighbours())}
        return [each for name, each in self.supervisors.items() if name not in beside]

    def neighbours(self) -> list[Neighbour]:
        """Return the other gateways of the federation."""
        return [each for each in self.supervisors.values() if isinstance(each, Neighbour)]

    def counters(self) -> dict[str, tuple[int, ...]]:
        """Return the bytes and packets of each port: received, sent, received, sent.

        The packets of a body are its values and commands, those of a controller its commands and
        values.
        """
        packets = {
            name: (count.inbound - count.dropped.total(), count.delivered)
            for name, count in ((n, each.statistics.count) for n, each in self.stations.items())
        }
        for robot in self.control_loops:
            packets |= self.control_loops[robot].messages()
        if self.federation is not None:
            packets |= self.federation.packets()
        return {
            name: (port.passed.received, port.passed.sent, *packets.get(name, (0, 0)))
            for name, port in self.supervisors.items()
        }

    def hops(self) -> dict[str, dict[str, Latency]]:
        """Return the latency of each hop, by what counts it; docs/status.md defines them."""
        robots, stations, loops = self.robots.values(), self.stations.items(), self.control_loops
        return {
            "emitter": {e.name: e.latency for each in robots for e in each.emitters.values()},
            "line": {name: each.statistics.line for name, each in stations},
            "module": {name: each.statistics.module for name, each in stations},
            "air": {name: each.statistics.air for name, each in stations},
            "receiver": {r.name: r.latency for each in robots for r in each.receivers.values()},
            "controller": {name: loops[name].statistics.latency for name in loops},
            "link": {each.member: each.latency for each in self.neighbours()},
        }

    def report(self) -> dict[str, Any]:
        """Return the statistics of the run, for `--report`: plain JSON types, no NaN.

        Those of a replay lack the speed, which is the machine's: the same run has the same report.
        """
        return whole(self.report_parts().items())

    def report_parts(self) -> dict[str, Any]:
        """Return the same, with `Parts`. All that the ledger counts is of one instant."""
        now, violations, counts = self.timer.now(), self.ledger.violations(), self.ledger.as_dict()
        begin = now if self._started_ns is None else self._started_ns
        for name, station in self.stations.items():
            count = counts["stations"][name]
            if count["delivered"] != count["accepted"]:
                count["left_from"] = dict(station.statistics.left)
        replays, loops = {n: e.report() for n, e in self.replays.items()}, self.control_loops
        return {
            "version": REPORT_VERSION,
            "duration_s": round(ns_to_s(now - begin), 3),
            **({"speed": self._speed.report()} if self._speed and not self.replays else {}),
            **counts,
            "ledger": {"adds_up": not violations, "violations": violations},
            "latency": self._latencies(),
            "ports": ((name, each.report()) for name, each in list(self.supervisors.items())),
            "robots": ((name, robot.summary()) for name, robot in self.robots.items()),
            "control_loops": ((name, iter(loops[name].report_parts().items())) for name in loops),
            **({"mocap": self.mocap.report()} if self.mocap is not None else {}),
            **({"replays": replays} if replays else {}),
            **{name: report() for name, report in self.reports.items()},
        }

    def _latencies(self) -> Parts:
        for robot in self.robots.values():
            for emitter in robot.emitters.values():
                yield emitter.name, {"hop": "queued", **emitter.latency.as_dict()}
            for receiver in robot.receivers.values():
                yield receiver.name, {"hop": "sampled", **receiver.latency.as_dict()}
        for name, station in self.stations.items():
            yield name, {"hop": "sent", **station.statistics.latency.as_dict()}
