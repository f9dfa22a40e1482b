#include "ps/process/shard_peer.h"

#include <optional>
#include <utility>

#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"

namespace capstan::ps {
namespace {

constexpr char kTakePartition[] = "/capstan.v1.Ps/TakePartition";
constexpr absl::Duration kDeadline = absl::Seconds(20);
constexpr absl::Duration kPollTurn = absl::Milliseconds(50);

class ShardPeer final : public MovePeer {
 public:
  ShardPeer(const std::string& address, const Tls* tls)
      : channel_(NewChannel(address, Role::kPs, tls)) {}

  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                              absl::FunctionRef<bool()> give_up) override {
    std::optional<absl::StatusOr<v1::TakePartitionReply>> answer;
    const CallId call = loop_.Call<v1::TakePartitionReply>(
        channel_, kTakePartition, request, kDeadline,
        [&answer](absl::StatusOr<v1::TakePartitionReply> reply) { answer = std::move(reply); });
    bool given_up = false;
    while (!answer) {
      if (!given_up && give_up()) {
        given_up = true;
        loop_.Cancel(call);
      }
      loop_.Poll(kPollTurn);
    }
    return *std::move(answer);
  }

 private:
  const Channel channel_;
  EventLoop loop_;
};

}  // namespace

PeerOpener ShardPeerOpener(const Tls* tls) {
  return [tls](const std::string& address) { return std::make_unique<ShardPeer>(address, tls); };
}

}  // namespace capstan::ps
