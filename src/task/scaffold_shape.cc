// How kernels index their tensors tells the tensors' shapes: of in[y * width + x], width is the
// contiguous size. An index is read by experiment: each size is a large prime, so that a stride or
// an extent tells of which sizes it is the product.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "base/utf8.h"
#include "core/cuda_tokens.h"
#include "core/expression.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

constexpr int64_t kPrimes[] = {20011, 22921, 25841, 28751, 31657, 34583, 37489, 40423};
constexpr int64_t kRound = 1024;      // a launch rounds sizes up or down to its blocks
constexpr int64_t kMostChannels = 4;  // [height, width, 3]
constexpr int64_t kMostHalo = 8;      // elements that a stencil leaves out at an end
constexpr size_t kMostRead = 512;     // indices and comparisons of a kernel

using Shape = std::vector<std::string>;
using NameSet = std::set<std::string>;
using Values = std::map<std::string, int64_t>;

// 60033 is the first size and 3. Empty: more than sizes and channels.
Shape Factors(int64_t value, const Guess& guess) {
  Shape factors;
  for (size_t i = 0; i < std::min(guess.sizes.size(), std::size(kPrimes)); ++i) {
    for (; value > 0 && value % kPrimes[i] == 0; value /= kPrimes[i]) {
      factors.push_back(guess.sizes[i].name);
    }
  }
  if (value < 1 || value > kMostChannels) return {};
  if (value > 1) factors.push_back(std::to_string(value));
  return factors;
}

// Likewise of a number that was rounded, or has a halo: n - 1, ceil_div(n, 256) * 256.
Shape NearFactors(int64_t value, const Guess& guess) {
  Shape factors;
  for (int64_t by = 0; by <= kRound && value > kPrimes[0] - kRound && factors.empty(); ++by) {
    factors = Factors(value - by, guess);
    if (factors.empty()) factors = Factors(value + by, guess);
  }
  return factors;
}

bool IsConstant(const std::string& text) { return std::ranges::all_of(text, IsDigit); }

// Of a product or another expression; 0: it is beyond us.
int64_t AtPrimes(const std::string& text, const Guess& guess) {
  Sizes sizes;
  for (size_t i = 0; i < std::min(guess.sizes.size(), std::size(kPrimes)); ++i) {
    sizes[guess.sizes[i].name] = kPrimes[i];
  }
  return ValueOf(text, sizes).value_or(0);
}

// Reads the indices of one kernel, whose parameters the task calls by the names in `called`.
class Reader {
 public:
  Reader(const CudaFile& file, const CudaFunction& kernel, const Guess& guess,
         const std::map<std::string, std::string>& called, const LaunchExtents& extents)
      : file_(file),
        kernel_(kernel),
        guess_(guess),
        extents_(extents),
        list_(Tokenize(kernel.body)) {
    for (const auto& [parameter, name] : called) {
      const auto size = std::ranges::find(guess.sizes, name, &GuessedSize::name);
      const auto at = static_cast<size_t>(size - guess.sizes.begin());
      if (size == guess.sizes.end()) tensors_[parameter] = name;
      if (at < std::min(guess.sizes.size(), std::size(kPrimes))) worth_[parameter] = kPrimes[at];
    }
    for (size_t axis = 0; axis < 3; ++axis) {
      const std::string at = std::string("_") + "xyz"[axis];
      const int64_t grid = AtPrimes(extents[axis], guess),
                    block = AtPrimes(extents[axis + 3], guess);
      if (grid > 0) worth_["gridDim" + at] = grid, last_["blockIdx" + at] = grid - 1;
      if (!IsConstant(extents[axis])) sized_.insert("blockIdx" + at);
      if (block > 0) worth_["blockDim" + at] = block, last_["threadIdx" + at] = block - 1;
    }
    size_t left = kMostRead;
    for (size_t i = 1; i + 1 < list_.size() && left > 0; ++i) {
      const bool compares = list_.Is(i, "<") || (list_.Is(i, ">") && list_.Is(i + 1, "="));
      const bool indexes = list_[i].kind == TokenKind::kWord && list_.Is(i + 1, "[");
      const auto worth = worth_.find(std::string(list_[i].text));
      if (list_.Is(i - 1, "%") && worth != worth_.end())
        inner.insert(Factors(worth->second, guess_)[0]);
      whole = whole || (list_.Is(i + 1, "/") && worth != worth_.end() &&
                        !Factors(worth->second, guess_).empty());
      if (list_.Is(i, "if") && list_.Is(i + 1, "(")) condition_ = i + 1;
      if (compares) ReadBound(i);
      if (indexes && list_.closing[i + 1] < list_.size()) ReadIndex(i);
      left -= compares || indexes ? 1 : 0;
    }
  }

  std::map<std::string, Shape> shapes;  // of tensors; the first extent may be empty: not known
  NameSet inner, written;               // sizes that are strides; tensors
  NameSet read_first, guarded;          // tensors: before a write; without their border
  bool whole = false;                   // an index goes as far as the launch does, or n / 16

  // Sizes that bound loops over what indexes nothing that is written: sums.
  NameSet Summed() const {
    NameSet summed;
    for (const auto& [name, sizes] : loops_) {
      if (!indices_.contains(name)) summed.insert(sizes.begin(), sizes.end());
    }
    return summed;
  }
  NameSet used;  // sizes in indices and bounds
  // Those that only say how often a loop runs whose counter indexes nothing.
  NameSet Counts() const {
    NameSet counts;
    for (const auto& [name, sizes] : loops_) {
      if (!indexed_.contains(name)) counts.insert(sizes.begin(), sizes.end());
    }
    std::erase_if(counts, [&](const std::string& size) { return used.contains(size); });
    return counts;
  }

 private:
  // With sizes as primes, and each other name, which `names` collects, as given, else 0.
  std::optional<int64_t> Try(const std::string& text, size_t at, NameSet& names,
                             const Values& given) const {
    const Meaning there = MeaningAt(file_, kernel_, kernel_.body_at + list_[at].offset);
    const Meaning meaning = [&](const std::string& name) {
      auto means = there(name);
      if (!means && name.find('.') != name.npos)
        std::ranges::replace(means.emplace(name), '.', '_');
      return means;  // threadIdx.x is threadIdx_x
    };
    const IsSize is_leaf = [&](std::string_view word) {
      const std::string name(word);
      const auto means = there(name);
      const bool leaf = worth_.contains(name) || tensors_.contains(name) || !means ||
                        last_.contains(name) || means->empty() || means->find('[') != means->npos;
      if (leaf) names.insert(name);
      return leaf;
    };
    const auto expression = AsExpression(text, meaning, is_leaf);
    if (!expression) return std::nullopt;
    Sizes sizes;
    for (const std::string& name : names) {
      const Values& values = worth_.contains(name) ? worth_ : given;
      sizes[name] = values.contains(name) ? values.at(name) : 0;
    }
    const auto value = Expression::Parse(*expression)->Evaluate(sizes);
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

  // `i < n` or `row >= rows`, whose operator is at `i`. It holds for the indices after it.
  void ReadBound(size_t i) {
    const size_t begin = i + (list_.Is(i + 1, "=") ? 2 : 1);
    const bool sum =
        i > 1 && std::string_view("+-*/%.").find(list_[i - 2].text) != std::string::npos;
    size_t end = begin;
    while (end < list_.size() && end < begin + 32 &&
           std::string_view(";)&|?,{").find(list_[end].text) == std::string_view::npos) {
      end = list_.closing[end] < list_.size() ? list_.closing[end] + 1 : end + 1;
    }
    NameSet names;
    const auto bound = Try(Joined(list_, begin, end), i, names, {});
    const auto known = [&](const std::string& one) { return worth_.contains(one); };
    const bool good = !sum && bound && *bound > 1 && std::ranges::all_of(names, known);
    for (const std::string& one : names) {
      if (sum) Use(one);
    }
    if (!good) return;
    const std::string name(list_[i - 1].text);
    last_[name] = *bound - 1;
    names.empty() ? sized_.erase(name) : sized_.insert(name).second;
    const int64_t to = *bound + (list_.Is(i, "<") && list_.Is(i + 1, "=") ? 1 : 0);
    int64_t halo = Factors(to, guess_).empty() ? 1 : kMostHalo + 1;
    while (halo <= kMostHalo && Factors(to + halo, guess_).empty()) ++halo;
    const size_t close = condition_ > 0 ? list_.closing[condition_] : 0;
    if (halo <= kMostHalo && i < close) guards_[name] = End(close + 1);
    const auto means = MeaningAt(file_, kernel_, kernel_.body_at + list_[i].offset)(name);
    for (const std::string& size : names) {
      const Shape sizes = Factors(worth_.at(size), guess_);
      const bool counts = means && means->empty();
      (counts ? loops_[name] : used).insert(sizes.begin(), sizes.end());
    }
  }

  void Use(const std::string& name) {
    const Shape sizes = worth_.contains(name) ? Factors(worth_.at(name), guess_) : Shape();
    used.insert(sizes.begin(), sizes.end());
  }

  // tensor[index], or name[index] where the name stands for tensor + offset.
  void ReadIndex(size_t at) {
    const std::string pointer(list_[at].text);
    const std::string index = pointer + " + (" + Joined(list_, at + 2, list_.closing[at + 1]) + ")";
    NameSet names, again;
    const auto base = Try(index, at, names, {});
    for (const std::string& one : names) Use(one);
    std::string tensor;
    Values strides;
    for (const std::string& one : names) {
      const auto moved = Try(index, at, again, {{one, 1}});
      if (base && tensors_.contains(one)) tensor = tensors_.at(one);
      const bool step = base && moved && *moved != *base && !tensors_.contains(one);
      if (step) strides[one] = std::abs(*moved - *base);
    }
    if (tensors_.contains(pointer)) tensor = tensors_.at(pointer);
    if (tensor.empty()) return;
    if (IsWritten(at)) written.insert(tensor);
    const bool assigns = IsAssigned(at), reads = IsWritten(at) || !list_.Is(at - 1, "&");
    const bool first = assigns && assigned_.emplace(tensor, End(at)).second;
    if (assigns && !first) guarded.erase(tensor);  // another statement may write the border
    if (!assigns && reads && (!assigned_.contains(tensor) || at < assigned_.at(tensor)))
      read_first.insert(tensor);
    if (!base) return;
    std::set<int64_t> steps;
    bool block = false, thread = false;
    for (const auto& [name, stride] : strides) {
      if (IsWritten(at)) indices_.insert(name);
      indexed_.insert(name);
      block = block || name.starts_with("blockIdx_");
      thread = thread || name.starts_with("threadIdx_");
      if (first && guards_.contains(name) && at < guards_.at(name)) guarded.insert(tensor);
      const std::string axis = name.substr(name.find('_') + 1);
      const bool tile = name.starts_with("blockIdx_") && names.contains("threadIdx_" + axis) &&
                        last_.contains("threadIdx_" + axis);
      if (stride > 1 && !tile && !Factors(stride, guess_).empty()) steps.insert(stride);
    }
    whole = whole || (block && thread);
    Shape shape;
    int64_t last = 1;
    for (const int64_t step : steps) {
      if (step % last != 0) shape.clear(), last = 1;  // the step of a vector is no extent
      const Shape extent = Factors(step / last, guess_);
      shape.insert(shape.begin(), extent.begin(), extent.end());
      last = step;
    }
    inner.insert(shape.begin(), shape.end());
    // The extent outside of those `last` contiguous elements.
    const auto end = Try(index, at, names, last_);
    const bool open = !end || std::ranges::any_of(strides, [&](const auto& one) {
      const bool odd = one.second % last != 0 || one.second / last > kRound;  // w * (16 - 2 * n)
      return one.second >= last && (!last_.contains(one.first) || odd);
    });
    const int64_t extent = open ? 0 : std::abs(*end - *base) / last + 1;
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
    Shape& best = shapes[tensor];  // as long as possible, and known
    const auto elements = [&](const Shape& one) { return AtPrimes(Joined(one, " * "), guess_); };
    const bool longer = shape.size() > best.size() || elements(shape) > elements(best);
    if (longer && shape.size() >= best.size()) best = shape;
  }

  // Of the statement at a token, or of what it leaves out if it returns.
  size_t End(size_t at) const {
    if (list_.Is(at + (list_.Is(at, "{") ? 1 : 0), "return")) return list_.size();
    if (list_.Is(at, "{")) return list_.closing[at];
    while (at < list_.size() && !list_.Is(at, ";")) ++at;
    return at;
  }
  size_t After(size_t at) const {
    const size_t close = list_.closing[at + 1];
    return close + (list_.Is(close + 1, ".") ? 3 : 1);
  }
  bool IsAssigned(size_t at) const {
    return list_.Is(After(at), "=") && !list_.Is(After(at) + 1, "=");
  }
  bool IsWritten(size_t at) const {
    const size_t after = After(at);
    const bool adds = list_.Is(after + 1, "=") &&
                      std::string_view("+-*/|&^").find(list_[after].text) != std::string::npos;
    return adds || IsAssigned(at) ||
           (at > 3 && list_[at - (list_.Is(at - 1, "&") ? 3 : 4)].text.starts_with("atomic"));
  }

  const CudaFile& file_;
  const CudaFunction& kernel_;
  const Guess& guess_;
  const LaunchExtents extents_;
  const TokenList list_;
  std::map<std::string, std::string> tensors_;       // parameter -> the task's name
  Values worth_, last_;                              // what a name is, or is at most
  std::map<std::string, NameSet> loops_;             // name -> sizes that bound its loop
  NameSet indices_, indexed_;                        // names in an index of what is written, of any
  NameSet sized_;                                    // whose bound a size is
  size_t condition_ = 0;                             // the last
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

// Of the kernel itself, or of those that the program launches. Gives the sizes that are strides.
NameSet ReadKernels(const CudaFile& file, Guess& guess, std::map<std::string, Shape>& shapes,
                    NameSet& summed, NameSet& used, NameSet& counts) {
  NameSet inner, written;
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
      const auto at = std::ranges::find(own, given[i], &CudaParameter::name) - own.begin();
      if (at == std::ssize(own)) continue;
      const auto& [kind, value, invented] = guess.arguments[static_cast<size_t>(at)];
      if (kind == "tensor" || kind.front() == 'i') called[kernel->parameters[i].name] = value;
    }
    LaunchExtents extents = ExtentsOf(file, guess, launches[n]);
    if (function.kernel)
      std::ranges::copy(guess.block, std::ranges::copy(guess.grid, extents.begin()).out);
    const Reader reader(file, *kernel, guess, called, extents);
    for (GuessedTensor& one : guess.tensors) {  // what an earlier kernel wrote may be read
      one.read_first |= reader.read_first.contains(one.name) && !written.contains(one.name);
      one.guarded |= reader.guarded.contains(one.name);
    }
    inner.insert(reader.inner.begin(), reader.inner.end());
    written.insert(reader.written.begin(), reader.written.end());
    shapes.insert(reader.shapes.begin(), reader.shapes.end());
    summed.merge(reader.Summed());
    used.insert(reader.used.begin(), reader.used.end());
    const NameSet all = reader.Counts();
    counts.insert(all.begin(), all.end());
    guess.whole |= reader.whole;
  }
  AssignRoles(written, shapes, guess);
  return inner;
}

// What cudaMalloc gave the tensor decides how many elements it has, unless the indices need more, or
// tell as many in the kernel's own sizes.
void UseAllocation(const GuessedTensor& tensor, const Guess& guess, Shape& shape) {
  const int64_t elements = AtPrimes(tensor.bytes, guess) / ElementBytes(tensor.dtype);
  const bool known = !shape.empty() && !shape.front().empty();
  const Shape inner(shape.begin() + (known || shape.empty() ? 0 : 1), shape.end());
  const int64_t part = AtPrimes(inner.empty() ? "1" : Joined(inner, " * "), guess);
  if (elements < 1 || (known && elements <= part)) return;
  if (WordsIn(tensor.bytes).empty()) {
    Sizes values;
    for (const GuessedSize& size : guess.sizes) values[size.name] = size.value;
    const bool same = known && ValueOf(Joined(shape, " * "), values) == elements;
    if (!same) shape = {std::to_string(elements)};
    return;
  }
  Shape outer = elements % part == 0 ? Factors(elements / part, guess) : Shape();
  if (!outer.empty()) {
    outer.insert(outer.end(), inner.begin(), inner.end());
    shape = outer;
  } else if (!known && elements != part) {
    shape = {"(" + tensor.bytes + ") / " + std::to_string(ElementBytes(tensor.dtype))};
  } else if (!known) {
    shape = inner;
  }
}

}  // namespace

void ShapeTensors(const CudaFile& file, Guess& guess) {
  std::map<std::string, Shape> shapes;
  NameSet summed, used, counts;
  const NameSet inner = ReadKernels(file, guess, shapes, summed, used, counts);
  const auto is_outer = [&](const std::string& size) { return !inner.contains(size); };
  Shape ordered, output;
  for (const GuessedSize& size : guess.sizes) {
    const bool argument = std::ranges::count(guess.arguments, size.name, &GuessedArgument::value);
    if (argument && !counts.contains(size.name)) ordered.push_back(size.name);
  }
  if (ordered.empty() && !guess.sizes.empty()) ordered = {guess.sizes.front().name};
  if (ordered.size() > 8) ordered.resize(8);
  std::stable_partition(ordered.begin(), ordered.end(), is_outer);
  Shape whole = ordered;  // of a tensor that no index shows: what the kernel has to do with
  std::erase_if(whole, [&](const std::string& size) { return !used.contains(size); });
  if (whole.empty()) whole = ordered;
  Shape front = whole;  // what may be the first extent
  front.insert(front.end(), ordered.begin(), ordered.end());
  const auto parameter_of = [&](const GuessedTensor& tensor) {
    const auto its = std::ranges::find(guess.arguments, tensor.name, &GuessedArgument::value);
    return static_cast<size_t>(its - guess.arguments.begin());
  };
  for (const bool outputs : {true, false}) {
    for (GuessedTensor& tensor : guess.tensors) {
      if (tensor.output != outputs) continue;
      Shape& shape = tensor.shape = shapes[tensor.name];
      UseAllocation(tensor, guess, shape);
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
      const auto& type = guess.function->parameters[parameter_of(tensor)].element;
      const bool flat = !tensor.bytes.empty() && shape.size() == 1 && IsConstant(shape[0]);
      if (IsDigit(type.back()) && !flat) {  // float2: two of the task's elements
        std::erase(shape, type.substr(type.size() - 1));
        shape.push_back(type.substr(type.size() - 1));
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
    const bool square = summed == NameSet{size} && output.size() > 1;
    const bool kept = !square && std::ranges::count(output, size) > 0;
    if (factors == 0 || kept || !guess.unread.empty()) continue;
    std::string& length = guess.reduction_length;
    length = length == "1" ? size : length + " * " + size;
    const bool product = factors > 1 && output.size() > 1;
    if (product) guess.flops = "2 * " + Joined(output, " * ") + " * " + size;
  }
}

}  // namespace warpsmith::task
