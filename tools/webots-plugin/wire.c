#include "wire.h"

#include <string.h>

static void store(unsigned char *to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t load(const unsigned char *from, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++)
    value |= (uint64_t)from[i] << (8 * i);
  return value;
}

static int32_t signed_of(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  int32_t value;
  memcpy(&value, &low, sizeof value);
  return value;
}

/* --- requests --------------------------------------------------------------------------------- */

static void put(struct request *request, uint64_t value, int bytes) {
  store(request->data + request->size, value, bytes);
  request->size += (size_t)bytes;
}

void request_begin(struct request *request, unsigned char *buffer, uint32_t duration_ms) {
  request->data = buffer;
  request->size = 4;
  request->block = 0;
  put(request, duration_ms, 4);
}

void request_open_block(struct request *request, uint16_t tag) {
  request->block = request->size;
  put_u16(request, tag);
  put_i32(request, 0);
}

void request_close_block(struct request *request) {
  const size_t length = request->size - request->block - BLOCK_HEAD;
  if (length == 0)
    request->size = request->block;
  else
    store(request->data + request->block + 2, length, 4);
}

void request_end(struct request *request) {
  store(request->data, request->size, 4);
}

void put_u8(struct request *request, uint8_t value) {
  put(request, value, 1);
}

void put_u16(struct request *request, uint16_t value) {
  put(request, value, 2);
}

void put_i32(struct request *request, int32_t value) {
  put(request, (uint32_t)value, 4);
}

void put_f64(struct request *request, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put(request, bits, 8);
}

/* --- answers ---------------------------------------------------------------------------------- */

size_t answer_size(const unsigned char *head) {
  const int32_t size = signed_of(load(head, 4));
  return size >= ANSWER_HEAD && size <= LONGEST_ANSWER ? (size_t)size : 0;
}

struct answer answer_of(const unsigned char *data, size_t size, int32_t *delay_ms) {
  struct answer answer = {data + ANSWER_HEAD, data + size, true};
  *delay_ms = signed_of(load(data + 4, 4));
  return answer;
}

bool answer_is_over(const struct answer *answer) {
  return answer->at == answer->end;
}

static uint64_t take(struct answer *answer, int bytes) {
  if (answer->end - answer->at < bytes) {
    answer->at = answer->end;
    answer->valid = false;
    return 0;
  }
  answer->at += bytes;
  return load(answer->at - bytes, bytes);
}

uint8_t take_u8(struct answer *answer) {
  return (uint8_t)take(answer, 1);
}

uint16_t take_u16(struct answer *answer) {
  return (uint16_t)take(answer, 2);
}

int32_t take_i32(struct answer *answer) {
  return signed_of(take(answer, 4));
}

double take_f64(struct answer *answer) {
  const uint64_t bits = take(answer, 8);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

const char *take_text(struct answer *answer) {
  const unsigned char *text = answer->at;
  const unsigned char *end = memchr(text, 0, (size_t)(answer->end - text));
  if (end == NULL) {
    answer->at = answer->end;
    answer->valid = false;
    return "";
  }
  answer->at = end + 1;
  return (const char *)text;
}
