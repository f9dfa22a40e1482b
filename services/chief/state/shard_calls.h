// The chief's calls to shards, by the RPCs of capstan/v1/ps.proto. The type of the request
// determines the RPC. Each call is repeated until the shard has answered it, so a shard may receive
// it more than once.
#ifndef CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
#define CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/message/rpc_method.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/chief_actions.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// The process of a shard that a call goes to.
enum class Callee {
  kNamed,       // The process that the published view names.
  kRegistered,  // The process that is registered, even if no view names it yet.
};

// How a call is made.
struct CallOptions {
  absl::Duration deadline;                // How long an attempt may take.
  absl::Time due = absl::InfinitePast();  // The call is not sent before this time.
  Callee callee = Callee::kNamed;
  // True if the duty that makes the call handles a refusal itself: a refusal then ends the call, as
  // an answer with an error. Otherwise the call is repeated, and ShardCalls::Refusal reports a
  // shard that keeps refusing it.
  bool may_be_refused = false;
  // True if training stands still until the call is answered. After a failure it is repeated
  // sooner, without waiting for the next tick: a shard that lacked the view may have it by then.
  bool hurries = false;
};

// Thread-compatible.
class ShardCalls {
 public:
  // Makes a call. It replaces an unanswered call of the same RPC to the same callee. REQUIRES: the
  // chief has an RPC to shards with this type of `Request`.
  template <typename Request>
  void Send(uint32_t shard, Request request, const CallOptions& options) {
    calls_.insert_or_assign(KeyOf<Request>(shard, options.callee),
                            Call{.request = std::move(request), .options = options});
  }

  // Returns the attempts that are due and marks them as under way. They are in the order of their
  // RPCs in the proto, then in the order of the shards. Each is addressed to the process that
  // `view` names, or for Callee::kRegistered the one in `shards`, and carries the epoch and
  // timeline of `view`. A call under way to a process that has been replaced is sent to the new
  // process at once.
  std::vector<CallShard> TakeDue(const v1::View& view, const ShardTable& shards, absl::Time now);
  // Returns when the next call that `hurries` and is not under way is due; InfiniteFuture if there
  // is none.
  absl::Time NextHurried() const;

  struct Answer {
    ShardRequest request;  // The request that was sent.
    Callee callee = Callee::kNamed;
    uint32_t shard = 0;
    uint64_t incarnation = 0;          // The process that has answered.
    absl::StatusOr<ShardReply> reply;  // An error only if the call `may_be_refused`.

    // Returns true if this answers a call with this type of `Request` to such a callee.
    template <typename Request>
    bool IsTo(Callee asked = Callee::kNamed) const {
      return request.Is<Request>() && callee == asked;
    }
  };
  // Takes in the result of attempt `call`, and returns the answer. Returns nullopt if the attempt
  // has failed and will be repeated, or if its call was replaced or cancelled.
  std::optional<Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);

  // Returns true if a call with this type of `Request` is unanswered: to any shard that a view
  // names, or to the given shard.
  template <typename Request>
  bool Pending() const {
    const auto first = calls_.lower_bound(KeyOf<Request>(0, Callee::kNamed));
    return first != calls_.end() && IsOf<Request>(first->first);
  }
  template <typename Request>
  bool Pending(uint32_t shard, Callee callee = Callee::kNamed) const {
    return calls_.contains(KeyOf<Request>(shard, callee));
  }

  // Forget unanswered calls: all of them; those with this type of `Request` to shards that a view
  // names; or the one to this callee.
  void CancelAll() { calls_.clear(); }
  template <typename Request>
  void Cancel() {
    std::erase_if(calls_, [](const auto& call) { return IsOf<Request>(call.first); });
  }
  template <typename Request>
  void Cancel(uint32_t shard, Callee callee = Callee::kNamed) {
    calls_.erase(KeyOf<Request>(shard, callee));
  }

  // Returns an error if a shard has refused a call several times that may not be refused; OK if
  // none has. An unreachable shard is not a refusal: the chief waits for it.
  [[nodiscard]] absl::Status Refusal() const;

  // Returns the unanswered calls, and in how long those that are not under way are due, as text.
  // The state-space explorer (tests) compares states by it.
  std::string DebugString(absl::Time now) const;

 private:
  struct Key {
    int rpc = 0;  // Index of the RPC in the proto's service.
    Callee callee = Callee::kNamed;
    uint32_t shard = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Call {
    ShardRequest request;
    CallOptions options;
    uint64_t attempt = 0;      // The attempt under way; 0: none.
    uint64_t incarnation = 0;  // The process to which the last attempt was sent.
    int failures = 0;
    int refusals = 0;
    absl::Status last;
  };

  template <typename Request>
  static Key KeyOf(uint32_t shard, Callee callee) {
    return {.rpc = MethodOf(*Request::descriptor()).index(), .callee = callee, .shard = shard};
  }
  // Returns true if the key is that of a call with this type of `Request` to a shard that a view
  // names.
  template <typename Request>
  static bool IsOf(const Key& key) {
    return key == KeyOf<Request>(key.shard, Callee::kNamed);
  }

  std::map<Key, Call> calls_;
  uint64_t attempts_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
