"""`hilgw --version`, without slow imports."""

import os
import sys

from hilgw import __version__

LIBRARIES = (
    "pyserial",
    "pyserial-asyncio",
    "crcmod",
    "cobs",
    "PyYAML",
    "pydantic",
    "shtab",
)


def print_version() -> None:
    """Print the version of hilgw and of each library, and whether its C form is active."""
    from hilgw.framing.c_forms import c_extensions

    print(f"hilgw {__version__} (Python {sys.version.split()[0]})")
    versions = installed()
    active = c_extensions()
    for name in LIBRARIES:
        version = versions.get(_normal(name))
        text = f"  {name} {version}" if version else f"  {name} is missing: pip install {name}"
        if name in active:
            text += " (C)" if active[name] else " (pure Python: slower; install a C compiler)"
        print(text)


def installed() -> dict[str, str]:
    """Return the version of each distribution, from the names of the installed folders."""
    versions: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib costs a tenth of the start
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                distribution, _, version = name.rpartition(".")[0].partition("-")
                versions.setdefault(_normal(distribution), version)
    return versions


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()
