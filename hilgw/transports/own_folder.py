"""A folder in the temporary folder that is removed with its process, or after it."""

import glob
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "hilgw-run-"


class OwnFolder:
    """A new, private folder.

    This process has it locked: who makes such a folder later removes it, if this process was
    killed. OSError when it cannot be made.
    """

    def __init__(self) -> None:
        import fcntl  # not on Windows

        # One without content may be new, and not locked yet. Path.glob would raise for a folder
        # that its owner removes meanwhile.
        try:
            base = tempfile.gettempdir()
        except OSError:
            os.close(os.open("/", os.O_RDONLY))  # raises the reason, if it is too few descriptors
            raise
        for content in glob.glob(f"{PREFIX}*/*", root_dir=base):  # noqa: PTH207
            folder = Path(base, content).parent
            with suppress(OSError):  # in use, another user's, or removed meanwhile
                lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
                finally:
                    os.close(lock)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
