"""Zenoh's own settings, of a configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import zenoh

from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.config.context import Inspection
    from hilgw.config.model import FederationConfig

Keys = tuple[str, ...]
LEASE_MS = 1000
LARGEST_MESSAGE = 1 << 20
_MESSAGE = re.compile(r'"(.+?)"')  # in an error of Zenoh
_FIX = "see Zenoh's DEFAULT_CONFIG.json5 for its settings"
_SCOUTING = "scouting/multicast/enabled", "scouting/gossip/enabled"
_REACHED_BY = ("listen/endpoints", "connect/endpoints", *_SCOUTING)
_RETRY = {"period_init_ms": 50, "period_max_ms": 500, "period_increase_factor": 2}


def zenoh_settings(config: FederationConfig) -> zenoh.Config:
    """Return the settings of a session.

    First those that a medium needs, then the endpoints, then those of `zenoh:`.

    Raises:
      ConfigError: Zenoh does not have this setting.
    """
    made = zenoh.Config()
    for key, value in _own(config):
        made.insert_json5(key, json.dumps(value))
    for path, problem in _refused(made, config):
        raise ConfigError(problem, where=f"federation.zenoh.{'.'.join(path)}", fix=_FIX)
    return made


def check_settings(inspection: Inspection) -> None:
    """Report each setting of `zenoh:` that Zenoh does not have, at its place in the file."""
    for section, config in inspection.made("federation"):
        made = zenoh.Config()
        for key in _SCOUTING:
            made.insert_json5(key, "false")
        before = {key: made.get_json(key) for key in _REACHED_BY}
        for path, problem in _refused(made, config):
            inspection.error((*section, "zenoh", *path), problem, _FIX)
        changed = [key for key in _REACHED_BY if made.get_json(key) != before[key]]
        if changed and not config.plaintext:
            problem = f"others reach this gateway by {', '.join(changed)} of zenoh, without TLS"
            inspection.error(
                (*section, "zenoh"),
                problem,
                "delete it and use tls/HOST:PORT in listen and connect, or write plaintext: true "
                "for a network that you trust",
            )


def _refused(made: zenoh.Config, config: FederationConfig) -> Iterator[tuple[Keys, str]]:
    for path, value in _leaves((), config.zenoh):
        try:
            made.insert_json5("/".join(path), json.dumps(value))
            taken = made.get_json("/".join(path))
            if isinstance(value, int | float) and json.loads(taken) != value:
                yield path, f"Zenoh would take {taken} for it"
        except TypeError:
            continue  # the value has an error already
        except zenoh.ZError as error:
            match = _MESSAGE.search(str(error))
            why = "" if match is None else f": {match[1]}"
            yield path, f"Zenoh refuses {'/'.join(path)}{why}"


def _own(config: FederationConfig) -> Iterator[tuple[str, Any]]:
    """Yield the settings of hilgw.

    A receiver that stands still must not hold up the others for longer than 200 ms (Zenoh waits 5
    s), one that is gone is noticed within the lease, and a sender cannot make this gateway take 1
    GiB. Only the endpoints connect, no multicast or gossip.
    """
    yield "mode", config.mode
    yield from ((key, False) for key in _SCOUTING)
    yield "scouting/delay", 0
    yield "open/return_conditions/connect_scouted", False
    yield "listen/endpoints", list(config.endpoints)
    yield "connect/endpoints", list(config.connect)
    yield "connect/timeout_ms", -1
    yield "connect/exit_on_failure", False
    yield "connect/retry", _RETRY
    yield "transport/link/tx/lease", LEASE_MS
    yield "transport/link/tx/queue/congestion_control/block/wait_before_close", 200_000  # us
    # Each message that leaves at once takes one of these: what may not block finds one.
    yield "transport/link/tx/queue/size/data", 16
    yield "transport/link/rx/max_message_size", LARGEST_MESSAGE


def _leaves(path: Keys, value: Any) -> Iterator[tuple[Keys, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from _leaves((*path, str(key)), item)
    else:
        yield path, value
