"""Finds what blocks access to serial ports on this machine, with the fix of each problem."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import filemode

from hilgw.adapters.base import UsbId
from hilgw.discovery.ports import resolve_port
from hilgw.errors import PortError
from hilgw.transports.open_errors import GIVE_ACCESS, fix_for_denied, port_error

RULES = "60-hilgw.rules"
LOGIN_PROMPTS = ("agetty", "getty")
PORT_NAMES = ("ttyUSB*", "ttyACM*", "ttyAMA*", "ttyS[0-9]", "rfcomm*")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `ok`, or what is wrong and the fix. subject: what was checked."""

    subject: str
    ok: bool
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine, or a folder with the same layout (for tests).

    groups: the names of the groups of this process.
    """

    folder: Path = Path("/")
    user: str = field(default_factory=lambda: os.environ.get("USER", "") or "$USER")
    groups: frozenset[str] = field(default_factory=lambda: _own_groups())
    group_of: Callable[[Path], str] = field(default_factory=lambda: _group_of)
    members_of: Callable[[str], list[str]] = field(default_factory=lambda: _members_of)
    may_open: Callable[[Path], bool] = field(default_factory=lambda: _may_open)
    holders: Callable[[str], list[str]] = field(default_factory=lambda: _holders)
    c_forms: Callable[[], dict[str, bool]] = field(default_factory=lambda: _c_forms)

    def read(self, path: str) -> str:
        """Return a small file's text; empty when it cannot be read."""
        try:
            return (self.folder / path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def ports(self) -> list[Path]:
        """Return the serial ports with hardware, USB first."""
        ports = [each for name in PORT_NAMES for each in sorted((self.folder / "dev").glob(name))]
        return [each for each in ports if not each.name.startswith("ttyS") or self._is_used(each)]

    def _is_used(self, port: Path) -> bool:
        # Kernels list UARTs that do not exist; a real one has a type.
        return self.read(f"sys/class/tty/{port.name}/type") not in ("", "0")

    def processes(self) -> Iterator[tuple[str, list[str]]]:
        """Yield (pid, command line) of each visible process."""
        try:
            entries = sorted((self.folder / "proc").iterdir())
        except OSError:
            return
        for entry in entries:
            if entry.name.isdigit():
                words = self.read(f"proc/{entry.name}/cmdline").split("\0")
                if words[0]:
                    yield entry.name, words


def examine(
    machine: Machine | None = None, configured: Mapping[str, str | UsbId] | None = None
) -> list[Finding]:
    """Run all checks, in the order in which a user meets the problems.

    `configured` are the ports that a configuration contains, by their part.
    """
    machine = machine or Machine()
    return [
        *_windows_subsystem(machine),
        *_access(machine),
        *(_configured(*each) for each in (configured or {}).items()),
        *_busy(machine),
        *_meddlers(machine),
        *_without_port(machine),
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
            what="WSL does not show the USB ports of Windows by itself",
            fix="in Windows: usbipd list, usbipd bind --busid ID, usbipd attach --wsl --busid ID",
        )


def _access(machine: Machine) -> Iterator[Finding]:
    ports = machine.ports()
    shut = [port for port in ports if not machine.may_open(port)]
    if not shut:
        count = {0: "no serial port", 1: "you can open the port"}
        text = count.get(len(ports), f"you can open {len(ports)} ports")
        yield Finding("access" if ports else "ports", ok=True, what=text)
    groups = {port: machine.group_of(port) for port in shut}
    joinable = set(groups.values()) - {"", "root"} - machine.groups
    for group in sorted(joinable):
        if machine.user in machine.members_of(group):
            text = f"you are in the group {group}, which owns the ports, but not in this session"
            fix = "log out and in again"
        else:
            text = f"you are not in the group {group}, which owns the ports"
            fix = f"sudo usermod -aG {group} {machine.user}, then log out and in again"
        yield Finding("access", ok=False, what=text, fix=fix)
    for port in shut:
        if groups[port] not in joinable:
            text, fix = "only its owner can open it", GIVE_ACCESS.format(f"/dev/{port.name}")
            yield Finding(port.name, ok=False, what=text, fix=fix)


def _configured(part: str, port: str | UsbId) -> Finding:
    try:
        path = Path(resolve_port(port))
        shown = f"{port} ({filemode(path.stat().st_mode)})"
    except (PortError, OSError) as error:
        known = error if isinstance(error, PortError) else port_error(error, str(port))
        return Finding(part, ok=False, what=f"{port}: {known.what}", fix=known.fix)
    if _may_open(path):
        return Finding(part, ok=True, what=f"{shown}: you can open it")
    return Finding(
        part, ok=False, what=f"{shown}: permission denied", fix=fix_for_denied(str(path))
    )


def _busy(machine: Machine) -> Iterator[Finding]:
    for port in machine.ports():
        for holder in machine.holders(str(port)):
            if holder.split(" ")[0] in LOGIN_PROMPTS:  # _getty reports it
                continue
            pid = re.search(r"pid (\d+)", holder)
            fix = f"end the program, e.g. kill {pid[1]}" if pid else "end the program"
            if holder.startswith("robot-guard "):
                fix = "end its gateway: Ctrl-C, or hilgw release; it stops the robot of this port"
            yield Finding(port.name, ok=False, what=f"open in {holder}", fix=fix)


MEDDLERS = {
    "ModemManager": (
        "sends AT commands to new ports",
        "sudo systemctl disable --now ModemManager, or install the udev rule",
    ),
    "brltty": (
        "takes converters for Braille displays, and their ports away",
        "sudo apt-get remove brltty, then plug the converter in again",
    ),
}


def _meddlers(machine: Machine) -> Iterator[Finding]:
    pids = {Path(words[0]).name: pid for pid, words in machine.processes()}
    for name, (problem, fix) in MEDDLERS.items():
        if name in pids:
            yield Finding(name, ok=False, what=f"it runs (pid {pids[name]}) and {problem}", fix=fix)


DESCRIPTORS = "idVendor", "idProduct", "product"
DRIVERS = {"0403": "ftdi_sio", "067b": "pl2303", "10c4": "cp210x", "1a86": "ch341"}  # by idVendor


def _without_port(machine: Machine) -> Iterator[Finding]:
    for device in sorted((machine.folder / "sys/bus/usb/devices").glob("*/idVendor")):
        folder = device.parent
        vid, pid, name = (machine.read(f"{folder}/{key}") for key in DESCRIPTORS)
        if vid not in DRIVERS or any(folder.glob("*:*/tty*")):
            continue
        holds = ", ".join(sorted({each.resolve().name for each in folder.glob("*:*/driver")}))
        yield Finding(
            f"USB {folder.name}",
            ok=False,
            what=f"{name or 'a converter'} ({vid}:{pid}) has no serial port; driver: "
            f"{holds or 'none'}",
            fix=f"sudo modprobe {DRIVERS[vid]}, and plug it in again; end programs that take it "
            "(brltty, a virtual machine)",
        )


def _getty(machine: Machine) -> Iterator[Finding]:
    ports = {port.name for port in machine.ports()}
    # Newer systemd passes the open port, without its name on the command line.
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
            what="a login prompt runs on the port",
            fix=f"sudo systemctl disable --now serial-getty@{port}.service",
        )


def _latency(machine: Machine) -> Iterator[Finding]:
    for port in machine.ports():
        text = machine.read(f"sys/bus/usb-serial/devices/{port.name}/latency_timer")
        if text.isdigit() and int(text) > 1:
            path = f"/sys/bus/usb-serial/devices/{port.name}/latency_timer"
            yield Finding(
                port.name,
                ok=False,
                what=f"the FTDI latency timer is {text} ms: it delays each answer by that time",
                fix=f"echo 1 | sudo tee {path}, or install the udev rule",
            )


def _rules(machine: Machine) -> Iterator[Finding]:
    usb = [port for port in machine.ports() if port.name.startswith(("ttyUSB", "ttyACM"))]
    folders = ("etc/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")
    if not usb or any((machine.folder / folder / RULES).exists() for folder in folders):
        return
    yield Finding(
        "udev",
        ok=False,
        what=f"the rule {RULES} is not installed",
        fix=f"sudo cp tools/udev/{RULES} /etc/udev/rules.d/ && sudo udevadm control --reload "
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
                what="it runs as pure Python, many times slower",
                fix="sudo apt-get install gcc python3-dev, then "
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
