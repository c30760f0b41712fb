"""WC2EC, Webots Controller to External Controller: the codec, both directions.

    decoder = Decoder(Side.EXTERNAL, Layouts("R2020a", extensions=False), kinds={0: "LinearMotor"})
    decoder.feed(data) -> messages, Rejected; Failure at the end of the stream
    encode(SetValue(type=53, index=0, value=1.5)) -> bytes

`Link` adds the framing and the silence timeout of a serial line. docs/wc2ec-wire.md: the messages.
"""

from hilgw.protocols.wc2ec.codec import (
    Decoder,
    decode_signal,
    encode,
    encode_signal,
)
from hilgw.protocols.wc2ec.describe import describe, in_words, readable
from hilgw.protocols.wc2ec.link import LONGEST_FRAME, Wc2ecLink
from hilgw.protocols.wc2ec.messages import (
    LONGEST_PACKET,
    MOST_DEVICES,
    ORIGINAL,
    CommandByte,
    DisableSensor,
    EnableSensor,
    Error,
    Failure,
    Layouts,
    Message,
    Numbers,
    PacketData,
    RegisterSensor,
    Rejected,
    SendPacket,
    SensorData,
    Sent,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
    Side,
    Wc2ecRefused,
)

__all__ = [
    "LONGEST_FRAME",
    "LONGEST_PACKET",
    "MOST_DEVICES",
    "ORIGINAL",
    "CommandByte",
    "Decoder",
    "DisableSensor",
    "EnableSensor",
    "Error",
    "Failure",
    "Layouts",
    "Message",
    "Numbers",
    "PacketData",
    "RegisterSensor",
    "Rejected",
    "SendPacket",
    "SensorData",
    "Sent",
    "SetEmitter",
    "SetMotor",
    "SetPeriod",
    "SetReceiver",
    "SetValue",
    "Side",
    "Wc2ecLink",
    "Wc2ecRefused",
    "decode_signal",
    "describe",
    "encode",
    "encode_signal",
    "in_words",
    "readable",
]
