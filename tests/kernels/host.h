// What the collectives' kernels find on a GPU, on the CPU: a block is a thread of the operating
// system, or several where the block has several; memory is the process's or shared between some.
#pragma once
#include <sched.h>
#include <time.h>

#include <atomic>

struct Index {
  unsigned x;
};
extern thread_local Index blockIdx, threadIdx, blockDim, gridDim;

// Waits for the block's other threads.
void host_sync();

#define COLLECTIVE static
#define SYNC() host_sync()
#define IN_ORDER() \
  do {             \
  } while (0)
#include "../../kernels/gen.h"

static inline u32 load_flag(u64 from) { return __atomic_load_n((u32*)from, __ATOMIC_RELAXED); }
static inline u32 load_flag_acquire(u64 from) { return __atomic_load_n((u32*)from, __ATOMIC_ACQUIRE); }
static inline void store_flag(u64 to, u32 value) { __atomic_store_n((u32*)to, value, __ATOMIC_RELAXED); }
static inline void store_flag_release(u64 to, u32 value) { __atomic_store_n((u32*)to, value, __ATOMIC_RELEASE); }
static inline void must_be_aligned(u64 address, u64 bytes) {
  if (address % bytes != 0) __builtin_trap();
}
static inline void load_packet(u64 from, u64* a, u64* b) {
  must_be_aligned(from, 16);
  *a = __atomic_load_n((u64*)from, __ATOMIC_RELAXED);
  *b = __atomic_load_n((u64*)(from + 8), __ATOMIC_RELAXED);
}
static inline void store_packet(u64 to, u64 a, u64 b) {
  must_be_aligned(to, 16);
  __atomic_store_n((u64*)to, a, __ATOMIC_RELAXED);
  __atomic_store_n((u64*)(to + 8), b, __ATOMIC_RELAXED);
}
static inline void load_far(u64 from, u64* a, u64* b) { load_packet(from, a, b); }
static inline void store_far(u64 to, u64 a, u64 b) {
  must_be_aligned(to, 16);
  ((u64*)to)[0] = a;
  ((u64*)to)[1] = b;
}
template <class T>
static inline T load_far_as(u64 from) {
  must_be_aligned(from, sizeof(T));
  return *(const volatile T*)from;
}
static inline u64 load_report(u64 from) { return __atomic_load_n((u64*)from, __ATOMIC_RELAXED); }
static inline void store_report(u64 to, u64 value) { __atomic_store_n((u64*)to, value, __ATOMIC_RELAXED); }
static inline void fence_all() { std::atomic_thread_fence(std::memory_order_acq_rel); }
static inline bool claim(u64 at) { return __atomic_exchange_n((u32*)at, 1u, __ATOMIC_ACQ_REL) == 0; }
static inline u64 nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}
// Whoever is waited for may need this processor.
static inline void pause_a_little() { sched_yield(); }
static inline u32 lowest(u32 bits) { return (u32)__builtin_ctz(bits); }
