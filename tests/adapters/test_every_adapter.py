"""Every kind of hardware: what it documents, and how it names bytes that are no frames."""

import dataclasses
from typing import Any

import pytest

from hilgw import framing, plugins
from hilgw.adapters.base import Event, Failed, Notice, StationSettings, Transmission
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.medium.packet import Packet
from hilgw.protocols.text.patterns import Step

MS = 1_000_000
TEXT = b"temp=20\r\n"
SILENCE = 2000 * MS
CASES: list[tuple[str, dict[str, Any]]] = [
    ("uart", {}),
    ("irda_sir", {}),
    ("hc12", {}),
    ("hc12", {"set_line": "dtr"}),
    ("rylr998", {}),
    ("text", {"setup": (Step(send="AT", expect="OK"),), "send": (Step(send="S {data}"),)}),
    ("xbee", {}),
    ("xbee", {"api_mode": 0}),
]


def session_of(kind: str, settings: dict[str, Any]) -> Any:
    adapter = plugins.load(plugins.ADAPTERS, kind)
    if kind == "text":
        settings = {"receive": "R (?P<data>.*)", **settings}
    return adapter.session(adapter.Settings(**settings), StationSettings(port="x"))


@pytest.mark.parametrize(("kind", "settings"), CASES)
def test_text_of_others_is_named_once_in_each_connection(
    kind: str, settings: dict[str, Any]
) -> None:
    session = session_of(kind, settings)
    for start in (0, 100 * SILENCE):
        events: list[Event] = list(session.open(start))
        now = start
        while now < start + 9 * SILENCE and not any(isinstance(each, Failed) for each in events):
            due = session.next_deadline()
            if due is not None and due <= now:
                events += session.expire(now)
            if now % (100 * MS) == 0:
                events += session.receive(TEXT, now)
            if now == start + SILENCE and settings.get("api_mode") != 0:
                # The handshake of a transparent XBee takes 2.2 s: the notice comes when it fails.
                assert _named(events), "not within 2 s"
            now += 50 * MS
        (text,) = _named(events)
        assert 'begins "temp=20\\r\\n' in text
        assert text.endswith("?") != (kind == "text")  # of no pattern it is sure
        has_framing = kind in ("uart", "hc12") and not settings  # without a handshake
        assert ("framing lines?" in text) == has_framing
        session.close()


def _named(events: list[Event]) -> list[str]:
    texts = [each.text for each in events if isinstance(each, Notice)]
    return [text for text in texts if "bytes, no frame yet; begins" in text]


def test_what_such_a_device_is_sent_does_not_count_as_delivered() -> None:
    """While it sends what are no frames; a boot message before long silence is no such sign."""
    session = session_of("uart", {})
    session.open(0)
    packet = Packet(b"go", 0, "serial", "rover.tx")

    def lost(now: int) -> str | None:
        sent = session.send(packet, now)
        assert isinstance(sent, Transmission) and sent.token is None
        return sent.lost

    session.receive(TEXT, 0)
    assert lost(MS) is None
    session.expire(SILENCE)
    assert lost(SILENCE) is None  # it is silent since
    session.receive(TEXT, SILENCE)
    assert lost(SILENCE + MS) == "no_frame"
    assert lost(2 * SILENCE + MS) is None
    session.receive(TEXT, 3 * SILENCE)
    session.receive(b"\0" + framing.create("cobs-crc16").encode(b"here"), 3 * SILENCE)
    assert lost(3 * SILENCE) is None
    session.receive(TEXT, 3 * SILENCE)
    assert lost(3 * SILENCE + MS) is None


OF_THE_ROBOT = {"model", "sampling_period_ms", "translation", "rotation"}  # not of the module
FIELDS = {
    field.name for fields in (EmitterFields, ReceiverFields) for field in dataclasses.fields(fields)
} - OF_THE_ROBOT


@pytest.mark.parametrize("kind", plugins.own(plugins.ADAPTERS))
def test_every_field_of_webots_is_in_its_table(kind: str) -> None:
    rows = plugins.load(plugins.ADAPTERS, kind).limits.mapping
    text = ", ".join(row.field for row in rows)
    assert not [name for name in sorted(FIELDS) if name not in text]
    assert {row.maps for row in rows} <= {"exact", "approximate", "cannot"}
