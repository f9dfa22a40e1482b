// Hosts, their processes' lives, and the network between them. Calls are lost, delayed, repeated
// and overtake each other; links are cut in one direction; a process is killed, or frozen and woken
// with all that has arrived meanwhile.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_NETWORK_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/simulation/sim/schedule.h"

namespace capstan::sim {

using HostId = size_t;

// One process, from its start to its end.
struct Life {
  HostId host = 0;
  uint64_t number = 0;
};

// How bad the network is.
struct Weather {
  double lose = 0;    // Of a message.
  double repeat = 0;  // Of a request.
  double dawdle = 0;  // That a message takes up to `longest` instead of some milliseconds.
  absl::Duration longest = absl::Seconds(4);
};

// What is answered to a caller: at most one answer counts.
template <typename Reply>
using Done = std::function<void(absl::StatusOr<Reply>)>;

// Confined to one thread.
class Network {
 public:
  explicit Network(Schedule& schedule) : schedule_(schedule) {}

  // ---- processes ----
  HostId AddHost(std::string name);
  Life Boot(HostId host);
  void Kill(HostId host);
  void Freeze(HostId host, absl::Duration length);
  bool IsUp(HostId host) const { return hosts_[host].up; }
  bool IsFrozen(HostId host) const { return hosts_[host].frozen_until > schedule_.Now(); }
  bool Lives(const Life& life) const {
    return hosts_[life.host].up && hosts_[life.host].life == life.number;
  }
  const std::string& name(HostId host) const { return hosts_[host].name; }
  size_t hosts() const { return hosts_.size(); }

  // A timer of that life: nothing if it is over by then; later if it is frozen.
  void After(const Life& life, absl::Duration wait, std::function<void()> event);

  // ---- links ----
  void Cut(HostId from, HostId to, absl::Duration length);
  bool IsCut(HostId from, HostId to) const;
  void SetWeather(const Weather& weather) { weather_ = weather; }
  void HealAll();

  // A call from a process to whatever process is at `to` when it arrives: `serve(done, deadline)`
  // runs there, none or several times. `done` runs once, unless the caller's life ends:
  // DEADLINE_EXCEEDED after `timeout`, UNAVAILABLE when nobody is there.
  template <typename Reply>
  void Call(const Life& from, HostId to, absl::Duration timeout,
            std::function<void(Done<Reply>, absl::Time)> serve, Done<Reply> done);

  // One message of an ordered stream: it arrives after those before it, or breaks the stream.
  struct Stream {
    Life from;
    Life to;
    absl::Time last = absl::InfinitePast();
    bool broken = false;
    std::deque<std::function<void()>> sent;  // Not read yet, in order.
    std::function<void()> on_broken;         // At the receiver.
  };
  void Send(const std::shared_ptr<Stream>& stream, std::function<void()> deliver);
  void Break(const std::shared_ptr<Stream>& stream);

 private:
  struct Host {
    std::string name;
    uint64_t life = 0;
    bool up = false;
    absl::Time frozen_until = absl::InfinitePast();
    std::vector<std::weak_ptr<std::function<void()>>> callers;  // To be told when it dies.
  };
  void Run(const Life& life, const std::function<void()>& event);
  void NoteCaller(HostId host, const std::shared_ptr<std::function<void()>>& lost);
  absl::Duration Latency();
  // Returns whether a message gets through now.
  bool Passes(HostId from, HostId to);
  // Runs `arrive` at the host, in whatever life it has by then; `absent` if it has none.
  void Carry(HostId from, HostId to, std::function<void(Life)> arrive,
             std::function<void()> absent);

  Schedule& schedule_;
  Weather weather_;
  std::vector<Host> hosts_;
  std::map<std::pair<HostId, HostId>, absl::Time> cuts_;
};

template <typename Reply>
void Network::Call(const Life& from, HostId to, absl::Duration timeout,
                   std::function<void(Done<Reply>, absl::Time)> serve, Done<Reply> done) {
  auto open = std::make_shared<bool>(true);
  Done<Reply> finish = [open, done](absl::StatusOr<Reply> reply) {
    if (std::exchange(*open, false)) done(std::move(reply));
  };
  After(from, timeout, [finish] { finish(absl::DeadlineExceededError("no answer in time")); });
  auto lost = std::make_shared<std::function<void()>>([this, from, finish] {
    After(from, Latency(), [finish] { finish(absl::UnavailableError("connection lost")); });
  });
  NoteCaller(to, lost);
  const absl::Time deadline = schedule_.Now() + timeout;
  auto arrive = [this, from, finish, serve, deadline, lost](Life at) {
    Done<Reply> reply = [this, from, at, finish, lost](absl::StatusOr<Reply> answer) {
      if (!Lives(at)) return;
      auto shared = std::make_shared<absl::StatusOr<Reply>>(std::move(answer));
      Carry(
          at.host, from.host,
          [this, from, finish, shared](Life) {
            if (Lives(from)) finish(std::move(*shared));
          },
          [] {});
    };
    serve(reply, deadline);
  };
  const auto absent = [lost] { (*lost)(); };
  Carry(from.host, to, arrive, absent);
  if (schedule_.Chance(weather_.repeat)) Carry(from.host, to, arrive, [] {});
}

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_NETWORK_H_
