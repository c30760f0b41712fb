"""`hilgw` and `python -m hilgw`: handles signals first, then imports the rest."""

import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    try:  # no file of the current folder, such as html.py, is a module of hilgw
        if sys.path[0] == os.getcwd():  # noqa: PTH109 - nor is pathlib.py
            del sys.path[0]
    except OSError:  # the folder was removed, and Python has not added it
        pass

from hilgw.cli import streams
from hilgw.cli.signals import leave_at_once_on_signals


def main() -> int:
    """Run the installed command; return its exit code."""
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
