"""Rules for resets, pulled cables, and traffic without end, in simulated time."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from hilgw.adapters.base import Delivered, Event, Refused, Transmission
from hilgw.testing.conformance.broken_rule import require, shown
from hilgw.testing.conformance.codec_rules import CodecRules
from hilgw.testing.conformance.payload_rules import PayloadRules
from hilgw.testing.conformance.simulation import Simulation, guarded
from hilgw.testing.conformance.subject import Vector

FRAMES = 10_000
SETTLED_FRAMES = 2_000  # by then every bounded buffer is full
SLACK = 16 * 1024  # bytes; what grows with each frame is beyond it many times
GAP_NS = 2_000_000  # between frames
TRIES = 5  # packets, until one passes again after trouble
BREAK_S = 1.0
_NOT_ITS_OWN = (type, ModuleType, BuiltinFunctionType, CodeType)


class TroubleRules(CodecRules, PayloadRules):
    """After trouble the next packets pass; nothing grows."""

    def test_reset_in_mid_frame(self) -> None:
        """The hardware restarts while it sends, and while it is being sent to."""
        self._recovers("reset in mid-frame", self._reset_while_it_sends)
        self._recovers("reset in mid-frame", self._reset_while_it_hears)

    def test_port_lost_in_mid_frame(self) -> None:
        """The cable is pulled, or the port opened anew, in the middle of frames."""
        self._recovers("port lost in mid-frame", self._pull_the_cable)
        self._recovers("port lost in mid-frame", self._open_anew)

    def _reset_while_it_sends(self, world: Simulation) -> None:
        near, clock = world.near, world.clock
        resets: list[int] = []
        half = False

        def reset() -> None:
            resets.append(clock.time)
            world.host.reset(near.mock)

        def cut(data: bytes) -> bytes:
            nonlocal half
            if half or len(data) < 2:
                return data if resets or not half else b""
            half = True
            clock.call_at(clock.time, reset)
            return data[: len(data) // 2]

        near.port.cut = cut
        self._traffic(world)
        world.run_until(lambda: resets, self.arrival_s)

    def _reset_while_it_hears(self, world: Simulation) -> None:
        near = world.near
        written = len(near.port.written)
        self._traffic(world)
        world.run_until(lambda: len(near.port.written) > written, self.arrival_s)
        near.port.clear()  # of the frame on the line some bytes have arrived
        some = bytes(near.port.written[written : written + 3])
        guarded(lambda: near.mock.receive(some, world.clock.time))
        guarded(lambda: world.host.reset(near.mock))

    def _pull_the_cable(self, world: Simulation) -> None:
        self._traffic(world)
        world.run(self._some_bytes_s())
        world.host.unplug(world.near.mock)
        world.run(BREAK_S)
        world.host.plug(world.near.mock)

    def _open_anew(self, world: Simulation) -> None:
        self._traffic(world)
        world.run(self._some_bytes_s())
        world.near.open()

    def _some_bytes_s(self) -> float:
        common = self._common()
        return 10 * self._usual_size() / 2 / common.baudRate

    def _traffic(self, world: Simulation) -> None:
        for data in self._numbered(4):
            world.near.send(data)
            if world.far is not world.near:
                world.far.send(data)

    def _recovers(self, rule: str, trouble: Callable[[Simulation], None]) -> None:
        world = self._pair()
        trouble(world)
        world.near.port.cut = None
        where = trouble.__name__.strip("_").replace("_", " ")
        at_rest = world.run_until(
            lambda: world.near.station.ready and world.near.station.queued == 0,
            max(self.ready_s, self.arrival_s) * 2,
        )
        require(
            at_rest,
            rule,
            f"the station is {'' if world.near.station.ready else 'not '}ready, with "
            f"{world.near.station.queued} packets under way",
            "ready again, with every packet delivered or refused",
            f"after:  {where}",
        )
        world.run(1)
        came: list[bytes] = []
        for data in self._numbered(TRIES):
            came = [packet.data for packet in world.pass_on(data)]
            if came == [data]:
                break
        else:
            require(False, rule, f"heard {shown(came)}", shown([data]), f"after:  {where}")
        short = world.near.count.violations()
        require(not short, rule, f"ledger: {short}", "each packet counted", f"after:  {where}")

    # --- memory -----------------------------------------------------------------------------------

    def test_buffers_are_bounded(self) -> None:
        """10,000 frames good, cut or never answered, and as much noise: nothing grows."""
        frames = [wire for wire, _ in self._heard()]
        noise = random.Random(1)
        streams: dict[str, Iterator[bytes]] = {
            "good frames": cycle(frames),
            "frames that are cut": cycle([frame[: len(frame) * 2 // 3] for frame in frames]),
            "noise": iter(lambda: noise.randbytes(32), b""),
            "packets to send": cycle([b""]),
        }
        for name, stream in streams.items():
            self._stays_small(name, stream)

    def _stays_small(self, name: str, stream: Iterator[bytes]) -> None:
        watched, now = self._ready_session()
        session = watched.inner  # the watch would cost more than what it watches
        packets = [self._packet(Vector(data=data)) for data in self._numbered(16)]
        settled = under_way = 0
        for number in range(FRAMES):
            events: list[Event] = []
            data = next(stream)
            if data:
                events += session.receive(data, now)
            elif under_way < watched.window:
                answer = session.send(packets[number % len(packets)], now)
                under_way += isinstance(answer, Transmission) and answer.token is not None
            now += GAP_NS
            due = session.next_deadline()
            if due is not None and due <= now:
                events += session.expire(now)
            under_way -= sum(isinstance(event, Delivered | Refused) for event in events)
            if number == SETTLED_FRAMES:
                settled = size_of(session)
        grown = size_of(session) - settled
        require(
            grown <= SLACK,
            "buffers are bounded",
            f"the session grew by {grown} B in {FRAMES - SETTLED_FRAMES} frames ({name})",
            f"no growth once {SETTLED_FRAMES} frames have passed ({SLACK} B are let go)",
        )


def size_of(root: Any) -> int:
    """Bytes of `root` and of everything reached from it; classes, modules and code left out."""
    seen: set[int] = set()
    waiting = [root]
    total = 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _NOT_ITS_OWN):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, FunctionType):
            waiting += item.__closure__ or ()
        else:
            waiting += gc.get_referents(item)
    return total
