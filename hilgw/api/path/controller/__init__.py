"""`from controller import Robot` for programs that `hilgw exec` starts.

This folder's parent comes first in their PYTHONPATH. A Python with packages of its own gets hilgw
from here, and nothing else.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - of any Python that `exec --python` names
    sys.exit("hilgw: `from controller import Robot` needs Python 3.11 or later")

from pathlib import Path

_BESIDE = str(Path(__file__).parents[4])
sys.path.insert(0, _BESIDE)
try:
    import hilgw  # noqa: F401
finally:
    sys.path.remove(_BESIDE)

from hilgw.api import *  # noqa: E402, F403
from hilgw.api import __all__  # noqa: E402, F401
