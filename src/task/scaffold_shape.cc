// How kernels index their tensors tells the tensors' shapes: of in[y * width + x], width is the
// contiguous size. An index is read by experiment: each size is a large prime, so that a stride or
// an extent tells of which sizes it is the product.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "core/cuda_tokens.h"
#include "core/expression.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

constexpr int64_t kPrimes[] = {20011, 22921, 25841, 28751, 31657, 34583, 37489, 40423,
                               43331, 46237, 49139, 52051, 54959, 57859, 60761, 63667};
constexpr int64_t kBlocks = 3072;         // a multiple of every usual block
constexpr int64_t kMost = 1L << 60;       // of an index
constexpr int64_t kRound = 1024;          // a launch rounds sizes up or down to its blocks
constexpr int64_t kMostChannels = 4;      // [height, width, 3]
constexpr int64_t kMostPlanes = 64;       // [19, nodes]
constexpr int64_t kMostHalo = 8;          // elements that a stencil leaves out at an end
constexpr size_t kMostRead = 512;         // indices and comparisons of a kernel
constexpr size_t kMostExpanded = 20'000;  // tokens
constexpr int kMostCalls = 3;             // of device functions by device functions

using Shape = std::vector<std::string>;
using NameSet = std::set<std::string>;
using Values = std::map<std::string, int64_t>;

// Each size as a prime, or as a number that a launch does not round.
Sizes WorldOf(const Guess& guess, bool rounds) {
  Sizes world;
  for (size_t i = 0; i < std::min(guess.sizes.size(), std::size(kPrimes)); ++i) {
    world[guess.sizes[i].name] = rounds ? kBlocks * static_cast<int64_t>(7 + 2 * i) : kPrimes[i];
  }
  return world;
}

// 60033 is the first size and 3. Empty: more than sizes and channels.
Shape Factors(int64_t value, const Guess& guess, int64_t most = kMostChannels) {
  Shape factors;
  for (size_t i = 0; i < std::min(guess.sizes.size(), std::size(kPrimes)); ++i) {
    for (; value > 0 && value % kPrimes[i] == 0; value /= kPrimes[i]) {
      factors.push_back(guess.sizes[i].name);
    }
  }
  if (value < 1 || value > most) return {};
  const bool planes = value > kMostChannels;  // of a structure of arrays
  if (value > 1) factors.insert(planes ? factors.begin() : factors.end(), std::to_string(value));
  return factors;
}

// Likewise of a number that was rounded, or has a halo: n - 1, ceil_div(n, 256) * 256.
Shape NearFactors(int64_t value, const Guess& guess, int64_t most = kMostChannels) {
  Shape factors;
  for (int64_t by = 0; by <= kRound && value > kPrimes[0] - kRound && factors.empty(); ++by) {
    factors = Factors(value - by, guess, most);
    if (factors.empty()) factors = Factors(value + by, guess, most);
  }
  return factors;
}

bool IsConstant(const std::string& text) { return std::ranges::all_of(text, IsDigit); }

// Of a product or another expression; 0: it is beyond us.
int64_t In(const Sizes& world, const std::string& text) { return ValueOf(text, world).value_or(0); }
int64_t ElementsIn(const Sizes& world, const Shape& shape) {
  return shape.empty() ? 0 : In(world, Joined(shape, " * "));
}

// Of an element of the function's parameter.
int64_t BytesOfTensor(const Guess& guess, const std::string& tensor) {
  const auto its = std::ranges::find(guess.arguments, tensor, &GuessedArgument::value);
  const auto at = static_cast<size_t>(its - guess.arguments.begin());
  return BytesOf(guess.function->parameters[at].element).value_or(1);
}

// What kernels show of their tensors.
struct Findings {
  std::map<std::string, Shape> shapes;   // of tensors; the first extent may be empty: not known
  NameSet inner, written;                // sizes that are strides; tensors
  NameSet read_first, guarded;           // tensors: before a write; without their border
  bool whole = false;                    // an index goes as far as the launch does, or n / 16
  NameSet used, summed, counts;          // sizes: in indices; of sums; only how often a loop runs
  std::map<std::string, int64_t> reach;  // of tensors: the bytes up to the last that is indexed
  NameSet open;                          // tensors: an index is not known, or goes further
  size_t left = 400'000;                 // bytes of device functions that may still be read
};

// Reads the indices of one kernel, whose parameters the task calls by the names in `called`.
class Reader {
 public:
  Reader(const CudaFile& file, const CudaFunction& kernel, const Guess& guess, const Sizes& world,
         const std::map<std::string, std::string>& called, const LaunchExtents& extents,
         Findings& found)
      : file_(file),
        kernel_(kernel),
        guess_(guess),
        world_(world),
        extents_(extents),
        list_(WithoutMacros()),
        found_(found),
        before_(found.written) {
    for (const auto& [parameter, name] : called) {
      const auto size = world.find(name);
      if (size != world.end()) worth_[parameter] = size->second;
      if (std::ranges::count(guess.tensors, name, &GuessedTensor::name) > 0)
        tensors_[parameter] = name;
    }
    for (size_t axis = 0; axis < 3; ++axis) {
      const std::string at = std::string("_") + "xyz"[axis];
      const int64_t grid = In(world, extents[axis]), block = In(world, extents[axis + 3]);
      if (grid > 0) worth_["gridDim" + at] = grid, last_["blockIdx" + at] = grid - 1;
      if (!IsConstant(extents[axis])) sized_.insert("blockIdx" + at);
      if (block > 0) worth_["blockDim" + at] = block, last_["threadIdx" + at] = block - 1;
    }
    worth_["warpSize"] = 32;
  }

  // With what is known of the parameters of a device function: values at most, offsets of pointers.
  void Read(const Values& last, const Values& moved, int calls) {
    for (const auto& [name, value] : last) last_[name] = value;
    moved_ = moved;
    calls_ = calls;
    for (size_t i = 0; i < list_.size(); ++i) {
      const bool changes = list_[i].kind == TokenKind::kWord && (Moves(i) || Steps(i));
      if (changes) changed_.emplace(list_[i].text);
    }
    size_t left = kMostRead;
    for (size_t i = 1; i + 1 < list_.size() && left > 0; ++i) {
      for (; !scopes_.empty() && scopes_.back().first <= i; scopes_.pop_back())
        last_ = scopes_.back().second;
      const bool compares =
          list_.Is(i, "<") || list_.Is(i, ">") ||
          (list_.Is(i, "!") && list_.Is(i + 1, "=") && i < header_ && list_.Is(head_, "for"));
      const bool indexes = list_.Is(i, "[") && list_.closing[i] < list_.size();
      const bool word = list_[i].kind == TokenKind::kWord;
      const auto worth = worth_.find(std::string(list_[i].text));
      if (list_.Is(i - 1, "%") && worth != worth_.end()) AddTo(found_.inner, worth->second);
      found_.whole |=
          list_.Is(i + 1, "/") && worth != worth_.end() && !Factors(worth->second, guess_).empty();
      if (IsOneOf(i, "if for while") && list_.Is(i + 1, "(")) {
        head_ = i, header_ = list_.closing[i + 1], scope_end_ = End(header_ + 1);
        if (!list_.Is(i, "if")) loop_end_ = std::max(loop_end_, scope_end_);
      }
      if (compares) ReadBound(i);
      if (indexes) ReadIndex(i);
      if (word) ReadCall(i);
      if (list_.Is(i, "*")) ReadDereference(i);
      if (word && tensors_.contains(std::string(list_[i].text))) ReadMove(i);
      left -= compares || indexes ? 1 : 0;
    }
    for (const auto& [name, sizes] : loops_) {
      if (!indices_.contains(name)) found_.summed.insert(sizes.begin(), sizes.end());
      if (!indexed_.contains(name)) found_.counts.insert(sizes.begin(), sizes.end());
    }
  }

 private:
  // v(i, j) of "#define v(I, J) v[(I) * N + (J)]" is read as what it stands for.
  TokenList WithoutMacros() {
    const TokenList list = Tokenize(kernel_.body);
    std::vector<Token> tokens = {{TokenKind::kPunctuation, ";", 0}};  // every token follows one
    for (size_t i = 0; i < list.size(); ++i) {
      const auto macro = file_.values.find(std::string(list[i].text) + "(");
      const bool indexes = list.Is(i + 1, "(") && macro != file_.values.end() &&
                           macro->second.find('[') != macro->second.npos;
      const bool few = indexes && tokens.size() < kMostExpanded;
      const std::string& text =
          texts_.emplace_back(few ? ExpandedMacro(macro->second, list, i) : "");
      for (const Token& one : Tokenize(text).tokens) {
        tokens.push_back({one.kind, one.text, list[i].offset});
      }
      text.empty() ? tokens.push_back(list[i]) : void(i = list.closing[i + 1]);
    }
    return Paired(std::move(tokens));
  }

  void AddTo(NameSet& sizes, int64_t worth) const {
    const Shape factors = Factors(worth, guess_);
    sizes.insert(factors.begin(), factors.end());
  }

  // The text with sizes as in this world. With `names`, which collects them, each other name is as
  // given, or 0. Without: the most that it is; nothing, where a name has no bound that we know.
  std::optional<int64_t> Value(const std::string& text, size_t at, NameSet* names,
                               const Values& given = {}) const {
    const Meaning there = MeaningAt(file_, kernel_, kernel_.body_at + list_[at].offset);
    const Meaning meaning = [&](const std::string& name) {
      auto means = there(name);
      if (!means && name.find('.') != name.npos)
        std::ranges::replace(means.emplace(name), '.', '_');
      return means;  // threadIdx.x is threadIdx_x
    };
    Sizes leaves;
    bool open = false;
    const IsSize is_leaf = [&](std::string_view word) {
      const std::string name(word);
      const auto means = there(name);
      const bool known = worth_.contains(name) || tensors_.contains(name) || last_.contains(name);
      const bool leaf =
          known || !means || means->empty() ||
          (names == nullptr ? changed_.contains(name) : means->find('[') != means->npos);
      open = open || (leaf && !known);
      const Values& values = worth_.contains(name) ? worth_ : given;
      if (leaf) leaves[name] = values.contains(name) ? values.at(name) : 0;
      if (leaf && names != nullptr) names->insert(name);
      return leaf;
    };
    const auto expression = AsExpression(text, meaning, is_leaf);
    if (!expression || (names == nullptr && open)) return std::nullopt;
    auto most = ValueOf(*expression, leaves);
    for (auto& [name, value] : leaves) {  // to the end of each that makes it more
      if (names != nullptr || worth_.contains(name) || !last_.contains(name)) continue;
      value = last_.at(name);
      const auto here = ValueOf(*expression, leaves);
      if (here && most && *here < *most)
        value = 0;
      else
        most = here;
    }
    return most && *most<kMost&& * most> - kMost ? most : std::nullopt;
  }

  // x += 4, x <<= 1; and ++x, x--
  bool Moves(size_t i) const {
    const size_t sign = i + (IsOneOf(i + 1, "<>") && IsOneOf(i + 2, "<>") ? 2 : 1);
    return IsOneOf(sign, sign > i + 1 ? "<>" : "+-*/%&|^") && list_.Is(sign + 1, "=") &&
           !list_.Is(sign + 2, "=");
  }
  bool Steps(size_t i) const {
    const auto twice = [&](size_t at) {
      return IsOneOf(at, "+-") && list_.Is(at + 1, list_[at].text);
    };
    return twice(i + 1) || (i > 1 && twice(i - 2));
  }

  // From here to the end of the statement that the header belongs to, or of what a condition
  // chooses: i < n ? p[i] : 0. `bool inside = i < n` holds from here on.
  void Bind(size_t i, const std::string& name, int64_t last) {
    size_t end = i < header_ ? scope_end_ : list_.size();
    for (size_t at = i; i >= header_ && at < list_.size() && !IsOneOf(at, ";{"); ++at) {
      if (list_.Is(at, ":")) end = std::min(end, at);
      if (list_.Is(at, "?")) end = list_.size() - 1;
    }
    if (!scopes_.empty()) end = std::min(end, scopes_.back().first);
    if (end < list_.size() || i < header_) scopes_.emplace_back(end, last_);
    last_[name] = last;
  }

  // Of signs, or of words with blanks between them.
  bool IsOneOf(size_t i, std::string_view words) const {
    if (i >= list_.size()) return false;
    const size_t at = words.find(list_[i].text), end = at + list_[i].text.size();
    return at != words.npos &&
           (list_[i].kind != TokenKind::kWord ||
            ((at == 0 || words[at - 1] == ' ') && (end >= words.size() || words[end] == ' ')));
  }

  // `i < n`, `row >= rows) return`: its operator is at `i`.
  void ReadBound(size_t i) {
    if (IsOneOf(i - 1, "<>") || IsOneOf(i + 1, "<>")) return;  // a shift
    const bool less = !list_.Is(i, ">"), equal = !list_.Is(i, "!") && list_.Is(i + 1, "=");
    const size_t after = header_ + (list_.Is(header_ + 1, "{") ? 2 : 1);
    const bool guard = i < header_ && IsOneOf(after, "return continue break");
    if (less == guard) return;                                            // n > i
    const size_t begin = i + (list_.Is(i + 1, "=") ? 2 : 1), at = i - 1;  // the name's
    size_t end = begin;
    while (end < list_.size() && end < begin + 32 && !IsOneOf(end, ";)&|?,{"))
      end = list_.closing[end] < list_.size() ? list_.closing[end] + 1 : end + 1;
    const bool member = at > 1 && list_.Is(at - 1, ".");
    const bool sum = at > 2 && IsOneOf(member ? at - 3 : at - 1, "+-*/%");
    NameSet names;
    const std::string text = Joined(list_, begin, end);
    const auto bound = Value(text, i, &names);
    const bool all =
        bound && std::ranges::all_of(names, [&](const auto& one) { return worth_.contains(one); });
    const auto most = all ? bound : Value(text, i, nullptr);
    const int64_t below = most.value_or(0) - (equal == guard ? 1 : 0);
    const int64_t last = sum ? below : LastOf(i, below);
    if (sum) {  // x + j < n: what an index calls by the same text
      size_t first = at;
      while (first > 0 && !IsOneOf(opening(first) - 1, "(;&|?=,{!")) first = opening(first) - 1;
      if (first > 0 && most && last >= 0)
        Bind(i, "(" + Joined(list_, opening(first), i) + ")", last);
      return Use(names);
    }
    const std::string name =
        (member ? std::string(list_[at - 2].text) + "_" : "") + std::string(list_[at].text);
    if (list_[at].kind != TokenKind::kWord || worth_.contains(name)) return;
    if (!most || last < (all ? 1 : 0)) return;
    Bind(i, name, last);
    if (!all) return;
    names.empty() ? sized_.erase(name) : sized_.insert(name).second;
    int64_t halo = Factors(last + 1, guess_).empty() ? 1 : kMostHalo + 1;
    while (halo <= kMostHalo && Factors(last + 1 + halo, guess_).empty()) ++halo;
    if (halo <= kMostHalo && i < header_) guards_[name] = scope_end_;
    const auto means = MeaningAt(file_, kernel_, kernel_.body_at + list_[i].offset)(name);
    NameSet& its = means && means->empty() ? loops_[name] : found_.used;
    for (const std::string& size : names) AddTo(its, worth_.at(size));
  }

  // The last value below `last` + 1 of the loop in whose header the comparison at `i` is: of
  // for (j = 2; j < 9; j += 4), 6. A loop that begins in each thread elsewhere reaches each value.
  int64_t LastOf(size_t i, int64_t last) const {
    size_t first = head_ + 2, step = i;
    const auto is_name = [&](size_t at) { return list_[at].text == list_[i - 1].text; };
    while (first < i && !(list_.Is(first, "=") && is_name(first - 1))) ++first;
    while (step < header_ && !list_.Is(step, ";")) ++step;
    if (i >= header_ || !list_.Is(head_, "for") || step + 4 > header_ || first == i) return last;
    size_t end = first;
    while (end < header_ && !IsOneOf(end, ";,")) ++end;
    const auto fixed = [&](size_t from, size_t to) {
      NameSet names;
      const auto value = Value(Joined(list_, from, to), i, &names);
      const auto known = [&](const auto& one) { return worth_.contains(one); };
      return std::ranges::all_of(names, known) ? value : std::nullopt;
    };
    const bool adds = is_name(step + 1) && list_.Is(step + 2, "+") && list_.Is(step + 3, "=");
    const auto begin = fixed(first + 1, end), by = fixed(step + 4, header_);
    const bool stops = adds && begin && by && *by > 0 && last >= *begin;
    return stops ? last - (last - *begin) % *by : last;
  }

  void Use(const NameSet& names) {
    for (const std::string& name : names) {
      if (worth_.contains(name)) AddTo(found_.used, worth_.at(name));
    }
  }

  // Of a bracket that closes there, its partner; else the same token.
  size_t opening(size_t at) const {
    if (!IsOneOf(at, ")]}")) return at;
    for (size_t i = at; i-- > 0 && at - i < 64;) {
      if (list_.closing[i] == at) return i;
    }
    return at;
  }

  // Bytes of T in "(T*)" and "reinterpret_cast<const T*>" in [begin, end); 0: there is none.
  static int64_t CastBytes(const TokenList& list, size_t begin, size_t end) {
    for (size_t i = begin; i + 1 < end; ++i) {
      const bool cast = list.Is(i + 1, "*") && (list.Is(i + 2, ")") || list.Is(i + 2, ">"));
      if (const auto bytes = BytesOf(std::string(list[i].text)); cast && bytes) return *bytes;
    }
    return 0;
  }

  // tensor[index], name[index] where the name stands for tensor + offset, ((float4*)tensor)[index].
  void ReadIndex(size_t at) {
    const size_t begin = opening(at - 1);
    const bool word = list_[begin].kind == TokenKind::kWord, bracket = list_.Is(begin, "(");
    const bool call =
        bracket && list_[begin - 1].kind == TokenKind::kWord && !list_.Is(begin - 1, "return");
    if (begin == 0 || (!word && !bracket) || call || IsOneOf(begin - 1, ". ->")) return;
    const std::string pointer = Joined(list_, begin, at),
                      inner = Joined(list_, at + 1, list_.closing[at]);
    const Meaning meaning = MeaningAt(file_, kernel_, kernel_.body_at + list_[at].offset);
    const TokenList alias =
        Tokenize(texts_.emplace_back(word ? meaning(pointer).value_or("") : ""));
    const size_t cast =
        bracket && list_.Is(begin - 1, ">") ? begin - std::min<size_t>(begin, 6) : begin;
    const int64_t bytes = std::max(CastBytes(list_, cast, at), CastBytes(alias, 0, alias.size()));
    const bool address =
        list_.Is(begin - 1, "&") || (list_.Is(begin - 1, "(") && list_.Is(begin - 2, "&"));
    Access(begin, list_.closing[at] + 1, pointer, inner, bytes,
           address ? CastBytes(list_, begin - std::min<size_t>(begin, 8), begin) : 0);
  }

  // *p, *(p + i), *(float4*)(p + i)
  void ReadDereference(size_t i) {
    const bool cast =
        i - 1 == header_ || (list_.Is(i - 1, ")") && CastAt(list_, opening(i - 1)) == i - 1);
    const bool word = list_[i - 1].kind == TokenKind::kWord && !IsOneOf(i - 1, "return else");
    if (!cast && (word || list_[i - 1].kind == TokenKind::kNumber || IsOneOf(i - 1, ")]"))) return;
    size_t at = i + 1;
    const bool casts = list_.Is(at, "(") && list_.closing[at] < list_.size() &&
                       list_.Is(list_.closing[at] - 1, "*");
    if (casts) at = list_.closing[at] + 1;
    if (CastAt(list_, at) < list_.size()) at = CastAt(list_, at) + 1;
    const size_t end =
        list_.Is(at, "(") && list_.closing[at] < list_.size() ? list_.closing[at] + 1 : at + 1;
    if (at >= list_.size() || list_.Is(at, "&") || list_.Is(end, "[") || list_.Is(end, "(")) return;
    Access(i, end, Joined(list_, at, end), "0", 0, CastBytes(list_, i, at));
  }

  // "&p[i]" as "p + (i)"
  std::string PointerText(size_t begin, size_t end) const {
    if (!list_.Is(begin, "&")) return Joined(list_, begin, end);
    size_t open = begin + 1;
    while (open < end && !list_.Is(open, "[")) ++open;
    return Joined(list_, begin + 1, open) + " + (" + Joined(list_, open + 1, end - 1) + ")";
  }

  // Functions that load or store through a pointer; what the file defines itself; others, which
  // may go anywhere from a pointer.
  void ReadCall(size_t i) {
    const std::string_view name = list_[i].text;
    const auto helper = std::ranges::find(file_.helpers, name, &CudaFunction::name);
    size_t open = i + 1;  // f(x), f<16>(x)
    while (helper != file_.helpers.end() && list_.Is(i + 1, "<") && open < i + 32 &&
           !IsOneOf(open, "(;"))
      ++open;
    if (!list_.Is(open, "(") || list_.closing[open] >= list_.size()) return;
    if (IsOneOf(i, "if for while sizeof")) return;
    const auto given = SplitAtCommas(list_, open + 1, list_.closing[open]);
    if (helper != file_.helpers.end()) return ReadHelper(*helper, given);
    const bool stores =
        name.starts_with("__st") || name.starts_with("atomic") || name == "store_matrix_sync";
    const bool tiles = name.ends_with("_matrix_sync");
    found_.whole |= tiles;
    for (size_t n = 0; n < given.size(); ++n) {
      const auto [begin, end] = given[n];
      NameSet names;
      const std::string pointer = PointerText(begin, end);
      Value(pointer, i, &names);
      const bool its = n == (name == "load_matrix_sync" ? 1 : 0);
      const bool at_index = list_.Is(begin, "&");  // which is read as such
      if (its && (tiles || ((stores || name.starts_with("__ld")) && !at_index))) {
        Access(i, i, pointer, "0", 0, 0, stores);
      } else if (!at_index || !its) {
        for (const std::string& one : names) {
          if (tensors_.contains(one)) found_.open.insert(tensors_.at(one));
        }
      }
    }
  }

  void ReadHelper(const CudaFunction& helper, const std::vector<std::pair<size_t, size_t>>& given) {
    std::map<std::string, std::string> called;
    Values last, moved;
    const bool deep = calls_ >= kMostCalls || found_.left < helper.body.size();
    for (size_t n = 0; n < std::min(given.size(), helper.parameters.size()); ++n) {
      const auto [begin, end] = given[n];
      const std::string text = PointerText(begin, end), name = helper.parameters[n].name;
      NameSet names;
      Value(text, begin, &names);
      const auto most = Value(text, begin, nullptr);
      for (const std::string& one : names) {
        if (!tensors_.contains(one)) continue;
        called[name] = tensors_.at(one);
        if (!most || deep) found_.open.insert(tensors_.at(one));
        moved[name] = most.value_or(0) + moved_[one];
      }
      for (const auto& [size, worth] : world_) {
        if (worth_.contains(text) && worth == most) called[name] = size;
      }
      if (!called.contains(name) && most && *most >= 0) last[name] = *most;
    }
    if (deep) return;
    found_.left -= helper.body.size();
    Reader(file_, helper, guess_, world_, called, extents_, found_).Read(last, moved, calls_ + 1);
  }

  // p += offset, which later indices begin at; in a loop it goes we do not know where.
  void ReadMove(size_t i) {
    const std::string name(list_[i].text);
    const bool assigns = list_.Is(i + 1, "=") && !list_.Is(i + 2, "="), adds = Moves(i);
    if (assigns || Steps(i) || (adds && i < loop_end_)) found_.open.insert(tensors_.at(name));
    if (!adds || i < loop_end_) return;
    size_t end = i + 3;
    while (end < list_.size() && !list_.Is(end, ";")) ++end;
    offsets_[name] += " + (" + Joined(list_, i + 3, end) + ")";
  }

  // Of tokens [begin, end), which `pointer` + `inner` is; of elements of `bytes`, if it is cast
  // before, and of `more` bytes, if after. 0: of the tensor's own.
  void Access(size_t begin, size_t end, const std::string& pointer, const std::string& inner,
              int64_t bytes, int64_t more, bool stores = false) {
    NameSet names, again;
    Value(pointer, begin, &names);
    std::string tensor, parameter;
    for (const std::string& one : names) {
      if (tensors_.contains(one)) tensor = tensors_.at(one), parameter = one;
    }
    if (tensors_.contains(pointer)) tensor = tensors_.at(pointer), parameter = pointer;
    if (tensor.empty()) {
      Value(pointer + " + (" + inner + ")", begin, &names);
      return Use(names);
    }
    const auto own = std::ranges::find(kernel_.parameters, parameter, &CudaParameter::name);
    const auto known = own == kernel_.parameters.end() ? std::nullopt : BytesOf(own->element);
    const int64_t element = known.value_or(BytesOfTensor(guess_, tensor));
    const auto width = [&](int64_t of) { return std::max<int64_t>(of / element, 1); };
    const std::string by = width(bytes) > 1 ? " * " + std::to_string(width(bytes)) : "";
    const std::string index = pointer + offsets_[parameter] + " + (" + inner + ")" + by;
    names.clear();
    const auto base = Value(index, begin, &names);
    Use(names);
    const bool written = stores || IsWritten(begin, end), assigns = stores || IsAssigned(end);
    found_.whole |= width(std::max(bytes, more)) > 1;  // no remainder
    const int64_t at_once = std::max(width(bytes), width(more));
    std::string guarded = index;  // with what conditions say of sums
    for (const auto& [sum, value] : last_) {
      const size_t in = sum.starts_with('(') ? guarded.find(sum) : guarded.npos;
      if (in != guarded.npos) guarded.replace(in, sum.size(), "(" + std::to_string(value) + ")");
    }
    const auto most = Value(guarded, begin, nullptr);
    const int64_t vectors = (most.value_or(0) + moved_[parameter]) / at_once + 1;
    int64_t& reach = found_.reach[tensor];
    const bool far = !most || vectors > kMost * 4 / at_once / element;
    far ? void(found_.open.insert(tensor))
        : void(reach = std::max(reach, vectors * at_once * element));
    Values strides;
    for (const std::string& one : names) {
      const auto moved = Value(index, begin, &again, {{one, 1}});
      const bool step = base && moved && *moved != *base && !tensors_.contains(one);
      if (step) strides[one] = std::abs(*moved - *base);
    }
    if (written) found_.written.insert(tensor);
    const bool reads = written || !list_.Is(begin - 1, "&");
    const bool first = assigns && assigned_.emplace(tensor, End(begin)).second;
    if (assigns && !first) found_.guarded.erase(tensor);  // another statement may write the border
    const bool unset = !assigned_.contains(tensor) || begin < assigned_.at(tensor);
    if (!assigns && reads && unset && !before_.contains(tensor)) found_.read_first.insert(tensor);
    if (!base) return;
    std::set<int64_t> steps;
    bool block = false, thread = false;
    for (const auto& [name, stride] : strides) {
      if (written) indices_.insert(name);
      indexed_.insert(name);
      block = block || name.starts_with("blockIdx_");
      thread = thread || name.starts_with("threadIdx_");
      if (first && guards_.contains(name) && begin < guards_.at(name))
        found_.guarded.insert(tensor);
      const std::string axis = name.substr(name.find('_') + 1);
      const bool tile = name.starts_with("blockIdx_") && names.contains("threadIdx_" + axis) &&
                        last_.contains("threadIdx_" + axis);
      if (stride > at_once && !tile && !Factors(stride, guess_).empty()) steps.insert(stride);
    }
    found_.whole |= block && thread;
    Shape shape;
    int64_t last = 1;
    for (const int64_t step : steps) {
      if (step % last != 0) shape.clear(), last = 1;  // the step of a vector is no extent
      const Shape extent = Factors(step / last, guess_);
      shape.insert(shape.begin(), extent.begin(), extent.end());
      last = step;
    }
    found_.inner.insert(shape.begin(), shape.end());
    // The extent outside of those `last` contiguous elements.
    const auto last_one = Value(index, begin, &names, last_);
    const bool open = !last_one || std::ranges::any_of(strides, [&](const auto& one) {
      const bool odd = one.second % last != 0 || one.second / last > kRound;  // w * (16 - 2 * n)
      return one.second >= last && (!last_.contains(one.first) || odd);
    });
    const int64_t extent = open ? 0 : std::abs(*last_one - *base) / last + 1;
    Shape outer = NearFactors(extent, guess_);
    for (size_t axis = 0; axis < 3 && outer.empty(); ++axis) {  // one for each block
      const auto grid = worth_.find(std::string("gridDim_") + "xyz"[axis]);
      const bool its = grid != worth_.end() && grid->second == extent && extent > 1;
      if (its && !IsConstant(extents_[axis]))
        outer = {IsIdentifier(extents_[axis]) ? extents_[axis] : "(" + extents_[axis] + ")"};
    }
    const bool sized = *base > kRound || std::ranges::any_of(strides, [&](const auto& one) {
      return one.second >= last && sized_.contains(one.first);
    });
    if (outer.empty()) outer = {extent > 0 && !sized ? std::to_string(extent) : ""};
    shape.insert(shape.begin(), outer.begin(), outer.end());
    Shape& best = found_.shapes[tensor];  // as long as possible, and known
    const bool longer =
        shape.size() > best.size() || ElementsIn(world_, shape) > ElementsIn(world_, best);
    if (longer && shape.size() >= best.size()) best = shape;
  }

  // Of the statement at a token, or of what it leaves out if it returns.
  size_t End(size_t at) const {
    const size_t first = at + (list_.Is(at, "{") ? 1 : 0);
    if (list_.Is(first, "return")) return list_.size();
    if (list_.Is(first, "continue") || list_.Is(first, "break")) return loop_end_;
    while (at < list_.size() && !list_.Is(at, ";")) {
      if (list_.Is(at, "{")) return list_.closing[at];
      at = list_.closing[at] < list_.size() ? list_.closing[at] + 1 : at + 1;
    }
    return at;
  }
  bool IsAssigned(size_t end) const {
    end += list_.Is(end, ".") ? 2 : 0;
    return list_.Is(end, "=") && !list_.Is(end + 1, "=");
  }
  bool IsWritten(size_t begin, size_t end) const {
    const size_t after = end + (list_.Is(end, ".") ? 2 : 0);
    const bool adds = list_.Is(after + 1, "=") && IsOneOf(after, "+-*/|&^");
    const bool steps = IsOneOf(after, "+-") && list_.Is(after + 1, list_[after].text);
    const size_t call = begin - (list_.Is(begin - 1, "&") ? 3 : 4);
    return adds || steps || IsAssigned(end) ||
           (begin > 3 && list_[call].text.starts_with("atomic"));
  }

  const CudaFile& file_;
  const CudaFunction& kernel_;
  const Guess& guess_;
  const Sizes& world_;
  const LaunchExtents extents_;
  std::deque<std::string> texts_;  // of macros
  const TokenList list_;
  Findings& found_;
  const NameSet before_;                             // tensors that an earlier kernel wrote
  std::map<std::string, std::string> tensors_;       // parameter -> the task's name
  std::map<std::string, std::string> offsets_;       // parameter -> " + (i * n)", since p += i * n
  Values worth_, last_;                              // what a name is, or is at most
  Values moved_;                                     // parameter -> where its caller begins
  std::map<std::string, NameSet> loops_;             // name -> sizes that bound its loop
  NameSet indices_, indexed_;                        // names in an index of what is written, of any
  NameSet sized_, changed_;                          // whose bound a size is; which are stepped
  std::vector<std::pair<size_t, Values>> scopes_;    // that we are in: their end, last_ before
  size_t head_ = 0, header_ = 0, scope_end_ = 0;     // the last if, for, while: its ), its end
  size_t loop_end_ = 0;                              // of the loops so far
  int calls_ = 0;                                    // of functions that we are in
  std::map<std::string, size_t> guards_, assigned_;  // where a guard's, a first write's reach ends
};

bool LooksLikeOutput(const std::string& name) {
  const std::string lower = AsciiLower(name);
  const auto holds = [&](const char* word) { return lower.find(word) != lower.npos; };
  const bool alone = std::string_view("|y|c|z|o|d_c|d_y|").find("|" + lower + "|") != lower.npos;
  return alone || holds("out") || holds("result") || holds("dst") || holds("dest");
}

// Pointers to const are inputs, and so is what is only read where something is written in sight.
// Else names decide, and at last the order.
void AssignRoles(const NameSet& written, const std::map<std::string, Shape>& read, Guess& guess) {
  const auto& parameters = guess.function->parameters;
  const auto constants = std::ranges::count_if(
      parameters, [](const CudaParameter& one) { return one.pointers > 0 && one.constant; });
  size_t at = 0;
  for (const CudaParameter& parameter : parameters) {
    if (parameter.pointers == 0) continue;
    GuessedTensor& tensor = guess.tensors[at++];
    const bool unseen = constants > 0 && (written.empty() || !read.contains(tensor.name));
    const bool named = constants == 0 && written.empty() && LooksLikeOutput(tensor.name);
    tensor.output = !parameter.constant && (unseen || named || written.contains(tensor.name));
  }
  const bool none = std::ranges::none_of(guess.tensors, &GuessedTensor::output);
  if (none && constants == 0) guess.tensors.back().output = true;
}

// Of the kernel itself, or of those that the program launches.
Findings ReadKernels(const CudaFile& file, Guess& guess, const Sizes& world) {
  Findings all;
  const CudaFunction& function = *guess.function;
  CudaLaunch itself{function.name, {}, {}};
  for (const CudaParameter& one : function.parameters) itself.arguments.push_back(one.name);
  const auto launches = function.kernel ? std::vector{itself} : function.launches;
  for (size_t n = 0; n < std::min<size_t>(launches.size(), 8); ++n) {
    const auto& [name, configuration, given, offset] = launches[n];
    const auto kernel = std::ranges::find(file.functions, name, &CudaFunction::name);
    if (kernel == file.functions.end() || !kernel->kernel) continue;
    std::map<std::string, std::string> called;
    for (size_t i = 0; i < std::min(given.size(), kernel->parameters.size()); ++i) {
      const auto& own = function.parameters;
      const auto at =
          std::ranges::find(own, PointerIn(given[i]), &CudaParameter::name) - own.begin();
      if (at == std::ssize(own)) continue;
      const auto& [kind, value, invented] = guess.arguments[static_cast<size_t>(at)];
      if (kind == "tensor" || kind.front() == 'i') called[kernel->parameters[i].name] = value;
    }
    LaunchExtents extents = ExtentsOf(file, guess, launches[n]);
    if (function.kernel)
      std::ranges::copy(guess.block, std::ranges::copy(guess.grid, extents.begin()).out);
    Reader(file, *kernel, guess, world, called, extents, all).Read({}, {}, 0);
  }
  return all;
}

// What cudaMalloc gave the tensor decides how many elements it has, unless the indices need more, or
// tell as many in the kernel's own sizes.
void UseAllocation(const GuessedTensor& tensor, const Guess& guess, const Sizes& primes,
                   Shape& shape) {
  const int64_t elements = In(primes, tensor.bytes) / ElementBytes(tensor.dtype);
  const bool known = !shape.empty() && !shape.front().empty();
  const Shape inner(shape.begin() + (known || shape.empty() ? 0 : 1), shape.end());
  const int64_t part = inner.empty() ? 1 : ElementsIn(primes, inner);
  if (elements < 1 || (known && elements <= part)) return;
  if (WordsIn(tensor.bytes).empty()) {
    Sizes values;
    for (const GuessedSize& size : guess.sizes) values[size.name] = size.value;
    const bool same = known && ValueOf(Joined(shape, " * "), values) == elements;
    if (!same) shape = {std::to_string(elements)};
    return;
  }
  Shape outer = elements % part == 0 ? Factors(elements / part, guess) : Shape();
  const TokenList bytes = Tokenize(tensor.bytes);
  std::ranges::stable_sort(outer, {}, [&](const std::string& size) {  // as it is written there
    const auto its = std::ranges::find(bytes.tokens, size, &Token::text) - bytes.tokens.begin();
    return AsciiLower(size).starts_with('w') ? std::ssize(bytes.tokens) : its;  // width * height
  });
  if (!outer.empty()) {
    outer.insert(outer.end(), inner.begin(), inner.end());
    shape = outer;
  } else if (!known && elements != part) {
    shape = {"(" + tensor.bytes + ") / " + std::to_string(ElementBytes(tensor.dtype))};
  } else if (!known) {
    shape = inner;
  }
}

// Makes a shape hold the elements that are indexed, as far as a few more or another factor do.
void Enlarge(const Guess& guess, const Sizes& rounds, int64_t at_primes, int64_t at_rounds,
             Shape& shape) {
  const auto holds = [&](const Shape& one) { return ElementsIn(rounds, one) >= at_rounds; };
  if (shape.empty() || shape.front().empty() || holds(shape)) return;
  const Shape factors = NearFactors(at_primes, guess, kMostPlanes);
  const bool fit = holds(factors) && ElementsIn(rounds, factors) <= at_rounds + kRound;
  const int64_t more = at_rounds - ElementsIn(rounds, shape);
  if (fit) {
    shape = factors;
  } else if (shape.size() == 1 && more <= kMostPlanes) {  // [n + 1]; of others ReachOf tells
    shape[0] =
        IsConstant(shape[0]) ? std::to_string(at_rounds) : shape[0] + " + " + std::to_string(more);
  }
}

}  // namespace

void ShapeTensors(const CudaFile& file, Guess& guess) {
  const std::array<Sizes, 2> worlds = {WorldOf(guess, false), WorldOf(guess, true)};
  Values round = ReadKernels(file, guess, worlds[1]).reach;
  Findings seen = ReadKernels(file, guess, worlds[0]);
  const NameSet &used = seen.used, &inner = seen.inner;
  for (GuessedTensor& one : guess.tensors) {
    one.read_first = seen.read_first.contains(one.name);
    one.guarded = seen.guarded.contains(one.name);
  }
  guess.whole = seen.whole;
  AssignRoles(seen.written, seen.shapes, guess);
  std::erase_if(seen.counts, [&](const std::string& size) { return used.contains(size); });
  const auto is_outer = [&](const std::string& size) { return !inner.contains(size); };
  Shape ordered, output;
  for (const GuessedSize& size : guess.sizes) {
    const bool argument = std::ranges::count(guess.arguments, size.name, &GuessedArgument::value);
    if (argument && !seen.counts.contains(size.name)) ordered.push_back(size.name);
  }
  if (ordered.empty() && !guess.sizes.empty()) ordered = {guess.sizes.front().name};
  if (ordered.size() > 8) ordered.resize(8);
  std::stable_partition(ordered.begin(), ordered.end(), is_outer);
  Shape whole = ordered;  // of a tensor that no index shows: what the kernel has to do with
  std::erase_if(whole, [&](const std::string& size) { return !used.contains(size); });
  if (whole.empty()) whole = ordered;
  Shape front = whole;  // what may be the first extent
  front.insert(front.end(), ordered.begin(), ordered.end());
  for (const bool outputs : {true, false}) {
    for (GuessedTensor& tensor : guess.tensors) {
      if (tensor.output != outputs) continue;
      Shape& shape = tensor.shape = seen.shapes[tensor.name];
      const bool unsure = seen.open.contains(tensor.name);
      if (unsure && std::ranges::all_of(shape, IsConstant)) shape.clear();
      UseAllocation(tensor, guess, worlds[0], shape);
      // Where an index is not known, the others do not tell the whole.
      Shape allocated;
      if (unsure && !WordsIn(tensor.bytes).empty())
        UseAllocation(tensor, guess, worlds[0], allocated);
      if (ElementsIn(worlds[0], allocated) > ElementsIn(worlds[0], shape)) shape = allocated;
      const bool read = !shape.empty() && shape != Shape{""};
      if (!read) shape = output.empty() ? whole : output;
      for (const bool of_sum : {!outputs, false}) {  // an input's may be a size that is summed
        for (const std::string& size : front) {
          const bool fits =
              !of_sum || (inner.contains(size) && std::ranges::count(output, size) == 0);
          if (fits && shape.front().empty() && std::ranges::count(shape, size) == 0)
            shape.front() = size;
        }
      }
      if (shape.front().empty()) shape.front() = shape.back();
      if (tensor.bytes.empty()) std::stable_partition(shape.begin(), shape.end(), is_outer);
      if (shape.size() > 1) std::erase(shape, "1");
      if (shape.empty()) shape = {"1"};
      const int64_t bytes = BytesOfTensor(guess, tensor.name);
      Enlarge(guess, worlds[1], seen.reach[tensor.name] / bytes, round[tensor.name] / bytes, shape);
      const bool flat = !tensor.bytes.empty() && shape.size() == 1 && IsConstant(shape[0]);
      const int64_t width = bytes / ElementBytes(tensor.dtype);
      if (width > 1 && !flat) {  // float2: two of the task's elements
        const auto its = std::ranges::find(shape, std::to_string(width));
        if (its != shape.end() && !tensor.bytes.empty()) shape.erase(its);
        shape.push_back(std::to_string(width));
      }
      const bool told = read && !std::ranges::all_of(shape, is_outer);
      if (std::ranges::count_if(shape, IsIdentifier) > 1 && !told) {
        guess.unread += (guess.unread.empty() ? "" : ", ") + tensor.name;
      }
      if (outputs && output.empty()) output = shape;
    }
  }
  for (const std::string& size : ordered) {  // what only inputs have is summed, or one loop's size
    const auto has = [&](const GuessedTensor& tensor) {
      return !tensor.output && std::ranges::count(tensor.shape, size) > 0;
    };
    const auto factors = std::ranges::count_if(guess.tensors, has);
    const bool square = seen.summed == NameSet{size} && output.size() > 1;
    const bool kept = !square && std::ranges::count(output, size) > 0;
    if (factors == 0 || kept || !guess.unread.empty()) continue;
    std::string& length = guess.reduction_length;
    length = length == "1" ? size : length + " * " + size;
    const bool product = factors > 1 && output.size() > 1;
    if (product) guess.flops = "2 * " + Joined(output, " * ") + " * " + size;
  }
}

std::pair<std::string, std::string> ReachOf(const CudaFile& file, Guess& guess,
                                            int64_t GuessedSize::*value) {
  Sizes world;
  for (const GuessedSize& size : guess.sizes) world[size.name] = size.*value;
  Findings found = ReadKernels(file, guess, world);
  std::vector<std::string> past_end, unread;
  for (const GuessedTensor& tensor : guess.tensors) {
    const int64_t elements = ElementsIn(world, tensor.shape), element = ElementBytes(tensor.dtype);
    const int64_t last = found.reach[tensor.name] / element;
    const bool told = !tensor.bytes.empty() && In(world, tensor.bytes) <= elements * element;
    if (last > elements)
      past_end.push_back(tensor.name + " (element " + std::to_string(last) + " of " +
                         std::to_string(elements) + ")");
    if (found.open.contains(tensor.name) && !told) unread.push_back(tensor.name);
  }
  return {Joined(past_end), Joined(unread)};
}

}  // namespace warpsmith::task
