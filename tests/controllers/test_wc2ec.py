"""The session of controller wc2ec: what an external controller receives, and may do; the beacon."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control.events import (
    Connected,
    Disconnected,
    EmitterSettings,
    Event,
    MotorCommand,
    MotorSettings,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    RefusedRequest,
    SensorSwitch,
    Stop,
    Write,
)
from hilgw.controllers.base import Send
from hilgw.controllers.beacon import CONTROLLER as BEACON, BeaconSettings
from hilgw.controllers.wc2ec import CONTROLLER, Wc2ecControllerSettings, is_loopback
from hilgw.controllers.wc2ec.session import Wc2ecControllerSession
from hilgw.devices.kinds import Device
from hilgw.framing import create
from hilgw.protocols import wc2ec

MS = 1_000_000
INF = math.inf
DEVICES = [
    Device(name="ds", kind="DistanceSensor", index=0),
    Device(name="left", kind="RotationalMotor", index=1),
    Device(name="lift", kind="LinearMotor", index=2),
    Device(name="tx", kind="Emitter", index=3),
    Device(name="rx", kind="Receiver", index=4),
    Device(name="camera", kind="Camera", index=5),
]


def f64(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def server(**given_: Any) -> Wc2ecControllerSession:
    """A session on TCP with a controller connected."""
    there = Wc2ecControllerSettings(listen="tcp://127.0.0.1:27015", **given_)
    session = CONTROLLER.session(there, "R2020a")
    for device in DEVICES:
        assert session.register(device) == []
    session.open(0)
    return session


def sent(events: list[Event]) -> list[wc2ec.Message]:
    decoder = wc2ec.Decoder(wc2ec.Side.WEBOTS, wc2ec.Layouts("R2020a", extensions=True))
    messages = decoder.feed(b"".join(e.data for e in events if isinstance(e, Write)))
    assert decoder.pending == 0 and not decoder.failed
    return messages


def reasons(events: list[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, RefusedRequest)]


def test_a_late_device_is_registered_once_and_others_are_refused() -> None:
    session = server()
    late = Device(name="späť", kind="DistanceSensor", index=9)
    assert sent(session.register(late)) == [wc2ec.RegisterSensor(38, 9, "späť".encode())]
    assert session.register(late) == []
    refused = [
        ("other", "DistanceSensor", 9, "index_taken"),
        ("x" * 256, "DistanceSensor", 10, "unsendable"),
        ("a\0b", "DistanceSensor", 10, "unsendable"),
        ("v", "VacuumGripper", 10, "unsendable"),  # not in R2020a
        ("ds", "DistanceSensor", 300, "unsendable"),
        ("ds", "DistanceSensor", 255, "too_many"),
    ]
    for name, kind, index, reason in refused:
        device = Device(name=name, kind=kind, index=index)
        assert reasons(session.register(device)) == [reason], name
    assert len(session.devices) == len(DEVICES) + 1
    session.forget()
    assert sent(session.open(1)) == []


def test_a_peer_written_from_the_document_alone_reads_and_writes_its_numbers() -> None:
    given_ = Wc2ecControllerSettings(listen="tcp://127.0.0.1:27015", wc2ec_types="document")
    session = CONTROLLER.session(given_, "R2025a")
    for device in reversed(DEVICES[:3]):
        session.register(device)
    (_, written) = session.open(0)
    assert isinstance(written, Write)
    assert written.data == b"\0\x25\0\2ds" + b"\0\x35\1\4left" + b"\0\x2e\2\4lift"
    assert session.next_deadline() is None  # on TCP once
    assert session.report([(0, 1.5)], 0) == [Write(b"\1\x25\0" + f64(1.5))]
    assert session.receive(b"\x82\x35\1" + f64(2.0), 0) == [MotorCommand(1, "velocity", 2.0)]
    assert session.receive(b"\x82\x2e\2" + f64(0.5), 0) == [MotorCommand(2, "position", 0.5)]
    brake = Device(name="brake", kind="Brake", index=3)  # 37 in R2025a: a distance sensor to it
    assert reasons(session.register(brake)) == ["unsendable"]


def test_sensor_values_go_out_together_and_bad_ones_do_not() -> None:
    session = server()
    gyro = Device(name="gyro", kind="Gyro", index=6)  # WC2EC has no message for it
    assert len(sent(session.register(gyro))) == 1
    events = session.report(
        [(0, 1.5), (7, 1.0), (0, math.nan), (0, INF), (6, (1.0, 2.0, 3.0)), (0, (1.0,)), (2, 0.25)],
        0,
    )
    assert sent(events) == [wc2ec.SensorData(38, 0, 1.5), wc2ec.SensorData(46, 2, 0.25)]
    assert len([event for event in events if isinstance(event, Write)]) == 1
    assert sorted(reasons(events)) == [*["not_finite"] * 2, "unknown_device", *["unsendable"] * 2]
    assert session.counts["values"] == 2
    assert session.report([], 0) == session.feedback(1, 1.0, 0) == []


def test_faults_and_packets_are_passed_on() -> None:
    session = server(extensions=True)
    assert sent(session.fault(1)) == [wc2ec.Error(53, 1)]
    assert session.fault(77) == []
    packet = PacketIn(4, 7, 4.0, (0.0, 1.0, 0.0), bytes(range(256)))
    assert sent(session.deliver(packet)) == [
        wc2ec.PacketData(52, 4, 7, 4.0, (0.0, 1.0, 0.0), bytes(range(256)))
    ]
    unknown = PacketIn(4, 7, math.nan, (math.nan,) * 3, b"x")
    assert sent(session.deliver(unknown)) == [
        wc2ec.PacketData(52, 4, 7, 0.0, (0.0, 0.0, 0.0), b"x")
    ]
    near = PacketIn(4, 7, INF, (1.0, 0.0, 0.0), b"x")
    (message,) = sent(session.deliver(near))
    assert isinstance(message, wc2ec.PacketData) and message.signal_strength > 1e308
    assert reasons(session.deliver(PacketIn(4, 7, 1.0, (1.0, 0.0, 0.0), bytes(65_537)))) == [
        "unsendable"
    ]
    assert reasons(session.deliver(PacketIn(77, 7, 1.0, (1.0, 0.0, 0.0), b"x"))) == ["down"]
    assert reasons(server().deliver(packet)) == ["no_extensions"]


def test_commands_mean_what_the_device_is() -> None:
    session = server(extensions=True)
    data = (
        wc2ec.encode(wc2ec.SetValue(53, 1, -2.5))
        + wc2ec.encode(
            wc2ec.SetValue(53, 2, 0.5)
        )  # the Ada original's type byte for a linear motor
        + b"\x83\x35\x01"
        + f64(INF, 2.0, -1.0, 5.0)
        + bytes.fromhex("82270307000000020000006869")
        + b"\x83\x27\x03\x07\x00\x00\x00"
        + f64(-1.0)
        + bytes.fromhex("833404ffffffff40000000")
    )
    assert session.receive(data, 0) == [
        MotorCommand(1, "velocity", -2.5),
        MotorCommand(2, "position", 0.5),
        MotorSettings(1, INF, 2.0, -1.0, 5.0),
        PacketOut(3, 7, b"hi"),
        EmitterSettings(3, 7, -1.0),
        ReceiverSettings(4, -1, 64),
    ]
    assert (session.counts["commands"], session.counts["packets_out"]) == (3, 1)


REFUSED = {
    "NaN": (b"\x82\x35\x01" + f64(math.nan), "nan"),
    "infinite velocity": (b"\x82\x35\x01" + f64(INF), "infinite"),
    "-infinite position": (b"\x82\x2e\x02" + f64(-INF), "infinite"),
    "one setting of four": (b"\x83\x35\x01" + f64(INF, 1.0, -2.0, 5.0), "out_of_range"),
    "a period beyond Webots' own": (b"\x83\x26\x00" + f64(2.0**31), "out_of_range"),
    "never registered": (b"\x82\x35\x63" + f64(1.0), "unknown_device"),
    "a sensor": (b"\x82\x35\x00" + f64(1.0), "not_settable"),
    "a camera": (b"\x82\x35\x05" + f64(1.0), "not_settable"),
    "the wrong half": (b"\x01\x26\x00" + f64(1.0), "wrong_half"),
    "registering itself": (b"\x00\x26\x00\x02ds", "wrong_half"),
    "enabling what is not there": (b"\x80\x26\x63", "unknown_device"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_counted_answered_and_reaches_no_motor(data: bytes, reason: str) -> None:
    session = server()
    events = session.receive(data + wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), 0)
    assert reasons(events) == [reason]
    assert session.counts[f"refused_{reason}"] == 1
    assert sent(events) == [wc2ec.Error(data[1], data[2])]
    assert events[-1] == MotorCommand(1, "velocity", 1.0)  # the stream goes on
    assert len(events) == 3


def test_an_echo_of_our_own_errors_does_not_go_round_for_ever() -> None:
    session = server()
    events = session.receive(wc2ec.encode(wc2ec.Error(53, 1)), 0)
    assert reasons(events) == ["wrong_half"] and not sent(events)


@pytest.mark.parametrize(
    "data",
    [
        "84",
        "ff",
        "05",
        "8226",
        "8235030000000000000000",
        "822703",
        "832703",
        "8227030000000001000100",
    ],
)
def test_a_lost_stream_stops_everything_and_takes_no_more(data: str) -> None:
    session = server(extensions="01000100" in data or "823503" in data)
    good = wc2ec.encode(wc2ec.SetValue(53, 1, 1.0))
    first, stop, failure = session.receive(good + bytes.fromhex(data), 0)
    assert first == MotorCommand(1, "velocity", 1.0)
    assert stop == Stop("protocol")
    assert isinstance(failure, ProtocolFailure) and failure.tail == bytes.fromhex(data)
    assert session.receive(good, 1) == []
    assert session.report([(0, 1.0)], 1) == []
    assert session.close() == []  # stopped already
    assert (session.counts["stop_protocol"], session.counts["failures"]) == (1, 1)
    assert len(session.open(2)) == 2
    assert session.receive(good, 2) == [MotorCommand(1, "velocity", 1.0)]


def test_a_disconnect_stops_once_and_waits_for_the_next() -> None:
    session = server()
    assert session.close() == [Stop("disconnected"), Disconnected("connection closed")]
    assert session.close() == []
    assert session.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), 1) == []
    assert session.counts["stop_disconnected"] == 1
    assert len(session.open(2)) == 2


def test_sensors_are_on_until_the_controller_disables_them() -> None:
    session = server()
    assert session.receive(b"\x81\x26\x00", 0) == [SensorSwitch(0, 0.0)]
    assert session.report([(0, 1.0)], 0) == []
    assert session.receive(b"\x80\x26\x00", 0) == [SensorSwitch(0, None)]
    assert len(sent(session.report([(0, 1.0)], 0))) == 1
    session.receive(b"\x83\x26\x00" + f64(0.0), 0)
    assert session.report([(0, 1.0)], 0) == []
    session.close()
    session.open(1)  # the next one finds all of them on
    assert len(sent(session.report([(0, 1.0)], 0))) == 1


def test_a_period_thins_the_values_and_survives_jitter() -> None:
    session = server()
    assert session.receive(b"\x83\x26\x00" + f64(60.0), 0) == [SensorSwitch(0, 60.0)]
    steps = [20 * MS * n + (-1) ** n * MS for n in range(1, 31)]
    due = [n for n, now in enumerate(steps, 1) if session.report([(0, 1.0)], now)]
    assert due == list(range(3, 31, 3))
    assert session.report([(0, 1.0)], 10_000 * MS)  # after a pause: one, and no volley
    assert not session.report([(0, 1.0)], 10_001 * MS)


@pytest.mark.parametrize(
    ("period_ms", "step_ms", "expected"),
    [
        (50, 20, [60, 120, 180, 240]),
        (100, 32, [128, 256, 384]),
        (64, 32, [64, 128, 192]),
        (65, 32, [96, 192]),
        (10, 32, [32, 64, 96]),
        (999, 1, [999, 1998]),
    ],
)
def test_a_period_is_counted_as_webots_does(
    period_ms: float, step_ms: int, expected: list[int]
) -> None:
    """WbSensor: due when elapsed >= period, restarted at the sample."""
    session = server()
    session.receive(b"\x83\x26\x00" + f64(period_ms), 0)
    steps = range(step_ms, expected[-1] + step_ms, step_ms)
    assert [ms for ms in steps if session.report([(0, 1.0)], ms * MS)] == expected


class Line:
    """A session on a framed line with two devices, and the controller's own framing."""

    def __init__(self, **settings: Any) -> None:
        there = Wc2ecControllerSettings(port="/dev/ttyN", silence_s=0.5, **settings)
        self.session = CONTROLLER.session(there, "R2020a", create("cobs-crc16"))
        self.framing = create("cobs-crc16")
        for device in DEVICES[:2]:
            self.session.register(device)

    def sent(self, events: list[Event]) -> list[wc2ec.Message]:
        decoder = wc2ec.Decoder(wc2ec.Side.WEBOTS, wc2ec.Layouts("R2020a"))
        data = b"".join(event.data for event in events if isinstance(event, Write))
        return [message for payload in self.framing.feed(data) for message in decoder.feed(payload)]

    def receive(self, data: bytes, now: int) -> list[Event]:
        return self.session.receive(self.framing.encode(data), now)


ALL = [wc2ec.RegisterSensor(38, 0, b"ds"), wc2ec.RegisterSensor(53, 1, b"left")]


def test_a_line_is_registered_on_opening_and_each_second_until_a_good_frame() -> None:
    line = Line()
    assert line.sent(line.session.open(0)) == ALL
    assert line.sent(line.session.expire(999 * MS)) == []
    for second in (1, 2, 3):
        assert line.session.next_deadline() == second * 1000 * MS
        assert line.sent(line.session.expire(second * 1000 * MS)) == ALL
    assert line.sent(line.session.report([(0, 2.0)], 3100 * MS)) == [wc2ec.SensorData(38, 0, 2.0)]
    connected, command = line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), 3200 * MS)
    assert isinstance(connected, Connected) and command == MotorCommand(1, "velocity", 1.0)
    assert line.session.next_deadline() == 3700 * MS
    line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), 3600 * MS)
    assert line.session.expire(4099 * MS) == []
    stop, gone, *again = line.session.expire(4100 * MS)
    assert (stop, gone) == (Stop("silence"), Disconnected("silent for 0.5 s"))
    assert line.sent(again) == ALL
    assert line.session.next_deadline() == 5100 * MS
    assert line.session.counts["stop_silence"] == 1


def test_neither_noise_nor_an_echo_nor_a_stale_id_ends_the_registering() -> None:
    line = Line()
    line.session.open(0)
    noise = line.session.receive(b"\x05boot banner\r\n\0\xff\0", 1)
    echo = line.receive(wc2ec.encode(ALL[0]), 2)
    stale = line.receive(wc2ec.encode(wc2ec.SetValue(53, 77, 1.0)), 3)
    assert noise == [] and reasons(echo) == ["wrong_half"] and reasons(stale) == ["unknown_device"]
    assert not any(isinstance(event, Connected) for event in (*noise, *echo, *stale))
    assert line.session.next_deadline() == 1000 * MS
    assert line.sent(line.session.expire(1000 * MS)) == ALL
    assert line.session.counts["stop_silence"] == 0


def test_after_a_pause_of_ours_the_stop_comes_before_the_backlog() -> None:
    line = Line()
    line.session.open(0)
    line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), 0)
    events = line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 2.0)), 3000 * MS)
    assert [type(event).__name__ for event in events] == [
        "Stop",
        "Disconnected",
        "Connected",
        "MotorCommand",
    ]


def test_a_cut_message_in_a_good_frame_is_a_failure() -> None:
    line = Line()
    line.session.open(0)
    *_, stop, failure = line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0))[:-1], 0)
    assert stop == Stop("protocol") and isinstance(failure, ProtocolFailure)


def where(**given_: Any) -> list[str]:
    return [path for path, _, _ in CONTROLLER.check(Wc2ecControllerSettings(**given_))]


def test_it_listens_on_loopback_alone() -> None:
    assert where(listen="tcp://127.0.0.1:27015") == where(port="/dev/ttyUSB0") == []
    assert where(listen="tcp://0.0.0.0:27015") == ["listen"]
    assert where() == where(listen="tcp://127.0.0.1:1", port="/dev/ttyUSB0") == ["listen"]
    good = ("tcp://127.0.0.1:1", "tcp://127.9.9.9:1", "tcp://[::1]:1", "tcp://localhost:1")
    bad = ("tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://10.0.0.1:1", "tcp://localhost.evil:1")
    assert [is_loopback(url) for url in (*good, *bad)] == [True] * 4 + [False] * 4


def test_on_a_slow_line_registrations_leave_before_they_come_again() -> None:
    """At 300 baud those of two devices take 1 s, and a frame more than the silence of others."""
    line = Line(baudRate=300)
    written = b"".join(each.data for each in line.session.open(0) if isinstance(each, Write))
    line_ns = len(written) * 10 * 1_000 * MS // 300
    assert line.sent(line.session.expire(line_ns)) == []
    due = line.session.next_deadline()
    assert due is not None and due >= 2 * line_ns and line.sent(line.session.expire(due)) == ALL
    line.receive(wc2ec.encode(wc2ec.SetValue(53, 1, 1.0)), due)
    events = line.session.expire(due + 1_500 * MS)
    assert not [event for event in events if isinstance(event, Stop | Disconnected)]
    assert Disconnected("silent for 0.5 s") in line.session.expire(due + 2_500 * MS)


def test_it_sends_numbered_packets_at_the_period() -> None:
    session = BEACON.session(BeaconSettings(emitter="tx", period_ms=10, payload="p {n}"))
    assert session.start(5, {}) == [Send("tx", b"p 1")]
    assert session.next_deadline() == 5 + 10 * MS
    assert session.expire(5 + 10 * MS - 1) == []
    assert session.expire(5 + 10 * MS + 3 * MS) == [Send("tx", b"p 2")]
    assert session.next_deadline() == 5 + 20 * MS  # late once, but on its grid again


@given(st.lists(st.integers(0, 10**11), min_size=1, max_size=50))
def test_never_more_than_one_packet_a_call_and_always_a_future_deadline(gaps: list[int]) -> None:
    session = BEACON.session(BeaconSettings(emitter="tx", period_ms=10))
    now = 0
    session.start(now, {})
    for gap in gaps:
        now += gap
        assert len(session.expire(now)) <= 1
        deadline = session.next_deadline()
        assert deadline is not None
        assert deadline > now


def test_templates_are_checked() -> None:
    def problems(payload: str) -> list[tuple[str, str, str]]:
        return BEACON.check(BeaconSettings(emitter="tx", payload=payload))

    assert problems("plain") == []
    assert problems("{n:04d}!") == []
    assert problems("{n:>100} {{}}") == []
    for payload in ("{m}", "{n", "{}", "{n.x}", "{n:q}", "", "{n!z}", "{n:c}", "{n:1{m}}"):
        assert [path for path, _, _ in problems(payload)] == ["payload"], payload
    assert all("{{ for {, and }} for }" in problems(each)[0][1] for each in ("{m}", "a } b", "{n"))
