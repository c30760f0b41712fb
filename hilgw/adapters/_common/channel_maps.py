"""The channel map: settings (`by: ...`) of how Webots channels map to a line, or to the addresses
of a module, and their checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hilgw.adapters.declaration import HasTable, Problem
from hilgw.settings import setting

LAST_HEADER = 254


@dataclass(frozen=True, slots=True, kw_only=True)
class OneChannel:
    """All packets are of one Webots channel, `channel`; nothing is added to them."""

    by: Literal["channel"] = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDestination(HasTable):
    """Each Webots channel is one module's address. A packet from an address of the table comes in
    on its channel (the first one listed), a packet from any other address on `channel`. Packets
    on `channel`, when it is not in the table, go to `destination`."""

    by: Literal["destination"] = "destination"
    table: dict[int, str] = setting(
        "Webots channel -> address of the module", default_factory=dict, example={7: "50"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHeader:
    """The first payload byte is the Webots channel, 0 to 254; 255 is -1."""

    by: Literal["header"] = "header"


def check_mapping(mapping: object, channel: int) -> Iterator[Problem]:
    """Problems of the table, or of `channel` in a header byte."""
    if isinstance(mapping, ByDestination):
        if not mapping.table:
            yield "mapping.table", "has no destination", 'add one, such as {7: "50"}'
        for key in mapping.table:
            if key < 0:
                what = f"{key} is not a valid channel"
                yield f"mapping.table.{key}", what, "use 0 or more"
    elif isinstance(mapping, ByHeader) and channel > LAST_HEADER:
        what = f"{channel} does not fit into the header byte"
        yield "channel", what, "use 0 to 254"
