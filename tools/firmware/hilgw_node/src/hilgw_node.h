/**
 * @file hilgw_node.h
 * The other end of hilgw's wire for microcontrollers: packets on a serial line, and WC2EC as the
 * controller or as the body of a robot. C99, no malloc, no dependency: copy this file and
 * hilgw_node.c.
 *
 * Nothing here blocks. Call the functions from one loop; only hilgw_byte_in() and
 * hilgw_byte_out() may be called from the interrupts of a UART at the same time. `now_ms` is a
 * millisecond counter that wraps at 2^32, such as Arduino's millis().
 *
 * @code
 * static uint8_t in[64], out[64], packet[34];
 * static hilgw_link link;
 *
 * void setup(void) {
 *   Serial.begin(115200);
 *   hilgw_link_init(&link, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
 *                   HILGW_BUFFER(out));
 * }
 *
 * void loop(void) {
 *   while (Serial.available()) hilgw_byte_in(&link, (uint8_t)Serial.read());
 *   if (hilgw_read(&link, millis())) hilgw_send(&link, link.payload, link.length);  // an echo
 *   for (int16_t byte; Serial.availableForWrite() && (byte = hilgw_byte_out(&link)) >= 0;)
 *     Serial.write((uint8_t)byte);
 * }
 * @endcode
 */
#ifndef HILGW_NODE_H
#define HILGW_NODE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of indices of the byte queues: one that the processor reads and writes at once. */
#ifdef __AVR__
typedef uint8_t hilgw_index;
#else
typedef uint16_t hilgw_index;
#endif

/** An array and its size, as arguments. */
#define HILGW_BUFFER(array) (array), sizeof(array)

/* --- packets ----------------------------------------------------------------------------------- */

/** A framing: how a packet becomes bytes on the line. Both ends of a line use the same one. */
typedef struct hilgw_framing hilgw_framing;

/** `cobs-crc16`: for your own firmware. Any bytes; damage is detected. Spare: 2 bytes. */
extern const hilgw_framing hilgw_cobs_crc16;
/** `slip-crc16`. Any bytes; damage is detected. Spare: 2 bytes. */
extern const hilgw_framing hilgw_slip_crc16;
/** `slip`: RFC 1055. Any bytes, at least one; damage is not detected. Spare: 0 bytes. */
extern const hilgw_framing hilgw_slip;
/** `hdlc`: RFC 1662. Any bytes, at least one; damage is detected. Spare: 2 bytes. */
extern const hilgw_framing hilgw_hdlc;
/** `length`: AA 55, a length of 2 bytes, a CRC. Any bytes; damage is detected; silence of
 * HILGW_LENGTH_MS ends an incomplete frame. Spare: 6 bytes. */
extern const hilgw_framing hilgw_length;
/** `lines`: text; LF or CR LF ends a line that comes, LF one that is sent. Spare: 0 bytes. */
extern const hilgw_framing hilgw_lines;
/** WC2EC messages without frames, for TCP: a message tells its own length. A message of unknown
 * length loses the stream (hilgw_counts.lost): close the connection. Spare: 0 bytes. */
extern const hilgw_framing hilgw_wc2ec_stream;

/** Silence in milliseconds that ends an incomplete frame of hilgw_length. */
#define HILGW_LENGTH_MS 100u

/** What a link has dropped since hilgw_link_init(). A count stays at 65535. */
typedef struct {
  uint16_t bad_crc;    /**< frames with a wrong CRC */
  uint16_t bad_code;   /**< frames that are not a COBS encoding */
  uint16_t bad_escape; /**< frames with a wrong SLIP escape */
  uint16_t too_long;   /**< frames longer than the packet buffer */
  uint16_t too_short;  /**< frames without room for their CRC */
  uint16_t truncated;  /**< frames that silence ended, of hilgw_length */
  uint16_t aborted;    /**< frames that their sender gave up, of hilgw_hdlc */
  uint16_t garbage;    /**< bytes that belong to no frame, of hilgw_length */
  uint16_t lost;       /**< streams whose next message is unknown, of hilgw_wc2ec_stream */
  uint16_t not_sent;   /**< packets that did not fit into the queue to the UART */
  uint16_t overrun;    /**< bytes that came while the queue from the UART was full */
} hilgw_counts;

/** A queue of bytes between an interrupt and the loop. It carries size - 1 bytes. */
typedef struct {
  volatile uint8_t *data;
  hilgw_index size;
  volatile hilgw_index head; /**< written by the side that puts */
  volatile hilgw_index tail; /**< written by the side that takes */
} hilgw_queue;

/** One serial line. Read `payload`, `length` and `counts`; leave the rest to the library. */
typedef struct {
  const uint8_t *payload; /**< the packet that hilgw_read() has returned, until its next call */
  uint16_t length;        /**< its length in bytes */
  hilgw_counts counts;
  /** @cond */
  const hilgw_framing *framing;
  hilgw_queue in, out;
  uint8_t *buffer;
  uint16_t size;    /* of the buffer */
  uint16_t limit;   /* payload bytes that fit */
  uint16_t used;    /* bytes in the buffer */
  uint16_t raw;     /* bytes of this frame on the line; of hilgw_length: decoded ones in the buffer */
  uint16_t most;    /* bytes of the longest frame on the line, without delimiters */
  uint8_t state;    /* of the decoder */
  uint8_t code;     /* of COBS: the last one */
  uint8_t left;     /* of COBS: bytes to the next code */
  uint8_t receiver; /* of hilgw_wc2ec_stream: the type of Receivers; 0: none is registered */
  bool long_packet; /* this packet does not fit into the buffer */
  uint32_t last_ms; /* when bytes came last */
  hilgw_index at;   /* end of the frame that is being put into the queue */
  hilgw_index mark; /* of COBS: place of the code of a block, and its value so far */
  uint8_t run;
  bool full;        /* the frame does not fit */
  /** @endcond */
} hilgw_link;

/**
 * Prepares a line. The buffers belong to it from here on.
 *
 * @param packet       holds one packet and what its framing needs to spare (see the framings)
 * @param in, out      queues from and to the UART; each carries one byte less than its size, which
 *                     is at most 255 on AVR. `in` must hold what comes between two calls of
 *                     hilgw_read(), `out` the longest frame that you send.
 */
void hilgw_link_init(hilgw_link *link, const hilgw_framing *framing, uint8_t *packet,
                     uint16_t packet_size, uint8_t *in, hilgw_index in_size, uint8_t *out,
                     hilgw_index out_size);

/** Takes a byte that the UART has received. May be called from its interrupt. */
void hilgw_byte_in(hilgw_link *link, uint8_t byte);

/** Returns the next byte for the UART, or -1. May be called from its interrupt. */
int16_t hilgw_byte_out(hilgw_link *link);

/** Decodes what has come; returns whether a packet is complete: `payload`, `length`. Call it until
 * it returns false. */
bool hilgw_read(hilgw_link *link, uint32_t now_ms);

/** Sends a packet: all of it enters the queue to the UART, or nothing (false, counted in
 * `not_sent`), also if the framing cannot carry it. */
bool hilgw_send(hilgw_link *link, const uint8_t *payload, uint16_t length);

/** Forgets an incomplete frame and what waits to be read: the line was opened anew. */
void hilgw_link_reset(hilgw_link *link);

/* --- WC2EC ------------------------------------------------------------------------------------- */

/** Silence of the gateway in milliseconds after which the motors stop. */
#ifndef HILGW_WATCHDOG_MS
#define HILGW_WATCHDOG_MS 300u
#endif
/** A command is repeated after this time in milliseconds. */
#define HILGW_REPEAT_MS 100u
/** A body registers its devices again after this time in milliseconds, until the gateway answers. */
#define HILGW_REGISTER_MS 1000u
/** A body takes a longer silence of the gateway, in milliseconds, for the end of its connection. */
#define HILGW_SILENCE_MS 500u
/** The longest WC2EC message without packets: the packet buffer of a link needs 2 bytes more. Names
 * of devices longer than 30 bytes are not recognised. */
#define HILGW_WC2EC_BYTES 35u
/** The longest packet that an Emitter sends, or that a body passes on, in bytes: both need so many
 * bytes of the stack. */
#ifndef HILGW_PACKET_BYTES
#define HILGW_PACKET_BYTES 64u
#endif
/** The longest message with such a packet: with a Receiver, or a body's Emitter, the packet buffer of
 * a link needs 2 bytes more. */
#define HILGW_RADIO_BYTES (43u + HILGW_PACKET_BYTES)

/** What a device is. Emitters and Receivers need `extensions: true` of the gateway. */
typedef enum {
  HILGW_DISTANCE_SENSOR,  /**< a value in the unit of its lookup table, often mm */
  HILGW_LINEAR_MOTOR,     /**< position in m */
  HILGW_ROTATIONAL_MOTOR, /**< velocity in rad/s */
  HILGW_EMITTER,          /**< sends packets */
  HILGW_RECEIVER          /**< receives packets */
} hilgw_kind;

/** The node numbers of a Webots version, in the order of hilgw_kind: `webots:` of the gateway. */
typedef uint8_t hilgw_types[5];
extern const hilgw_types hilgw_r2020a;
extern const hilgw_types hilgw_r2025a;

/** A device. Fill in `name` and `kind`, at most 255 devices for each robot. */
typedef struct {
  const char *name; /**< as in Webots */
  hilgw_kind kind;
  /** @cond */
  float value;     /* reported by the body */
  float target;    /* of a motor; of a body's Emitter: its range */
  int32_t channel; /* of a body's Emitter or Receiver */
  uint32_t due_ms; /* when a command is repeated; when a sensor is sampled */
  uint16_t period; /* of a sensor in ms; 0: each step */
  uint8_t type;    /* on the wire */
  uint8_t index;
  bool known;      /* a controller: registered; a body: enabled */
  bool has_value;
  bool has_target;
  bool waits; /* to be sent */
  /** @endcond */
} hilgw_device;

/** A packet of a Receiver (for a controller), or for an Emitter (of a body). */
typedef struct {
  const uint8_t *data; /**< NULL: the last poll has read none */
  uint16_t length;     /**< in bytes, at least 1 */
  uint8_t device;
  int32_t channel;    /**< -1: all */
  float strength;     /**< of the signal at a Receiver; 0: unknown */
  float direction[3]; /**< to its sender, a unit vector; 0, 0, 0: unknown */
} hilgw_packet;

/** A robot on a line, seen from its controller or its body. Read `packet` and `rejected`. */
typedef struct {
  hilgw_packet packet; /**< of the last poll, until the next one */
  hilgw_link *link;
  hilgw_device *devices;
  const uint8_t *types;
  const uint8_t *rest;  /* a body: what follows a packet in its frame */
  uint16_t left;        /* its bytes */
  uint32_t received_ms; /* the last good message */
  uint32_t register_ms; /* a body: the next registration */
  uint32_t step_ms;     /* a body: the next step */
  uint32_t period_ms;   /* a body: between two steps */
  uint8_t count;
  uint8_t next;      /* a body: the next device to register */
  bool connected;    /* within HILGW_WATCHDOG_MS */
  bool known;        /* a body: within HILGW_SILENCE_MS */
  uint16_t rejected; /**< messages that were not understood, and commands that were refused */
} hilgw_robot;

/**
 * Makes this firmware the controller of a robot: hilgw's `controller: {kind: wc2ec, port: ...}`.
 *
 * @param link     with hilgw_cobs_crc16, or hilgw_wc2ec_stream on TCP
 * @param devices  the sensors and motors that it uses, found by their names
 */
void hilgw_controller_init(hilgw_robot *robot, hilgw_link *link, hilgw_device *devices,
                           uint8_t count);

/**
 * Reads what came, up to the next packet of a Receiver, repeats commands each HILGW_REPEAT_MS, and
 * stops all motors when the gateway is silent for HILGW_WATCHDOG_MS. Call it in each loop.
 *
 * @return whether a value of a sensor, or a packet (`robot->packet`), came
 */
bool hilgw_controller_poll(hilgw_robot *robot, uint32_t now_ms);

/** Returns whether the gateway is there and all devices are registered. */
bool hilgw_controller_ready(const hilgw_robot *robot);

/** Commands a motor: velocity in rad/s, or position in m. False, and nothing is sent: no such
 * motor, not ready, or not a finite number. */
bool hilgw_controller_set(hilgw_robot *robot, uint8_t device, float target);

/** Returns the last value of a device, or `otherwise` before the first one. */
float hilgw_value(const hilgw_robot *robot, uint8_t device, float otherwise);

/** Sends 1 to HILGW_PACKET_BYTES bytes through an Emitter; channel -1: to all. False, and nothing is
 * sent: no such Emitter, not ready, or no room in the queue to the UART. */
bool hilgw_controller_send(hilgw_robot *robot, uint8_t device, int32_t channel,
                           const uint8_t *data, uint16_t length);

/** Sets channel and range, in m, of an Emitter; range -1: without limit. False as of
 * hilgw_controller_send(). The gateway forgets it after a silence of this controller. */
bool hilgw_controller_emitter(hilgw_robot *robot, uint8_t device, int32_t channel, float range_m);

/** Sets channel and sampling period, in ms, of a Receiver; channel -1: all, period 0: off. False as
 * of hilgw_controller_send(). The gateway forgets it after a silence of this controller. */
bool hilgw_controller_receiver(hilgw_robot *robot, uint8_t device, int32_t channel,
                               int32_t period_ms);

/**
 * Makes this firmware the body of a robot: hilgw's `body: {kind: wc2ec, port: ...}`.
 *
 * @param link     with hilgw_cobs_crc16
 * @param devices  sensors and motors; their order is their index on the wire
 * @param types    the Webots version: hilgw_r2020a or hilgw_r2025a
 * @param step_ms  each enabled sensor is sent once in this time
 */
void hilgw_body_init(hilgw_robot *robot, hilgw_link *link, hilgw_device *devices, uint8_t count,
                     const hilgw_types types, uint16_t step_ms);

/** Reads commands up to the next packet for an Emitter, registers the devices, sends values. Call it
 * in each loop.
 * @return whether a command of a motor, or a packet to send (`robot->packet`), came */
bool hilgw_body_poll(hilgw_robot *robot, uint32_t now_ms);

/** Sets the value of a sensor, or the reported position of a linear motor in m. */
void hilgw_body_set(hilgw_robot *robot, uint8_t device, float value);

/**
 * Returns what a motor shall do now: the velocity in rad/s, or the position in m. There is no other
 * way to a command, and this one has the watchdog: after HILGW_WATCHDOG_MS without a good message
 * of the gateway a rotational motor gets 0 and a linear one its last reported position, whether or
 * not hilgw_body_poll() is called.
 */
float hilgw_body_motor(hilgw_robot *robot, uint8_t device, uint32_t now_ms);

/** Passes on what a Receiver has received: `device`, `channel`, `data`, 1 to HILGW_PACKET_BYTES bytes,
 * and the signal, 0 where it is unknown. False, and nothing is sent: no such Receiver, it is off, no
 * gateway is there, or no room in the queue to the UART. */
bool hilgw_body_receive(hilgw_robot *robot, const hilgw_packet *packet);

/** Returns the channel that the gateway has set for an Emitter or a Receiver, or `otherwise`. */
int32_t hilgw_body_channel(const hilgw_robot *robot, uint8_t device, int32_t otherwise);

/** Returns the range in m that the gateway has set for an Emitter, -1 without limit, or `otherwise`. */
float hilgw_body_range(const hilgw_robot *robot, uint8_t device, float otherwise);

/** Writes a float as a little endian double, as WC2EC carries it. Subnormal numbers become 0. */
void hilgw_put_double(uint8_t *data, float value);

/** Reads a little endian double: rounded to the nearest float; a finite one beyond the floats
 * becomes the largest float, one below the normal floats 0. */
float hilgw_get_double(const uint8_t *data);

#ifdef __cplusplus
}
#endif
#endif
