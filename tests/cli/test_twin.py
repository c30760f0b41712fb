"""`hilgw twin`: links of known delay, loss and RSSI; what is not known has a reason."""

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from hilgw.worlds.parser import parse
from tests.e2e.running import ROOT, in_process, run
from tests.record import samples
from tests.view.samples import recorded

CONFIG = """
version: 1
webots: R2025a
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, channel: 12, range: 50, baudRate: 9600, byteSize: 8, bufferSize: 4096}
adapters:
  xbee0: {kind: xbee, port: /dev/ttyUSB0, channel: 12, air: lab, attached_to: rover}
  xbee1: {kind: xbee, port: /dev/ttyUSB1, channel: 12, air: lab, position: [0, 0, 0]}
airs: {lab: {}}
"""
MS = 1_000_000
UPRIGHT = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
PACKET = samples.PACKET | {"channel": 12, "received_by": ["xbee0"]}


def recording(folder: Path, events: list[dict[str, Any]], config: str = CONFIG) -> Path:
    ordered = sorted(events, key=lambda each: int(each["time_ns"]))
    about: Any = {"config": "a.yaml", "configuration": config, "arguments": []}
    return recorded(folder / "run.pcapng", *ordered, **about)


def sent(time_ns: int, data: bytes, **more: Any) -> dict[str, Any]:
    return {**PACKET, "time_ns": time_ns, "data": data.hex(), **more}


def came(time_ns: int, data: bytes, **more: Any) -> dict[str, Any]:
    return sent(time_ns, data, **{"source": "xbee1", "received_by": []} | more)


def twin(path: Path, *options: str) -> dict[str, Any]:
    code, out, err = in_process("twin", str(path), *options, "--json", cwd=path.parent)
    assert code == 0, err
    return json.loads(out)


def link_of(path: Path, *options: str) -> dict[str, Any]:
    (link,) = twin(path, *options)["links"]
    parse(b"#VRML_SIM R2025a utf8\n" + link["wbt"].encode(), "a.wbt")
    return dict(link)


def known_link(range_m: float = math.inf, loss: float = 0.0, noise: float = 0.0) -> list[Any]:
    """4800 bit/s of 8 bits, 12 ms of latency, -40 dBm at 1 m; the robot drives away to 40 m."""
    dice, events = random.Random(1), list[dict[str, Any]]()
    for number in range(400):
        now, distance = (1000 + 200 * number) * MS, 1 + number / 10
        data = b"%05d" % number + bytes(dice.randrange(1, 60))
        where = {"position": [distance, 0.0, 0.0], "rotation": UPRIGHT}
        events.append({"event": "placed", "time_ns": now, "name": "rover", **where})
        events.append(sent(now, data))
        if distance <= range_m and dice.random() >= loss:
            delay_ns = int((12 + len(data) * 8 / 4.8 + dice.gauss(0, 0.5)) * MS)
            strength = distance**-2 * max(0.01, 1 + noise * dice.gauss(0, 1))
            events.append(came(now + delay_ns, data, rssi_dbm=-40 + 10 * math.log10(strength)))
    return events


def test_the_fields_of_a_known_link_are_found(tmp_path: Path) -> None:
    link = link_of(recording(tmp_path, known_link(range_m=30.05, noise=0.2)))
    fit, measured, predicted = link["fit"], link["measured"], link["predicted"]
    assert fit["baudRate"] == pytest.approx(4800, rel=0.02)
    assert fit["latency_ms"] == pytest.approx(12, abs=0.5)
    assert fit["range"] == pytest.approx(30.05, abs=0.1)
    assert fit["signalStrengthNoise"] == pytest.approx(0.2, rel=0.15)
    assert fit["rssi_at_1m_dbm"] == pytest.approx(-40, abs=0.3)
    assert measured["lost"] + measured["under_way"] == 109  # beyond the range, of 400
    assert (predicted["loss"], predicted["delay_ms"]["max"]) == (0, pytest.approx(64 / 1.2, 0.05))
    assert "lost within" not in link["wbt"]
    (emitter, receiver) = parse(b"#VRML_SIM R2025a utf8\n" + link["wbt"].encode(), "a.wbt").nodes
    assert (emitter.kind, receiver.kind) == ("Emitter", "Receiver")
    assert emitter.number("baudRate") == fit["baudRate"]
    assert emitter.number("channel") == receiver.number("channel") == 12
    assert emitter.number("range") == fit["range"]
    assert receiver.number("signalStrengthNoise") == fit["signalStrengthNoise"]


def test_losses_at_random_give_no_range_and_one_size_no_latency(tmp_path: Path) -> None:
    link = link_of(recording(tmp_path, known_link(loss=0.2)))
    assert link["measured"]["loss"] == pytest.approx(0.2, abs=0.05)
    assert "range" not in link["fit"] and "does not pass 50 %" in link["unknown"]["range"]
    assert "a simulated Emitter has no random loss" in link["wbt"]
    pairs = [(i * 1000 * MS, b"ping%d" % i) for i in range(9)]
    events = [e for now, data in pairs for e in (sent(now, data), came(now + 40 * MS, data))]
    link = link_of(recording(tmp_path, events))
    assert link["fit"]["baudRate"] == 1000  # 5 bytes of 8 bits in 40 ms
    assert "latency_ms" in link["unknown"] and "reports no RSSI" in link["wbt"]


def test_equal_payloads_are_counted_and_have_no_delay(tmp_path: Path) -> None:
    """Three at once, of which two came; a late one, and one near the end."""
    events = [sent(at * MS, b"x") for at in (0, 10, 20, 9000, 20000)]
    events += [came(at * MS, b"x") for at in (25, 30, 9010)]
    counts = link_of(recording(tmp_path, events))["measured"]
    assert (counts["packets"], counts["lost"], counts["under_way"]) == (5, 1, 1)
    assert counts["delay_ms"]["n"] == 1 and counts["delay_ms"]["max"] == 10


def test_what_waits_for_a_port_is_left_out_and_steps_are_webots(tmp_path: Path) -> None:
    up = {"event": "port", "name": "xbee0", "reason": ""}
    events = [
        {**up, "state": "opening", "time_ns": 0},
        sent(1 * MS, b"a"),
        {**up, "state": "up", "time_ns": 500 * MS},
        came(600 * MS, b"a"),
        sent(1000 * MS, b"b" * 60),
        came(1100 * MS, b"b" * 60),
        {"event": "refused", "name": "xbee0", "reason": "no_ack", "text": "", "time_ns": 1200 * MS},
    ]
    config = CONFIG.replace("robots:", "medium: {step_ms: 32}\nrobots:", 1)
    link = link_of(recording(tmp_path, events, config))
    measured = link["measured"]
    assert (measured["packets"], measured["left_out"], measured["refused"]) == (1, 1, {"no_ack": 1})
    assert link["predicted"]["delay_ms"]["max"] == 64  # from the begin of its step: 50 ms
    assert link["measured"]["delay_ms"]["max"] == 100


@pytest.mark.exhaustive
def test_a_round_trip_has_reasons_for_what_is_unknown(tmp_path: Path) -> None:
    asked = [sent(i * 500 * MS, b"ping %d" % i) for i in range(9)]
    events = asked + [
        came(i * 500 * MS + 48 * MS, b"pong %d" % i, source="xbee0", rssi_dbm=-46) for i in range(9)
    ]
    path = recording(tmp_path, events)
    link = link_of(path)
    assert link["round_trip"] and link["measured"]["delay_ms"]["p50"] == 48
    assert not link["fit"]
    assert set(link["unknown"]) == {"loss", "baudRate", "range", "signalStrengthNoise"}
    code, out, _ = in_process("twin", str(path), "-o", "link.svg", cwd=tmp_path)
    assert code == 0 and "rover.tx: xbee0 and back\n" in out and "packets     9 of 6 B" in out
    assert "round trip  to a device outside and back" in out
    assert max(map(len, out.splitlines())) <= 80
    assert (tmp_path / "link.svg").read_text().startswith("<?xml")


def test_without_a_link_there_is_one_error(tmp_path: Path) -> None:
    path = recording(tmp_path, [sent(0, b"a")])
    code, out, err = in_process("twin", str(path), cwd=tmp_path)
    assert (code, out) == (1, "") and err.count("\n") <= 2 and "own_echo: keep" in err
    events = [sent(1, b"a"), came(2, b"a", rssi_dbm=1e300)]
    assert link_of(recording(tmp_path, events))["measured"]["rssi_dbm"] is None
    code, _, err = in_process("twin", str(recording(tmp_path, events, "[")), cwd=tmp_path)
    assert code == 3 and "Traceback" not in err


@pytest.mark.process
def test_two_modules_in_one_air_and_a_shadow(tmp_path: Path) -> None:
    config = CONFIG.replace("xbee1: {", "xbee1: {own_echo: keep, ").replace(
        "0, 0, 0]}", "4, 0, 0]}"
    )
    beacon = "controller: {kind: beacon, emitter: tx, period_ms: 200}"
    config = config.replace("devices:", f"{beacon}\n    devices:").replace("range: 50", "range: 1")
    (tmp_path / "a.yaml").write_text(config)
    fast = ["--backend", "loopback", "--speed", "max", "--quiet", "--duration"]
    done = run("--config", "a.yaml", *fast, "6s", "--record", "a.pcapng", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    link = link_of(tmp_path / "a.pcapng")
    assert link["measured"]["lost"] == 0 and link["predicted"]["loss"] == 1  # 4 m away
    assert link["fit"]["baudRate"] == pytest.approx(8e9 / (2 * 1041667 + 32000), rel=0.02)
    assert link["measured"]["rssi_dbm"]["p50"] == -52
    report = ["--record", "s.pcapng", "--report", "s.json"]
    shadow = str(ROOT / "configs" / "shadow.yaml")
    done = run("--config", shadow, *fast, "6s", *report, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    loop = json.loads((tmp_path / "s.json").read_text())["control_loops"]["rover"]
    sensors = twin(tmp_path / "s.pcapng", "-o", "s.png")["shadows"]["rover"]
    expected = {name: each for name, each in loop["divergence"].items() if each["n"]}
    assert {name: each["total"] for name, each in sensors.items()} == expected
    times = [each["from_s"] for each in sensors["ds_front"]["windows"]]
    assert len(times) > 2 and times == sorted(times)
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_strange_recordings_have_a_twin_all_the_same(tmp_path: Path) -> None:
    """Payloads without a byte, an unknown position; a position that is none is an error."""
    empty = [each(at, b"") for at in (0, 4000 * MS) for each in (sent, came)]
    assert "fit" in link_of(recording(tmp_path, empty))
    packets = [sent(1, b"a"), came(2 * MS, b"a", rssi_dbm=-40.0)]
    placed = {"event": "placed", "name": "rover", "time_ns": 0, "position": None, "rotation": None}
    assert link_of(recording(tmp_path, [placed, *packets]))["measured"]["distance_m"] is None
    for wrong in (
        {"position": [1.0]},
        {"position": [1.0, 2.0, 3.0, 4.0]},
        {"position": [1e300, 0.0, 0.0]},
        {"rotation": [[1e300, 0.0, 0.0]] * 3},
        {"rotation": [[1.0, 0.0, 0.0]] * 2},
    ):
        whole = {**placed, "position": [0.0] * 3, "rotation": UPRIGHT, **wrong}
        path = recording(tmp_path, [whole, *packets])
        code, out, err = in_process("twin", str(path), cwd=tmp_path)
        assert (code, out) == (
            1,
            "",
        ) and f"placed that is not valid: {next(iter(wrong))} must" in err


def test_a_latency_is_not_negative(tmp_path: Path) -> None:
    """The delay grows more than the size does."""
    sizes = [10 + number % 40 for number in range(200)]
    pairs = [(1000 * MS * at, b"%03d" % at + bytes(size)) for at, size in enumerate(sizes)]
    events = [e for now, data in pairs for e in (sent(now, data), came(now + len(data) ** 2 * 10**5,
              data))]  # fmt: skip
    link = link_of(recording(tmp_path, events))
    assert "latency_ms" not in link["fit"] and link["fit"]["baudRate"] > 0


def test_no_matplotlib_leaves_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recording(tmp_path, [sent(0, b"a"), came(1, b"a")])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = in_process("twin", str(path), cwd=tmp_path)
    assert code == 0 and "Emitter {" in out and "hilgw: no picture:" in err
    code, out, err = in_process("twin", str(path), "-o", "a.png", cwd=tmp_path)
    assert code == 2 and "hilgw[plot]" in err
