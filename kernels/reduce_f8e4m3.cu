// The reducing collectives on 8-bit floats, E4M3.
#include "elements.h"
typedef F8e4m3 Element;
#include "reduce.h"
