/* The bytes of Webots' controller protocol on a local socket, as far as the plug-in needs them.
 *
 * No sockets, no clock, no libController: tests feed it with anything. All numbers are little
 * endian, without padding.
 *
 *   request  i32 size (with these 4 bytes), u32 duration in ms (0: immediate),
 *            blocks of u16 tag, i32 n, n bytes of commands
 *   answer   i32 size (with these 4 bytes), i32 delay in ms (below 0: another answer follows),
 *            messages of u16 tag, u8 command, payload; a message has no length
 */
#ifndef HILGW_WIRE_H
#define HILGW_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  REQUEST_HEAD = 8,
  BLOCK_HEAD = 6,
  ANSWER_HEAD = 8,
  LONGEST_ANSWER = 1 << 18, /* a configuration has about 60 bytes for each device */
};

/* A request in a buffer of the caller, which has room for all that is put. */
struct request {
  unsigned char *data;
  size_t size, block; /* block: offset of the open block */
};

void request_begin(struct request *request, unsigned char *buffer, uint32_t duration_ms);
void request_open_block(struct request *request, uint16_t tag);
void request_close_block(struct request *request); /* an empty one is taken back */
void request_end(struct request *request);
void put_u8(struct request *request, uint8_t value);
void put_u16(struct request *request, uint16_t value);
void put_i32(struct request *request, int32_t value);
void put_f64(struct request *request, double value);

/* The size that the first 4 bytes of an answer declare; 0: not possible. */
size_t answer_size(const unsigned char *head);

/* An answer, read from its front. After the end everything reads as 0 or "", and valid is false. */
struct answer {
  const unsigned char *at, *end;
  bool valid;
};

struct answer answer_of(const unsigned char *data, size_t size, int32_t *delay_ms);
bool answer_is_over(const struct answer *answer);
uint8_t take_u8(struct answer *answer);
uint16_t take_u16(struct answer *answer);
int32_t take_i32(struct answer *answer);
double take_f64(struct answer *answer);
const char *take_text(struct answer *answer); /* inside the answer, ends with a NUL */

#endif
