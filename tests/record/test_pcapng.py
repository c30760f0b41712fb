"""The blocks of capture files: written, read, damaged, of other tools, and judged by tshark."""

import io
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hilgw.record.pcapng import (
    INBOUND,
    LONGEST,
    OUTBOUND,
    Block,
    CapturedPacket,
    Interface,
    PcapngSection,
    Reader,
    RecordingError,
    encode,
    resync,
)

TEXTS = st.text(max_size=40).filter(lambda text: "\0" not in text)
TIMES = st.integers(0, 2**63)
PACKETS = st.builds(
    CapturedPacket,
    st.just(0),
    TIMES,
    st.binary(max_size=70),
    st.sampled_from([0, INBOUND, OUTBOUND]),
    st.binary(max_size=30),
)
START = encode(PcapngSection("a test")) + encode(Interface(147, "medium"))


def read(data: bytes) -> list[Block]:
    return list(Reader(io.BytesIO(data).read, "a.pcapng"))


@pytest.mark.exhaustive
@given(TEXTS, TEXTS, st.lists(PACKETS, max_size=5))
def test_what_is_written_is_read(comment: str, name: str, packets: list[CapturedPacket]) -> None:
    blocks = [
        PcapngSection(comment, "hilgw", "Linux", "arm"),
        Interface(250, name, "uart"),
        *packets,
    ]
    data = b"".join(map(encode, blocks))
    assert len(data) % 4 == 0
    assert read(data) == blocks


def test_other_tools_files_are_read() -> None:
    """Big-endian, microseconds, an offset of the times, an unknown block, and an option twice."""

    def block(kind: int, body: bytes) -> bytes:
        total = struct.pack(">I", 12 + len(body))
        return struct.pack(">I", kind) + total + body + total

    first, second = struct.pack(">HH4s", 1, 4, b"one "), struct.pack(">HH4s", 1, 4, b"two ")
    offset = struct.pack(">HHq", 14, 8, 100)
    data = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack(">HHI", 147, 0, 0) + offset + bytes(4))
    data += block(5, bytes(12))
    data += block(6, struct.pack(">IIIII", 0, 0, 7, 1, 1) + b"x\0\0\0" + first + second)
    section, interface, packet = read(data)
    assert section == PcapngSection()
    assert interface == Interface(147, "", "", 1000, 100 * 10**9)
    assert packet == CapturedPacket(0, 100 * 10**9 + 7000, b"x", 0, b"one ")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "is not a pcapng file"),
        (b"adapters: {}\n# a configuration", "is not a pcapng file"),
        (START[:8] + bytes(4) + START[12:], "the byte order of a section is unknown"),
        (START + struct.pack("<III", 6, LONGEST + 4, 0), f"a block of {LONGEST + 4} bytes"),
        (START + struct.pack("<III", 6, 8, 0), "a block of 8 bytes"),
        (START + struct.pack("<IIII", 6, 16, 0, 12), "the two lengths of a block differ"),
        (START + encode(CapturedPacket(1, 0, b"")), "a block of kind 6 is not valid"),
    ],
)
def test_what_is_damaged_is_named(data: bytes, what: str) -> None:
    reader = Reader(io.BytesIO(data).read, "a.pcapng")
    with pytest.raises(RecordingError, match=what):
        list(reader)


@given(st.lists(PACKETS, min_size=5, max_size=8), st.integers(0, 3), st.binary(max_size=50))
def test_a_place_to_begin_is_found(packets: list[CapturedPacket], cut: int, noise: bytes) -> None:
    """From anywhere within the first packet: the next one, or one after it."""
    lines = [encode(packet) for packet in packets]
    data = lines[0][4 * cut + 4 :] + b"".join(lines[1:])
    at = resync(data, interfaces=1)
    assert at is not None
    begins = [len(data) - len(b"".join(lines[each:])) for each in range(1, len(lines))]
    assert at in begins
    assert resync(noise, interfaces=1) is None


def test_a_file_that_was_cut_is_read_up_to_there() -> None:
    packets = [CapturedPacket(0, each, bytes([each])) for each in range(3)]
    data = START + b"".join(map(encode, packets))
    for length in range(len(START), len(data)):
        reader = Reader(io.BytesIO(data[:length]).read, "a.pcapng")
        whole = (length - len(START)) // len(encode(packets[0]))
        assert list(reader)[2:] == packets[:whole]
        assert reader.truncated is bool((length - len(START)) % len(encode(packets[0])))


@pytest.mark.process
@pytest.mark.judge("tshark")
def test_tshark_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    line = struct.pack(">IIBBH", 1, 2, 1, 0, 0) + b"\xff\0hello"
    blocks = [
        PcapngSection("a test", "hilgw 1", "Linux", "arm"),
        Interface(147, "medium", "all packets"),
        Interface(250, "uart0"),
        CapturedPacket(0, 1_700_000_000_123_456_789, b"ping", 0, b'{"source":"rover.tx"}'),
        CapturedPacket(1, 1_700_000_001_000_000_001, line, OUTBOUND),
    ]
    path.write_bytes(b"".join(map(encode, blocks)))
    fields = ["frame.time_epoch", "frame.interface_name", "frame.comment", "frame.packet_flags"]
    fields += ["rtacser.eventtype", "data.data"]
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|"]
    command += [part for field in fields for part in ("-e", field)]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    first, second = out.splitlines()
    comment = '{"source":"rover.tx"}'
    assert first == f"1700000000.123456789|medium|{comment}|||70696e67"
    assert second == "1700000001.000000001|uart0||0x00000002|0x01|ff0068656c6c6f"
