// One of the kernels' modules for the CPU: SOURCE is its file, MODULE its name.
#include "host.h"

#include <string.h>

// The modules have different things under the same names.
namespace {
#include SOURCE
}  // namespace

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define RUN(NAME, ARGS)                              \
  if (strcmp(name, #NAME) == 0) {                    \
    if (params == nullptr) return (int)sizeof(ARGS); \
    ARGS args;                                       \
    memcpy(&args, params, sizeof args);              \
    NAME(args);                                      \
    return (int)sizeof(ARGS);                        \
  }

// Runs kernel `name` as the thread that blockIdx and threadIdx say; the size of its parameter, 0 if
// there is no such kernel.
extern "C" int JOIN(host_, MODULE)(const char* name, const void* params) {
#ifdef COPIES
  RUN(copy, CopyArgs)
  RUN(hand_out, HandOutArgs)
  RUN(copy_packets, PacketArgs)
  RUN(rung_nothing, RungArgs)
  RUN(rung_local_flag, RungArgs)
  RUN(rung_peer_flag, RungArgs)
  RUN(rung_barrier, RungArgs)
#else
  RUN(reduce, ReduceArgs)
  RUN(reduce_packets, PacketReduceArgs)
  RUN(reduce_packets_twice, TwoShotArgs)
#endif
  return 0;
}
