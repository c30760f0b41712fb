"""The client of a gateway's control socket, which `hilgw send`, `place`, `set` and `arm` use.

A Unix stream socket; one JSON object per line in each direction. Only the owner of the socket may
connect: it has mode 0600, in a folder of mode 0700.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hilgw.client.control_paths import live_sockets
from hilgw.errors import HilgwError, PeerError, UsageError

LINE_BYTES = 256 * 1024
IDENTIFY_S = 1.0


def find_gateway(control: str | None, config: str | None = None) -> Path:
    """The socket at the path `control`; without one, that of the only running gateway, or of the
    one that runs `config`: a path, or the name of a file without its suffix."""
    if control is not None:
        return Path(control)
    live = live_sockets()
    if not live:
        raise PeerError("no gateway of yours is running", fix="start one with hilgw --config FILE")
    if len(live) == 1 and config is None:
        return live[0]
    configs = {path: _config_of(path) for path in live}
    found = [path for path in live if config is None or _is_named(configs[path], config)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{configs[path] or 'another version'} at {path}" for path in found or live)
    if not found:
        raise PeerError(
            f"no running gateway has the configuration {config}", fix=f"there is {listed}"
        )
    same = len({configs[path] for path in found}) < len(found)
    raise UsageError(
        f"several gateways are running: {listed}",
        fix="name one with --control" if same else "name one with --config, or with --control",
    )


def _config_of(path: Path) -> str:
    """The configuration that the gateway at this socket runs; "" when it does not tell."""
    try:
        return str(ask(path, {"do": "identify"}, IDENTIFY_S).get("config", ""))
    except PeerError:
        return ""


def _is_named(running: str, config: str) -> bool:
    """Whether `config`, a path or a name without a suffix, names the file that is running."""
    file = Path(running)
    return bool(running) and (Path(config).resolve() == file or config in (file.stem, file.name))


def ask(path: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
    """One request to a running gateway, and its answer. PeerError when it does not answer."""
    try:
        answer = json.loads(_exchange(path, json.dumps(request).encode() + b"\n", timeout_s))
    except (OSError, ValueError):
        raise PeerError(
            "the gateway does not answer", where=str(path), fix="is it still running?"
        ) from None
    if not isinstance(answer, dict):
        raise PeerError("the gateway sent an invalid answer", where=str(path))
    return answer


def request_of(
    path: Path,
    request: dict[str, Any],
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 5.0,
) -> dict[str, Any]:
    """One request to the gateway at this socket; its answer. HilgwError when it refuses.

    fixes: the fix for each reason of a refusal.
    """
    answer = ask(path, request, timeout_s)
    if "error" in answer:
        error = HilgwError(answer["error"])
        error.exit_code = answer.get("exit_code", 1)
        raise error
    if "refused" in answer:
        reason = str(answer["refused"])
        raise HilgwError(
            f"refused: {reason.replace('_', ' ')}", where=where, fix=fixes.get(reason, "")
        )
    return answer


def _exchange(path: Path, line: bytes, timeout_s: float) -> bytes:
    """Sends one line and returns the line that answers it. OSError (TimeoutError is one), or
    ValueError for a line that is too long."""
    end_s = time.monotonic() + timeout_s
    answer = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
        try:
            connection.sendall(line)
        except ConnectionError:
            pass  # a gateway that refuses the connection answers before it reads
        while b"\n" not in answer:
            connection.settimeout(max(end_s - time.monotonic(), 0.001))
            data = connection.recv(65536)
            if not data:
                break
            answer += data
            if len(answer) > LINE_BYTES:
                raise ValueError("the answer is too long")
    return bytes(answer)
