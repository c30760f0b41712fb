"""The newest of each cell of a gateway: a fold of its events, live or of a recording. Pure."""

import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hilgw.events.kinds import NAMED, name_of, row_of
from hilgw.events.numbers import APPLIED

Event = dict[str, Any]
K = TypeVar("K")
MOST_NAMES = 4096


class Newest(dict[K, Event]):
    """The newest event of each name; of too many names, those that came first."""

    def put(self, name: K, event: Event) -> bool:
        """Keep the event; return False if there are too many names."""
        if name not in self and len(self) >= MOST_NAMES:
            return False
        self[name] = event
        return True


@dataclass(slots=True)
class Cells:
    """Newest events of a gateway, by kind and name.

    newest: the events of the kinds of NAMED; a refused command has `accepted_ns`, the time of the
    last one that was not refused. ranges: the smallest and largest value of each device with a
    single number, by kind and name. lost_ns: the last time at which each port was reported in
    another state than up.
    """

    newest: dict[str, Newest[str]] = field(
        default_factory=lambda: {kind: Newest() for kind in NAMED}, kw_only=True
    )
    ranges: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict, kw_only=True)
    lost_ns: dict[str, int] = field(default_factory=dict, kw_only=True)

    def fold(self, event: Event) -> bool:
        """Take an event; return True if it is later than the one stored under its name."""
        kind, name = event["event"], name_of(event)
        if kind not in NAMED:
            return True
        known = self.newest[kind].get(name)
        if event.get("outcome") == "refused":  # the command before it is still in force
            before = known or {"mono_ns": 0}
            event = {**event, "accepted_ns": before.get("accepted_ns", before["mono_ns"])}
        is_kept = self.newest[kind].put(name, event)
        if is_kept and kind == "port" and event["state"] != "up":
            self.lost_ns[name] = event["mono_ns"]
        values = [one.value for one in row_of(event) if one.role != APPLIED]
        if is_kept and len(values) == 1 and math.isfinite(value := values[0]):
            low, high = self.ranges.get((kind, name), (value, value))
            self.ranges[kind, name] = min(low, value), max(high, value)
        is_new = event.get("since_ns") is None
        return is_new or known is None or bool(known["mono_ns"] < event["mono_ns"])

    def port_of(self, event: Event) -> str:
        """Return the port of the body that an event of a device is about."""
        robot, _, body = event["robot"].partition(".")
        is_remote = self.newest["mode"].get(robot, {}).get("mode") == "remote"
        return f"{robot}.{event.get('body') or body or ('remote' if is_remote else 'body')}"

    def is_lost(self, event: Event) -> bool:
        """Return True if the body or port of the event was lost after it."""
        port = self.port_of(event) if "robot" in event else name_of(event)
        return bool(event["mono_ns"] <= self.lost_ns.get(port, -1))

    def stop_of(self, event: Event) -> Event | None:
        """Return the stop of its body after the last command to a motor that was not refused."""
        stop = self.newest["stopped"].get(self.port_of(event).removesuffix(".body"))
        accepted_ns = event.get("accepted_ns", event["mono_ns"])
        return stop if stop is not None and stop["mono_ns"] >= accepted_ns else None
