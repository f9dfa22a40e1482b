#include "capstan/base/cannot_listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/host_port.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

constexpr char kListens[] = "0A";  // The state in /proc/net/tcp; see proc(5).

// Returns the errno of an attempt to bind; 0 if it succeeds by now.
int ErrorOfBinding(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return EADDRNOTAVAIL;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int reuse = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const bool listens = bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0;
  const int error = listens ? 0 : errno;
  close(fd);
  return error;
}

// Returns "socket:[4711]" for each socket that listens on the port.
std::set<std::string> SocketsOn(uint64_t port) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, skip, inode;
      words >> number >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
      const size_t colon = local.rfind(':');
      uint64_t at = 0;
      if (state != kListens || colon == local.npos) continue;
      if (!absl::SimpleHexAtoi(local.substr(colon + 1), &at) || at != port) continue;
      sockets.insert(absl::StrCat("socket:[", inode, "]"));
    }
  }
  return sockets;
}

bool Holds(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator(process / "fd", error)) {
    if (sockets.contains(fs::read_symlink(file.path(), error).string())) return true;
  }
  return false;
}

// Returns ", by chief (process 1234)"; empty if the process is another user's, or gone.
std::string OwnerOf(uint64_t port) {
  const std::set<std::string> sockets = SocketsOn(port);
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(process.path().filename().string(), &pid)) continue;
    if (sockets.empty() || !Holds(process.path(), sockets)) continue;
    std::string name;
    std::getline(std::ifstream(process.path() / "comm") >> std::ws, name);
    return absl::StrCat(", by ", name, " (process ", pid, ")");
  }
  return "";
}

}  // namespace

absl::Status CannotListen(const std::string& address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  return CannotListen(address, at ? ErrorOfBinding(at->host, absl::StrCat(at->port)) : 0);
}

absl::Status CannotListen(const std::string& address, int error) {
  const std::optional<HostPort> at = SplitHostPort(address);
  if (!at) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": it is not host:port"));
  }
  std::string why = error == 0 ? "try again" : std::strerror(error);
  if (error == EADDRINUSE) {
    why = absl::StrCat("the port is in use", OwnerOf(at->port),
                       "; end it, or take another port, 0 for any free one");
  } else if (error == EADDRNOTAVAIL) {
    why = "this machine has no such address";
  }
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why));
}

}  // namespace capstan
