#include "region.h"

// Not inlined, since it would have no name then.
__attribute__((noinline)) void benchmark_region(void (*body)(void *context), void *context) {
    body(context);
    // Not a tail call, which would leave the function before its body.
    __asm__ volatile("" ::: "memory");
}
