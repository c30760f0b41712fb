/* The thermometer of this project in C, for an Arduino Uno: packets in cobs-crc16 framing. It
 * answers "temp?" with "temp 21.5" and "name?" with "name thermometer". */
#include <string.h>

#include "board.h"

static uint8_t in[128], out[128], packet[66];
static hilgw_link line;

static bool is(const char *text) {
  return line.length == strlen(text) && memcmp(line.payload, text, line.length) == 0;
}

static void send(const char *text) {
  (void)hilgw_send(&line, (const uint8_t *)text, (uint16_t)strlen(text));
}

int main(void) {
  hilgw_link_init(&line, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  board_start(&line);
  send("ready");
  for (;;) {
    while (hilgw_read(&line, board_millis())) {
      if (is("temp?")) send("temp 21.5"); /* on a board: of its sensor */
      if (is("name?")) send("name thermometer");
    }
    board_send();
    board_sleep();
  }
}
