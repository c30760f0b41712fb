"""Hands a port of a running gateway to another program, as `hilgw release` does.

The gateway takes it back when this process ends in any way.
"""

from __future__ import annotations

import os
from typing import Any

from hilgw.client.control_socket import Gateway, accepted, ask_on, connected
from hilgw.errors import PeerError, printable
from hilgw.protocols.gateway.messages import Do

ANSWER_S = 30.0  # motors stop first, a driver may be slow to close, and a board to start


class Release:
    """A port that this process has. path: of the device. notes: what happened to robots on it.

    command: who uses it, for the user. HilgwError when the gateway refuses; PeerError when it does
    not answer.
    """

    def __init__(self, gateway: Gateway, name: str, command: str) -> None:
        self._gateway, self._name = gateway, name
        try:
            self._connection = connected(gateway.path, ANSWER_S)
        except OSError:
            raise PeerError("the gateway does not answer", where=str(gateway.path)) from None
        try:
            request = {"do": Do.RELEASE_PORT, "port": name, "command": command, "pid": os.getpid()}
            answer = self._ask(request)
        except BaseException:
            self.close()
            raise
        self.path = str(answer["path"])
        self.notes = [printable(str(note)) for note in answer["notes"]]

    def take_back(self) -> str:
        """The gateway opens it again: empty once it is up, else its state after some seconds.
        HilgwError when the gateway does not answer."""
        return printable(str(self._ask({"do": Do.TAKE_BACK}).get("down", "")))

    def close(self) -> None:
        """The gateway takes it back."""
        self._connection.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return accepted(ask_on(self._connection, request, ANSWER_S), self._gateway, self._name)
