#include "agent/documents.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/foreign_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "store/connection.h"

namespace warpsmith::agent {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPassageBytes = 1'500;
constexpr int kMostPassages = 4;
constexpr size_t kMostWords = 24;
constexpr std::array<std::string_view, 9> kExtensions = {".md", ".txt", ".rst", ".cu", ".cuh",
                                                         ".h",  ".hpp", ".cpp", ".py"};

bool IsText(const fs::path& path) {
  const std::string extension = path.extension().string();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

Result<std::vector<fs::path>> FilesIn(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_regular_file(error) && IsText(at->path())) files.push_back(at->path());
    if (files.size() > kMaxDocuments) break;
  }
  if (error) {
    return Error{ErrorCode::kNoInput, "documents in " + folder.string() + ": " + error.message(),
                 "name a folder of text files: --documents DIR"};
  }
  std::sort(files.begin(), files.end());
  if (files.size() > kMaxDocuments) files.resize(kMaxDocuments);
  return files;
}

// Nullopt: too large, no UTF-8, or not to be read.
std::optional<std::string> TextIn(const fs::path& path) {
  Result<std::string> text = ReadRegularFile(path, kMaxDocumentBytes);
  if (!text.ok() || !IsUtf8(*text)) return std::nullopt;
  return std::move(text).value();
}

// Words of letters, digits and '_', each once, quoted so that none of them is an operator.
std::string QueryOf(std::string_view words) {
  std::set<std::string> seen;
  std::string query, word;
  const auto take = [&] {
    if (word.size() > 2 && seen.size() < kMostWords && seen.insert(word).second) {
      query += (query.empty() ? "\"" : " OR \"") + word + "\"";
    }
    word.clear();
  };
  for (const char c : words) {
    if (IsWordCharacter(c)) {
      word += c;
    } else {
      take();
    }
  }
  take();
  return query;
}

}  // namespace

Result<std::unique_ptr<Documents>> Documents::Index(const fs::path& folder) {
  constexpr int kNoWait = 0;
  std::unique_ptr<Documents> documents(new Documents(TRY(store::OpenSqlite(":memory:", kNoWait))));
  TRY(documents->connection_->Execute(
      "CREATE VIRTUAL TABLE passage USING fts5(text, name UNINDEXED, line UNINDEXED, "
      "tokenize = 'porter unicode61')"));
  for (const fs::path& path : TRY(FilesIn(folder))) {
    const std::optional<std::string> text = TextIn(path);
    if (!text.has_value()) {
      ++documents->left_out_;
      continue;
    }
    std::error_code ignored;
    TRY(documents->Add(fs::relative(path, folder, ignored).string(), *text));
  }
  return documents;
}

// Passages end at lines.
Status Documents::Add(const std::string& name, std::string_view text) {
  store::Transaction transaction = TRY(store::Transaction::Begin(*connection_));
  std::string passage;
  int64_t line = 0, first = 1;
  const auto put = [&]() -> Status {
    if (Trimmed(passage).empty()) return {};
    store::Statement insert =
        connection_->Prepare("INSERT INTO passage (text, name, line) VALUES (?, ?, ?)");
    TRY(insert.Bind(passage).Bind(name).Bind(first).Run());
    ++passages_;
    return {};
  };
  for (const std::string_view one : prompts::LinesOf(text)) {
    ++line;
    if (!passage.empty() && passage.size() + one.size() > kPassageBytes) {
      TRY(put());
      passage.clear();
      first = line;
    }
    passage += std::string(one.substr(0, kPassageBytes)) + "\n";
  }
  TRY(put());
  return transaction.Commit();
}

Result<std::string> Documents::Find(std::string_view words, size_t most_bytes) {
  const std::string query = QueryOf(words);
  if (query.empty()) return std::string();
  store::Statement find = connection_->Prepare(
      "SELECT name, line, text FROM passage WHERE passage MATCH ? ORDER BY rank, rowid LIMIT ?");
  find.Bind(query).Bind(int64_t{kMostPassages});
  std::string found;
  while (TRY(find.Next())) {
    const std::string passage = ForTerminal(find.Text(0)) + ", line " +
                                std::to_string(find.Int(1)) + ":\n" + ValidUtf8(find.TextView(2)) +
                                "\n";
    if (found.size() + passage.size() <= most_bytes) found += passage;
  }
  return found;
}

}  // namespace warpsmith::agent
