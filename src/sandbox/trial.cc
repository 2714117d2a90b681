#include "sandbox/trial.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/spawn.h"

namespace warpsmith::sandbox {

Result<ChildResult> TryInChild(const std::function<int(int pipe_end)>& attempt) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failed("a pipe to a child");
  const FileDescriptor read_end(ends[0]);
  FileDescriptor pipe_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return Failed("forking a child");
  if (child == 0) _exit(attempt(pipe_end.number()));
  pipe_end.Close();
  ChildResult answer;
  std::array<char, 4096> chunk;
  for (ssize_t got = 0; (got = read(read_end.number(), chunk.data(), chunk.size())) > 0;) {
    answer.text.append(chunk.data(), static_cast<size_t>(got));
  }
  int status = 0;
  if (waitpid(child, &status, 0) == child && WIFEXITED(status)) {
    answer.status = WEXITSTATUS(status);
    return answer;
  }
  return Error{ErrorCode::kInternal,
               "a child that tried the sandbox died" +
                   (WIFSIGNALED(status) ? " of signal " + std::to_string(WTERMSIG(status)) : ""),
               ""};
}

bool WriteText(int pipe_end, const std::string& text) {
  return write(pipe_end, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace warpsmith::sandbox
