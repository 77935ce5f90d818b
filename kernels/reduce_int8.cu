// The reducing collectives on 8-bit integers.
#include "elements.h"
typedef Int8 Element;
#include "reduce.h"
