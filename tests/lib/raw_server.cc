#include "tests/lib/raw_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "capstan/base/check.h"

namespace capstan {
namespace {

// Waits until `fd` is readable; returns false if `wake` is readable first.
bool WaitReadable(int fd, int wake) {
  pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
  poll(fds, 2, -1);
  return fds[1].revents == 0;
}

size_t BodyBytes(const std::string& head) {
  const size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoull(head.c_str() + at + 16, nullptr, 10);
}

// Returns the next request; "" if the connection or the server ends.
std::string ReadRequest(int connection, int wake) {
  std::string request;
  char buffer[65536];
  while (true) {
    const size_t head = request.find("\r\n\r\n");
    if (head != std::string::npos &&
        request.size() >= head + 4 + BodyBytes(request.substr(0, head))) {
      return request;
    }
    if (!WaitReadable(connection, wake)) return "";
    const ssize_t got = read(connection, buffer, sizeof(buffer));
    if (got <= 0) return "";
    request.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

RawServer::RawServer(Answerer answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CAPSTAN_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CAPSTAN_CHECK(listen(listener_, 16) == 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  CAPSTAN_CHECK(pipe(wake_) == 0);
  thread_ = std::thread([this] { Run(); });
}

RawServer::~RawServer() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  close(listener_);
}

std::string RawServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void RawServer::Run() {
  while (WaitReadable(listener_, wake_[0])) {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) continue;
    ++connections_;
    Serve(connection);
    close(connection);
  }
}

void RawServer::Serve(int connection) {
  while (true) {
    const std::string request = ReadRequest(connection, wake_[0]);
    if (request.empty()) return;
    const RawAnswer answer = answer_(requests_++, request);
    // The peer may close early. Then send fails, and the server continues.
    (void)send(connection, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL);
    if (answer.then == AfterAnswer::kStall) WaitReadable(connection, wake_[0]);
    if (answer.then == AfterAnswer::kReset) {
      const linger now = {.l_onoff = 1, .l_linger = 0};
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    if (answer.then != AfterAnswer::kKeep) return;
  }
}

}  // namespace capstan
