// A program for the fake driver, whose device memory is host memory: the product of two matrices of
// halves in plain C++, by one name honest, by others not. All are one library, compiled once.
#ifndef WARPSMITH_JUDGE_FAKE_HOST_PROGRAM_H_
#define WARPSMITH_JUDGE_FAKE_HOST_PROGRAM_H_

#include <string>
#include <string_view>

namespace warpsmith::judge::fake {

// Its C++ source. 16 x 64 by 64 x 16 elements, whatever the task says.
std::string_view HostProgram();

// The compiled library with another behaviour than "honest": its name is replaced in the bytes.
std::string WithBehaviour(std::string image, std::string_view behaviour);

}  // namespace warpsmith::judge::fake

#endif  // WARPSMITH_JUDGE_FAKE_HOST_PROGRAM_H_
