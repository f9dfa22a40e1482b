#include "cli/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status Failure(const Page& page, int error) {
  const std::string where = absl::StrCat(page.host, ":", page.port, ": ");
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINPROGRESS || error == ETIMEDOUT) {
    return absl::DeadlineExceededError(absl::StrCat(where, "no answer in time"));
  }
  return absl::UnavailableError(absl::StrCat(where, std::strerror(error)));
}

// Of each wait for the peer from now on; connecting is one.
void SetTimeout(const Socket& socket, absl::Duration timeout) {
  const timeval limit = absl::ToTimeval(std::max(timeout, absl::Milliseconds(1)));
  (void)setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  (void)setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

absl::StatusOr<Socket> Connect(const Page& page, absl::Time deadline) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(page.host.c_str(), absl::StrCat(page.port).c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(absl::StrCat(page.host, ": ", gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  int last = EHOSTUNREACH;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    SetTimeout(socket, deadline - absl::Now());
    if (connect(socket.fd(), one->ai_addr, one->ai_addrlen) == 0) return socket;
    last = errno;
  }
  return Failure(page, last);
}

absl::StatusOr<std::string> ReadAll(const Socket& socket, const Page& page, absl::Time deadline) {
  std::string answer;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return Failure(page, ETIMEDOUT);
    SetTimeout(socket, left);
    const ssize_t count = recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure(page, errno);
    if (count == 0) return answer;
    answer.append(buffer.data(), static_cast<size_t>(count));
    if (answer.size() > kMostBytes) return Failure(page, EMSGSIZE);
  }
}

}  // namespace

absl::StatusOr<std::string> HttpGet(const Page& page, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  CAPSTAN_ASSIGN_OR_RETURN(const Socket socket, Connect(page, deadline));
  const std::string request =
      absl::StrCat("GET ", page.path, " HTTP/1.0\r\nHost: ", page.host, "\r\n\r\n");
  const ssize_t sent = send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(request.size())) return Failure(page, sent < 0 ? errno : EPIPE);
  CAPSTAN_ASSIGN_OR_RETURN(const std::string answer, ReadAll(socket, page, deadline));
  const size_t end_of_head = answer.find("\r\n\r\n");
  const std::string first_line = answer.substr(0, answer.find("\r\n"));
  if (end_of_head == answer.npos || !absl::StrContains(first_line, " 200")) {
    return absl::FailedPreconditionError(
        absl::StrCat(page.host, ":", page.port, page.path, ": answered \"", first_line, "\""));
  }
  return answer.substr(end_of_head + 4);
}

}  // namespace capstan::cli
