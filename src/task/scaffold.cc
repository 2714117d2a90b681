#include "task/scaffold.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "core/program_shim.h"
#include "embedded/scaffold_texts.h"
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
            (byte || guess.sizes.empty() ? "100" : TomlValue(guess.sizes.front().name));
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
  return (function.c_linkage ? "extern \"C\" " : "") + function.result + " " + function.name + "(" +
         parameters + ")";
}

ProgramEntry EntryOf(const Guess& guess) {
  ProgramEntry entry{Declaration(*guess.function), {}};
  for (const auto& [kind, value, invented] : guess.arguments) {
    entry.arguments.push_back(kind == "none" ? "nullptr" : kind == "bool" ? "false" : value);
  }
  return entry;
}

std::string ProgramTable(const Guess& guess) {
  const ProgramEntry entry = EntryOf(guess);
  return "# How a program is called: your launcher's own declaration. Each argument is a tensor's "
         "name,\n# or a C++ expression over the sizes.\n[program]\ndeclaration = " +
         TomlValue(entry.declaration) + "\narguments = " + TomlValue(entry.arguments) + "\n\n";
}

// A file of scaffold_texts/ with the values in place of their {{names}}.
std::string Filled(std::string_view file,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  const auto ends = [&](const EmbeddedFile& one) { return one.path.ends_with(file); };
  std::string text(std::ranges::find_if(embedded::ScaffoldTexts(), ends)->contents);
  size_t from = 0;  // what was filled in is no mark
  for (const auto& [name, value] : values) {
    const size_t at = text.find("{{" + name + "}}", from);
    text.replace(at, name.size() + 4, value);
    from = at + value.size();
  }
  return text;
}

std::string TaskText(const ScaffoldInput& input, const Guess& guess) {
  std::string tensors, sizes, odd_sizes;
  for (const GuessedTensor& tensor : guess.tensors) tensors += TensorLine(guess, tensor);
  for (const GuessedSize& size : guess.sizes) {
    const std::string begin = (sizes.empty() ? "" : ", ") + size.name + " = ";
    sizes += begin + std::to_string(size.value);
    odd_sizes += begin + std::to_string(size.odd_value);
  }
  const std::string odd =
      "\n# Judged like the other, but never shown to whoever writes kernels.\n"
      "[[workloads]]\nname = \"odd\"\nhidden = true\nsizes = { ";
  const std::string flops = guess.flops.empty() ? "" : "flops = " + TomlValue(guess.flops) + "\n";
  return Filled("task.toml", {{"entry", input.entry},
                              {"name", TomlValue(input.name)},
                              {"tensors", tensors},
                              {"flops", flops},
                              {"program", guess.function->kernel ? "" : ProgramTable(guess)},
                              {"reduction_length", TomlValue(guess.reduction_length)},
                              {"sizes", sizes},
                              {"odd", odd_sizes == sizes ? "" : odd + odd_sizes + " }\n"}});
}

// NVRTC compiles device code alone; what else is in the file needs nvcc.
bool NeedsNvcc(const CudaFile& file) {
  const std::set<std::string> known = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"};
  const auto is_known = [&](const std::string& name) { return known.contains(name); };
  return !std::ranges::all_of(file.functions, &CudaFunction::kernel) ||
         !std::ranges::all_of(file.system_includes, is_known);
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
  const std::string sizes = Joined(guess.sizes, ", ", &GuessedSize::name);
  parameters += (parameters.empty() ? "" : ", ") + sizes;
  const std::string what =
      "write here what " + guess.function->name + " computes, and return " + outputs;
  return Filled("reference.txt", {{"parameters", parameters}, {"what", TomlValue(what)}});
}

std::vector<std::string> NotesOn(const CudaFile& file, const Guess& guess) {
  const CudaFunction& function = *guess.function;
  std::vector<std::string> notes;
  const auto note = [&](bool applies, const std::string& text) {
    if (applies) notes.push_back(text);
  };
  const bool kernel = function.kernel;
  note(kernel, "kernel " + function.name + ": candidates are kernels with a launch plan");
  note(!kernel, "judged as a program: candidates define " + function.name);
  note(!guess.others.empty(), "others of this file: " + guess.others);
  note(kernel, "grid and block in current/candidate.toml are " +
                   (guess.launched_by.empty()
                        ? "invented, one thread for each output element: no launch could be read"
                        : "those of its launch in " + guess.launched_by));
  note(!guess.unread_shared.empty(),
       "the launch's bytes of shared memory could not be read: write " + guess.unread_shared +
           " as shared_bytes in current/candidate.toml");
  note(kernel && !function.c_linkage,
       "in current/ extern \"C\" stands before your kernel, so that the plan can name it");
  const auto shape_of = [](const GuessedTensor& tensor) {
    return tensor.name + " [" + Joined(tensor.shape) + "]";
  };
  note(true, "guessed shapes: " + Joined(guess.tensors, ", ", shape_of) +
                 "; reduction_length = " + guess.reduction_length + "; correct them in task.toml");
  for (const auto& [name, dtype, output, shape, read_first, guarded, bytes] : guess.tensors) {
    note(output && read_first,
         name + " is an input as well, and the judge starts outputs as NaN: add an input " + name +
             "_in, and copy it first (a plan's { type = \"copy\", target = \"" + name +
             "\", source = \"" + name + "_in\", bytes = \"" + std::to_string(ElementBytes(dtype)) +
             " * " + Joined(shape, " * ") + "\" }), which is timed as well; for a sum, memset " +
             name);
    note(output && guarded, "a guard leaves elements of " + name + " unwritten, and the judge " +
                                "starts outputs as NaN: write, copy or memset them as well");
  }
  note(!guess.unread.empty(), "no index of " + guess.unread + " shows the order of its sizes; " +
                                  "check it (row-major: the last is the contiguous one)");
  note(!guess.unreached.empty(), "how far the code goes in " + guess.unreached +
                                     " could not be read: check that no extent is too small");
  note(!guess.past_end.empty(), "the code seems to go past the end of " + guess.past_end +
                                    ": check its extents, and what keeps the code inside");
  const auto same = [](const GuessedSize& one) { return one.odd_value == one.value; };
  note(std::ranges::all_of(guess.sizes, same),
       "no hidden workload: no size is known to take other values; add one to task.toml");
  note(guess.rounded,
       "no size of the hidden workload is odd: the kernel leaves a remainder out, or has no guard");
  std::set<std::string> symbols;
  for (const CudaFunction& other : file.functions) {
    for (const CudaLaunch& call : other.calls) {
      const bool fills = &other != &function && call.kernel.starts_with("cudaMemcpyToSymbol");
      if (fills && !call.arguments.empty()) symbols.insert(call.arguments[0]);
    }
  }
  note(!symbols.empty(), "nothing fills " + Joined(symbols) +
                             " here, as cudaMemcpyToSymbol does in " +
                             "the file: it stays zero; make it a parameter of the kernel");
  std::string invented = guess.replaced;
  const std::string plan = kernel ? " (current/candidate.toml)" : " (task.toml)";
  for (const GuessedSize& size : guess.sizes) {
    if (size.invented)
      invented += size.name + " = " + std::to_string(size.value) + " (task.toml), ";
  }
  for (size_t i = 0; i < guess.arguments.size(); ++i) {
    const GuessedArgument& one = guess.arguments[i];
    if (one.invented) invented += function.parameters[i].name + " = " + one.value + plan + ", ";
  }
  note(!invented.empty(),
       "invented, as no launch shows it: " + invented.substr(0, invented.rfind(',')));
  return notes;
}

}  // namespace

Result<Scaffold> MakeScaffold(const ScaffoldInput& input) {
  const std::string& source = input.sources.at(input.entry);
  const CudaFile file = ScanCuda(source);
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
  // A plan names kernels by the symbol in the compiled image.
  const bool mangled = guess->function->kernel && !guess->function->c_linkage;
  const std::string linkage = mangled ? "extern \"C\" " : "";
  scaffold.files["current/" + input.entry].insert(guess->function->offset, linkage);
  scaffold.files["current/candidate.toml"] = CandidateText(input, file, *guess);
  scaffold.files["task.toml"] = TaskText(input, *guess);
  scaffold.files["reference.py"] = ReferenceText(*guess);
  scaffold.notes = NotesOn(file, *guess);
  if (!input.left_out.empty()) {
    scaffold.notes.push_back("not copied, as not in the file's folder: " + Joined(input.left_out) +
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

// Neither the system's nor, by its name, the toolkit's.
bool IsForeign(const std::string& name) {
  constexpr const char* kToolkits[] = {"coop", "cu", "device_", "math_", "mma.h", "nv", "thrust/"};
  std::error_code failed;
  return name.find('.') != name.npos && !fs::exists("/usr/include/" + name, failed) &&
         (name.starts_with("cut") ||  // cutlass, cute
          std::ranges::none_of(kToolkits, [&](auto begin) { return name.starts_with(begin); }));
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
                   source.string() + ": includes more files than " + std::to_string(kMostFiles),
                   "give a file that needs fewer"};
    }
    const std::string text = TRY(ReadSourceText(root / path));
    const CudaFile file = ScanCuda(text);
    for (const std::string& name : file.includes) {
      const fs::path found = Included(root, path, name);
      if (!found.empty()) waiting.push_back(found);
      if (found.empty() && IsForeign(name)) input.left_out.push_back(name);
    }
    std::ranges::copy_if(file.system_includes, std::back_inserter(input.left_out), IsForeign);
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
