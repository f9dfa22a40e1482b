#include "cli/local/process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kEndPollPeriod = absl::Milliseconds(10);

absl::Status ErrnoStatus(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, what);
}

int OpenLog(const std::string& path) {
  if (path.empty()) return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

// Runs in the child, where only async-signal-safe calls are allowed. Returns only if it fails.
void BecomeProgram(const std::vector<char*>& argv, int log, int inherited, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // The parent died before the line above.
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0) {
    return;
  }
  if (inherited >= 0 && fcntl(inherited, F_SETFD, 0) != 0) return;
  signal(SIGPIPE, SIG_DFL);  // An ignored signal stays so in the new program.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(argv[0], argv.data());
}

}  // namespace

std::string Ending::ToString() const {
  if (signal == 0) return absl::StrCat("exit code ", exit_code);
  return absl::StrCat("signal ", signal, " (", strsignal(signal), ")");
}

absl::StatusOr<Process> Process::Start(const ProcessOptions& options) {
  std::vector<std::string> copies = options.argv;
  std::vector<char*> argv;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int log = OpenLog(options.log_path);
  if (log < 0) return ErrnoStatus(errno, options.log_path);
  // If the child fails, the error comes back through a pipe, which a successful exec closes.
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    const int error = errno;
    close(log);
    return ErrnoStatus(error, "pipe");
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    BecomeProgram(argv, log, options.inherited, parent);
    const int error = errno;
    const ssize_t written = write(failure[1], &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
  }
  const int fork_error = errno;
  close(log);
  close(failure[1]);
  int error = 0;
  const bool failed = pid > 0 && read(failure[0], &error, sizeof error) == sizeof error;
  close(failure[0]);
  if (pid < 0) return ErrnoStatus(fork_error, "fork");
  Process process(pid);
  if (failed) {
    process.WaitFor(absl::Seconds(1));
    return ErrnoStatus(error, options.argv[0]);
  }
  return process;
}

Process::~Process() {
  if (pid_ < 0) return;
  Poll();
  if (ending_.has_value() && !HasOrphans()) return;
  kill(-pid_, SIGKILL);
  if (!ending_.has_value()) waitpid(pid_, nullptr, 0);
  while (waitpid(-pid_, nullptr, 0) > 0) continue;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ending_(other.ending_),
      signal_(other.signal_),
      passed_on_(other.passed_on_),
      guard_(std::move(other.guard_)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);  // The destructor of `other` ends the process that was ours.
  std::swap(ending_, other.ending_);
  std::swap(signal_, other.signal_);
  std::swap(passed_on_, other.passed_on_);
  std::swap(guard_, other.guard_);
  return *this;
}

// REQUIRES: the process itself has ended, and was waited for. What is left of its group is a child
// of ours by now; a child that has ended keeps the group's number from being given out again until
// it is waited for here.
bool Process::HasOrphans() const {
  pid_t ended = 0;
  do ended = waitpid(-pid_, nullptr, WNOHANG);
  while (ended > 0);
  return ended == 0;
}

std::optional<Ending> Process::Poll() {
  if (!ending_.has_value()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    ending_ = WIFSIGNALED(status) ? Ending{.signal = WTERMSIG(status)}
                                  : Ending{.exit_code = WEXITSTATUS(status)};
  }
  if (signal_ == 0 || !HasOrphans()) return ending_;
  if (!std::exchange(passed_on_, true)) kill(-pid_, signal_);
  return std::nullopt;
}

void Process::Signal(int signal) {
  if (pid_ < 0 || Poll().has_value()) return;
  signal_ = signal;
  passed_on_ = signal == SIGKILL || ending_.has_value();
  kill(passed_on_ ? -pid_ : pid_, signal);
}

std::optional<Ending> Process::WaitFor(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  std::optional<Ending> ending = Poll();
  while (!ending.has_value() && absl::Now() < deadline) {
    absl::SleepFor(kEndPollPeriod);
    ending = Poll();
  }
  return ending;
}

}  // namespace capstan::cli
