#include "capstan/base/trace.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace capstan::trace {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

// The one trace of the process; never destroyed, because threads may write until the very end.
struct Process {
  std::atomic<bool> on{false};
  absl::Mutex mu;
  int file ABSL_GUARDED_BY(mu) = -1;
  std::string by ABSL_GUARDED_BY(mu);
};

Process& TheProcess() {
  static auto& process = *new Process;
  return process;
}

int64_t SinceTheMachineWasStarted() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

}  // namespace

absl::Status Open(const std::string& path, std::string_view by) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    return absl::UnavailableError(absl::StrCat("--trace=", path, ": ", std::strerror(errno)));
  }
  Process& process = TheProcess();
  absl::MutexLock lock(&process.mu);
  if (process.file >= 0) ::close(process.file);
  process.file = file;
  process.by = std::string(by);
  process.on.store(true, std::memory_order_release);
  return absl::OkStatus();
}

bool On() { return TheProcess().on.load(std::memory_order_acquire); }

void Write(std::string_view event, log::Fields fields) {
  Process& process = TheProcess();
  if (!process.on.load(std::memory_order_acquire)) return;
  absl::MutexLock lock(&process.mu);  // So that times rise from line to line.
  std::string line = "{";
  log::Field("at", SinceTheMachineWasStarted()).AppendJson(line);
  for (const log::Field& field : {log::Field("by", process.by), log::Field("event", event)}) {
    line += ',';
    field.AppendJson(line);
  }
  for (const log::Field& field : fields) {
    line += ',';
    field.AppendJson(line);
  }
  line += "}\n";
  // A line that cannot be written is omitted; readers of the trace notice that.
  [[maybe_unused]] const ssize_t written = ::write(process.file, line.data(), line.size());
}

}  // namespace capstan::trace
