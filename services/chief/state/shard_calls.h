// The chief's calls to shards, by the RPCs of capstan/v1/ps.proto: which of them a call is of is
// known by the type of its request. Each call is repeated until the shard has answered it, so a
// shard may get it more than once.
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
  kNamed,       // The one that the published view names.
  kRegistered,  // The one that has registered: it is called before a view names it.
};

// How a call is made.
struct CallOptions {
  absl::Duration deadline;                // How long an attempt may take.
  absl::Time due = absl::InfinitePast();  // It is sent then or later.
  Callee callee = Callee::kNamed;
  // The duty that asks for the call has an answer to a refusal, which ends the call. Otherwise the
  // call is repeated, until the job fails: see ShardCalls::Refusal.
  bool may_be_refused = false;
  // Training stands still until the call is answered, and a shard that refuses it may have the view
  // that it lacks in a moment: it is repeated sooner, and does not wait for the next tick.
  bool hurries = false;
};

// Thread-compatible.
class ShardCalls {
 public:
  // Asks for a call. It replaces a call of the same RPC to the same callee that has not been
  // answered. REQUIRES: the chief calls shards with such a `Request`.
  template <typename Request>
  void Send(uint32_t shard, Request request, const CallOptions& options) {
    calls_.insert_or_assign(KeyOf<Request>(shard, options.callee),
                            Call{.request = std::move(request), .options = options});
  }

  // Returns the attempts that are due, and notes them as under way: in the order of their RPCs in
  // the proto, and those of one RPC in the order of the shards. Each goes to the address that
  // `view` has for the shard, or `shards` for a callee that has only registered, and carries the
  // epoch and timeline of `view`. A call under way to a process that has been replaced is sent to
  // the new process at once.
  std::vector<CallShard> TakeDue(const v1::View& view, const ShardTable& shards, absl::Time now);
  // Returns when the next call that hurries and is not under way is due; InfiniteFuture: there is
  // none.
  absl::Time NextHurried() const;

  struct Answer {
    ShardRequest request;  // What was asked.
    Callee callee = Callee::kNamed;
    uint32_t shard = 0;
    uint64_t incarnation = 0;          // The incarnation of the process that has answered.
    absl::StatusOr<ShardReply> reply;  // An error only if the call may be refused.

    // Returns true if this answers a call with such a `Request` to such a callee.
    template <typename Request>
    bool IsTo(Callee asked = Callee::kNamed) const {
      return request.Is<Request>() && callee == asked;
    }
  };
  // Ends the attempt `call` and returns the answer. Nothing if the attempt has failed and will be
  // repeated, or if its call was replaced or cancelled.
  std::optional<Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);

  // Return true if a call with such a `Request` has not been answered: by any shard that a view
  // names, or by this one.
  template <typename Request>
  bool Pending() const {
    const auto first = calls_.lower_bound(KeyOf<Request>(0, Callee::kNamed));
    return first != calls_.end() && IsOf<Request>(first->first);
  }
  template <typename Request>
  bool Pending(uint32_t shard, Callee callee = Callee::kNamed) const {
    return calls_.contains(KeyOf<Request>(shard, callee));
  }

  // Forget calls that have not been answered: all; those with such a `Request` to all shards that a
  // view names; the one to this callee.
  void CancelAll() { calls_.clear(); }
  template <typename Request>
  void Cancel() {
    std::erase_if(calls_, [](const auto& call) { return IsOf<Request>(call.first); });
  }
  template <typename Request>
  void Cancel(uint32_t shard, Callee callee = Callee::kNamed) {
    calls_.erase(KeyOf<Request>(shard, callee));
  }

  // Returns why a shard keeps refusing a call that may not be refused; OK if none does. That a
  // shard is away is no refusal: the chief waits for it.
  [[nodiscard]] absl::Status Refusal() const;

  // Returns the calls that have not been answered, and in how long those are due that are not under
  // way. The explorer of states (tests) tells by it which states are equal.
  std::string DebugString(absl::Time now) const;

 private:
  struct Key {
    int rpc = 0;  // Its place among those of the proto.
    Callee callee = Callee::kNamed;
    uint32_t shard = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Call {
    ShardRequest request;
    CallOptions options;
    uint64_t attempt = 0;      // The attempt under way; 0: none.
    uint64_t incarnation = 0;  // The process that the last attempt went to.
    int failures = 0;
    int refusals = 0;
    absl::Status last;
  };

  template <typename Request>
  static Key KeyOf(uint32_t shard, Callee callee) {
    return {.rpc = MethodOf(*Request::descriptor()).index(), .callee = callee, .shard = shard};
  }
  // Returns true if the key is of a call with such a `Request` to a shard that a view names.
  template <typename Request>
  static bool IsOf(const Key& key) {
    return key == KeyOf<Request>(key.shard, Callee::kNamed);
  }

  std::map<Key, Call> calls_;
  uint64_t attempts_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
