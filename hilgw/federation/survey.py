"""A survey of a network: gateways and their state, seen by a session of its own, for a second."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import zenoh

from hilgw.config.model import FederationConfig
from hilgw.federation import wire
from hilgw.federation.session import SOURCE_PLACE
from hilgw.federation.settings import zenoh_settings
from hilgw.federation.wire import GatewayState, MemberKey
from hilgw.protocols.gateway.messages import keys_of
from hilgw.units import ns_to_ms

CONNECT_MS, GET_S, ALL_S = 700, 0.4, 1.5
MOST_GATEWAYS = 512
NO_ANSWER = f"nothing there answers within {CONNECT_MS / 1e3:g} s"
_QUERY = wire.encode_json(wire.LinkQuery("scan", wire.id_text(0)))

Found = dict[str, Any]


def survey(
    config: FederationConfig, endpoints: Sequence[str], network: str
) -> tuple[list[Found], dict[str, str]]:
    """Return the gateways at these endpoints, and why an endpoint has none: plain JSON types.

    `config` has the settings of Zenoh. The network "*" is any. Names in the result come from the
    network: any texts.
    """
    gateways: dict[tuple[str, str, int], Found] = {}
    problems = dict.fromkeys(endpoints, "it accepts connections, and does not answer")

    def ask(endpoint: str) -> None:
        one = replace(config, mode="client", listen=None, connect=(endpoint,))
        try:
            session = zenoh.open(_settings(one))
        except zenoh.ZError as error:
            why = SOURCE_PLACE.sub("", str(error))
            problems[endpoint] = NO_ANSWER if why.startswith("Unable to connect") else why
            return
        here = _gateways(session, network)
        gateways.update({(each["network"], each["name"], each["id"]): each for each in here})
        problems[endpoint] = "" if here else "no gateway is there"
        session.close()  # type: ignore[no-untyped-call]

    # Not in a pool: a call that blocks in Zenoh ends with the process.
    threads = [threading.Thread(target=ask, args=(each,), daemon=True) for each in endpoints]
    deadline = time.monotonic() + ALL_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return list(gateways.copy().values()), {at: why for at, why in problems.items() if why}


def _settings(config: FederationConfig) -> zenoh.Config:
    made = zenoh_settings(config)
    made.insert_json5("connect/timeout_ms", str(CONNECT_MS))
    made.insert_json5("connect/exit_on_failure", "true")
    return made


def _gateways(session: zenoh.Session, network: str) -> list[Found]:
    tokens = list(session.liveliness().get(f"hilgw/{network}/member/*/*/*", timeout=GET_S))
    asked = []
    for reply in tokens[:MOST_GATEWAYS]:
        try:
            key = str(reply.ok.key_expr) if reply.ok is not None else ""
            member_key, where = wire.member_key(key), key.split("/")[1]
        except (wire.Malformed, IndexError):
            continue
        keys = wire.Keys(where, member_key.name)
        state, link = (
            _Answer(session, keys.own("state")),
            _Answer(session, keys.own("link"), _QUERY),
        )
        asked.append((where, member_key, state, link))
    return [_found(*each) for each in asked]


class _Answer:
    def __init__(self, session: zenoh.Session, key: str, payload: bytes | None = None) -> None:
        self._data, self._ended = list[tuple[bytes, int]](), threading.Event()
        self.asked_ns = time.monotonic_ns()
        handler = zenoh.handlers.Callback(self._take, self._ended.set)
        session.get(key, handler, payload=payload, timeout=GET_S)

    def _take(self, reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            self._data.append((reply.ok.payload.to_bytes(), time.monotonic_ns()))

    def all(self) -> list[tuple[bytes, int]]:
        """Return data and arrival times from each gateway that has this name."""
        self._ended.wait(2 * GET_S)
        return self._data


def _found(network: str, key: MemberKey, state: _Answer, link: _Answer) -> Found:
    id, trips_ms, known = wire.id_text(key.id), list[float](), wire.GatewayState("")
    for data, _ in state.all():
        known = _state(data, id) or known
    for data, got_ns in link.all():
        try:
            answer = wire.decode_json(wire.LinkAnswer, data)
        except wire.Malformed:
            continue
        if answer.id == id:
            there_ns = answer.sent_ns - answer.received_ns
            trips_ms.append(ns_to_ms(max(got_ns - link.asked_ns - there_ns, 0)))
    return {
        "network": network,
        "name": key.name,
        "id": id,
        "version": key.version,
        "hilgw": known.hilgw,
        "robots": known.robots,
        "listeners": {name: keys_of(each) for name, each in known.listeners.items()},
        "round_trip_ms": min(trips_ms, default=None),
    }


def _state(data: bytes, id: str) -> GatewayState | None:
    try:
        state = wire.decode_json(wire.GatewayState, data)
    except wire.Malformed:
        return None
    return state if state.id == id else None
