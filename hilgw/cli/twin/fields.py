"""What Webots makes of the packets of a real link, and the fields with which it comes near to it.

Webots' Emitter gives a packet size * byteSize / baudRate seconds, up to the end of a step, one
packet after the other; it arrives where the distance is at most `range`; the signal strength is
1 / distance^2, with gaussian noise in proportion. A latency beside that and losses at random have
no field. Cones and obstacles of infra-red are not looked at.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import accumulate
from typing import Any

from hilgw.cli.twin.links import Link, Row
from hilgw.config.model import GatewayConfig
from hilgw.devices.emitter import Departure, Emitter
from hilgw.devices.fields import EmitterFields
from hilgw.devices.steps import StepClock
from hilgw.units import NS_PER_MS, ns_to_ms
from hilgw.worlds.yaml_text import comment

FASTEST = 2_147_483_647  # bit/s
LEAST_SLOPE = 4.0  # times its standard error
LEAST_LOST = 5  # packets lost beyond a range
LEAST_SIGNALS = 8
LAST_NS = 1 << 63
NO_PLACE = "the positions of both ends are not in the recording"
Twin = dict[str, Any]


def twin_of(link: Link, config: GatewayConfig, file: str) -> Twin:
    """As JSON: the link; `measured` and `predicted`, numbers that are None where they are not
    known; `fit`, the fields that would fit; `unknown`, why others are not known; `wbt`, the nodes.
    `delays_ms`: the predicted ones, of each packet; None: it never leaves."""
    rows, (robot, _, device) = link.rows, link.source.partition(".")
    devices = config.robots[robot].devices if robot in config.robots else {}
    given = devices.get(device)
    fields = given if isinstance(given, EmitterFields) else EmitterFields(type=link.type)
    at_1m = config.adapters[link.into].common.rssi_at_1m_dbm
    apart = [row.distance_m for row in rows if row.distance_m is not None]
    delays = _delays_ms(rows, fields, config.medium.step_ms or 0)
    leaves = [each is not None for each in delays]
    in_reach = [fields.range < 0 or (row.distance_m or 0.0) <= fields.range for row in rows]
    is_known = fields.range < 0 or len(apart) == len(rows)
    came = [a and b for a, b in zip(leaves, in_reach, strict=True)]
    predicted = {
        "loss": came.count(False) / len(rows) if is_known else None,
        "delay_ms": spread(delays),
        "rssi_dbm": spread(at_1m - 20 * math.log10(each) for each in apart if each),
    }
    twin: Twin = {"source": link.source, "out": link.out, "into": link.into}
    twin |= {
        "round_trip": link.out == link.into,
        "measured": _measured(link),
        "predicted": predicted,
    }
    twin |= {"delays_ms": delays, "fit": {}, "unknown": {}, "rssi_at_1m_dbm": at_1m}
    if given is not fields:
        twin["predicted"] = dict.fromkeys(predicted)
        twin["unknown"]["predicted"] = "its source is not an Emitter of the configuration"
    elif not is_known:
        twin["unknown"]["loss"] = NO_PLACE
    for fit in (_fit_rate, _fit_range, _fit_signal):
        fit(twin, rows, fields)
    twin["wbt"] = _nodes(twin, link, fields, file)
    return twin


def _measured(link: Link) -> dict[str, Any]:
    rows, lost = link.rows, [row.lost for row in link.rows]
    return {
        "packets": len(rows),
        "lost": lost.count(True),
        "under_way": lost.count(None),
        "left_out": link.left_out,
        "confirmed": link.confirmed,
        "refused": dict(link.refused),
        "loss": lost.count(True) / max(1, len(rows) - lost.count(None)),
        "delay_ms": spread(row.delay_ms for row in rows),
        "rssi_dbm": spread(row.rssi_dbm for row in rows),
        "bytes": spread(row.size for row in rows),
        "distance_m": spread(row.distance_m for row in rows),
    }


def _delays_ms(rows: list[Row], fields: EmitterFields, step_ms: int) -> list[float | None]:
    steps = StepClock(0, step_ms * NS_PER_MS)
    emitter, accepted = Emitter(fields, steps=steps), list[int]()
    left: list[Departure] = []
    for place, row in enumerate(rows):
        left += iter(partial(emitter.depart, row.time_ns), None)
        if emitter.send(bytes(row.size), row.time_ns) is None:
            accepted.append(place)
    left += iter(partial(emitter.depart, LAST_NS), None)
    times = [ns_to_ms(each.departed_ns - steps.last(each.offered_ns)) for each in left]
    known = dict(zip(accepted, times, strict=False))
    return [known.get(place) for place in range(len(rows))]


def spread(values: Iterable[float | None]) -> dict[str, float] | None:
    """None where no value is known."""
    found = sorted(each for each in values if each is not None)
    marks = {"min": 0.0, "p50": 0.5, "p99": 0.99, "max": 1.0}
    at = {name: round(found[round(mark * (len(found) - 1))], 6) for name, mark in marks.items()
          if found}  # fmt: skip
    return {"n": len(found), **at} if found else None


# --- the fields that would fit --------------------------------------------------------------------


def _fit_rate(twin: Twin, rows: list[Row], fields: EmitterFields) -> None:
    """baudRate: the slope, by least squares, of the median delay of each size, of packets that
    waited for no other; latency_ms: the rest."""
    free_ns, by_size = 0.0, defaultdict(list)
    for row in rows:
        if row.delay_ms is not None:
            if row.time_ns >= free_ns:
                by_size[row.size].append(row.delay_ms)
            free_ns = max(free_ns, row.time_ns + row.delay_ms * NS_PER_MS)
    sizes = [size for size, delays in by_size.items() for _ in delays]
    delays = [delay for each in by_size.values() for delay in each]
    if twin["round_trip"] or not sizes:
        reason = "how long each way of a round trip took is not known"
        none = "equal payloads were under way at once, so no delay is known"
        twin["unknown"]["baudRate"] = reason if twin["round_trip"] else none
        return
    slope = alone = statistics.fmean(delays) / statistics.fmean(sizes)
    medians = [statistics.median(by_size[size]) for size in sizes]
    if len(by_size) > 1 and _is_slope(sizes, delays):
        slope, rest = statistics.linear_regression(sizes, medians)
        twin["fit"]["latency_ms"] = round(rest, 3)
    else:
        twin["unknown"]["latency_ms"] = (
            "not known apart from the baudRate: the delay does not grow with the size"
        )
    for name, ms_per_byte in {"baudRate": slope, "baudRate_alone": alone}.items():
        rate = fields.byteSize * 1000 / ms_per_byte if ms_per_byte > 0 else math.inf
        twin["fit"][name] = round(rate) if 1 <= rate <= FASTEST else -1


def _is_slope(sizes: list[int], delays: list[float]) -> bool:
    if len(set(delays)) < 2:
        return False
    alike = statistics.correlation(sizes, delays)
    return alike > LEAST_SLOPE * math.sqrt(max(0.0, 1 - alike * alike) / max(1, len(sizes) - 2))


def _fit_range(twin: Twin, rows: list[Row], fields: EmitterFields) -> None:
    """range: beyond it most packets are lost, within it most arrive."""
    pairs = sorted((r.distance_m, r.lost) for r in rows if r.distance_m is not None and
                   r.lost is not None)  # fmt: skip
    wrong = list(accumulate((1 if lost else -1 for _, lost in pairs), initial=0))
    cut = min(range(len(wrong)), key=wrong.__getitem__)
    if not pairs:
        twin["unknown"]["range"] = NO_PLACE
    elif (
        cut
        and sum(lost for _, lost in pairs[cut:]) >= LEAST_LOST
        and (pairs[cut - 1][0] < pairs[cut][0])
    ):
        twin["fit"]["range"] = round((pairs[cut - 1][0] + pairs[cut][0]) / 2, 3)
    else:
        near, far = pairs[0][0], pairs[-1][0]
        twin["unknown"]["range"] = f"from {near:.3g} to {far:.3g} m the loss does not pass 50 %"


def _fit_signal(twin: Twin, rows: list[Row], fields: EmitterFields) -> None:
    """signalStrengthNoise: the scatter beside 1 / distance^2, whose scale is rssi_at_1m_dbm."""
    ratios = [10 ** (row.rssi_dbm / 10) * row.distance_m**2 for row in rows
              if row.rssi_dbm is not None and row.distance_m]  # fmt: skip
    mean = statistics.fmean(ratios) if len(ratios) >= LEAST_SIGNALS else 0.0
    if mean > 0:
        twin["fit"]["signalStrengthNoise"] = round(statistics.pstdev(ratios) / mean, 4)
        twin["fit"]["rssi_at_1m_dbm"] = round(10 * math.log10(mean), 2)
    else:
        reason = NO_PLACE if twin["measured"]["rssi_dbm"] else f"{twin['into']} reports no RSSI"
        twin["unknown"]["signalStrengthNoise"] = "too few packets" if ratios else reason


# --- ready to paste -------------------------------------------------------------------------------


def _nodes(twin: Twin, link: Link, fields: EmitterFields, file: str) -> str:
    """The nodes for a .wbt file; a comment has the reason of each field that is left out."""
    fit, unknown, measured = twin["fit"], twin["unknown"], twin["measured"]
    both = [f'  type "{link.type}"', f"  channel {link.channel}", f"  byteSize {fields.byteSize}"]
    notes = [f"{name}: {unknown[name]}" for name in ("baudRate", "latency_ms", "range")
             if name in unknown]  # fmt: skip
    if "latency_ms" in fit:
        notes.append(f"beside the baudRate {fit['latency_ms']:.1f} ms of latency, without a field;")
        notes.append(f"baudRate {fit['baudRate_alone']} has the mean delay of these packets")
    reach = fit.get("range", math.inf)
    within = [row.lost for row in link.rows if row.lost is not None and
              (row.distance_m or 0.0) <= reach]  # fmt: skip
    if any(within):
        share = sum(within) / len(within)
        notes.append(f"{share:.1%} lost within the range: an Emitter loses nothing at random")
    lines = [comment(f"{link.name}: {measured['packets']} packets of {file}"), "Emitter {", *both]
    lines += [f"  {name} {fit[name]:.10g}" for name in ("baudRate", "range") if name in fit]
    lines += [*(f"  {comment(note)}" for note in notes), "}", "Receiver {", *both]
    if "signalStrengthNoise" in fit:
        lines.append(f"  signalStrengthNoise {fit['signalStrengthNoise']:.10g}")
        lines.append(f"  # for hilgw: rssi_at_1m_dbm {fit['rssi_at_1m_dbm']}")
    else:
        lines.append(f"  {comment('signalStrengthNoise: ' + unknown['signalStrengthNoise'])}")
    return "\n".join([*lines, "}", ""])
