"""Several gateways of one user, real ones and ones that misbehave, in one control folder."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.testing.sim import DEADLINE_S

Answer = Callable[[dict[str, Any]], bytes]


def with_robots(*names: str) -> str:
    """A configuration whose robots have a control loop, an emitter, and are armed."""
    robots = "".join(
        f"  {name}:\n"
        f'    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:{port}", simulated: true}}\n'
        "    safety: {armed: true}\n"
        "    devices: {tx: {node: Emitter}, rx: {node: Receiver}}\n"
        for port, name in enumerate(names, 1)
    )
    return f"version: 1\nwebots: R2020a\nrobots:\n{robots}"


class Running:
    """Real gateways by the names of their sockets, in the event loop of a thread; `armed()` are
    their robots that may move."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.gateways: dict[str, Gateway] = {}
        self.loop = loop

    def armed(self) -> set[str]:
        return {
            f"{name}.{robot}"
            for name, gateway in self.gateways.items()
            for robot in gateway.control_loops
            if gateway.control_loops[robot].safety.state.armed
        }


@contextmanager
def running(folder: Path, **configs: str) -> Iterator[Running]:
    """A gateway for each of these configurations, at FOLDER/NAME.sock, that runs /NAME.yaml."""
    started = Running(loop := asyncio.new_event_loop())
    ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        servers = []
        for name, text in configs.items():
            gateway = build(load_text(text, "f").config, loop, Observer())
            started.gateways[name] = gateway
            path = str(folder / f"{name}.sock")
            servers.append(ControlServer(gateway, path, config=f"/{name}.yaml"))
            await servers[-1].start()
        ready.set()
        await stop.wait()
        for server, gateway in zip(servers, started.gateways.values(), strict=True):
            await server.close()
            gateway.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(DEADLINE_S)
    try:
        yield started
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@contextmanager
def peer(path: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """A program at this control socket that answers with these bytes and closes; the requests."""
    requests: list[dict[str, Any]] = []
    stopping = False

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            if line := lines.readline():
                requests.append(json.loads(line))
                with suppress(OSError):
                    connection.sendall(answer(requests[-1]))

    def accept() -> None:
        with ExitStack() as threads:
            while True:
                connection, _ = listener.accept()
                if stopping:
                    connection.close()
                    return
                thread = threading.Thread(target=serve, args=(connection,))
                thread.start()
                threads.callback(thread.join)

    with frozen(path) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield requests
        finally:
            stopping = True
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(str(path))
            accepting.join()


@contextmanager
def frozen(path: Path) -> Iterator[socket.socket]:
    """The socket of a stopped process: the system accepts connections, and no program reads."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield listener


def killed(path: Path) -> None:
    """The socket that a killed gateway leaves."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
