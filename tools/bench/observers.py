#!/usr/bin/env python3
"""The cost of the stream of events: of a packet, by the kinds that an observer takes.

A packet is sent by a robot in motion and received by another robot, on the fake clock. The rows of
single events show what the place of an event costs where it happens: the test for an observer, and
the event with one that ignores it. Rows take turns; figures are medians over the rounds, the ratio
is that to the first row of its part. Exit 1 when a limit is missed.

    python3 tools/bench/observers.py [--rounds 15]
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from hilgw.control.events import Accepted, MotorCommand
from hilgw.devices.fields import ReceiverFields
from hilgw.devices.radios import Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.observer import (
    KINDS,
    CommandEvent,
    Direction,
    LineEvent,
    Observer,
    Observers,
    ValueEvent,
)
from hilgw.engine.robot.ports import ReceiverPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.motion import Circle
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.units import NS_PER_MS

PACKETS = 300
EVENTS = 20_000


class Taking(Observer):
    """Takes every kind, and does nothing."""

    def ignore(self, *event: object) -> None:
        return

    transmitted = motor_command = sensor_value = line_bytes = frame = ignore
    pose_change = mode = state = delivered = refused = notice = output = stopped = armed = (
        control_loop
    ) = ignore


@dataclass(frozen=True)
class Row:
    """kinds: what the observer takes. once: makes this many of what is measured."""

    name: str
    kinds: tuple[str, ...]
    make: Callable[[Observers], Callable[[], object]]
    repeats: int
    limit: float | None = None


def packets(observers: Observers) -> Callable[[], object]:
    """Send one packet from a robot in motion; another robot reads it."""
    clock, ledger = SimulatedClock(), Ledger()
    medium = Medium(ledger, observer=observers)
    schedule = Schedule(clock, StepClock(clock.now()))
    scene = Scene(medium, clock, 2, schedule, observers)
    scene.add("a", Circle(center=(0.0, 0.0, 0.0), radius=1.0))
    scene.add("b", Pose((1.0, 0.0, 0.0)))
    receiver: Receiver[Copy] = Receiver(ReceiverFields())
    receiver.enable(1, clock.now())

    def read(port: ReceiverPort) -> None:
        while port.next_packet() is not None:
            pass

    ReceiverPort("rx", receiver, Mount("b"), schedule, medium, read, observers)
    mount = Mount("a")

    def send() -> None:
        now = clock.now()
        scene.transmit(Packet(b"x" * 16, 0, "radio", "a.tx", "a", sent_ns=now), mount)
        end = now + 2 * NS_PER_MS
        while clock.step(end):
            pass

    return send


def command(observers: Observers) -> Callable[[], object]:
    given = MotorCommand(1, "velocity", 1.0)

    def report() -> None:
        if (report := observers.motor_command) is not None:
            report(CommandEvent("rover", "", "left", given, Accepted.SENT, {}, 1))

    return report


def value(observers: Observers) -> Callable[[], object]:
    def report() -> None:
        if (report := observers.sensor_value) is not None:
            report(ValueEvent("rover", "distance", 0.5, 1))

    return report


def line(observers: Observers) -> Callable[[], object]:
    data = bytes(16)

    def report() -> None:
        if (report := observers.line_bytes) is not None:
            report(LineEvent("xb", Direction.SENT, data, 1))

    return report


ROWS = (
    Row("packet, no observer", (), packets, PACKETS),
    Row("packet, transmitted", ("transmitted",), packets, PACKETS, 1.5),
    Row("packet, delivered", ("delivered",), packets, PACKETS, 1.5),
    Row("packet, changes of pose", ("pose_change",), packets, PACKETS, 1.5),
    Row("packet, all kinds", KINDS, packets, PACKETS, 2.0),
    Row("motor command, no observer", (), command, EVENTS),
    Row("motor command, one", ("motor_command",), command, EVENTS),
    Row("sensor value, no observer", (), value, EVENTS),
    Row("sensor value, one", ("sensor_value",), value, EVENTS),
    Row("bytes of a line, no observer", (), line, EVENTS),
    Row("bytes of a line, one", ("line_bytes",), line, EVENTS),
)


def measured(rounds: int) -> list[list[float]]:
    """Return the cost of each row in each round, in seconds."""
    made = []
    for row in ROWS:
        observers = Observers()
        if row.kinds:
            observers.add(Taking(), row.kinds)
        made.append(row.make(observers))
        made[-1]()
    costs: list[list[float]] = [[] for _ in ROWS]
    for _ in range(rounds):
        for row, once, cost in zip(ROWS, made, costs, strict=True):
            begin = time.perf_counter()
            for _ in range(row.repeats):
                once()
            cost.append((time.perf_counter() - begin) / row.repeats)
    return costs


def main() -> int:
    """Measure and print the table; return 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    costs = measured(parser.parse_args().rounds)
    missed, first = 0, costs[0]
    print(f"{'':32}{'µs':>9}{'ratio':>8}{'limit':>8}")
    for row, cost in zip(ROWS, costs, strict=True):
        first = first if row.kinds else cost
        ratio = statistics.median(a / b for a, b in zip(cost, first, strict=True))
        limit = "" if row.limit is None else f"{row.limit:g}"
        fails = row.limit is not None and ratio > row.limit
        missed += fails
        print(
            f"{row.name:32}{statistics.median(cost) * 1e6:9.3f}{ratio:8.2f}{limit:>8}"
            f"{'  missed' if fails else ''}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
