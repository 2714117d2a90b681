#include "task/scaffold.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "core/program_shim.h"
#include "task/cuda_scan.h"
#include "task/scaffold_guess.h"
#include "task/source_files.h"
#include "task/toml_text.h"

namespace warpsmith::task {
namespace {

std::string TensorLine(const Guess& guess, const GuessedTensor& tensor) {
  std::string line = "  { name = " + TomlValue(tensor.name) +
                     ", dtype = " + TomlValue(std::string(Name(tensor.dtype))) +
                     ", role = " + (tensor.output ? "\"output\"" : "\"input\"") +
                     ", shape = " + TomlValue(tensor.shape);
  if (!tensor.output && IsInteger(tensor.dtype)) {
    const bool byte = tensor.dtype == DType::kI8;
    line += ", generator = \"integers\", low = 0, high = " +
            (byte ? "100" : TomlValue(guess.sizes.front().name));
  }
  return line + " },\n";
}

std::string Declaration(const CudaFunction& function) {
  std::string parameters;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const CudaParameter& parameter = function.parameters[i];
    // `float x[]` is read as the type "float" and one pointer.
    const bool array = parameter.pointers == 1 && parameter.type.find('*') == std::string::npos;
    const size_t bracket = parameter.type.find('[');
    parameters += (i == 0 ? "" : ", ") + parameter.type.substr(0, bracket) + (array ? "*" : "") +
                  (parameter.name.empty() ? "" : " " + parameter.name);
  }
  const std::string linkage = function.c_linkage ? "extern \"C\" " : "";
  return linkage + function.result + " " + function.name + "(" + parameters + ")";
}

ProgramEntry EntryOf(const Guess& guess) {
  ProgramEntry entry{Declaration(*guess.function), {}};
  for (const GuessedArgument& argument : guess.arguments) {
    entry.arguments.push_back(argument.kind == "none"   ? "nullptr"
                              : argument.kind == "bool" ? "false"
                                                        : argument.value);
  }
  return entry;
}

std::string ProgramTable(const Guess& guess) {
  const ProgramEntry entry = EntryOf(guess);
  return "# How a program is called: your launcher's own declaration. Each argument is a tensor's "
         "name,\n# or a C++ expression over the sizes.\n[program]\ndeclaration = " +
         TomlValue(entry.declaration) + "\narguments = " + TomlValue(entry.arguments) + "\n\n";
}

std::string WorkloadTable(const Guess& guess, bool hidden) {
  std::string sizes;
  for (const GuessedSize& size : guess.sizes) {
    sizes += (sizes.empty() ? "" : ", ") + size.name + " = " +
             std::to_string(hidden ? size.odd_value : size.value);
  }
  return "[[workloads]]\nname = " + std::string(hidden ? "\"odd\"\nhidden = true" : "\"main\"") +
         "\nsizes = { " + sizes + " }\n";
}

std::string TaskText(const ScaffoldInput& input, const Guess& guess) {
  std::string text =
      "# A task for " + input.entry +
      ": what must be computed, on which sizes, and how exactly.\n"
      "# Shapes, sizes and generators were guessed from the parameters: check them.\n"
      "# Every field is explained in docs/task-format.md.\n"
      "version = 1\nname = " +
      TomlValue(input.name) +
      "\n"
      "# Dense, row-major. Inputs are drawn anew for every verdict; generators: normal (default),\n"
      "# uniform in [-1, 1], unit in [0, 1], integers (from low to below high), offsets.\n"
      "tensors = [\n";
  for (const GuessedTensor& tensor : guess.tensors) text += TensorLine(guess, tensor);
  text +=
      "]\n# Who to be faster than; the first is the bar. Your kernel as it is now is \"current\".\n"
      "baselines = [\"current\", \"torch-best\"]\n";
  text += guess.flops.empty()
              ? "# Operations of one run, where arithmetic is the limit: flops = \"2 * n\"\n"
              : "flops = " + TomlValue(guess.flops) + "\n";
  text +=
      "\n# What is right: reference.py computes it from the inputs.\n"
      "[reference]\nkind = \"torch\"\nsource = \"reference.py\"\nstyle = \"function\"\n\n";
  if (!guess.function->kernel) text += ProgramTable(guess);
  text +=
      "# How many terms one output sums (1: element by element). The bound is derived from it.\n"
      "[tolerance]\nreduction_length = " +
      TomlValue(guess.reduction_length) +
      "\n\n"
      "[[rivals]]\nname = \"current\"\npath = \"current\"\n\n" +
      WorkloadTable(guess, false) +
      "\n# Judged like the other, but never shown to whoever writes kernels.\n" +
      WorkloadTable(guess, true);
  return text;
}

// NVRTC compiles device code alone; what else is in the file needs nvcc.
bool NeedsNvcc(const CudaFile& file) {
  const std::set<std::string> known = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"};
  const auto host = [](const CudaFunction& function) { return !function.kernel; };
  return std::any_of(file.functions.begin(), file.functions.end(), host) ||
         !std::all_of(file.system_includes.begin(), file.system_includes.end(),
                      [&](const std::string& name) { return known.contains(name); });
}

std::string PlanText(const Guess& guess) {
  std::string text = "\n[plan]\nversion = 1\n[[plan.operations]]\ntype = \"launch\"\nkernel = " +
                     TomlValue(guess.function->name) + "\n";
  text += "grid = " + TomlValue(guess.grid) + "\nblock = " + TomlValue(guess.block) + "\n";
  if (!guess.shared_bytes.empty()) text += "shared_bytes = " + TomlValue(guess.shared_bytes) + "\n";
  text += "arguments = [\n";
  for (size_t i = 0; i < guess.arguments.size(); ++i) {
    const GuessedArgument& argument = guess.arguments[i];
    const bool number = argument.kind == "f32" || argument.kind == "f64";
    const std::string kind = argument.kind == "bool" ? "i32" : argument.kind;
    text += "  { " + kind + " = " + (number ? argument.value : TomlValue(argument.value)) + " },";
    text += "  # " + guess.function->parameters[i].name + "\n";
  }
  return text + "]\n";
}

std::string CandidateText(const ScaffoldInput& input, const CudaFile& file, const Guess& guess) {
  std::vector<std::string> paths;
  for (const auto& [path, source] : input.sources) paths.push_back(path);
  std::string text = "# The kernel as it is now: the bar, and where to start from.\nversion = 1\n";
  if (!guess.function->kernel) text += "form = \"program\"\n";
  text += "entry = " + TomlValue(input.entry) + "\nsources = " + TomlValue(paths) + "\n";
  if (!guess.function->kernel) return text;
  if (NeedsNvcc(file)) text += "toolchain = \"nvcc\"\n";
  return text + PlanText(guess);
}

std::string ReferenceText(const Guess& guess) {
  std::string parameters, outputs;
  for (const GuessedTensor& tensor : guess.tensors) {
    std::string& list = tensor.output ? outputs : parameters;
    list += (list.empty() ? "" : ", ") + tensor.name;
  }
  for (const GuessedSize& size : guess.sizes) {
    parameters += (parameters.empty() ? "" : ", ") + size.name;
  }
  const std::string what =
      "write here what " + guess.function->name + " computes, and return " + outputs;
  return "import torch\n\n\n"
         "# The inputs in the order of task.toml, then the sizes that it asks for by name. It is "
         "called with\n"
         "# FP64 tensors to say what is right, and with the task's own types to be timed.\n"
         "def reference(" +
         parameters + "):\n    raise NotImplementedError(" + TomlValue(what) + ")\n";
}

// A plan names kernels by the symbol in the compiled image.
std::string WithCLinkage(const std::string& source, const CudaFunction& kernel) {
  if (!kernel.kernel || kernel.c_linkage) return source;
  return source.substr(0, kernel.offset) + "extern \"C\" " + source.substr(kernel.offset);
}

std::vector<std::string> NotesOn(const Guess& guess) {
  const CudaFunction& function = *guess.function;
  std::vector<std::string> notes = {std::string(function.kernel ? "kernel " : "function ") +
                                    function.name +
                                    (function.kernel ? ": candidates are kernels with a launch plan"
                                                     : ": candidates are programs that define it")};
  if (function.kernel) {
    notes.push_back("grid and block in current/candidate.toml are " +
                    (guess.launched_by.empty()
                         ? "invented, one thread for each output element: no launch could be read"
                         : "those of its launch in " + guess.launched_by));
  }
  if (function.kernel && !function.c_linkage) {
    notes.push_back(
        "current/ holds your file with extern \"C\" before the kernel, so that the plan "
        "can name it");
  }
  notes.push_back("guessed shapes: " +
                  Joined(guess.tensors, ", ",
                         [](const GuessedTensor& tensor) {
                           return tensor.name + " [" + Joined(tensor.shape) + "]";
                         }) +
                  "; correct them in task.toml");
  if (guess.tensors.size() == 1) {
    notes.push_back(
        "it has no input: if it works in place, give it an input and an output of its "
        "own");
  }
  std::string invented;
  for (size_t i = 0; i < guess.arguments.size(); ++i) {
    if (!guess.arguments[i].invented) continue;
    invented += (invented.empty() ? "" : ", ") + function.parameters[i].name + " = " +
                guess.arguments[i].value;
  }
  if (!invented.empty()) {
    notes.push_back("invented values, which no launch shows: " + invented + "; correct them in " +
                    (function.kernel ? "current/candidate.toml" : "task.toml"));
  }
  return notes;
}

// The reference is Python, and its parameters have the kernel's names.
constexpr std::string_view kPythonsWords[] = {
    "False",    "None",   "True",    "as",    "assert",    "async",  "await", "def",  "del",
    "elif",     "except", "finally", "from",  "global",    "import", "in",    "is",   "lambda",
    "nonlocal", "pass",   "print",   "raise", "reference", "torch",  "with",  "yield"};

void AvoidPythonsWords(CudaFunction& function) {
  std::set<std::string> names(std::begin(kPythonsWords), std::end(kPythonsWords));
  for (const CudaParameter& parameter : function.parameters) {
    if (std::ranges::find(kPythonsWords, parameter.name) == std::end(kPythonsWords)) {
      names.insert(parameter.name);
    }
  }
  for (CudaParameter& parameter : function.parameters) {
    if (std::ranges::find(kPythonsWords, parameter.name) == std::end(kPythonsWords)) continue;
    while (names.contains(parameter.name)) parameter.name += "_";
    names.insert(parameter.name);
  }
}

}  // namespace

Result<Scaffold> MakeScaffold(const ScaffoldInput& input) {
  const std::string& source = input.sources.at(input.entry);
  CudaFile file = ScanCuda(source);
  for (CudaFunction& function : file.functions) AvoidPythonsWords(function);
  const auto of_this_file = [&](Error error) {
    error.message = input.entry + ": " + error.message;
    return error;
  };
  Result<Guess> guess = GuessTask(file, input.function);
  if (!guess.ok()) return of_this_file(std::move(guess).error());
  std::set<std::string_view> names;
  for (const CudaParameter& parameter : guess->function->parameters) {
    if (names.insert(parameter.name).second) continue;
    return of_this_file({ErrorCode::kBadInput,
                         guess->function->name + " has two parameters " + parameter.name,
                         "give each its own name: tensors and sizes are named like them"});
  }
  if (!guess->function->kernel) {
    // What is no C++ may be scanned as a function, and yet not be called.
    Task task;
    task.name = input.name;
    task.program = EntryOf(*guess);
    const Status callable = CheckProgramEntry(task);
    if (!callable.ok()) return of_this_file(callable.error());
  }
  Scaffold scaffold;
  for (const auto& [path, text] : input.sources) scaffold.files["current/" + path] = text;
  scaffold.files["current/" + input.entry] = WithCLinkage(source, *guess->function);
  scaffold.files["current/candidate.toml"] = CandidateText(input, file, *guess);
  scaffold.files["task.toml"] = TaskText(input, *guess);
  scaffold.files["reference.py"] = ReferenceText(*guess);
  scaffold.notes = NotesOn(*guess);
  if (!input.left_out.empty()) {
    scaffold.notes.push_back("not copied, as outside the file's folder: " + Joined(input.left_out) +
                             "; put what is needed of it into current/, or it does not compile");
  }
  return scaffold;
}

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 64;

// Letters, digits, '-' and '_': it becomes the name of a folder.
std::string NameFrom(const fs::path& source) {
  const std::string name = PlainText(source.stem().string(), "-_", '-');
  return name.empty() ? "task" : name;
}

// A file that an #include names, relative to the root; empty where it is none of the user's own
// folder: then the compiler has to find it.
fs::path Included(const fs::path& root, const fs::path& includer, const std::string& name) {
  std::error_code failed;
  for (const fs::path& base : {includer.parent_path(), fs::path()}) {
    const fs::path relative = (base / name).lexically_normal();
    const bool leaves = relative.is_absolute() || relative.empty() || *relative.begin() == "..";
    if (!leaves && fs::is_regular_file(root / relative, failed)) return relative;
  }
  return {};
}

}  // namespace

Result<ScaffoldInput> ReadScaffoldInput(const fs::path& source, const std::string& function) {
  const fs::path root = source.parent_path();
  ScaffoldInput input{NameFrom(source), {}, source.filename().string(), function};
  std::vector<fs::path> waiting = {source.filename()};
  while (!waiting.empty()) {
    const fs::path path = waiting.back();
    waiting.pop_back();
    if (input.sources.contains(path.string())) continue;
    if (input.sources.size() == kMostFiles) {
      return Error{ErrorCode::kBadInput,
                   source.string() + ": includes more than " + std::to_string(kMostFiles) +
                       " files of its folder",
                   "give a file that needs fewer"};
    }
    const std::string text = TRY(ReadSourceText(root / path));
    for (const std::string& name : ScanCuda(text).includes) {
      const fs::path found = Included(root, path, name);
      if (!found.empty()) waiting.push_back(found);
      std::error_code failed;
      const bool outside =
          found.empty() && fs::is_regular_file(root / path.parent_path() / name, failed);
      if (outside) input.left_out.push_back(name);
    }
    input.sources[path.string()] = text;
  }
  return input;
}

Status WriteScaffold(const Scaffold& scaffold, const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !(fs::is_directory(folder) && fs::is_empty(folder, failed))) {
    return Error{ErrorCode::kBadInput, folder.string() + ": is there already",
                 "name another folder with --out"};
  }
  for (const auto& [path, text] : scaffold.files) {
    TRY(CreateDirectories((folder / path).parent_path()));
    TRY(WriteFileAtomic(folder / path, text));
  }
  return {};
}

}  // namespace warpsmith::task
