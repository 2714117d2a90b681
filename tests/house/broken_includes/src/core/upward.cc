#include <string>

#include "store/rows.h"
#include "util/missing.h"
#include <cuda.h>
#include "core/plan/steps.h"
