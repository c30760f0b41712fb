"""Other gateways of a federation, in words.

What they have comes from the network: all texts are made printable.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from hilgw.cli.output.text import Style
from hilgw.errors import printable
from hilgw.events.words import (
    FROM,
    TO,
    counted,
    in_words,
    joined,
    listing,
    of_port,
    reason_counts,
    way,
)

Found = Mapping[str, Any]


def status_lines(status: Found, style: Style) -> Iterator[str]:
    """Yield the federation of a gateway, of `hilgw status`."""
    gateways = status["gateways"]
    where = f"{printable(status['name'])} in the network {printable(status['network'])}"
    yield f"  federation: {where}, {len(gateways)} other gateway{'s' * (len(gateways) != 1)}"
    for name, gateway in gateways.items():
        yield from _gateway(name, gateway, style)
    for name, reached_by in status["unreached"].items():
        by = f"{printable(name)} is not reached, but by {printable(listing(reached_by))}"
        yield f"    {style.bad(by)}: connect the two, or all to one router"
    outside = status["outside"]
    entered, dropped = outside["entered"], outside["dropped"]
    words = [
        f"{entered} packets of other programs" if entered else "",
        f"dropped {reason_counts(dropped)}" if dropped else "",
    ]
    if any(words):
        yield f"    from outside: {printable(joined(words, ', '))}"


def _gateway(name: str, gateway: Found, style: Style) -> Iterator[str]:
    from hilgw.events.kinds import BAD, PORTS

    state, latency = printable(of_port(gateway)), gateway["latency"]
    shown = style.of(PORTS.get(gateway["state"], BAD), state)
    clock = gateway["round_trip_ms"], gateway["clock_offset_s"]
    times = way(latency["p50_ms"], latency["p99_ms"], *clock)
    yield f"    {printable(name)} {shown}{'; ' * bool(times)}{times}"
    yield f"      to it: {counted(gateway, TO)}"
    dropped = f", dropped {reason_counts(gateway['dropped'])}" if gateway["dropped"] else ""
    yield f"      from it: {counted(gateway, FROM)}{printable(dropped)}"
    yield from (f"      {line}" for line in things(gateway))


def things(gateway: Found) -> Iterator[str]:
    """Yield the robots with their devices, and the listeners, of a gateway."""
    robots = [
        f"{name} ({', '.join(devices)})" if devices else name
        for name, devices in gateway["robots"].items()
    ]
    if robots:
        yield printable(f"robots: {listing(robots)}")
    listeners = [_listener(name, each) for name, each in gateway["listeners"].items()]
    if listeners:
        yield printable(f"listeners: {listing(listeners)}")


def _listener(name: str, listener: Found) -> str:
    channels = listener.get("channels")
    if channels is None or -1 in channels:
        on = "all channels"
    else:
        on = f"channel {listing([str(number) for number in channels])}"
    air = f", module in air {listener['air']}" if listener.get("air") else ""
    return f"{name} ({in_words(listener['type'])}, {on}{air})"


# --- `hilgw status --network` ---------------------------------------------------------------------

MOST_LINES, LONGEST_LINE = 64, 1024  # of each kind: others may answer anything
_COLUMNS = ("sent", "delivered", "lost", "unsettled", "received", "missed")


def network_lines(network: str, ledger: Found, style: Style) -> Iterator[str]:
    """Yield the ledgers of a network's gateways, as of `protocols.gateway.network.added_up`."""
    gateways, totals = [*ledger["gateways"], *ledger["silent"]], ledger["totals"]
    yield f"network {style.strong(printable(network))}: {printable(listing(gateways))}"
    links = [(_short(f"{each['from']} -> {each['to']}"), each) for each in ledger["links"]]
    left, links = len(links[MOST_LINES:]), links[:MOST_LINES]
    wide = max([len("all links"), *(len(name) for name, _ in links)])
    yield f"  {'link':{wide}} " + " ".join(f"{key:>9}" for key in _COLUMNS)
    for name, link in [*links, ("all links", {**totals, "why": ""})]:
        cells = " ".join(f"{'-' if link[key] is None else link[key]:>9}" for key in _COLUMNS)
        yield f"  {name:{wide}} {cells}"
        if link["why"]:
            yield f"    {(style.dim if link['adds_up'] is None else style.bad)(link['why'])}"
    if left:
        yield f"  and {left} more links, which are in --json"
    yield f"  packets on all mediums: {totals['packets']}, copies {totals['copies']}"
    for kind, reasons in islice(totals["losses"].items(), MOST_LINES):
        if reasons:
            yield _short(f"  {in_words(kind)}: {reason_counts(reasons)}", LONGEST_LINE)
    wrong = [f"  {name}: {each}" for name, those in ledger["violations"].items() for each in those]
    yield from (style.bad(_short(each, LONGEST_LINE)) for each in wrong[:MOST_LINES])
    silent = ledger["silent"]
    yield from (style.bad(f"  {_short(name)} did not answer") for name in silent[:MOST_LINES])
    unknown = style.bad("not all is known: a gateway did not answer")
    good, bad = style.good("the ledgers add up"), style.bad("THE LEDGERS DO NOT ADD UP")
    yield f"  {bad if ledger['adds_up'] is False else unknown if silent else good}"


def _short(text: str, longest: int = 132) -> str:
    return printable(text[:longest])
