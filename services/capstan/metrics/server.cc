#include "capstan/metrics/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/cannot_listen.h"
#include "capstan/base/host_port.h"

namespace capstan::metrics {
namespace {

// Scrapes are small and rare, so two are served at once, and a third one waits.
constexpr char kThreads[] = "2";

class View : public prometheus::Collectable {
 public:
  explicit View(const Registry& registry) : registry_(registry) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return registry_.Collect(); }

 private:
  const Registry& registry_;
};

std::shared_ptr<Registry> NewBuildInfo() {
  auto registry = std::make_shared<Registry>();
  AddBuildInfo(*registry);
  return registry;
}

void Knock(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  [[maybe_unused]] const int connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  close(fd);
}

}  // namespace

struct Server::Parts {
  Parts(const Registry& registry, const std::string& address)
      : view(std::make_shared<View>(registry)),
        build_info_view(std::make_shared<View>(*build_info)),
        exposer({"listening_ports", address, "num_threads", kThreads}) {
    exposer.RegisterCollectable(view);
    exposer.RegisterCollectable(build_info_view, "/buildinfo");
  }

  const std::shared_ptr<Registry> build_info = NewBuildInfo();
  // The exposer holds only weak pointers, so these are the only owners.
  const std::shared_ptr<View> view;
  const std::shared_ptr<View> build_info_view;
  prometheus::Exposer exposer;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

// The exposer's web server checks its stop flag every two seconds, or when a client connects. So
// this connects until it has closed, and the process can end at once.
Server::~Server() {
  std::atomic<bool> closed = false;
  std::thread knocking([&closed, port = port()] {
    while (!closed) {
      Knock(port);
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  parts_.reset();
  closed = true;
  knocking.join();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Registry& registry,
                                                      const std::string& host, int port) {
  const std::string address = JoinHostPort(host, port);
  try {  // The exposer throws if it cannot listen.
    return std::unique_ptr<Server>(new Server(std::make_unique<Parts>(registry, address)));
  } catch (const std::exception&) {
    return CannotListen(address);
  }
}

int Server::port() const { return parts_->exposer.GetListeningPorts().front(); }

}  // namespace capstan::metrics
