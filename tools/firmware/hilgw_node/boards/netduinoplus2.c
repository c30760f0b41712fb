/** @file netduinoplus2.c  A Cortex-M4 board, an STM32F405 at 168 MHz; USART1 is the line, SysTick the
 * clock. */
#include <string.h>

#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RCC_AHB1ENR REGISTER(0x40023830u)
#define RCC_APB2ENR REGISTER(0x40023844u)
#define GPIOB_MODER REGISTER(0x40020400u)
#define GPIOB_AFRL REGISTER(0x40020420u)
#define USART1_SR REGISTER(0x40011000u)
#define USART1_DR REGISTER(0x40011004u)
#define USART1_BRR REGISTER(0x40011008u)
#define USART1_CR1 REGISTER(0x4001100Cu)
#define NVIC_ISER1 REGISTER(0xE000E104u)
#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)

enum { UE = 1u << 13, TXEIE = 1u << 7, RXNEIE = 1u << 5, TE = 1u << 3, RE = 1u << 2 };
enum { TXE = 1u << 7, RXNE = 1u << 5, USART1_IRQ = 37, APB2_HZ = 84000000, CORE_HZ = 168000000 };

extern uint8_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_end[];
int main(void);
void reset(void);

static hilgw_link *line;
static volatile uint32_t milliseconds;

static void tick(void) { milliseconds++; }

/* As many bytes as the UART takes; its interrupt asks for the others. */
static void transmit(void) {
  USART1_CR1 |= TXEIE;
  while (USART1_SR & TXE) {
    const int16_t byte = hilgw_byte_out(line);
    if (byte < 0) {
      USART1_CR1 &= ~(uint32_t)TXEIE;
      return;
    }
    USART1_DR = (uint32_t)byte;
  }
}

static void usart1(void) {
  if (USART1_SR & RXNE) hilgw_byte_in(line, (uint8_t)USART1_DR);
  transmit();
}

static void hang(void) {
  for (;;) {
  }
}

void reset(void) {
  memcpy(data_begin, data_from, (uintptr_t)data_end - (uintptr_t)data_begin);
  memset(bss_begin, 0, (uintptr_t)bss_end - (uintptr_t)bss_begin);
  (void)main();
  hang();
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))(uintptr_t)stack_end, reset, hang, hang, hang, hang, hang, 0, 0, 0, 0, hang,
    hang, 0, hang, tick, [16 ... 16 + USART1_IRQ - 1] = hang, [16 + USART1_IRQ] = usart1};

void board_start(hilgw_link *link) {
  line = link;
  RCC_AHB1ENR |= 1u << 1;                                   /* GPIO B */
  RCC_APB2ENR |= 1u << 4;                                   /* USART1 */
  GPIOB_MODER = (GPIOB_MODER & ~0xF000u) | 0xA000u;         /* PB6: TX, PB7: RX */
  GPIOB_AFRL = (GPIOB_AFRL & ~0xFF000000u) | 0x77000000u;   /* of USART1 */
  USART1_BRR = (APB2_HZ + 115200 / 2) / 115200;
  USART1_CR1 = UE | RXNEIE | TE | RE;
  NVIC_ISER1 = 1u << (USART1_IRQ - 32);
  SYST_RVR = CORE_HZ / 1000 - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;
}

uint32_t board_millis(void) { return milliseconds; }

void board_send(void) {
  __asm volatile("cpsid i");
  transmit();
  __asm volatile("cpsie i");
}

void board_sleep(void) { __asm volatile("wfi"); }
