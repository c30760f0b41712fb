"""The fixtures, as in a user's tests, and the plug-in in runs of its own."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import serial

from hilgw.errors import ConfigError, HilgwError, PeerError, UsageError
from hilgw.plugins import MOCKS, names
from hilgw.record.recording import Recording
from hilgw.settings import PROGRAM
from hilgw.testing.fixtures.gateways import Gateways
from hilgw.testing.fixtures.ports import FirmwareMocks, VirtualPorts
from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, run_program

XBEE = ROOT / "configs" / "xbee.yaml"
ASK_AP = bytes.fromhex("7E 00 04 08 01 41 50 65")
AP_IS_1 = bytes.fromhex("7E 00 06 88 01 41 50 00 01 E4")
POWER_UP = bytes.fromhex("7E 00 02 8A 00 75")

UART = """\
version: 1
backend: real
robots:
  rover:
    devices:
      tx: {node: Emitter, type: serial, channel: 5, baudRate: 115200, byteSize: 10}
      rx: {node: Receiver, type: serial, channel: 5}
adapters:
  uart0: {kind: uart, port: /dev/ttyUSB7, baudRate: 115200, channel: 5}
"""


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations name links beside them."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def opened() -> Iterator[Callable[..., serial.Serial]]:
    """opened(path, rate): a port as the program under test has it."""
    ports: list[serial.Serial] = []

    def open_port(path: str, rate: int = 115200) -> serial.Serial:
        ports.append(serial.Serial(path, rate, timeout=30))
        return ports[-1]

    yield open_port
    for port in ports:
        port.close()


Opened = Callable[..., serial.Serial]


def test_the_test_is_the_device(virtual_port: VirtualPorts, opened: Opened) -> None:
    port = virtual_port(baudRate=9600)
    program = opened(port.path, 9600)
    program.write(bytes(range(256)))
    assert port.read(256) == bytes(range(256))
    assert port.host_baud == 9600
    port.write(b"\x00answer\xff")
    assert program.read(8) == b"\x00answer\xff"
    program.write(b"AT\rATI\r")
    assert port.read_until(b"\r") == b"AT\r"
    assert port.read_until(b"\r") == b"ATI\r"
    assert port.read_all() == b""


def test_what_does_not_come_is_reported_with_what_came(
    virtual_port: VirtualPorts, opened: Opened
) -> None:
    port = virtual_port()
    opened(port.path).write(b"AT")
    assert port.read(1) == b"A"
    with pytest.raises(PeerError, match=r"b'\\r' not received within 0.2 s; received b'T'"):
        port.read_until(b"\r", timeout_s=0.2)


def test_a_cable_can_be_pulled_and_put_back(
    virtual_port: VirtualPorts, opened: Opened, tmp_path: Path
) -> None:
    port = virtual_port(link=str(tmp_path / "gps"))
    assert port.path == str(tmp_path / "gps")
    program = opened(port.path)
    port.unplug()
    assert not Path(port.path).exists()
    with pytest.raises(serial.SerialException):
        while True:
            program.read(1)
    port.plug()
    opened(port.path).write(b"again")
    assert port.read(5) == b"again"


def test_a_stalled_port_takes_nothing(virtual_port: VirtualPorts, opened: Opened) -> None:
    port = virtual_port()
    program = opened(port.path)
    port.stall()
    program.write(b"later")
    with pytest.raises(PeerError, match="received b''"):
        port.read(1, timeout_s=0.2)
    port.unstall()
    assert port.read(5) == b"later"


def test_noise_and_loss_are_repeatable(virtual_port: VirtualPorts, opened: Opened) -> None:
    def spoilt(seed: int) -> bytes:
        port = virtual_port(seed=seed, loss=0.3, noise=0.5)
        program = opened(port.path)
        for value in range(40):
            port.write(bytes((value,)) * 10)
        port.spoil()
        port.write(b"end")
        return bytes(program.read_until(b"end"))

    first = spoilt(7)
    assert first == spoilt(7)
    assert first != spoilt(8)
    assert len(first) < 40 * 10 * 0.9 + 200


def test_a_pair_is_a_cable(virtual_port: VirtualPorts, opened: Opened) -> None:
    left, right = virtual_port.pair()
    one, two = opened(left.path), opened(right.path)
    one.write(bytes(range(256)))
    assert two.read(256) == bytes(range(256))
    two.write(b"back")
    assert one.read(4) == b"back"


def test_a_module_answers_as_the_real_one(firmware_mock: FirmwareMocks, opened: Opened) -> None:
    module = firmware_mock("xbee", channel=12, baudRate=115200)
    program = opened(module.port)
    program.write(ASK_AP)
    assert program.read(len(AP_IS_1)) == AP_IS_1
    assert "XBee 3" in module.describe()
    module.reset()
    assert program.read(len(POWER_UP)) == POWER_UP


def test_a_module_without_its_cable_boots_when_it_is_back(
    firmware_mock: FirmwareMocks, opened: Opened
) -> None:
    module = firmware_mock("uart_node", banner="hello\\n", boot_ms=1)
    module.unplug()
    assert not Path(module.port).exists()
    module.plug()
    assert Path(module.port).exists()
    assert module.wait_for(lambda node: node.boots) == 1
    module.set("mode", "silent")
    with pytest.raises(ValueError, match="one of echo"):
        module.set("mode", "loud")
    with pytest.raises(PeerError, match="not within"):
        module.wait_for(lambda node: node.boots > 1, timeout_s=0.05)


@pytest.mark.parametrize("kind", [each for each in names(MOCKS) if each != PROGRAM])
def test_every_kind_of_mock_has_a_port(firmware_mock: FirmwareMocks, kind: str) -> None:
    peer = {"wc2ec_controller": "wc2ec_robot", "webots_controller": "webots_simulator"}.get(kind)
    to = {} if peer is None else {"connect": firmware_mock(peer).port}
    mock = firmware_mock(kind, seed=4, **to)
    assert mock.describe()
    assert Path(mock.port).exists() or mock.port.startswith("127.0.0.1:")
    mock.reset()
    mock.unplug()
    mock.plug()


def test_what_no_mock_supports_is_reported(firmware_mock: FirmwareMocks) -> None:
    with pytest.raises(ConfigError, match="channel: 99 is not allowed"):
        firmware_mock("xbee", channel=99)
    with pytest.raises(UsageError, match="connect"):
        firmware_mock("xbee", connect="127.0.0.1:1")


def test_a_shipped_configuration_runs(gateway: Gateways) -> None:
    running = gateway(XBEE, seed=5)
    assert running.config.medium.seed == running.config.airs["lab"].seed == 5
    first = running.wait_for(b"pong 1", listener="rover.rx")
    assert (first.source, first.channel) == ("xbee0", 12)
    assert first.rssi_dbm < 0
    assert running.send("rover.tx", b"ping by hand") is None
    running.wait_for(re.compile(b"^pong by hand"), source="xbee0", channel=12)
    report = running.report()
    assert report["ledger"] == {"adds_up": True, "violations": []}
    assert gateway(XBEE).mock("spare").port != running.mock("spare").port, "of the same file"
    last = running.stop()
    assert last["ports"]["xbee0"]["state"] == "closed"
    assert running.report() == last


def test_each_packet_is_found_once(gateway: Gateways) -> None:
    running = gateway(UART)
    for _ in range(2):
        running.send("rover.tx", b"same")
    running.wait_for(b"same", source="rover.tx")
    running.wait_for("same", source="rover.tx")
    with pytest.raises(PeerError, match=r"not within 0.2 s: packet b'same', source rover.tx"):
        running.wait_for(b"same", source="rover.tx", timeout_s=0.2)
    assert running.wait_for(lambda: running.report()["stations"]["uart0"]["delivered"] == 2)


def test_a_bad_configuration_is_reported_with_its_places(gateway: Gateways) -> None:
    with pytest.raises(ConfigError, match=r"config:9:43: .*buadRate: unknown key"):
        gateway(UART.replace("baudRate: 115200, channel: 5}\n", "buadRate: 1, channel: 5}\n"))
    with pytest.raises(ConfigError, match=r"configs/no-such\.yaml"):
        gateway("configs/no-such.yaml")
    with pytest.raises(ConfigError, match="no-such-file"):
        gateway("no-such-file.yaml")


def test_the_mock_behind_an_adapter_can_be_troubled(gateway: Gateways) -> None:
    running = gateway(XBEE)
    module = running.mock("xbee0")
    module.unplug()
    running.wait_for(lambda: running.state("xbee0") == "waiting")
    module.plug()
    running.wait_for(lambda: running.state("xbee0") == "up")
    running.wait_for(re.compile(b"^pong"))
    with pytest.raises(UsageError, match=r"xbee0"):
        running.mock("xbee9")
    with pytest.raises(UsageError, match="cannot have noise or loss"):
        module.spoil(noise=1)


def test_a_gateway_on_a_real_path(
    gateway: Gateways, firmware_mock: FirmwareMocks, tmp_path: Path
) -> None:
    node = firmware_mock("uart_node", link=str(tmp_path / "mcu"), replies="ping:pong")
    running = gateway(UART, backend=None, overrides=[f"adapters.uart0.port={node.port}"])
    running.send("rover.tx", b"ping")
    running.wait_for(b"pong", source="uart0")
    node.stall()
    node.unstall()
    node.unplug()
    running.wait_for(lambda: running.state("uart0") == "waiting")


def test_a_gateway_that_cannot_start_reports_why(gateway: Gateways, tmp_path: Path) -> None:
    missing = f"adapters.uart0.port={tmp_path / 'nothing'}"
    with pytest.raises(PeerError, match="ports: uart0 waiting"):
        gateway(UART, backend=None, overrides=[missing], timeout_s=0.3)
    running = gateway(UART, backend=None, overrides=[missing], ready=False)
    assert running.send("uart0", b"kept") is None
    with pytest.raises(HilgwError, match="no station 'uart9'"):
        running.send("uart9", b"x")
    wait_until(lambda: running.state("uart0") == "waiting")
    assert running.report()["stations"]["uart0"]["queued"] == 1


def test_a_shipped_example_is_found_unless_a_file_of_this_path_exists(
    gateway: Gateways, tmp_path: Path
) -> None:
    assert set(gateway("configs/uart.yaml").config.adapters) == {"uart0"}
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "uart.yaml").write_text(UART.replace("uart0", "mine"))
    assert set(gateway("configs/uart.yaml").config.adapters) == {"mine"}
    (tmp_path / "configs" / "uart.yaml").unlink()
    with pytest.raises(ConfigError, match="other/uart"):
        gateway("other/uart.yaml")


def test_a_robot_is_armed_and_disarmed(gateway: Gateways) -> None:
    running = gateway(str(ROOT / "configs" / "create2.yaml"), backend="loopback")

    def has(key: str, wanted: Any) -> bool:
        return bool(running.report()["control_loops"]["create"][key] == wanted)

    running.disarm("create")
    assert has("armed", False)
    running.arm("create")
    assert has("armed", True)
    with pytest.raises(HilgwError, match="lorry"):
        running.arm("lorry")
    with pytest.raises(HilgwError, match="no robot 'lorry', 'tram' with"):
        running.disarm("lorry", "create", "tram")
    assert has("armed", False)  # the one that is known, before the error


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


@pytest.mark.process
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
    report = (tmp_path / "junit.xml").read_text()
    assert "last frames of gateway, xbee0" in report and f"hilgw show {shown}" in report


@pytest.mark.process
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    code, output = pytest_run(tmp_path, LEAVING, f"--basetemp={tmp_path}/of_tests")
    assert code == 0, output
    assert not list(tmp_path.glob("**/*.pcapng"))


@pytest.mark.process
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


@pytest.mark.process
def test_a_mistyped_name_is_one_line_at_its_call(tmp_path: Path) -> None:
    head = "def test_{}(firmware_mock, gateway, virtual_port):\n    {}"
    calls = [head.format(number, call) for number, call in enumerate(MISTYPED)]
    _, text = pytest_run(tmp_path, "\n\n".join(calls), "--color=no")
    assert f"{len(MISTYPED)} failed" in text
    for number, message in enumerate(MISTYPED.values()):
        failure = text.partition(f"test_{number} _")[2].partition("\n_____")[0]
        errors = [line for line in failure.splitlines() if line.startswith("E  ")]
        assert len(errors) == 1 and message in errors[0], failure
        assert "hilgw/" not in failure.partition("---- Captured")[0].replace(errors[0], ""), failure
