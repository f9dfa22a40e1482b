#include "cli/kubectl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

constexpr char kKubectl[] = "kubectl";
constexpr size_t kMostOutput = 64 << 10;

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status NotRun(int error) {
  if (error == ENOENT) {
    return absl::NotFoundError(
        "--kubernetes: there is no kubectl in PATH; install it, or ask with --chief host:port");
  }
  return absl::UnavailableError(absl::StrCat("kubectl cannot be run: ", std::strerror(error)));
}

std::vector<std::string> Words(const KubernetesJob& job, std::vector<std::string> more) {
  std::vector<std::string> words = {kKubectl};
  if (!job.kube_namespace.empty()) {
    words.insert(words.end(), {"--namespace", job.kube_namespace});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What comes out of `fd` until its end, at most kMostOutput.
std::string ReadAll(int fd) {
  std::string output;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0 && output.size() < kMostOutput) output.append(buffer, static_cast<size_t>(got));
  }
  return output;
}

// Its standard output; what it says on standard error is shown as it is.
absl::StatusOr<std::string> Output(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NotRun(errno);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, kKubectl, &files, nullptr, Pointers(words).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  const std::string output = error == 0 ? ReadAll(ends[0]) : "";
  close(ends[0]);
  if (error != 0) return NotRun(error);
  int ending = 0;
  while (waitpid(child, &ending, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(ending) && WEXITSTATUS(ending) == 0) return output;
  return absl::UnavailableError("kubectl could not ask the cluster; it says why above");
}

// "statefulset.apps/ctr-chief"
absl::StatusOr<std::string> FindChief(const KubernetesJob& job) {
  CAPSTAN_ASSIGN_OR_RETURN(
      const std::string output,
      Output(Words(job, {"get", "statefulset", "--output=name",
                         absl::StrCat("--selector=app.kubernetes.io/instance=", job.release,
                                      ",app.kubernetes.io/component=chief")})));
  const std::vector<std::string> found = absl::StrSplit(output, '\n', absl::SkipWhitespace());
  if (!found.empty()) return found.front();
  return absl::NotFoundError(
      absl::StrCat("--kubernetes: there is no chief of a release ", job.release,
                   job.kube_namespace.empty()
                       ? " in the namespace of kubectl's context; --namespace names another"
                       : absl::StrCat(" in the namespace ", job.kube_namespace),
                   "; helm list shows them"));
}

}  // namespace

absl::Status RunBesideChief(const KubernetesJob& job, const std::vector<std::string>& arguments) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string chief, FindChief(job));
  std::vector<std::string> words = Words(job, {"exec"});
  const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (terminal) words.insert(words.end(), {"--stdin", "--tty"});
  words.insert(words.end(), {chief, "--container=chief", "--", "capstan"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  execvp(kKubectl, Pointers(words).data());
  return NotRun(errno);
}

}  // namespace capstan::cli
