#include "capstan/rpc/port_answers.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using std::string_view_literals::operator""sv;

// The preface of HTTP/2, and an empty SETTINGS frame; RFC 9113, 3.4 and 6.5.
constexpr std::string_view kHello =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    "\0\0\0\4\0\0\0\0\0"sv;

bool Wait(int socket, int16_t events, absl::Duration patience) {
  pollfd waited = {.fd = socket, .events = events, .revents = 0};
  return poll(&waited, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) == 1;
}

bool Refuses(const addrinfo& address, absl::Duration patience) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const absl::Cleanup close = [socket] { ::close(socket); };
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return false;
  if (errno == ECONNREFUSED) return true;
  if (errno != EINPROGRESS || !Wait(socket, POLLOUT, patience)) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == ECONNREFUSED;
}

bool Answers(const addrinfo& address, absl::Duration patience) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  // True if this process has no descriptors left: that says nothing about the port.
  if (socket < 0) return errno == EMFILE || errno == ENFILE;
  const absl::Cleanup close = [socket] { ::close(socket); };
  if (connect(socket, address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
    return false;
  }
  if (!Wait(socket, POLLOUT, patience)) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == ECONNREFUSED) return false;
  (void)send(socket, kHello.data(), kHello.size(), MSG_NOSIGNAL);
  return Wait(socket, POLLIN, patience);
}

// Returns question() for the host's first address; false if there is no such host.
template <typename Question>
bool AskFirstAddress(const std::string& host, int port, Question question) {
  const addrinfo hints{.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) return false;
  const absl::Cleanup free = [found] { freeaddrinfo(found); };
  return question(*found);
}

}  // namespace

bool PortAnswers(const std::string& host, int port, absl::Duration patience) {
  return AskFirstAddress(host, port,
                         [&](const addrinfo& address) { return Answers(address, patience); });
}

bool PortRefuses(const std::string& host, int port, absl::Duration patience) {
  return AskFirstAddress(host, port,
                         [&](const addrinfo& address) { return Refuses(address, patience); });
}

}  // namespace capstan
