// Packets on the medium: "ping" each 200 ms; the LED is on while they are answered.
// hilgw: kind: uart, framing: cobs-crc16, 115200 baud.
#include <hilgw_node.h>
#include <string.h>

static uint8_t in[64], out[64], packet[34];
static hilgw_link line;
static uint32_t sent_ms, answered_ms;

void setup() {
  Serial.begin(115200);
  pinMode(LED_BUILTIN, OUTPUT);
  hilgw_link_init(&line, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
}

void loop() {
  const uint32_t now_ms = millis();
  while (Serial.available() > 0) {
    hilgw_byte_in(&line, (uint8_t)Serial.read());
    if (hilgw_read(&line, now_ms) && line.length >= 4 && memcmp(line.payload, "pong", 4) == 0)
      answered_ms = now_ms;
  }
  if (now_ms - sent_ms >= 200) {
    sent_ms = now_ms;
    hilgw_send(&line, (const uint8_t *)"ping", 4);
  }
  for (int16_t byte; Serial.availableForWrite() > 0 && (byte = hilgw_byte_out(&line)) >= 0;)
    Serial.write((uint8_t)byte);
  digitalWrite(LED_BUILTIN, now_ms - answered_ms < 1000 ? HIGH : LOW);
}
