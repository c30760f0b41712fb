"""The fixture `firmware`, recorded faults as tests, and docs/firmware-ci, a project of its own."""

import math
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import serial
import yaml

from hilgw.errors import ConfigError, UsageError
from tests.e2e.running import ROOT, Gateway, run, run_program, wait_until
from tests.firmware.node import SOURCES, main_of

pytestmark = pytest.mark.process


NATIVE = """
#include <stdio.h>
#include <unistd.h>
#include "hilgw_node.h"
static uint8_t in[128], out[128], packet[66];
static hilgw_link line;
int main(void) {
  hilgw_link_init(&line, &FRAMING, HILGW_BUFFER(packet), HILGW_BUFFER(in),
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
BODY = main_of(
    {
        "DEVICES": '{.name = "wheel", .kind = HILGW_ROTATIONAL_MOTOR}',
        "INIT": "hilgw_body_init(&robot, &line, devices, 1, hilgw_r2020a, 10)",
        "WORK": """
    (void)hilgw_body_poll(&robot, now_ms);
    const float velocity = hilgw_body_motor(&robot, 0, now_ms);
    hilgw_body_set(&robot, 0, FAULT ? velocity / 2 : velocity);
    """,
    }
)
HEAD = "version: 1\nwebots: R2020a\nbackend: mock\nnetwork_ports: false\n"
BRAIN = """
import math
from controller import Robot

robot = Robot()
wheel = robot.getDevice("wheel")
wheel.setPosition(math.inf)
wheel.setVelocity(0)
steps = 0
while robot.step(32) != -1:
    steps += 1
    wheel.setVelocity(4 if steps >= 15 else 0)
"""
CONTROLLER = (SOURCES / "examples" / "linux" / "controller.c").read_text()
CONTROLLER = CONTROLLER.replace("0.0f : 5.0f", "0.0f : FAULT ? 2.5f : 5.0f")


def built(
    folder: Path,
    fault: int,
    name: str = "node",
    code: str = NATIVE,
    framing: str = "hilgw_cobs_crc16",
) -> Path:
    """Firmware for this computer. The library is compiled once in each folder."""
    source, target, library = (folder / each for each in (f"{name}.c", f"{name}.elf", "node.o"))
    source.write_text(code)
    gcc = ["gcc", f"-I{SOURCES / 'src'}"]
    steps = [[f"-DFAULT={fault}", f"-DFRAMING={framing}", source, library, "-o", target]]
    if not library.exists():
        steps.insert(0, ["-c", SOURCES / "src" / "hilgw_node.c", "-o", library])
    for step in steps:
        subprocess.run([*gcc, *step], check=True, capture_output=True)
    return target


@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a virtual port, and firmware")
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


@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a virtual port, and firmware")
@pytest.mark.judge("qemu-system-avr")
def test_errors_name_what_to_do(firmware: Any, tmp_path: Path) -> None:
    file = built(tmp_path, 0)
    with pytest.raises(ConfigError, match=r"node\.elf is for x86-64, not for qemu-system-avr"):
        firmware(file, machine="uno")
    with pytest.raises(UsageError, match="there is no file"):
        firmware(tmp_path / "none.elf")
    with pytest.raises(UsageError, match="no machine 'unno'") as raised:
        firmware(file, machine="unno")
    assert "uno" in raised.value.fix


@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a virtual port, and firmware")
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


def recorded(folder: Path, text: str, is_enough: Callable[[dict[str, Any]], bool]) -> None:
    """Record a gateway until its report has what is needed."""
    (folder / "run.yaml").write_text(HEAD + text)
    with Gateway(folder, ["--config", "run.yaml", "--record", "run.pcapng"]) as running:
        wait_until(lambda: is_enough(running.report()), what="recorded")
        assert running.stop() == 130, running.text()


def captured(folder: Path, name: str, elf: str, *options: str) -> Path:
    """Return the test that `capture2test` writes."""
    test = folder / f"test_{name}.py"
    more = ["--firmware", elf, "--machine", "native", "--output", test.name, *options]
    done = run("capture2test", "run.pcapng", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    return test


def results(folder: Path) -> str:
    """Run the tests in this folder; return the last line of pytest."""
    done = run_program(sys.executable, "-m", "pytest", "-q", cwd=folder)
    print(done.stdout)  # why, where it is not what a test wants
    return re.sub(r" in [\d.:]+s.*", "", done.stdout.strip().splitlines()[-1])


UART = """
robots:
  rover:
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
      rx: {node: Receiver, type: serial, channel: 1}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 150, payload: "ping {n}"}
adapters:
  uart0: {kind: uart, port: /dev/ttyACM1, baudRate: 115200, channel: 1,
          framing: {framing: hdlc, max_payload: 64}, mock: {program: ./node.elf}}
"""
WC2EC = """
robots:
  cart:
    body: {kind: wc2ec, port: /dev/ttyACM1, baudRate: 115200, original_peer: true,
           mock: {program: ./body.elf}}
    controller: {kind: python, file: brain.py}
  mouse:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true, original_peer: true,
           mock: {width: 9.0, depth: 9.0}}
    controller:
      {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, mock: {program: ./controller.elf}}
"""


@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a virtual port, and firmware")
def test_a_fault_of_firmware_becomes_a_test_of_it(tmp_path: Path) -> None:
    """The test that capture2test writes is red with the fault, and green without it."""
    built(tmp_path, 1, framing="hilgw_hdlc")
    recorded(tmp_path, UART, lambda report: report["stations"]["rover.rx"]["delivered"] >= 4)
    test = captured(tmp_path, "node", "node.elf", "--part", "uart0")
    text = test.read_text()
    assert "xong 2" in text, "as it was"
    test.write_text(text.replace("xong 2", "pong 2"))
    assert results(tmp_path) == "1 failed", "with the fault"
    built(tmp_path, 0, framing="hilgw_hdlc")
    assert results(tmp_path) == "1 passed", "without it"


@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a virtual port, and firmware")
def test_a_fault_of_a_controller_or_a_body_becomes_a_test_of_it(tmp_path: Path) -> None:
    """Over WC2EC, where commands and values are repeated in real time."""
    cases = {"controller": (CONTROLLER, 2.5, 5.0), "body": (BODY, 2.0, 4.0)}
    for name, (code, *_) in cases.items():
        built(tmp_path, 1, name, code)
    (tmp_path / "brain.py").write_text(BRAIN)
    moved: dict[str, int] = {}

    def is_enough(report: dict[str, Any]) -> bool:
        """Whether each robot sent values after its first command."""
        loops = report["control_loops"]
        for name, loop in loops.items():
            if any(each.get("velocity") for each in loop["motors"].values()):
                moved.setdefault(name, loop["values_in"])
        return all(loops[name]["values_in"] > moved.get(name, math.inf) + 20 for name in loops)

    recorded(tmp_path, WC2EC, is_enough)
    for options in ((), ("--part", "mouse.body")):  # that is on TCP
        command = ("capture2test", "run.pcapng", "--firmware", "body.elf", *options)
        refused = run(*command, cwd=tmp_path)
        assert refused.returncode == 2
        assert "--part is one of cart.body, mouse.controller" in refused.stderr
    for name, robot in (("controller", "mouse"), ("body", "cart")):
        test = captured(tmp_path, name, f"{name}.elf", "--part", f"{robot}.{name}")
        wrong, right = (repr(struct.pack("<d", each))[2:-1] for each in cases[name][1:])
        text = test.read_text()
        packets = text.partition("PACKETS")[2]
        assert wrong in packets and right not in packets, "as it was"
        assert packets.count(wrong) == 1, "without repetitions"
        test.write_text(text.removesuffix(packets) + packets.replace(wrong, right))
    assert results(tmp_path) == "2 failed", "with the fault"
    for name, (code, *_) in cases.items():
        built(tmp_path, 0, name, code)
    assert results(tmp_path) == "2 passed", "without it"


SAMPLE = ROOT / "docs" / "firmware-ci"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy, as a user has it."""
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    return Path(shutil.copytree(SAMPLE, tmp_path / "thermometer", ignore=ignored))


def ci_commands(job: str = "test") -> list[str]:
    workflow = yaml.safe_load((SAMPLE / ".github" / "workflows" / "ci.yml").read_text())
    return [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]


def in_ci(
    project: Path, options: str = "", *, job: str = "test", more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What CI runs once all is installed, in this Python."""
    commands = ci_commands(job)
    installs = [each for each in commands if " install " in each]
    assert any("pip install" in each for each in installs)
    command = " && ".join(each for each in commands if each not in installs)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "PYTEST_ADDOPTS": options} | (more or {})
    return run_program("sh", "-c", command, cwd=project, **given)


def test_its_ci_passes(project: Path) -> None:
    done = in_ci(project)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "7 passed" in done.stdout


def test_its_ci_finds_a_bug_and_shows_the_frames(project: Path) -> None:
    firmware = project / "firmware" / "thermometer.py"
    text = firmware.read_text()
    firmware.write_text(text.replace("(crc >> 8, crc & 255)", "(crc & 255, crc >> 8)"))
    done = in_ci(project, "--exitfirst")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert re.search(r"<- 08 74 65 6d 70 3f 76 c4 00 +\| cobs-crc16: packet of 5 B", done.stdout)
    assert re.search(r"-> 0c 74 .* \| cobs-crc16: 1 x wrong CRC", done.stdout)


@pytest.mark.parametrize("job", ["test", "c"])
def test_a_variable_that_is_not_set_is_named(project: Path, job: str) -> None:
    """On GitHub an unset variable is empty."""
    (install,) = [each for each in ci_commands(job) if "pip install" in each]
    done = run_program("bash", "-e", "-c", install, cwd=project, HILGW="")
    assert done.returncode != 0
    assert "HILGW: set this variable of the repository" in done.stderr
    assert "Invalid requirement" not in done.stderr


@pytest.mark.emulated
@pytest.mark.judge("avr-gcc", "qemu-system-avr", "make")
def test_its_road_in_c(project: Path) -> None:
    """It compiles, and passes on an emulated board."""
    node = {"NODE": str(ROOT / "tools" / "firmware" / "hilgw_node")}
    done = in_ci(project, "--exitfirst", job="c", more=node)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "2 passed" in done.stdout
