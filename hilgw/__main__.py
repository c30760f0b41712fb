"""`hilgw` and `python -m hilgw`: handles signals first, then imports the rest."""

import gc
import sys

from hilgw.cli import streams
from hilgw.cli.signals import leave_at_once_on_signals


def main() -> int:
    """The installed command; returns its exit code."""
    leave_at_once_on_signals()
    streams.recover()
    from hilgw.cli.main import main as run

    try:
        return run()
    finally:
        leave_at_once_on_signals()  # an event loop restores Python's handlers when it ends
        gc.freeze()  # the process ends: searching all that it imported would only delay that


if __name__ == "__main__":
    sys.exit(main())
