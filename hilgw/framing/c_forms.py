"""Activity of the C extensions of cobs and crcmod, for `--version`.

Without a compiler both install silently as pure Python.
"""


def c_extensions() -> dict[str, bool]:
    """Return whether the C extension of each library is active."""
    from cobs import cobs

    # The attribute crcmod.crcmod is the package itself; `from` finds the submodule of this name.
    from crcmod.crcmod import _usingExtension

    return {"cobs": bool(cobs._using_extension), "crcmod": bool(_usingExtension)}
