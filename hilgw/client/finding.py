"""Finds the gateway that has a name, where several run on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hilgw.client.control_paths import live_sockets
from hilgw.client.control_socket import (
    ASK_ALL_S,
    Gateway,
    ask,
    find_gateway,
    in_parallel,
    label,
)
from hilgw.errors import HilgwError, PeerError, UsageError, quoted
from hilgw.protocols.gateway.messages import Do

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
