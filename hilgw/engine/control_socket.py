"""The local control socket of a running gateway: what `hilgw send`, `place` and `set` talk to.

A Unix stream socket, mode 0600 in a folder of mode 0700; one JSON object a line each way. No
network, so no authentication beyond the file system's.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.medium.pose import Pose

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway

LINE_BYTES = 256 * 1024
IDLE_S = 10.0


def control_folder() -> Path:
    """The folder the sockets of this user live in, made if needed; refuses somebody else's."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "hilgw" if runtime else Path(f"/tmp/hilgw-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise HilgwError(
            "not a private folder of this user",
            where=str(folder),
            fix="remove it, or set XDG_RUNTIME_DIR",
        )
    return folder


def find_gateway(control: str | None) -> Path:
    """The socket of the gateway meant: the one named, or the only one running."""
    if control is not None:
        return Path(control)
    alive = [path for path in sorted(control_folder().glob("*.sock")) if _is_alive(path)]
    if not alive:
        raise PeerError("no gateway of yours is running", fix="start one with hilgw --config FILE")
    if len(alive) > 1:
        names = ", ".join(str(path) for path in alive)
        raise UsageError(f"several gateways are running: {names}", fix="name one with --control")
    return alive[0]


def _is_alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


class ControlServer:
    """Answers requests on the gateway's control socket."""

    def __init__(self, gateway: Gateway, path: str | None = None) -> None:
        self._gateway = gateway
        self._own = path is None
        self.path = Path(path) if path else control_folder() / f"{os.getpid()}.sock"
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        if self._own:
            self.path.unlink(missing_ok=True)
        try:
            self._server = await asyncio.start_unix_server(self._serve, self.path, limit=LINE_BYTES)
        except OSError as error:
            what = error.strerror or f"{error}"  # a path that is too long has no number
            fix = "name a shorter path with --control, or set XDG_RUNTIME_DIR"
            raise HilgwError(
                f"cannot make the control socket: {what}", where=str(self.path), fix=fix
            ) from None
        self.path.chmod(0o600)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            self.path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await asyncio.wait_for(reader.readline(), IDLE_S):
                writer.write(json.dumps(self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # the client left, stalled, or sent an endless line: its own loss
        finally:
            writer.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            match request:
                case {"do": "send", "station": str(station), "data": str(text)}:
                    channel = request.get("channel")
                    if channel is not None and (type(channel) is not int or channel < -1):
                        return {"error": "channel must be a whole number from -1", "exit_code": 2}
                    reason = self._gateway.send(station, bytes.fromhex(text), channel)
                    return {"refused": reason} if reason else {"ok": True}
                case {"do": "place", "body": str(body), "position": position}:
                    self._gateway.place(body, _pose(position, request.get("rotation")))
                    return {"ok": True}
                case {"do": "set", "device": str(device)}:
                    channel, range_m = request.get("channel"), request.get("range")
                    if not (channel is None or type(channel) is int) or not (
                        range_m is None or type(range_m) in (int, float)
                    ):
                        return {"error": "channel and range must be numbers", "exit_code": 2}
                    reason = self._gateway.set(device, channel, range_m)
                    return {"refused": reason} if reason else {"ok": True}
                case {"do": "arm", "robot": str(robot)}:
                    self._gateway.control_loops.arm(robot)
                    return {"ok": True}
                case {"do": "report"}:
                    return {"ok": True, "report": self._gateway.report()}
        except HilgwError as error:
            return {"error": str(error), "exit_code": error.exit_code}
        except (ValueError, RecursionError) as error:
            return {"error": f"not a request: {error}", "exit_code": 2}
        return {"error": "unknown request", "exit_code": 2}


def _pose(position: object, rotation: object) -> Pose | None:
    """null is unknown. Raises ConfigError, a HilgwError, for what is no pose."""
    if position is None:
        return None
    x, y, z = _numbers("position", position, 3)
    ax, ay, az, angle = _numbers("rotation", rotation or [0, 0, 1, 0], 4)
    return Pose.from_axis_angle((x, y, z), (ax, ay, az, angle))


def _numbers(what: str, given: object, count: int) -> list[float]:
    if not isinstance(given, list) or [type(n) in (int, float) for n in given] != [True] * count:
        raise UsageError(f"{what} must be {count} numbers")
    try:
        return [float(number) for number in given]
    except OverflowError:
        raise UsageError(f"{what} is out of all bounds") from None


async def ask(path: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
    """One request to a running gateway. Raises PeerError when it does not answer."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_BYTES)
            try:
                writer.write(json.dumps(request).encode() + b"\n")
                await writer.drain()
                answer = json.loads(await reader.readline())
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        raise PeerError(
            "the gateway does not answer", where=str(path), fix="is it still running?"
        ) from None
    if not isinstance(answer, dict):
        raise PeerError("the gateway answers nonsense", where=str(path))
    return answer
