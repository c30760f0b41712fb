/* The local socket of a robot of hilgw. Every call ends within its deadline; no call raises
 * SIGPIPE. */
#ifndef HILGW_LINK_H
#define HILGW_LINK_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_BYTES = 108 }; /* sun_path of Linux */

struct link {
  int fd; /* -1: not connected */
  unsigned char *buffer;
  size_t capacity, used, taken; /* taken: bytes of the answer that was read last */
};

enum link_result { LINK_OK, LINK_CLOSED, LINK_TIMEOUT, LINK_INVALID };

/* Monotonic time in ms. */
long long now_ms(void);

/* Where hilgw listens for the plug-in of this robot. robot: its name, or an absolute path, which is
 * taken as it is. NULL, or why there is no such path. */
const char *link_path(char path[PATH_BYTES], const char *robot);

/* Connects; buffer has room for the longest answer. False: errno says why. */
bool link_open(struct link *link, const char *path, unsigned char *buffer, size_t capacity);

enum link_result link_send(struct link *link, const void *data, size_t size, long long deadline_ms);

/* The next answer, valid until the next call. */
enum link_result link_receive(struct link *link, const unsigned char **answer, size_t *size,
                              long long deadline_ms);

/* Ends this direction and waits until the peer has ended the other: then it is free for another
 * connection. */
void link_finish(struct link *link, long long deadline_ms);

void link_close(struct link *link);

#endif
