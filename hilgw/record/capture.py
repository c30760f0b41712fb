"""A recording as a test: the part of it that the test needs, and the text of its module. Pure."""

import shlex
import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from hilgw.control.events import StopReason
from hilgw.framing import create, parse
from hilgw.protocols.pcapng.events import Writer
from hilgw.record.script import Script, StepKind
from hilgw.record.story import Story
from hilgw.units import NS_PER_MS, NS_PER_S

END_NS = 100 * NS_PER_MS  # left out: the run ended in it, at an instant that no other run has
NEEDED = ("port", "bytes", "packet", "command", "armed")
HEAD = ("hilgw", "python", "platform", "config", "configuration", "webots", "seed", "speed")
WIDTH = 88
PROVES = (
    "It proves how hilgw and the controllers react to the answers of the recorded device.",
    "No device takes part: how another one, or another firmware, answers is not tested.",
)
SHOWN = 36  # lines of packets and commands at most: all are compared with the recording


def shortened(
    head: dict[str, Any], events: Sequence[dict[str, Any]], parts: Collection[str] = ()
) -> bytes:
    """Return the part of a recording that a test needs.

    It has the bytes of the lines `parts`; without any, of all.
    """
    closed: dict[str, int] = {"": events[-1]["time_ns"]}
    for event in events:
        if event["event"] == "port":
            closed.pop(event["name"], None)
            if event["state"] == "closed":
                closed[event["name"]] = event["time_ns"]
        elif event["event"] == "stopped" and event["reason"] == StopReason.ENDED:
            closed[""] = event["time_ns"]
    end_ns = max(min(closed.values()) - END_NS, begin_ns := events[0]["time_ns"])
    kept = {key: head[key] for key in HEAD if key in head}
    writer = Writer(kept, [], int(head["epoch_ns"]))
    blocks = [
        writer.encode(event | ({"missed": {}} if "missed" in event else {}))
        for event in events
        if event["event"] in NEEDED
        and event["time_ns"] <= end_ns
        and not (parts and event.get("part", parts) not in (parts, *parts))
    ]
    end = {"event": "notice", "source": "recording", "text": "the test ends"}
    return b"".join([writer.begin(begin_ns), *blocks, writer.event(end_ns, end)])


def module(
    name: str,
    head: dict[str, Any],
    story: Story,
    arguments: Sequence[str] = (),
    not_compared: Collection[str] = (),
) -> str:
    """Return the text of the test of this name.

    Args:
        name: The name of the test.
        head: The head of the recording.
        story: What happened.
        arguments: Those of `gateway.replay` behind the recording, as Python.
        not_compared: Parts whose frames are not the same again.
    """
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(head["wall_s"]))
    command = _plain(shlex.join(["hilgw", *map(str, head.get("arguments", ()))]))
    left_out = f"{{{', '.join(map(_literal, not_compared))}}}"
    listed = "".join(f"\n        {argument}," for argument in ("RECORDING", *arguments))
    call = f"{listed}\n    " if arguments else "RECORDING"
    lines = [
        f'"""Recorded {when}, with hilgw {_plain(str(head.get("hilgw")))}:',
        "",
        f"    {command[: WIDTH - 4]}" if command else "    hilgw",
        "",
        f"{name}.pcapng plays the hardware, and has the configuration. Programs run.",
        *PROVES,
        "`hilgw capture2test` wrote both.",
        '"""',
        "",
        "from pathlib import Path",
        "",
        f'RECORDING = Path(__file__).with_name("{name}.pcapng")',
        "",
        "",
        f"def {name}(gateway):",
        f"    run = gateway.replay({call})",
        f"    assert run.departures.keys() <= {left_out}  # frames in another order"
        if not_compared
        else "    assert run.departures == {}",
    ]
    most = SHOWN // max(1, len(story.streams())) - 2
    for kind, streams in (("packets", story.packets), ("commands", story.commands)):
        for stream in streams:
            lines += _shown(f"run.{kind}[{_literal(stream)}]", story.streams()[stream], most)
        lines.append(f"    assert run.{kind} == run.recorded.{kind}")
    return "\n".join(lines) + "\n"


class Answers:
    """The first packets of firmware, at most this many.

    changes: of WC2EC, whose messages are sent again and again in real time: of those with the same
    first three bytes each one that is new, and all in the order of these bytes.
    """

    def __init__(self, framing: str, most: int | None = None, *, changes: bool = False) -> None:
        self._framing, self._most, self._changes = create(parse(framing)), most, changes
        self._newest: dict[bytes, bytes] = {}
        self._packets: list[bytes] = []
        self._joined: Counter[str] = Counter()  # damaged as the line was joined within a frame

    @property
    def packets(self) -> list[bytes]:
        return sorted(self._packets, key=lambda each: each[:3] if self._changes else b"")

    @property
    def dropped(self) -> dict[str, int]:
        """Damaged frames by reason."""
        later = Counter(self._framing.dropped) - self._joined
        return {str(reason): count for reason, count in later.items()}

    def feed(self, data: bytes, now: int) -> None:
        for packet in (each for at in data for each in self._framing.feed(bytes([at]), now)):
            if not self._newest:
                self._joined = Counter(self._framing.dropped)
            is_new = not self._changes or self._newest.get(packet[:3]) != packet
            if is_new and len(self._packets) != self._most:
                self._packets.append(packet)
            self._newest[packet[:3]] = packet


def firmware_module(
    name: str, script: Script, framing: str, of: tuple[str, str, str], *, changes: bool = False
) -> str:
    """Return the text of the test of this name, which plays hilgw's side of a line.

    `of` is the ELF file, the board and the recording; `changes` is as of `Answers`.
    """
    elf, machine, file = of
    answers = Answers(framing, changes=changes)
    for step in script.steps:
        if step.kind is StepKind.RECEIVED:
            answers.feed(step.data, step.time_ns)
    times = [
        f"    ({(each.time_ns - script.begin_ns) / NS_PER_S:.3f}, {_literal(each.data)}),"
        for each in script.steps
        if each.kind is StepKind.SENT
    ]
    lines = [
        f'"""What hilgw sent in {_plain(file)}, to firmware on an emulated board.',
        "",
        "It passes as it is written: it has what was, the fault too. Write what is right.",
        '"""',
        "",
        "SENT = [  # seconds, and what hilgw sent",
        *times,
        "]",
        f"PACKETS = [  # of the firmware{': what was new of each device' * changes}",
        *(f"    {_literal(packet)}," for packet in answers.packets),
        "]",
        "",
        "",
        f"def {name}(firmware):",
        f"    node = firmware({_literal(elf)}, {_literal(machine)}, framing={_literal(framing)})",
        f"    answers = node.play(SENT, answers=len(PACKETS){', changes=True' * changes})",
        "    assert answers.packets == PACKETS",
        f"    assert answers.dropped == {answers.dropped!r}",
    ]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return the text if a docstring can hold it unchanged; else ""."""
    return text if text.isascii() and text.isprintable() and not set(text) & set('"\\') else ""


def _shown(name: str, values: Sequence[Any], most: int) -> list[str]:
    literals = [f"        {_literal(value)}," for value in values[: max(0, most)]]
    long = [at for at, line in enumerate(literals) if len(line) > WIDTH]
    literals = literals[: long[0]] if long else literals
    part = "" if len(literals) == len(values) else f"[:{len(literals)}]"
    head = f"    assert {name}{part} == ["
    return [head, *literals, "    ]"] if literals and len(head) <= WIDTH else []


def _literal(value: str | bytes) -> str:
    text = repr(value)
    start = text.index(text[-1])
    is_single = text[-1] == "'" and '"' not in text
    return f'{text[:start]}"{text[start + 1 : -1]}"' if is_single else text
