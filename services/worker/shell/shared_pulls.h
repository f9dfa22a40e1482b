// Pulls that the lanes of a trainer have in common. In a round all lanes compute with the same
// parameters, and where a job has no tables each of them pulls the same: what one lane pulls is
// copied for those that ask for it meanwhile.
#ifndef CAPSTAN_WORKER_SHELL_SHARED_PULLS_H_
#define CAPSTAN_WORKER_SHELL_SHARED_PULLS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "capstan/base/ids.h"
#include "capstan/client/ps_client.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/job.pb.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Whether all lanes pull the same in a round.
bool LanesPullTheSame(const v1::JobSpec& job);

// Confined to the event loop.
class SharedPulls {
 public:
  // What is pulled.
  struct Name {
    Timeline timeline{};
    uint64_t round = 0;
    ShardIndex shard{};
    bool frozen = false;  // With the tensors that never change.

    auto operator<=>(const Name& other) const = default;
  };
  using Done = absl::AnyInvocable<void(const PullResult&)>;

 private:
  struct Waiting {
    std::shared_ptr<Step> step;  // Shared with its lease. Null once nobody waits any more,
    Done done;                   // as this is.
  };

 public:
  // One that waits for another's pull, as long as this object lives.
  class Part {
   public:
    ~Part() { *waiting_ = {}; }  // The step's memory is not to wait for the pull's end.
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    friend class SharedPulls;
    explicit Part(std::shared_ptr<Waiting> waiting) : waiting_(std::move(waiting)) {}

    const std::shared_ptr<Waiting> waiting_;  // Shared with the pull.
  };

  // A pull under way, which lives as long as its call. If it goes before it is Complete, whoever
  // waits for it is told UNAVAILABLE, and pulls by itself.
  class Pull {
   public:
    Pull(EventLoop& loop, const Name& name, std::shared_ptr<Step> step)
        : loop_(loop), name_(name), step_(std::move(step)) {}
    ~Pull();
    Pull(const Pull&) = delete;
    Pull& operator=(const Pull&) = delete;

    // To be called with the result of the call before anybody computes with what it has pulled: a
    // user's program may write to that. Those who wait hear of it in a later Poll.
    void Complete(const PullResult& result);

   private:
    friend class SharedPulls;
    void CopyTo(Step& step) const;
    void Tell(const PullResult& result);

    EventLoop& loop_;
    const Name name_;
    const std::shared_ptr<Step> step_;  // Shared with its lease and with the call.
    bool complete_ = false;
    std::vector<std::shared_ptr<Waiting>> waiting_;
  };

  explicit SharedPulls(EventLoop& loop) : loop_(loop) {}  // `loop` must outlive this object.
  SharedPulls(const SharedPulls&) = delete;
  SharedPulls& operator=(const SharedPulls&) = delete;

  // If such a pull is under way, has its result copied into `step`, and then calls `done`. Null: no
  // such pull is under way. REQUIRES: `step` has room for all tensors (StepPool::Lend).
  std::unique_ptr<Part> Join(const Name& name, std::shared_ptr<Step> step, Done done);
  // Such a pull begins, into `step`, and is under way until the caller lets go of what is returned.
  // REQUIRES: none is under way.
  std::shared_ptr<Pull> Begin(const Name& name, std::shared_ptr<Step> step);

 private:
  EventLoop& loop_;
  std::map<Name, std::weak_ptr<Pull>> pulls_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_SHARED_PULLS_H_
