// Follows a job and the location of its parameters, as the chief reports them to a program that is
// not part of the job.
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
  // The known state of the job, and a client of its shards.
  struct Known {
    Known(v1::JobSpec spec, ParameterMap parameters) : job(std::move(spec)), map(parameters) {}
    const v1::JobSpec job;
    const ParameterMap map;
    std::optional<PsClient> shards;  // Has a view with a map. Declared last, as it uses `map`.
  };

  // `chief` is the chief's address, to be translated by the resolver. `loop`, `resolver` and `tls`
  // (null: plaintext) must outlive this object.
  JobFollower(EventLoop& loop, std::string chief, AddressResolver& resolver, const Tls* tls)
      : loop_(loop),
        chief_{.address = std::move(chief)},
        resolver_(resolver),
        tls_(tls),
        channels_(std::make_shared<ProcessChannels>(tls)) {}

  // Returns a channel to the chief. The errors are those of AddressResolver::Resolve.
  absl::StatusOr<Channel> Chief();

  // Asks the chief for the job, and then for its views until their stream ends; does nothing while
  // that is under way. Must be called repeatedly while the job is needed.
  void Follow();

  // The job as last received from the chief; null if it was not received yet.
  const v1::JobSpec* job() const;
  // OK while the chief is being asked. Otherwise why it cannot be asked, has not sent the job, or
  // sends no more views.
  const absl::Status& status() const { return status_; }

  // How many views were received so far.
  uint64_t heard() const { return heard_; }
  // Adopts the job and the view that the chief has sent last, and returns them. UNAVAILABLE: nobody
  // serves the job's parameters yet. REQUIRES: no request of known()->shards is under way, because
  // the client is replaced if the job is another one.
  absl::StatusOr<Known*> Adopt();

  // Makes the client dial `shards` at their present translated addresses; must be called before
  // each request to them. Resolves all of them, and returns the first error of
  // AddressResolver::Resolve. REQUIRES: Adopt() has succeeded.
  absl::Status Reach(absl::Span<const ShardIndex> shards);

  // Tells the resolver to forget the chief and all shards, because one of them does not answer.
  void ForgetAll();

 private:
  // A process: its address in the job, and the address that was dialled last.
  struct Place {
    std::string address;
    uint64_t incarnation = 0;
    std::string dialled = "";  // Empty if none was dialled yet.

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
  // What the chief has sent and Adopt() has not adopted yet: the job (a new chief may have begun
  // another one) and its newest view.
  std::optional<v1::JobSpec> told_;
  std::optional<v1::View> view_;
  uint64_t heard_ = 0;
  bool following_ = false;
  absl::Status status_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_JOB_FOLLOWER_H_
