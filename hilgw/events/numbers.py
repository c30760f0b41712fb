"""The numbers of events: the one place that joins values with their fields, units and limits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Event = Mapping[str, Any]
COMMANDED, REFUSED, APPLIED, MEASURED = "commanded", "refused", "applied", "measured"
FORCES = ("force", "torque")
MOTIONS = ("position", "velocity", *FORCES)


class Number(NamedTuple):
    """A number of an event.

    field: as Webots spells it: x, y, z of a vector, a setting of a motor. value: NaN if it is not a
    number. role: of a setting: COMMANDED, REFUSED or APPLIED; MEASURED: the value of a motor, which
    has the field of a setting. limits: the lowest and the highest value, if both are set.
    """

    field: str
    value: float
    unit: str = ""
    role: str = ""
    limits: Sequence[float] | None = None

    @property
    def name(self) -> str:
        """The name among all numbers of the event."""
        return self.field if self.role in ("", COMMANDED) else f"{self.field} {self.role}"

    @property
    def title(self) -> str:
        """The name with its unit, such as "x (m)"."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def number(value: object) -> float:
    """Return a number as in events, where some are texts.

    NaN for other values.
    """
    try:
        return float(value)  # type: ignore[arg-type]  # that is what it finds out
    except (TypeError, ValueError, OverflowError):
        return math.nan


def of_value(event: Event) -> list[Number]:
    """Return the numbers of a sensor; those without a field have their index as their name."""
    given, fields, units = event["value"], event["fields"], event["units"]
    values = given if isinstance(given, list) else [given]
    names = [*fields, *(f"[{place}]" for place in range(len(fields), len(values)))]
    units = [*units, *[""] * len(values)]
    return [
        Number(name, number(one), unit, MEASURED if name in MOTIONS else "")
        for name, one, unit in zip(names, values, units, strict=False)
    ]


def of_command(event: Event) -> list[Number]:
    """Return the settings of a motor that were given, then those that its body was sent last."""
    role = REFUSED if event["outcome"] == "refused" else COMMANDED
    return [
        Number(field, number(one), event["units"].get(field, ""), part, event["limits"].get(field))
        for part, settings in ((role, event["given"]), (APPLIED, event["applied"]))
        for field, one in settings.items()
    ]


def mode_of(event: Event) -> str:
    """Return the setting that a motor follows from its newest command on.

    This is a force or a torque, the target position, or else its velocity; of another device, its
    first setting. A position of infinity only selects velocity control; a command that was refused
    changes nothing of a motor that was sent one.
    """
    given = {} if event["outcome"] == "refused" and event["applied"] else event["given"]
    known = {**event["applied"], **given}
    moves = [each for each in FORCES if each in given]
    moves += [each for each in MOTIONS if known.get(each, "inf") != "inf"]
    return next(iter([*moves, *(each for each in known if each not in MOTIONS)]), "velocity")


def motion(event: Event) -> list[Number]:
    """Return the number of a command that moves a motor, even if refused, and its applied value."""
    given, field = event["given"], mode_of({**event, "outcome": "", "applied": {}})
    field = field if field in given else next(iter(given), "")
    return [one for one in of_command(event) if one.field == field]


def of_packet(event: Event) -> list[Number]:
    """Return the signal strength of a packet, if a module reports it."""
    rssi_dbm = event["rssi_dbm"]
    return [] if rssi_dbm is None else [Number("RSSI", rssi_dbm, "dBm")]


def of_pose(event: Event) -> list[Number]:
    """Return the position of an object."""
    position = event["position"] or [math.nan] * 3
    return [Number(axis, one, "m") for axis, one in zip("xyz", position, strict=False)]


def of_link(event: Event) -> list[Number]:
    """Return the latencies of another gateway that is up.

    Without packets it is half of the round trip of a query.
    """
    one_way, trip = event["p50_ms"], event["round_trip_ms"]
    if one_way is None and trip is not None:
        one_way = trip / 2
    known = {"one way": one_way, "one way p99": event["p99_ms"], "round trip": trip}
    known = known if event["state"] == "up" else {}
    return [Number(name, ms, "ms") for name, ms in known.items() if ms is not None]
