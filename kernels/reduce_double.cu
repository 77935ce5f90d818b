// The reducing collectives on binary64.
#include "elements.h"
typedef Double Element;
#include "reduce.h"
