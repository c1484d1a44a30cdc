#ifndef HEARTH_MEASURE_H
#define HEARTH_MEASURE_H
#include <stdbool.h>
#include <stdint.h>

/// Processor time of the whole process, user and system, in nanoseconds.
uint64_t measure_processor_time(void);
/// Monotonic time in nanoseconds.
uint64_t measure_wall_time(void);

/// Whether calls of the allocator can be counted on this platform.
bool measure_counts_allocations(void);
/// Starts and stops counting. Counting is off unless asked for, because it slows every allocation down.
void measure_set_counting(bool counting);
/// Allocations (malloc, calloc, realloc, aligned forms) counted so far, of all threads.
uint64_t measure_allocations(void);
#endif
