"""How Webots fields map, where it is the same for several kinds of hardware."""

from __future__ import annotations

from hilgw.adapters.declaration import Mapped

RADIO = Mapped("type", "exact", "radio")
INFRA_RED = Mapped("type", "exact", "infra-red")
STRENGTH_FROM_POSES = Mapped(
    "signalStrength", "cannot", "1/distance^2 when both poses are known, else NaN"
)
DIRECTION_FROM_POSES = Mapped("direction", "cannot", "only from poses, when both are known")
NOISE = Mapped(
    "signalStrengthNoise, directionNoise", "exact", "added where the simulated device receives"
)
ALL_AROUND = Mapped("aperture", "cannot", "a radio sends and receives in all directions")
BYTE_SIZE = Mapped(
    "byteSize",
    "exact",
    "bits on the wire per byte: 10 is 8N1, 11 is 8E1, 8O1 or 8N2, 12 is 8E2 or 8O2; 8 means 8N1",
)
ALLOWED_CHANNELS = Mapped(
    "allowedChannels", "approximate", "the simulated device obeys it; the radio has no such list"
)
