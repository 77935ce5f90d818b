// Runs a grid of a collective's kernel on the CPU: every block, and every thread of a block, is a
// thread of the operating system, because kernels of different ranks wait for each other.
#include <pthread.h>
#include <string.h>

#include <thread>
#include <vector>

#include "host.h"

thread_local Index blockIdx, threadIdx, blockDim, gridDim;
static thread_local pthread_barrier_t* block_barrier;

void host_sync() {
  if (block_barrier) pthread_barrier_wait(block_barrier);
}

typedef int Module(const char* name, const void* params);
#define MODULES(X)                                                                                \
  X(copies) X(reduce_int8) X(reduce_int32) X(reduce_int64) X(reduce_half) X(reduce_bfloat16)      \
  X(reduce_float) X(reduce_double) X(reduce_f8e4m3) X(reduce_f8e5m2)
#define DECLARE(NAME) extern "C" Module host_##NAME;
MODULES(DECLARE)

static Module* module_of(const char* name) {
#define FIND(NAME) \
  if (strcmp(name, #NAME) == 0) return host_##NAME;
  MODULES(FIND)
  return nullptr;
}

// The size of a kernel's parameter; 0 if there is no such kernel.
extern "C" int host_params(const char* module, const char* kernel) {
  Module* found = module_of(module);
  return found ? found(kernel, nullptr) : 0;
}

static void run_thread(Module* module, const char* kernel, const void* params, pthread_barrier_t* barrier,
                       Index grid, Index block, Index at, Index thread) {
  gridDim = grid, blockDim = block, blockIdx = at, threadIdx = thread, block_barrier = barrier;
  module(kernel, params);
  block_barrier = nullptr;
}

// Runs `grid` blocks of `block` threads and returns when all are done.
extern "C" void host_launch(const char* module, const char* kernel, const void* params, unsigned grid,
                            unsigned block) {
  Module* found = module_of(module);
  std::vector<pthread_barrier_t> barriers(grid);
  for (auto& barrier : barriers) pthread_barrier_init(&barrier, nullptr, block);
  std::vector<std::thread> threads;
  for (unsigned at = 0; at < grid; at++) {
    for (unsigned thread = 0; thread < block; thread++) {
      // The last one is this thread itself.
      pthread_barrier_t* barrier = block > 1 ? &barriers[at] : nullptr;
      if (at + 1 == grid && thread + 1 == block) {
        run_thread(found, kernel, params, barrier, {grid}, {block}, {at}, {thread});
      } else {
        threads.emplace_back(run_thread, found, kernel, params, barrier, Index{grid}, Index{block}, Index{at},
                             Index{thread});
      }
    }
  }
  for (auto& thread : threads) thread.join();
  for (auto& barrier : barriers) pthread_barrier_destroy(&barrier);
}
