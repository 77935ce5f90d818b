// The reducing collectives on 8-bit floats, E5M2.
#include "elements.h"
typedef F8e5m2 Element;
#include "reduce.h"
