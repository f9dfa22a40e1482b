#include "capstan/process/liveness.h"

#include <optional>

#include "capstan/base/host_port.h"
#include "capstan/base/log.h"
#include "capstan/rpc/port_answers.h"

namespace capstan {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);

// Returns the host at which the process reaches its own port.
std::string OwnHost(const std::string& listen) {
  const std::optional<HostPort> at = SplitHostPort(listen);
  return !at || at->any() ? "127.0.0.1" : at->host;
}

}  // namespace

Liveness::Liveness(HealthServer& health, const std::string& listen, int port, absl::Duration every)
    : health_(health),
      host_(OwnHost(listen)),
      port_(port),
      every_(every),
      last_turn_(absl::ToUnixNanos(clock_.Now())) {
  thread_ = std::thread([this] { Run(); });
}

Liveness::~Liveness() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void Liveness::Run() {
  Pulse pulse;
  bool well = true;
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithTimeout(absl::Condition(&stopping_), every_)) return;
    }
    const bool answers = PortAnswers(host_, port_, kPatience);
    const absl::Time last_turn = absl::FromUnixNanos(last_turn_);
    const bool is_well = pulse.Look(last_turn, answers, clock_.Now());
    if (is_well == well) continue;
    well = is_well;
    health_.Set(Probe::kLiveness, well);
    if (well) {
      log::Info("the process does its work again");
    } else {
      log::Error("the process does not do its work: its probe is told so",
                 {{"its port answers", answers ? "yes" : "no"},
                  {"since its loop went round", clock_.Now() - last_turn}});
    }
  }
}

}  // namespace capstan
