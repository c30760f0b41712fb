/* The target of a motor: +infinity in velocity control. See remote_control.h. */
#ifndef HILGW_ABI_MOTOR_H
#define HILGW_ABI_MOTOR_H

#include "types.h"

double wb_motor_get_target_position(WbDeviceTag tag);

#endif
