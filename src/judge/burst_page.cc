#include "judge/burst_page.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace warpsmith::judge {
namespace {

constexpr size_t kMagicAt = 0, kReleaseAt = 1, kDoneAt = 2, kRolesAt = 3, kSlotsAt = 4;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr uint64_t kSpinTurns = 4096;

std::atomic_ref<uint32_t> Word(uint32_t* words, size_t at) {
  return std::atomic_ref<uint32_t>(words[at]);
}

Error Failed(const char* what) {
  return Error{ErrorCode::kIo, std::string("the burst page: ") + what + ": " + strerror(errno), ""};
}

}  // namespace

Result<uint32_t*> BurstPage::MapWords(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return Failed("fstat");
  if (status.st_size < static_cast<off_t>(kBurstPageBytes)) {  // touching it would be a bus error
    return Error{ErrorCode::kInternal, "the burst's descriptor is too small for a page", ""};
  }
  void* page = mmap(nullptr, kBurstPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED) return Failed("mmap");
  return static_cast<uint32_t*>(page);
}

Result<BurstPage> BurstPage::Create(size_t roles) {
  CHECK(roles <= kMostBurstRoles);
  FileDescriptor file(memfd_create("warpsmith burst", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number() < 0) return Failed("memfd_create");
  if (ftruncate(file.number(), kBurstPageBytes) != 0) return Failed("ftruncate");
  // A page that the peer cut off would be a bus error here.
  if (fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Failed("sealing");
  }
  uint32_t* words = TRY(MapWords(file.number()));
  words[kMagicAt] = kBurstMagic;
  words[kRolesAt] = static_cast<uint32_t>(roles);
  return BurstPage(words, file.Release(), roles);
}

Result<BurstPage> BurstPage::Map(int descriptor) {
  uint32_t* words = TRY(MapWords(descriptor));
  BurstPage page(words, -1, words[kRolesAt]);
  if (words[kMagicAt] != kBurstMagic || page.roles_ > kMostBurstRoles) {
    return Error{ErrorCode::kInternal, "the burst's descriptor is no burst page", ""};
  }
  return page;
}

BurstPage::BurstPage(BurstPage&& other) noexcept
    : words_(std::exchange(other.words_, nullptr)),
      descriptor_(other.descriptor_.Release()),
      roles_(other.roles_) {}

BurstPage::~BurstPage() {
  if (words_ != nullptr) munmap(words_, kBurstPageBytes);
}

void BurstPage::Release(uint32_t call, std::span<const uint32_t> slots) {
  CHECK(slots.size() == roles_);
  for (size_t i = 0; i < slots.size(); ++i) words_[kSlotsAt + i] = slots[i];
  // The slots are written before the release that announces them: the peer reads them after it has
  // seen the new number (acquire in released()).
  Word(words_, kReleaseAt).store(call + 1, std::memory_order_release);
}

// The peer can write any number at any time. The caller takes two of them: that of the released
// call, and that of the call before. Any other counts as the death of the process (CalledProcess).
uint32_t BurstPage::done() const { return Word(words_, kDoneAt).load(std::memory_order_acquire); }

uint32_t BurstPage::released() const {
  return Word(words_, kReleaseAt).load(std::memory_order_acquire);
}

std::vector<uint32_t> BurstPage::slots() const {
  return {words_ + kSlotsAt, words_ + kSlotsAt + roles_};
}

void BurstPage::AnnounceDone(uint32_t call) {
  Word(words_, kDoneAt).store(call + 1, std::memory_order_release);
}

SpinWait::SpinWait() : started_ns_(MonotonicNs()), looked_ns_(started_ns_), now_ns_(started_ns_) {}

void SpinWait::Turn() {
  if (++turns_ < kSpinTurns) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    return;
  }
  constexpr int64_t kLongWaitMs = 1000;
  constexpr useconds_t kNapUs = 20;
  if (now_ns_ - started_ns_ > kLongWaitMs * kNsPerMs) {
    usleep(kNapUs);
  } else {
    sched_yield();
  }
}

bool SpinWait::ShouldCheckPeer() {
  if (turns_ % 64 != 0) return false;
  now_ns_ = MonotonicNs();
  if (now_ns_ - looked_ns_ < kNsPerMs) return false;
  looked_ns_ = now_ns_;
  return true;
}

}  // namespace warpsmith::judge
