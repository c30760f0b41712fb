"""Who is behind a source address: however it is written."""

from __future__ import annotations

import pytest

from hilgw.adapters.base import Received, StationSettings
from hilgw.engine.observer import Observer
from hilgw.engine.station.receive_filter import ReceiveFilter
from hilgw.engine.statistics import StationStatistics
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.packet import Packet


@pytest.mark.parametrize(
    "written", ["0013A20040A1B2C3", "00:13:a2:00:40:a1:b2:c3", "0013a200-40a1b2c3"]
)
@pytest.mark.parametrize(
    "heard", ["0013A20040A1B2C3", "0013a20040a1b2c3", None, "0013A20040A1B2C4"]
)
def test_sources_are_looked_up_in_one_spelling(written: str, heard: str | None) -> None:
    packets: list[Packet] = []
    receive_filter = ReceiveFilter(
        "xb",
        "radio",
        "lab",
        StationSettings(port="fake", sources={written: "rover"}),
        airs=Airs(),
        statistics=StationStatistics("xb", Ledger().station("xb"), Observer()),
        transmit=packets.append,
    )
    receive_filter.receive(Received(b"x", 5, address=heard), 1)
    known = heard is not None and heard.upper().endswith("C3")
    assert [packet.owner for packet in packets] == ["rover" if known else None]
