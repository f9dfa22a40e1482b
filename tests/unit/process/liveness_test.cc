#include "capstan/process/liveness.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/synchronization/mutex.h"

namespace capstan {
namespace {

// What the probe of liveness would be told.
class ToldHealth final : public HealthServer {
 public:
  int port() const override { return 0; }
  void Set(Probe probe, bool serving) override {
    absl::MutexLock lock(&mu_);
    if (probe == Probe::kLiveness) alive_ = serving;
  }
  bool ComesToSay(bool alive) {
    const auto says = [this, alive]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return alive_ == alive; };
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithTimeout(absl::Condition(&says), absl::Seconds(20));
  }

 private:
  absl::Mutex mu_;
  bool alive_ ABSL_GUARDED_BY(mu_) = true;
};

// Takes a port, and closes every connection to it, which is an answer, once it listens.
class Port {
 public:
  Port() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address_;
    (void)bind(socket_, reinterpret_cast<sockaddr*>(&address_), length);
    (void)getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &length);
  }
  ~Port() {
    shutdown(socket_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(socket_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int number() const { return ntohs(address_.sin_port); }
  void Listen() {
    (void)listen(socket_, 8);
    thread_ = std::thread([this] {
      for (int fd = accept(socket_, nullptr, nullptr); fd >= 0;
           fd = accept(socket_, nullptr, nullptr)) {
        close(fd);
      }
    });
  }

 private:
  const int socket_;
  sockaddr_in address_{};
  std::thread thread_;
};

TEST(LivenessTest, TheProbeIsToldThatThePortIsClosedAndThatItAnswersAgain) {
  Port port;
  ToldHealth health;
  const Liveness liveness(health, "127.0.0.1:0", port.number(), absl::Milliseconds(5));
  EXPECT_TRUE(health.ComesToSay(false));
  port.Listen();
  EXPECT_TRUE(health.ComesToSay(true));
}

}  // namespace
}  // namespace capstan
