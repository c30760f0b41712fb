"""The numbers of events: the one place that joins values with their fields, units and limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Event = Mapping[str, Any]
COMMANDED, REFUSED, APPLIED = "commanded", "refused", "applied"
MOTIONS = ("position", "velocity", "force", "torque")


class Number(NamedTuple):
    """field: as Webots spells it: x, y, z of a vector, a setting of a motor. value: NaN for what is
    not a number. role: of a setting: COMMANDED, REFUSED or APPLIED. limits: the lowest and the
    highest value, where both are set."""

    field: str
    value: float
    unit: str = ""
    role: str = ""
    limits: Sequence[float] | None = None

    @property
    def name(self) -> str:
        """Its name among all numbers of the event."""
        return self.field if self.role in ("", COMMANDED) else f"{self.field} {self.role}"

    @property
    def title(self) -> str:
        """Its name with its unit, such as "x (m)"."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def number(value: object) -> float:
    """Return a number as events have it: some are texts. NaN for what is not a number."""
    try:
        return float(value)  # type: ignore[arg-type]  # that is what it finds out
    except (TypeError, ValueError, OverflowError):
        return math.nan


def of_value(event: Event) -> list[Number]:
    """Return the numbers of a sensor; those without a field have their place as its name."""
    given, fields, units = event["value"], event["fields"], event["units"]
    values = given if isinstance(given, list) else [given]
    names = [*fields, *(f"[{place}]" for place in range(len(fields), len(values)))]
    units = [*units, *[""] * len(values)]
    return [
        Number(name, number(one), unit)
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


def motion(numbers: Iterable[Number]) -> list[Number]:
    """Return the number of a command that a motor moves by, then what was applied of it. A position
    of infinity only selects velocity control."""
    settings = list(numbers)
    given = [one for one in settings if one.role != APPLIED]
    moves = [one for field in MOTIONS for one in given if one.field == field]
    main = [*(one for one in moves if one.value != math.inf), *given][:1]
    return [one for one in settings if one.field in [each.field for each in main]]


def of_packet(event: Event) -> list[Number]:
    """Return the signal strength of a packet, where a module reports it."""
    rssi_dbm = event["rssi_dbm"]
    return [] if rssi_dbm is None else [Number("RSSI", rssi_dbm, "dBm")]


def of_pose(event: Event) -> list[Number]:
    """Return the position of an object."""
    position = event["position"] or [math.nan] * 3
    return [Number(axis, one, "m") for axis, one in zip("xyz", position, strict=False)]


def of_link(event: Event) -> list[Number]:
    """Return the latencies of another gateway that is up. The way of a query is half of its round
    trip, where no packet went."""
    one_way, trip = event["p50_ms"], event["round_trip_ms"]
    if one_way is None and trip is not None:
        one_way = trip / 2
    known = {"one way": one_way, "one way p99": event["p99_ms"], "round trip": trip}
    known = known if event["state"] == "up" else {}
    return [Number(name, ms, "ms") for name, ms in known.items() if ms is not None]
