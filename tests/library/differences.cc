#include "differences.h"

#include <utility>
#include <vector>

#include "cuda/kernel_launch.h"

namespace warpsmith::check {
namespace {

// Adds to `count` how many of the 16-bit elements differ.
constexpr char kDiffer[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry differ(.param .u64 one, .param .u64 other, .param .u64 elements,
                       .param .u64 count) {
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<4>;
  .reg .b64 %d<9>;
  ld.param.u64 %d0, [one];
  ld.param.u64 %d1, [other];
  ld.param.u64 %d2, [elements];
  ld.param.u64 %d3, [count];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  cvt.u64.u32 %d5, %r2;
  mad.wide.u32 %d4, %r0, %r1, %d5;
  mul.wide.u32 %d5, %r3, %r1;
next:
  setp.ge.u64 %p0, %d4, %d2;
  @%p0 ret;
  shl.b64 %d6, %d4, 1;
  add.u64 %d7, %d0, %d6;
  add.u64 %d8, %d1, %d6;
  ld.global.u16 %h0, [%d7];
  ld.global.u16 %h1, [%d8];
  setp.ne.u16 %p1, %h0, %h1;
  @%p1 red.global.add.u64 [%d3], 1;
  add.u64 %d4, %d4, %d5;
  bra next;
})";

}  // namespace

Result<Differences> Differences::Make() {
  Differences made;
  made.count_ = TRY(cuda::DeviceBuffer::Allocate(sizeof(uint64_t)));
  const uint64_t none = 0;
  TRY(cuda::CopyToDevice(made.count_.address(), &none, sizeof none));  // other streams see it, too
  Result<cuda::Module> module = cuda::Module::Load(kDiffer);
  if (!module.ok()) return made;
  made.module_.emplace(std::move(module).value());
  made.launch_.emplace(TRY(made.module_->Kernel("differ")),
                       cuda::LaunchConfig{.grid = {528, 1, 1}, .block = {256, 1, 1}});
  return made;
}

Status Differences::Add(const cuda::DeviceBuffer& wanted, const cuda::DeviceBuffer& found,
                        const cuda::Stream& stream) {
  uint64_t one = wanted.address(), other = found.address(), elements = wanted.bytes() / 2,
           count = count_.address();
  void* arguments[] = {&one, &other, &elements, &count};
  if (launch_) return launch_->Submit(stream.handle(), arguments);
  TRY(stream.Synchronize());
  std::vector<uint16_t> a(elements), b(elements);
  TRY(cuda::CopyToHost(a.data(), one, wanted.bytes()));
  TRY(cuda::CopyToHost(b.data(), other, wanted.bytes()));
  for (size_t i = 0; i < a.size(); ++i) on_host_ += a[i] != b[i] ? 1 : 0;
  return {};
}

Result<uint64_t> Differences::Count(const cuda::Stream& stream) {
  TRY(stream.Synchronize());
  uint64_t count = 0;
  TRY(cuda::CopyToHost(&count, count_.address(), sizeof count));
  return count + on_host_;
}

}  // namespace warpsmith::check
