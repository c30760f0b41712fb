"""The probes of `hilgw scan` on a line with noise: no module is found in it."""

import random

import pytest

from hilgw.adapters.base import Failed, Probe, Ready, StationSettings
from hilgw.adapters.xbee import ADAPTER
from hilgw.errors import MismatchError
from hilgw.units import s_to_ns
from tests.cases import part_of

STREAMS = 2_000
PROBE_S = 12.0
NOISE_BYTES = 1500
# Bytes of a line at the wrong rate, of a line with another parity, and of a talkative device.
NOISES = [bytes(range(256)), bytes(range(128)), bytes(range(32, 127)) + b"\r"]


def find(probe: Probe, noise: bytes, chance: random.Random) -> object:
    """What a scan would report: a module, a module with a mismatch, or None. Noise comes in twice
    during each wait, up to 12 s."""
    session = ADAPTER.session(probe.settings, StationSettings(port="p"))
    table = (noise * 3)[:256]
    now = 0
    events = session.open(now)
    while True:
        for _ in range(2):
            events += session.receive(chance.randbytes(NOISE_BYTES).translate(table), now)
        for event in events:
            if isinstance(event, Ready):
                return event
            if isinstance(event, Failed):
                return event.error if isinstance(event.error, MismatchError) else None
        due = session.next_deadline()
        if due is None or due > s_to_ns(PROBE_S):
            return None
        now = due
        events = session.expire(now)


@pytest.mark.parametrize("noise", NOISES, ids=["8 bits", "7 bits", "text"])
def test_no_module_is_found_in_noise(noise: bytes) -> None:
    for seed in range(part_of(STREAMS // len(NOISES) + 1)):
        probe = ADAPTER.probes[seed % len(ADAPTER.probes)]
        assert find(probe, noise, random.Random(seed)) is None, seed
