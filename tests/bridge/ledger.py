"""The ledger of a bridge without a framing: for each direction, and each client in it."""

from typing import Any

DIRECTIONS = ("to_serial", "to_tcp")


def violations(report: dict[str, Any]) -> list[str]:
    """The equations that do not hold, and the counts that are negative."""
    ledgers = {name: report[name] for name in DIRECTIONS}
    for client in report["clients"]["each"]:
        ledgers |= {f"{client['peer']} {name}": client[name] for name in DIRECTIONS}
    return [f"{name}: {ledger}" for name, ledger in ledgers.items() if not _holds(ledger)]


def _holds(ledger: dict[str, Any]) -> bool:
    known = [ledger["sent_bytes"], ledger["queued_bytes"], *ledger["dropped"].values()]
    return ledger["accepted_bytes"] == sum(known) and min(known) >= 0
