// task check: what the task's own text shows.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "core/cuda_tokens.h"
#include "core/program_shim.h"
#include "core/resolved_plan.h"
#include "task/check.h"
#include "task/cuda_scan.h"
#include "task/task_rules.h"

namespace warpsmith::task {
namespace {

using Names = std::set<std::string, std::less<>>;

bool NeedsRange(Generator generator) {
  return generator == Generator::kIntegers || generator == Generator::kOffsets;
}

// Every tensor that a plan's operations name, and those they can write to.
Names NamedBy(const LaunchPlan& plan) {
  Names names;
  for (const Operation& operation : plan.operations) {
    if (const auto* memset = std::get_if<MemsetOperation>(&operation)) names.insert(memset->target);
    if (const auto* copy = std::get_if<CopyOperation>(&operation)) {
      names.insert({copy->target, copy->source});
    }
    if (const auto* pad = std::get_if<PadOperation>(&operation)) {
      names.insert({pad->target, pad->source});
    }
    const auto* launch = std::get_if<LaunchOperation>(&operation);
    if (launch == nullptr) continue;
    for (const Argument& argument : launch->arguments) {
      if (const auto* tensor = std::get_if<TensorArgument>(&argument)) names.insert(tensor->tensor);
      if (const auto* map = std::get_if<TensorMapArgument>(&argument)) names.insert(map->tensor);
    }
  }
  return names;
}

// Words that an expression may use without their being anyone's name.
const std::set<std::string_view> kKnownWords = {
    "true",     "false",           "nullptr", "static_cast", "sizeof",   "int",    "long",
    "unsigned", "signed",          "short",   "char",        "float",    "double", "bool",
    "size_t",   "int32_t",         "int64_t", "uint32_t",    "uint64_t", "std",    "const",
    "void",     "reinterpret_cast"};

void AddNames(const std::string& argument, Names& names) {
  const TokenList list = Tokenize(argument);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].kind != TokenKind::kWord || kKnownWords.contains(list[i].text)) continue;
    const bool scoped = list.Is(i + 1, "::") || (i > 0 && list.Is(i - 1, "::"));
    if (scoped || list.Is(i + 1, "(")) continue;  // a function, or what a namespace holds
    names.emplace(list[i].text);
  }
}

// Without white space: the same code in another layout is the same code.
std::string Packed(const std::string& text) {
  std::string packed;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) > ' ') packed += c;
  }
  return packed;
}

class TextExamination {
 public:
  TextExamination(const Task& task, int sm_count) : task_(task), sm_count_(sm_count) {}

  std::vector<TaskFinding> Run() {
    Reference();
    Tensors();
    Tolerance();
    Workloads();
    Baselines();
    Program();
    SelfReference();
    if (task_.reference.plan) Uses("the reference", *task_.reference.plan, task_.reference.sources);
    for (const auto& [name, rival] : task_.rivals) Uses(name, rival.plan, rival.sources);
    return std::move(findings_);
  }

 private:
  void Add(const char* name, Severity severity, const std::string& what, const std::string& fix) {
    findings_.push_back({name, severity, what, fix});
  }

  void Reference() {
    for (const auto& [path, text] : task_.reference.sources) {
      const bool written = text.find("NotImplementedError") == std::string::npos;
      if (task_.reference.kind != "torch" || written) continue;
      const auto input = std::ranges::find(task_.tensors, Role::kInput, &TensorSpec::role);
      Add("reference-unwritten", Severity::kRefuse,
          path + ": raises NotImplementedError, so nothing says what is right",
          "replace that line by what the kernel computes" +
              (input == task_.tensors.end() ? "" : ", as in: return 2 * " + input->name));
    }
    if (!task_.reference.plan) return;
    const Names named = NamedBy(*task_.reference.plan);
    for (const TensorSpec& tensor : task_.tensors) {
      if (named.contains(tensor.name)) continue;
      const bool output = tensor.role == Role::kOutput;
      Add("unused-tensor", output ? Severity::kRefuse : Severity::kNote,
          "reference.plan never names " + tensor.name,
          output ? "give it to the kernel that computes it" : "take it away if nothing needs it");
    }
  }

  void Tensors() {
    for (const TensorSpec& tensor : task_.tensors) {
      if (tensor.role == Role::kOutput || !IsInteger(tensor.dtype) ||
          NeedsRange(tensor.generator) || tensor.generator == Generator::kReference) {
        continue;
      }
      Add("integers-without-range", Severity::kRefuse,
          "tensor " + tensor.name + " holds whole numbers, and nothing says which",
          "add generator = \"integers\" with low and high (the first that is too large)");
    }
  }

  bool HasFloatingOutput() const {
    return std::ranges::any_of(task_.tensors, [](const TensorSpec& one) {
      return one.role == Role::kOutput && !IsInteger(one.dtype) && one.dtype != DType::kBool;
    });
  }

  void Tolerance() {
    const warpsmith::Tolerance& tolerance = task_.tolerance;
    for (const auto& [field, value] :
         {std::pair{"absolute", tolerance.absolute}, std::pair{"relative", tolerance.relative}}) {
      if (std::isfinite(value) && value >= 0) continue;
      Add("bad-tolerance", Severity::kRefuse,
          std::string("tolerance.") + field + ": " + (value < 0 ? "below 0" : "no finite number") +
              ", so nothing, or everything, would pass",
          "give a finite number of 0 or more, or reduction_length instead");
    }
    const bool given = tolerance.absolute > 0 || tolerance.relative > 0;
    if (given && tolerance.reason.empty()) {
      Add("reason-missing", Severity::kRefuse, "tolerance: bounds are given without a reason",
          "say in tolerance.reason why they are right, or give reduction_length instead");
    }
    if (!given && !tolerance.reduction_length && HasFloatingOutput()) {
      Add("no-tolerance", Severity::kRefuse,
          "tolerance: none, so floating-point outputs would have to be equal bit for bit",
          "give reduction_length: how many terms one output sums (1 for element by element)");
    }
  }

  void Workloads() {
    const auto hidden = [](const Workload& workload) { return workload.hidden; };
    if (std::none_of(task_.workloads.begin(), task_.workloads.end(), hidden)) {
      Add("no-hidden-workload", Severity::kNote,
          "workloads: none is hidden, so a kernel for the shown sizes alone would do",
          "add a [[workloads]] with hidden = true and odd sizes");
    }
    if (task_.workloads.empty()) {
      Add("no-workload", Severity::kRefuse, "workloads: there are none, so nothing can be judged",
          "add a [[workloads]] with a name and the sizes that the tensors' shapes use");
    }
    for (const Workload& workload : task_.workloads) {
      Shapes(workload);
      Expressions(workload);
    }
    if (task_.flops == Expression::Constant(0)) {
      Add("flops-unknown", Severity::kNote,
          "flops: 0, so the least possible time counts bytes only",
          "give flops as an expression over the sizes, if the arithmetic matters");
    }
  }

  // No tensor may be empty or too large to count, nor all of them together.
  void Shapes(const Workload& workload) {
    int64_t all = 0;
    for (const TensorSpec& tensor : task_.tensors) {
      const Result<int64_t> bytes = TensorBytes(tensor, workload.sizes);
      if (bytes.ok() && !__builtin_add_overflow(all, *bytes, &all)) continue;
      Add("bad-workload", Severity::kRefuse,
          "workload '" + workload.name +
              "': " + (bytes.ok() ? "all tensors together overflow" : bytes.error().message),
          "give sizes for which each tensor has elements and fits a GPU");
    }
    if (std::isfinite(workload.weight) && workload.weight > 0) return;
    Add("bad-workload", Severity::kRefuse,
        "workload '" + workload.name + "': its weight is no finite number above 0",
        "give a weight of 1, or more where it counts more");
  }

  void Evaluate(const Workload& workload, const std::string& field, const Expression& expression) {
    const Result<int64_t> value = expression.Evaluate(workload.sizes);
    if (value.ok()) return;
    Add("bad-expression", Severity::kRefuse,
        field + ", workload '" + workload.name + "': " + value.error().message,
        "use only the workload's sizes: " + SizesOf(workload));
  }

  static std::string SizesOf(const Workload& workload) {
    return workload.sizes.empty() ? "it has none"
                                  : Joined(workload.sizes, ", ", &Sizes::value_type::first);
  }

  void Expressions(const Workload& workload) {
    Evaluate(workload, "flops", task_.flops);
    if (task_.tolerance.reduction_length) {
      Evaluate(workload, "tolerance.reduction_length", *task_.tolerance.reduction_length);
    }
    for (const TensorSpec& tensor : task_.tensors) Range(workload, tensor);
    if (task_.reference.plan) Plan(workload, "reference.plan", *task_.reference.plan, true);
    for (const Rival& rival : task_.rivals) {
      if (rival.candidate.form != Form::kKernel) continue;
      Plan(workload, "rivals." + rival.name, rival.candidate.plan, !workload.hidden);
    }
  }

  void Range(const Workload& workload, const TensorSpec& tensor) {
    if (!NeedsRange(tensor.generator)) return;
    const Result<int64_t> low = tensor.low.Evaluate(workload.sizes);
    const Result<int64_t> high = tensor.high.Evaluate(workload.sizes);
    if (!low.ok() || !high.ok()) {
      Evaluate(workload, "tensors." + tensor.name + ".low", tensor.low);
      Evaluate(workload, "tensors." + tensor.name + ".high", tensor.high);
    } else if (*high <= *low) {
      Add("integers-without-range", Severity::kRefuse,
          "tensor " + tensor.name + ", workload '" + workload.name + "': no whole numbers from " +
              std::to_string(*low) + " to below " + std::to_string(*high),
          "give it a high above its low");
    }
  }

  void Plan(const Workload& workload, const std::string& field, const LaunchPlan& plan,
            bool needed) {
    const auto one_cluster = [](const ResolvedLaunch&) -> Result<int64_t> { return int64_t{1}; };
    const auto resolved =
        Resolve(plan, ReferenceView(field), workload.sizes, sm_count_, one_cluster);
    if (resolved.ok()) return;
    Add("plan-does-not-fit", needed ? Severity::kRefuse : Severity::kNote,
        field + ", workload '" + workload.name + "': " + resolved.error().message,
        needed ? "correct the plan, or the workload's sizes" : "it will not be timed there");
  }

  // A reference writes its outputs in FP64 where nothing else is said: they are that much larger.
  Task ReferenceView(const std::string& field) const {
    Task task = task_;
    const auto outputs = task_.reference.options.find("outputs");
    if (field != "reference.plan") return task;
    for (TensorSpec& tensor : task.tensors) {
      const bool floating = !IsInteger(tensor.dtype) && tensor.dtype != DType::kBool;
      if (tensor.role != Role::kOutput || !floating) continue;
      tensor.dtype = outputs == task_.reference.options.end()
                         ? DType::kF64
                         : DTypeFromName(outputs->second).value_or(DType::kF64);
    }
    return task;
  }

  void Baselines() {
    if (task_.baselines.empty()) {
      Add("no-baseline", Severity::kNote, "baselines: none, so there is nothing to be faster than",
          "name torch-best (with a torch reference) or a [[rivals]] entry");
    }
    for (const std::string& name : task_.baselines) Baseline(name);
  }

  void Baseline(const std::string& name) {
    const auto named = [&](const Rival& rival) { return rival.name == name; };
    if (std::any_of(task_.rivals.begin(), task_.rivals.end(), named)) return;
    if (!IsBuiltInBaseline(name)) {
      Add("unknown-baseline", Severity::kRefuse, "baselines: '" + name + "' is nobody's name",
          "add a [[rivals]] entry of this name, or use torch-best, torch-eager, torch-compile");
      return;
    }
    const bool product = name.starts_with("cublas");
    const std::string needed = product ? "gemm" : "torch";
    if (task_.reference.kind == needed) return;
    if (!product && task_.reference.kind == "driver") return;  // may bring a PyTorch module
    Add("unknown-baseline", Severity::kRefuse,
        "baselines: '" + name + "' needs a reference of kind " + needed + ", this one is " +
            task_.reference.kind,
        "use another baseline, or another reference");
  }

  void Program() {
    if (!task_.program) return;
    if (const Status callable = CheckProgramEntry(task_); !callable.ok()) {
      Add("program-arguments", Severity::kRefuse, callable.error().message, callable.error().fix);
      return;
    }
    const Names given(task_.program->arguments.begin(), task_.program->arguments.end());
    for (const TensorSpec& tensor : task_.tensors) {
      if (given.contains(tensor.name)) continue;
      const bool output = tensor.role == Role::kOutput;
      Add("unused-tensor", output ? Severity::kRefuse : Severity::kNote,
          "program.arguments never names " + tensor.name,
          output ? "give it to the function" : "take it away if nothing needs it");
    }
    for (const Workload& workload : task_.workloads) ProgramNames(workload);
  }

  void ProgramNames(const Workload& workload) {
    Names names;
    for (const std::string& argument : task_.program->arguments) AddNames(argument, names);
    for (const std::string& name : names) {
      const auto is_tensor = [&](const TensorSpec& tensor) { return tensor.name == name; };
      if (workload.sizes.contains(name) ||
          std::any_of(task_.tensors.begin(), task_.tensors.end(), is_tensor)) {
        continue;
      }
      Add("program-arguments", Severity::kNote,
          "program.arguments: '" + name + "' is no tensor, and no size of workload '" +
              workload.name + "'",
          "if nothing else defines it, programs will not compile: its sizes are " +
              SizesOf(workload));
    }
  }

  void SelfReference() {
    std::set<std::string> reference;
    for (const auto& [path, text] : task_.reference.sources) reference.insert(Packed(text));
    for (const Rival& rival : task_.rivals) {
      for (const auto& [path, text] : rival.candidate.sources) {
        if (!reference.contains(Packed(text))) continue;
        Add("self-referencing", Severity::kOutOfHeadlines,
            "the reference is the rival '" + rival.name + "' itself (" + path +
                "): what is wrong in it would count as right",
            "write the reference by itself, as plainly as possible: see docs/tasks.md");
      }
    }
  }

  // What its kernels use, and the plan does not give.
  void Uses(const std::string& whose, const LaunchPlan& plan,
            const std::map<std::string, std::string>& sources) {
    std::map<std::string, CudaFunction> kernels;
    for (const auto& [path, text] : sources) {
      for (const CudaFunction& function : ScanCuda(text).functions) {
        kernels.emplace(function.name, function);
      }
    }
    const Expression none = Expression::Constant(0), one = Expression::Constant(1);
    for (const Operation& operation : plan.operations) {
      const auto* launch = std::get_if<LaunchOperation>(&operation);
      if (launch == nullptr || !kernels.contains(launch->kernel)) continue;
      const CudaFunction& kernel = kernels.at(launch->kernel);
      if (kernel.dynamic_shared && launch->shared_bytes == none) {
        Add("no-shared-bytes", Severity::kNote,
            whose + ": " + kernel.name + " has extern __shared__, and its plan no shared_bytes",
            "give the launch shared_bytes, unless the kernel never uses that memory");
      }
      std::vector<std::string> flat;
      for (const std::string& axis : kernel.axes) {  // "blockIdx.y"
        const auto& extents = axis.front() == 'b' ? launch->grid : launch->block;
        if (extents[axis.back() - 'x'] == one) flat.push_back(axis);
      }
      if (flat.empty()) continue;
      Add("one-dimensional-plan", Severity::kNote,
          whose + ": " + kernel.name + " uses " + Joined(flat) + ", and its plan has 1 there",
          "give its grid and block the extents that your own launch has, if they are not 1");
    }
  }

  const Task& task_;
  int sm_count_;
  std::vector<TaskFinding> findings_;
};

}  // namespace

std::string_view Name(Severity severity) {
  if (severity == Severity::kRefuse) return "refuse";
  return severity == Severity::kOutOfHeadlines ? "out-of-headlines" : "note";
}

std::vector<TaskFinding> ExamineText(const Task& task, int sm_count) {
  return TextExamination(task, sm_count).Run();
}

Severity Worst(const std::vector<TaskFinding>& findings) {
  Severity worst = Severity::kNote;
  for (const TaskFinding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace warpsmith::task
