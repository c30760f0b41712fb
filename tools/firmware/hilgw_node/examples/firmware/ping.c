/** @file ping.c  Packets on the medium: one each 200 ms, and an LED that follows the answers.
 * hilgw: `kind: uart`, `framing: cobs-crc16`, 115200 baud. */
#include <string.h>

#include "board.h"

static uint8_t in[128], out[128], packet[66];
static hilgw_link link;

int main(void) {
  hilgw_link_init(&link, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  board_start(&link);
  char text[] = "ping 0";
  uint32_t due_ms = 0;
  bool answered = true; /* the number shows how many were answered */
  for (;;) {
    const uint32_t now_ms = board_millis();
    while (hilgw_read(&link, now_ms))
      if (link.length >= 4 && memcmp(link.payload, "pong", 4) == 0) answered = true;
    if (now_ms - due_ms >= 200) {
      due_ms = now_ms;
      if (answered) text[5] = text[5] == '9' ? '0' : (char)(text[5] + 1);
      answered = false;
      (void)hilgw_send(&link, (const uint8_t *)text, 6);
      board_send();
    }
    board_sleep();
  }
}
