"""The proxy's session, byte for byte, with steps as in Webots."""

import random
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.controllers import base
from hilgw.controllers.webots_proxy import CONTROLLER, WebotsProxySettings
from hilgw.controllers.webots_proxy.session import WebotsProxySession
from hilgw.devices.fields import CAP_PACKETS
from hilgw.medium.packet import Copy, Packet
from hilgw.protocols.webots.answers import IMMEDIATE, Answer, AnswerReader, Image, encode_answer
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.device_messages import (
    EmitterConfiguration,
    EmitterSend,
    Receive,
    ReceiverConfiguration,
    SetChannel,
    SetSamplingPeriod,
)
from hilgw.protocols.webots.requests import Block, encode_request
from hilgw.protocols.webots.robot_messages import DeviceEntry, Quit, RobotConfiguration
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.reasons import PacketRefused
from tests.cases import pieces
from tests.controllers.sampling_model import ModelReceiver, ModelWorld

MS = 1_000_000
LIDAR, EMITTER, RECEIVER, RADAR = 48, 43, 56, 53
TX, RX = 2, 4
STEP = encode_request(32)
EMPTY = encode_answer(0)


def session(only: Iterable[str] = ()) -> WebotsProxySession:
    settings = WebotsProxySettings(only=tuple(only))
    made = CONTROLLER.proxy(settings, "R2025a", ("tx",), {"rx": 12})
    assert isinstance(made, WebotsProxySession)
    return made


def codec() -> Codec:
    """Of a robot with devices that no codec here decodes before and behind the radios."""
    made = Codec()
    made.kinds |= {1: "Lidar", TX: "Emitter", 3: "node 53", RX: "Receiver", 5: "Lidar"}
    return made


def configuration(channel: int = 7, noise: bytes = b"\1\2\3 a lens \0") -> bytes:
    """The messages of the first answer. noise: in the configurations that nothing decodes."""
    made = Codec()
    names = ((LIDAR, "camera"), (EMITTER, "tx"), (RADAR, "radar"), (RECEIVER, "rx"), (LIDAR, "c"))
    robot = RobotConfiguration(
        name="rover",
        version="R2025a",
        devices=tuple(DeviceEntry(node, name, "") for node, name in names),
        basicTimeStep=32.0,
    )
    data = made.encode_messages([robot]) + b"\1\0\0" + noise
    data += made.encode_messages([EmitterConfiguration(TX, 32, 3, -1.0, -1.0, -1.0, ())])
    data += b"\3\0\0" + noise
    data += made.encode_messages([ReceiverConfiguration(RX, 16, channel, ())])
    return data + b"\5\0\0" + noise


def connected(only: Iterable[str] = (), period_ms: int = 32) -> WebotsProxySession:
    """A session whose controller has enabled its Receiver, and waits for the end of a step."""
    made = session(only)
    made.from_controller(encode_request(0, [(0, b"\x23\0\0")]))
    made.from_webots(encode_answer(0, configuration()))
    made.from_controller(encode_request(32, commands(SetSamplingPeriod(RX, period_ms))))
    return made


def commands(*given: Any) -> list[Block]:
    return codec().encode_commands(given)


def packet(data: bytes = b"pong") -> Copy:
    return Copy(Packet(data, 12, "radio", "xbee0"), 0, 0.25, (1.0, 0.0, 0.0))


def answers(data: bytes) -> list[Answer]:
    reader, messages = AnswerReader(), []
    reader.feed(data)
    while (message := reader.next()) is not None:
        messages.append(message)
    assert not reader.pending
    return messages


def with_chunk(answer: bytes, messages: bytes) -> bytes:
    """The answer with one more data chunk at its end."""
    count, total = struct.unpack_from("<Hi", answer)
    head = struct.pack("<Hi", count + 1, total + len(messages))
    return head + answer[6:] + struct.pack("<iB", len(messages), 0) + messages


@given(st.integers(0, 2**16), st.lists(st.integers(0, 2**20), max_size=20))
def test_unknown_devices_and_images_stay_as_they_are(seed: int, cuts: list[int]) -> None:
    noise = random.Random(seed)
    made, sent, received = connected(["tx"]), b"", b""
    for _ in range(5):
        blocks = [(tag, noise.randbytes(noise.randrange(40))) for tag in (0, 1, 3, 5)]
        images = [
            Image(1, noise.choice((0, 9)), noise.randbytes(noise.choice((0, 1, 70_000))))
            for _ in range(noise.randrange(3))
        ]
        messages = b"\3\0\1" + noise.randbytes(noise.randrange(60))
        request = encode_request(noise.choice((0, 32)), blocks)
        delay = noise.choice((IMMEDIATE, 0, 17))
        answer = encode_answer(delay, messages, images)
        sent += request
        received += answer
    parts = [made.from_controller(part) for part in pieces(sent, cuts)]
    assert b"".join(data for data, _ in parts) == sent
    parts = [made.from_webots(part) for part in pieces(received, cuts)]
    assert b"".join(data for data, _ in parts) == received
    assert not [event for _, events in parts for event in events]


def test_pixels_do_not_wait_for_their_image() -> None:
    made = connected()
    data = encode_answer(0, b"", [Image(1, 0, bytes(1_000_000))])
    assert made.from_webots(data[:40_000])[0] == data[:40_000]
    assert made.from_webots(data[40_000:])[0] == data[40_000:]


SENDS = [EmitterSend(TX, 3, 2.5, b"one"), EmitterSend(TX, -1, -1.0, b"two")]
OTHERS = [(0, b"\x23\0\0"), (1, b"\x01\x40\0")]


@pytest.mark.parametrize("duration_ms", [0, 32])  # 0: immediate
@given(st.lists(st.integers(0, 200), max_size=8))
def test_packets_of_an_emitter_are_copied_and_with_only_leave_the_request(
    duration_ms: int, cuts: list[int]
) -> None:
    request = encode_request(duration_ms, [*OTHERS, *commands(*SENDS), (5, b"unknown")])
    without = encode_request(duration_ms, [*OTHERS, (5, b"unknown")])
    for only, passed in (([], request), (["tx"], without)):
        made = connected(only)
        parts = [made.from_controller(part) for part in pieces(request + STEP, cuts)]
        assert b"".join(data for data, _ in parts) == passed + STEP
        assert [each for _, events in parts for each in events] == [
            base.Sent("tx", 3, 2.5, b"one"),
            base.Sent("tx", -1, -1.0, b"two"),
        ]


def receive(data: bytes, channel: int = 7) -> bytes:
    return codec().encode_messages([Receive(RX, channel, (1.0, 0.0, 0.0), 0.25, data)])


def test_a_configuration_that_cannot_be_read_passes_and_is_named() -> None:
    made, data = session(), encode_answer(0, b"\0\0\0 of another version")
    made.from_controller(encode_request(0, [(0, b"\x23\0\0")]))
    passed, (notice,) = made.from_webots(data)
    assert passed == data
    assert isinstance(notice, base.Notice) and notice.text == (
        "cannot read the robot's configuration: its packets use no real hardware; set webots: to "
        "the version of the simulator"
    )


def test_an_uncertain_channel_is_the_configured_one() -> None:
    like_a_receiver = struct.pack("<HBiiiHB", RX, 0, 5, 6, 0, 5, 0)
    made = session()
    _, events = made.from_webots(encode_answer(0, configuration(9, like_a_receiver)))
    assert events[0] == base.Tuned("rx", 12)
    assert [type(each) for each in events] == [base.Tuned, base.Notice]


def test_a_packet_is_the_last_chunk_of_the_next_step() -> None:
    made = connected()
    assert made.hold("rx", copy := packet()) is None
    data = encode_answer(0, b"\3\0\1 unknown", [Image(1, 0, b"pixels")])
    passed, events = made.from_webots(data)
    (answer,) = answers(passed)
    (plain,) = answers(data)
    assert passed == with_chunk(data, receive(b"pong"))
    assert answer.images == plain.images and answer.delay == 0
    assert events == [base.DeliveredCopies("rx", (copy,))]
    assert made.from_controller(STEP) == (STEP, ())
    assert made.from_webots(EMPTY) == (EMPTY, ())


def test_answers_outside_steps_get_none() -> None:
    """Those of immediate requests, and those without a request (wait_for_user_input)."""
    made = connected()
    made.from_webots(EMPTY)
    made.hold("rx", packet())
    made.from_controller(encode_request(0))
    assert made.from_webots(EMPTY * 3)[0] == EMPTY * 3
    made.from_controller(STEP)
    assert len(answers(made.from_webots(EMPTY + EMPTY)[0])[0].messages) > 4


@pytest.mark.parametrize(
    ("period_ms", "step_ms", "delay_ms", "steps"), [(96, 32, 0, 3), (96, 16, 0, 3), (96, 32, 64, 1)]
)
def test_packets_wait_for_the_sampling_period(
    period_ms: int, step_ms: int, delay_ms: int, steps: int
) -> None:
    """Webots makes whole basic steps, here of 32 ms, and reports the time by which it was late."""
    made = connected()
    made.from_webots(EMPTY)
    made.from_controller(encode_request(0, commands(SetSamplingPeriod(RX, period_ms))))
    made.hold("rx", packet())
    answer = encode_answer(delay_ms)
    for count in range(1, steps + 1):
        made.from_controller(encode_request(step_ms))
        passed, _ = made.from_webots(answer)
        assert (passed != answer) is (count == steps)


def test_the_channel_follows_the_controller_and_webots() -> None:
    made = connected()
    made.from_webots(EMPTY)
    _, events = made.from_controller(encode_request(32, commands(SetChannel(RX, 5))))
    assert events == [base.Tuned("rx", 5)]
    made.hold("rx", packet())
    assert made.from_webots(EMPTY)[0].endswith(receive(b"pong", 5))
    again = codec().encode_messages([ReceiverConfiguration(RX, 16, 8, (8,))])
    made.from_controller(STEP)
    assert made.from_webots(encode_answer(0, again))[1] == [base.Tuned("rx", 8)]


def test_a_receiver_with_only_is_never_enabled_in_webots() -> None:
    made = session(["rx"])
    made.from_webots(encode_answer(0, configuration()))
    request = encode_request(32, [*OTHERS, *commands(SetSamplingPeriod(RX, 32))])
    assert made.from_controller(request) == (encode_request(32, OTHERS), [base.Enabled("rx", 32)])


def test_what_no_controller_reads_is_refused_or_lost() -> None:
    made = session()
    assert made.hold("rx", packet()) == PacketRefused.DISABLED
    made = connected()
    made.hold("rx", copy := packet())
    assert made.close() == [base.Enabled("rx", 0), base.Lost("rx", (copy,))]
    assert not made.close()


@pytest.mark.parametrize("lengths", [[1], [2], [3], [1, 2, 3, 7]], ids=str)
def test_random_schedules_are_those_of_webots(lengths: list[int]) -> None:
    """The packets that wait at the request: those that come later have no time in Webots' step."""
    for seed in range(40):
        chance = random.Random(seed)
        made, receiver = connected(period_ms=0), ModelReceiver()
        made.from_webots(EMPTY)
        world = ModelWorld(32, {"rx": receiver})
        for number in range(30):
            step_ms = 32 * chance.choice(lengths) - chance.choice([0, 0, 31])
            period_ms = chance.choice([0, 1, 32, 33, 64, 96, 100, 160])
            periods = [("rx", period_ms)] if chance.random() < 0.3 else []
            data = bytes((number,))
            request = [SetSamplingPeriod(RX, period_ms) for _ in periods]
            made.from_controller(encode_request(step_ms, commands(*request)))
            world.request(step_ms, periods)
            if chance.random() < 0.6:
                made.hold("rx", packet(data))
                world.send("rx", data)
            _, events = made.from_webots(EMPTY)
            while not world.basic_step():
                pass
            delivered = [each for each in events if isinstance(each, base.DeliveredCopies)]
            received = [copy.packet.data for each in delivered for copy in each.copies]
            assert received == receiver.queue, (seed, number)
            receiver.queue.clear()


def test_the_longest_step_costs_no_more_than_a_short_one() -> None:
    """A basic step of 32 ms, a step of 49 days, a period of 1 ms."""
    made = connected(period_ms=1)
    made.from_webots(EMPTY)
    made.hold("rx", copy := packet())
    made.from_controller(encode_request(2**32 - 1))
    assert made.from_webots(EMPTY)[1][-1] == base.DeliveredCopies("rx", (copy,))


def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = connected()
    large = packet(bytes(4 * 1024 * 1024))
    assert [made.hold("rx", large) for _ in range(5)] == [None, None, None, None, PacketRefused.CAP]
    assert CAP_PACKETS > 4


def test_devices_that_webots_has_not_are_reported() -> None:
    settings = WebotsProxySettings()
    made = CONTROLLER.proxy(settings, "R2025a", ("tx2", "camera"), {"rx": 1})
    _, events = made.from_webots(encode_answer(0, configuration()))
    texts = [each.text for each in events if isinstance(each, base.Notice)]
    assert "no device 'tx2' (its devices: camera, tx, radar, rx, c)" in texts[0]
    assert "'camera' is a Lidar in Webots, not Emitter" in texts[1]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_pass_or_raise(data: bytes, configured: bool) -> None:
    for name in ("from_controller", "from_webots"):
        made = connected() if configured else session()
        with suppress(ProtocolError):
            getattr(made, name)(data)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<iI", 7, 32),
        struct.pack("<iI", 2**31 - 1, 32),
        struct.pack("<iIHi", 14, 32, TX, 1),
        struct.pack("<iIHi", 14, 32, TX, -1),
        struct.pack("<iIHiB", 15, 32, TX, 1, 99),
        struct.pack("<iIHiBidi", 31, 32, TX, 17, 0, 1, -1.0, 2**30),
        struct.pack("<iIH", 10, 32, TX),
    ],
)
def test_garbage_of_the_controller_does_not_reach_webots(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        connected(["tx"]).from_controller(data)


@given(st.integers(0, 2**20), st.integers(0, 3))
def test_a_controller_gets_quit_wherever_webots_breaks_off(cut: int, images: int) -> None:
    """Between answers, within data, within pixels; at the start after a configuration."""
    data = encode_answer(0, b"\0\0\4" + bytes(8), [Image(1, 0, bytes(50))] * images)
    made = connected()
    made.hold("rx", packet())
    passed = made.from_webots(data[: cut % (len(data) + 1)])[0] + made.cut()
    assert Codec().decode_known(answers(passed)[-1].messages)[0] == [Quit()]
    fresh = session()
    (only,) = answers(fresh.cut())
    messages = Codec().decode_messages(only.messages)
    assert [type(each) for each in messages] == [RobotConfiguration, Quit]


def test_the_goodbye_after_quit_is_answered() -> None:
    made = connected()
    made.cut()
    goodbye = encode_request(0, [(0, b"\x26")])
    assert made.answer_last(goodbye) == EMPTY
    assert made.answer_last(bytes(4)) == b"" and made.left


def test_a_step_beside_the_multiples_is_named_once() -> None:
    proxy = session()
    proxy.from_controller(encode_request(0))
    proxy.from_webots(encode_answer(0, configuration()))
    events: list[base.ProxyEvent] = []
    for ms in (64, 20, 20, 50):
        events += proxy.from_controller(encode_request(ms))[1]
        events += proxy.from_webots(EMPTY)[1]
    text = "a step of 20 ms takes 32 ms: steps are multiples of the basic time step of 32 ms"
    assert [each for each in events if isinstance(each, base.Notice)] == [base.Notice(text)]
