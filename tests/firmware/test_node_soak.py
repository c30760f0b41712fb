"""The C library under AddressSanitizer and UBSan: a part of `tools/soak node`. A copy with a
broken bound fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.firmware.node import FRAMINGS, LIBRARY, SOURCES

pytestmark = [pytest.mark.process, pytest.mark.judge("gcc")]
SOAK = SOURCES.parents[1] / "bench" / "node_soak.py"
DECODERS = [*FRAMINGS, "controller", "body"]


def soaked(inputs: int, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SOAK), "--inputs", str(inputs), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_decoder_takes_damaged_streams() -> None:
    done = soaked(500)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert lines == [[name, "500"] for name in DECODERS]


EACH = "robot->count; i++) {\n    const hilgw_device"
PLANTED = {
    "the packet buffer": (
        DECODERS,
        {
            "link->used < link->size": "link->used <= link->size",
            # A frame of cobs-crc16 is too long on the line before its packet is:
            "(packet_size + 253u) / 254u": "(packet_size + 507u) / 254u",
        },
    ),
    "the queues": (DECODERS, {"return at == queue->size ?": "return at > queue->size ?"}),
    "the length of a packet, and the devices": (
        ["wc2ec", "controller", "body"],
        {
            "used < fixed ? 0": "used + 1 < fixed ? 0",
            f"i < {EACH}": f"i <= {EACH}",
            "message[2] < robot->count ?": "message[2] <= robot->count ?",
        },
    ),
}


@pytest.mark.parametrize("bound", PLANTED)
def test_a_planted_overrun_of_each_decoder_is_found(bound: str, tmp_path: Path) -> None:
    """Off by one."""
    decoders, changes = PLANTED[bound]
    text = LIBRARY.read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "changed.c").write_text(text)
    options = ["--source", str(tmp_path / "changed.c")]
    for name in decoders:
        options += ["--decoder", name]
    done = soaked(20_000, *options)
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        [name, "failed"] for name in decoders
    ]
    assert done.stderr.count("ERROR: AddressSanitizer: heap-buffer-overflow") == len(decoders)
