#ifndef WARPSMITH_BASE_MEDIAN_H_
#define WARPSMITH_BASE_MEDIAN_H_

#include <vector>

namespace warpsmith {

// Of an even number the mean of the middle two. CHECKs that there is at least one value.
double Median(std::vector<double> values);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_MEDIAN_H_
