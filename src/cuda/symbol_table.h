// Fills a struct of function pointers from a library. Private to this folder.
//
// A library's functions are listed once, as an X-macro. Where CUDA's header renames a function
// (`#define cuMemAlloc cuMemAlloc_v2`), a member declared `decltype(&::name) name` and the text
// WARPSMITH_SYMBOL(name) are renamed alike, so the struct, its call sites and the symbol that is
// looked up always agree with the header we were compiled against.
#ifndef WARPSMITH_CUDA_SYMBOL_TABLE_H_
#define WARPSMITH_CUDA_SYMBOL_TABLE_H_

#include <span>

#include "base/result.h"
#include "cuda/library.h"

namespace warpsmith::cuda {

struct SymbolSlot {
  const char* symbol;
  void** function;
};

inline Status LoadSymbols(const Library& library, std::span<const SymbolSlot> slots) {
  for (const SymbolSlot& slot : slots) *slot.function = TRY(library.Symbol(slot.symbol));
  return {};
}

#define WARPSMITH_SYMBOL_TEXT(name) #name
#define WARPSMITH_SYMBOL(name) WARPSMITH_SYMBOL_TEXT(name)

// NOLINTNEXTLINE(bugprone-macro-parentheses): the name declared cannot be in parentheses
#define WARPSMITH_MEMBER(name) decltype(&::name) name = nullptr;
// Expects a table `api` in scope.
#define WARPSMITH_SLOT(name) {WARPSMITH_SYMBOL(name), reinterpret_cast<void**>(&api.name)},

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_SYMBOL_TABLE_H_
