"""RFC 2217: split anywhere, hostile or not; pyserial judges the same bytes in tests/bridge."""

import pytest
from hypothesis import given, strategies as st

from hilgw.protocols.rfc2217 import (
    COM_PORT,
    DO,
    DONT,
    IAC,
    LONGEST_SUBNEGOTIATION,
    SB,
    SE,
    WILL,
    WONT,
    Agreed,
    Data,
    Event,
    Flow,
    ModemBits,
    Purge,
    Reply,
    SendBreak,
    Server,
    Setting,
    begins_with_negotiation,
    escape,
)
from tests import work
from tests.cases import pieces


def command(*octets: int) -> bytes:
    """A subnegotiation of the COM port option."""
    return bytes((IAC, SB, COM_PORT)) + escape(bytes(octets)) + bytes((IAC, SE))


def joined(events: list[Event]) -> list[Event]:
    """Neighbouring data as one."""
    out: list[Event] = []
    for event in events:
        last = out[-1] if out else None
        if isinstance(event, Data) and isinstance(last, Data):
            out[-1] = Data(last.data + event.data)
        else:
            out.append(event)
    return out


REQUESTS: list[tuple[bytes, Event]] = [
    (command(1, 0, 0, 0x25, 0x80), Setting("baud_rate", 9600)),
    (command(1, 0, 255, 255, 255), Setting("baud_rate", 0xFFFFFF)),
    (command(1, 0, 0, 0, 0), Setting("baud_rate", None)),
    (command(2, 7), Setting("data_bits", 7)),
    (command(2, 0), Setting("data_bits", None)),
    (command(3, 0), Setting("parity", None)),
    *((command(3, code), Setting("parity", "NOEMS"[code - 1])) for code in range(1, 6)),
    (command(4, 2), Setting("stop_bits", 2)),
    (command(4, 3), Setting("stop_bits", None)),
    (command(5, 0), Setting("flow", None)),
    (command(5, 1), Setting("flow", "none")),
    (command(5, 2), Setting("flow", "xonxoff")),
    (command(5, 3), Setting("flow", "rtscts")),
    (command(5, 5), Setting("break", True)),
    (command(5, 6), Setting("break", False)),
    (command(5, 7), Setting("dtr", None)),
    (command(5, 8), Setting("dtr", True)),
    (command(5, 9), Setting("dtr", False)),
    (command(5, 11), Setting("rts", True)),
    (command(5, 12), Setting("rts", False)),
    (command(5, 16), Setting("inbound_flow", "rtscts")),
    (command(8), Flow(suspended=True)),
    (command(9), Flow(suspended=False)),
    (command(12, 1), Purge(received=True, to_send=False)),
    (command(12, 2), Purge(received=False, to_send=True)),
    (command(12, 3), Purge(received=True, to_send=True)),
    (command(0), Reply(bytes((IAC, SB, COM_PORT, 100)) + b"hilgw" + bytes((IAC, SE)))),
    (command(11, 255), Reply(bytes((IAC, SB, COM_PORT, 111, 255, 255, IAC, SE)))),
    (command(10, 16), Reply(bytes((IAC, SB, COM_PORT, 110, 16, IAC, SE)))),
    (bytes((IAC, 243)), SendBreak()),
]
STREAMS = st.lists(
    st.one_of(
        st.binary(max_size=40).map(lambda data: (escape(data), [Data(data)] if data else [])),
        st.sampled_from(REQUESTS).map(lambda pair: (pair[0], [pair[1]])),
    ),
    max_size=12,
)


@pytest.mark.parametrize(("data", "event"), REQUESTS)
def test_what_a_client_wants(data: bytes, event: Event) -> None:
    assert Server().feed(data) == [event]


@given(STREAMS, st.lists(st.integers(0, 1000)))
def test_data_and_commands_split_anywhere(
    stream: list[tuple[bytes, list[Event]]], cuts: list[int]
) -> None:
    data = b"".join(part for part, _ in stream)
    expected = joined([event for _, events in stream for event in events])
    server = Server()
    events = [event for piece in pieces(data, cuts) for event in server.feed(piece)]
    assert joined(events) == expected
    assert server.malformed == 0


@given(
    st.lists(st.sampled_from([b"\xff", b"\xfa", b"\xf0", b",", b"\xfb\x2c", b"\x05\x08"]))
    | st.lists(st.binary(max_size=300)),
    st.lists(st.integers(0, 4000)),
)
def test_hostile_bytes_are_bounded_and_harmless(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    whole, split = Server(), Server()
    events = whole.feed(data)
    again = [event for piece in pieces(data, cuts) for event in split.feed(piece)]
    assert joined(again) == joined(events)
    sent = sum(len(event.data) for event in events if isinstance(event, Reply))
    assert sent <= 3 * len(data)  # no reply is amplified
    whole.feed(b"\xff\xf0")  # it ends whatever was begun, or means nothing
    if whole.is_at_rest:
        assert whole.feed(b"fine")[-1] == Data(b"fine")


def test_a_subnegotiation_without_an_end_takes_no_more_room() -> None:
    server = Server()
    server.feed(bytes((IAC, SB, COM_PORT)))
    piece = b"x" * 10_000
    held = work.allocated(lambda: [server.feed(piece) for _ in range(100)])
    assert held < 2 * LONGEST_SUBNEGOTIATION + 10_000
    assert server.feed(bytes((IAC, SE)) + b"on") == [Data(b"on")]
    assert server.malformed == 1


@pytest.mark.parametrize(
    "data",
    [
        command(1, 0, 0, 1),
        command(1),
        command(2, 9),
        command(2, 4),
        command(3, 6),
        command(4, 4),
        command(5, 99),
        command(5, 1, 1),
        command(12, 0),
        command(12, 4),
        command(77, 1),
        bytes((IAC, SB, IAC, SE)),
        bytes((IAC, SB, COM_PORT, 5, IAC, 243)),  # another command instead of the end
    ],
)
def test_what_makes_no_sense_is_counted(data: bytes) -> None:
    server = Server()
    events = [event for event in server.feed(data) if not isinstance(event, SendBreak)]
    assert events == []
    assert server.malformed == 1
    assert server.feed(b"x") == [Data(b"x")]


def test_subnegotiations_of_other_options_are_ignored() -> None:
    server = Server()
    assert server.feed(bytes((IAC, SB, 24, 1, IAC, SE))) == []
    assert server.malformed == 0


def test_a_client_agrees_to_what_the_server_requests() -> None:
    server = Server()
    greeting = server.open()
    assert greeting == bytes((IAC, WILL, 0, IAC, DO, 0, IAC, WILL, 3, IAC, DO, COM_PORT))
    assert not server.agreed
    answers = bytes((IAC, DO, 0, IAC, WILL, 0, IAC, DO, 3, IAC, WILL, COM_PORT))
    assert server.feed(answers) == [Agreed()]
    assert server.agreed
    assert server.feed(answers) == []  # no loop


def test_options_that_are_not_supported_are_refused_and_refusals_not_answered() -> None:
    server = Server()
    assert server.feed(bytes((IAC, WILL, 24, IAC, DO, 31, IAC, WILL, 1))) == [
        Reply(bytes((IAC, DONT, 24))),
        Reply(bytes((IAC, WONT, 31))),
        Reply(bytes((IAC, DONT, 1))),
    ]
    assert server.feed(bytes((IAC, WONT, 24, IAC, DONT, 31, IAC, WONT, 0))) == []


def test_an_option_can_be_switched_off_and_on_again() -> None:
    server = Server()
    assert server.feed(bytes((IAC, DO, 1))) == [Reply(bytes((IAC, WILL, 1)))]
    assert server.feed(bytes((IAC, DONT, 1))) == [Reply(bytes((IAC, WONT, 1)))]
    assert server.feed(bytes((IAC, DO, 1))) == [Reply(bytes((IAC, WILL, 1)))]


@given(st.lists(st.tuples(st.sampled_from([WILL, WONT, DO, DONT]), st.integers(0, 255))))
def test_two_servers_do_not_negotiate_for_ever(commands: list[tuple[int, int]]) -> None:
    a, b = Server(), Server()
    to_b = a.open() + b"".join(bytes((IAC, *each)) for each in commands)
    to_a = b.open()
    for _ in range(20):
        to_a, to_b = (
            b"".join(event.data for event in b.feed(to_b) if isinstance(event, Reply)),
            b"".join(event.data for event in a.feed(to_a) if isinstance(event, Reply)),
        )
    assert to_a == to_b == b""


def test_modem_states_are_reported_when_they_change_and_the_mask_lets_them() -> None:
    server = Server()
    off, on = ModemBits(False, False, False, False), ModemBits(True, True, True, True)
    assert server.modem_state(on) == b""  # the client does not use the option
    server.feed(bytes((IAC, WILL, COM_PORT)))
    assert server.modem_state(off) == bytes((IAC, SB, COM_PORT, 107, 0, IAC, SE))
    assert server.modem_state(off) == b""
    assert server.modem_state(on) == bytes((IAC, SB, COM_PORT, 107, 0xFB, IAC, SE))
    assert server.modem_state(off) == bytes((IAC, SB, COM_PORT, 107, 0x0F, IAC, SE))
    assert server.feed(command(11, 0x11)) == [  # the present state follows
        Reply(command(111, 0x11) + command(107, 0))
    ]
    assert server.modem_state(ModemBits(False, True, False, True)) == b""
    assert server.modem_state(on) == bytes((IAC, SB, COM_PORT, 107, 0x11, IAC, SE))
    assert server.feed(command(7)) == [
        Reply(command(107, 0x10))  # polled: the state alone
    ]


OPENINGS = st.lists(st.sampled_from([0, COM_PORT, 45, SB, WILL, DONT, IAC]), max_size=8).map(bytes)


@given(OPENINGS)
def test_two_negotiations_of_known_options_are_telnet(data: bytes) -> None:
    verdict = begins_with_negotiation(data)
    if verdict:
        verbs = (WILL, WONT, DO, DONT)
        for (first, verb, option), more in ((data[:3], ()), (data[3:6], (SB,))):
            assert first == IAC and verb in (*verbs, *more) and option <= COM_PORT
    elif verdict is None:
        completions = [(data + bytes((IAC, DO, 1, IAC, DO, 1))[size:])[:6] for size in range(6)]
        assert any(begins_with_negotiation(each) for each in completions)
    else:
        assert not begins_with_negotiation(data + bytes((IAC, DO, 1, IAC, DO, 1)))


@given(OPENINGS)
def test_with_silence_a_whole_one_is_telnet_too(data: bytes) -> None:
    once = len(data) == 3 and data[0] == IAC and data[1] in (WILL, DONT) and data[2] <= COM_PORT
    verdict = begins_with_negotiation(data)
    assert begins_with_negotiation(data, silence=True) is (once if verdict is None else verdict)
