"""The report of a run as a few lines of text, and the divergence of a shadow."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hilgw.events.words import FROM, TO, counted, in_words, joined, listing, reason_counts
from hilgw.reasons import ExpiredReason

if TYPE_CHECKING:
    from hilgw.control.divergence import Divergence


def summary_lines(report: dict[str, Any]) -> list[str]:
    """Return the lines of the summary."""
    lines = [f"summary after {report['duration_s']:.1f} s{_speed(report.get('speed'))}"]
    for name, count in report["emitters"].items():
        missed = reason_counts(count["not_received"])
        lines.append(
            f"  {name:<14} sent {count['departed']} of {count['offered']}"
            + (f", rejected {reason_counts(count['rejected'])}" if count["rejected"] else "")
            + (f", not received {missed}" if missed else "")
            + (f", queued {count['queued']}" if count["queued"] else "")
            + (f", expired {count['expired']}" if count["expired"] else "")
            + _received_by(report, name)
        )
    for name, count in report["stations"].items():
        latency = report["latency"].get(name, {})
        port = report.get("ports", {}).get(name)
        lines.append(
            f"  {name:<14} {_taken(count, port)}"
            + (f", refused {reason_counts(count['refused'])}" if count["refused"] else "")
            + (f", queued {count['queued']}" if count["queued"] else "")
            + ("" if _never_up(count, port) else _expired(count))
            + (f"; {way}" if (way := times(latency.get("hop", ""), latency)) else "")
            + _received_by(report, name)
        )
    if mocap := report.get("mocap"):
        counts = {word: mocap[word] for word in ("malformed", "unknown") if mocap[word]}
        lines.append(
            f"  {'mocap':<14} {mocap['datagrams']} datagrams, {mocap['poses']} poses accepted"
            + (f", {reason_counts(counts)}" if counts else "")
        )
    for name, count in report.get("federation", {}).get("gateways", {}).items():
        dropped = f", dropped {reason_counts(count['dropped'])}" if count["dropped"] else ""
        passed = f"{counted(count, TO)}; {counted(count, FROM)}"
        lines.append(f"  {name:<14} gateway: {passed}{dropped}")
    for name, text in report["robots"].items():
        if text:
            lines.append(f"  {name:<14} {text}")
    lines.extend(control_loop_lines(report["control_loops"]))
    for path, recording in report.get("recordings", {}).items():
        more = f" (the last: {recording['file']})" if recording["file"] != path else ""
        lost = f"; {recording['lost']} EVENTS LOST: {recording['error'] or 'for a time'}"
        poses = f"; {n} poses left out" if (n := recording["poses_left_out"]) else ""
        text = f"{path}{more}, {recording['bytes']} bytes{poses}{lost if recording['lost'] else ''}"
        lines.append(f"  {'recording':<14} {text}")
    ledger = report["ledger"]
    lines.append("  the ledger adds up" if ledger["adds_up"] else "  THE LEDGER DOES NOT ADD UP:")
    lines.extend(f"    {violation}" for violation in ledger["violations"])
    return lines


def _taken(count: Mapping[str, Any], port: Mapping[str, Any] | None) -> str:
    """State what became of the packets for a station.

    `port` is that of hardware; None: a Receiver.
    """
    if port is None or not _never_up(count, port):
        return f"received {count['accepted']}, delivered {count['delivered']}"
    waits = count["accepted"] - sum(count["refused"].values())
    return f"queued {waits}, sent 0 ({port['port']} was never up)"


def _never_up(count: Mapping[str, Any], port: Mapping[str, Any] | None) -> bool:
    return port is not None and not port["ups"] and count["accepted"] > 0


def _expired(count: Mapping[str, Any]) -> str:
    in_flight = count.get("expired_by", {}).get(ExpiredReason.IN_FLIGHT, 0)
    waited = count["expired"] - in_flight
    text = f", {in_flight} in flight at the end" if in_flight else ""
    return text + (f", expired {waited}" if waited else "")


def _speed(speed: Mapping[str, Any] | None) -> str:
    if speed is None:
        return ""
    times = f", {speed['achieved']:.4g} times real time" if speed["achieved"] is not None else ""
    return f" of simulated time, in {speed['real_s']:.3g} s{times}"


def _received_by(report: dict[str, Any], source: str) -> str:
    """Return the receivers of this emitter or station, with their counts.

    Of hardware only those are counted that left its port.
    """
    counts = {
        name: report["stations"].get(name, {}).get("left_from", {source: count}).get(source, 0)
        for name, count in report["received_by"].get(source, {}).items()
    }
    counts = {name: count for name, count in counts.items() if count}
    return (
        f"; received by {listing([f'{name} {n}' for name, n in counts.items()])}" if counts else ""
    )


def control_loop_lines(loops: Mapping[str, Any]) -> list[str]:
    """Return the control loops of a report."""
    lines = []
    for name, loop in loops.items():
        superseded, refused, late = (
            loop.get(n) for n in ("values_superseded", "refused", "late_ends")
        )
        counts = [
            f"{loop['values_in']} sensor values",
            f"{loop['commands_out']} motor commands",
            f"{superseded} values superseded" if superseded else "",
            f"{loop['late_steps']} late steps" if loop.get("late_steps") else "",
            f"controller ended as hilgw was late: {late}" if late else "",
            f"refused {reason_counts(refused)}" if refused else "",
        ]
        way = times("sensor to motor", loop["sensor_to_motor"], digits=2)
        text = joined([joined(counts, ", "), way])
        lines.append(f"  {name:<14} {text}")
        if loop["stops"]:
            latched = f"; LATCHED: {in_words(loop['latched'])}" if loop["latched"] else ""
            lines.append(f"  {name:<14} safety stops: {reason_counts(loop['stops'])}{latched}")
        if not loop["armed"] and not loop["latched"]:
            lines.append(f"  {name:<14} not armed")
        if loop.get("divergence"):
            lines.append(f"  {name:<14} remote body next to the simulated one:")
            lines.extend(f"    {line}" for line in divergence_table(loop["divergence"]))
    return lines


def times(of: str, latency: Mapping[str, Any], digits: int = 1) -> str:
    """Return the percentiles of a latency, as of `Latency.as_dict`; "" without a sample."""
    if not latency.get("count"):
        return ""
    words = {"p50": "p50_ms", "p99": "p99_ms", "max": "max_ms"}
    return f"{of} in " + ", ".join(f"{w} {latency[k]:.{digits}f} ms" for w, k in words.items())


# --- the divergence of a shadow -------------------------------------------------------------------


UNKNOWN = "-"
_HEADS = ("offset", "gain", "delay ms", "RMS", "n")


def divergence_words(divergences: "Mapping[str, Divergence]") -> list[str]:
    """Return the words for each sensor that has been compared.

    Each is such as "gps.x offset 0.01 gain 1.10 RMS 0.02 48 ms".
    """
    words = []
    for name, divergence in divergences.items():
        if divergence.offset is None or divergence.rms is None:
            continue
        delay = "" if divergence.delay_ms is None else f" {_rounded(divergence.delay_ms, 0)} ms"
        gain = "" if divergence.gain is None else f" gain {_rounded(divergence.gain, 2)}"
        words.append(
            f"{name} offset {_number(divergence.offset)}{gain} RMS {_number(divergence.rms)}{delay}"
        )
    return words


def divergence_table(report: Mapping[str, Mapping[str, Any]], head: str = "sensor") -> list[str]:
    """Return the lines of a table of the sensors that both bodies reported.

    Args:
        report: The divergences as `--report` has them.
        head: The heading of the first column.
    """
    rows = [(head, *_HEADS)]
    for name, divergence in report.items():
        if not divergence["n"]:
            continue
        gain, delay = _rounded(divergence["gain"], 2), _rounded(divergence["delay_ms"], 0)
        numbers = _number(divergence["offset"]), gain, delay, _number(divergence["rms"])
        rows.append((name, *numbers, str(divergence["n"])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value + 0.0:.4g}"


def _rounded(value: float | None, digits: int) -> str:
    """Return the number with this many digits, never -0."""
    return UNKNOWN if value is None else f"{round(value, digits) + 0.0:.{digits}f}"
