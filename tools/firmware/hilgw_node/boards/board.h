/** @file board.h  What the examples need of a board: a clock, a UART with interrupts, and sleep. */
#ifndef BOARD_H
#define BOARD_H

#include "hilgw_node.h"

/** Starts the clock, and the UART of this line at 115200 baud, 8N1. */
void board_start(hilgw_link *link);

/** Milliseconds since board_start(). */
uint32_t board_millis(void);

/** Starts to send what is in the queue to the UART. */
void board_send(void);

/** Sleeps until an interrupt: a byte, or the next millisecond. */
void board_sleep(void);

#endif
