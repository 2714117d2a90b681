// Part of a fixture whose includes break the rules on purpose.
#include "base/local.h"
