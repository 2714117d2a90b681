#include "base/local.h"
