"""The C library of tools/firmware/hilgw_node in this process, by ctypes."""

import ctypes
import functools
import io
import subprocess
import sys
import tempfile
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_uint8,
    c_uint16,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "tools" / "firmware" / "hilgw_node"
LIBRARY = SOURCES / "src" / "hilgw_node.c"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
COUNTERS = (
    "bad_crc",
    "bad_code",
    "bad_escape",
    "too_long",
    "too_short",
    "truncated",
    "aborted",
    "garbage_bytes",
    "lost",
    "not_sent",
    "overrun",
)
FRAMINGS = {  # by hilgw's name: the symbol, and the bytes of the packet buffer beside the payload
    "cobs-crc16": ("hilgw_cobs_crc16", 2),
    "slip": ("hilgw_slip", 0),
    "slip-crc16": ("hilgw_slip_crc16", 2),
    "hdlc": ("hilgw_hdlc", 2),
    "length": ("hilgw_length", 6),
    "lines": ("hilgw_lines", 0),
    "wc2ec": ("hilgw_wc2ec_stream", 0),
}
LOOPS = """
#include <string.h>
#include "hilgw_node.h"
const unsigned sizes[] = {sizeof(hilgw_link), sizeof(hilgw_device), sizeof(hilgw_robot)};
void put_all(hilgw_link *link, const uint8_t *data, unsigned count) {
  while (count--) hilgw_byte_in(link, *data++);
}
unsigned take_all(hilgw_link *link, uint8_t *data, unsigned room) {
  unsigned used = 0;
  for (int16_t byte; used < room && (byte = hilgw_byte_out(link)) >= 0;)
    data[used++] = (uint8_t)byte;
  return used;
}
unsigned feed_all(hilgw_link *link, const uint8_t *data, unsigned count, uint32_t now_ms,
                  uint8_t *packets, unsigned room) {
  unsigned used = 0;
  for (unsigned i = 0; i < count; i++) {
    hilgw_byte_in(link, data[i]);
    while (hilgw_read(link, now_ms)) {
      if (room - used < 2u + link->length) return room;
      memcpy(packets + used, &link->length, 2);
      memcpy(packets + used + 2, link->payload, link->length);
      used += 2u + link->length;
    }
  }
  return used;
}
"""  # what would be millions of calls from Python
MAIN = """
#define _POSIX_C_SOURCE 200112L
#include <poll.h>
#include <time.h>
#include <unistd.h>
#include "hilgw_node.h"
static uint8_t in[1024], out[1024], packet[HILGW_RADIO_BYTES + 2];
static hilgw_link line;
static hilgw_robot robot;
static hilgw_device devices[] = {DEVICES};
int main(void) {
  hilgw_link_init(&line, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  INIT;
  for (uint8_t data[100];;) {
    struct pollfd waits = {.fd = 0, .events = POLLIN};
    const ssize_t size = poll(&waits, 1, 5) > 0 ? read(0, data, sizeof data) : 0;
    if (size < 0 || (size == 0 && waits.revents)) return 0;
    for (ssize_t i = 0; i < size; i++) hilgw_byte_in(&line, data[i]);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint32_t now_ms = (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
    WORK
    for (int16_t next; (next = hilgw_byte_out(&line)) >= 0;) {
      const uint8_t one = (uint8_t)next;
      if (write(1, &one, 1) != 1) return 1;
    }
  }
}
"""  # a program on this computer, whose line is its standard input and output
SENSOR, LINEAR, ROTATIONAL, EMITTER, RECEIVER = range(5)  # hilgw_kind
INLINE = 16  # bytes that ctypes keeps in the object itself, where no sanitizer looks
TAKEN = ctypes.create_string_buffer(1 << 17)  # what such a loop returns


class Device(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("value", c_float),
        ("target", c_float),
        ("channel", c_int32),
        ("due_ms", c_uint32),
        ("period", c_uint16),
        ("type", c_uint8),
        ("index", c_uint8),
        *((name, c_bool) for name in ("known", "has_value", "has_target", "waits")),
    ]


class Packet(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("length", c_uint16),
        ("device", c_uint8),
        ("channel", c_int32),
        ("strength", c_float),
        ("direction", c_float * 3),
    ]


class Counted(ctypes.Structure):
    _fields_ = [
        ("payload", POINTER(c_uint8)),
        ("length", c_uint16),
        ("counts", c_uint16 * len(COUNTERS)),
    ]


def main_of(parts: dict[str, str]) -> str:
    """Return the source of a program. parts: DEVICES, INIT and WORK of MAIN."""
    text = MAIN
    for key, part in parts.items():
        text = text.replace(key, part)
    return text


def compiled(target: Path, *options: str, source: Path = LIBRARY) -> Path:
    """Compile the library, or a changed copy, to a shared object for this machine."""
    loops = target.with_suffix(".c")
    loops.write_text(LOOPS)
    command = ["gcc", *STRICT, "-shared", "-fPIC", "-O1", "-g", *options, f"-I{SOURCES / 'src'}"]
    command += [str(source), str(loops), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@functools.cache
def _built(options: tuple[str, ...]) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="hilgw-node-") as folder:
        return loaded(compiled(Path(folder) / "node.so", *options))


def library(*options: str) -> ctypes.CDLL:
    """Return the library, compiled once in this process."""
    return _built(options)


def loaded(path: Path) -> ctypes.CDLL:
    firmware = ctypes.CDLL(str(path))
    firmware.hilgw_byte_out.restype = ctypes.c_int16
    for name in ("read", "send", "controller_poll", "controller_ready", "controller_set"):
        getattr(firmware, f"hilgw_{name}").restype = c_bool
    for name in ("controller_send", "controller_emitter", "controller_receiver"):
        getattr(firmware, f"hilgw_{name}").restype = c_bool
    firmware.hilgw_body_poll.restype = firmware.hilgw_body_receive.restype = c_bool
    for name in ("value", "body_motor", "body_range", "get_double"):
        getattr(firmware, f"hilgw_{name}").restype = c_float
    return firmware


class Link:
    """A `hilgw_link`. size: of the packet buffer; its payload is smaller by the framing's spare."""

    def __init__(
        self, library: ctypes.CDLL, framing: str, *, size: int = 64, queue: int = 4096
    ) -> None:
        symbol, self.spare = FRAMINGS[framing]
        self.library = library
        sizes = (ctypes.c_uint * 3).in_dll(library, "sizes")
        assert sizes[1] == ctypes.sizeof(Device)
        self.itself = ctypes.create_string_buffer(sizes[0])
        # Buffers that end with their memory: AddressSanitizer sees one byte beyond them.
        self.memory = [ctypes.create_string_buffer(INLINE + n) for n in (size, queue, queue)]
        packet, into, out = (c_void_p(ctypes.addressof(each) + INLINE) for each in self.memory)
        self.robot_size = sizes[2]
        self.limit = size - self.spare
        described = ctypes.c_char.in_dll(library, symbol)
        library.hilgw_link_init(
            self.itself, ctypes.byref(described), packet, c_uint16(size), into, c_uint16(queue),
            out, c_uint16(queue),
        )  # fmt: skip

    @property
    def _counted(self) -> Counted:
        return Counted.from_buffer(self.itself)

    @property
    def dropped(self) -> dict[str, int]:
        """Return the counters that are not zero."""
        counts = zip(COUNTERS, self._counted.counts, strict=True)
        return {name: count for name, count in counts if count}

    def feed(self, data: bytes, now_ms: int = 0) -> list[bytes]:
        """Pass bytes as the interrupt does; return the packets that the loop reads after each."""
        used = self.library.feed_all(self.itself, data, len(data), now_ms, TAKEN, len(TAKEN))
        assert used < len(TAKEN)
        taken, packets = io.BytesIO(TAKEN[:used]), []
        while head := taken.read(2):
            packets.append(taken.read(int.from_bytes(head, sys.byteorder)))
        return packets

    def put(self, data: bytes) -> None:
        self.library.put_all(self.itself, data, len(data))

    def read(self, now_ms: int = 0) -> list[bytes]:
        packets = []
        while self.library.hilgw_read(self.itself, c_uint32(now_ms)):
            link = self._counted
            packets.append(ctypes.string_at(link.payload, link.length))
        return packets

    def send(self, payload: bytes) -> bool:
        sent: bool = self.library.hilgw_send(self.itself, payload, c_uint16(len(payload)))
        return sent

    def sent(self) -> bytes:
        """Take what is in the queue to the UART."""
        return TAKEN[: self.library.take_all(self.itself, TAKEN, len(TAKEN))]

    def encode(self, payload: bytes) -> bytes | None:
        """Return the frame of a packet; None: this framing cannot carry it."""
        return self.sent() if self.send(payload) else None


class Robot:
    """A `hilgw_robot` and its devices, by their names."""

    def __init__(self, link: Link, devices: dict[str, int], *, step_ms: int | None = None) -> None:
        """step_ms: of a body; None: a controller."""
        self.link, self.library = link, link.library
        self.names = list(devices)
        made = [Device(name.encode(), kind) for name, kind in devices.items()]
        self.devices = (Device * len(made))(*made)
        self.itself = ctypes.create_string_buffer(link.robot_size)
        start = [self.itself, link.itself, self.devices, c_uint8(len(made))]
        self.is_body = step_ms is not None
        if step_ms is None:
            self.library.hilgw_controller_init(*start)
        else:
            types = (c_uint8 * 5).in_dll(self.library, "hilgw_r2020a")
            self.library.hilgw_body_init(*start, types, c_uint16(step_ms))

    def poll(self, now_ms: int, data: bytes = b"") -> bytes:
        """Run the loop once with these bytes received; return the bytes that it sends."""
        self.link.put(data)
        poll = self.library.hilgw_body_poll if self.is_body else self.library.hilgw_controller_poll
        self.news: bool = poll(self.itself, c_uint32(now_ms))
        return self.link.sent()

    @property
    def ready(self) -> bool:
        return bool(self.library.hilgw_controller_ready(self.itself))

    @property
    def packet(self) -> tuple[str, int, bytes, tuple[float, ...]] | None:
        """Return the packet of the last poll: device, channel, data, strength and direction."""
        packet = Packet.from_buffer(self.itself)
        if packet.data is None:
            return None
        data = ctypes.string_at(packet.data, packet.length)
        signal = (packet.strength, *packet.direction)
        return self.names[packet.device], packet.channel, data, signal

    def _call(self, function: str, name: str, *arguments: object) -> Any:
        call = getattr(self.library, f"hilgw_{function}")
        return call(self.itself, c_uint8(self.names.index(name)), *arguments)

    def send(self, name: str, channel: int, data: bytes) -> bool:
        length = c_uint16(len(data))
        return bool(self._call("controller_send", name, c_int32(channel), data, length))

    def set_emitter(self, name: str, channel: int, range_m: float) -> bool:
        return bool(self._call("controller_emitter", name, c_int32(channel), c_float(range_m)))

    def set_receiver(self, name: str, channel: int, period_ms: int) -> bool:
        return bool(self._call("controller_receiver", name, c_int32(channel), c_int32(period_ms)))

    def radio(self, name: str) -> tuple[int, float]:
        """Return channel and range that the gateway has set; without these -7, and -7."""
        channel = self._call("body_channel", name, c_int32(-7))
        return channel, self._call("body_range", name, c_float(-7))

    def receive(self, name: str, channel: int, data: bytes, *signal: float) -> bool:
        """Pass on what a Receiver received. signal: its strength and direction."""
        memory = ctypes.create_string_buffer(data, len(data))
        packet = Packet(ctypes.addressof(memory), len(data), self.names.index(name), channel)
        packet.strength, packet.direction = signal[0], (c_float * 3)(*signal[1:])
        return bool(self.library.hilgw_body_receive(self.itself, ctypes.byref(packet)))

    def command(self, name: str, target: float) -> bool:
        return bool(self._call("controller_set", name, c_float(target)))

    def value(self, name: str, otherwise: float = -1.0) -> float:
        return float(self._call("value", name, c_float(otherwise)))

    def report(self, name: str, value: float) -> None:
        self._call("body_set", name, c_float(value))

    def motor(self, name: str, now_ms: int) -> float:
        return float(self._call("body_motor", name, c_uint32(now_ms)))
