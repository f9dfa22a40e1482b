#include "capstan/rpc/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/cannot_listen.h"
#include "capstan/base/host_port.h"
#include "capstan/base/open_files.h"
#include "capstan/rpc/limits.h"

namespace capstan {
namespace {

// The pause after a failed accept before a listening socket is tried again.
constexpr absl::Duration kPause = absl::Milliseconds(100);

// Returns true if `error` means that this machine does not have this address, or this kind of
// addresses.
bool IsMissing(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

// Sets the options that gRPC sets on its own listening sockets; connections inherit them.
void SetOptions(int socket, int family) {
  SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, Keepalive().timeout);
  if (family == AF_INET6) SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void SetPort(sockaddr* address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
}

// Returns a listening socket, or -errno.
int ListenOn(const addrinfo& info) {
  const int socket = ::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -errno;
  SetOptions(socket, info.ai_family);
  if (bind(socket, info.ai_addr, info.ai_addrlen) == 0 && listen(socket, SOMAXCONN) == 0) {
    return socket;
  }
  const int error = errno;
  close(socket);
  return -error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  if (!at) return absl::InvalidArgumentError(absl::StrCat(address, ": is not host:port"));
  std::unique_ptr<Listener> listener(new Listener);
  listener->stop_ = eventfd(0, EFD_CLOEXEC);
  if (listener->stop_ < 0) return absl::UnavailableError(std::strerror(errno));
  // An IPv6 socket also accepts IPv4 connections.
  int error = listener->Listen(at->any() ? "::" : at->host, at->port);
  if (at->any() && IsMissing(error)) error = listener->Listen("0.0.0.0", at->port);
  if (error == 0) return listener;
  return CannotListen(address, error);
}

int Listener::Listen(const std::string& host, int port) {
  const addrinfo hints{.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return EADDRNOTAVAIL;
  }
  const absl::Cleanup free = [found] { freeaddrinfo(found); };
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (port_ != 0) SetPort(info->ai_addr, port_);  // All addresses of a name share one port.
    const int socket = ListenOn(*info);
    if (socket < 0 && IsMissing(-socket)) continue;
    if (socket < 0) return -socket;
    sockets_.push_back(socket);
    port_ = PortOf(socket);
  }
  return sockets_.empty() ? EADDRNOTAVAIL : 0;
}

Listener::~Listener() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  for (const int socket : sockets_) close(socket);
  if (stop_ >= 0) close(stop_);
}

void Listener::Attach(grpc::ServerBuilder& builder,
                      const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
}

void Listener::Start(std::function<bool()> is_full) {
  is_full_ = std::move(is_full);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Run() {
  std::vector<pollfd> waited = {{.fd = stop_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_) waited.push_back({socket, POLLIN, 0});
  while (true) {
    // Interrupted by a signal.
    if (poll(waited.data(), waited.size(), /*timeout=*/-1) < 0) continue;
    if (waited[0].revents != 0) return;
    bool room = true;
    for (size_t i = 1; i < waited.size(); ++i) {
      if (waited[i].revents != 0) room = AcceptFrom(waited[i].fd) && room;
    }
    // The connections still wait to be accepted, and would wake this thread at once.
    if (!room) poll(waited.data(), 1, static_cast<int>(absl::ToInt64Milliseconds(kPause)));
  }
}

bool Listener::AcceptFrom(int listening) {
  const int64_t limit = OpenFilesLimit();
  const int64_t room = RoomForConnections(limit);
  while (true) {
    if (is_full_()) return false;
    const int fd = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    // The system gives out the lowest free descriptor, so all below `fd` are taken.
    if (fd >= room) {
      close(fd);
      log_.Warn(
          "a connection is closed at once: the process has too many files and connections open",
          {{"port", port_}, {"limit", limit}});
      continue;
    }
    if (IsNearlyFull(fd + 1, room)) {
      nearly_full_log_.Warn(
          "nearly as many files and connections are open as this process may have; raise ulimit -n",
          {{"port", port_}, {"open", fd + 1}, {"room", room}, {"limit", limit}});
    }
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listening;
    connection.fd = fd;
    acceptor_->HandleNewConnection(&connection);
  }
}

}  // namespace capstan
