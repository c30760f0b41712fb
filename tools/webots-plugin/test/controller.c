/* A libController for tests: the functions that the plug-in calls. The robot and its devices come
 * from the environment, DEVICES="NAME:NODE;NAME:NODE"; tags are 1, 2, ... Values that the plug-in
 * sets are printed, so a test reads them in order. It ends the process, as the real one does, where
 * a plug-in calls what does not exist: the linker finds no such function here either.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webots/device.h>
#include <webots/motor.h>
#include <webots/remote_control.h>
#include <webots/robot.h>
#include <webots/touch_sensor.h>

enum { MOST = 100 };

static struct {
  char name[64];
  int node;
} devices[MOST];
static int count = -1;
double target_position[MOST]; /* for the host */

static void read_devices(void) {
  if (count >= 0)
    return;
  count = 0;
  const char *text = getenv("DEVICES");
  while (text != NULL && *text != '\0' && count < MOST - 1) {
    const size_t length = strcspn(text, ":");
    snprintf(devices[count].name, sizeof devices[count].name, "%.*s", (int)length, text);
    devices[count].node = atoi(text + length + 1);
    count++;
    text = strchr(text, ';');
    text = text == NULL ? NULL : text + 1;
  }
}

static int index_of(WbDeviceTag tag) {
  read_devices();
  if (tag == 0 || tag > count) {
    printf("invalid tag %d\n", tag);
    return MOST - 1;
  }
  return tag - 1;
}

const char *wb_robot_get_name(void) {
  const char *name = getenv("ROBOT");
  return name == NULL ? "robot" : name;
}

int wb_robot_get_number_of_devices(void) {
  read_devices();
  return count;
}

WbDeviceTag wb_robot_get_device_by_index(int index) {
  return (WbDeviceTag)(index + 1);
}

const char *wb_device_get_name(WbDeviceTag tag) {
  return devices[index_of(tag)].name;
}

WbNodeType wb_device_get_node_type(WbDeviceTag tag) {
  return (WbNodeType)devices[index_of(tag)].node;
}

double wb_motor_get_target_position(WbDeviceTag tag) {
  return target_position[index_of(tag)];
}

int wb_touch_sensor_get_type(WbDeviceTag tag) {
  return strstr(devices[index_of(tag)].name, "3d") != NULL ? WB_TOUCH_SENSOR_FORCE3D
                                                           : WB_TOUCH_SENSOR_BUMPER;
}

static void print(const char *what, WbDeviceTag tag, const double *values, int numbers) {
  printf("%s %s", what, devices[index_of(tag)].name);
  for (int i = 0; i < numbers; i++)
    printf(" %.9g", values[i]);
  printf("\n");
}

#define ONE(function, what)                         \
  void function(WbDeviceTag tag, double value) {    \
    print(what, tag, &value, 1);                    \
  }
#define THREE(function, what)                             \
  void function(WbDeviceTag tag, const double *values) {  \
    print(what, tag, values, 3);                          \
  }

ONE(wbr_distance_sensor_set_value, "distance")
ONE(wbr_light_sensor_set_value, "light")
ONE(wbr_position_sensor_set_value, "position")
ONE(wbr_touch_sensor_set_value, "touch")
ONE(wbr_motor_set_force_feedback, "force")
ONE(wbr_motor_set_torque_feedback, "torque")
ONE(wbr_gps_set_speed, "speed")
THREE(wbr_gps_set_values, "gps")
THREE(wbr_gps_set_velocity_vector, "velocity")
THREE(wbr_accelerometer_set_values, "acceleration")
THREE(wbr_compass_set_values, "compass")
THREE(wbr_gyro_set_values, "gyro")
THREE(wbr_touch_sensor_set_values, "touch3d")
