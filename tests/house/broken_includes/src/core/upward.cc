#include <string>

#include "store/rows.h"
#include "base/missing.h"
#include <cuda.h>
#include "core/plan/steps.h"
