"""`from controller import Robot` for programs that `hilgw exec` starts: this folder's parent stands
first in their PYTHONPATH."""

from hilgw.api import *  # noqa: F403
from hilgw.api import __all__  # noqa: F401
