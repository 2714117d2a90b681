// The name of a KernelBench checkout's size set, where no git tag names it.
#ifndef WARPSMITH_TASK_KERNELBENCH_SIZE_TAG_H_
#define WARPSMITH_TASK_KERNELBENCH_SIZE_TAG_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "task/kernelbench/checkout.h"

namespace warpsmith::kernelbench {

// What a problem's text says of its sizes: the assignments at its left margin, and the bodies of
// get_inputs() and get_init_inputs(); without comments, blanks and blank lines. Never runs it.
std::string SizeText(std::string_view problem);

// Eight hexadecimal digits over SizeText() of all problems in levels 1 and 2 (in any where there
// are none): checkouts of one size set have one tag, however their modules compute.
Result<std::string> SizeTag(const Checkout& checkout);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_SIZE_TAG_H_
