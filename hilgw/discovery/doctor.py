"""What on this machine stands between a user and a serial port, and the exact cure of each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

RULES = "60-hilgw.rules"
LOGIN_PROMPTS = ("agetty", "getty")
PORT_NAMES = ("ttyUSB*", "ttyACM*", "ttyAMA*", "ttyS[0-9]", "rfcomm*")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `ok`, or what is wrong and the cure. subject: what was looked at."""

    subject: str
    ok: bool
    what: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, or a folder that looks like one (for tests).

    groups: the names of the groups this process is in. root: whether it may do everything.
    """

    folder: Path = Path("/")
    user: str = field(default_factory=lambda: os.environ.get("USER", "") or "$USER")
    groups: frozenset[str] = field(default_factory=lambda: _own_groups())
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    group_of: Callable[[Path], str] = field(default_factory=lambda: _group_of)
    members_of: Callable[[str], list[str]] = field(default_factory=lambda: _members_of)
    may_open: Callable[[Path], bool] = field(default_factory=lambda: _may_open)
    holders: Callable[[str], list[str]] = field(default_factory=lambda: _holders)
    c_forms: Callable[[], dict[str, bool]] = field(default_factory=lambda: _c_forms)

    def read(self, path: str) -> str:
        """A small file's text; empty when it cannot be read."""
        try:
            return (self.folder / path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def ports(self) -> list[Path]:
        """Serial ports with hardware behind them, USB first."""
        found = [each for name in PORT_NAMES for each in sorted((self.folder / "dev").glob(name))]
        return [each for each in found if not each.name.startswith("ttyS") or self._is_used(each)]

    def _is_used(self, port: Path) -> bool:
        # Kernels list UARTs that are not there; a real one has a type.
        return self.read(f"sys/class/tty/{port.name}/type") not in ("", "0")

    def processes(self) -> Iterator[tuple[str, list[str]]]:
        """(pid, command line) of each process that may be seen."""
        try:
            entries = sorted((self.folder / "proc").iterdir())
        except OSError:
            return
        for entry in entries:
            if entry.name.isdigit():
                words = self.read(f"proc/{entry.name}/cmdline").split("\0")
                if words[0]:
                    yield entry.name, words


def examine(machine: Machine | None = None) -> list[Finding]:
    """All checks, in the order a user meets the problems."""
    machine = machine or Machine()
    return [
        *_windows_subsystem(machine),
        *_access(machine),
        *_busy(machine),
        *_modem_manager(machine),
        *_getty(machine),
        *_latency(machine),
        *_rules(machine),
        *_libraries(machine),
    ]


def _windows_subsystem(machine: Machine) -> Iterator[Finding]:
    if "microsoft" in machine.read("proc/version").lower():
        yield Finding(
            "WSL",
            ok=False,
            what="USB ports of Windows are not here by themselves",
            cure="in Windows: usbipd list, usbipd bind --busid ID, usbipd attach --wsl --busid ID",
        )


def _access(machine: Machine) -> Iterator[Finding]:
    ports = machine.ports()
    shut = [] if machine.is_root else [port for port in ports if not machine.may_open(port)]
    if not shut:
        count = {0: "no serial port here now", 1: "the port may be opened"}
        what = count.get(len(ports), f"{len(ports)} ports may be opened")
        yield Finding("access" if ports else "ports", ok=True, what=what)
    groups = {port: machine.group_of(port) for port in shut}
    joinable = set(groups.values()) - {"", "root"} - machine.groups
    for group in sorted(joinable):
        if machine.user in machine.members_of(group):
            what = f"you are in the group {group}, which owns the ports, but this session is older"
            cure = "log out and in again"
        else:
            what = f"you are not in the group {group}, which owns the ports"
            cure = f"sudo usermod -aG {group} {machine.user}, then log out and in again"
        yield Finding("access", ok=False, what=what, cure=cure)
    for port in shut:
        if groups[port] not in joinable:
            path = f"/dev/{port.name}"
            yield Finding(
                port.name,
                ok=False,
                what="only its owner may open it, and you are not",
                cure=f"sudo chgrp dialout {path} && sudo chmod 660 {path}, or a udev rule that "
                'says GROUP="dialout", MODE="0660"; and be in the group dialout',
            )


def _busy(machine: Machine) -> Iterator[Finding]:
    for port in machine.ports():
        for holder in machine.holders(str(port)):
            if holder.split(" ")[0] in LOGIN_PROMPTS:  # _getty says how to end one for good
                continue
            pid = re.search(r"pid (\d+)", holder)
            cure = f"end it, e.g. kill {pid[1]}" if pid else "end it"
            yield Finding(port.name, ok=False, what=f"open in {holder}", cure=cure)


def _modem_manager(machine: Machine) -> Iterator[Finding]:
    for pid, words in machine.processes():
        if Path(words[0]).name == "ModemManager":
            yield Finding(
                "ModemManager",
                ok=False,
                what=f"runs (pid {pid}) and sends AT commands to new ports",
                cure="sudo systemctl disable --now ModemManager, or install the udev rule",
            )
            return


def _getty(machine: Machine) -> Iterator[Finding]:
    ports = {port.name for port in machine.ports()}
    # Newer systemd hands the port over open, and does not name it.
    prompted = {
        port.name
        for port in machine.ports()
        if any(holder.split(" ")[0] in LOGIN_PROMPTS for holder in machine.holders(str(port)))
    }
    for _, words in machine.processes():
        if Path(words[0]).name in LOGIN_PROMPTS:
            prompted |= ports & {Path(word).name for word in words[1:]}
    for port in sorted(prompted):
        yield Finding(
            port,
            ok=False,
            what="a login prompt runs on it",
            cure=f"sudo systemctl disable --now serial-getty@{port}.service",
        )


def _latency(machine: Machine) -> Iterator[Finding]:
    for port in machine.ports():
        text = machine.read(f"sys/bus/usb-serial/devices/{port.name}/latency_timer")
        if text.isdigit() and int(text) > 1:
            path = f"/sys/bus/usb-serial/devices/{port.name}/latency_timer"
            yield Finding(
                port.name,
                ok=False,
                what=f"the FTDI latency timer is {text} ms: each answer waits that long",
                cure=f"echo 1 | sudo tee {path}, or install the udev rule",
            )


def _rules(machine: Machine) -> Iterator[Finding]:
    usb = [port for port in machine.ports() if port.name.startswith(("ttyUSB", "ttyACM"))]
    places = ("etc/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")
    if not usb or any((machine.folder / place / RULES).exists() for place in places):
        return
    yield Finding(
        "udev",
        ok=False,
        what=f"the rule {RULES} is not installed",
        cure=f"sudo cp tools/udev/{RULES} /etc/udev/rules.d/ && sudo udevadm control --reload "
        "&& sudo udevadm trigger",
    )


def _libraries(machine: Machine) -> Iterator[Finding]:
    for name, active in machine.c_forms().items():
        if active:
            yield Finding(name, ok=True, what="the C form is active")
        else:
            yield Finding(
                name,
                ok=False,
                what="runs as pure Python, many times slower",
                cure="sudo apt-get install gcc python3-dev, then "
                f"pip install --force-reinstall --no-binary :all: {name}",
            )


def _own_groups() -> frozenset[str]:
    import grp

    names = set()
    for number in {os.getegid(), *os.getgroups()}:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return frozenset(names)


def _group_of(path: Path) -> str:
    try:
        return path.group()
    except (OSError, KeyError):
        return ""


def _members_of(group: str) -> list[str]:
    import grp

    try:
        return grp.getgrnam(group).gr_mem
    except KeyError:
        return []


def _may_open(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def _holders(port: str) -> list[str]:
    from hilgw.transports.serial import tty

    return [str(holder) for holder in tty.holders(port) if holder.pid != os.getpid()]


def _c_forms() -> dict[str, bool]:
    from hilgw.framing.c_forms import c_extensions

    return c_extensions()
