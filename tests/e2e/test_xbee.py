"""XBees as users run and scan them; digi-xbee on a spare module of the same air."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from digi.xbee import devices
from digi.xbee.models.address import XBee64BitAddress

from tests.e2e.running import (
    XBEE,
    Gateway,
    in_process,
    report_in,
    run,
    wait_until,
    with_a_second_module,
)

# In simulated time, in which a port for another program has no place.
SIMULATED = ("--speed", "max", "--backend", "mock", "--set", "airs.lab.nodes.spare.link=null")


def test_what_report_on_stdout_and_quiet_print(tmp_path: Path) -> None:
    simulated = (*SIMULATED, "--duration", "2s")
    done = run("--config", XBEE, *simulated, "--report", "-", cwd=tmp_path)
    assert json.loads(done.stdout)["ledger"]["adds_up"] is True
    assert "rover.tx" in done.stderr
    quiet = run("--config", XBEE, *simulated, "-q", cwd=tmp_path)
    assert "ping" not in quiet.stdout and "summary" in quiet.stdout


def test_send_through_a_gateway_that_shows_states_packets_and_a_summary(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", XBEE, "--report", "out.json"]) as gateway:
        wait_until(lambda: '"pong 1"' in gateway.text(), what="the answer")
        done = run("send", "rover.tx", "--channel", "12", "ping by hand", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: '"pong by hand"' in gateway.text(), what="the answer")
        done = run("send", "xbee0", "--hex", "70 69 6e 67 ff", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: '"pong\\xff"' in gateway.text(), what="the answer to bytes")
        done = run("send", "xbee0", "--channel", "7", "lost", cwd=tmp_path)
        assert (done.returncode, "channel" in done.stderr) == (1, True)
        done = run("send", "xbee9", "x", cwd=tmp_path)
        assert done.returncode == 1
        assert "did you mean 'xbee0'?" in done.stderr
        assert gateway.stop(signal.SIGINT) == 130
        text = gateway.text()
    done = run("send", "rover.tx", "x", cwd=tmp_path)
    assert done.returncode == 5
    assert "no gateway" in done.stderr
    report = report_in(tmp_path)
    assert report["exit_code"] == 130
    assert report["latency"]["xbee0"]["count"] == report["stations"]["xbee0"]["delivered"] > 0
    assert re.search(r"^ +[\d.]+  rover\.tx +ch 12 +\"ping 1\"", text, re.MULTILINE), text
    assert re.search(r"xbee0 +up: XBee .*CH 0C PAN 3332", text)
    assert re.search(r'xbee0 +ch 12 +"pong 1" 6 B +-\d+ dBm +from 0013A2', text)
    assert "\nready\n" in text
    assert "the ledger adds up" in text
    assert "\x1b" not in text  # not a terminal: no colours


REMOTE = "0013A2004AB67FB2"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("at")
    with Gateway(folder, ["--config", XBEE, "--backend", "loopback"]):
        yield folder


def at(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = run("set", "xbee0", "--at", *arguments, cwd=folder)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_a_register_is_written_and_read_back(running: Path) -> None:
    assert at(running, REMOTE, "NI", "far end") == (0, f"{REMOTE}: NI = far end", "")
    assert at(running, REMOTE, "NI") == (0, "far end", "")
    assert at(running, REMOTE.lower(), "rr", "3")[0] == 0
    assert at(running, REMOTE, "RR") == (0, "03", "")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((REMOTE, "RR", "77"), 5, f"{REMOTE}: RR: "),
        (("0013A20000000001", "NI"), 5, "0013A20000000001: NI: "),
        ((REMOTE, "RR", "fast"), 2, "'fast' is not a value of RR; write hexadecimal digits"),
        (("0013A2", "NI"), 2, "address must be an address of 16 or 4 hexadecimal digits"),
        ((REMOTE, "NIX"), 2, "name must be an AT command of two characters"),
        ((REMOTE,), 2, "--at takes REMOTE COMMAND [VALUE]"),
    ],
)
def test_an_error_is_shown(running: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    returned, _, error = at(running, *arguments)
    assert (returned, text in error) == (code, True), error


CONFIGS = Path(__file__).parents[2] / "configs"
OURS, SPARE = "0013A20040A1B2C0", "0013A20040A1B2C3"
RATE = 115200
PAYLOAD = b"\x7e\x7d\x11\x13" + bytes(range(0, 256, 5))  # the escaped ones first
CONFIG = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {{node: Emitter, type: radio, channel: 12}}
      rx: {{node: Receiver, type: radio, channel: 12}}
adapters:
  bench:
    kind: xbee
    firmware: {firmware}
    mapping: {{by: header}}
    port: /dev/ttyUSB0
    baudRate: {rate}
    channel: 12
    api_mode: {api_mode}
    destination: "{spare}"
    air: lab
    mock: {{hardware: {hardware}, address: "{ours}"}}
airs:
  lab:
    nodes:
      spare: {{mock: xbee, hardware: {hardware}, address: "{spare}", api_mode: {api_mode},
        baudRate: {rate}, link: ./spare{extra}}}
"""
PERSONALITIES = [
    ("802.15.4", "s1", devices.Raw802Device, "", 1),
    ("802.15.4", "xbee3", devices.Raw802Device, "", 2),
    ("digimesh", "digimesh", devices.DigiMeshDevice, "", 2),
    ("zigbee", "zigbee", devices.ZigBeeDevice, ", CE: 1", 1),
]


def configured(folder: Path, firmware: str, hardware: str, extra: str, api_mode: int) -> str:
    keys = {"firmware": firmware, "hardware": hardware, "extra": extra, "api_mode": api_mode}
    (folder / "bench.yaml").write_text(CONFIG.format(**keys, rate=RATE, ours=OURS, spare=SPARE))
    return "bench.yaml"


def exchange(gateway: Gateway, tmp_path: Path, kind: type[Any]) -> None:
    """Unicast from the robot, unicast and broadcast to it, all byte values among them."""
    received: list[Any] = []
    spare = kind(str(tmp_path / "spare"), RATE)
    spare.open()
    try:
        spare.add_data_received_callback(received.append)
        # Only now: in API mode 2 a packet that meets digi-xbee while it opens stalls it for 4 s.
        done = run("send", "rover.tx", "--hex", PAYLOAD.hex(" "), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: received, what="the robot's packet")
        assert bytes(received[0].data) == b"\x0c" + PAYLOAD  # 12 is the channel
        assert received[0].remote_device.get_64bit_addr() == XBee64BitAddress.from_hex_string(OURS)
        assert not received[0].is_broadcast
        ours = devices.RemoteXBeeDevice(spare, XBee64BitAddress.from_hex_string(OURS))
        spare.send_data(ours, b"\x0cto you \x7e\x7d\x11\x13")
        spare.send_data_broadcast(b"\x0cto all")
        wait_until(lambda: '"to you ~}\\x11\\x13"' in gateway.text(), what="the unicast")
        wait_until(lambda: 'delivered "to all"' in gateway.text(), what="the broadcast")
    finally:
        spare.close()


@pytest.mark.parametrize(("firmware", "hardware", "kind", "extra", "api_mode"), PERSONALITIES)
def test_digi_xbee_and_the_robot_exchange_packets(
    tmp_path: Path, firmware: str, hardware: str, kind: type[Any], extra: str, api_mode: int
) -> None:
    config = configured(tmp_path, firmware, hardware, extra, api_mode)
    options = ["--config", config, "-v", "--report", "out.json"]
    with Gateway(tmp_path, options) as gateway:
        exchange(gateway, tmp_path, kind)
        assert gateway.stop(signal.SIGINT) == 130
    stations = report_in(tmp_path)["stations"]
    assert (stations["bench"]["delivered"], stations["rover.rx"]["delivered"]) == (1, 2)
    line = next(line for line in gateway.text().splitlines() if '  "to all"' in line)
    assert f"from {SPARE}" in line
    has_value = " dBm" in line  # the module reports it, or DB is asked, whose answer may be late
    assert has_value or firmware != "802.15.4"
    assert ("~" in line) == (has_value and firmware != "802.15.4")


def test_a_module_without_a_network_is_not_ready_for_that_reason(tmp_path: Path) -> None:
    config = configured(tmp_path, "zigbee", "zigbee", "", 1)
    with Gateway(tmp_path, ["--config", config], ready=False) as gateway:
        wait_until(lambda: "not in a network yet" in gateway.text(), what="the reason")
        assert "AI = " in gateway.text()
        assert not gateway.ready_file.exists()
        # The spare module becomes the coordinator: ours joins, and packets pass.
        spare = devices.ZigBeeDevice(str(tmp_path / "spare"), RATE)
        spare.open()
        try:
            spare.set_parameter("CE", b"\x01")
            wait_until(gateway.ready_file.exists, what="the network")
        finally:
            spare.close()
    assert " up: XBee 3 Zigbee " in gateway.text()


def test_digi_xbee_receives_from_a_module_in_transparent_mode(tmp_path: Path) -> None:
    config = (CONFIGS / "xbee-transparent.yaml").read_text()
    config = config.replace("framing: lines ", "framing: gap:60ms ")
    config = "".join(line for line in config.splitlines(True) if "kind: beacon" not in line)
    path = tmp_path / "gap.yaml"
    path.write_text(config)
    with Gateway(tmp_path, ["--config", str(path), "-v"]) as gateway:
        assert "gap" in gateway.text()
        received: list[bytes] = []
        spare = devices.Raw802Device(str(tmp_path / "xbee-spare"), 9600)
        spare.open()
        try:
            spare.add_data_received_callback(lambda message: received.append(bytes(message.data)))
            done = run("send", "rover.tx", "--hex", PAYLOAD.hex(" "), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            # A module cuts where its line pauses, and on a busy machine ours may pause in a packet.
            wait_until(lambda: b"".join(received) == PAYLOAD, what="the robot's packet")
            spare.send_data_broadcast(b"to all \x7e")
            wait_until(lambda: 'delivered "to all ~"' in gateway.text(), what="the broadcast")
        finally:
            spare.close()


def test_a_packet_that_two_modules_receive_reaches_the_robot_once(tmp_path: Path) -> None:
    config = with_a_second_module(tmp_path)
    received: list[bytes] = []

    def received_by_robot() -> int:
        return gateway.text().count('rover.rx     delivered "\\x00\\x03\\x06')

    with Gateway(tmp_path, ["--config", config, "-v", "--report", "out.json"]) as gateway:
        spare = devices.XBeeDevice(str(tmp_path / "xbee-spare"), 9600)
        spare.open()
        try:
            spare.add_data_received_callback(lambda message: received.append(bytes(message.data)))
            wait_until(lambda: any(data.startswith(b"ping ") for data in received), "the robot")
            spare.send_data_broadcast(bytes(range(0, 256, 3)))
            wait_until(lambda: "refused (duplicate)" in gateway.text())
            wait_until(lambda: received_by_robot() > 0, what="the robot's sampling grid")
        finally:
            spare.close()
        assert gateway.stop(signal.SIGINT) == 130
    stations = report_in(tmp_path)["stations"]
    dropped = [stations[name]["dropped"].get("duplicate", 0) for name in ("xbee0", "xbee1")]
    assert sum(dropped) == 1
    assert received_by_robot() == 1


def test_an_xbee_and_its_network_are_found_and_nothing_is_changed(tmp_path: Path) -> None:
    mock = ["mock", "xbee", "--link", "./a", "--link", "./b", "--set", "NT=5"]
    with Gateway(tmp_path, [*mock, "--set", "1.ni=kitchen"]):
        for _ in range(2):  # the second scan finds the module as the first one left it
            done = run("scan", "./a", "--json", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            (module,) = json.loads(done.stdout)
            assert (module["kind"], module["baudRate"], module["problem"]) == ("xbee", 9600, "")
            assert module["identity"].startswith("XBee 3 802.15.4 0013A200")
            assert [node["name"] for node in module["nodes"]] == ["kitchen"]


def test_a_lora_module_is_found_and_one_asleep_is_left_asleep(tmp_path: Path) -> None:
    mock = ["mock", "rylr998", "--link", "./a", "--link", "./b", "--set", "1.MODE=2,30,30"]
    with Gateway(tmp_path, [*mock, "--set", "NETWORKID=5"]):
        done = run("scan", "./a", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (module,) = json.loads(done.stdout)
        assert (module["kind"], module["baudRate"], module["problem"]) == ("rylr998", 115200, "")
        assert "network 5" in module["identity"]
        for _ in range(2):
            done = run("scan", "./b", "--kind", "rylr998", cwd=tmp_path)
            assert "./b: rylr998 at 115200: the module sleeps, MODE = 2,30,30" in done.stdout


def test_modules_that_cannot_be_queried_are_reported(tmp_path: Path) -> None:
    code, _, error = in_process("scan", "./a", "--kind", "hc12", cwd=tmp_path)
    assert code == 2
    assert "hc12 cannot be identified without" in error


def test_no_module_is_5_and_no_port_is_4(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["mock", "uart_node", "--link", "./u"]):
        done = run("scan", "./u", "--kind", "rylr998", "--rate", "9600", cwd=tmp_path)
    assert done.returncode == 5, done.stdout + done.stderr
    done = run("scan", "./nothing", cwd=tmp_path)
    assert done.returncode == 4
    assert "./nothing" in done.stderr
