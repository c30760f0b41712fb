"""Whether the C forms of the byte libraries are active: apart, because `--version` asks it.

Without a compiler both install silently as pure Python.
"""

from __future__ import annotations


def c_extensions() -> dict[str, bool]:
    """Library -> whether its C form is active."""
    from cobs import cobs

    # crcmod's package hides its own submodule behind its name; `from` finds it all the same.
    from crcmod.crcmod import _usingExtension

    return {"cobs": bool(cobs._using_extension), "crcmod": bool(_usingExtension)}
