#include "task/starting_kernel.h"

#include "task/candidate_file.h"

namespace warpsmith::task {

Result<std::optional<Candidate>> StartingKernel(const std::string& path, const Task& task) {
  if (path.empty()) return std::optional<Candidate>();
  const auto file = TRY(task::CandidateFile::Load(path));
  if (file.space().size() != 1) {
    return Error{ErrorCode::kUsage,
                 path + " holds " + std::to_string(file.space().size()) +
                     " candidates; an agent begins with one",
                 "give one without [tunables], such as 'warpsmith export' writes"};
  }
  Candidate candidate = TRY(file.Make(file.space().points().front()));
  TRY(task::CheckForm(path, candidate, task));
  return std::optional(std::move(candidate));
}

}  // namespace warpsmith::task
