// The reducing collectives on binary32.
#include "elements.h"
typedef Float Element;
#include "reduce.h"
