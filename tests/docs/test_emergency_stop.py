"""docs/emergency-stop.md, remote-control.md and distributed.md: commands, causes and gateways."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.commands.clients import arming
from hilgw.cli.main import main
from hilgw.cli.parser import parse
from hilgw.client.arming import arm
from hilgw.config.explain.robots import ESTOP_S
from hilgw.config.load import load_config, load_text
from hilgw.config.model import EstopConfig, armed
from hilgw.config.queries import is_estop_mocked
from hilgw.config.shipped import found
from hilgw.control.events import StopReason
from hilgw.engine.arming import estop
from hilgw.engine.control_loop import stops
from hilgw.engine.control_loop.report import BY_HAND
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import Observer
from hilgw.errors import PeerError, SafetyError
from hilgw.federation import wire
from hilgw.protocols.gateway.messages import LEASE_S, RENEW_S
from hilgw.transports.serial.modem_line import ANSWER_S
from hilgw.units import ns_to_ms, ns_to_s
from tests.docs.reading import blocks, pages
from tests.e2e.running import HOST, ROOT, Gateway, free_port, patient, run, start, wait_until

PAGE = pages("emergency-stop")
COMMANDS = re.findall(r"^    hilgw (.*)$", PAGE, re.M)
(FILE,) = blocks("yaml", PAGE)


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    for words in (
        f"at least {ns_to_ms(stops.REPEAT_NS):g} ms apart",
        f"takes no bytes for {ns_to_s(stops.LEAVE_NS):g} s",
        f"stands still for {ns_to_s(stops.STEP_NS):g} s",
        f"renews every {RENEW_S * 1000:g} ms over",
        f"not run for {LEASE_S * 1000:g} ms",
        f"reads the line every {estop.PERIOD_S * 1000:g} ms",
        f"without one within {ANSWER_S * 1000:g} ms",
        f"disarmed within {ESTOP_S * 1000:g} ms",
    ):
        assert words in PAGE, words


def test_a_pressed_switch_is_noticed_in_the_time_of_the_page() -> None:
    worst_s = estop.PERIOD_S * (estop.MISSED + 1), estop.PERIOD_S + estop.LOOP_S, 0.01 + ANSWER_S
    assert max(worst_s) <= ESTOP_S


def test_the_table_has_every_cause_and_exit_code() -> None:
    table = [line.split("|") for line in PAGE.split("## A switch")[0].split("\n") if "|" in line]
    rows = [(cells[2], cells[3]) for cells in table[2:]]
    causes = {word for cause, _ in rows for word in re.findall(r"`(\w+)`", cause)}
    assert causes == {*BY_HAND, StopReason.ENDED}
    codes = {int(code) for _, text in rows for code in re.findall(r"\d+", text)}
    used = {arming.EXIT_BY_SIGNAL[name] for name in ("SIGINT", "SIGTERM", "SIGHUP")}
    assert codes == used | {0, SafetyError.exit_code, PeerError.exit_code}


@pytest.mark.process
def test_the_commands_in_their_order(tmp_path: Path) -> None:
    hold, limited = COMMANDS
    assert parse(hold.split()).hold and getattr(parse(limited.split()), "for") == 60
    (tmp_path / "f.yaml").write_text(f"backend: mock\n{FILE}".replace(":10020", ":0"))
    with Gateway(tmp_path, ["--config", "f.yaml"]) as gateway:
        assert "a MOCK at CTS of /dev/ttyUSB1, released" in gateway.text()
        short = limited.replace("60s", "200ms").split()
        done = run(*short, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert gateway.report()["control_loops"]["create"]["disarmed_by"] == "lease_over"
    master, switch = os.openpty()  # it has no modem lines, and so is pressed
    real = FILE.replace("/dev/ttyUSB1", os.ttyname(switch)).replace(":10020", ":0")
    (tmp_path / "f.yaml").write_text(real.replace("/dev/ttyUSB0", "/nowhere"))
    with Gateway(tmp_path, ["--config", "f.yaml"], ready=False) as gateway:
        wait_until(lambda: "; all robots are disarmed" in gateway.text())
        refused = run(*hold.split(), cwd=tmp_path)
        assert refused.returncode == SafetyError.exit_code
        assert "the emergency-stop switch is pressed: CTS of /dev/pts/" in refused.stderr
        assert not gateway.report()["control_loops"]["create"]["armed"]
    os.close(master)
    os.close(switch)


REMOTE_PAGE = pages("remote-control", "refused-commands", "robots")
REMOTE_COMMANDS = re.findall(r"^    hilgw (.*)$", REMOTE_PAGE, re.MULTILINE)
# A busy machine is not a fault of the robot or the program.
PATIENT = patient("e-puck", "body.silence_s")
PATIENT.append("--set=robots.e-puck.body.answer_ms=5000")


@pytest.mark.process
def test_the_commands_of_remote_control_in_their_order(tmp_path: Path) -> None:
    simulated, _, mock, start, arm, disarm, at_once = REMOTE_COMMANDS
    # tests/e2e/test_configs.py runs the first one.
    assert found(parse(simulated.split()).config) == str(ROOT / "configs" / "epuck.yaml")
    with Gateway(tmp_path, mock.split()):
        with Gateway(tmp_path, [*start.split(), *PATIENT]) as gateway:
            wait_until(lambda: loop_of(gateway)["refused"].get("disarmed", 0) > 3)
            assert not loop_of(gateway)["armed"]
            assert run(*arm.split(), cwd=tmp_path).returncode == 0
            wait_until(lambda: loop_of(gateway)["armed"] and moved(gateway))
            assert run(*disarm.split(), cwd=tmp_path).returncode == 0
            wait_until(lambda: loop_of(gateway)["stops"].get("disarmed") == 1)
        with Gateway(tmp_path, [*at_once.split(), *PATIENT]) as gateway:
            wait_until(lambda: loop_of(gateway)["armed"] and moved(gateway))


def test_the_explanation_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "92")
    ((command, block),) = re.findall(
        r"<!-- output: hilgw (.*?) -->\n(.*?)<!-- end -->", REMOTE_PAGE, re.S
    )
    assert command in REMOTE_COMMANDS
    assert main(command.split()) == 0
    assert block.strip("\n") == f"```text\n{capsys.readouterr().out}```"


def loop_of(gateway: Gateway) -> dict[str, Any]:
    return gateway.report()["control_loops"]["e-puck"]


def moved(gateway: Gateway) -> bool:
    return any(loop_of(gateway)["motors"].values())


def test_the_file_has_a_real_switch_and_with_mocks_a_mock() -> None:
    config = load_text(FILE, "f").config
    assert config.estop == EstopConfig(port="/dev/ttyUSB1", line="cts")
    assert not is_estop_mocked(config)
    for backend in ("mock", "loopback"):
        mocked = load_text(f"backend: {backend}\n{FILE}", "f").config
        assert is_estop_mocked(mocked)
        beside = load_text(f"backend: {backend}\nreal: [create.body]\n{FILE}", "f").config
        assert not is_estop_mocked(beside)


def test_the_commands_arm_and_disarm(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "config" / "safety.md").read_text(encoding="utf-8")
    section = page.split("## Armed")[1].split("\n## ")[0]
    start, *rest = re.findall(r"^    hilgw (.*)$", section, re.M)
    args = parse(start.split())
    assert args.arm and [each.split()[0] for each in rest] == ["arm", "arm", "disarm"]
    config = load_config(str(ROOT / args.config), []).config  # on its mock: it has to be up
    control = str(tmp_path / "control")

    async def run() -> None:
        gateway = build(armed(config), asyncio.get_running_loop(), Observer())
        state = gateway.control_loops["create"].safety.state
        assert state.armed
        state.disarm()
        server = ControlServer(gateway, control)
        await server.start()
        try:
            for command in rest:
                line = [*command.split(), "--control", control]
                assert await asyncio.to_thread(main, line) == 0
                assert state.armed is command.startswith("arm")
            (name,) = re.findall(r'hilgw\.client\.arming\.arm\("(\w+)"\)', section)
            await asyncio.to_thread(lambda: arm(name, control=control))
            assert state.armed
        finally:
            await server.close()
            gateway.close()

    asyncio.run(run())


DISTRIBUTED_PAGE = pages("distributed")
KEYS = pages("zenoh")
SCRIPT = str(ROOT / "docs" / "examples" / "zenoh_packets.py")

Lab = tuple[Gateway, Gateway, str]


def link(gateway: Gateway, other: str) -> dict[str, Any]:
    return gateway.report()["federation"]["gateways"].get(other, {})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    endpoint = f"tcp/{HOST}:{free_port()}"
    folders = [tmp_path_factory.mktemp(name) for name in ("simulator", "bench")]
    arguments = [
        ["--config", f"lab-{folder.name[:-1]}", f"--set=federation.{key}=[{endpoint}]"]
        for folder, key in zip(folders, ("listen", "connect"), strict=True)
    ]
    arguments[0].append("--set=federation.ros2={}")
    with Gateway(folders[0], arguments[0]) as simulator, Gateway(folders[1], arguments[1]) as bench:
        yield simulator, bench, endpoint
    assert "the ledger adds up" in simulator.text(), simulator.text()
    assert "the ledger adds up" in bench.text(), bench.text()


@pytest.mark.process
def test_both_run_as_shipped(lab: Lab) -> None:
    """The rover's packets leave through its module on the bench, and the answers come back."""
    simulator, bench, _ = lab

    def is_answered() -> bool:
        return bool(simulator.report()["stations"]["rover.rx"]["delivered"] >= 2)

    wait_until(is_answered, what="answers of the remote module")
    wait_until(lambda: link(simulator, "bench")["delivered"] >= 2, what="confirmed packets")
    received = simulator.report()["received_by"]
    assert received["rover.tx"].keys() == {"radio@bench"}
    assert received["xbee0@bench"].keys() == {"rover.rx"}
    assert link(simulator, "bench")["lost"] == link(bench, "simulator")["missed"] == 0
    assert bench.report()["stations"]["xbee0"]["delivered"] >= 2


@pytest.mark.process
def test_commands_show_both(lab: Lab) -> None:
    simulator, bench, endpoint = lab

    def measured() -> dict[str, Any]:
        (report,) = json.loads(run("status", "--json", cwd=simulator.cwd).stdout)
        return report if report["latency"]["link"].get("bench", {}).get("count") else {}

    wait_until(measured, what="packets of the other")
    shown = run("status", cwd=simulator.cwd).stdout
    assert "  gateway@bench   up " in shown and "    bench up; one way p50 " in shown
    status = measured()
    other = status["federation"]["gateways"]["bench"]
    assert other["round_trip_ms"] > 0 and abs(other["clock_offset_s"]) < 1  # one machine
    port = status["ports"]["gateway@bench"]
    assert port["received_packets"] > 0 < port["sent_packets"] and port["down"] is False
    metrics = run("metrics", cwd=bench.cwd).stdout
    assert 'gateway="simulator"} 1.0\n' in metrics and 'hop="link",part="simulator"' in metrics
    for words in ((), ("--connect", endpoint)):

        def has_both(words: tuple[str, ...] = words) -> bool:
            """Whether all is there: a scan ends after a second, however slow the machine is."""
            done = run("scan", "--network", *words, "--json", cwd=simulator.cwd)
            reports = {each["name"]: each for each in json.loads(done.stdout or "[]")}
            return reports.keys() == {"simulator", "bench"} and (
                reports["simulator"]["robots"].keys() == {"rover"}
                and "xbee0" in reports["bench"]["listeners"]
            )

        wait_until(has_both, what="both")


@pytest.mark.process
def test_another_program_listens_and_sends(lab: Lab, tmp_path: Path) -> None:
    simulator, _, endpoint = lab
    command = [sys.executable, SCRIPT, endpoint, "lab", "radio", "12", "by hand"]
    output = tmp_path / "output.txt"
    with output.open("w") as stream:
        script = start(tmp_path, *command, stdout=stream, stderr=stream)
        try:
            wait_until(lambda: "rover.tx of simulator b'ping" in output.read_text())
            wait_until(
                lambda: (
                    simulator.report()["received_by"].get("hand@zenoh") == {"rover.rx": 1}
                    or simulator.report()["federation"]["outside"]["entered"] > 0
                ),
                what="a packet of the program",
            )
        finally:
            script.send_signal(signal.SIGINT)
            script.wait()


def test_the_keys_and_heads_of_the_page_are_those_of_the_code() -> None:
    keys = set(re.findall(r"^\| `([a-z]+)/", KEYS, re.MULTILINE))
    assert keys == set(re.findall(r"^    ([a-z]+)/", str(wire.__doc__), re.MULTILINE))
    table = KEYS.partition("| key | meaning |")[2].partition("Behind it")[0]
    named = {
        name
        for row in table.split("\n")
        for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named == set(wire.Head.__dataclass_fields__)
    assert json.loads(wire.encode_json(wire.Head("tx"))) == {"source": "tx"}


@pytest.mark.process
@pytest.mark.judge("openssl")
def test_the_lines_of_openssl_make_certificates_that_zenoh_takes(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```sh\n(\s+openssl .*?)```", DISTRIBUTED_PAGE, re.S)
    subprocess.run(["sh", "-ec", lines], cwd=tmp_path, check=True, capture_output=True)
    for name in ("simulator", "bench"):
        check = ["openssl", "verify", "-CAfile", "lab.pem", "-verify_hostname", f"{name}.lab"]
        subprocess.run([*check, f"{name}.pem"], cwd=tmp_path, check=True, capture_output=True)
        show = ["openssl", "x509", "-noout", "-text", "-in", f"{name}.pem"]
        shown = subprocess.run(show, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert "Version: 3" in shown.stdout
