#include "capstan/metrics/server.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::metrics {
namespace {

// A scrape is small and rare: two scrapers at once are served, a third one waits.
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
  // The exposer holds them weakly, so these are the only owners.
  const std::shared_ptr<View> view;
  const std::shared_ptr<View> build_info_view;
  prometheus::Exposer exposer;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Registry& registry,
                                                      const std::string& host, int port) {
  const std::string address = absl::StrCat(host, ":", port);
  try {  // The exposer says by an exception that it cannot listen.
    return std::unique_ptr<Server>(new Server(std::make_unique<Parts>(registry, address)));
  } catch (const std::exception&) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, " for metrics: is the port taken?"));
  }
}

int Server::port() const { return parts_->exposer.GetListeningPorts().front(); }

}  // namespace capstan::metrics
