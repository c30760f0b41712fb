"""The air: which radio receives which signal, how strong and when, and loss."""

import pytest

from firmware_mocks.air import Air


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan")])
def test_a_loss_that_is_not_a_share_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Air(loss=loss)
