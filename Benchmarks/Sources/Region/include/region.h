#ifndef REGION_H
#define REGION_H

/// Calls `body` with `context`. Everything that a benchmark measures runs inside of this function, by
/// whose name valgrind counts its instructions.
void benchmark_region(void (*body)(void *context), void *context);

#endif
