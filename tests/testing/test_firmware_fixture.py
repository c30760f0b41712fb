"""The fixture `firmware`, and a recorded fault of firmware that becomes a test of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import serial
import yaml

from hilgw.errors import ConfigError, UsageError
from tests.e2e.running import run, run_program
from tests.firmware.emulated import elf
from tests.firmware.node import SOURCES

pytestmark = [
    pytest.mark.process,
    pytest.mark.judge("gcc"),
    pytest.mark.wall_clock("a virtual port, and firmware"),
]
NATIVE = """
#include <stdio.h>
#include <unistd.h>
#include "hilgw_node.h"
static uint8_t in[128], out[128], packet[66];
static hilgw_link line;
int main(void) {
  hilgw_link_init(&line, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  fprintf(stderr, "firmware 1.0\\n");
  for (uint8_t byte; read(0, &byte, 1) == 1;) {
    hilgw_byte_in(&line, byte);
    while (hilgw_read(&line, 0)) {
      uint8_t answer[64] = "pong";
      for (uint16_t i = 4; i < line.length; i++) answer[i] = line.payload[i];
      if (FAULT && line.payload[line.length - 1] == '2') answer[0] = 'x';
      hilgw_send(&line, answer, line.length);
    }
    for (int16_t next; (next = hilgw_byte_out(&line)) >= 0;) {
      const uint8_t one = (uint8_t)next;
      if (write(1, &one, 1) != 1) return 1;
    }
  }
  return 0;
}
"""


def built(folder: Path, fault: int) -> Path:
    """Firmware for this computer."""
    source, target = folder / "node.c", folder / "node.elf"
    source.write_text(NATIVE)
    command = ["gcc", f"-DFAULT={fault}", f"-I{SOURCES / 'src'}", str(source)]
    library = str(SOURCES / "src" / "hilgw_node.c")
    subprocess.run([*command, library, "-o", str(target)], check=True, capture_output=True)
    return target


def test_it_answers_on_its_port(firmware: Any, tmp_path: Path) -> None:
    from hilgw.framing import create

    framing = create("cobs-crc16")
    node = firmware(built(tmp_path, 0), machine="native")
    with serial.Serial(node.port, 115200, timeout=10) as port:
        port.write(framing.encode(b"ping 1"))
        assert framing.feed(port.read(len(framing.encode(b"pong 1")))) == [b"pong 1"]
        node.reset()
    answers = firmware(tmp_path / "node.elf", "native", framing="cobs-crc16").play(
        [(0.0, framing.encode(b"ping 1")), (0.1, framing.encode(b"ping 7"))], answers=2
    )
    assert answers.packets == [b"pong 1", b"pong 7"]
    assert answers.dropped == {}


@pytest.mark.emulated
@pytest.mark.judge("qemu-system-avr")
@pytest.mark.judge("avr-gcc")
@pytest.mark.judge("make")
def test_on_an_emulated_board(firmware: Any) -> None:
    node = firmware(elf("ping", "uno"), machine="uno", framing="cobs-crc16")
    answers = node.play([], answers=2, wait_s=40)
    assert answers.packets == [b"ping 1", b"ping 1"]


def test_errors_name_what_to_do(firmware: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        firmware(tmp_path / "none.elf")
    file = built(tmp_path, 0)
    with pytest.raises(UsageError, match="no machine 'unno'") as raised:
        firmware(file, machine="unno")
    assert "uno" in raised.value.fix


@pytest.mark.judge("qemu-system-avr")
def test_an_elf_of_another_processor(firmware: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"node\.elf is for x86-64, not for qemu-system-avr"):
        firmware(built(tmp_path, 0), machine="uno")


def test_the_report_of_a_failed_test_has_frames_and_text(tmp_path: Path) -> None:
    built(tmp_path, 0)
    (tmp_path / "test_it.py").write_text(
        "import serial\n\n\ndef test_it(firmware):\n"
        "    node = firmware('node.elf', machine='native', framing='cobs-crc16')\n"
        "    with serial.Serial(node.port, 115200, timeout=10) as port:\n"
        "        port.write(bytes.fromhex('07 70 69 6e 67 f7 2b 00'))\n"
        "        assert port.read(8) == b''\n"
    )
    done = run_program(sys.executable, "-m", "pytest", "test_it.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "packet of 4 B: b'ping'" in done.stdout and "packet of 4 B: b'pong'" in done.stdout
    assert "hilgw: printed by programs" in done.stdout and "node: firmware 1.0" in done.stdout


def test_a_fault_of_firmware_becomes_a_test_of_it(tmp_path: Path) -> None:
    """The test that capture2test writes is red with the fault, and green without it."""
    built(tmp_path, 1)
    config = {
        "version": 1,
        "backend": "mock",
        "robots": {
            "rover": {
                "devices": {
                    "tx": {"node": "Emitter", "type": "serial", "channel": 1},
                    "rx": {"node": "Receiver", "type": "serial", "channel": 1},
                },
                "controller": {
                    "kind": "beacon", "emitter": "tx", "receiver": "rx",
                    "period_ms": 150, "payload": "ping {n}",
                },
            }
        },
        "adapters": {
            "board": {
                "kind": "uart", "port": "/dev/ttyACM0", "baudRate": 115200, "channel": 1,
                "framing": "cobs-crc16", "mock": {"program": "./node.elf"},
            }
        },
    }  # fmt: skip
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    done = run("--config", "run.yaml", "--duration", "1s", "--record", "run.pcapng", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    test = tmp_path / "test_run.py"
    options = ["--firmware", "node.elf", "--machine", "native"]
    done = run("capture2test", "run.pcapng", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "xong 2" in test.read_text(), "as it was"

    def result() -> int:
        command = [sys.executable, "-m", "pytest", "-q", test.name]
        return run_program(*command, cwd=tmp_path).returncode

    assert result() == 0
    test.write_text(test.read_text().replace("xong 2", "pong 2"))
    assert result() == 1, "with the fault"
    built(tmp_path, 0)
    assert result() == 0, "without it"
