// The reducing collectives on bfloat16.
#include "elements.h"
typedef Bfloat16 Element;
#include "reduce.h"
