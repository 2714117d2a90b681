// CUDA's shared libraries, opened at run time: the program starts where none of them is.
#ifndef WARPSMITH_CUDA_LIBRARY_H_
#define WARPSMITH_CUDA_LIBRARY_H_

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::cuda {

// Where a library or tool of the CUDA toolkit may be. Empty strings are skipped.
struct SearchRoots {
  std::string warpsmith_cuda_home;  // $WARPSMITH_CUDA_HOME
  std::string cuda_home;            // $CUDA_HOME
  std::string build_root;           // build_info::CudaRoot(): a toolkit or the PyPI wheels' folder
};
SearchRoots RootsFromEnvironment();

// Paths to try for a soname ("libnvrtc.so.13"), in order: lib64/ and lib/ of $WARPSMITH_CUDA_HOME,
// of $CUDA_HOME and of /usr/local/cuda; the plain soname (the dynamic loader's own search); the
// build's CUDA root. CUPTI's extras/CUPTI/lib64 is looked at beside each lib64.
std::vector<std::string> LibraryCandidates(std::string_view soname, const SearchRoots& roots);

// A toolkit program ("nvcc", "cuobjdump"): bin/ of the same roots, then $PATH. kUnavailable with
// the places that were tried.
Result<std::filesystem::path> FindTool(std::string_view name);

// A loaded library. Never unloaded: CUDA's libraries do not survive it.
class Library {
 public:
  // kUnavailable, listing every path that was tried; `fix` says what to install.
  static Result<Library> Open(std::string_view soname, std::string_view fix);
  // kUnavailable when the library is older than the symbol.
  Result<void*> Symbol(const char* name) const;
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

// Fills a struct of function pointers from a library. Private to this folder.
//
// A library's functions are listed once, as an X-macro. Where CUDA's header renames a function
// (`#define cuMemAlloc cuMemAlloc_v2`), a member declared `decltype(&::name) name` and the text
// WARPSMITH_SYMBOL(name) are renamed alike, so the struct, its call sites and the symbol that is
// looked up always agree with the header we were compiled against.
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

#endif  // WARPSMITH_CUDA_LIBRARY_H_
