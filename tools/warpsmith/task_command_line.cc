// The command line of `warpsmith task`.
#include "command_tree.h"
#include "commands.h"

namespace warpsmith::cli {
namespace {

void AddTaskImport(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand(
      "import", "task folders from a KernelBench or KernelBench-CUDA checkout");
  auto options = std::make_shared<TaskImportOptions>();
  command->add_option("checkout", options->checkout, "your checkout, or its folder of levels")
      ->required();
  command->add_option("--out", options->output, "folder that gets kernelbench-<set>/level1/...")
      ->capture_default_str();
  command->add_option("--only", options->only, "level1, level1/19 or level1/19_ReLU, ...")
      ->delimiter(',');
  command->add_option("--set", options->set, "name of the size set; default: tag or hash of sizes");
  command->add_option("--python", options->python,
                      "for KernelBench-CUDA: a KernelBench checkout, for torch baselines");
  command
      ->add_option("--dtype", options->dtype,
                   "for KernelBench: floating tensors become f16, bf16 or f32")
      ->check(CLI::IsMember({"f16", "bf16", "f32"}));
  command->add_option("--jobs", options->jobs, "problems at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--limit", options->limit_seconds, "seconds for compiling and running a driver")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  Choose(command, chosen, options, RunTaskImport);
}

void AddTaskInit(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand("init", "a first task for your own .cu file");
  auto options = std::make_shared<TaskInitOptions>();
  command->add_option("source", options->source, "the .cu file")->required();
  command->add_option("--out", options->output, "folder to write; default: the file's name");
  command->add_option("--function", options->function,
                      "the kernel or host function that candidates replace; default: a guess");
  Choose(command, chosen, options, RunTaskInit);
}

void AddCompileLimit(CLI::App* command, int& seconds) {
  command->add_option("--limit", seconds, "seconds for comparing parts with the whole")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
}

void AddTaskSplit(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand(
      "split", "have a model cut a large task into parts, and prove that they compose");
  auto options = std::make_shared<agent::TaskSplitOptions>();
  agent::AgentOptions& model = options->model;
  command->add_option("task", options->task, "task.toml with a PyTorch reference, or its folder")
      ->required();
  command->add_option("--into", options->into, "folder to write")->required();
  command->add_option("--model", model.models,
                      "openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE");
  command->add_option("--key-variable", model.key_variable,
                      "environment variable with the key of an openai: model; default: "
                      "OPENAI_API_KEY, to api.openai.com only");
  command->add_flag("--plain-http", model.plain_http,
                    "allow http:// to other machines, where it can be read");
  command->add_option("--temperature", model.temperature, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 2.0));
  command->add_option("--top-p", model.top_p, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--max-tokens", model.max_tokens, "of one reply")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--sampling-seed", model.sampling_seed, "passed on to servers that take one");
  command->add_option("--tries", options->tries, "replies that are asked for until one composes")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  AddCompileLimit(command, options->limit_seconds);
  Choose(command, chosen, options, RunTaskSplit);
}

void AddTaskCheck(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand("check", "is a task worth measuring, and if not, why");
  auto options = std::make_shared<TaskCheckOptions>();
  command->add_option("task", options->task, std::string(kTaskHelp) + ", or the folder of a split")
      ->required();
  AddCompileLimit(command, options->limit_seconds);
  command->add_flag("--text-only", options->text_only, "run nothing, even where there is a GPU");
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunTaskCheck);
}

}  // namespace

void AddTask(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* task = app.add_subcommand("task", "what must be computed: task files");
  task->require_subcommand(1);
  AddTaskInit(task, chosen);
  AddTaskCheck(task, chosen);
  AddTaskSplit(task, chosen);
  AddTaskImport(task, chosen);
}

}  // namespace warpsmith::cli
