// A TCP port of 127.0.0.1 that stays ours while nobody listens on it: of a server that may die and
// is started again where others look for it.
#ifndef CAPSTAN_CLI_LOCAL_HELD_PORT_H_
#define CAPSTAN_CLI_LOCAL_HELD_PORT_H_

#include <optional>

namespace capstan::cli {

// The port is bound by a socket that does not listen. Linux then gives it to nobody who binds port
// 0 or connects, and lets a process that names it listen on it, if that sets SO_REUSEADDR, as
// Capstan's servers do (inet_csk_bind_conflict in net/ipv4/inet_connection_sock.c).
// Thread-compatible.
class HeldPort {
 public:
  // `port`: 0: any free one. Nullopt: it cannot be held, as somebody listens on it, for instance.
  static std::optional<HeldPort> Hold(int port);

  HeldPort(HeldPort&& other) noexcept;
  HeldPort& operator=(HeldPort&& other) noexcept;
  ~HeldPort();

  int number() const { return number_; }

 private:
  HeldPort(int fd, int number) : fd_(fd), number_(number) {}

  int fd_;  // -1: it has been moved from.
  int number_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_HELD_PORT_H_
