// The reducing collectives on 64-bit integers.
#include "elements.h"
typedef Int64 Element;
#include "reduce.h"
