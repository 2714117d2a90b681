// The naive judge's numbers: inputs from a fixed seed, and allclose.
#ifndef WARPSMITH_TESTS_ATTACKS_NAIVE_NUMBERS_H_
#define WARPSMITH_TESTS_ATTACKS_NAIVE_NUMBERS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace warpsmith::attacks {

inline constexpr unsigned kNaiveSeed = 42;  // as everyone's: any candidate can guess it

// N(0, 1) values as bytes of the type; one generator draws all inputs in the task's order.
std::string NormalBytes(std::mt19937& random, DType dtype, int64_t elements);

std::vector<double> ToDoubles(const std::string& bytes, DType dtype);
std::string FromDoubles(const std::vector<double>& values, DType dtype);

// False where some |out - ref| > tolerance + tolerance |ref|. A NaN is never greater.
bool AllClose(const std::vector<double>& output, const std::vector<double>& expected,
              double tolerance);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_NAIVE_NUMBERS_H_
