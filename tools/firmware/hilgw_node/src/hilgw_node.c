/** @file hilgw_node.c  See hilgw_node.h. */
#include "hilgw_node.h"

#include <string.h>

struct hilgw_framing {
  bool (*decode)(hilgw_link *link, uint8_t byte); /* whether a packet is complete */
  bool (*encode)(hilgw_link *link, const uint8_t *payload, uint16_t length);
  bool (*more)(hilgw_link *link, bool silent); /* packets in bytes that were decoded before */
  uint8_t spare;                               /* bytes of the buffer beside the payload */
  uint8_t longest;                             /* one of the following */
};

enum { ONE_MORE, COBS_CODES, DOUBLE }; /* the longest frame, beside its delimiters */

/* --- queues ------------------------------------------------------------------------------------ */

static hilgw_index after(const hilgw_queue *queue, hilgw_index at) {
  at++;
  return at == queue->size ? 0 : at;
}

static void queue_init(hilgw_queue *queue, uint8_t *data, hilgw_index size) {
  queue->data = data;
  queue->size = size;
  queue->head = queue->tail = 0;
}

static int16_t queue_take(hilgw_queue *queue) {
  const hilgw_index tail = queue->tail;
  if (tail == queue->head) return -1;
  const uint8_t byte = queue->data[tail];
  queue->tail = after(queue, tail);
  return byte;
}

static void add(uint16_t *counter, uint16_t number) {
  *counter = number > UINT16_MAX - *counter ? UINT16_MAX : (uint16_t)(*counter + number);
}

static void count(uint16_t *counter) { add(counter, 1); }

/* --- the frame that is being sent: seen by the UART when it is complete ------------------------ */

static void put(hilgw_link *link, uint8_t byte) {
  const hilgw_index next = after(&link->out, link->at);
  if (next == link->out.tail) link->full = true;
  if (link->full) return;
  link->out.data[link->at] = byte;
  link->at = next;
}

/* --- checksums --------------------------------------------------------------------------------- */

typedef uint16_t checksum(uint16_t crc, uint8_t byte);

/* crc-ccitt-false: polynomial 0x1021, not reflected. */
static uint16_t ccitt(uint16_t crc, uint8_t byte) {
  uint8_t top = (uint8_t)((crc >> 8) ^ byte);
  top = (uint8_t)(top ^ (top >> 4));
  return (uint16_t)((uint16_t)(crc << 8) ^ (uint16_t)((uint16_t)top << 12) ^
                    (uint16_t)((uint16_t)top << 5) ^ top);
}

/* x-25: polynomial 0x1021, reflected; the line carries its complement. */
static uint16_t x25(uint16_t crc, uint8_t byte) {
  uint8_t low = (uint8_t)(crc ^ byte);
  low = (uint8_t)(low ^ (uint8_t)(low << 4));
  return (uint16_t)((crc >> 8) ^ (uint16_t)((uint16_t)low << 8) ^ (uint16_t)((uint16_t)low << 3) ^
                    (low >> 4));
}

static uint16_t crc_of(checksum *update, const uint8_t *data, uint16_t length) {
  uint16_t crc = UINT16_MAX;
  while (length--) crc = update(crc, *data++);
  return crc;
}

/* --- what delimited framings share ------------------------------------------------------------- */

enum { PLAIN, ESCAPED, BAD_ESCAPE, SKIPPING };

static void begin_frame(hilgw_link *link) {
  link->used = link->raw = 0;
  link->state = PLAIN;
  link->code = link->left = 0;
  link->long_packet = false;
}

static void store(hilgw_link *link, uint8_t byte) {
  if (link->used < link->size)
    link->buffer[link->used++] = byte;
  else
    link->long_packet = true;
}

/* Counts a byte of a frame; returns whether the frame is still of use. */
static bool admit(hilgw_link *link) {
  if (link->state == SKIPPING) return false;
  if (link->raw == link->most) {
    count(&link->counts.too_long);
    link->state = SKIPPING;
    return false;
  }
  link->raw++;
  return true;
}

/* The end of a frame: whether its packet is good. update: of its CRC, NULL without one. residue: of
   the CRC over a good packet and its CRC. */
static bool finish(hilgw_link *link, checksum *update, uint16_t residue, uint8_t least) {
  const uint8_t size = update ? 2 : 0;
  const uint16_t used = link->used;
  const bool is_long = link->long_packet;
  begin_frame(link);
  if (is_long) {
    count(&link->counts.too_long);
  } else if (used < size + least) {
    count(&link->counts.too_short);
  } else if (update && crc_of(update, link->buffer, used) != residue) {
    count(&link->counts.bad_crc);
  } else {
    link->payload = link->buffer;
    link->length = (uint16_t)(used - size);
    return true;
  }
  return false;
}

/* The end of a frame without bytes, of one that is too long, or of one with this fault. */
static bool is_void(hilgw_link *link, bool fault, uint16_t *counter) {
  if (link->raw && link->state != SKIPPING && !fault) return false;
  if (link->raw && link->state != SKIPPING) count(counter);
  begin_frame(link);
  return true;
}

/* --- cobs-crc16 -------------------------------------------------------------------------------- */

static bool cobs_decode(hilgw_link *link, uint8_t byte) {
  if (byte == 0)
    return !is_void(link, link->left != 0, &link->counts.bad_code) && finish(link, ccitt, 0, 0);
  if (!admit(link)) return false;
  if (link->left) {
    link->left--;
    store(link, byte);
  } else {
    if (link->code && link->code != UINT8_MAX) store(link, 0);
    link->code = byte;
    link->left = (uint8_t)(byte - 1);
  }
  return false;
}

static void cobs_open(hilgw_link *link) {
  link->mark = link->at;
  link->run = 1;
  put(link, 0);
}

static void cobs_close(hilgw_link *link) {
  if (!link->full) link->out.data[link->mark] = link->run;
}

static void cobs_put(hilgw_link *link, uint8_t byte) {
  if (link->run == UINT8_MAX) { /* a full block has no zero behind it */
    cobs_close(link);
    cobs_open(link);
  }
  if (byte) {
    put(link, byte);
    link->run++;
  } else {
    cobs_close(link);
    cobs_open(link);
  }
}

static bool cobs_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  const uint16_t crc = crc_of(ccitt, payload, length);
  cobs_open(link);
  while (length--) cobs_put(link, *payload++);
  cobs_put(link, (uint8_t)(crc >> 8));
  cobs_put(link, (uint8_t)crc);
  cobs_close(link);
  put(link, 0);
  return true;
}

const hilgw_framing hilgw_cobs_crc16 = {cobs_decode, cobs_encode, NULL, 2, COBS_CODES};

/* --- slip, slip-crc16 -------------------------------------------------------------------------- */

enum { SLIP_END = 0xC0, SLIP_ESC = 0xDB, SLIP_ESC_END = 0xDC, SLIP_ESC_ESC = 0xDD };

static bool slip_take(hilgw_link *link, uint8_t byte, checksum *update) {
  if (byte == SLIP_END) {
    const bool is_bad = link->state == ESCAPED || link->state == BAD_ESCAPE;
    return !is_void(link, is_bad, &link->counts.bad_escape) && finish(link, update, 0, 0);
  }
  if (!admit(link) || link->state == BAD_ESCAPE) return false;
  if (link->state == ESCAPED) {
    link->state = byte == SLIP_ESC_END || byte == SLIP_ESC_ESC ? PLAIN : BAD_ESCAPE;
    store(link, byte == SLIP_ESC_END ? SLIP_END : SLIP_ESC);
  } else if (byte == SLIP_ESC) {
    link->state = ESCAPED;
  } else {
    store(link, byte);
  }
  return false;
}

static bool slip_crc16_decode(hilgw_link *link, uint8_t byte) {
  return slip_take(link, byte, ccitt);
}

static bool slip_decode(hilgw_link *link, uint8_t byte) { return slip_take(link, byte, NULL); }

static void slip_put(hilgw_link *link, uint8_t byte) {
  if (byte == SLIP_END || byte == SLIP_ESC) {
    put(link, SLIP_ESC);
    byte = byte == SLIP_END ? SLIP_ESC_END : SLIP_ESC_ESC;
  }
  put(link, byte);
}

static void slip_body(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  put(link, SLIP_END);
  while (length--) slip_put(link, *payload++);
}

static bool slip_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  slip_body(link, payload, length);
  put(link, SLIP_END);
  return length > 0;
}

static bool slip_crc16_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  const uint16_t crc = crc_of(ccitt, payload, length);
  slip_body(link, payload, length);
  slip_put(link, (uint8_t)(crc >> 8));
  slip_put(link, (uint8_t)crc);
  put(link, SLIP_END);
  return true;
}

const hilgw_framing hilgw_slip = {slip_decode, slip_encode, NULL, 0, DOUBLE};
const hilgw_framing hilgw_slip_crc16 = {slip_crc16_decode, slip_crc16_encode, NULL, 2, DOUBLE};

/* --- hdlc -------------------------------------------------------------------------------------- */

enum { HDLC_FLAG = 0x7E, HDLC_ESC = 0x7D, HDLC_BIT = 0x20 };
#define X25_RESIDUE UINT16_C(0xF0B8)

static bool hdlc_decode(hilgw_link *link, uint8_t byte) {
  if (byte == HDLC_FLAG)
    return !is_void(link, link->state == ESCAPED, &link->counts.aborted) &&
           finish(link, x25, X25_RESIDUE, 1);
  if (!admit(link)) return false;
  if (link->state == ESCAPED) {
    link->state = PLAIN;
    store(link, byte ^ HDLC_BIT);
  } else if (byte == HDLC_ESC) {
    link->state = ESCAPED;
  } else {
    store(link, byte);
  }
  return false;
}

static void hdlc_put(hilgw_link *link, uint8_t byte) {
  if (byte == HDLC_FLAG || byte == HDLC_ESC) {
    put(link, HDLC_ESC);
    byte ^= HDLC_BIT;
  }
  put(link, byte);
}

static bool hdlc_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  const uint16_t crc = (uint16_t)~crc_of(x25, payload, length);
  put(link, HDLC_FLAG);
  for (uint16_t i = 0; i < length; i++) hdlc_put(link, payload[i]);
  hdlc_put(link, (uint8_t)crc);
  hdlc_put(link, (uint8_t)(crc >> 8));
  put(link, HDLC_FLAG);
  return length > 0;
}

const hilgw_framing hilgw_hdlc = {hdlc_decode, hdlc_encode, NULL, 2, DOUBLE};

/* --- lines ------------------------------------------------------------------------------------- */

static bool lines_decode(hilgw_link *link, uint8_t byte) {
  if (byte == '\n') {
    if (is_void(link, false, NULL)) return false;
    if (link->used || link->long_packet) return finish(link, NULL, 0, 1);
    begin_frame(link); /* a CR alone: an empty line */
    return false;
  }
  if (!admit(link)) return false;
  if (link->state == ESCAPED) store(link, '\r'); /* a CR that does not belong to the line end */
  link->state = byte == '\r' ? ESCAPED : PLAIN;
  if (byte != '\r') store(link, byte);
  return false;
}

static bool lines_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  for (uint16_t i = 0; i < length; i++) put(link, payload[i]);
  put(link, '\n');
  return length > 0 && !memchr(payload, '\n', length) && payload[length - 1] != '\r';
}

const hilgw_framing hilgw_lines = {lines_decode, lines_encode, NULL, 0, ONE_MORE};

/* --- length ------------------------------------------------------------------------------------ */

enum { SYNC_0 = 0xAA, SYNC_1 = 0x55, HEADER = 4, CRC_BYTES = 2 };
enum { COLLECTING = PLAIN, FLUSHING, GIVEN_UP };

static void forget(hilgw_link *link, uint16_t size) {
  link->raw = (uint16_t)(link->raw + size);
  link->used = (uint16_t)(link->used - size);
}

static void forget_garbage(hilgw_link *link) {
  count(&link->counts.garbage);
  forget(link, 1);
}

/* The next good frame in the buffer. The state FLUSHING: no frame continues behind it. */
static bool length_scan(hilgw_link *link) {
  for (;;) {
    const uint8_t *data = link->buffer + link->raw;
    const bool flushes = link->state >= FLUSHING;
    if (link->used == 0) break;
    if (data[0] != SYNC_0 || (link->used == 1 ? flushes : data[1] != SYNC_1)) {
      forget_garbage(link);
      continue;
    }
    uint16_t size = 0;
    if (link->used >= HEADER) size = (uint16_t)((uint16_t)(data[2] << 8) | data[3]);
    if (size > link->limit) {
      count(&link->counts.too_long);
    } else if (link->used < HEADER + size + CRC_BYTES) {
      if (!flushes) break;
      if (link->state == FLUSHING) count(&link->counts.truncated);
      link->state = GIVEN_UP;
    } else if (crc_of(ccitt, data + 2, (uint16_t)(size + HEADER)) == 0) {
      link->payload = data + HEADER;
      link->length = size;
      forget(link, (uint16_t)(size + HEADER + CRC_BYTES));
      return true;
    } else {
      count(&link->counts.bad_crc);
    }
    forget_garbage(link);
  }
  if (link->used == 0) link->state = COLLECTING;
  return false;
}

static bool length_more(hilgw_link *link, bool silent) {
  if (silent && link->used && link->state == COLLECTING) link->state = FLUSHING;
  return length_scan(link);
}

/* raw: bytes at the start of the buffer that are decoded. They make room when it is needed. */
static bool length_decode(hilgw_link *link, uint8_t byte) {
  if (link->raw) {
    memmove(link->buffer, link->buffer + link->raw, link->used);
    link->raw = 0;
  }
  store(link, byte);
  return length_scan(link);
}

static bool length_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  const uint8_t field[2] = {(uint8_t)(length >> 8), (uint8_t)length};
  uint16_t crc = crc_of(ccitt, field, 2);
  put(link, SYNC_0);
  put(link, SYNC_1);
  put(link, field[0]);
  put(link, field[1]);
  for (uint16_t i = 0; i < length; i++) {
    crc = ccitt(crc, payload[i]);
    put(link, payload[i]);
  }
  put(link, (uint8_t)(crc >> 8));
  put(link, (uint8_t)crc);
  return true;
}

const hilgw_framing hilgw_length = {length_decode, length_encode, length_more, HEADER + CRC_BYTES, ONE_MORE};

/* --- WC2EC messages without frames ------------------------------------------------------------- */

enum { REGISTER = 0, DATA = 1, ERROR = 127, ENABLE = 128, DISABLE = 129, VALUE = 130, SET = 131 };
enum { HEAD_BYTES = 3, VALUE_BYTES = HEAD_BYTES + 8, MOTOR_BYTES = HEAD_BYTES + 4 * 8 };
enum { EMITTER_BYTES = HEAD_BYTES + 12, SENT_BYTES = HEAD_BYTES + 8, RECEIVED_BYTES = HEAD_BYTES + 40 };
enum { LONGEST_PACKET = UINT16_MAX - RECEIVED_BYTES };

static void put_32(uint8_t *data, uint32_t bits) {
  for (uint8_t i = 0; i < 4; i++, bits >>= 8) data[i] = (uint8_t)bits;
}

static uint32_t get_32(const uint8_t *data) {
  uint32_t bits = 0;
  for (uint8_t i = 4; i-- > 0;) bits = bits << 8 | data[i];
  return bits;
}

/* Bytes of a message that begins with `fixed` bytes, the last four of which count a packet. */
static uint16_t counted(const uint8_t *data, uint16_t used, uint16_t fixed) {
  const uint32_t length = used < fixed ? 0 : get_32(data + fixed - 4);
  return length && length <= LONGEST_PACKET ? (uint16_t)(fixed + length) : 0;
}

/* Bytes of the message at `data` for a device of this kind; 0: more bytes are needed to know, its
   command is unknown, or its packet is empty or too long. */
static uint16_t message_size(const uint8_t *data, uint16_t used, hilgw_kind kind) {
  switch (data[0]) {
    case REGISTER:
      return used > HEAD_BYTES ? (uint16_t)(HEAD_BYTES + 1 + data[HEAD_BYTES]) : 0;
    case DATA:
      return kind == HILGW_RECEIVER ? counted(data, used, RECEIVED_BYTES) : VALUE_BYTES;
    case VALUE:
      return kind == HILGW_EMITTER ? counted(data, used, SENT_BYTES) : VALUE_BYTES;
    case SET:
      if (kind == HILGW_EMITTER) return EMITTER_BYTES;
      return kind == HILGW_LINEAR_MOTOR || kind == HILGW_ROTATIONAL_MOTOR ? MOTOR_BYTES : VALUE_BYTES;
    case ERROR:
    case ENABLE:
    case DISABLE:
      return HEAD_BYTES;
    default:
      return 0;
  }
}

static bool stream_lost(hilgw_link *link) {
  count(&link->counts.lost);
  link->state = SKIPPING;
  return false;
}

static bool stream_decode(hilgw_link *link, uint8_t byte) {
  if (link->state == SKIPPING) return false;
  if (link->raw == 0 && byte != REGISTER && byte != DATA && byte != ERROR)
    return stream_lost(link); /* only the Webots side is read */
  store(link, byte);
  if (++link->raw < HEAD_BYTES || link->used < HEAD_BYTES) return false;
  const bool is_packet = link->receiver && link->buffer[1] == link->receiver;
  const hilgw_kind kind = is_packet ? HILGW_RECEIVER : HILGW_DISTANCE_SENSOR;
  const uint16_t size = message_size(link->buffer, link->used, kind);
  if (size == 0 && link->raw >= RECEIVED_BYTES) return stream_lost(link);
  return link->raw == size && finish(link, NULL, 0, 0);
}

static bool plain_encode(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  while (length--) put(link, *payload++);
  return true;
}

const hilgw_framing hilgw_wc2ec_stream = {stream_decode, plain_encode, NULL, 0, ONE_MORE};

/* --- the line ---------------------------------------------------------------------------------- */

void hilgw_link_init(hilgw_link *link, const hilgw_framing *framing, uint8_t *packet,
                     uint16_t packet_size, uint8_t *in, hilgw_index in_size, uint8_t *out,
                     hilgw_index out_size) {
  memset(link, 0, sizeof *link);
  link->framing = framing;
  link->buffer = packet;
  link->size = packet_size;
  link->payload = packet;
  link->limit = packet_size < framing->spare ? 0 : (uint16_t)(packet_size - framing->spare);
  link->most = (uint16_t)(packet_size + 1u);
  if (framing->longest == DOUBLE) link->most = (uint16_t)(2u * packet_size);
  if (framing->longest == COBS_CODES) link->most = (uint16_t)(packet_size + (packet_size + 253u) / 254u);
  queue_init(&link->in, in, in_size);
  queue_init(&link->out, out, out_size);
}

void hilgw_byte_in(hilgw_link *link, uint8_t byte) {
  hilgw_queue *queue = &link->in;
  const hilgw_index head = queue->head, next = after(queue, head);
  if (next == queue->tail) {
    count(&link->counts.overrun);
    return;
  }
  queue->data[head] = byte;
  queue->head = next;
}

int16_t hilgw_byte_out(hilgw_link *link) { return queue_take(&link->out); }

bool hilgw_read(hilgw_link *link, uint32_t now_ms) {
  int16_t byte = -1;
  if (link->framing->more) {
    const bool silent = now_ms - link->last_ms >= HILGW_LENGTH_MS && link->in.head == link->in.tail;
    if (link->framing->more(link, silent)) return true;
  }
  while ((byte = queue_take(&link->in)) >= 0) {
    link->last_ms = now_ms;
    if (link->framing->decode(link, (uint8_t)byte)) return true;
  }
  return false;
}

bool hilgw_send(hilgw_link *link, const uint8_t *payload, uint16_t length) {
  link->at = link->out.head;
  link->full = false;
  if (!link->framing->encode(link, payload, length) || link->full) {
    count(&link->counts.not_sent);
    return false;
  }
  link->out.head = link->at;
  return true;
}

void hilgw_link_reset(hilgw_link *link) {
  link->in.tail = link->in.head;
  begin_frame(link);
}

/* --- WC2EC: numbers ---------------------------------------------------------------------------- */

enum { FLOAT_BIAS = 127, DOUBLE_BIAS = 1023, REBIAS = DOUBLE_BIAS - FLOAT_BIAS };
#define EXPONENT UINT32_C(0x7F800000)
#define LARGEST UINT32_C(0x7F7FFFFF)

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static bool is_finite(float value) { return (bits_of(value) & EXPONENT) != EXPONENT; }

/* Of an Emitter in m; -1: without limit. */
static bool is_range(float value) {
  return is_finite(value) && (value >= 0 || bits_of(value) == UINT32_C(0xBF800000));
}

void hilgw_put_double(uint8_t *data, float value) {
  const uint32_t bits = bits_of(value), fraction = bits & UINT32_C(0x7FFFFF);
  uint32_t high = bits & UINT32_C(0x80000000), low = 0;
  const uint16_t exponent = (uint16_t)(bits >> 23 & 0xFF);
  if (exponent) {
    high |= (uint32_t)(exponent == 0xFF ? 0x7FF : exponent + REBIAS) << 20 | fraction >> 3;
    low = fraction << 29;
  }
  put_32(data, low);
  put_32(data + 4, high);
}

float hilgw_get_double(const uint8_t *data) {
  const uint32_t low = get_32(data), high = get_32(data + 4);
  const uint16_t exponent = (uint16_t)(high >> 20 & 0x7FF);
  uint32_t bits = (high & UINT32_C(0xFFFFF)) << 3 | low >> 29;
  const uint32_t rest = low & UINT32_C(0x1FFFFFFF), half = UINT32_C(0x10000000);
  if (exponent == 0x7FF) {
    bits = EXPONENT | (bits || rest ? UINT32_C(0x400000) : 0);
  } else if (exponent <= REBIAS) {
    bits = 0;
  } else if (exponent >= REBIAS + 0xFF) {
    bits = LARGEST;
  } else {
    bits |= (uint32_t)(exponent - REBIAS) << 23;
    if (rest > half || (rest == half && (bits & 1))) bits++;
    if (bits > LARGEST) bits = LARGEST;
  }
  bits |= high & UINT32_C(0x80000000);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* --- WC2EC: both ends -------------------------------------------------------------------------- */

const hilgw_types hilgw_r2020a = {38, 46, 53, 39, 52};
const hilgw_types hilgw_r2025a = {42, 50, 57, 43, 56};

static bool is_motor(const hilgw_device *device) {
  return device->kind == HILGW_LINEAR_MOTOR || device->kind == HILGW_ROTATIONAL_MOTOR;
}

static bool is_radio(const hilgw_device *device) {
  return device->kind == HILGW_EMITTER || device->kind == HILGW_RECEIVER;
}

static void robot_init(hilgw_robot *robot, hilgw_link *link, hilgw_device *devices,
                       uint8_t count) {
  memset(robot, 0, sizeof *robot);
  robot->link = link;
  robot->devices = devices;
  robot->count = count;
  for (uint8_t i = 0; i < count; i++) {
    const hilgw_device given = devices[i];
    memset(&devices[i], 0, sizeof devices[i]);
    devices[i].name = given.name;
    devices[i].kind = given.kind;
  }
}

static bool send_value(hilgw_robot *robot, uint8_t command, const hilgw_device *device,
                       float value) {
  uint8_t message[VALUE_BYTES] = {command, device->type, device->index};
  hilgw_put_double(message + HEAD_BYTES, value);
  return hilgw_send(robot->link, message, sizeof message);
}

static void send_head(hilgw_robot *robot, uint8_t command, const hilgw_device *device) {
  const uint8_t message[HEAD_BYTES] = {command, device->type, device->index};
  (void)hilgw_send(robot->link, message, sizeof message);
}

/* Sends a packet behind `fixed` bytes of a message, of which this writes the head and the count. */
static bool send_packet(hilgw_robot *robot, uint8_t *message, uint8_t fixed,
                        const hilgw_device *device, const uint8_t *data, uint16_t length) {
  if (length == 0 || length > HILGW_PACKET_BYTES) return false;
  message[1] = device->type;
  message[2] = device->index;
  put_32(message + fixed - 4, length);
  memcpy(message + fixed, data, length);
  return hilgw_send(robot->link, message, (uint16_t)(fixed + length));
}

/* The packet that the message at `data` has behind `fixed` bytes; false: it is refused. */
static bool take_packet(hilgw_robot *robot, const uint8_t *data, uint8_t fixed, uint8_t device) {
  hilgw_packet *packet = &robot->packet;
  const int32_t channel = (int32_t)get_32(data + HEAD_BYTES);
  if (channel < -1) return false;
  for (uint8_t i = 0; fixed == RECEIVED_BYTES && i < 4; i++) {
    const float value = hilgw_get_double(data + HEAD_BYTES + 4 + 8 * i);
    if (!is_finite(value)) return false;
    *(i ? &packet->direction[i - 1] : &packet->strength) = value;
  }
  packet->channel = channel;
  packet->device = device;
  packet->length = (uint16_t)get_32(data + fixed - 4);
  packet->data = data + fixed;
  return true;
}

static void stop_motors(hilgw_robot *robot) {
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    if (!is_motor(device)) continue;
    device->target = device->kind == HILGW_LINEAR_MOTOR ? device->value : 0;
    device->has_target = device->kind == HILGW_ROTATIONAL_MOTOR || device->has_value;
    device->waits = device->has_target;
  }
}

/* The watchdog. */
static void watch(hilgw_robot *robot, uint32_t now_ms) {
  if (!robot->connected || now_ms - robot->received_ms < HILGW_WATCHDOG_MS) return;
  robot->connected = false;
  stop_motors(robot);
}

static void feed_watchdog(hilgw_robot *robot, uint32_t now_ms) {
  robot->received_ms = now_ms;
  robot->connected = robot->known = true;
}

float hilgw_value(const hilgw_robot *robot, uint8_t device, float otherwise) {
  const bool is_there = device < robot->count && robot->devices[device].has_value;
  return is_there ? robot->devices[device].value : otherwise;
}

/* --- WC2EC: the controller --------------------------------------------------------------------- */

void hilgw_controller_init(hilgw_robot *robot, hilgw_link *link, hilgw_device *devices,
                           uint8_t count) {
  robot_init(robot, link, devices, count);
}

static bool all_known(const hilgw_robot *robot) {
  for (uint8_t i = 0; i < robot->count; i++)
    if (!robot->devices[i].known) return false;
  return robot->count > 0;
}

bool hilgw_controller_ready(const hilgw_robot *robot) {
  return robot->connected && all_known(robot);
}

static void registered(hilgw_robot *robot, const uint8_t *message) {
  const uint8_t length = message[HEAD_BYTES];
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    if (strlen(device->name) != length || memcmp(device->name, message + 4, length)) continue;
    device->type = message[1];
    device->index = message[2];
    device->known = true;
    if (device->kind == HILGW_ROTATIONAL_MOTOR) device->has_target = device->waits = true;
    if (device->kind == HILGW_RECEIVER) robot->link->receiver = device->type;
  }
}

/* The kind of the device that a message of the gateway is about. */
static hilgw_kind kind_of(const hilgw_robot *robot, const uint8_t *message) {
  for (uint8_t i = 0; i < robot->count; i++) {
    const hilgw_device *device = &robot->devices[i];
    if (device->known && device->index == message[2]) return device->kind;
  }
  return HILGW_DISTANCE_SENSOR;
}

/* A whole message; returns whether a value or a packet came. */
static bool controller_take(hilgw_robot *robot, const uint8_t *message) {
  bool is_news = false;
  if (message[0] == REGISTER) registered(robot, message);
  if (message[0] == ERROR) count(&robot->rejected);
  if (message[0] != DATA) return false;
  const hilgw_kind kind = kind_of(robot, message);
  const float value = kind == HILGW_RECEIVER ? 0 : hilgw_get_double(message + HEAD_BYTES);
  if (!is_finite(value)) {
    count(&robot->rejected);
    return false;
  }
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    if (!device->known || device->index != message[2]) continue;
    if (kind == HILGW_RECEIVER) {
      if (take_packet(robot, message, RECEIVED_BYTES, i)) return true;
      count(&robot->rejected);
    } else if (device->kind != HILGW_EMITTER) {
      device->value = value;
      device->has_value = is_news = true;
    }
  }
  return is_news;
}

/* Repeats commands; they also show the gateway that this controller is there. */
static void repeat(hilgw_robot *robot, uint32_t now_ms) {
  bool commands = false;
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    const bool is_due = device->waits || now_ms - device->due_ms >= HILGW_REPEAT_MS;
    commands = commands || device->has_target;
    if (!device->has_target || !is_due) continue;
    if (!send_value(robot, VALUE, device, device->target)) return;
    device->waits = false;
    device->due_ms = now_ms;
  }
  if (commands || now_ms - robot->step_ms < HILGW_REPEAT_MS) return;
  robot->step_ms = now_ms;
  for (uint8_t i = 0; i < robot->count; i++) {
    if (is_radio(&robot->devices[i])) continue;
    send_head(robot, ENABLE, &robot->devices[i]);
    return;
  }
}

bool hilgw_controller_poll(hilgw_robot *robot, uint32_t now_ms) {
  bool is_news = false;
  robot->packet.data = NULL;
  while (!robot->packet.data && hilgw_read(robot->link, now_ms)) {
    const uint8_t *message = robot->link->payload;
    const uint16_t length = robot->link->length;
    const bool is_known = length >= HEAD_BYTES && message[0] <= ERROR;
    if (!is_known || length != message_size(message, length, kind_of(robot, message))) {
      count(&robot->rejected);
      continue;
    }
    feed_watchdog(robot, now_ms);
    if (controller_take(robot, message)) is_news = true;
  }
  watch(robot, now_ms);
  if (robot->known && now_ms - robot->received_ms >= HILGW_SILENCE_MS) {
    robot->known = false; /* the gateway registers its devices again, with other indices perhaps */
    robot->link->receiver = 0;
    for (uint8_t i = 0; i < robot->count; i++)
      robot->devices[i].known = robot->devices[i].has_value = robot->devices[i].has_target = false;
  }
  if (all_known(robot)) repeat(robot, now_ms);
  return is_news;
}

bool hilgw_controller_set(hilgw_robot *robot, uint8_t device, float target) {
  if (device >= robot->count || !hilgw_controller_ready(robot) || !is_finite(target)) return false;
  hilgw_device *motor = &robot->devices[device];
  if (!is_motor(motor)) return false;
  if (!motor->has_target || bits_of(motor->target) != bits_of(target)) motor->waits = true;
  motor->target = target;
  motor->has_target = true;
  return true;
}

/* An Emitter or Receiver that takes requests on this channel now; else NULL. */
static const hilgw_device *radio(const hilgw_robot *robot, uint8_t device, hilgw_kind kind,
                                 int32_t channel) {
  const bool is_there = device < robot->count && hilgw_controller_ready(robot) && channel >= -1;
  return is_there && robot->devices[device].kind == kind ? &robot->devices[device] : NULL;
}

bool hilgw_controller_send(hilgw_robot *robot, uint8_t device, int32_t channel,
                           const uint8_t *data, uint16_t length) {
  uint8_t message[SENT_BYTES + HILGW_PACKET_BYTES] = {VALUE};
  const hilgw_device *emitter = radio(robot, device, HILGW_EMITTER, channel);
  if (!emitter) return false;
  put_32(message + HEAD_BYTES, (uint32_t)channel);
  return send_packet(robot, message, SENT_BYTES, emitter, data, length);
}

bool hilgw_controller_emitter(hilgw_robot *robot, uint8_t device, int32_t channel, float range_m) {
  const hilgw_device *emitter = radio(robot, device, HILGW_EMITTER, channel);
  if (!emitter || !is_range(range_m)) return false;
  uint8_t message[EMITTER_BYTES] = {SET, emitter->type, emitter->index};
  put_32(message + HEAD_BYTES, (uint32_t)channel);
  hilgw_put_double(message + HEAD_BYTES + 4, range_m);
  return hilgw_send(robot->link, message, sizeof message);
}

bool hilgw_controller_receiver(hilgw_robot *robot, uint8_t device, int32_t channel,
                               int32_t period_ms) {
  const hilgw_device *receiver = radio(robot, device, HILGW_RECEIVER, channel);
  if (!receiver || period_ms < 0) return false;
  uint8_t message[VALUE_BYTES] = {SET, receiver->type, receiver->index};
  put_32(message + HEAD_BYTES, (uint32_t)channel);
  put_32(message + HEAD_BYTES + 4, (uint32_t)period_ms);
  return hilgw_send(robot->link, message, sizeof message);
}

/* --- WC2EC: the body --------------------------------------------------------------------------- */

void hilgw_body_init(hilgw_robot *robot, hilgw_link *link, hilgw_device *devices, uint8_t count,
                     const hilgw_types types, uint16_t step_ms) {
  robot_init(robot, link, devices, count);
  robot->period_ms = step_ms;
  for (uint8_t i = 0; i < count; i++) {
    devices[i].type = types[devices[i].kind];
    devices[i].index = i;
    devices[i].known = true;
  }
}

static void enable(hilgw_device *device, bool is_on, uint16_t period_ms) {
  device->known = is_on;
  device->period = period_ms;
}

/* The settings of an Emitter or Receiver; returns whether it takes them. */
static bool radio_set_up(hilgw_device *device, const uint8_t *message) {
  const int32_t channel = (int32_t)get_32(message + HEAD_BYTES);
  if (device->kind == HILGW_EMITTER) {
    const float range = hilgw_get_double(message + HEAD_BYTES + 4);
    if (channel < -1 || !is_range(range)) return false;
    device->target = range;
  } else {
    const int32_t period = (int32_t)get_32(message + HEAD_BYTES + 4);
    if (channel < -1 || period < 0) return false;
    device->known = period > 0;
  }
  device->channel = channel;
  device->has_target = true;
  return true;
}

/* The settings of a sensor, or all of a motor; returns whether it takes them. */
static bool body_set_up(hilgw_device *device, const uint8_t *message) {
  if (is_radio(device)) return radio_set_up(device, message);
  const float first = hilgw_get_double(message + HEAD_BYTES);
  if (device->kind == HILGW_DISTANCE_SENSOR) {
    if (!(first >= 0)) return false;
    enable(device, first > 0, first < UINT16_MAX ? (uint16_t)first : UINT16_MAX);
    return true;
  }
  const bool turns = device->kind == HILGW_ROTATIONAL_MOTOR;
  const bool has_position = is_finite(first);
  const float target = turns ? hilgw_get_double(message + VALUE_BYTES) : first;
  if (turns == has_position || !is_finite(target)) return false; /* no position of a wheel */
  device->target = target;
  device->has_target = true;
  return true;
}

/* One command; returns whether the device accepts it. */
static bool body_take(hilgw_robot *robot, hilgw_device *device, const uint8_t *message,
                      bool *is_news) {
  const bool is_packet = device->kind == HILGW_EMITTER;
  float value;
  switch (message[0]) {
    case ENABLE:
    case DISABLE:
      enable(device, message[0] == ENABLE, 0);
      return true;
    case SET:
      if (!body_set_up(device, message)) return false;
      *is_news = *is_news || is_motor(device);
      return true;
    default:
      if (is_packet && !take_packet(robot, message, SENT_BYTES, device->index)) return false;
      *is_news = *is_news || is_packet;
      if (is_packet) return true;
      value = hilgw_get_double(message + HEAD_BYTES);
      if (!is_motor(device) || !is_finite(value)) return false;
      device->target = value;
      device->has_target = *is_news = true;
      return true;
  }
}

/* The messages of one frame, up to a packet; returns whether a command of a motor or a packet came. */
static bool body_read(hilgw_robot *robot, uint32_t now_ms) {
  bool is_news = false;
  while (robot->left >= HEAD_BYTES && !robot->packet.data) {
    const uint8_t *message = robot->rest;
    hilgw_device *device = message[2] < robot->count ? &robot->devices[message[2]] : NULL;
    const uint16_t size = device ? message_size(message, robot->left, device->kind) : 0;
    if (message[0] < ENABLE || size == 0 || size > robot->left) break;
    feed_watchdog(robot, now_ms);
    if (!body_take(robot, device, message, &is_news)) {
      count(&robot->rejected);
      send_head(robot, ERROR, device);
    }
    robot->rest += size;
    robot->left = (uint16_t)(robot->left - size);
  }
  if (!robot->packet.data && robot->left) { /* the rest is not understood */
    count(&robot->rejected);
    robot->left = 0;
  }
  return is_news;
}

static bool send_registration(hilgw_robot *robot, const hilgw_device *device) {
  uint8_t message[HILGW_WC2EC_BYTES] = {REGISTER, device->type, device->index};
  const size_t most = sizeof message - HEAD_BYTES - 1, given = strlen(device->name);
  const uint8_t length = (uint8_t)(given < most ? given : most);
  message[HEAD_BYTES] = length;
  memcpy(message + HEAD_BYTES + 1, device->name, length);
  return hilgw_send(robot->link, message, (uint16_t)(HEAD_BYTES + 1 + length));
}

/* All devices in turn as the queue to the UART has room, again until the gateway answers. */
static void register_devices(hilgw_robot *robot, uint32_t now_ms) {
  if (robot->next == robot->count && now_ms - robot->register_ms < HILGW_REGISTER_MS) return;
  if (robot->next == robot->count) robot->next = 0;
  if (robot->next == 0) robot->register_ms = now_ms;
  while (robot->next < robot->count && send_registration(robot, &robot->devices[robot->next]))
    robot->next++;
}

static void send_values(hilgw_robot *robot, uint32_t now_ms) {
  const bool is_step = now_ms - robot->step_ms >= robot->period_ms;
  bool waits = false;
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    if (device->waits && device->known && device->has_value) {
      waits = !send_value(robot, DATA, device, device->value);
      if (waits) break;
      if (robot->known) robot->register_ms = now_ms; /* else: of the last registration */
    }
    device->waits = false;
  }
  if (robot->known && now_ms - robot->register_ms >= HILGW_REPEAT_MS) { /* no value: a sign of life */
    robot->register_ms = now_ms;
    (void)send_registration(robot, &robot->devices[0]);
  }
  if (waits || !is_step) return; /* a step begins when the values of the last one are sent */
  robot->step_ms = now_ms - robot->step_ms < 2 * robot->period_ms
                        ? robot->step_ms + robot->period_ms
                        : now_ms;
  for (uint8_t i = 0; i < robot->count; i++) {
    hilgw_device *device = &robot->devices[i];
    if (now_ms - device->due_ms < device->period) continue;
    device->due_ms = now_ms;
    device->waits = true;
  }
}

bool hilgw_body_poll(hilgw_robot *robot, uint32_t now_ms) {
  robot->packet.data = NULL;
  bool is_news = body_read(robot, now_ms);
  while (!robot->packet.data && hilgw_read(robot->link, now_ms)) {
    robot->rest = robot->link->payload;
    robot->left = robot->link->length;
    if (body_read(robot, now_ms)) is_news = true;
  }
  watch(robot, now_ms);
  if (robot->known && now_ms - robot->received_ms >= HILGW_SILENCE_MS) {
    robot->known = false;
    robot->next = 0;
    for (uint8_t i = 0; i < robot->count; i++) {
      enable(&robot->devices[i], true, 0);
      if (is_radio(&robot->devices[i])) robot->devices[i].has_target = false;
    }
  }
  if (!robot->known) register_devices(robot, now_ms);
  if (robot->known || robot->next == robot->count) send_values(robot, now_ms);
  return is_news;
}

void hilgw_body_set(hilgw_robot *robot, uint8_t device, float value) {
  if (device >= robot->count || !is_finite(value) || is_radio(&robot->devices[device])) return;
  robot->devices[device].value = value;
  robot->devices[device].has_value = true;
}

float hilgw_body_motor(hilgw_robot *robot, uint8_t device, uint32_t now_ms) {
  watch(robot, now_ms);
  if (device >= robot->count || !is_motor(&robot->devices[device])) return 0;
  const hilgw_device *motor = &robot->devices[device];
  return motor->has_target ? motor->target : motor->value;
}

/* The settings of an Emitter or Receiver, if the gateway has set them; else NULL. */
static const hilgw_device *settings_of(const hilgw_robot *robot, uint8_t device) {
  const bool is_there = device < robot->count && is_radio(&robot->devices[device]);
  return is_there && robot->devices[device].has_target ? &robot->devices[device] : NULL;
}

int32_t hilgw_body_channel(const hilgw_robot *robot, uint8_t device, int32_t otherwise) {
  const hilgw_device *settings = settings_of(robot, device);
  return settings ? settings->channel : otherwise;
}

float hilgw_body_range(const hilgw_robot *robot, uint8_t device, float otherwise) {
  const hilgw_device *settings = settings_of(robot, device);
  return settings && settings->kind == HILGW_EMITTER ? settings->target : otherwise;
}

bool hilgw_body_receive(hilgw_robot *robot, const hilgw_packet *packet) {
  uint8_t message[HILGW_RADIO_BYTES] = {DATA};
  if (packet->device >= robot->count || !robot->known || packet->channel < -1) return false;
  const hilgw_device *receiver = &robot->devices[packet->device];
  if (receiver->kind != HILGW_RECEIVER || !receiver->known) return false;
  put_32(message + HEAD_BYTES, (uint32_t)packet->channel);
  for (uint8_t i = 0; i < 4; i++) {
    const float value = i ? packet->direction[i - 1] : packet->strength;
    if (!is_finite(value) || (i == 0 && value < 0)) return false;
    hilgw_put_double(message + HEAD_BYTES + 4 + 8 * i, value);
  }
  return send_packet(robot, message, RECEIVED_BYTES, receiver, packet->data, packet->length);
}
