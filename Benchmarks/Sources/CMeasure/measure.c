#define _GNU_SOURCE
#include "measure.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t measure_processor_time(void) { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }
uint64_t measure_wall_time(void) { return nanoseconds(CLOCK_MONOTONIC); }

static atomic_bool counting;
static atomic_uint_fast64_t allocations;

void measure_set_counting(bool on) { atomic_store_explicit(&counting, on, memory_order_relaxed); }
uint64_t measure_allocations(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

#if defined(__GLIBC__)
// A definition in the executable takes the place of the C library's for all libraries of the process; glibc keeps its
// own under these names for the purpose ("Replacing malloc" in its manual). free() stays glibc's.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void count(void) {
  if (atomic_load_explicit(&counting, memory_order_relaxed))
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

bool measure_counts_allocations(void) { return true; }
void *malloc(size_t size) { count(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { count(); return __libc_calloc(number, size); }
void *realloc(void *block, size_t size) { count(); return __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) { count(); return __libc_memalign(alignment, size); }
void *memalign(size_t alignment, size_t size) { count(); return __libc_memalign(alignment, size); }
#else
bool measure_counts_allocations(void) { return false; }
#endif
