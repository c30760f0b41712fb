/* What the plug-in asks of the robot and its devices. See remote_control.h. */
#ifndef HILGW_ABI_ROBOT_H
#define HILGW_ABI_ROBOT_H

#include "nodes.h"
#include "types.h"

const char *wb_robot_get_name(void);
int wb_robot_get_number_of_devices(void);
WbDeviceTag wb_robot_get_device_by_index(int index);

#endif
