"""The text adapter: conformance of the two modules of configs/text.yaml."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.text import ADAPTER
from hilgw.adapters.text.settings import ByHeader, OneChannel
from hilgw.config.load import load_config
from hilgw.framing.guess import AFTER_NS
from hilgw.medium.packet import Packet
from hilgw.protocols.text.patterns import Step
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.bench import of

SECOND = 1_000_000_000

SHIPPED = load_config(str(Path(__file__).parents[3] / "configs" / "text.yaml"), [], None).config
RN2483, AT_RADIO = (
    replace(SHIPPED.adapters[name].settings, longest_packet=64, ignore="", mapping=OneChannel())
    for name in ("rn2483", "at_radio")
)
# Not the version: its text is that of the banner, which stands for a restart.
RN2483 = replace(
    RN2483,
    setup=(Step(send="sys get vdd", expect="[0-9]+", tries=4, timeout_s=0.5),),
    mock={**RN2483.mock, "answers": {**RN2483.mock["answers"], "sys get vdd": "3287"}},
)


class TestRn2483(AdapterConformance):
    """The rules look at a session whose module is gone: nothing answers `radio rx 0` there."""

    adapter = ADAPTER
    settings = replace(RN2483, listen=(Step(send="radio rx 0"),), ignore="ok")
    common = {"baudRate": 57600}
    largest = 64
    check_bits = 0
    vectors = (
        Vector(data=b"ping\xff", receives=b"radio_rx  70696E67FF\r\n"),
        Vector(data=b"ping", sends=b"radio rxstop\r\n"),
    )


class TestAtRadio(AdapterConformance):
    adapter = ADAPTER
    settings = AT_RADIO
    common = {"baudRate": 115200}
    largest = 64
    check_bits = 4
    vectors = (
        Vector(
            data=b"a,b\r\n,-1", wire=None, receives=b"+RCV=7,8,a,b\r\n,-1,-40\r\n", rssi_dbm=-40
        ),
        Vector(data=b"ping", sends=b"AT+SEND=0,4,ping\r\n", receives=b"+RCV=50,4,ping,-70\r\n"),
    )


def opened(settings: Any) -> Any:
    return ADAPTER.session(settings, base.StationSettings(port="x"))


def packet(data: bytes = b"hi") -> Packet:
    return Packet(data, 0, "radio", "test")


def test_a_packet_is_a_dialogue_and_ends_with_listening() -> None:
    session = opened(RN2483)
    listen = base.Write(b"radio rx 0\r\n")
    assert session.open(0) == [base.Write(b"sys get vdd\r\n")]
    assert session.receive(b"3287\r\n", 1) == [listen]
    assert session.receive(b"ok\r\n", 2) == [base.Ready("RN2483")]
    assert session.send(packet(), 3) == base.Transmission(b"radio rxstop\r\n", 1)
    assert session.send(packet(), 3) is None
    assert session.receive(b"ok\r\n", 4) == [base.Write(b"radio tx 6869\r\n")]
    assert session.receive(b"ok\r\nradio_tx_ok\r\n", 5) == [base.Delivered(1), listen]
    assert session.receive(b"ok\r\n", 6) == []
    assert session.receive(b"radio_rx  6869\r\n", 7) == [base.Received(b"hi", 0), listen]
    session.receive(b"ok\r\n", 8)
    assert session.receive(b"radio_err\r\n", 9) == [listen]
    session.receive(b"ok\r\n", 10)
    session.send(packet(), 11)
    assert session.receive(b"ok\r\nbusy\r\n", 12)[1:] == [base.Refused(2, "failed"), listen]


def test_no_answer_gets_into_step_again_and_a_restart_loses_the_packet() -> None:
    session = opened(AT_RADIO)
    session.open(0)
    session.receive(b"+OK\r\n", 1)
    session.send(packet(), 2)
    lost, down, asked = session.expire(6 * SECOND)
    assert (lost, asked) == (base.Refused(1, "no_status"), base.Write(b"AT\r\n"))
    assert isinstance(down, base.NotReady)
    session.receive(b"+OK\r\n", 6 * SECOND)
    session.send(packet(), 7 * SECOND)
    events = session.receive(b"+READY\r\n", 7 * SECOND)
    assert (events[0], events[2]) == (base.Refused(2, "reset"), base.Write(b"AT\r\n"))


def test_data_that_a_line_cannot_carry_are_refused() -> None:
    session = opened(ADAPTER.Settings(send=(Step(send="SEND {data}"),), receive="GOT (?P<data>.*)"))
    assert session.open(0) == [base.Ready("text module")]
    assert session.send(packet(b"{hex}"), 1) == base.Transmission(b"SEND {hex}\r\n")
    assert session.send(packet(b"a\nb"), 2).reason == "unframable"


@pytest.mark.parametrize(
    ("step", "wire"),
    [
        (Step(send='{"mode":{on}}'), b'{"mode":{on}}\r\n'),  # no fields
        (Step(send="+++", realtime=True), b"+++"),
    ],
)
def test_steps_are_sent_as_is_and_have_no_line_end_in_real_time(step: Step, wire: bytes) -> None:
    settings = replace(AT_RADIO, setup=(step,))
    assert ADAPTER.check(settings, base.StationSettings(port="x")) == []
    assert opened(settings).open(0)[0] == base.Write(wire)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"receive": "(a+"}, "receive"),
        ({"receive": "RX (?P<data>(a+)+)"}, "receive"),
        ({"listen_on": "(a|aa)*b"}, "listen_on"),
        ({"setup": (Step(send="x", expect="(.*,)*"),)}, "setup.0.expect"),
        ({"receive": "x"}, "receive"),
        ({"ignore": "["}, "ignore"),
        ({"send": (Step(send="x"),)}, "send"),
        ({"send": (Step(send="{dat}{hex}", expect="(ab|b"),)}, "send.0.expect"),
        ({"send": (Step(send="{hex}"), Step(expect="ok"))}, "send.0"),
        ({"line_end": ""}, "line_end"),
        ({"setup": (Step(),)}, "setup.0"),
        ({"setup": (Step(send="TO={destination}"),)}, "setup.0.send"),
        ({"send": (Step(send="{Data}{data}"),)}, "send.0.send"),
        ({"mapping": ByHeader()}, "channel"),
    ],
)
def test_mistakes_are_placed(changes: dict[str, Any], place: str) -> None:
    problems = ADAPTER.check(
        replace(AT_RADIO, **changes), base.StationSettings(port="x", channel=255)
    )
    assert place in [problem[0] for problem in problems]


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"RN2903 1.0.5\r\n", ["lines that no pattern of the settings describes"]),
        (bytes(30), ["a lower baud rate than 9600?"]),
        (b"3287\r\n", []),
    ],
)
def test_unknown_lines_and_another_rate_are_named_after_2_s(data: bytes, looks: list[str]) -> None:
    session = opened(RN2483)
    session.open(0)
    session.receive(data, 0)
    shown = [each.text.split("; ")[-1] for each in of(base.Notice, session.expire(AFTER_NS))]
    assert [text.split(": ")[-1] for text in shown] == looks
