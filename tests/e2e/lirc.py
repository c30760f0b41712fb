"""LIRC's programs on sockets of their own, and lircd.conf files written from the data sheets."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from hilgw.testing.sim import DEADLINE_S, until

LOCKS = Path("/var/lock")
Keys = dict[str, tuple[int, int]]  # name of a key -> address, command

# LIRC has the bits of a code in the order in which they are sent, the first one highest. Its idea
# of RC6 is upside down: a bit is a space, then a pulse, so every bit is inverted.
REMOTE = """begin remote
  name {name}
  bits {bits}
  flags {flags}|CONST_LENGTH
  eps 30
  aeps 100
{timing}
  begin codes
{codes}
  end codes
end remote
"""
SPACE_ENC = """  header 9000 4500
  one 562 1687
  zero 562 562
  ptrail 562
  repeat 9000 2250
  gap 108000"""
RC5 = """  one 889 889
  zero 889 889
  plead 889
  gap 113800
  toggle_bit_mask 0x800"""
RC6 = """  header 2666 889
  one 444 444
  zero 444 444
  gap 107000
  rc6_mask {mask:#x}
  toggle_bit_mask {mask:#x}"""
SIRC = """  header 2400 600
  one 1200 600
  zero 600 600
  gap 45000
  min_repeat 2"""


def low_first(value: int, bits: int) -> str:
    return format(value, f"0{bits}b")[::-1]


def bits_of(name: str, address: int, command: int) -> str:
    """The bits of a code in the order in which they are sent, start bits and toggle 0 included."""
    match name:
        case "nec":
            halves = (address, 255 - address, command, 255 - command)
            return "".join(low_first(octet, 8) for octet in halves)
        case "nec_ext":
            halves = (address & 0xFF, address >> 8, command, 255 - command)
            return "".join(low_first(octet, 8) for octet in halves)
        case "rc5":  # LIRC adds the start bit itself (plead)
            return f"{'0' if command > 63 else '1'}0{address:05b}{command & 63:06b}"
        case "rc6":
            return f"1000 0{address:08b}{command:08b}".replace(" ", "")
        case "rc6a":
            return f"11100 1{address:022b}{command:08b}".replace(" ", "")
        case "sirc" | "sirc15":
            return low_first(command, 7) + low_first(address, {"sirc": 5, "sirc15": 8}[name])
        case "sirc20":
            return low_first(command, 7) + low_first(address, 13)
    raise AssertionError(name)


def code_of(name: str, address: int, command: int) -> int:
    """A code as LIRC writes it down."""
    bits = bits_of(name, address, command)
    word = int(bits, 2)
    return word ^ (1 << len(bits)) - 1 if name.startswith("rc6") else word


def remote(name: str, keys: Keys) -> str:
    codes = "\n".join(f"    {key} {code_of(name, *code):#x}" for key, code in keys.items())
    bits = len(bits_of(name, 0, 0))
    family = name[:3]
    timing = {"nec": SPACE_ENC, "rc5": RC5, "sir": SIRC}.get(family) or RC6.format(
        mask=1 << bits - 5  # the fifth bit is the toggle
    )
    flags = {"rc5": "RC5", "rc6": "RC6"}.get(family, "SPACE_ENC")
    return REMOTE.format(name=name, bits=bits, flags=flags, timing=timing, codes=codes)


def with_own_locks(folder: Path) -> list[str]:
    """Words before a command of LIRC that give it a folder of locks of its own: an ordinary user
    may not write into that of the system, nor remove what root has left there. None where no file
    system can be mounted."""
    locks = folder / "locks"
    locks.mkdir(exist_ok=True)
    space = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    words = [*space, "sh", "-c", f'mount --bind "$0" {LOCKS.resolve()} && exec "$@"', str(locks)]
    can_mount = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if can_mount else []


class Program:
    """A program that runs in the background; what it prints, so far."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self.log = log

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")


@asynccontextmanager
async def running(log: Path, *command: str) -> AsyncIterator[Program]:
    """The program until the end of the block, then SIGTERM. It must not end by itself."""
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
    program = Program(process, log)
    try:
        yield program
        assert process.returncode is None, program.text
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 5)
            except TimeoutError:
                process.kill()
                await process.wait()


async def output_of(*command: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out.decode(errors="replace")


async def sent_by_irsend(
    folder: Path, port: Path, conf: str, key: str, came: Callable[[], bool]
) -> None:
    """Sends a key of the remote "nec" until it came. An irsend that lircd never answers, because
    lircd was late for a block of its own on a busy machine, is ended together with lircd."""
    while not came():
        try:
            async with asyncio.timeout(DEADLINE_S / 6):
                async with lircd(folder, port, conf) as socket:
                    command = ["irsend", "-d", str(socket), "SEND_ONCE", "nec", key]
                    while not came():
                        await output_of(*command, cwd=folder)
        except TimeoutError:
            continue


async def shown_by_irw(
    folder: Path, port: Path, remotes: Sequence[str], shown: Callable[[str], bool]
) -> str:
    """What irw prints of these remotes, once it shows enough. A lircd that a busy machine keeps
    from its dialogue with the toy receives nothing from then on: another one takes its place."""
    for _ in range(7):
        with suppress(TimeoutError):
            async with asyncio.timeout(DEADLINE_S / 4), lircd(folder, port, *remotes) as socket:
                async with running(folder / "irw", "irw", str(socket)) as irw:
                    await until(lambda: shown(irw.text), what="the keys")
                    return irw.text
    logs = [(folder / name).read_text(errors="replace")[-3000:] for name in ("irw", "lircd.log")]
    raise AssertionError("irw and lircd:\n" + "\n".join(logs))


@asynccontextmanager
async def lircd(folder: Path, port: Path, *remotes: str) -> AsyncIterator[Path]:
    """lircd on a port; gives its socket."""
    options, conf, socket = folder / "options.conf", folder / "lircd.conf", folder / "lircd"
    socket.unlink(missing_ok=True)  # the one that an ended lircd left refuses each client
    options.write_text("[lircd]\n")
    conf.write_text("\n".join(remotes))
    command = ["lircd", "-n", "-O", options, "-H", "irtoy", "-d", port.resolve(), "-o", socket]
    command += ["-P", folder / "lircd.pid", "-L", folder / "lircd.log", conf]
    async with running(folder / "lircd.out", *with_own_locks(folder), *map(str, command)):
        await until(socket.exists, what="lircd's socket")
        yield socket


def pulses_of(lines: Sequence[str], gap_us: int) -> list[list[int]]:
    """Frames of a list of pulses and spaces."""
    frames: list[list[int]] = []
    frame: list[int] = []
    for line in lines:
        kind, us = line.split()
        if kind == "space" and int(us) > gap_us:
            frames += [frame] if frame else []
            frame = []
        elif frame or kind == "pulse":
            frame.append(int(us))
    return frames + ([frame] if frame else [])
