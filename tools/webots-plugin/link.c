#define _POSIX_C_SOURCE 200809L
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif

#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE does it */
#endif

long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* --- the path --------------------------------------------------------------------------------- */

/* A robot's name as in the paths of local sockets: percent-encoded. */
static bool encode_name(char *to, size_t room, const char *name) {
  static const char hex[] = "0123456789ABCDEF";
  for (; *name != '\0'; name++) {
    const unsigned char byte = (unsigned char)*name;
    if (room < 4)
      return false;
    if ((byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
        strchr("-_~.", byte) != NULL) {
      *to++ = (char)byte;
      room--;
    } else {
      *to++ = '%';
      *to++ = hex[byte >> 4];
      *to++ = hex[byte & 15];
      room -= 3;
    }
  }
  *to = '\0';
  return true;
}

/* Whether only this user can put a socket into this folder. */
static bool is_private(const char *folder) {
  struct stat status;
  return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

const char *link_path(char path[PATH_BYTES], const char *robot) {
  char name[PATH_BYTES], folder[PATH_BYTES];
  if (robot[0] == '/') {
    if (strlen(robot) >= PATH_BYTES)
      return "the path is too long";
    strcpy(path, robot);
    return NULL;
  }
  if (!encode_name(name, sizeof name, robot))
    return "the robot's name is too long; give the path of the socket instead";
  /* The folders of hilgw's control sockets. */
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  int length = PATH_BYTES;
  if (runtime != NULL && runtime[0] != '\0')
    length = snprintf(folder, sizeof folder, "%s/hilgw", runtime);
  if (length >= PATH_BYTES || !is_private(folder)) {
    snprintf(folder, sizeof folder, "/tmp/hilgw-%lu", (unsigned long)geteuid());
    if (!is_private(folder))
      return "no hilgw of this user is running";
  }
  length = snprintf(path, PATH_BYTES, "%s/%s.plugin", folder, name);
  return length < PATH_BYTES ? NULL : "the robot's name is too long; give the path of the socket";
}

/* --- the socket ------------------------------------------------------------------------------- */

bool link_open(struct link *link, const char *path, unsigned char *buffer, size_t capacity) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0)
    return false;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK); /* connect() too: a full queue of a hanging gateway blocks not */
#ifdef SO_NOSIGPIPE
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
    const int why = errno;
    close(fd);
    errno = why;
    return false;
  }
  link->fd = fd;
  link->buffer = buffer;
  link->capacity = capacity;
  link->used = link->taken = 0;
  return true;
}

/* Waits for POLLIN or POLLOUT. */
static enum link_result wait_for(const struct link *link, short events, long long deadline_ms) {
  for (;;) {
    const long long left_ms = deadline_ms - now_ms();
    if (left_ms <= 0)
      return LINK_TIMEOUT;
    struct pollfd poll_fd = {link->fd, events, 0};
    const int ready = poll(&poll_fd, 1, left_ms > 60000 ? 60000 : (int)left_ms);
    if (ready > 0)
      return LINK_OK; /* the call that follows reports an error */
    if (ready < 0 && errno != EINTR)
      return LINK_CLOSED;
  }
}

static bool is_temporary(void) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

enum link_result link_send(struct link *link, const void *data, size_t size,
                           long long deadline_ms) {
  const unsigned char *at = data;
  while (size > 0) {
    const ssize_t sent = send(link->fd, at, size, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      size -= (size_t)sent;
      continue;
    }
    if (sent == 0 || !is_temporary())
      return LINK_CLOSED;
    const enum link_result result = wait_for(link, POLLOUT, deadline_ms);
    if (result != LINK_OK)
      return result;
  }
  return LINK_OK;
}

enum link_result link_receive(struct link *link, const unsigned char **answer, size_t *size,
                              long long deadline_ms) {
  memmove(link->buffer, link->buffer + link->taken, link->used - link->taken);
  link->used -= link->taken;
  link->taken = 0;
  for (;;) {
    if (link->used >= 4) {
      const size_t whole = answer_size(link->buffer);
      if (whole == 0 || whole > link->capacity)
        return LINK_INVALID;
      if (link->used >= whole) {
        *answer = link->buffer;
        *size = link->taken = whole;
        return LINK_OK;
      }
    }
    const enum link_result result = wait_for(link, POLLIN, deadline_ms);
    if (result != LINK_OK)
      return result;
    const ssize_t got =
        recv(link->fd, link->buffer + link->used, link->capacity - link->used, 0);
    if (got > 0)
      link->used += (size_t)got;
    else if (got == 0 || !is_temporary())
      return LINK_CLOSED;
  }
}

void link_finish(struct link *link, long long deadline_ms) {
  const unsigned char *answer;
  size_t size;
  shutdown(link->fd, SHUT_WR);
  while (link_receive(link, &answer, &size, deadline_ms) == LINK_OK)
    ;
}

void link_close(struct link *link) {
  if (link->fd >= 0)
    close(link->fd);
  link->fd = -1;
}
