#include "tests/bench/dataplane/input_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cstddef>

namespace capstan::bench {

bool InputLines::Waiting() const {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return buffer_.find('\n') != std::string::npos || poll(&input, 1, 0) > 0;
}

std::optional<std::string> InputLines::Next() {
  while (buffer_.find('\n') == std::string::npos) {
    char text[256];
    const ssize_t n = read(STDIN_FILENO, text, sizeof(text));
    if (n <= 0) return std::nullopt;
    buffer_.append(text, static_cast<size_t>(n));
  }
  const size_t end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

}  // namespace capstan::bench
