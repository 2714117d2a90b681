// Ctrl-C and SIGTERM: the first asks long work to stop cleanly, the second ends the process.
#ifndef WARPSMITH_BASE_INTERRUPT_H_
#define WARPSMITH_BASE_INTERRUPT_H_

namespace warpsmith {

// For main(). Waiting calls go on after the signal, but for poll(), which fails with EINTR.
void InstallInterruptHandler();
// True from the first signal on. Any thread may ask, as often as it likes.
bool Interrupted();

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_INTERRUPT_H_
