
#include <cuda.h>
#include "base/missing.h"
#include "core/plan/steps.h"
#include "store/rows.h"
