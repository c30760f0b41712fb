/* hilgw, a remote-control plug-in for Webots: the controller in Webots moves the real robot.
 *
 *   controller, libController --- this plug-in --- local socket --- hilgw --- the real robot
 *
 * The plug-in is a small client of the controller protocol that hilgw already speaks with
 * libController itself (controller kind `webots_plugin`): there is no second protocol. It connects
 * at wbr_start, reads which devices the robot of hilgw has, and pairs them with Webots' devices by
 * name. Each wbr_robot_step is one exchange: a request with the commands and sampling periods that
 * came since the last one, and the answer at the end of the real step with the values of the
 * sensors that are due.
 *
 * Safety is hilgw's: it stops the motors when the connection ends for any reason, and when no
 * request comes in time. This side never waits longer than its deadlines; when one passes, when
 * hilgw ends the session or sends anything else than it may, wbr_has_failed is true and libController
 * goes back to simulation.
 *
 * What libController makes of a plug-in, and what must be avoided here:
 * - A rotational motor uses the torque slots, a linear one the force slots.
 * - wbr_inertial_unit_set_value and wbr_motor_set_position_feedback are declared and do not exist;
 *   a call ends the process.
 * - At the switch libController repeats the velocity of a motor, not its position, which decides
 *   whether the velocity is that of velocity control. So wbr_start asks for it.
 * - set_mode(2) in remote mode drops out of it without wbr_stop: wbr_start closes what is open.
 * - A paused simulation calls no step: wbr_stop_actuators leaves hilgw, which stops the motors, and
 *   the next step connects again. No motor moves then before the controller commands it.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webots/device.h>
#include <webots/motor.h>
#include <webots/nodes.h>
#include <webots/remote_control.h>
#include <webots/robot.h>
#include <webots/touch_sensor.h>

#include "link.h"
#include "wire.h"

#ifndef HILGW_ANSWER_MS
#define HILGW_ANSWER_MS 1000
#endif

enum {
  ANSWER_MS = HILGW_ANSWER_MS, /* longest wait for an answer, beyond the duration of a step */
  LEAVE_MS = 500,
  LONGEST_COMMANDS = 100, /* bytes of all commands of one device */
  NO_TAG = 0,
};

/* Commands and messages of the robot, tag 0. */
enum { QUIT = 2, TIME = 4, SIM_MODE = 10, JOYSTICK_PERIOD = 35, EXIT_NOTIFY = 38 };
enum { CONFIGURE = 0, PAUSED = 0 };

/* Commands of a motor, in the order in which they are sent. */
enum { POSITION = 1, VELOCITY, AVAILABLE_FORCE, FORCE, FEEDBACK, ACCELERATION, PID, MOTOR_COMMANDS };
/* The one command of every sensor, and of an LED. */
enum { PERIOD = 1 };

struct device {
  const char *name; /* libController's; NULL: no device has this tag */
  WbNodeType node;
  uint16_t remote;  /* its tag at hilgw, NO_TAG: the robot of hilgw has no such device */
  unsigned pending; /* bit per command */
  double value[MOTOR_COMMANDS], i, d;
  int period_ms, feedback_ms; /* of the sensor; of the motor's force or torque */
  int led;
  bool in_velocity_control, is_force_3d, is_reported;
};

static struct {
  struct link link;
  char path[PATH_BYTES];
  char name[PATH_BYTES];      /* of the robot, for messages */
  struct device *devices;     /* by Webots' tag */
  uint16_t *local;            /* Webots' tag by hilgw's */
  size_t count, remote_count; /* one more than the highest tag */
  unsigned char *request;
  bool has_failed, is_paused;
} robot = {.link = {.fd = -1}};

static unsigned char answer_buffer[LONGEST_ANSWER];

static void report(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("hilgw: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

/* --- the session ------------------------------------------------------------------------------ */

static bool fail(const char *what, const char *fix) {
  report("robot '%s': %s; %s", robot.name, what, fix);
  link_close(&robot.link);
  robot.has_failed = true;
  return false;
}

static bool fail_as(enum link_result result) {
  switch (result) {
    case LINK_TIMEOUT:
      return fail("hilgw does not answer", "is the robot connected to it? See its output");
    case LINK_CLOSED:
      return fail("hilgw closed the connection",
                  "it ended, or the robot has another controller; see its output");
    default:
      return fail("hilgw sent an invalid answer", "are the plug-in and hilgw of one version?");
  }
}

static struct device *device_of(uint16_t remote) {
  const uint16_t tag = remote < robot.remote_count ? robot.local[remote] : NO_TAG;
  return tag == NO_TAG ? NULL : &robot.devices[tag];
}

/* The mode of the simulation: "paused" is a robot whose motors may not move. */
static void read_mode(struct answer *answer) {
  if (take_i32(answer) == PAUSED && answer->valid)
    report("robot '%s' is not armed: its motors do not move until hilgw arm", robot.name);
}

/* The configuration names the devices of hilgw's robot, in the order of their tags. */
static bool read_configuration(struct answer *answer) {
  take_text(answer); /* the robot's name */
  take_text(answer); /* the version of Webots */
  take_u8(answer);   /* supervisor */
  take_u8(answer);   /* synchronization */
  const size_t count = take_u16(answer);
  const int node = take_u16(answer);
  take_f64(answer); /* time */
  if (!answer->valid || count == 0)
    return fail_as(LINK_INVALID);
  if (node != WB_NODE_ROBOT)
    return fail("hilgw uses the numbers of another version of Webots",
                "set webots: in its configuration to yours");
  free(robot.local);
  robot.local = calloc(count, sizeof *robot.local);
  robot.remote_count = robot.local == NULL ? 0 : count;
  for (size_t tag = 0; tag < robot.count; tag++)
    robot.devices[tag].remote = NO_TAG;
  for (size_t remote = 1; remote < robot.remote_count && answer->valid; remote++) {
    const int kind = take_u16(answer);
    const char *name = take_text(answer);
    take_text(answer); /* model */
    for (size_t tag = 1; tag < robot.count; tag++) {
      struct device *device = &robot.devices[tag];
      if (device->name == NULL || device->remote != NO_TAG || strcmp(device->name, name) != 0)
        continue;
      if ((int)device->node == kind) {
        device->remote = (uint16_t)remote;
        robot.local[remote] = (uint16_t)tag;
      } else
        report("'%s' is a device of another type in hilgw: it is left out", name);
      break;
    }
  }
  take_f64(answer); /* basicTimeStep */
  for (int i = 0; i < 7; i++)
    take_text(answer);
  take_u8(answer); /* the window is shown */
  take_u8(answer); /* it is an HTML window */
  read_mode(answer);
  answer->at = answer->end; /* each device has its own, which Webots knows too */
  return answer->valid || fail_as(LINK_INVALID);
}

static bool read_message_of_robot(struct answer *answer) {
  switch (take_u8(answer)) {
    case CONFIGURE:
      return read_configuration(answer);
    case QUIT:
      return fail("hilgw ended the session", "its output says why");
    case TIME:
      take_f64(answer); /* the controller reads the time of the simulation */
      break;
    case SIM_MODE:
      read_mode(answer);
      break;
    default:
      answer->valid = false;
  }
  return answer->valid || fail_as(LINK_INVALID);
}

static void read_value(struct answer *answer, const struct device *device, WbDeviceTag tag) {
  const uint8_t command = take_u8(answer);
  int expected = 1, numbers = 1;
  double value[7];
  switch (device->node) {
    case WB_NODE_DISTANCE_SENSOR: expected = 50; break;
    case WB_NODE_LIGHT_SENSOR: expected = 55; break;
    case WB_NODE_POSITION_SENSOR: break;
    case WB_NODE_ACCELEROMETER: expected = 51; numbers = 3; break;
    case WB_NODE_COMPASS: expected = 52; numbers = 3; break;
    case WB_NODE_GYRO: expected = 53; numbers = 3; break;
    case WB_NODE_GPS: expected = 2; numbers = 7; break;
    case WB_NODE_TOUCH_SENSOR:
      expected = device->is_force_3d ? 41 : 40;
      numbers = device->is_force_3d ? 3 : 1;
      break;
    case WB_NODE_ROTATIONAL_MOTOR:
    case WB_NODE_LINEAR_MOTOR: expected = FEEDBACK; break;
    default: expected = -1; break;
  }
  if (command != expected)
    answer->valid = false;
  for (int i = 0; i < numbers; i++)
    value[i] = take_f64(answer);
  if (!answer->valid)
    return;
  switch (device->node) {
    case WB_NODE_DISTANCE_SENSOR: wbr_distance_sensor_set_value(tag, value[0]); break;
    case WB_NODE_LIGHT_SENSOR: wbr_light_sensor_set_value(tag, value[0]); break;
    case WB_NODE_POSITION_SENSOR: wbr_position_sensor_set_value(tag, value[0]); break;
    case WB_NODE_ACCELEROMETER: wbr_accelerometer_set_values(tag, value); break;
    case WB_NODE_COMPASS: wbr_compass_set_values(tag, value); break;
    case WB_NODE_GYRO: wbr_gyro_set_values(tag, value); break;
    case WB_NODE_GPS:
      wbr_gps_set_values(tag, value);
      wbr_gps_set_speed(tag, value[3]);
      wbr_gps_set_velocity_vector(tag, value + 4);
      break;
    case WB_NODE_TOUCH_SENSOR:
      if (numbers == 3)
        wbr_touch_sensor_set_values(tag, value);
      else
        wbr_touch_sensor_set_value(tag, value[0]);
      break;
    case WB_NODE_ROTATIONAL_MOTOR: wbr_motor_set_torque_feedback(tag, value[0]); break;
    case WB_NODE_LINEAR_MOTOR: wbr_motor_set_force_feedback(tag, value[0]); break;
    default: break;
  }
}

/* The messages of one answer. False: the session is over. */
static bool apply(struct answer *answer) {
  while (!answer_is_over(answer)) {
    const uint16_t remote = take_u16(answer);
    if (!answer->valid)
      return fail_as(LINK_INVALID);
    if (remote == NO_TAG) {
      if (!read_message_of_robot(answer))
        return false;
      continue;
    }
    const struct device *device = device_of(remote);
    if (device == NULL)
      return fail_as(LINK_INVALID);
    read_value(answer, device, (WbDeviceTag)(device - robot.devices));
    if (!answer->valid)
      return fail_as(LINK_INVALID);
  }
  return true;
}

/* One request, and its answer. False: the session is over. */
static bool exchange(const struct request *request, long long deadline_ms) {
  enum link_result result = link_send(&robot.link, request->data, request->size, deadline_ms);
  int32_t delay_ms = -1;
  while (result == LINK_OK && delay_ms < 0) {
    const unsigned char *data;
    size_t size;
    result = link_receive(&robot.link, &data, &size, deadline_ms);
    if (result == LINK_OK) {
      struct answer answer = answer_of(data, size, &delay_ms);
      if (!apply(&answer))
        return false;
    }
  }
  return result == LINK_OK || fail_as(result);
}

static bool configure(void) {
  if (!link_open(&robot.link, robot.path, answer_buffer, sizeof answer_buffer)) {
    report("robot '%s': cannot connect to %s: %s; start hilgw with controller: {kind: webots_plugin}",
           robot.name, robot.path, strerror(errno));
    robot.has_failed = true;
    return false;
  }
  struct request request; /* as libController begins */
  request_begin(&request, robot.request, 0);
  request_open_block(&request, 0);
  put_u8(&request, JOYSTICK_PERIOD);
  put_u16(&request, 0);
  request_close_block(&request);
  request_end(&request);
  robot.remote_count = 0;
  if (!exchange(&request, now_ms() + ANSWER_MS))
    return false;
  return robot.remote_count > 0 || fail_as(LINK_INVALID); /* the answer has no configuration */
}

/* In order, so that hilgw does not report a crash; it stops the motors. */
static void leave(void) {
  static const unsigned char goodbye[4];
  const long long deadline_ms = now_ms() + LEAVE_MS;
  struct request request;
  const unsigned char *answer;
  size_t size;
  if (robot.link.fd < 0)
    return;
  request_begin(&request, robot.request, 0);
  request_open_block(&request, 0);
  put_u8(&request, EXIT_NOTIFY);
  request_close_block(&request);
  request_end(&request);
  if (link_send(&robot.link, request.data, request.size, deadline_ms) == LINK_OK &&
      link_receive(&robot.link, &answer, &size, deadline_ms) == LINK_OK &&
      link_send(&robot.link, goodbye, sizeof goodbye, deadline_ms) == LINK_OK)
    link_finish(&robot.link, deadline_ms);
  link_close(&robot.link);
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_motor(const struct device *device) {
  return device->node == WB_NODE_ROTATIONAL_MOTOR || device->node == WB_NODE_LINEAR_MOTOR;
}

static void put_motor_commands(struct request *request, const struct device *device) {
  for (int command = POSITION; command < MOTOR_COMMANDS; command++) {
    if ((device->pending & 1u << command) == 0)
      continue;
    put_u16(request, (uint16_t)command);
    if (command == FEEDBACK)
      put_u16(request, (uint16_t)device->feedback_ms);
    else
      put_f64(request, device->value[command]);
    if (command == PID) {
      put_f64(request, device->i);
      put_f64(request, device->d);
    }
  }
}

static void put_commands(struct request *request, struct device *device) {
  request_open_block(request, device->remote);
  if (is_motor(device))
    put_motor_commands(request, device);
  else if (device->pending != 0) {
    put_u8(request, PERIOD);
    if (device->node == WB_NODE_LED)
      put_i32(request, device->led);
    else
      put_u16(request, (uint16_t)device->period_ms);
  }
  request_close_block(request);
  device->pending = 0;
}

/* The device for a command; NULL when hilgw's robot does not have it, which is reported once. */
static struct device *find(WbDeviceTag tag) {
  if (tag >= robot.count || robot.devices[tag].name == NULL)
    return NULL;
  struct device *device = &robot.devices[tag];
  if (device->remote != NO_TAG || robot.is_paused)
    return device;
  if (!device->is_reported)
    report("the robot has no device '%s' of this type: the controller's commands to it are ignored",
           device->name);
  device->is_reported = true;
  return NULL;
}

static void set_motor(WbDeviceTag tag, int command, double value) {
  struct device *device = find(tag);
  if (device == NULL || !is_motor(device))
    return;
  device->value[command] = value;
  device->pending |= 1u << command;
  if (command == POSITION)
    device->in_velocity_control = false; /* hilgw knows from now on */
  else if (command == VELOCITY && device->in_velocity_control) {
    device->in_velocity_control = false;
    device->value[POSITION] = INFINITY;
    device->pending |= 1u << POSITION;
  }
}

/* --- the slots -------------------------------------------------------------------------------- */

/* The devices of Webots' robot. False: there is no memory for them. */
static bool list_devices(void) {
  const int count = wb_robot_get_number_of_devices();
  robot.count = 1;
  for (int i = 0; i < count; i++) {
    const WbDeviceTag tag = wb_robot_get_device_by_index(i);
    if (tag >= robot.count)
      robot.count = (size_t)tag + 1;
  }
  free(robot.devices);
  free(robot.request);
  robot.devices = calloc(robot.count, sizeof *robot.devices);
  robot.request = malloc(REQUEST_HEAD + (robot.count + 1) * (BLOCK_HEAD + LONGEST_COMMANDS));
  if (robot.devices == NULL || robot.request == NULL)
    return false;
  for (int i = 0; i < count; i++) {
    const WbDeviceTag tag = wb_robot_get_device_by_index(i);
    struct device *device = &robot.devices[tag];
    if (tag == NO_TAG)
      continue;
    device->name = wb_device_get_name(tag);
    device->node = wb_device_get_node_type(tag);
    if (is_motor(device))
      device->in_velocity_control = isinf(wb_motor_get_target_position(tag));
    else if (device->node == WB_NODE_TOUCH_SENSOR)
      device->is_force_3d = wb_touch_sensor_get_type(tag) == WB_TOUCH_SENSOR_FORCE3D;
  }
  return true;
}

/* argument: "" or NULL: the robot of hilgw that HILGW_ROBOT names, else that of the same name; or
 * the name of a robot, or the path of its socket. */
static bool start(const char *argument) {
  leave();
  robot.has_failed = robot.is_paused = false;
  const char *name = argument;
  if (name == NULL || name[0] == '\0')
    name = getenv("HILGW_ROBOT");
  if (name == NULL || name[0] == '\0')
    name = wb_robot_get_name();
  snprintf(robot.name, sizeof robot.name, "%s", name);
  const char *error = link_path(robot.path, name);
  if (error == NULL && !list_devices()) {
    robot.count = 0;
    error = "there is no memory for its devices";
  }
  if (error != NULL) {
    report("robot '%s': %s", robot.name, error);
    return false;
  }
  return configure();
}

static void stop(void) {
  leave();
  robot.is_paused = false;
}

static bool has_failed(void) {
  return robot.has_failed;
}

static void stop_actuators(void) {
  if (robot.link.fd < 0)
    return;
  leave();
  robot.is_paused = true;
  for (size_t tag = 1; tag < robot.count; tag++)
    robot.devices[tag].pending = 0;
}

/* After a pause: what libController does not repeat. */
static bool resume(void) {
  if (!configure())
    return false;
  robot.is_paused = false;
  for (size_t tag = 1; tag < robot.count; tag++) {
    struct device *device = &robot.devices[tag];
    if (is_motor(device)) {
      device->in_velocity_control = isinf(wb_motor_get_target_position((WbDeviceTag)tag));
      if ((device->pending & 1u << VELOCITY) != 0 && device->in_velocity_control)
        set_motor((WbDeviceTag)tag, VELOCITY, device->value[VELOCITY]);
      if (device->feedback_ms > 0)
        device->pending |= 1u << FEEDBACK;
    } else if (device->period_ms > 0 || device->led != 0)
      device->pending |= 1u << PERIOD;
  }
  return true;
}

/* libController ignores the result; it asks has_failed afterwards. */
static int robot_step(int duration_ms) {
  if (robot.is_paused && !resume())
    robot.is_paused = false;
  if (robot.link.fd < 0) {
    robot.has_failed = true;
    return -1;
  }
  if (duration_ms < 0)
    duration_ms = 0;
  struct request request;
  request_begin(&request, robot.request, (uint32_t)duration_ms);
  for (size_t remote = 1; remote < robot.remote_count; remote++) {
    struct device *device = device_of((uint16_t)remote);
    if (device != NULL && device->pending != 0)
      put_commands(&request, device);
  }
  request_end(&request);
  return exchange(&request, now_ms() + duration_ms + ANSWER_MS) ? 0 : -1;
}

static void set_sampling_period(WbDeviceTag tag, int period_ms) {
  struct device *device = period_ms > 0 ? find(tag) : tag < robot.count ? &robot.devices[tag] : NULL;
  if (device == NULL || is_motor(device) || device->node == WB_NODE_LED)
    return;
  device->period_ms = period_ms;
  device->pending |= 1u << PERIOD;
}

static void led_set(WbDeviceTag tag, int value) {
  struct device *device = find(tag);
  if (device == NULL || device->node != WB_NODE_LED)
    return;
  device->led = value;
  device->pending |= 1u << PERIOD;
}

static void motor_set_feedback_period(WbDeviceTag tag, int period_ms) {
  struct device *device = tag < robot.count ? &robot.devices[tag] : NULL;
  if (device == NULL || !is_motor(device) || (period_ms == 0 && device->feedback_ms == 0))
    return; /* libController repeats 0 for every motor */
  if (find(tag) == NULL)
    return;
  device->feedback_ms = period_ms;
  device->pending |= 1u << FEEDBACK;
}

static void motor_set_position(WbDeviceTag tag, double position) {
  set_motor(tag, POSITION, position);
}

static void motor_set_acceleration(WbDeviceTag tag, double acceleration) {
  set_motor(tag, ACCELERATION, acceleration);
}

static void motor_set_velocity(WbDeviceTag tag, double velocity) {
  set_motor(tag, VELOCITY, velocity);
}

static void motor_set_force(WbDeviceTag tag, double force) {
  set_motor(tag, FORCE, force);
}

static void motor_set_available_force(WbDeviceTag tag, double force) {
  set_motor(tag, AVAILABLE_FORCE, force);
}

static void motor_set_control_pid(WbDeviceTag tag, double p, double i, double d) {
  struct device *device = find(tag);
  if (device == NULL || !is_motor(device))
    return;
  device->i = i;
  device->d = d;
  set_motor(tag, PID, p);
}

/* What no robot of hilgw has: each slot says so once. */
#define UNSUPPORTED(slot, parameters)                                                     \
  static void slot parameters {                                                           \
    static bool is_reported;                                                              \
    if (!is_reported)                                                                     \
      report("%s has no effect: hilgw has no device for it", #slot);             \
    is_reported = true;                                                                   \
  }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNSUPPORTED(custom, (void *argument))
UNSUPPORTED(robot_battery_set_sampling_period, (int period))
UNSUPPORTED(camera_set_fov, (WbDeviceTag tag, double fov))
UNSUPPORTED(camera_set_exposure, (WbDeviceTag tag, double exposure))
UNSUPPORTED(camera_set_focal_distance, (WbDeviceTag tag, double distance))
UNSUPPORTED(pen_set_ink_color, (WbDeviceTag tag, int color, double density))
UNSUPPORTED(pen_write, (WbDeviceTag tag, bool write))
UNSUPPORTED(speaker_emit_sample, (WbDeviceTag tag, const void *data, int size))
UNSUPPORTED(display_set_color, (WbDeviceTag tag, int color))
UNSUPPORTED(display_set_alpha, (WbDeviceTag tag, double alpha))
UNSUPPORTED(display_set_opacity, (WbDeviceTag tag, double opacity))
UNSUPPORTED(display_draw_pixel, (WbDeviceTag tag, int x, int y))
UNSUPPORTED(display_draw_line, (WbDeviceTag tag, int x1, int y1, int x2, int y2))
UNSUPPORTED(display_draw_rectangle, (WbDeviceTag tag, int x, int y, int width, int height))
UNSUPPORTED(display_draw_oval, (WbDeviceTag tag, int x, int y, int a, int b))
UNSUPPORTED(display_draw_polygon, (WbDeviceTag tag, const int *x, const int *y, int size))
UNSUPPORTED(display_draw_text, (WbDeviceTag tag, const char *text, int x, int y))
UNSUPPORTED(display_fill_rectangle, (WbDeviceTag tag, int x, int y, int width, int height))
UNSUPPORTED(display_fill_oval, (WbDeviceTag tag, int x, int y, int a, int b))
UNSUPPORTED(display_fill_polygon, (WbDeviceTag tag, const int *x, const int *y, int size))
UNSUPPORTED(display_image_new,
            (WbDeviceTag tag, int id, int width, int height, const void *data, int format))
UNSUPPORTED(display_image_copy, (WbDeviceTag tag, int id, int x, int y, int width, int height))
UNSUPPORTED(display_image_delete, (WbDeviceTag tag, int id))
UNSUPPORTED(display_image_paste, (WbDeviceTag tag, int id, int x, int y))
UNSUPPORTED(display_image_save, (WbDeviceTag tag, int id))
#pragma GCC diagnostic pop

static void *custom_function(void *argument) {
  custom(argument);
  return NULL;
}

/* --- what libController looks up ---------------------------------------------------------------- */

#define EXPORTED __attribute__((visibility("default")))
EXPORTED bool wbr_init(WbrInterface *slots);
EXPORTED void wbr_cleanup(void);

bool wbr_init(WbrInterface *slots) {
  slots->mandatory.wbr_start = start;
  slots->mandatory.wbr_stop = stop;
  slots->mandatory.wbr_has_failed = has_failed;
  slots->mandatory.wbr_stop_actuators = stop_actuators;
  slots->mandatory.wbr_robot_step = robot_step;
  slots->wbr_custom_function = custom_function;
  slots->wbr_set_sampling_period = set_sampling_period;
  slots->wbr_led_set = led_set;
  slots->wbr_motor_set_force_sampling_period = motor_set_feedback_period;
  slots->wbr_motor_set_torque_sampling_period = motor_set_feedback_period;
  slots->wbr_motor_set_position = motor_set_position;
  slots->wbr_motor_set_acceleration = motor_set_acceleration;
  slots->wbr_motor_set_velocity = motor_set_velocity;
  slots->wbr_motor_set_force = motor_set_force;
  slots->wbr_motor_set_torque = motor_set_force;
  slots->wbr_motor_set_available_force = motor_set_available_force;
  slots->wbr_motor_set_available_torque = motor_set_available_force;
  slots->wbr_motor_set_control_pid = motor_set_control_pid;
#define SET(slot) slots->wbr_##slot = slot
  SET(robot_battery_set_sampling_period);
  SET(camera_set_fov);
  SET(camera_set_exposure);
  SET(camera_set_focal_distance);
  SET(pen_set_ink_color);
  SET(pen_write);
  SET(speaker_emit_sample);
  SET(display_set_color);
  SET(display_set_alpha);
  SET(display_set_opacity);
  SET(display_draw_pixel);
  SET(display_draw_line);
  SET(display_draw_rectangle);
  SET(display_draw_oval);
  SET(display_draw_polygon);
  SET(display_draw_text);
  SET(display_fill_rectangle);
  SET(display_fill_oval);
  SET(display_fill_polygon);
  SET(display_image_new);
  SET(display_image_copy);
  SET(display_image_delete);
  SET(display_image_paste);
  SET(display_image_save);
#undef SET
  return true;
}

/* At the exit of the controller; also after an initialization that failed. */
void wbr_cleanup(void) {
  leave();
  free(robot.devices);
  free(robot.local);
  free(robot.request);
  robot.devices = NULL;
  robot.local = NULL;
  robot.request = NULL;
  robot.count = robot.remote_count = 0;
}
