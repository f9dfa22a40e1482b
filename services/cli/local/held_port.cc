#include "cli/local/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace capstan::cli {

std::optional<HeldPort> HeldPort::Hold(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  HeldPort held(fd, port);  // Closes the socket if an error follows.
  const int reuse = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port));
  socklen_t size = sizeof address;
  sockaddr* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, any, size) != 0 || getsockname(fd, any, &size) != 0) return std::nullopt;
  held.number_ = ntohs(address.sin_port);
  return held;
}

HeldPort::HeldPort(HeldPort&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), number_(other.number_) {}

HeldPort& HeldPort::operator=(HeldPort&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(number_, other.number_);
  return *this;
}

HeldPort::~HeldPort() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace capstan::cli
