#include "core/plan/steps.h"
#include "base/local.h"
