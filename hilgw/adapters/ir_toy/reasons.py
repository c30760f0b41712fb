"""Reasons for packets that an IR Toy lost."""

from hilgw.reasons import DroppedReason, RefusedReason


class IrToyRefused(RefusedReason):
    """Reasons of the adapter `ir_toy`."""

    UNDERRUN = "underrun", "the IR Toy received the samples too slowly and stopped in the middle"
    PROTOCOL = "protocol", "the IR Toy left its protocol during the transmission"
    COUNT = "count", "the IR Toy counted a different number of samples"


class IrToyDropped(DroppedReason):
    """Reasons of the adapter `ir_toy`."""

    ADDRESS = "address", "a code of an address that has no channel"
    BAD_SAMPLE = "bad_sample", "half a sample: a byte was lost"
    OVERLONG = "overlong", "light that is longer than any code"
    OVERFLOW = "overflow", "the IR Toy lost samples"
    INTERRUPTED = "interrupted", "a code interrupted by a transmission of this station"
    STRANGE = "strange", "light that is not a code of this kind"
    REPEAT = "repeat", "a repeated code of a held key"
    LOST_CODE = "lost_code", "a code is missing in a packet of several codes"
