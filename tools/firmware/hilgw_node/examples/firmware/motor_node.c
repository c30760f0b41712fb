/** @file motor_node.c  The body of a robot: two wheels, which stop 300 ms after the gateway's last
 * message. hilgw: `body: {kind: wc2ec, port: ..., baudRate: 115200}`.
 *
 * It reports the velocity of each wheel as the motor's value; on a robot, measure it. */
#include "board.h"

enum { LEFT_WHEEL, RIGHT_WHEEL, DEVICES };

static hilgw_device devices[DEVICES] = {
    [LEFT_WHEEL] = {.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR},
    [RIGHT_WHEEL] = {.name = "right_wheel", .kind = HILGW_ROTATIONAL_MOTOR},
};
static uint8_t in[128], out[128], packet[HILGW_WC2EC_BYTES + 2];
static hilgw_link link;
static hilgw_robot robot;

int main(void) {
  hilgw_link_init(&link, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  hilgw_body_init(&robot, &link, devices, DEVICES, hilgw_r2020a, 10);
  board_start(&link);
  for (;;) {
    const uint32_t now_ms = board_millis();
    (void)hilgw_body_poll(&robot, now_ms);
    for (uint8_t wheel = 0; wheel < DEVICES; wheel++) {
      const float velocity = hilgw_body_motor(&robot, wheel, now_ms); /* rad/s, to the driver */
      hilgw_body_set(&robot, wheel, velocity);
    }
    board_send();
    board_sleep();
  }
}
