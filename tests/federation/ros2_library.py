"""zenoh-ros2-sdk: another implementation of rmw_zenoh's keys, as a judge."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zenoh_ros2_sdk as sdk

from tests.e2e.running import HOST

MESSAGE = "std_msgs/msg/UInt8MultiArray"
# github.com/ros2/common_interfaces, std_msgs/msg, without comments.
ARRAY = "MultiArrayLayout layout\nuint8[] data\n"
PARTS = {
    "std_msgs/msg/MultiArrayLayout": "MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/msg/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
}
SEPARATOR = "=" * 80 + "\nMSG: "
DEFINITION = ARRAY + "".join(f"{SEPARATOR}{key}\n{text}" for key, text in PARTS.items())
# __EXPECTED_HASH of std_msgs__msg__UInt8MultiArray in code that rosidl generated.
HASH = "RIHS01_5687e861b8d307a5e48b7515467ae7a5fc2daf805bd0ce6d8e9e604bade9f385"


@contextmanager
def ros2_library(port: int) -> Iterator[Any]:
    """The only session of the library, on this port of HOST; it connects to nothing else."""
    theirs = "listen/endpoints=[];scouting/gossip/enabled=false;scouting/delay=0"
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("ROS_DOMAIN_ID", "ZENOH_SESSION_CONFIG_URI"):
            patch.delenv(variable, raising=False)
        patch.setenv("ZENOH_CONFIG_OVERRIDE", theirs)
        library = sdk.ZenohSession.get_instance(HOST, port)
        try:
            yield library
        finally:
            library.close()
