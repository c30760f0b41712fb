/** @file wall_follower.c  Drives the simulated robot over WC2EC, and turns at walls.
 * hilgw: `controller: {kind: wc2ec, port: ..., baudRate: 115200}`. */
#include "board.h"

enum { LEFT, FRONT, RIGHT, LEFT_WHEEL, RIGHT_WHEEL, DEVICES };

static hilgw_device devices[DEVICES] = {
    [LEFT] = {.name = "ds_left", .kind = HILGW_DISTANCE_SENSOR},
    [FRONT] = {.name = "ds_front", .kind = HILGW_DISTANCE_SENSOR},
    [RIGHT] = {.name = "ds_right", .kind = HILGW_DISTANCE_SENSOR},
    [LEFT_WHEEL] = {.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR},
    [RIGHT_WHEEL] = {.name = "right_wheel", .kind = HILGW_ROTATIONAL_MOTOR},
};
static uint8_t in[192], out[128], packet[HILGW_WC2EC_BYTES + 2];
static hilgw_link link;
static hilgw_robot robot;

int main(void) {
  hilgw_link_init(&link, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  hilgw_controller_init(&robot, &link, devices, DEVICES);
  board_start(&link);
  bool turns = false;
  for (;;) {
    if (hilgw_controller_poll(&robot, board_millis())) {
      const float front = hilgw_value(&robot, FRONT, 0); /* mm */
      const float left = hilgw_value(&robot, LEFT, 0), right = hilgw_value(&robot, RIGHT, 0);
      const float side = left < right ? left : right;
      if (front < 300 || side < 150) turns = true;
      if (front > 450 && side > 250) turns = false;
      (void)hilgw_controller_set(&robot, LEFT_WHEEL, turns ? 2.5f : 5.0f); /* rad/s */
      (void)hilgw_controller_set(&robot, RIGHT_WHEEL, turns ? -2.5f : 5.0f);
    }
    board_send();
    board_sleep();
  }
}
