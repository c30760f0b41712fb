/* Name and node number of a device. See remote_control.h. */
#ifndef HILGW_ABI_DEVICE_H
#define HILGW_ABI_DEVICE_H

#include "nodes.h"
#include "types.h"

const char *wb_device_get_name(WbDeviceTag tag);
WbNodeType wb_device_get_node_type(WbDeviceTag tag);

#endif
