// The reducing collectives on 32-bit integers.
#include "elements.h"
typedef Int32 Element;
#include "reduce.h"
