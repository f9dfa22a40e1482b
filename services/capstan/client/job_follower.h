// Follows what a job is and where its parameters are, as its chief tells a program that is no part
// of the job.
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
  // What is known of the job, and a client of its shards.
  struct Known {
    Known(v1::JobSpec spec, ParameterMap parameters) : job(std::move(spec)), map(parameters) {}
    const v1::JobSpec job;
    const ParameterMap map;
    std::optional<PsClient> shards;  // Has a view with a map. Declared last, as it uses `map`.
  };

  // `chief` is the chief's address, as the resolver knows it. `loop`, `resolver` and `tls` (null:
  // plaintext) must outlive this object.
  JobFollower(EventLoop& loop, std::string chief, AddressResolver& resolver, const Tls* tls)
      : loop_(loop),
        chief_{.address = std::move(chief)},
        resolver_(resolver),
        tls_(tls),
        channels_(std::make_shared<ProcessChannels>(tls)) {}

  // Returns a channel to the chief. The errors are those of AddressResolver::Resolve.
  absl::StatusOr<Channel> Chief();

  // Asks the chief for the job, and then for its views until their stream ends; does nothing while
  // that is under way. To be called again and again while the job is needed.
  void Follow();

  // The job as the chief told it last; null if it has not yet.
  const v1::JobSpec* job() const;
  // OK while the chief is being asked. Otherwise why it cannot be asked, has not told the job, or
  // tells no views any more.
  const absl::Status& status() const { return status_; }

  // How many views have come so far.
  uint64_t heard() const { return heard_; }
  // Takes over the job and the view that the chief has told last, and returns them. UNAVAILABLE:
  // nobody serves the job's parameters yet. REQUIRES: no request of known()->shards is under way,
  // for another job makes another client.
  absl::StatusOr<Known*> Adopt();

  // Makes the client dial `shards` where they are reached now; to be called before each request to
  // them. Asks for all of them, and returns the first error of AddressResolver::Resolve. REQUIRES:
  // Adopt() has succeeded.
  absl::Status Reach(absl::Span<const ShardIndex> shards);

  // Tells the resolver to forget the chief and all shards, because one of them does not answer.
  void ForgetAll();

 private:
  // A process: the address by which the job knows it, and where it was dialled last.
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
  const std::shared_ptr<ProcessChannels> channels_;  // Channels to the shards.
  std::unique_ptr<Known> known_;
  absl::flat_hash_map<uint32_t, Place> places_;  // By shard, as in the adopted view.
  // What the chief has told and Adopt() has not taken over yet: the job (a new chief may have begun
  // another one) and its newest view.
  std::optional<v1::JobSpec> told_;
  std::optional<v1::View> view_;
  uint64_t heard_ = 0;
  bool following_ = false;
  absl::Status status_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_JOB_FOLLOWER_H_
