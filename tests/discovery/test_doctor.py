"""The doctor on folders that look like machines, and boards by their USB ids."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hilgw.adapters.base import UsbId
from hilgw.cli.main import main
from hilgw.discovery.doctor import RULES, Finding, Machine, examine
from hilgw.discovery.ports import reset_notice, usb_ids

ROOT = Path(__file__).parent.parent.parent


def put(folder: Path, path: str, text: str = "") -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def no_holders(port: str) -> list[str]:
    return []


def machine(
    folder: Path,
    *,
    groups: frozenset[str] = frozenset({"dialout"}),
    holders: Callable[[str], list[str]] = no_holders,
    c_forms: bool = True,
    owner: str = "dialout",
    members: list[str] | None = None,
    is_open_to_all: bool = False,
) -> Machine:
    return Machine(
        folder=folder,
        user="ada",
        groups=groups,
        group_of=lambda path: owner,
        members_of=lambda group: members or [],
        may_open=lambda path: is_open_to_all or owner in groups,
        holders=holders,
        c_forms=lambda: {"crcmod": c_forms},
    )


def problems(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.ok]


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    put(tmp_path, "dev/ttyUSB0")
    put(tmp_path, f"etc/udev/rules.d/{RULES}")
    put(tmp_path, "sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "1\n")
    put(tmp_path, "proc/version", "Linux version 6.1\n")
    return tmp_path


def the_problem(findings: list[Finding]) -> Finding:
    (problem,) = problems(findings)
    assert problem.fix
    return problem


LATENCY = "sys/bus/usb-serial/devices/ttyUSB0/latency_timer"
USERS = frozenset({"users"})
AGETTY = "serial-getty@ttyUSB0.service"


@pytest.mark.parametrize(
    ("files", "given", "message", "fix"),
    [
        ({}, {"groups": USERS}, "", "sudo usermod -aG dialout ada"),
        ({}, {"groups": USERS, "members": ["eva", "ada"]}, "", "log out and in again"),
        (
            {},
            {"owner": "root"},
            "",
            "sudo chgrp dialout /dev/ttyUSB0 && sudo chmod 660 /dev/ttyUSB0",
        ),
        ({}, {"holders": lambda port: ["minicom (pid 77)"]}, "open in minicom (pid 77)", "kill 77"),
        (
            {},  # killed, it would stop no robot any more
            {"holders": lambda port: ["robot-guard (pid 78)"]},
            "open in robot-guard (pid 78)",
            "end its gateway",
        ),
        (
            {"proc/412/cmdline": "/usr/sbin/ModemManager\0"},
            {},
            "",
            "systemctl disable --now ModemManager",
        ),
        ({"proc/10/cmdline": "/sbin/agetty\x00115200\x00ttyUSB0\x00"}, {}, "", AGETTY),
        (
            {"proc/10/cmdline": "/sbin/agetty\x00-\x00vt220\x00"},  # it got its port open
            {"holders": lambda port: ["agetty (pid 10)"]},
            "",
            AGETTY,
        ),
        ({LATENCY: "16\n"}, {}, "16 ms", f"echo 1 | sudo tee /{LATENCY}"),
        ({"proc/version": "Linux version 5.15-microsoft-standard-WSL2"}, {}, "", "usbipd"),
        ({}, {"c_forms": False}, "", "gcc python3-dev"),
    ],
)
def test_a_problem_has_its_fix(
    healthy: Path, files: dict[str, str], given: dict[str, Any], message: str, fix: str
) -> None:
    for path, text in files.items():
        put(healthy, path, text)
    problem = the_problem(examine(machine(healthy, **given)))
    assert message in problem.what
    assert fix in problem.fix
    assert ("kill" in problem.fix) == (fix == "kill 77")


@pytest.mark.parametrize("given", [{}, {"groups": USERS, "is_open_to_all": True}])
def test_a_healthy_machine_has_no_problem(healthy: Path, given: dict[str, Any]) -> None:
    put(healthy, "proc/9/cmdline", "/sbin/agetty\0-o\0-p\0tty1\0")  # on another port
    assert problems(examine(machine(healthy, **given))) == []


def test_brltty_beside_modem_manager(healthy: Path) -> None:
    put(healthy, "proc/4711/cmdline", "/usr/sbin/ModemManager\0")
    put(healthy, "proc/4712/cmdline", "/usr/bin/brltty\0--no-daemon\0")
    first, second = problems(examine(machine(healthy)))
    assert (first.subject, second.subject) == ("ModemManager", "brltty")
    assert "pid 4712" in second.what and "apt-get remove brltty" in second.fix


@pytest.mark.parametrize("driver", ["usbfs", ""])
def test_a_converter_without_a_serial_port(healthy: Path, driver: str) -> None:
    """Beside one whose port is there, a keyboard, and a port of another driver."""
    usb = "sys/bus/usb/devices"
    put(healthy, f"{usb}/1-1.2/idVendor", "0403\n")
    (healthy / usb / "1-1.2/1-1.2:1.0/ttyUSB0").mkdir(parents=True)
    put(healthy, f"{usb}/1-1.4/idVendor", "046d\n")
    put(healthy, f"{usb}/1-1.3/idVendor", "1a86\n")
    put(healthy, f"{usb}/1-1.3/idProduct", "7523\n")
    put(healthy, f"{usb}/1-1.3/product", "USB Serial\n")
    interface = healthy / usb / "1-1.3/1-1.3:1.0"
    interface.mkdir()
    if driver:
        (healthy / "sys/bus/usb/drivers" / driver).mkdir(parents=True)
        (interface / "driver").symlink_to(healthy / "sys/bus/usb/drivers" / driver)
    problem = the_problem(examine(machine(healthy)))
    assert problem.subject == "USB 1-1.3"
    text = "USB Serial (1a86:7523) has no serial port; driver: "
    assert problem.what == text + (driver or "none")
    assert "sudo modprobe ch341" in problem.fix and "brltty" in problem.fix


def test_a_uart_that_the_kernel_only_lists_is_not_a_port(tmp_path: Path) -> None:
    put(tmp_path, "dev/ttyS0")
    for kind, ports in (("0\n", []), ("4\n", [tmp_path / "dev/ttyS0"])):
        put(tmp_path, "sys/class/tty/ttyS0/type", kind)
        assert machine(tmp_path).ports() == ports


def test_the_rule_applies_to_what_is_plugged_in_already() -> None:
    """`udevadm trigger`, which the fix names, sends `change`, not `add`."""
    rules = (ROOT / "tools" / "udev" / RULES).read_text()
    (latency,) = (line for line in rules.splitlines() if "ATTR{latency_timer}" in line)
    assert 'ACTION=="add|change"' in latency


def test_a_missing_udev_rule(healthy: Path) -> None:
    (healthy / "etc/udev/rules.d" / RULES).unlink()
    problem = the_problem(examine(machine(healthy)))
    assert f"tools/udev/{RULES}" in problem.fix
    assert (ROOT / "tools" / "udev" / RULES).exists()


def test_the_ports_of_a_configuration_and_their_permission(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a port whose name no list of kinds of ports has."""
    free, shut = healthy / "dev/ttyTHS1", healthy / "dev/ttyPS0"
    for port, mode in ((free, 0o660), (shut, 0o600)):
        put(healthy, f"dev/{port.name}")
        port.chmod(mode)
    may_open = os.access
    monkeypatch.setattr(os, "access", lambda path, *how: path != shut and may_open(path, *how))
    ports: dict[str, str | UsbId] = {
        "rover.body": str(free),
        "xbee": str(shut),
        "uart": str(healthy / "dev/ttyUSB9"),
        "estop": UsbId(vid=0x1A86, pid=0x7523, serial="none has it"),
    }
    findings = {each.subject: each for each in examine(machine(healthy), ports)}
    assert findings["rover.body"].ok
    assert findings["rover.body"].what == f"{free} (-rw-rw----): you can open it"
    assert findings["xbee"].what == f"{shut} (-rw-------): permission denied"
    assert f"sudo chgrp dialout {shut} && sudo chmod 660 {shut}" in findings["xbee"].fix
    assert "No such file" in findings["uart"].what and "check the cable" in findings["uart"].fix
    assert "no such USB device" in findings["estop"].what
    assert not any(findings[each].ok for each in ("xbee", "uart", "estop"))


def test_doctor_names_the_ports_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that a gateway opens: no mock, and no address on the network."""
    file = tmp_path / "all.yaml"
    file.write_text(
        f"""version: 1
network_ports: true
estop: {{port: {tmp_path}/no-switch, line: cts}}
adapters:
  uart: {{kind: uart, port: {tmp_path}/no-uart}}
  far: {{kind: uart, port: "socket://127.0.0.1:1"}}
  played: {{kind: uart, port: {tmp_path}/no-mock, backend: mock}}
robots:
  cab: {{body: {{kind: create2, port: {tmp_path}/no-create}}}}
"""
    )
    assert main(["doctor", "--config", str(file), "--json"]) == 1
    named = {each["subject"]: each for each in json.loads(capsys.readouterr().out)}
    for part, port in (("uart", "no-uart"), ("cab.body", "no-create"), ("estop", "no-switch")):
        assert not named[part]["ok"] and port in named[part]["what"]
    assert not {"far", "played"} & set(named)
    main(["doctor", "--config", str(file), "--backend", "mock"])
    assert "no real port here: --backend real" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ids", "boot_s", "words"),
    [
        ((0x2341, 0x0043), 0, "Arduino Uno: opening the port resets it, .* set boot_s: 2"),
        ((0x2341, 0x0042), 0, "Arduino Mega 2560: .* set boot_s: 2"),
        ((0x2341, 0x0043), 2.5, "Arduino Uno: opening the port resets it, hence boot_s: 2.5"),
        ((0x1A86, 0x7523), 0, "CH340, .* if opening the port resets the board, set boot_s: 2"),
        ((0x2341, 0x8036), 0, "Arduino Leonardo: opening the port does not reset it"),
        ((0x0403, 0x6015), 0, "^$"),
        ((None, None), 0, "^$"),
    ],
)
def test_known_boards_are_named_with_their_reset(
    ids: tuple[int | None, int | None], boot_s: float, words: str
) -> None:
    assert re.search(words, reset_notice(*ids, boot_s=boot_s))


def test_the_ids_are_those_of_the_usb_device_above_the_port(tmp_path: Path) -> None:
    device = tmp_path / "devices" / "usb1" / "1-2"
    interface = device / "1-2:1.0"
    interface.mkdir(parents=True)
    (device / "idVendor").write_text("2341\n")
    (device / "idProduct").write_text("0043\n")
    port = tmp_path / "tty" / "ttyACM0"
    port.mkdir(parents=True)
    (port / "device").symlink_to(interface)
    link = tmp_path / "by-id"
    link.symlink_to(tmp_path / "ttyACM0")
    assert usb_ids(str(link), tmp_path / "tty") == (0x2341, 0x0043)
    assert usb_ids("/dev/ttyS0", tmp_path / "tty") == (None, None)
    (device / "idVendor").write_text("garbage")
    assert usb_ids(str(link), tmp_path / "tty") == (None, None)
