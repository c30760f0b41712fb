"""Mutants and recordings of strangers: every reader names what is wrong, or reads it."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hilgw.cli.main import main
from hilgw.record.events import EVENTS
from hilgw.record.pcapng import encode_packet
from hilgw.record.recording import Recording
from tests.cases import part_of
from tests.e2e.running import run
from tests.record import mutants
from tests.record.mutants import blocks_of, faults, mutant
from tests.view.samples import MORE, recorded, sample

S = 10**9
UART = "version: 1\nadapters: {uart0: {kind: uart, port: /dev/null}}\n"


def block(text: str, time_ns: int = 10**18) -> bytes:
    return encode_packet(EVENTS, time_ns, text.encode())


def strange_file(folder: Path, *blocks: bytes, epoch_ns: int = 10**18) -> Path:
    run = {"configuration": UART, "arguments": ["--set", "medium.seed=3"]}
    return recorded(folder / "a.pcapng", *blocks, epoch_ns=epoch_ns, **run)


STATUS = MORE["status"]["status"]
LATE = STATUS["robots"]["robot"]
BAD: list[dict[str, Any]] = [
    STATUS | {"robots": {"rover": LATE | {"armed": 1}}},
    STATUS | {"losses": {"dropped": {"crc": "1"}}},
    STATUS | {"latency_bounds_s": []},
    STATUS | {"latency": {"line": {"uart0": {"count": 1, "buckets": ["1"]}}}},
]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"event": "mode", "robot": "a"}', "mode is missing: it must be a text"),
        ('{"event": "mode", "robot": 1, "mode": "a"}', "robot must be a text"),
        (
            json.dumps({**sample("value"), "value": {}}),
            'value must be a number, or "nan", "inf" or "-inf", or a list, each a number, or "nan"',
        ),
        (json.dumps({**sample("packet"), "data": "0"}), "data must be pairs of hexadecimal digits"),
        ('{"event": "novel"}', "an event of an unknown kind, 'novel'"),
        *((json.dumps(sample("status", status=each)), "event status that is not") for each in BAD),
        ('{"event": "notice", "source": "\\ud800", "text": ""}', "is not valid JSON"),
        (json.dumps({**sample("value"), "value": float("inf")}), "is not valid JSON"),
    ],
)
def test_the_fault_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, what: str
) -> None:
    good = block('{"event": "notice", "source": "a", "text": "before"}')
    path = strange_file(tmp_path, good, block(text), good)
    assert main(["show", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("before") == 1
    assert what in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("time_ns", "epoch_ns"),
    [(10**18 + 2**63, 10**18), (2**64 - 1, 10**18), (100, 10 - 2**63)],
)
def test_a_time_that_no_clock_shows_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time_ns: int, epoch_ns: int
) -> None:
    note = block('{"event": "notice", "source": "a", "text": ""}', time_ns=time_ns)
    path = strange_file(tmp_path, note, epoch_ns=epoch_ns)
    assert main(["show", str(path)]) == 1
    assert "has a time before 1970 or after 2262" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_value_with_millions_of_numbers_is_refused_and_not_read_for_long(tmp_path: Path) -> None:
    many = 3_000_000
    event = {**sample("value"), "value": [0] * many}
    path = strange_file(tmp_path, block(json.dumps(event)))
    begin_s = time.process_time()
    recording = Recording(path)
    assert [each["event"] for each in recording.events()] == []
    assert "a list has more than 10000 items" in str(recording.error)
    assert time.process_time() - begin_s < 20  # where each is read, it takes a minute


EXPLORES = settings.get_profile("explore").max_examples == settings.default.max_examples
COUNT = part_of(250) if EXPLORES else part_of(25)
FIRST = random.SystemRandom().randrange(1 << 32) if EXPLORES else 0


@pytest.mark.process
def test_every_reader_ends_in_order(tmp_path: Path) -> None:
    both = mutants.real(tmp_path, run)
    for data in both:
        assert list(faults(data, tmp_path, slow=True)) == []
    recordings = [blocks_of(data) for data in both]
    made = {seed: mutant(recordings, random.Random(seed)) for seed in range(FIRST, FIRST + COUNT)}
    assert len({*made.values()} - {*both}) > COUNT / 2
    for seed, data in made.items():
        assert list(faults(data, tmp_path, slow=seed % 25 == 0)) == [], f"seed {seed}"
