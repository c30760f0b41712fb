/* The type of a TouchSensor. See remote_control.h. */
#ifndef HILGW_ABI_TOUCH_SENSOR_H
#define HILGW_ABI_TOUCH_SENSOR_H

#include "types.h"

enum { WB_TOUCH_SENSOR_BUMPER = 0, WB_TOUCH_SENSOR_FORCE, WB_TOUCH_SENSOR_FORCE3D };

int wb_touch_sensor_get_type(WbDeviceTag tag);

#endif
