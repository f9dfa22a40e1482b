#include "capstan/rpc/accepted_sockets.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"

namespace capstan {
namespace {

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// Returns the local port; -1 if `fd` is not an internet socket.
int LocalPort(int fd) {
  Address address;
  socklen_t length = sizeof(address);
  if (getsockname(fd, &address.any, &length) != 0) return -1;
  if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
  if (address.any.sa_family == AF_INET6) return ntohs(address.v6.sin6_port);
  return -1;
}

bool IsConnected(int fd) {
  Address address;
  socklen_t length = sizeof(address);
  return getpeername(fd, &address.any, &length) == 0;
}

std::vector<int> OpenFiles() {
  std::vector<int> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    int fd;
    if (absl::SimpleAtoi(entry->path().filename().native(), &fd)) files.push_back(fd);
  }
  return files;
}

}  // namespace

std::vector<AcceptedSocket> AcceptedSockets(int port) {
  std::vector<AcceptedSocket> sockets;
  for (int fd : OpenFiles()) {
    if (LocalPort(fd) != port || !IsConnected(fd)) continue;
    int unread = 0;
    ioctl(fd, FIONREAD, &unread);
    sockets.push_back({fd, static_cast<size_t>(unread)});
  }
  return sockets;
}

void HangUp(const AcceptedSocket& socket) {
  // Not shutdown(): after that, everything that was received would still be read.
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  connect(socket.fd, &nobody, sizeof(nobody));
}

}  // namespace capstan
