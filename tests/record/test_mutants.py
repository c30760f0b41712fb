"""Mutants of a real recording: every command and page reads what it can, or names what is wrong.

`tools/test --hypothesis-profile explore tests/record/test_mutants.py` reads 10,000 others,
`tools/soak recordings` 200,000.
"""

import random
from pathlib import Path

import pytest
from hypothesis import settings

from tests.cases import part_of
from tests.e2e.running import run
from tests.record import mutants
from tests.record.mutants import blocks_of, faults, mutant

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
