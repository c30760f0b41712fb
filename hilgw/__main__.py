"""`hilgw` and `python -m hilgw`: handles signals first, then imports the rest."""

import gc
import os
import sys


def _leave_out_current_folder() -> None:
    """Undo what `python -m` does: no file of this folder, such as html.py, is a module of hilgw."""
    try:
        if sys.path[0] == os.getcwd():  # noqa: PTH109 - a file pathlib.py may be there
            del sys.path[0]
    except OSError:  # the folder was removed, and Python has not added it
        pass


if __name__ == "__main__" and not sys.flags.safe_path:
    _leave_out_current_folder()

from hilgw.cli import streams  # noqa: E402
from hilgw.cli.signals import leave_at_once_on_signals  # noqa: E402


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
