/* Types of Webots' C interface, as far as the plug-in uses it. See remote_control.h. */
#ifndef HILGW_ABI_TYPES_H
#define HILGW_ABI_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint16_t WbDeviceTag; /* 0: the robot, or no such device */

#endif
