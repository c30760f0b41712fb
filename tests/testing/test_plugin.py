"""The pytest plugin in separate runs: imports, cleanup, reports."""

import re
import sys
from pathlib import Path

import pytest

from hilgw.record.recording import Recording
from tests.e2e.running import ROOT, run_program

pytestmark = pytest.mark.process

FAILING = f"""
import serial

def test_of_a_port(virtual_port):
    port = virtual_port()
    with serial.Serial(port.path, 115200) as program:
        program.write(b"AT+ID")
        assert port.read(5) == b"AT"

def test_of_a_module(firmware_mock):
    module = firmware_mock("xbee", baudRate=115200)
    with serial.Serial(module.port, 115200, timeout=30) as program:
        program.write(bytes.fromhex("7E 00 04 08 01 41 50 65"))
        assert program.read(10) == b""

def test_of_a_node_with_another_framing(firmware_mock):
    module = firmware_mock("uart_node", framing="slip")
    with serial.Serial(module.port, 115200, timeout=30) as program:
        for number in range(60):
            program.write(b"\\xc0%d\\xc0" % number)
            program.read(2 + len(str(number)))
        assert not number

def test_of_a_gateway(gateway):
    running = gateway({str(ROOT / "configs" / "xbee.yaml")!r})
    running.wait_for(b"pong 1")
    with serial.Serial("xbee-spare", 9600, timeout=30) as spare:
        spare.write(bytes.fromhex("7E 00 04 08 01 41 50 65"))
        assert spare.read_until(bytes.fromhex("41 50 00 01 E4"))
    running.wait_for(b"never", timeout_s=0.1)

def test_that_cannot_be_set_up(broken):
    pass

def test_of_a_broken_mock(firmware_mock):
    module = firmware_mock("uart_node")
    seen = []
    module.mock.receive = lambda data, now: seen.append(data) or 1 / 0
    with serial.Serial(module.port, 115200) as program:
        program.write(b"x")
        module.wait_for(lambda mock: seen)

import pytest

@pytest.fixture
def broken(firmware_mock):
    firmware_mock("uart_node", mode="flood", count=1)
    raise RuntimeError("on purpose")
"""

LEAVING = f"""
import gc, os, threading
import pytest, serial

def left():
    gc.collect()
    return [t.name for t in threading.enumerate()], len(os.listdir("/proc/self/fd"))

@pytest.fixture(scope="module")
def before():
    return left()

def use(virtual_port, firmware_mock, gateway):
    firmware_mock("xbee")
    with serial.Serial(virtual_port().path, 9600):
        gateway({str(ROOT / "configs" / "xbee.yaml")!r}).wait_for(b"pong 1")

def test_first(virtual_port, firmware_mock, gateway):
    use(virtual_port, firmware_mock, gateway)

def test_nothing_is_left(before):
    pass

@pytest.mark.parametrize("again", range(2))
def test_more(before, again, virtual_port, firmware_mock, gateway):
    use(virtual_port, firmware_mock, gateway)

def test_nothing_is_left_by_these(before):
    assert left() == before
    assert before[0] == ["MainThread"]
"""


def pytest_run(tmp_path: Path, text: str, *more: str) -> tuple[int, str]:
    """A run of pytest on one file, warnings are errors; exit code and output."""
    (tmp_path / "test_it.py").write_text(text)
    options = ["-q", "-p", "no:cacheprovider", "-W", "error", *more]
    done = run_program(sys.executable, "-m", "pytest", *options, cwd=tmp_path)
    return done.returncode, done.stdout + done.stderr


def section(output: str, title: str) -> list[str]:
    """The lines of a section of a failure's report."""
    lines = output.splitlines()
    start = next(at for at, line in enumerate(lines) if title in line and line.startswith("-"))
    end = next(at for at, line in enumerate(lines) if at > start and line[:2] in ("--", "__", "=="))
    return lines[start + 1 : end]


def test_a_failure_shows_the_last_frames_of_each_port(tmp_path: Path) -> None:
    """What fails in the background fails its test, too."""
    code, output = pytest_run(tmp_path, FAILING, "--junitxml=junit.xml")
    assert code == 1
    assert "4 failed, 1 passed, 2 errors" in output
    assert "failed in the background: ZeroDivisionError" in output
    setup, failures = output.split("= FAILURES =")
    for title, frames in {
        "virtual port 1": ["-> 41 54 2b 49 44"],
        "xbee0, mock xbee": [
            "7e 00 04 08 01 41 50 65  | AT AP? [id 1]",
            "<- 7e 00 06 88 01 41 50 00 01 e4  | AT AP = 01: OK",
        ],
        "gateway, xbee0, /dev/serial/by-id/": ["send 6 B 'ping ", "received 6 B 'pong "],
        "gateway, spare, xbee-spare": ["-> 7e 00 04 08 01 41 50 65  | AT AP? [id 1]"],
    }.items():
        lines = section(failures, f"last frames of {title}")
        assert all(any(frame in line for line in lines) for frame in frames), lines
    lines = section(failures, "last frames of uart_node0, mock uart_node")
    assert len(lines) == 50
    assert "| slip: packet of 2 B: b'35'" in lines[0]
    (line,) = section(setup, "last frames of uart_node0, mock uart_node")
    assert "packet of 16 B" in line
    assert "xbee0: up: XBee 3" in "".join(section(failures, "last messages of gateway"))
    (shown,) = re.findall(r"^hilgw show (.*)$", output, re.M)  # the others have no gateway
    events = list(Recording(Path(shown)).events())
    assert any(event.get("data") == b"pong 1".hex() for event in events)
    assert "last frames of gateway, xbee0" in (tmp_path / "junit.xml").read_text()


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    code, output = pytest_run(tmp_path, LEAVING, f"--basetemp={tmp_path}/of_tests")
    assert code == 0, output
    assert not list(tmp_path.glob("**/*.pcapng"))


def test_a_run_without_fixtures_imports_nothing(tmp_path: Path) -> None:
    text = """
import sys

def test_of_something_else():
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "hilgw")
    assert ours == ["hilgw", "hilgw.testing", "hilgw.testing.plugin"]
    assert not {"asyncio", "serial", "yaml", "pydantic", "hypothesis.core"} & set(sys.modules)
"""
    others = [f"-pno:{each}" for each in ("hypothesispytest", "xdist", "anyio")]
    code, output = pytest_run(tmp_path, text, *others)
    assert code == 0, output


MISTYPED = {
    "firmware_mock('xbe')": "unknown firmware mock 'xbe'; did you mean 'xbee'?",
    "firmware_mock('xbee').set('chanel', 3)": "did you mean channel?",
    "virtual_port(framing='line')": "unknown framing 'line'; did you mean 'lines'?",
    "gateway('configs/xbe.yaml')": "xbe.yaml",
    "gateway('xbee').send('rover.tc', b'x')": "no station 'rover.tc' here",
    "gateway('xbee').state('xbe0')": "no port 'xbe0' in this gateway; did you mean 'xbee0'?",
    "gateway('xbee').wait_for(b'x', source='rover.tc')": "'rover.tc' here; did you mean 'rover",
    "gateway('xbee').wait_for(b'x', listener='rver.rx')": "'rver.rx' here; did you mean 'rover",
}


def test_a_mistyped_name_is_one_line_at_its_call(tmp_path: Path) -> None:
    head = "def test_{}(firmware_mock, gateway, virtual_port):\n    {}"
    calls = [head.format(number, call) for number, call in enumerate(MISTYPED)]
    _, text = pytest_run(tmp_path, "\n\n".join(calls), "--color=no")
    assert f"{len(MISTYPED)} failed" in text
    for number, what in enumerate(MISTYPED.values()):
        failure = text.partition(f"test_{number} _")[2].partition("\n_____")[0]
        errors = [line for line in failure.splitlines() if line.startswith("E  ")]
        assert len(errors) == 1 and what in errors[0], failure
        assert "hilgw/" not in failure.partition("---- Captured")[0].replace(errors[0], ""), failure
