// Runs the kernels' own source on the CPU, one thread after the other, as a script on stdin says.
//
// The script is little-endian 64-bit numbers:
//   1 id len bytes…                                allocates a buffer with these contents
//   2 kernel grid_x grid_y block words params…     launches
//   3 id                                           writes a buffer to stdout
// An address in a launch's parameters is (id << 40) + offset. Buffers end where an allocation ends,
// so that the sanitizers this is compiled with see every access behind them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

struct Index {
  unsigned x, y;
};
static Index blockIdx, threadIdx, blockDim, gridDim;

#define KERNEL extern "C"
#include "../../kernels/gen.h"
static void atomic_add(u64* to, u64 n) { *to += n; }
static void atomic_max(u64* to, u64 n) {
  if (*to < n) *to = n;
}
static u64 read_again(const u64* from) { return *from; }
static void load_vector(u64 from, u64* a, u64* b) {
  if (from % 16 != 0) abort();
  memcpy(a, (const void*)from, 8);
  memcpy(b, (const void*)(from + 8), 8);
}
static void store_vector(u64 to, u64 a, u64 b) {
  if (to % 16 != 0) abort();
  memcpy((void*)to, &a, 8);
  memcpy((void*)(to + 8), &b, 8);
}
#include "../../kernels/check.cu"

static std::vector<void*> buffers;

static u64 number() {
  u64 n;
  if (fread(&n, 8, 1, stdin) != 1) exit(feof(stdin) ? 0 : 1);
  return n;
}

static void resolve(u64* address) {
  *address = (u64)buffers.at(*address >> 40) + (*address & ((1ull << 40) - 1));
}

template <class Args>
static void run(void (*kernel)(const Args), const std::vector<u64>& params, u64 Args::* first,
                u64 Args::* second) {
  if (params.size() * 8 != sizeof(Args)) abort();
  Args args;
  memcpy(&args, params.data(), sizeof(Args));
  resolve(&(args.*first));
  if (second) resolve(&(args.*second));
  for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) kernel(args);
}

#define INPUT_KERNEL(NAME) \
  case __COUNTER__: return run<InputFillArgs>(NAME, params, &InputFillArgs::to, nullptr);

// In the order of `FUNCTIONS` of src/ffi/kernels/mod.rs.
static void launch(u64 kernel, const std::vector<u64>& params) {
  switch (kernel) {
    case __COUNTER__: return run<PlainFillArgs>(fill_plain, params, &PlainFillArgs::to, nullptr);
      INPUT_KERNEL(fill_integer_sum_8)
      INPUT_KERNEL(fill_integer_sum_32)
      INPUT_KERNEL(fill_integer_sum_64)
      INPUT_KERNEL(fill_integer_product_8)
      INPUT_KERNEL(fill_integer_product_32)
      INPUT_KERNEL(fill_integer_product_64)
      INPUT_KERNEL(fill_float_sum_8)
      INPUT_KERNEL(fill_float_sum_16)
      INPUT_KERNEL(fill_float_sum_32)
      INPUT_KERNEL(fill_float_sum_64)
      INPUT_KERNEL(fill_float_product)
      INPUT_KERNEL(fill_extreme)
      INPUT_KERNEL(fill_carrier)
    case __COUNTER__:
      return run<VerifyArgs>(verify, params, &VerifyArgs::got, &VerifyArgs::result);
    case __COUNTER__: return run<VerifyArgs>(list, params, &VerifyArgs::got, &VerifyArgs::result);
    case __COUNTER__: return run<GatherArgs>(gather, params, &GatherArgs::got, &GatherArgs::result);
    default: abort();
  }
}

int main() {
  std::vector<u64> lengths;
  for (;;) {
    switch (number()) {
      case 1: {
        u64 id = number(), len = number();
        if (buffers.size() <= id) buffers.resize(id + 1), lengths.resize(id + 1);
        free(buffers[id]);
        buffers[id] = malloc(len);
        lengths[id] = len;
        if (fread(buffers[id], 1, len, stdin) != len) return 1;
        break;
      }
      case 2: {
        u64 kernel = number();
        gridDim.x = number(), gridDim.y = number(), blockDim = {(unsigned)number(), 1};
        std::vector<u64> params(number());
        for (u64& param : params) param = number();
        launch(kernel, params);
        break;
      }
      case 3: {
        u64 id = number();
        fwrite(buffers[id], 1, lengths[id], stdout);
        fflush(stdout);
        break;
      }
      default: return 1;
    }
  }
}
