"""Mutants of a real recording, and every command and page that reads one.

A mutant has a byte, a block or a value of its JSON changed, left out, doubled or taken from
elsewhere. `faults` reads it with all that read a recording: each ends by itself, without an
exception that it does not expect, and reports what is wrong in printable lines.
"""

import contextlib
import io
import json
import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hilgw.assemble.ports import decoders_of, with_frames
from hilgw.cli.main import main
from hilgw.errors import HilgwError
from hilgw.events.kinds import KINDS
from hilgw.protocols.pcapng.blocks import Block, CapturedPacket, Interface, Reader, encode
from hilgw.protocols.pcapng.events import MEDIUM, RTAC_SERIAL, Writer
from hilgw.record.recording import Recording
from hilgw.web.pages import overview
from hilgw.web.pages.drawing import drawing_of
from hilgw.web.sources import Recorded
from tests.view.samples import sample

CONFIG = """
version: 1
backend: mock
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, channel: 12, range: 50}
      rx: {node: Receiver, channel: 12}
    controller: {kind: beacon, emitter: tx, period_ms: 100}
adapters:
  xbee0: {kind: xbee, port: /dev/ttyUSB0, channel: 12, air: lab, attached_to: rover}
  xbee1: {kind: xbee, port: /dev/ttyUSB1, channel: 12, air: lab, own_echo: keep,
          position: [1, 0, 0]}
airs: {lab: {}}
"""
RUN = ["--speed", "max", "--duration", "250ms", "--quiet"]
STRANGE: list[Any] = [
    *(None, True, 0, 5, -1, 1.5, 1e400, float("nan"), 10**18, 10**400, -(2**63), 1e-320, 1e300),
    *("", "a", "\x1b[2J\u202e", "\ud800", "\x00", "界" * 90, "9" * 400, "../a/b", "a\nb", "zz"),
    *([], {}, [5], ["a", 5], {"a": 5}, [[[]]], {"a": {"b": []}}, [1.0, 2.0], [0.0] * 3),
]
BORROWED = ["received_by", "part", "name", "source", "missed", "robot", "text", "data", "scene"]


def real(folder: Path, run: Callable[..., Any]) -> tuple[bytes, bytes]:
    """The recording of a run, as `real.pcapng` in this folder, and the same with an event of each
    kind behind it. run: runs hilgw there."""
    (folder / "lab.yaml").write_text(CONFIG)
    done = run("run", "lab.yaml", *RUN, "--record", "real.pcapng", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = (folder / "real.pcapng").read_bytes()
    recording = Recording(folder / "real.pcapng")
    *_, last = recording.events()
    writer = Writer({}, [], recording.head["epoch_ns"])
    writer.begin(0)
    more = (
        writer.encode(sample(kind) | {"time_ns": last["time_ns"] + at})
        for at, kind in enumerate(KINDS)
        if kind not in ("packet", "bytes")
    )
    return data, data + b"".join(more)


def blocks_of(data: bytes) -> list[Block]:
    return list(Reader(io.BytesIO(data).read, "real.pcapng"))


def mutant(recordings: Sequence[list[Block]], draw: random.Random) -> bytes:
    """A changed copy of one of these recordings."""
    made = list(draw.choice(recordings))
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        change = draw.choice([_json] * 6 + [_head] * 4 + [_packet, _order, _interface])
        change(made, draw)
    data = bytearray(b"".join(map(encode, made)))
    if draw.random() < 0.15:
        for _ in range(draw.choice([1, 2, 8])):
            data[draw.randrange(len(data))] = draw.choice([0, 1, 0x7F, 0xFF, draw.randrange(256)])
    if draw.random() < 0.05:
        del data[draw.randrange(len(data)) :]
    return bytes(data)


def _packets(blocks: list[Block]) -> list[int]:
    return [at for at, each in enumerate(blocks) if isinstance(each, CapturedPacket)]


def _order(blocks: list[Block], draw: random.Random) -> None:
    index, to = draw.randrange(len(blocks)), draw.randrange(len(blocks))
    block = blocks[index] if draw.random() < 0.5 else blocks.pop(index)
    if draw.random() < 0.7:
        blocks.insert(to, block)


def _interface(blocks: list[Block], draw: random.Random) -> None:
    index = draw.choice(
        [at for at, each in enumerate(blocks) if isinstance(each, Interface)] or [0]
    )
    if isinstance(block := blocks[index], Interface):
        link = draw.choice([147, 148, RTAC_SERIAL, 1])
        blocks[index] = replace(block, link=link, name=draw.choice(["", "a\x1b[1m", block.name]))


def _packet(blocks: list[Block], draw: random.Random) -> None:
    index = draw.choice(_packets(blocks) or [0])
    if not isinstance(block := blocks[index], CapturedPacket):
        return
    changes: dict[str, Any] = {
        "interface": draw.randrange(6),
        "time_ns": draw.choice([0, 1, 2**63, 2**64 - 1, block.time_ns + draw.randrange(10**12)]),
        "data": block.data[: draw.randrange(len(block.data) + 1)],
        "direction": draw.randrange(3),
        "comment": b"{}" * draw.randrange(2),
    }
    key = draw.choice(list(changes))
    blocks[index] = replace(block, **{key: changes[key]})


def _head(blocks: list[Block], draw: random.Random) -> None:
    _change(blocks, _packets(blocks)[:1], draw)


def _json(blocks: list[Block], draw: random.Random) -> None:
    _change(blocks, _packets(blocks), draw)


def _change(blocks: list[Block], places: list[int], draw: random.Random) -> None:
    """Changes a value of the JSON of one of these blocks."""
    if not places or not isinstance(block := blocks[index := draw.choice(places)], CapturedPacket):
        return
    text = block.comment if block.interface == MEDIUM else block.data
    try:
        event = json.loads(text)
    except ValueError:
        return  # bytes of a line
    _change_within(event, draw)
    text = json.dumps(event).encode()
    field = "comment" if block.interface == MEDIUM else "data"
    blocks[index] = replace(block, **{field: text[:0xFFFF] if field == "comment" else text})


def _change_within(event: Any, draw: random.Random) -> None:
    inner = event
    while isinstance(inner, dict | list) and inner:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = draw.choice(keys)
        if not isinstance(inner[key], dict | list) or not inner[key] or draw.random() < 0.3:
            break
        inner = inner[key]
    else:
        return
    match draw.randrange(8):
        case 0:
            del inner[key]
        case 1 if isinstance(inner, dict):
            inner[draw.choice(BORROWED)] = draw.choice(STRANGE)
        case 2 if isinstance(inner[key], str):
            where = draw.randrange(len(inner[key]) + 1)
            strange = str(draw.choice(STRANGE))
            inner[key] = inner[key][:where] + strange + inner[key][where + draw.randrange(9) :]
        case _:
            inner[key] = draw.choice(STRANGE)


def commands(folder: Path, path: Path, *, slow: bool) -> Iterator[list[str]]:
    """Every command that reads a recording. slow: also those that need more than some ms."""
    file = str(path)
    for words in ([], ["--json"], ["--lost"], ["--frames"], ["--bytes"], ["--csv"]):
        yield ["show", file, *words]
    yield ["show", file, "xbee0", "--from", "100ms", "--to", "300ms"]
    for to in ("csv/", "a.jsonl", "a.mcap"):
        yield ["convert", file, str(folder / to)]
    yield ["diff", str(folder / "real.pcapng"), file]
    yield ["twin", file, "--json"]
    if slow:
        yield ["plot", file, "--output", str(folder / "a.png")]
        yield ["twin", file, "--output", str(folder / "a.svg")]
        yield ["capture2test", file, "--output", str(folder / "test_a.py")]
        yield ["run", str(folder / "lab.yaml"), *RUN, "--replay", file]


def page(path: Path) -> None:
    """The pages of a recording, at its end."""
    head = Recording(path).head
    shown = Recorded(path, lambda: 0, lambda each: with_frames(each, decoders_of(head, str(path))))
    shown.read()
    shown.seek(shown.end_ns)
    shown.follow()
    (view,) = shown.bench.gateways.values()
    overview.parts(view, shown.now())
    drawing_of(view, shown.now())


def fault_of(words: list[str]) -> str:
    """What is wrong with how this command ends; "" for nothing."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, it is a fault
            return traceback.format_exc()
    shown = err.getvalue() + out.getvalue()
    if not all(each.isprintable() for each in shown.split("\n")):
        return f"prints {next(each for each in shown.split(chr(10)) if not each.isprintable())!r}"
    if code not in range(9) or bool(code) > bool(err.getvalue() or words[0] == "diff"):
        return f"exit code {code} without an error"
    return ""


def faults(data: bytes, folder: Path, *, slow: bool) -> Iterator[str]:
    """What is wrong with how commands and pages read this recording, which is in no file yet."""
    path = folder / "mutant.pcapng"
    path.write_bytes(data)
    for words in commands(folder, path, slow=slow):
        before = {*folder.iterdir()}
        if fault := fault_of(words):
            yield f"hilgw {' '.join(words)}\n{fault}"
        for output in {*folder.iterdir()} - before:
            if output.is_dir():
                for file in output.iterdir():
                    file.unlink()
                output.rmdir()
            else:
                output.unlink()
    try:
        page(path)
    except HilgwError:
        pass
    except Exception:  # noqa: BLE001
        yield f"hilgw web\n{traceback.format_exc()}"
