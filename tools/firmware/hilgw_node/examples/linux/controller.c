/* A controller of a robot: the left wheel turns at 5 rad/s while ds_front shows 100 or more.
 *
 *   ./controller                     in frames, on standard input and output
 *   ./controller 127.0.0.1 27016     on TCP
 */
#define _POSIX_C_SOURCE 200112L
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hilgw_node.h"

enum { FRONT, LEFT, DEVICES };

static hilgw_device devices[DEVICES] = {
    [FRONT] = {.name = "ds_front", .kind = HILGW_DISTANCE_SENSOR},
    [LEFT] = {.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR},
};
static uint8_t in[4096], out[1024], packet[HILGW_WC2EC_BYTES + 2];
static hilgw_link line;
static hilgw_robot robot;

static uint32_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/* Returns a connected socket, or -1. */
static int connected(const char *host, const char *port) {
  struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(host, port, &wanted, &found) != 0) return -1;
  const int peer = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  const bool is_up = peer >= 0 && connect(peer, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  return is_up ? peer : -1;
}

int main(int count, char **words) {
  const bool on_tcp = count == 3;
  const int input = on_tcp ? connected(words[1], words[2]) : STDIN_FILENO;
  const int output = on_tcp ? input : STDOUT_FILENO;
  if (input < 0) return 1;
  hilgw_link_init(&line, on_tcp ? &hilgw_wc2ec_stream : &hilgw_cobs_crc16, HILGW_BUFFER(packet),
                  HILGW_BUFFER(in), HILGW_BUFFER(out));
  hilgw_controller_init(&robot, &line, devices, DEVICES);
  for (;;) {
    uint8_t data[1024];
    struct pollfd waits = {.fd = input, .events = POLLIN};
    const ssize_t size = poll(&waits, 1, 10) > 0 ? read(input, data, sizeof data) : 0;
    if (size < 0 || (size == 0 && waits.revents)) return 0; /* the end of the connection */
    for (ssize_t i = 0; i < size; i++) hilgw_byte_in(&line, data[i]);
    if (hilgw_controller_poll(&robot, now_ms())) {
      const float front = hilgw_value(&robot, FRONT, 0);
      (void)hilgw_controller_set(&robot, LEFT, front < 100 ? 0.0f : 5.0f);
      (void)hilgw_controller_poll(&robot, now_ms()); /* sends it at once */
    }
    size_t sent = 0;
    for (int16_t byte; (byte = hilgw_byte_out(&line)) >= 0;) data[sent++] = (uint8_t)byte;
    if (sent && write(output, data, sent) != (ssize_t)sent) return 1;
  }
}
