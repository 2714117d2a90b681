// Ctrl-C and SIGTERM: the first asks long work to stop cleanly, the second ends the process.
#ifndef WARPSMITH_BASE_INTERRUPT_H_
#define WARPSMITH_BASE_INTERRUPT_H_

namespace warpsmith {

void InstallInterruptHandler();
bool Interrupted();

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_INTERRUPT_H_
