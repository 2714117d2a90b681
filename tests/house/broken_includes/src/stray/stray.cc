#include "util/local.h"
