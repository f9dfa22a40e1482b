// The coordinator of the synchronous rounds, on the owner of partition 0. It decides which lanes
// are in a round, when the round closes, and which callers wait. A round closes with the first
// max(1, D - b) reports of the D lanes that still have data, where b is the number of backup
// workers.
//
// A caller that has to wait is parked under a WaiterId, which the shell chooses, and is answered by
// a CoordinatorAnswer that a later call returns. At most one caller waits per lane, kMaxHoldWaiters
// for a barrier, and kMaxNewsWaiters for news of which lanes are counted.
#ifndef CAPSTAN_PS_MACHINES_COORDINATOR_MACHINE_H_
#define CAPSTAN_PS_MACHINES_COORDINATOR_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/lane_counts.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/waiter.h"

namespace capstan::ps {

struct OpenAnswer {
  v1::OpenRoundReply::Answer answer = v1::OpenRoundReply::ANSWER_UNSPECIFIED;
  // OPEN: the open round. WAIT: the first round that the lane may still compute.
  uint64_t round = 0;
  RoundCommit closed;   // OPEN, WAIT: the last closed round.
  uint64_t cursor = 0;  // OPEN, ENDED: number of round commits that contain the lane.
  LaneIndex lane{};     // OPEN: the lane, with its generation.
  Generation generation = {};
};
// What the coordinator's backup needs of the open round, beside the rest of CoordinatorState.
struct OpenRound {
  std::vector<ClosedLane> counted;  // In the order in which the coordinator counted them.
  std::vector<LaneIndex> ended;     // In the order in which the lanes reported their end.
  bool opened = false;
  bool held = false;
  bool stalled = false;
  std::pair<uint64_t, uint64_t> order{0, 0};
};
// The state of the rounds. A checkpoint keeps `last` and, for each lane, `cursor` and `ended`. When
// the coordinator moves to another shard, the fences and counted generations are sent along. The
// coordinator's backup gets everything, with `open`.
struct CoordinatorState {
  struct Lane {
    uint64_t cursor = 0;
    bool ended = false;
    Generation fence = {};
    uint64_t counted_round = 0;
    Generation counted_generation = {};
  };
  RoundCommit last;
  std::vector<Lane> lanes;
  std::optional<OpenRound> open = {};
};
struct HoldAnswer {
  // RESOURCE_EXHAUSTED: too many callers wait; CANCELLED: the coordinator has ended (Dismiss).
  absl::Status status;
  RoundCommit last;
  bool ended = false;  // Every lane has reached its end.
  std::vector<CoordinatorState::Lane> lanes = {};
};
struct NewsAnswer {
  // RESOURCE_EXHAUSTED: too many callers wait; CANCELLED: the coordinator has ended (Dismiss).
  absl::Status status;
  LaneNews news;
  // The last closed round, if the caller asks for commits and knows of another open round.
  std::optional<RoundCommit> closed = {};
};
struct CoordinatorAnswer {
  WaiterId waiter{};
  std::variant<OpenAnswer, HoldAnswer, NewsAnswer> answer;
};
using CoordinatorAnswers = std::vector<CoordinatorAnswer>;

struct OpenRequest {
  WaiterId waiter{};
  LaneIndex lane{};
  Generation generation;
  absl::Time deadline;  // A caller that still waits at this time is answered WAIT.
};

// What a caller already knows of the news.
struct NewsCursor {
  uint64_t round = 0;  // The round to which `counted` refers.
  size_t counted = 0;  // How many lanes counted in `round` the caller knows.
  size_t ended = 0;    // How many lanes that have ended the caller knows.
};
struct NewsRequest {
  WaiterId waiter{};
  NewsCursor told;
  absl::Time deadline;  // A caller that still waits is answered without news.
  bool commit = false;  // The caller also asks for the round commit.
};

struct LaneReport {
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  uint32_t examples = 0;
  bool end_of_data = false;
};

// Thread-compatible.
class CoordinatorMachine {
 public:
  static constexpr size_t kMaxHoldWaiters = 8;
  // Each shard needs two: one asks for counts, and one for commits.
  static constexpr size_t kMaxNewsWaiters = 2048;

  CoordinatorMachine(int lanes, int backup_workers);
  CoordinatorMachine(int backup_workers, const CoordinatorState& state);

  // Opens no round after `max_rounds` rounds; 0, the default: no limit. A caller that is waiting is
  // not answered because of a new limit; it applies when the caller asks again.
  void SetMaxRounds(uint64_t max_rounds) { max_rounds_ = max_rounds; }

  // A lane runner announces its generation, which from now on fences lower ones, and asks for the
  // open round. A runner whose lane has reported waits for the next round. If its generation is new
  // to the lane, it is answered WAIT at once, because its clock (ssp) is behind, and the round may
  // be waiting for that clock. INVALID_ARGUMENT: no such lane; the caller is not parked then.
  [[nodiscard]] absl::StatusOr<CoordinatorAnswers> Open(const OpenRequest& request, absl::Time now);

  // A lane runner reports that its gradient is staged on every shard, or that its lane has ended.
  // INVALID_ARGUMENT: no such lane.
  struct ReportResult {
    v1::ReportLaneReply::Answer answer = v1::ReportLaneReply::ANSWER_UNSPECIFIED;
    CoordinatorAnswers answers;  // For callers that waited for the round to close.
  };
  [[nodiscard]] absl::StatusOr<ReportResult> Report(const LaneReport& report);

  // Asks for a round barrier: the open round continues, but no other opens until Release().
  // `waiter` is answered when the open round has closed, or at the deadline. If the round has not
  // closed by the deadline, because a lane runner is gone or slow, it does not close before
  // Release() either. So no round closes after the answer in any case. Idempotent.
  CoordinatorAnswers Hold(WaiterId waiter, absl::Time deadline);
  CoordinatorAnswers Release();
  // Records an order of the chief to hold or release, numbered within its term.
  // FAILED_PRECONDITION: a later order was received before.
  [[nodiscard]] absl::Status TakeOrder(uint64_t term, uint64_t number);

  // Asks which lanes the open round counts and which have ended, beyond what the caller knows
  // (request.told). It is answered when there is more, or at the deadline.
  CoordinatorAnswers Ask(const NewsRequest& request);
  bool HasNews(const NewsCursor& told) const;
  LaneNews NewsSince(const NewsCursor& told) const;

  // The coordinator ends: answers every parked caller, lanes with WAIT, the others with CANCELLED.
  CoordinatorAnswers Dismiss();
  // Forgets a parked caller that has cancelled its call.
  void Forget(WaiterId waiter);

  // Answers the callers whose deadline has come.
  CoordinatorAnswers Tick(absl::Time now);

  uint64_t open_round() const { return last_.round + 1; }
  const RoundCommit& last_closed() const { return last_; }
  bool ended() const { return LanesWithData() == 0; }
  // Returns true if any lane is counted in the open round.
  bool counting() const { return !counted_.empty(); }
  CoordinatorState state() const;
  // Returns state() with the open round, from which another coordinator continues exactly here.
  CoordinatorState whole_state() const;
  std::string DebugString() const;

 private:
  struct Waiter {
    WaiterId id{};
    Generation generation;
    absl::Time deadline;
  };
  struct Lane {
    Generation fence;  // Highest generation announced.
    uint64_t cursor = 0;
    bool ended = false;
    std::optional<ClosedLane> arrived;  // Set: counted in the open round.
    uint64_t counted_round = 0;         // The last closed round that held the lane,
    Generation counted_generation;      // and the generation counted in it.
    std::optional<Waiter> waiter;
  };
  struct HoldWaiter {
    WaiterId id{};
    absl::Time deadline;
  };

  int LanesWithData() const;
  bool AtLimit() const { return max_rounds_ > 0 && last_.round >= max_rounds_; }
  bool CanOpen(const Lane& lane) const;
  bool AtBarrier() const;
  void AnswerHolds(CoordinatorAnswers& answers);
  OpenAnswer AnswerNow(const Lane& lane);
  OpenAnswer AnswerWait(const Lane& lane) const;
  bool CountGradient(Lane& lane, const LaneReport& report);
  bool CountEnd(Lane& lane, const LaneReport& report);
  void CloseIfEnough();
  CoordinatorAnswer AnswerTo(const NewsRequest& request) const;
  void AnswerNews(CoordinatorAnswers& answers, absl::Time now);
  void AnswerWaiters(CoordinatorAnswers& answers);

  int backup_workers_;
  uint64_t max_rounds_ = 0;
  RoundCommit last_;
  std::vector<Lane> lanes_;
  bool round_opened_ = false;  // A runner has been answered OPEN for the open round.
  bool hold_ = false;
  bool stalled_ = false;  // The open round may not close: a hold's deadline came first.
  std::vector<HoldWaiter> hold_waiters_;
  // The news, in the order in which they came.
  std::vector<ClosedLane> counted_;  // In the open round.
  std::vector<LaneIndex> ended_;
  std::vector<NewsRequest> news_waiters_;
  std::pair<uint64_t, uint64_t> last_order_{0, 0};  // (term, number)
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_COORDINATOR_MACHINE_H_
