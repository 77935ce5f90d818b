// The reducing collectives on binary16.
#include "elements.h"
typedef Half Element;
#include "reduce.h"
