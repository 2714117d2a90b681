// All of the judge's own kernels, one module.
#include "judge/device/contents.cuh"
#include "judge/device/elements.cuh"
#include "judge/device/reference.cuh"
#include "judge/device/slots.cuh"
#include "judge/device/verify.cuh"
