"""Some changed inputs for each reader that a stranger can reach; `tools/soak fuzz` has more."""

import pytest

from tests.testing.fuzz import READERS, failure

COUNT = 1000


@pytest.mark.parametrize("name", READERS)
def test_a_changed_input_raises_only_what_its_reader_declares(name: str) -> None:
    assert [why for seed in range(1, COUNT) if (why := failure(name, seed))] == []
