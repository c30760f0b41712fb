"""Infra-red remote control codes by name: NEC and its relatives, RC5, RC6, SIRC."""

from hilgw.errors import ConfigError
from hilgw.protocols.ir.base import REPEAT, Code, Codec, Frame, Repeat, Traits
from hilgw.protocols.ir.manchester import RC5, RC6, RC6A
from hilgw.protocols.ir.nec import NEC, NEC2, NEC_EXT, ONKYO
from hilgw.protocols.ir.sirc import SIRC, SIRC15, SIRC20

__all__ = ["CODECS", "REPEAT", "Code", "Codec", "Frame", "Repeat", "Traits", "codec"]

CODECS: dict[str, Codec] = {
    each.traits.name: each
    for each in (NEC, NEC2, NEC_EXT, ONKYO, RC5, RC6, RC6A, SIRC, SIRC15, SIRC20)
}


def codec(name: str) -> Codec:
    """Return the codec of this name.

    Raises:
        ConfigError: There is none.
    """
    if name not in CODECS:
        raise ConfigError(f"unknown infra-red code '{name}'", fix=f"use one of {', '.join(CODECS)}")
    return CODECS[name]
