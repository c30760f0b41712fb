// As much of an Arduino as the sketch of docs/arduino.md needs, on a file descriptor of a PC.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <unistd.h>

enum { LOW, HIGH, INPUT, OUTPUT, LED_BUILTIN = 13 };

inline int port = -1;  // the UART
inline int led = LOW;

inline unsigned long millis() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000UL + now.tv_nsec / 1000000;
}

inline void pinMode(int, int) {}

// Prints a line when the level of the LED changes.
inline void digitalWrite(int pin, int level) {
  if (pin != LED_BUILTIN || level == led) return;
  led = level;
  printf("led %d\n", led);
  fflush(stdout);
}

struct Uart {
  void begin(unsigned long) {}
  int available() {
    pollfd waiting = {port, POLLIN, 0};
    return poll(&waiting, 1, 5) == 1 && (waiting.revents & POLLIN);
  }
  int read() {
    unsigned char byte;
    return ::read(port, &byte, 1) == 1 ? byte : -1;
  }
  size_t write(char letter) { return ::write(port, &letter, 1); }
  size_t print(const char* text) { return ::write(port, text, strlen(text)); }
};
inline Uart Serial;

void setup();
void loop();
