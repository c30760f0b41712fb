/* A Webots controller without a library: one sensor, one motor, steps as fast as they are answered.

   webots_steps PORT STEPS: prints the steps per second, and the median of their round trips in us. */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int fd;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void take(void *into, size_t size) {
  for (char *at = into; size;) {
    ssize_t got = read(fd, at, size);
    if (got <= 0)
      exit(2);
    at += got;
    size -= got;
  }
}

static void put(const void *data, size_t size) {
  if (write(fd, data, size) != (ssize_t)size)
    exit(3);
}

/* Reads an answer of data chunks. */
static void answer(void) {
  static unsigned char head[6], chunk[5], data[1 << 16];
  uint16_t count;
  uint32_t size;
  take(head, sizeof head);
  for (memcpy(&count, head, 2); count; count--) {
    take(chunk, sizeof chunk);
    memcpy(&size, chunk, 4);
    if (chunk[4] || size > sizeof data)
      exit(4);
    take(data, size);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static const unsigned char first[] = {17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 35, 0, 0};
  unsigned char step[24] = {24, 0, 0, 0, 32, 0, 0, 0, 2, 0, 10, 0, 0, 0, 2, 0};
  int one = 1, steps = atoi(argv[argc > 2 ? 2 : 0]);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  double *times = calloc(steps, sizeof *times), begin, last, end = 0;
  char word[10];

  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(fd, (struct sockaddr *)&to, sizeof to))
    return 1;
  put("CTR", 3);
  if (read(fd, word, sizeof word) != 9)
    return 5;
  put(first, sizeof first);
  answer();
  begin = last = now_us();
  for (int n = 0; n < steps; n++) {
    double velocity = n;
    memcpy(step + 16, &velocity, 8);
    put(step, sizeof step);
    answer();
    end = now_us();
    times[n] = end - last;
    last = end;
  }
  put("\0\0\0\0", 4);
  qsort(times, steps, sizeof *times, ascending);
  printf("%.1f %.2f\n", steps / (end - begin) * 1e6, times[steps / 2]);
  return 0;
}
