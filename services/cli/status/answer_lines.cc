#include "cli/status/answer_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "cli/status/status_json.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kAnswer = absl::Seconds(2);

std::string Answer(StatusSource& source) {
  const absl::StatusOr<v1::GetStatusReply> status = source.GetStatus(kAnswer);
  if (status.ok()) return ToJson(*status) + "\n";
  return Printable(std::string(status.status().message())) + "\n";
}

bool Write(int out, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(out, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

// Waits for questions and returns how many lines have arrived; 0: no more will.
int64_t Questions(int in, absl::Duration silence) {
  while (true) {
    pollfd poll_for = {.fd = in, .events = POLLIN, .revents = 0};
    const int ready = poll(&poll_for, 1, static_cast<int>(absl::ToInt64Milliseconds(silence)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return 0;
    char buffer[256];
    const ssize_t got = read(in, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    const int64_t lines = std::count(buffer, buffer + got, '\n');
    if (lines > 0) return lines;
  }
}

}  // namespace

void AnswerLines(StatusSource& source, int in, int out, absl::Duration silence) {
  while (const int64_t questions = Questions(in, silence)) {
    for (int64_t i = 0; i < questions; ++i) {
      if (!Write(out, Answer(source))) return;
    }
  }
}

}  // namespace capstan::cli
