// Passages from documents that the user points at, found by full-text search (SQLite's FTS5).
#ifndef WARPSMITH_AGENT_DOCUMENTS_H_
#define WARPSMITH_AGENT_DOCUMENTS_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/connection.h"

namespace warpsmith::agent {

inline constexpr size_t kMaxDocumentBytes = size_t{8} << 20;
inline constexpr size_t kMaxDocuments = 10'000;

class Documents {
 public:
  // Reads every text file below the folder (.md .txt .rst .cu .cuh .h .hpp .cpp .py) into an index
  // in memory. Files that are larger than kMaxDocumentBytes, or no UTF-8, are left out.
  static Result<std::unique_ptr<Documents>> Index(const std::filesystem::path& folder);

  // The best passages for these words, each with its file and first line, together at most
  // `most_bytes`; empty where nothing fits. The words are data: nothing in them is syntax.
  Result<std::string> Find(std::string_view words, size_t most_bytes);

  int64_t passages() const { return passages_; }
  int64_t left_out() const { return left_out_; }

 private:
  explicit Documents(std::unique_ptr<store::Connection> connection)
      : connection_(std::move(connection)) {}
  Status Add(const std::string& name, std::string_view text);

  std::unique_ptr<store::Connection> connection_;
  int64_t passages_ = 0, left_out_ = 0;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_DOCUMENTS_H_
