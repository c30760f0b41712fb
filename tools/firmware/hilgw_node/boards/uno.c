/** @file uno.c  Arduino Uno, an ATmega328P at 16 MHz, with avr-libc. Timer 1 is the clock. */
#include <avr/interrupt.h>
#include <avr/io.h>

#include "board.h"

#define F_BOARD 16000000UL

static hilgw_link *line;
static volatile uint32_t milliseconds;

ISR(TIMER1_COMPA_vect) { milliseconds++; }

ISR(USART_RX_vect) { hilgw_byte_in(line, UDR0); }

ISR(USART_UDRE_vect) {
  const int16_t byte = hilgw_byte_out(line);
  if (byte < 0)
    UCSR0B &= (uint8_t)~_BV(UDRIE0);
  else
    UDR0 = (uint8_t)byte;
}

void board_start(hilgw_link *link) {
  line = link;
  TCCR1A = 0;
  TCCR1B = _BV(WGM12) | _BV(CS11) | _BV(CS10); /* from 0 to OCR1A, at 16 MHz / 64 */
  OCR1A = (uint16_t)(F_BOARD / 64 / 1000 - 1);
  TIMSK1 = _BV(OCIE1A);
  UCSR0A = _BV(U2X0);
  UBRR0 = (uint16_t)((F_BOARD / 8 + 115200 / 2) / 115200 - 1);
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
  sei();
}

uint32_t board_millis(void) {
  const uint8_t flags = SREG;
  cli();
  const uint32_t now = milliseconds;
  SREG = flags;
  return now;
}

void board_send(void) { UCSR0B |= _BV(UDRIE0); }

/* QEMU 7.2 never leaves the sleep of an AVR. On a board: sleep_mode() of <avr/sleep.h>. */
void board_sleep(void) {}
