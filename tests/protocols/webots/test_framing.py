"""Handshake, requests and answers of Webots' protocol: the bytes of the wire, and hostile ones."""

import hashlib
import os
import struct

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.fields import CAP_BYTES
from hilgw.errors import PeerError
from hilgw.protocols.webots.answers import Answer, AnswerReader, Image, comparable, encode_answer
from hilgw.protocols.webots.handshake import (
    MODULE_FOLDER,
    TOKEN,
    URL,
    Acknowledgement,
    decode_acknowledgement,
    decode_hello,
    encode_hello,
    encode_name,
    program_environment,
)
from hilgw.protocols.webots.passage import AnswerPassage
from hilgw.protocols.webots.queues import HeldPackets
from hilgw.protocols.webots.requests import (
    LEAVE,
    Block,
    Leave,
    Request,
    RequestReader,
    encode_request,
)
from hilgw.protocols.webots.wire import ProtocolError
from tests.cases import pieces

FIRST_REQUEST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
EXIT = bytes.fromhex("0f 00 00 00 00 00 00 00 00 00 01 00 00 00 26")
REMOTE_ON = bytes.fromhex("0f000000 00000000 0000 01000000 20")
STEP = bytes.fromhex("08 00 00 00 20 00 00 00")
EMPTY_ANSWER = bytes.fromhex("01 00 04 00 00 00 04 00 00 00 00 00 00 00 00")
STEP_ANSWER = (
    bytes.fromhex("01 00 1a 00 00 00 1a 00 00 00 00 00 00 00 00 00 00 04")
    + struct.pack("<d", 0.064)
    + bytes.fromhex("03 00 32")
    + struct.pack("<d", 102.0)
)

blocks = st.lists(st.builds(Block, st.integers(0, 65535), st.binary(max_size=40)), max_size=4)
requests = st.builds(Request, st.integers(0, 2**32 - 1), blocks.map(tuple))
images = st.lists(
    st.builds(Image, st.integers(0, 65535), st.sampled_from([0, 9]), st.binary(max_size=60)),
    max_size=3,
)


def in_chunks(reader: RequestReader | AnswerReader, data: bytes, cuts: list[int]) -> list[object]:
    """All that `reader` returns for data that is split at these places."""
    parts: list[object] = []
    for piece in pieces(data, cuts):
        reader.feed(piece)
        while (part := reader.next()) is not None:
            parts.append(part)
    return parts


def test_the_line_of_the_controller() -> None:
    assert encode_hello() == b"CTR"
    assert encode_hello("rob 1") == b"CTR\nRobot-Name: rob%201"
    assert decode_hello(b"CTR") == ""
    assert decode_hello(b"CTR\nRobot-Name: rob%201") == "rob%201" == encode_name("rob 1")
    assert [decode_hello(b"CTR\nRobot-Name: "[:size]) for size in range(16)].count(None) == 15
    assert encode_name("aZ09-_~.é/%") == "aZ09-_~.%C3%A9%2F%25"


def test_a_name_that_is_not_encoded() -> None:
    """R2023a sends it as it is."""
    assert decode_hello("CTR\nRobot-Name: rob é".encode()) == encode_name("rob é")
    assert decode_hello(b"CTR\nRobot-Name: " + b"a" * 91) == encode_name("a" * 91)


def test_a_long_name_is_its_hash() -> None:
    assert encode_name("a" * 90) == "a" * 90
    assert encode_name("a" * 91) == hashlib.sha1(b"a" * 91).hexdigest()
    # of the encoded name; on a local socket the path leaves less room, and 4 digits at least
    hashed = hashlib.sha1(b"%C3%A9" * 16).hexdigest()
    assert encode_name("é" * 16) == hashed
    assert encode_name("é" * 16, used=60) == hashed[:30]
    assert encode_name("é" * 16, used=200) == hashed[:4]


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1",
        b"CTX",
        b"CTR\n\0",
        b"CTR\nRobot-Name: a\nb",
        b"CTR\nRobot-Name: a\xff",
        b"CTR\nRobot-Name: " + b"a" * 1001,
    ],
)
def test_other_lines_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_hello(data)
    assert caught.value.tail == data[:256] and caught.value.where == "handshake"
    assert caught.value.fix


def test_the_word_of_webots() -> None:
    words = {b"CONNECTED", b"FAILED", b"PROCESSING", b"FORBIDDEN"}
    assert {word.encode() for word in Acknowledgement} == words
    for word in words:
        assert decode_acknowledgement(word) == Acknowledgement(word.decode())
        assert all(decode_acknowledgement(word[:size]) is None for size in range(len(word)))
    with pytest.raises(ProtocolError, match="not an answer of Webots"):
        decode_acknowledgement(b"CONNECTED\0")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_every_name_passes_the_handshake(name: str) -> None:
    assert decode_hello(encode_hello(name)) == encode_name(name)


def test_a_program_gets_the_address_and_no_simulator_of_others() -> None:
    inherited = {
        "HOME": "/home/me", "PYTHONPATH": "mine", URL: "ipc://other", TOKEN: "secret",
        "WEBOTS_INSTANCE_PATH": "/tmp/webots/me/1", "WEBOTS_ROBOT_NAME": "other",
    }  # fmt: skip
    path = {"HOME": "/home/me", "PYTHONPATH": f"{MODULE_FOLDER}{os.pathsep}mine"}
    url = "tcp://lab:1234/rover"
    assert program_environment(url, inherited) == path | {URL: url, TOKEN: "secret"}
    assert program_environment(url, inherited, "other")[TOKEN] == "other"
    assert TOKEN not in program_environment(url, inherited, "")
    assert program_environment(None, inherited) == inherited | path


def test_what_a_receiver_holds_is_bounded_and_taken_once() -> None:
    held = HeldPackets[int]()
    assert held.hold(0, 1) == "disabled"
    held.period_ms = 32
    for number in range(3):
        assert held.hold(number, CAP_BYTES) is None and held.hold(9, 1) == "cap"
        assert held.take() == []
        held.sample()
        assert (held.take(), len(held)) == ([number], 0)


def test_requests_of_the_wire() -> None:
    reader = RequestReader()
    reader.feed(FIRST_REQUEST + STEP + REMOTE_ON + EXIT + LEAVE)
    expected = [
        Request(0, (Block(0, b"\x23\0\0"),)),
        Request(32),
        Request(0, (Block(0, b"\x20"),)),
        Request(0, (Block(0, b"\x26"),)),
    ]
    assert [reader.next() for _ in range(6)] == [*expected, Leave(), None]
    assert [encode_request(*each) for each in expected] == [FIRST_REQUEST, STEP, REMOTE_ON, EXIT]


@given(st.lists(requests, min_size=1, max_size=4), st.lists(st.integers(0, 500), max_size=8))
def test_requests_pass_in_any_chunks(sent: list[Request], cuts: list[int]) -> None:
    data = b"".join(encode_request(*each) for each in sent) + LEAVE
    assert in_chunks(RequestReader(), data, cuts) == [*sent, Leave()]


@pytest.mark.parametrize(
    "data",
    [
        "07000000 00000000",
        "ffffffff 00000000",
        "ffffff7f 00000000",
        "00000080",
        "0a000000 20000000 0100",  # ends inside the head of a block
        "0e000000 20000000 0100 ffffffff",
        "0e000000 20000000 0100 ffffff7f",
        "0f000000 20000000 0100 02000000 00",  # one byte over the end
    ],
)
def test_impossible_sizes_of_a_request(data: str) -> None:
    reader = RequestReader(limit=1000)
    assert reader.whole(STEP) == Request(32)
    reader.feed(STEP + bytes.fromhex(data))
    assert reader.next() == Request(32)
    with pytest.raises(ProtocolError) as caught:
        reader.next()
    assert caught.value.where == "request" and caught.value.fix
    assert caught.value.tail and caught.value.tail in bytes.fromhex(data)
    reader.feed(STEP)
    with pytest.raises(ProtocolError):
        reader.next()
    assert not reader.pending and reader.whole(STEP) is None


def test_a_request_has_at_most_one_block_per_tag() -> None:
    reader = RequestReader()
    reader.feed(encode_request(32, [(0, b"")] * 65537))
    with pytest.raises(ProtocolError, match="65536 blocks"):
        reader.next()


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_any_bytes_as_requests(given_: list[bytes]) -> None:
    reader = RequestReader(limit=100)
    for piece in given_:
        try:
            reader.feed(piece)
            while (request := reader.next()) is not None:
                assert isinstance(request, Leave) or 8 <= len(encode_request(*request)) <= 100
        except ProtocolError as error:
            assert error.what and error.fix and len(error.tail) <= 256
            break
        assert reader.pending < 150


def test_answers_of_the_wire() -> None:
    reader = AnswerReader()
    reader.feed(EMPTY_ANSWER + STEP_ANSWER)
    empty, step = reader.next(), reader.next()
    assert empty is not None and step is not None and reader.next() is None
    assert (empty.delay, empty.messages, empty.images) == (0, b"", [])
    assert (step.delay, step.messages) == (0, STEP_ANSWER[15:])
    assert encode_answer(0) == EMPTY_ANSWER
    assert encode_answer(0, STEP_ANSWER[15:]) == STEP_ANSWER
    assert encode_answer(-1, b"abc", local=True) == bytes.fromhex("0b000000 ffffffff 616263")


@given(
    st.lists(
        st.tuples(st.integers(-1, 99), st.binary(max_size=60), images), min_size=1, max_size=3
    ),
    st.lists(st.integers(0, 800), max_size=8),
)
def test_answers_pass_in_any_chunks(
    sent: list[tuple[int, bytes, list[Image]]], cuts: list[int]
) -> None:
    encoded = [encode_answer(*each) for each in sent]
    parts = in_chunks(AnswerReader(), b"".join(encoded), cuts)
    assert [(a.delay, a.messages, a.images) for a in parts if isinstance(a, Answer)] == sent
    assert [a.raw for a in parts if isinstance(a, Answer)] == encoded
    local = b"".join(encode_answer(delay, data, local=True) for delay, data, _ in sent)
    parts = in_chunks(AnswerReader(local=True), local, cuts)
    assert [(a.delay, a.messages) for a in parts if isinstance(a, Answer)] == [
        each[:2] for each in sent
    ]


def test_a_message_may_be_split_across_chunks() -> None:
    """Webots writes a data chunk, an image, and another data chunk."""
    data = bytes.fromhex("0300 0a000000 07000000 00 00000000 0000 04") + bytes.fromhex(
        "05000000 01 0200 00 0102030405 03000000 00 aabbcc"
    )
    reader = AnswerReader()
    reader.feed(data)
    answer = reader.next()
    assert answer is not None and answer.raw == data
    assert answer.messages == bytes.fromhex("0000 04 aabbcc")
    assert answer.images == [Image(2, 0, bytes([1, 2, 3, 4, 5]))]


@given(st.integers(0, 99), st.binary(max_size=60), images, st.binary(min_size=1, max_size=70))
def test_a_chunk_is_added_behind_all_others(
    delay: int, data: bytes, pictures: list[Image], more: bytes
) -> None:
    raw = encode_answer(delay, data, pictures)
    longer = AnswerPassage(lambda *first: more, lambda messages: None).feed(raw)
    assert longer[6 : len(raw)] == raw[6:]  # every other byte is untouched
    reader = AnswerReader()
    reader.feed(longer)
    again = reader.next()
    assert again is not None
    assert (again.delay, again.messages, again.images) == (delay, data + more, pictures)


def test_an_answer_with_65535_chunks_has_no_room_for_one_more() -> None:
    raw = struct.pack("<HiiBi", 65535, 4, 4, 0, 0) + struct.pack("<iB", 0, 0) * 65534
    reader = AnswerReader()
    reader.feed(raw)
    answer = reader.next()
    assert answer is not None and len(answer.spans) == 65535
    room: list[bool] = []

    def begin(delay: int, messages: bytes, has_room: bool) -> bytes:
        room.append(has_room)
        return b""

    assert AnswerPassage(begin, lambda messages: None).feed(raw) == raw
    assert room == [False]


@pytest.mark.parametrize(
    "data",
    [
        "0000 04000000",
        "0100 03000000",
        "0100 ffffffff",
        "0100 ffffff7f",
        "0100 04000000 04000000 02",  # unknown type
        "0100 04000000 ffffffff 00",
        "0100 04000000 ffffff7f 00",
        "0100 08000000 03000000 00 000000",  # no delay
        "0200 04000000 05000000 01 0200 00 0102030405",  # an image first
        "0200 04000000 04000000 00 00000000 ffffff7f 01 0000 00",
        "0200 04000000 04000000 00 00000000 ffffffff 01 0000 00",
        "0200 05000000 04000000 00 00000000 02000000 00 0000",  # the total is too small
        "0100 05000000 04000000 00 00000000",  # and too large
    ],
)
def test_impossible_answers(data: str) -> None:
    reader = AnswerReader(limit=1000)
    assert reader.whole(bytes.fromhex(data)) is None
    reader.feed(EMPTY_ANSWER + bytes.fromhex(data))
    assert reader.next() is not None
    with pytest.raises(ProtocolError) as caught:
        reader.next()
    assert isinstance(caught.value, PeerError) and caught.value.where == "answer"
    assert caught.value.fix and caught.value.tail
    with pytest.raises(ProtocolError):
        reader.next()


@pytest.mark.parametrize("size", [1001, 0, 7, -1, 2**31 - 1])
def test_sizes_are_refused_before_the_bytes_have_come(size: int) -> None:
    requests = [RequestReader(limit=1000)] * (size == 1001)
    for reader in (*requests, AnswerReader(limit=1000, local=True)):
        reader.feed(struct.pack("<i", size))
        with pytest.raises(ProtocolError):
            reader.next()
    longer = encode_request(0, [(0, bytes(1000))])
    assert RequestReader(limit=1000).whole(longer) is None
    assert AnswerReader(limit=1000).whole(encode_answer(0, bytes(1000))) is None


@given(st.lists(st.binary(max_size=60), max_size=6), st.booleans(), st.binary(max_size=30))
def test_any_bytes_as_answers(given_: list[bytes], local: bool, tail: bytes) -> None:
    reader = AnswerReader(limit=100, local=local)
    head = b"\x02\0\x09\0\0\0\x04\0\0\0\0\0\0\0\0"
    for piece in [*given_, b"" if local else head, tail]:
        try:
            reader.feed(piece)
            while (answer := reader.next()) is not None:
                assert len(answer.raw) <= 200 and answer.messages is not None
        except ProtocolError as error:
            assert error.what and error.fix and len(error.tail) <= 256
            break
        assert reader.pending < 250


def test_answers_of_other_times_and_sockets_are_compared_as_equal() -> None:
    """The step at another time; the configuration, which names it too; and another answer."""
    flags = bytes(range(6))
    begins = (b"\0\0\4", b"\0\0\0rover\0R2025a\0" + flags)
    for begin in begins:
        for rest in (b"", b"more"):
            one, other = (begin + struct.pack("<d", time) + rest for time in (0.5, 1e9))
            assert comparable(encode_answer(3, one + b"!")) != comparable(encode_answer(3, other))
            answers = {comparable(encode_answer(3, one, local=local)) for local in (False, True)}
            assert answers == {comparable(encode_answer(3, other))}
            assert len(answers.pop()) == len(encode_answer(3, one))
    assert comparable(b"\1\0") == b"\1\0"
    assert comparable(encode_answer(0, b"\1\0\4abc")) == encode_answer(0, b"\1\0\4abc")
