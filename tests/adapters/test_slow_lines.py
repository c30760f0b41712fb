"""At 300 and 1200 baud: each kind of hardware with such a rate carries its longest packets."""

from __future__ import annotations

from typing import Any

import pytest

from hilgw import plugins
from hilgw.adapters.base import Notice
from hilgw.testing.conformance.simulation import Simulation
from hilgw.testing.conformance.subject import Subject
from tests.adapters import test_uart_conformance as uart
from tests.adapters.hc12 import test_hc12 as hc12
from tests.adapters.rylr998 import test_rylr998 as rylr998
from tests.adapters.text import test_text as text
from tests.adapters.xbee import test_conformance as xbee

SLOW = 300, 1200
SUBJECTS: list[type[Subject]] = [
    *(uart.TestCobs, uart.TestSlip, uart.TestHdlc, uart.TestLength, uart.TestLines, uart.TestGap),
    *(hc12.TestHc12, rylr998.TestRylr998, text.TestRn2483, text.TestAtRadio),
    *(xbee.TestApi1, xbee.TestApi2, xbee.TestChannelHeader),
]
CASES = [
    (subject, rate)
    for subject in SUBJECTS
    for rate in SLOW
    if rate in subject.adapter.limits.rates
    and not subject.adapter.check(
        subject().adapter_settings(), subject().station_settings(baudRate=rate)
    )
]


def test_every_kind_with_such_a_rate_is_tried() -> None:
    slow = {
        kind
        for kind in plugins.own(plugins.ADAPTERS)
        if {*SLOW} & {*plugins.load(plugins.ADAPTERS, kind).limits.rates}
    }
    assert {subject.adapter.kind for subject, _ in CASES} == slow


def packets_of(subject: Subject) -> list[bytes]:
    """The longest packet, and shorter ones."""
    values = sorted(subject.values)
    data = bytes(values[at % len(values)] for at in range(10_000))
    longest = subject.largest or subject.adapter.limits.payload
    found = [data[at : at + size] for at, size in enumerate((longest, 64, 64, 64))]
    assert all(map(subject.fits, found))
    return found


@pytest.mark.parametrize(
    ("subject", "rate"), CASES, ids=lambda each: getattr(each, "__name__", each)
)
def test_packets_that_arrive_count_as_delivered(subject: Any, rate: int) -> None:
    one = subject()
    packets, is_pair = packets_of(one), one.adapter.type != "serial"
    simulation = Simulation.ready(one, pair=is_pair, bufferSize=-1, baudRate=rate)
    directions = [(simulation.near, simulation.far), (simulation.far, simulation.near)]
    limit_s = len(packets) * (one.arrival_s + 100 * len(packets[0]) / rate)
    for sender, receiver in directions[: 1 + is_pair]:
        for data in packets:
            sender.send(data)
        assert simulation.run_until(lambda to=receiver: len(to.received) == len(packets), limit_s)
        simulation.run(30)
        assert [packet.data for packet in receiver.received] == packets
        count = sender.station.statistics.count
        assert (count.delivered, dict(count.refused)) == (len(packets), {})
    for station in simulation.stations:
        notices = [event.text for event in station.session.events if isinstance(event, Notice)]
        assert not any("no frame yet" in each for each in notices)
