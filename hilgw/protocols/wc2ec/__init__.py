"""WC2EC, Webots Controller to External Controller: the codec, both directions.

    decoder = Decoder(Side.EXTERNAL, Layouts("R2020a", extensions=False), kinds={0: "LinearMotor"})
    decoder.feed(data) -> messages, Rejected; Failure at the end of the stream
    encode(SetValue(type=53, index=0, value=1.5)) -> bytes

`Link` adds the framing and the silence timeout of a serial line. docs/wc2ec-wire.md: the messages.
"""

from hilgw.protocols.wc2ec.codec import (
    Decoder as Decoder,
    decode_signal as decode_signal,
    encode as encode,
    encode_signal as encode_signal,
)
from hilgw.protocols.wc2ec.describe import (
    describe as describe,
    in_words as in_words,
    readable as readable,
)
from hilgw.protocols.wc2ec.link import (
    LONGEST_FRAME as LONGEST_FRAME,
    Wc2ecLink as Wc2ecLink,
)
from hilgw.protocols.wc2ec.messages import (
    LONGEST_PACKET as LONGEST_PACKET,
    MOST_DEVICES as MOST_DEVICES,
    ORIGINAL as ORIGINAL,
    CommandByte as CommandByte,
    DisableSensor as DisableSensor,
    EnableSensor as EnableSensor,
    Error as Error,
    Failure as Failure,
    Layouts as Layouts,
    Message as Message,
    Numbers as Numbers,
    PacketData as PacketData,
    RegisterSensor as RegisterSensor,
    Rejected as Rejected,
    SendPacket as SendPacket,
    SensorData as SensorData,
    Sent as Sent,
    SetEmitter as SetEmitter,
    SetMotor as SetMotor,
    SetPeriod as SetPeriod,
    SetReceiver as SetReceiver,
    SetValue as SetValue,
    Side as Side,
    Wc2ecRefused as Wc2ecRefused,
)
