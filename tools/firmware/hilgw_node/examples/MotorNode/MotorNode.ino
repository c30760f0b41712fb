// The body of a robot: a wheel on a motor driver (PWM on pin 9, direction on pin 8) and a distance
// sensor on A0. The wheel stops 300 ms after the gateway's last message.
// hilgw: body: {kind: wc2ec, port: ..., baudRate: 115200, original_peer: true}
#include <hilgw_node.h>

static const uint8_t PWM = 9, DIRECTION = 8;
static const float FASTEST = 10;  // rad/s at full voltage

static uint8_t in[64], out[128], packet[HILGW_WC2EC_BYTES + 2];
static hilgw_link line;
static hilgw_robot robot;
static hilgw_device devices[] = {{"wheel", HILGW_ROTATIONAL_MOTOR}, {"front", HILGW_DISTANCE_SENSOR}};

void setup() {
  Serial.begin(115200);
  pinMode(PWM, OUTPUT);
  pinMode(DIRECTION, OUTPUT);
  hilgw_link_init(&line, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  hilgw_body_init(&robot, &line, devices, 2, hilgw_r2020a, 20);
}

void loop() {
  const uint32_t now_ms = millis();
  while (Serial.available() > 0) hilgw_byte_in(&line, (uint8_t)Serial.read());
  hilgw_body_set(&robot, 1, (float)analogRead(A0));
  hilgw_body_poll(&robot, now_ms);
  const float velocity = hilgw_body_motor(&robot, 0, now_ms);
  const float share = (velocity < 0 ? -velocity : velocity) / FASTEST;
  digitalWrite(DIRECTION, velocity < 0 ? HIGH : LOW);
  analogWrite(PWM, share < 1 ? (int)(255 * share) : 255);
  for (int16_t byte; Serial.availableForWrite() > 0 && (byte = hilgw_byte_out(&line)) >= 0;)
    Serial.write((uint8_t)byte);
}
