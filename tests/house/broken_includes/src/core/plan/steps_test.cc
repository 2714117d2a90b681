#include "core/plan/steps.h"
#include "util/local.h"
