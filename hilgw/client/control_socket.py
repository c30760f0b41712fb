"""The client of a gateway's control socket, which `hilgw send`, `place`, `set` and `arm` use.

A Unix stream socket; one JSON object per line in each direction. Only the owner of the socket may
connect: it has mode 0600, in a folder of mode 0700.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from hilgw.client.control_paths import live_sockets
from hilgw.errors import HilgwError, PeerError, UsageError, printable, quoted
from hilgw.protocols.gateway.messages import LINE_BYTES, Do, encode

ASK_ALL_S = 1.0  # for the answer of each gateway, where all are asked at the same time
NO_ANSWER = "the gateway does not answer"
CONNECT_AGAIN_S = 0.01  # its queue of connections is full
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway. label: names it in answers; "" for the only one, or a selected one."""

    path: Path
    label: str = ""

    def suffix(self) -> str:
        """The end of a line that reports an answer."""
        return f" (gateway {self.label})" if self.label else ""


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
    configs = dict(zip(live, in_parallel(config_of, live), strict=True))
    found = [path for path in live if config is None or is_named(configs[path], config)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(label(path, configs[path]) for path in found or live)
    if not found:
        raise PeerError(
            f"no running gateway has the configuration {config}", fix=f"there is {listed}"
        )
    same = len({configs[path] for path in found}) < len(found)
    raise UsageError(
        f"several gateways are running: {listed}",
        fix="name one with --control" if same else "name one with --config, or with --control",
    )


def label(path: Path, config: object = None) -> str:
    """A gateway in words: its configuration, if it is known, and its socket."""
    known = config if isinstance(config, str) else ""
    return f"{printable(known)} at {path}" if known else str(path)


def config_of(path: Path) -> str:
    """The configuration that the gateway at this socket runs; "" when it does not answer."""
    try:
        return str(ask(path, {"do": Do.IDENTIFY}, ASK_ALL_S).get("config", ""))
    except PeerError:
        return ""


def in_parallel(work: Callable[[Path], T], paths: Sequence[Path]) -> list[T]:
    """work(path) of each, at the same time: one that waits delays no other."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and rarely needed

    if len(paths) < 2:
        return [work(path) for path in paths]
    with ThreadPoolExecutor(len(paths)) as pool:
        return list(pool.map(work, paths))


def is_named(running: str, config: str) -> bool:
    """Whether `config`, a path or a name without a suffix, names the file that is running."""
    file = Path(running)
    return bool(running) and (Path(config).resolve() == file or config in (file.stem, file.name))


def ask(path: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
    """One request to a running gateway, and its answer. PeerError when it does not answer."""
    end_s = time.monotonic() + timeout_s
    try:
        with connected(path, timeout_s) as connection:
            return ask_on(connection, request, end_s - time.monotonic())
    except (OSError, PeerError) as error:
        what = error.what if isinstance(error, PeerError) else NO_ANSWER
        fix = "is it still running?" if what == NO_ANSWER else ""
        raise PeerError(what, where=str(path), fix=fix) from None


def ask_on(connection: socket.socket, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """One request on this connection, and its answer. PeerError when there is none."""
    try:
        answer = json.loads(_exchange(connection, encode(request), timeout_s))
    except (OSError, ValueError, RecursionError):
        raise PeerError(NO_ANSWER) from None
    if not isinstance(answer, dict):
        raise PeerError("the gateway sent an invalid answer")
    return answer


def request_of(
    gateway: Gateway,
    request: dict[str, Any],
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 5.0,
) -> dict[str, Any]:
    """One request to this gateway; its answer. HilgwError when it refuses.

    fixes: the fix for each reason of a refusal.
    """
    return accepted(ask(gateway.path, request, timeout_s), gateway, where, fixes)


def accepted(
    answer: dict[str, Any],
    gateway: Gateway,
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The answer. HilgwError when the gateway refuses."""
    if "error" in answer:
        error = HilgwError(str(answer["error"]), where=gateway.label)
        code = answer.get("exit_code")
        error.exit_code = code if type(code) is int and 0 < code < 256 else 1
        raise error
    if "refused" in answer:
        reason = str(answer["refused"])
        raise HilgwError(
            f"refused: {reason.replace('_', ' ')}",
            where=f"{where}{gateway.suffix()}",
            fix=fixes.get(reason, ""),
        )
    return answer


def _exchange(connection: socket.socket, line: bytes, timeout_s: float) -> bytes:
    """Sends one line and returns the line that answers it. OSError (TimeoutError is one), or
    ValueError for a line that is too long."""
    end_s = time.monotonic() + timeout_s
    answer = bytearray()
    try:
        connection.settimeout(max(timeout_s, 0.001))
        connection.sendall(line)
    except ConnectionError:
        pass  # a gateway that refuses the connection, or ends, answers before it reads
    while b"\n" not in answer:
        if (left_s := end_s - time.monotonic()) <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        data = connection.recv(65536)
        if not data:
            break
        answer += data
        if len(answer) > LINE_BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)


def connected(path: Path, timeout_s: float) -> socket.socket:
    """A connection. Waits for room in the queue of connections of a gateway that is busy. OSError
    when there is none in time."""
    end_s = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    while True:
        try:
            connection.connect(str(path))
            return connection
        except OSError as error:
            if not isinstance(error, BlockingIOError) or time.monotonic() > end_s:
                connection.close()
                raise
            time.sleep(CONNECT_AGAIN_S)


# --- the gateway that has a name, where several run on this machine -------------------------------


SELECT = "name one gateway with --config, or with --control"


def gateway_with(
    kind: str, name: str, control: str | None = None, config: str | None = None
) -> Gateway:
    """Finds a gateway as `gateways_with` does, for one name."""
    return next(iter(gateways_with(kind, [name], control, config)))


def gateways_with(
    kind: str, names: Sequence[str], control: str | None = None, config: str | None = None
) -> dict[Gateway, list[str]]:
    """The gateways that have these names, each with its names.

    kind: robot (with a control loop), station, device, hardware station or object. control,
    config: select one gateway, as in `find_gateway`; so does a gateway that is the only one. Such
    a gateway is not asked: it answers the request itself. Where several run, exactly one must have
    each name, and all must answer: else HilgwError, and no request was made.
    """
    selected = control is not None or config is not None
    live = [] if selected else live_sockets()
    if len(live) < 2:
        only = live[0] if live else find_gateway(control, config)
        return {Gateway(only): list(names)}
    question = {"do": Do.FIND, "kind": kind, "names": list(names)}
    answers = dict(zip(live, in_parallel(lambda path: _answer(path, question), live), strict=True))
    gateways = {path: Gateway(path, label(path, answers[path].get("config"))) for path in live}
    found: dict[Gateway, list[str]] = {}
    for name in dict.fromkeys(names):
        having = [path for path in live if name in answers[path].get("found", ())]
        silent = [path for path in live if "found" not in answers[path]]
        if len(having) != 1 or silent:
            raise _error(f"{kind} {quoted(name)}", having, silent, answers)
        found.setdefault(gateways[having[0]], []).append(name)
    return found


def _answer(path: Path, question: dict[str, Any]) -> dict[str, Any]:
    """The answer has no "found" when there is none, or when the gateway has another version."""
    try:
        answer = ask(path, question, ASK_ALL_S)
    except PeerError:
        return {}
    if not isinstance(answer.get("found", []), list):
        del answer["found"]
    return answer


def _error(
    what: str, having: list[Path], silent: list[Path], answers: dict[Path, dict[str, Any]]
) -> HilgwError:
    """Why no gateway is the one that has it; it names those that did not answer, too."""

    def listed(paths: list[Path]) -> str:
        return ", ".join(label(path, answers[path].get("config")) for path in paths)

    unasked = f"no answer whether it has the {what}: {listed(silent)}" if silent else ""
    if len(having) > 1:
        more = f"; {unasked}" if silent else ""
        text = f"several gateways have the {what}: {listed(having)}{more}; nothing was sent"
        return UsageError(text, fix=SELECT)
    if silent:
        return PeerError(f"{unasked}; nothing was sent", fix=SELECT)
    fixes = (f"{listed([path])}: {each.get('fix', '')}" for path, each in answers.items())
    return HilgwError(f"no running gateway has the {what}", fix="; ".join(fixes))
