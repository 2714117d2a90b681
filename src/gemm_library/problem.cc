#include "gemm_library/problem.h"

#include <utility>

namespace warpsmith::gemm_library {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 47;  // of one matrix: what a device can address

Result<Storage> StorageOf(const char* name, int64_t rows, int64_t columns, int64_t leading) {
  if (leading < 0 || (leading != 0 && leading < columns)) {
    return BadInput(std::string("ld") + name + " is " + std::to_string(leading) +
                        ", less than the row's " + std::to_string(columns) + " elements",
                    "leading dimensions count elements from row to row; 0 means dense");
  }
  // One row has no next one, whatever its leading dimension says.
  const int64_t pitch = leading == 0 || rows <= 1 ? columns : leading;
  int64_t elements = 0;
  if (__builtin_mul_overflow(rows, pitch, &elements) || elements > kMostBytes / 2) {
    return BadInput(std::string("matrix ") + name + " of " + std::to_string(rows) + " rows, " +
                    std::to_string(pitch) + " elements apart, is larger than 2^47 bytes");
  }
  return Storage{rows, columns, pitch};
}

Status CheckAddress(const char* name, uint64_t address, int64_t bytes) {
  if (bytes == 0) return {};
  if (address == 0) return BadInput(std::string(name) + " is null");
  if (address % 2 != 0) {
    return BadInput(std::string(name) + " is not aligned to an element: its address is odd");
  }
  if (address + static_cast<uint64_t>(bytes) < address) {
    return BadInput(std::string(name) + " reaches past the end of the address space");
  }
  return {};
}

Status CheckWorkspace(const Addresses& addresses) {
  if (addresses.workspace_bytes == 0) return {};
  if (addresses.workspace == 0) return BadInput("the workspace is null, but has bytes");
  if (addresses.workspace % kWorkspaceAlignment == 0) return {};
  return BadInput("the workspace is not 256-byte aligned");
}

bool RangesMeet(uint64_t a, int64_t a_bytes, uint64_t b, int64_t b_bytes) {
  return a < b + static_cast<uint64_t>(b_bytes) && b < a + static_cast<uint64_t>(a_bytes);
}

}  // namespace

Result<CheckedProblem> Check(const Problem& problem) {
  const Problem& p = problem;
  if (p.m < 0 || p.n < 0 || p.k < 0) {
    return BadInput("sizes are " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
                    std::to_string(p.k) + ", none may be negative");
  }
  CheckedProblem checked{problem, {}, p.m == 0 || p.n == 0};
  const bool ta = p.transpose_a, tb = p.transpose_b;
  checked.storage[0] = TRY(StorageOf("a", ta ? p.k : p.m, ta ? p.m : p.k, p.lda));
  checked.storage[1] = TRY(StorageOf("b", tb ? p.n : p.k, tb ? p.k : p.n, p.ldb));
  checked.storage[2] = TRY(StorageOf("c", p.m, p.n, p.ldc));
  checked.problem.lda = checked.storage[0].leading;
  checked.problem.ldb = checked.storage[1].leading;
  checked.problem.ldc = checked.storage[2].leading;
  return checked;
}

std::string Text(const Problem& problem) {
  return std::to_string(problem.m) + " x " + std::to_string(problem.n) + " x " +
         std::to_string(problem.k) + (problem.transpose_a ? ", A transposed" : "") +
         (problem.transpose_b ? ", B transposed" : "") + ", " + std::string(Name(problem.dtype));
}

Status CheckAddresses(const CheckedProblem& checked, const Addresses& addresses) {
  const bool reads = checked.problem.k != 0;
  TRY(CheckAddress("a", addresses.a, reads ? checked.storage[0].bytes() : 0));
  TRY(CheckAddress("b", addresses.b, reads ? checked.storage[1].bytes() : 0));
  TRY(CheckAddress("c", addresses.c, checked.storage[2].bytes()));
  TRY(CheckWorkspace(addresses));
  if (!reads) return {};
  const std::array<std::pair<const char*, uint64_t>, 3> matrices = {
      {{"a", addresses.a}, {"b", addresses.b}, {"c", addresses.c}}};
  for (size_t i = 0; i < 2; ++i) {
    if (!Overlap(checked.storage[i], matrices[i].second, checked.storage[2], addresses.c)) continue;
    return BadInput(std::string("c overlaps ") + matrices[i].first, "write the result elsewhere");
  }
  if (addresses.workspace_bytes == 0) return {};
  const auto workspace_bytes = static_cast<int64_t>(addresses.workspace_bytes);
  for (size_t i = 0; i < 3; ++i) {
    if (!RangesMeet(matrices[i].second, checked.storage[i].bytes(), addresses.workspace,
                    workspace_bytes)) {
      continue;
    }
    return BadInput(std::string("the workspace overlaps ") + matrices[i].first);
  }
  return {};
}

bool Overlap(const Storage& a, uint64_t a_address, const Storage& c, uint64_t c_address) {
  if (!RangesMeet(a_address, a.bytes(), c_address, c.bytes())) return false;
  if (a.leading != c.leading) return true;
  // Columns [0, a.columns) of the pitch are A's; C's begin at `shift`, and may wrap into the next
  // row.
  const int64_t pitch_bytes = 2 * a.leading;
  const auto distance = static_cast<int64_t>(c_address - a_address);
  const int64_t shift = ((distance % pitch_bytes) + pitch_bytes) % pitch_bytes;
  return shift < 2 * a.columns || shift + 2 * c.columns > pitch_bytes;
}

}  // namespace warpsmith::gemm_library
