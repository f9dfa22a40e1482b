// What a job is and where its parameters are, as its chief tells whoever is no part of it.
#ifndef CAPSTAN_CLIENT_JOB_FOLLOWER_H_
#define CAPSTAN_CLIENT_JOB_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/client/address_resolver.h"
#include "capstan/client/parameter_map.h"
#include "capstan/client/ps_client.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/security/tls.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// *Confined to the thread of its event loop.*
class JobFollower {
 public:
  // What is known of the job, and the client that goes by it.
  struct Known {
    Known(v1::JobSpec spec, ParameterMap parameters) : job(std::move(spec)), map(parameters) {}
    const v1::JobSpec job;
    const ParameterMap map;
    std::optional<PsClient> shards;  // Has the map of a view. Last, as it uses `map`.
  };

  // `chief` is its address, as the resolver knows it. `loop`, `resolver` and `tls` (null:
  // plaintext) must outlive this object.
  JobFollower(EventLoop& loop, std::string chief, AddressResolver& resolver, const Tls* tls)
      : loop_(loop),
        chief_{.address = std::move(chief)},
        resolver_(resolver),
        tls_(tls),
        channels_(std::make_shared<ProcessChannels>(tls)) {}

  // A channel to the chief. Errors of AddressResolver::Resolve.
  absl::StatusOr<Channel> Chief();

  // Asks the chief, unless that is under way, for the job and then for its views until their stream
  // ends. To be called again and again while something is wanted.
  void Follow();

  // Null: the chief has not told the job yet.
  const v1::JobSpec* job() const;
  // Why the chief is not asked, has not told the job, or does not tell views any more; OK: it is
  // being asked.
  const absl::Status& status() const { return status_; }

  // How many views have come so far.
  uint64_t heard() const { return heard_; }
  // Goes by what has been told last. UNAVAILABLE: nobody serves the job's parameters yet.
  // REQUIRES: no request of known()->shards is under way, for another job makes another client.
  absl::StatusOr<Known*> Adopt();

  // Has known()->shards dial these shards where they are reached now; to be called before each
  // request to them. The first error of AddressResolver::Resolve; all of them are asked for anyway.
  // REQUIRES: Adopt has ended well.
  absl::Status Reach(absl::Span<const ShardIndex> shards);

  // Has the resolver forget the chief and all shards, as one of them does not answer.
  void ForgetAll();

 private:
  // A process by the address that the job knows it by, and where it was dialled last.
  struct Place {
    std::string address;
    uint64_t incarnation = 0;
    std::string dialled = "";  // "": nowhere yet.

    bool IsSameAs(const Place& other) const {
      return address == other.address && incarnation == other.incarnation;
    }
  };

  void Watch();
  void End(const absl::Status& status);
  void GoBy(v1::View view);

  EventLoop& loop_;
  Place chief_;
  Channel to_chief_;
  AddressResolver& resolver_;
  const Tls* const tls_;
  const std::shared_ptr<ProcessChannels> channels_;  // To shards.
  std::unique_ptr<Known> known_;
  absl::flat_hash_map<uint32_t, Place> places_;  // By shard, in the view that is followed.
  // Told by the chief that is being followed, and not adopted yet: the job, which another chief may
  // have begun anew, and its newest view.
  std::optional<v1::JobSpec> told_;
  std::optional<v1::View> view_;
  uint64_t heard_ = 0;
  bool following_ = false;
  absl::Status status_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_JOB_FOLLOWER_H_
