#include "tests/simulation/sim/network.h"

#include <algorithm>
#include <utility>

namespace capstan::sim {
namespace {

constexpr absl::Duration kQuickestWay = absl::Microseconds(200);
constexpr absl::Duration kUsualWay = absl::Milliseconds(3);
// How long it takes a client to see that a connection is dead.
constexpr absl::Duration kSoonNoticed = absl::Milliseconds(50);
constexpr absl::Duration kLateNoticed = absl::Seconds(5);

}  // namespace

HostId Network::AddHost(std::string name) {
  hosts_.push_back({std::move(name)});
  return hosts_.size() - 1;
}

Life Network::Boot(HostId host) {
  Host& booted = hosts_[host];
  booted.up = true;
  booted.frozen_until = absl::InfinitePast();
  return {host, ++booted.life};
}

void Network::Kill(HostId host) {
  Host& killed = hosts_[host];
  killed.up = false;
  for (const auto& caller : std::exchange(killed.callers, {})) {
    // A connection that is reset is noticed at once; one to a node that has vanished is not.
    if (const auto lost = caller.lock(); lost && schedule_.Chance(0.8)) (*lost)();
  }
}

void Network::NoteCaller(HostId host, const std::shared_ptr<std::function<void()>>& lost) {
  constexpr size_t kMany = 256;
  auto& callers = hosts_[host].callers;
  if (callers.size() > kMany) {
    std::erase_if(callers, [](const auto& caller) { return caller.expired(); });
  }
  callers.push_back(lost);
}

void Network::Freeze(HostId host, absl::Duration length) {
  hosts_[host].frozen_until = schedule_.Now() + length;
}

void Network::After(const Life& life, absl::Duration wait, std::function<void()> event) {
  schedule_.After(wait, [this, life, event = std::move(event)] { Run(life, event); });
}

void Network::Run(const Life& life, const std::function<void()>& event) {
  if (!Lives(life)) return;
  if (!IsFrozen(life.host)) return event();
  schedule_.At(hosts_[life.host].frozen_until, [this, life, event] { Run(life, event); });
}

void Network::Cut(HostId from, HostId to, absl::Duration length) {
  absl::Time& until = cuts_[{from, to}];
  until = std::max(until, schedule_.Now() + length);
}

bool Network::IsCut(HostId from, HostId to) const {
  const auto cut = cuts_.find({from, to});
  return cut != cuts_.end() && cut->second > schedule_.Now();
}

void Network::HealAll() {
  cuts_.clear();
  weather_ = {};
}

absl::Duration Network::Latency() {
  if (schedule_.Chance(weather_.dawdle)) return schedule_.Between(kUsualWay, weather_.longest);
  return schedule_.Between(kQuickestWay, kUsualWay);
}

bool Network::Passes(HostId from, HostId to) {
  return !IsCut(from, to) && !schedule_.Chance(weather_.lose);
}

void Network::Carry(HostId from, HostId to, std::function<void(Life)> arrive,
                    std::function<void()> absent) {
  if (!Passes(from, to)) return;
  schedule_.After(Latency(), [this, to, arrive = std::move(arrive), absent = std::move(absent)] {
    if (!hosts_[to].up) return absent();
    const Life life{to, hosts_[to].life};
    Run(life, [arrive, life] { arrive(life); });
  });
}

void Network::Send(const std::shared_ptr<Stream>& stream, std::function<void()> deliver) {
  if (stream->broken) return;
  if (!Lives(stream->to) || !Passes(stream->from.host, stream->to.host)) return Break(stream);
  stream->last = std::max(stream->last, schedule_.Now() + Latency());
  stream->sent.push_back(std::move(deliver));
  schedule_.At(stream->last, [this, stream] {
    // A host that is frozen again and again reads the messages later, and in order all the same.
    Run(stream->to, [stream] {
      if (stream->broken) return;
      const std::function<void()> first = std::move(stream->sent.front());
      stream->sent.pop_front();
      first();
    });
  });
}

void Network::Break(const std::shared_ptr<Stream>& stream) {
  if (std::exchange(stream->broken, true)) return;
  After(stream->to, schedule_.Between(kSoonNoticed, kLateNoticed),
        [stream] { stream->on_broken(); });
}

}  // namespace capstan::sim
