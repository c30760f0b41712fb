"""Stepped controllers: where they connect, and the programs that hilgw starts."""

import os
import secrets
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hilgw.assemble.network import LOOPBACK, NetworkPorts
from hilgw.config.model import Backend, PartConfig
from hilgw.config.queries import backend_of, endpoint, is_mocked, moves_unlatched, program_of
from hilgw.control.parts import Listens
from hilgw.controllers.base import PeerController, ProgramController
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.servers.webots_server import OwnController, WebotsPort, WebotsServer
from hilgw.engine.control_loop.servers.webots_socket import LocalSocket, PluginSocket, WebotsSocket
from hilgw.engine.listening import Listening
from hilgw.engine.processes.processes import Child, Program
from hilgw.plugins import CONTROLLERS, load
from hilgw.protocols.webots.answers import comparable
from hilgw.protocols.webots.handshake import (
    Acknowledgement,
    encode_hello,
    program_environment,
    without_mock,
)
from hilgw.reasons import RequestRefused
from hilgw.security.access import Access, TokenCheck
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.stream import connect_local

MOCK_URL = f"tcp://{LOOPBACK}:1236"  # another port, when it is in use
PLUGIN = "webots_plugin"  # the kind of controller


class SteppedAssembly:
    """Builder of the connections of stepped controllers."""

    def __init__(self, ports: NetworkPorts) -> None:
        self._ports, self._config, self._gateway = ports, ports.config, ports.gateway
        self._servers: dict[tuple[str, int, bool], WebotsServer] = {}

    def add(self, loop: ControlLoop, link: PeerLink[Any], part: PartConfig, *, mocked: bool) -> str:
        """Add the controller of this control loop, or its mock; return its description."""
        settings = part.settings
        program = program_of(part)
        if program is not None:
            return self._add_program(loop, link, program, settings)
        listen = settings.listen
        local: type[LocalSocket] | None = WebotsSocket if settings.ipc else None
        if part.kind == PLUGIN:  # a mock in its place connects over TCP
            listen, local = (MOCK_URL, None) if mocked else (None, PluginSocket)
        if backend_of(self._config, link.name) is Backend.REPLAY:
            listen, local = listen or MOCK_URL, None
            hello = encode_hello(loop.name), Acknowledgement.CONNECTED.encode()
            self._ports.replays.openings[link.name] = hello, comparable
            self._ports.replays.words[link.name] = partial(link.session.describe, received=False)
        server = None if listen is None else self._server(listen, mocked=mocked)
        words, own = "", None
        if mocked:
            controller: PeerController = load(CONTROLLERS, part.kind)
            spec = controller.mock(settings, self._config.release)
            parameters, how = {"robot": loop.name} | spec.parameters, None
            if server is None:  # on the local socket, where answers have another framing
                parameters, how = parameters | {"framing": "ipc"}, connect_local
            words, aim = self._ports.client(link.name, replace(spec, parameters=parameters), how)
            own = OwnController(aim, mock_fix=without_mock(loop.name))
        port = WebotsPort(
            link,
            server,
            self._gateway.lines,
            where=settings.listen or "a local socket",
            local=local,
            own=own,
        )
        self._gateway.supervisors[link.name] = port
        return f"controller {part.kind}: listens on {port.where}{words}"

    def _server(self, url: str, *, mocked: bool) -> WebotsServer:
        address = *parse_address(url), mocked
        if address not in self._servers:
            listening = self._ports.listening(
                url, mocked=mocked, shared=mocked and self._is_of_a_real_one(url), tokens=True
            )
            self._servers[address] = WebotsServer(
                listening, partial(self._turn_away, listening, Counter())
            )
        return self._servers[address]

    def _turn_away(
        self,
        listening: Listening,
        counts: Counter[str],
        peer: str,
        reason: RequestRefused,
        text: str,
    ) -> None:
        counts[reason] += 1
        self._gateway.reports[listening.where] = lambda: {"refused": dict(counts)}
        self._gateway.observer.refused(listening.where, reason, f"{peer}: {text}")

    def _is_of_a_real_one(self, url: str) -> bool:
        return any(
            not is_mocked(self._config, f"{name}.controller")
            and endpoint(settings.listen) == endpoint(url)
            for name, robot in self._config.robots.items()
            if robot.controller
            and isinstance(settings := robot.controller.settings, Listens)
            and settings.listen
        )

    def _add_program(
        self, loop: ControlLoop, link: PeerLink[Any], kind: ProgramController, settings: Any
    ) -> str:
        gateway = self._gateway
        token = secrets.token_urlsafe()
        access = Access([("program", "drive", token)])

        # Other programs of this machine could use a limit of tries to keep the child out, and the
        # token cannot be guessed.
        check = TokenCheck(access, "drive", lambda: gateway.real_timer.now(), limited=False)

        child = Child(
            link.name,
            Program(
                kind.command(settings),
                settings.restart,
                latches=not moves_unlatched(self._config, loop.name),
            ),
            gateway.observer,
            lambda: loop.is_complete,
        )

        def start(host: str, number: int) -> None:
            url = f"tcp://{host}:{number}/{quote(loop.name, safe='')}"
            environment = program_environment(url, os.environ, token) | gateway.environment
            if late_ns := gateway.holds.late.get(link.name):
                gateway.timer.call_at(late_ns, partial(child.start, environment))
            else:
                child.start(environment)

        listening = Listening(LOOPBACK, 0, check_token=check)
        server = WebotsServer(listening, partial(self._turn_away, listening, Counter()))
        where = Path(settings.file).name
        gateway.children.append(child)
        gateway.reports[f"{link.name}.program"] = child.report
        gateway.supervisors[link.name] = WebotsPort(
            link, server, gateway.lines, where=where, own=OwnController(start, child)
        )
        return f"controller {kind.kind}: {where}"
