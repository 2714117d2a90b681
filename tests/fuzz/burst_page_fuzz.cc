// The page through which calls are released, as a peer gets it: a file of any size and contents.
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "judge/burst_page.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileDescriptor file(memfd_create("page", MFD_CLOEXEC));
  CHECK(write(file.number(), data, size) == static_cast<ssize_t>(size));
  auto page = judge::BurstPage::Map(file.number());
  if (fuzz::ValueOf(page) == nullptr) return 0;
  CHECK(page->roles() <= judge::kMostBurstRoles && page->slots().size() == page->roles());
  page->released();
  page->AnnounceDone(1);
  CHECK(page->done() == 2);
  return 0;
}
