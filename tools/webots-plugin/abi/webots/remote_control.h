/* The binary interface between libController and a remote-control plug-in: Webots R2025a.
 *
 * These headers are written from the facts of that interface, for tests and for machines without
 * Webots. `make` uses the headers of your Webots instead. They declare what the plug-in calls and
 * nothing else.
 *
 * libController zeroes the table, then calls wbr_init(table). The table has 42 pointers to
 * functions in this order; the first five are mandatory. A slot that is not set makes
 * libController print a line each time a controller uses it.
 */
#ifndef HILGW_ABI_REMOTE_CONTROL_H
#define HILGW_ABI_REMOTE_CONTROL_H

#include "types.h"

typedef struct WbrInterface {
  struct {
    bool (*wbr_start)(const char *argument);
    void (*wbr_stop)();
    bool (*wbr_has_failed)();
    void (*wbr_stop_actuators)();
    int (*wbr_robot_step)(int duration_ms);
  } mandatory;
  void *(*wbr_custom_function)(void *);
  void (*wbr_robot_battery_set_sampling_period)(int period_ms);
  void (*wbr_set_sampling_period)(WbDeviceTag, int period_ms);
  void (*wbr_camera_set_fov)(WbDeviceTag, double);
  void (*wbr_camera_set_exposure)(WbDeviceTag, double);
  void (*wbr_camera_set_focal_distance)(WbDeviceTag, double);
  void (*wbr_led_set)(WbDeviceTag, int);
  void (*wbr_pen_set_ink_color)(WbDeviceTag, int, double);
  void (*wbr_pen_write)(WbDeviceTag, bool);
  void (*wbr_speaker_emit_sample)(WbDeviceTag, const void *, int);
  void (*wbr_motor_set_force_sampling_period)(WbDeviceTag, int period_ms);
  void (*wbr_motor_set_torque_sampling_period)(WbDeviceTag, int period_ms);
  void (*wbr_motor_set_position)(WbDeviceTag, double);
  void (*wbr_motor_set_acceleration)(WbDeviceTag, double);
  void (*wbr_motor_set_velocity)(WbDeviceTag, double);
  void (*wbr_motor_set_force)(WbDeviceTag, double);
  void (*wbr_motor_set_torque)(WbDeviceTag, double);
  void (*wbr_motor_set_available_force)(WbDeviceTag, double);
  void (*wbr_motor_set_available_torque)(WbDeviceTag, double);
  void (*wbr_motor_set_control_pid)(WbDeviceTag, double, double, double);
  void (*wbr_display_set_color)(WbDeviceTag, int);
  void (*wbr_display_set_alpha)(WbDeviceTag, double);
  void (*wbr_display_set_opacity)(WbDeviceTag, double);
  void (*wbr_display_draw_pixel)(WbDeviceTag, int, int);
  void (*wbr_display_draw_line)(WbDeviceTag, int, int, int, int);
  void (*wbr_display_draw_rectangle)(WbDeviceTag, int, int, int, int);
  void (*wbr_display_draw_oval)(WbDeviceTag, int, int, int, int);
  void (*wbr_display_draw_polygon)(WbDeviceTag, const int *, const int *, int);
  void (*wbr_display_draw_text)(WbDeviceTag, const char *, int, int);
  void (*wbr_display_fill_rectangle)(WbDeviceTag, int, int, int, int);
  void (*wbr_display_fill_oval)(WbDeviceTag, int, int, int, int);
  void (*wbr_display_fill_polygon)(WbDeviceTag, const int *, const int *, int);
  void (*wbr_display_image_new)(WbDeviceTag, int, int, int, const void *, int);
  void (*wbr_display_image_copy)(WbDeviceTag, int, int, int, int, int);
  void (*wbr_display_image_delete)(WbDeviceTag, int);
  void (*wbr_display_image_paste)(WbDeviceTag, int, int, int);
  void (*wbr_display_image_save)(WbDeviceTag, int);
} WbrInterface;

/* Values that the controller reads. An unknown tag prints a line and does nothing else. */
void wbr_accelerometer_set_values(WbDeviceTag, const double *);
void wbr_compass_set_values(WbDeviceTag, const double *);
void wbr_distance_sensor_set_value(WbDeviceTag, double);
void wbr_gps_set_values(WbDeviceTag, const double *);
void wbr_gps_set_speed(WbDeviceTag, double);
void wbr_gps_set_velocity_vector(WbDeviceTag, const double *);
void wbr_gyro_set_values(WbDeviceTag, const double *);
void wbr_light_sensor_set_value(WbDeviceTag, double);
void wbr_motor_set_force_feedback(WbDeviceTag, double);
void wbr_motor_set_torque_feedback(WbDeviceTag, double);
void wbr_position_sensor_set_value(WbDeviceTag, double);
void wbr_touch_sensor_set_value(WbDeviceTag, double);
void wbr_touch_sensor_set_values(WbDeviceTag, const double *);

#endif
