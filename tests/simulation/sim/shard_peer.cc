#include "tests/simulation/sim/shard_peer.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "tests/simulation/sim/shard.h"

namespace capstan::sim {
namespace {

constexpr char kName[] = "ps-";
constexpr char kPort[] = ":7000";

// As ps/process/shard_peer has them.
constexpr absl::Duration kDeadline = absl::Seconds(20);
constexpr absl::Duration kPollTurn = absl::Milliseconds(50);

class SimPeer final : public ps::MovePeer {
 public:
  SimPeer(Cast& cast, SimThreads& threads, uint32_t shard)
      : cast_(cast), threads_(threads), shard_(shard) {}

  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                              absl::FunctionRef<bool()> give_up) override {
    using Reply = v1::TakePartitionReply;
    if (threads_.over()) return absl::CancelledError("the process ends");
    // Gone when the answer is awaited no more.
    auto answer = std::make_shared<std::optional<absl::StatusOr<Reply>>>();
    const std::weak_ptr<std::optional<absl::StatusOr<Reply>>> awaited = answer;
    cast_.network().Call<Reply>(
        threads_.life(), cast_.shard_host(shard_), kDeadline,
        [&cast = cast_, shard = shard_, request](const Done<Reply>& done, absl::Time) {
          if (ShardProcess* process = cast.shard(shard)) done(process->TakePartition(request));
        },
        [awaited, wake = threads_.Waker()](absl::StatusOr<Reply> reply) {
          const auto answer = awaited.lock();
          if (answer == nullptr) return;
          answer->emplace(std::move(reply));
          wake();
        });
    while (!*answer) {
      if (give_up()) return absl::CancelledError("given up");
      if (!threads_.Sleep(kPollTurn)) return absl::CancelledError("the process ends");
    }
    return **answer;
  }

 private:
  Cast& cast_;
  SimThreads& threads_;
  const uint32_t shard_;
};

}  // namespace

std::string AddressOf(uint32_t shard) { return absl::StrCat(kName, shard, kPort); }

uint32_t ShardAt(const std::string& address) {
  CAPSTAN_CHECK(address.starts_with(kName));
  return static_cast<uint32_t>(std::strtoul(address.c_str() + sizeof(kName) - 1, nullptr, 10));
}

ps::PeerOpener PeerOpenerOf(Cast& cast, SimThreads& threads) {
  return [&cast, &threads](const std::string& address) -> std::unique_ptr<ps::MovePeer> {
    return std::make_unique<SimPeer>(cast, threads, ShardAt(address));
  };
}

}  // namespace capstan::sim
