/* A Webots controller without a library: one sensor, one motor, STEPS steps of 32 ms.

   cc -O2 -o client webots_client.c && ./client PORT ROBOT STEPS

   Prints the seconds that the steps took. Tags: 1 is a DistanceSensor, 2 a RotationalMotor. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int server;
static char answer[1 << 20];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void take(void *at, size_t size) {
  for (char *to = at; size;) {
    ssize_t got = recv(server, to, size, 0);
    if (got <= 0) fail("recv");
    to += got;
    size -= (size_t)got;
  }
}

/* u16 number of chunks, i32 size of all; of each chunk i32 size, u8 type, the data. */
static void take_answer(void) {
  uint16_t chunks;
  int32_t size;
  take(answer, 6);
  memcpy(&chunks, answer, 2);
  while (chunks--) {
    take(answer, 5);
    memcpy(&size, answer, 4);
    if (size < 0 || (size_t)size > sizeof answer) fail("size");
    take(answer, (size_t)size);
  }
}

static void give(const void *data, size_t size) {
  if (send(server, data, size, 0) != (ssize_t)size) fail("send");
}

static size_t request(char *to, uint32_t step, uint16_t tag, const void *block, int32_t length) {
  int32_t size = 14 + length;
  memcpy(to, &size, 4);
  memcpy(to + 4, &step, 4);
  memcpy(to + 8, &tag, 2);
  memcpy(to + 10, &length, 4);
  memcpy(to + 14, block, (size_t)length);
  return (size_t)size;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  char line[200], word[10], data[64];
  int length = snprintf(line, sizeof line, "CTR\nRobot-Name: %s", words[2]);
  for (int tries = 500;; tries--) { /* the controller before may be on its way out */
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&address, sizeof address)) fail("connect");
    int one = 1;
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    give(line, (size_t)length);
    if (recv(server, word, sizeof word, 0) == 9 && !memcmp(word, "CONNECTED", 9)) break;
    if (!tries) fail("not connected");
    close(server);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  give(data, request(data, 0, 0, "\x23\0\0", 3));
  take_answer();
  give(data, request(data, 32, 1, "\x01\x20\0", 3)); /* enable the sensor */
  take_answer();
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long step = 0, steps = atol(words[3]); step < steps; step++) {
    char command[10] = {2, 0}; /* setVelocity */
    double velocity = (double)(step % 10);
    memcpy(command + 2, &velocity, 8);
    give(data, request(data, 32, 2, command, sizeof command));
    take_answer();
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  give(data, request(data, 0, 0, "\x26", 1));
  take_answer();
  give("\0\0\0\0", 4);
  close(server);
  printf("%.6f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
  return 0;
}
