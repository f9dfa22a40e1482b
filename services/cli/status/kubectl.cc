#include "cli/status/kubectl.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace capstan::cli {
namespace {

constexpr char kKubectl[] = "kubectl";
constexpr size_t kMostOutput = 16 << 20;  // The states of a thousand pods fit.
constexpr int kCannotRun = 127;
constexpr absl::Duration kEnd = absl::Seconds(1);
constexpr absl::Duration kEndPause = absl::Milliseconds(5);  // Between two looks for its end.

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Close(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// Runs in the child after fork: executes kubectl, or exits with kCannotRun.
[[noreturn]] void Become(char* const* words, int in, int out, int errors) {
  setpgid(0, 0);  // Ctrl-C on the terminal must reach only us.
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvp(kKubectl, words);
  _exit(errno == ENOENT ? kCannotRun : kCannotRun - 1);
}

absl::Status TooMuch() {
  return absl::UnavailableError(
      absl::StrCat("kubectl writes more than ", kMostOutput >> 20, " MiB, which is not read"));
}

bool IsInPath() {
  const char* path = getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder, "/", kKubectl).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Kubectl> Kubectl::Start(const KubernetesJob& job, std::vector<std::string> words) {
  if (!IsInPath()) {
    return absl::NotFoundError(
        "--kubernetes: there is no kubectl in PATH; install it, or ask with --chief host:port");
  }
  std::vector<std::string> all = {kKubectl};
  if (!job.kube_namespace.empty()) all.insert(all.end(), {"--namespace", job.kube_namespace});
  all.insert(all.end(), words.begin(), words.end());
  const std::vector<char*> pointers = Pointers(all);
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  Kubectl kubectl;
  kubectl.errors_ = memfd_create("kubectl", MFD_CLOEXEC);
  if (kubectl.errors_ < 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    for (int* fd : {&in[0], &in[1], &out[0], &out[1]}) Close(*fd);
    return absl::UnavailableError(absl::StrCat("kubectl cannot be run: ", std::strerror(errno)));
  }
  kubectl.input_ = in[1];
  kubectl.output_ = out[0];
  kubectl.pid_ = fork();
  if (kubectl.pid_ == 0) Become(pointers.data(), in[0], out[1], kubectl.errors_);
  Close(in[0]);
  Close(out[1]);
  if (kubectl.pid_ > 0) return kubectl;
  return absl::UnavailableError(absl::StrCat("kubectl cannot be run: ", std::strerror(errno)));
}

Kubectl::Kubectl(Kubectl&& other) noexcept { *this = std::move(other); }

Kubectl& Kubectl::operator=(Kubectl&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ending_, other.ending_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(at_end_, other.at_end_);
  std::swap(read_, other.read_);
  return *this;
}

// Closing its input ends the command that it runs in a pod. kubectl gets time to pass that on, as
// one that is killed at once does not always do so.
Kubectl::~Kubectl() {
  Close(input_);
  const absl::Time deadline = absl::Now() + kEnd;
  while (pid_ > 0 && !at_end_ && absl::Now() < deadline) {
    read_.clear();
    (void)Fill(deadline);
  }
  Wait(absl::InfinitePast());
  Close(output_);
  Close(errors_);
}

int Kubectl::Wait(absl::Time deadline) {
  while (pid_ > 0) {
    const pid_t ended = waitpid(pid_, &ending_, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) {
      pid_ = -1;
      break;
    }
    if (absl::Now() >= deadline) kill(pid_, SIGKILL);
    absl::SleepFor(kEndPause);
  }
  return ending_;
}

bool Kubectl::Write(const std::string& text) {
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const ssize_t written = write(input_, text.data(), text.size());
  sigaction(SIGPIPE, &before, nullptr);
  return written == static_cast<ssize_t>(text.size());
}

bool Kubectl::Fill(absl::Time deadline) {
  while (!at_end_) {
    const absl::Duration left = deadline - absl::Now();
    pollfd poll_for = {.fd = output_, .events = POLLIN, .revents = 0};
    const auto patience = std::max<int64_t>(0, absl::ToInt64Milliseconds(left));
    const int ready = poll(&poll_for, 1, static_cast<int>(std::min<int64_t>(patience, 60000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) {
      if (absl::Now() >= deadline) return false;
      continue;
    }
    char buffer[1 << 16];
    const ssize_t got = read(output_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      at_end_ = true;
      return false;
    }
    read_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  return false;
}

absl::StatusOr<std::string> Kubectl::ReadLine(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  size_t end = 0;
  while ((end = read_.find('\n')) == read_.npos) {
    if (read_.size() > kMostOutput)
      return absl::OutOfRangeError("kubectl writes a line without end");
    if (Fill(deadline)) continue;
    if (at_end_) return absl::OutOfRangeError("kubectl has ended");
    return absl::DeadlineExceededError("no answer through kubectl yet");
  }
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

absl::StatusOr<std::string> Kubectl::ReadAll(absl::Duration timeout) {
  Close(input_);
  const absl::Time deadline = absl::Now() + timeout;
  while (Fill(deadline)) {
    if (read_.size() > kMostOutput) return TooMuch();
  }
  if (!at_end_) return absl::DeadlineExceededError("the cluster does not answer kubectl");
  const int ending = Wait(deadline);
  if (WIFEXITED(ending) && WEXITSTATUS(ending) == 0) return std::exchange(read_, "");
  return absl::UnavailableError(absl::StrCat("kubectl cannot ask the cluster: ", Complaint()));
}

std::string Kubectl::Complaint() {
  char buffer[4096];
  const off_t size = lseek(errors_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(sizeof buffer));
  const ssize_t got = pread(errors_, buffer, sizeof buffer, from);
  const std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(buffer, got > 0 ? static_cast<size_t>(got) : 0), '\n',
                     absl::SkipWhitespace());
  return lines.empty() ? "it does not say why" : lines.back();
}

}  // namespace capstan::cli
