"""Infra-red remote control codes by name: NEC and its relatives, RC5, RC6, SIRC."""

from hilgw.protocols.ir.base import (
    REPEAT as REPEAT,
    Code as Code,
    Codec as Codec,
    Frame as Frame,
    Repeat as Repeat,
    Traits as Traits,
)
from hilgw.protocols.ir.manchester import RC5, RC6, RC6A
from hilgw.protocols.ir.nec import NEC, NEC2, NEC_EXT, ONKYO
from hilgw.protocols.ir.sirc import SIRC, SIRC15, SIRC20

CODECS: dict[str, Codec] = {
    each.traits.name: each
    for each in (NEC, NEC2, NEC_EXT, ONKYO, RC5, RC6, RC6A, SIRC, SIRC15, SIRC20)
}
