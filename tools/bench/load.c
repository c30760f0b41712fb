/* The load on a bridge: holds both of its ends, so that it can check every byte.
 *
 *   load SERIAL TCP echo SECONDS PACKET [PERIOD_US] packets to and fro, one at a time
 *   load SERIAL TCP down|up SECONDS PACKET          full rate, TCP to serial or back
 *   load SERIAL TCP exchange SECONDS PACKET BURST PERIOD_US
 *   load SERIAL TCP arrivals COUNT PACKET           COUNT packets to the serial end
 *
 * SERIAL and TCP are open descriptors, PACKET is hexadecimal. It prints nanoseconds, one number
 * per line: round trips; for down and up bytes and time; for exchange the time of each sensor
 * packet; for arrivals the instant at which each packet was complete. Exit 1: bytes were lost or
 * altered.
 *
 * exchange: every PERIOD_US the serial end sends BURST packets, 300 us apart, and the TCP end
 * answers the first. Nagle's algorithm and delayed acknowledgements affect this test.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { GIVE_UP_MS = 3000, GAP_NS = 300000, ROOM = 1 << 16 };

static int serial, tcp;
static uint8_t packet[ROOM], in[ROOM];
static size_t size;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_until(int64_t when) {
    struct timespec t = {when / 1000000000, when % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) {
    }
}

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    fflush(stdout);
    _exit(1);
}

static void send_packet(int fd) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, packet + done, size - done);
        if (n < 0 && errno != EINTR) fail("cannot write");
        if (n > 0) done += n;
    }
}

/* Reads at most `most` bytes; 0 when none came for GIVE_UP_MS. */
static size_t take(int fd, uint8_t *to, size_t most) {
    struct pollfd p = {fd, POLLIN, 0};
    if (poll(&p, 1, GIVE_UP_MS) <= 0) return 0;
    ssize_t n = read(fd, to, most);
    return n > 0 ? n : 0;
}

/* Checks bytes of a stream that repeats the packet; `at` is the offset in the packet. */
static void check(const uint8_t *data, size_t count, size_t *at) {
    while (count) {
        size_t part = size - *at < count ? size - *at : count;
        if (memcmp(data, packet + *at, part)) fail("altered");
        data += part, count -= part;
        *at = (*at + part) % size;
    }
}

static void expect_packet(int fd) {
    size_t at = 0;
    for (size_t done = 0; done < size;) {
        size_t n = take(fd, in, size - done);
        if (!n) fail("lost");
        check(in, n, &at);
        done += n;
    }
}

/* --- one at a time --- */

static void echo(double seconds, long period_us) {
    int64_t *took = malloc(1 << 24);
    size_t count = 0, most = (1 << 24) / sizeof *took;
    for (int warm = 0; warm < 200; warm++) {
        send_packet(tcp), expect_packet(serial);
        send_packet(serial), expect_packet(tcp);
    }
    int64_t end = now() + seconds * 1e9;
    while (now() < end && count < most) {
        int64_t start = now();
        send_packet(tcp), expect_packet(serial);
        send_packet(serial), expect_packet(tcp);
        took[count++] = now() - start;
        int64_t rest = start + period_us * 1000 - now();
        if (rest > 0) nanosleep(&(struct timespec){.tv_nsec = rest}, NULL);
    }
    for (size_t k = 0; k < count; k++) printf("%ld\n", (long)took[k]);
}

/* --- full rate --- */

static volatile int finished;
static uint64_t sent;
static int from, to;
static double send_for;

static void *pour(void *unused) {
    int64_t end = now() + send_for * 1e9;
    while (now() < end) {
        send_packet(from);
        __atomic_add_fetch(&sent, size, __ATOMIC_SEQ_CST);
    }
    finished = 1;
    return unused;
}

static void stream(double seconds) {
    pthread_t thread;
    uint64_t got = 0;
    size_t at = 0;
    int64_t start = now(), last = start;
    send_for = seconds;
    pthread_create(&thread, 0, pour, 0);
    while (!finished || got < __atomic_load_n(&sent, __ATOMIC_SEQ_CST)) {
        size_t n = take(to, in, sizeof in);
        if (!n && !(finished && got == sent)) fail("lost");
        if (!n) break;
        check(in, n, &at);
        got += n;
        last = now();
    }
    printf("%llu\n%lld\n", (unsigned long long)got, (long long)(last - start));
}

/* --- sensors and commands --- */

static size_t bursts, burst;
static int64_t period;
static int64_t *left;

static void *sense(void *unused) {
    int64_t start = now() + 20000000;
    for (size_t k = 0; k < bursts * burst; k++) {
        sleep_until(start + (int64_t)(k / burst) * period + (int64_t)(k % burst) * GAP_NS);
        __atomic_store_n(&left[k], now(), __ATOMIC_SEQ_CST);
        send_packet(serial);
    }
    return unused;
}

static void *listen_for_commands(void *unused) {
    for (size_t k = 0; k < bursts; k++) expect_packet(serial);
    finished = 1;
    return unused;
}

static void exchange(double seconds) {
    pthread_t sensor, actuator;
    bursts = seconds * 1e9 / period;
    left = calloc(bursts * burst, sizeof *left);
    int64_t *took = calloc(bursts * burst, sizeof *took);
    pthread_create(&actuator, 0, listen_for_commands, 0);
    pthread_create(&sensor, 0, sense, 0);
    size_t whole = 0, at = 0;
    uint64_t got = 0;
    while (whole < bursts * burst) {
        size_t n = take(tcp, in, sizeof in);
        if (!n) fail("lost");
        int64_t then = now();
        check(in, n, &at);
        for (got += n; (whole + 1) * size <= got; whole++) {
            took[whole] = then - __atomic_load_n(&left[whole], __ATOMIC_SEQ_CST);
            if (whole % burst == 0) send_packet(tcp);
        }
    }
    pthread_join(actuator, 0);
    for (size_t k = 0; k < whole; k++) printf("%ld\n", (long)took[k]);
}

/* --- pacing --- */

static size_t packets;

static void *offer(void *unused) {
    for (size_t k = 0; k < packets; k++) send_packet(tcp);
    return unused;
}

static void arrivals(void) {
    pthread_t thread;
    int64_t *came = calloc(packets, sizeof *came);
    size_t whole = 0, at = 0;
    uint64_t got = 0;
    pthread_create(&thread, 0, offer, 0);
    while (whole < packets) {
        size_t n = take(serial, in, sizeof in);
        if (!n) fail("lost");
        int64_t then = now();
        check(in, n, &at);
        for (got += n; whole < packets && (whole + 1) * size <= got; whole++) came[whole] = then;
    }
    for (size_t k = 0; k < packets; k++) printf("%lld\n", (long long)came[k]);
}

int main(int count, char **words) {
    if (count < 6) fail("see the head of load.c");
    prctl(PR_SET_TIMERSLACK, 1);
    serial = atoi(words[1]), tcp = atoi(words[2]);
    const char *what = words[3], *hex = words[5];
    for (size = 0; hex[2 * size] && size < ROOM; size++) {
        unsigned byte;
        if (sscanf(hex + 2 * size, "%2x", &byte) != 1) fail("PACKET is not hexadecimal");
        packet[size] = byte;
    }
    if (!size) fail("PACKET is empty");
    if (!strcmp(what, "echo")) {
        echo(atof(words[4]), count >= 7 ? atol(words[6]) : 0);
    } else if (!strcmp(what, "down") || !strcmp(what, "up")) {
        from = what[0] == 'd' ? tcp : serial, to = what[0] == 'd' ? serial : tcp;
        stream(atof(words[4]));
    } else if (!strcmp(what, "exchange") && count >= 8) {
        burst = atol(words[6]), period = atol(words[7]) * 1000;
        exchange(atof(words[4]));
    } else if (!strcmp(what, "arrivals")) {
        packets = atol(words[4]);
        arrivals();
    } else {
        fail("see the head of load.c");
    }
    return 0;
}
