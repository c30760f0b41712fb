"""The plug-in of tools/webots-plugin, built, in a host that calls it as libController does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.running import DEADLINE_S, ROOT, environment, run_program, start

PLUGIN = ROOT / "tools" / "webots-plugin"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-g")
# The places of slots in the table of a plug-in, and numbers of nodes: Webots R2025a.
POSITION, ACCELERATION, VELOCITY, FORCE, TORQUE, AVAILABLE_FORCE, AVAILABLE_TORQUE = range(17, 24)
FORCE_PERIOD, TORQUE_PERIOD = 15, 16
NODES = {
    "Accelerometer": 35, "Camera": 38, "Compass": 39, "DistanceSensor": 42, "GPS": 44, "Gyro": 45,
    "InertialUnit": 46, "LED": 47, "LightSensor": 49, "LinearMotor": 50, "PositionSensor": 52,
    "RotationalMotor": 57, "TouchSensor": 60,
}  # fmt: skip


class Built:
    """The plug-in built by its Makefile against our headers and a libController of ours.

    flags: more flags of the compiler, for all three parts. answer_ms: how long the plug-in waits
    for hilgw; long, as a busy machine is slow.
    """

    def __init__(self, folder: Path, flags: Sequence[str] = (), answer_ms: int = 30_000) -> None:
        home = folder / "webots"
        include, library = home / "include" / "controller", home / "lib" / "controller"
        include.mkdir(parents=True)
        library.mkdir(parents=True)
        (include / "c").symlink_to(PLUGIN / "abi")
        self.headers = include / "c"
        self.controller = library / "libController.so"
        self.plugin = folder / "libhilgw.so"
        self.host = folder / "host"
        test, shared = PLUGIN / "test", ("-fPIC", "-shared")
        self._compile(folder, *flags, *shared, test / "controller.c", "-lm", out=self.controller)
        self._compile(folder, *flags, test / "host.c", "-ldl", out=self.host)
        words = " ".join((*(flags or ("-O2",)), f"-DHILGW_ANSWER_MS={answer_ms}"))
        command = ("make", "-s", "-C", PLUGIN, f"WEBOTS_HOME={home}", f"OUT={folder}")
        done = run_program(*map(str, command), f"CFLAGS={words}", cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def _compile(self, folder: Path, *arguments: str | Path, out: Path) -> None:
        command = ("gcc", *STRICT, "-I", self.headers, "-o", out, *arguments)
        done = run_program(*map(str, command), cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")


class PluginHost:
    """A running host; `with` ends it. devices: name -> Webots node, tags are 1, 2, ... in order."""

    def __init__(
        self, built: Built, cwd: Path, robot: str, devices: Mapping[str, str], **env: str
    ) -> None:
        self.tags = {name: tag for tag, name in enumerate(devices, 1)}
        listed = ";".join(f"{name}:{NODES[node]}" for name, node in devices.items())
        self._errors = (cwd / "plugin.txt").open("w+")
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        given = environment(cwd, ROBOT=robot, DEVICES=listed, **env)
        command = (str(built.host), str(built.plugin), str(built.controller))
        self.process = start(cwd, *command, env=given, text=True, bufsize=1, **streams)
        self.values: dict[str, list[float]] = {}  # newest, by device
        self.lines: list[str] = []
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.wait_for("ready")

    def _read(self) -> None:
        for line in self.process.stdout:
            words = line.split()
            numbers = [word for word in words if word[-1].isdigit() and word[0] in "-0123456789"]
            with self._arrived:
                if len(words) > 1 + len(numbers):
                    name = " ".join(words[1 : len(words) - len(numbers)])
                    self.values[name] = [float(number) for number in numbers]
                self.lines.append(line.rstrip("\n"))
                self._arrived.notify_all()

    def emit(self, *commands: str) -> None:
        self.process.stdin.write("".join(f"{command}\n" for command in commands))

    def wait_for(self, word: str) -> str:
        """The next line with this first word; forgets all before it."""

        def found() -> bool:
            return any(line.split()[0] == word for line in self.lines)

        with self._arrived:
            assert self._arrived.wait_for(found, DEADLINE_S), f"{word}: {self.lines} {self.text()}"
            index = next(i for i, line in enumerate(self.lines) if line.split()[0] == word)
            line = self.lines[index]
            del self.lines[: index + 1]
        return line

    def ask(self, command: str) -> str:
        self.emit(command)
        return self.wait_for(command.split()[0])

    def start(self, argument: str = "") -> bool:
        return self.ask(f"start {argument}") == "start 1"

    def step(self, times: int = 1, ms: int = 32) -> None:
        for _ in range(times):
            self.ask(f"step {ms}")

    def step_until(self, name: str, times: int = 300) -> list[float]:
        self.values.pop(name, None)
        for _ in range(times):
            self.step()
            if name in self.values:
                return self.values[name]
        raise AssertionError(f"no value of {name}; {self.text()}")

    def motor(self, slot: int, name: str, value: float) -> None:
        self.emit(f"motor {slot} {self.tags[name]} {value}")

    def enable(self, name: str, ms: int = 32) -> None:
        self.emit(f"period {self.tags[name]} {ms}")

    @property
    def has_failed(self) -> bool:
        return self.ask("failed") == "failed 1"

    def text(self) -> str:
        """What the plug-in has printed for the user."""
        self._errors.flush()
        return Path(self._errors.name).read_text()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def finish(self) -> int:
        if self.process.poll() is None:
            self.emit("cleanup")
        return self.process.wait(DEADLINE_S)

    def __enter__(self) -> PluginHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
