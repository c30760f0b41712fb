"""Controllers that hilgw starts: a private server and a child process each."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hilgw.engine.control_loop.servers.webots_port import WebotsPort
from hilgw.engine.control_loop.servers.webots_server import WebotsServer
from hilgw.engine.listening import Listening
from hilgw.engine.processes import Child, Program
from hilgw.protocols.webots.address import program_environment
from hilgw.security.access import Access, TokenCheck

if TYPE_CHECKING:
    from hilgw.controllers.base import ProgramController
    from hilgw.engine.control_loop.loop import ControlLoop
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.gateway import Gateway

LOOPBACK = "127.0.0.1"


def add_program(
    gateway: Gateway,
    loop: ControlLoop,
    link: PeerLink[Any],
    kind: ProgramController,
    settings: Any,
    *,
    latches: bool,
) -> str:
    """Adds the server, whose token the child alone has, and the child, which starts when the server
    listens. latches: as of `Restarts`. Returns what it is, in words."""
    token = secrets.token_urlsafe()
    access = Access([("program", "drive", token)])

    # Other programs of this machine could use a limit of tries to keep the child out, and the token
    # cannot be guessed.
    check = TokenCheck(access, "drive", lambda: gateway.real_timer.now(), limited=False)

    def start(host: str, number: int) -> None:
        url = f"tcp://{host}:{number}/{quote(loop.name, safe='')}"
        child.start(program_environment(url, os.environ, token, gateway.control_path))

    server = WebotsServer(Listening(LOOPBACK, 0, check_token=check))
    where = Path(settings.file).name
    port = WebotsPort(link, loop.name, server, gateway.lines, lambda: loop.is_complete, where=where)
    port.on_listening = start
    program = Program(kind.command(settings), settings.restart, latches)
    child = Child(link.name, program, gateway.observer, lambda: loop.is_complete)
    loop.presence.program = child
    port.on_quit_sent = child.quit_sent
    gateway.children.append(child)
    gateway.reports[f"{link.name}.program"] = child.report
    gateway.supervisors[link.name] = port
    return f"controller {kind.kind}: {where}"
