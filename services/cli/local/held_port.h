// Holds a TCP port of 127.0.0.1 while nobody listens on it, for a server that may die and is
// started again at the address where others look for it.
#ifndef CAPSTAN_CLI_LOCAL_HELD_PORT_H_
#define CAPSTAN_CLI_LOCAL_HELD_PORT_H_

#include <optional>

namespace capstan::cli {

// The port is bound by a socket that does not listen. Linux then gives the port to no process that
// binds port 0 or connects, but lets a process that names it listen on it with SO_REUSEADDR, which
// Capstan's servers set (inet_csk_bind_conflict in net/ipv4/inet_connection_sock.c).
// Thread-compatible.
class HeldPort {
 public:
  // Holds `port`; 0: any free port. Nullopt: the port cannot be held, for instance because a
  // process listens on it.
  static std::optional<HeldPort> Hold(int port);

  HeldPort(HeldPort&& other) noexcept;
  HeldPort& operator=(HeldPort&& other) noexcept;
  ~HeldPort();

  int number() const { return number_; }

 private:
  HeldPort(int fd, int number) : fd_(fd), number_(number) {}

  int fd_;  // -1: this object has been moved from.
  int number_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_HELD_PORT_H_
