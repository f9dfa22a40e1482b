// The coordinator of the synchronous rounds, on the owner of partition 0: who is in, when a round
// closes, who waits. A round closes with the first max(1, D - b) reports of the D lanes that still
// have data.
//
// A caller that has to wait is parked: it is a WaiterId, chosen by the shell, and is answered by a
// later Answer. At most one waits per lane, kMaxHoldWaiters for a barrier, and kMaxNewsWaiters for
// news of who is in.
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
  uint64_t round = 0;   // OPEN: the open one. WAIT: the first that the lane may still compute.
  RoundCommit closed;   // OPEN, WAIT: the last one.
  uint64_t cursor = 0;  // OPEN, ENDED: round commits that held the lane.
  LaneIndex lane{};     // OPEN: the lane, and its generation.
  Generation generation = {};
};
// What the coordinator's backup has to know of the round that is open, beside the state.
struct OpenRound {
  std::vector<ClosedLane> counted;  // In the order in which they were counted.
  std::vector<LaneIndex> ended;     // In the order in which they came to their end.
  bool opened = false;
  bool held = false;
  bool stalled = false;
  std::pair<uint64_t, uint64_t> order{0, 0};
};
// Where the rounds stand: what a checkpoint keeps, and, where the coordinator moves, whom it
// listens to and whom it has counted last.
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
  absl::Status
      status;  // RESOURCE_EXHAUSTED: too many wait; DEADLINE_EXCEEDED: the round is still open.
  RoundCommit last;
  bool ended = false;  // Every lane is at its end.
  std::vector<CoordinatorState::Lane> lanes = {};
};
struct NewsAnswer {
  absl::Status status;  // RESOURCE_EXHAUSTED: too many wait; CANCELLED: these rounds are over.
  LaneNews news;
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
  absl::Time deadline;  // Who still waits by then is answered WAIT.
};

// How much of the news a caller has been told.
struct NewsCursor {
  uint64_t round = 0;  // The one that `counted` is of.
  size_t counted = 0;  // Lanes.
  size_t ended = 0;    // Lanes, since the rounds began.
};
struct NewsRequest {
  WaiterId waiter{};
  NewsCursor told;
  absl::Time deadline;  // Who still waits by then is told that there are no news.
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
  static constexpr size_t kMaxNewsWaiters = 1024;  // A shard has one.

  CoordinatorMachine(int lanes, int backup_workers);
  CoordinatorMachine(int backup_workers, const CoordinatorState& state);

  // After so many rounds none opens; 0, as at first: there is no limit. Who waits at the limit
  // before hears of another one when they ask again.
  void SetMaxRounds(uint64_t max_rounds) { max_rounds_ = max_rounds; }

  // A lane runner announces its generation, which from now on fences lower ones off, and asks for
  // the round that is open. A lane that has reported waits for the next; a runner that is new to it
  // is told so at once, for its clock (ssp) stands behind, and the round may wait for that.
  // INVALID_ARGUMENT: no such lane; nobody is parked then.
  [[nodiscard]] absl::StatusOr<CoordinatorAnswers> Open(const OpenRequest& request, absl::Time now);

  // "Every shard has my gradient staged", or "my lane is at its end". INVALID_ARGUMENT: no such
  // lane.
  struct ReportResult {
    v1::ReportLaneReply::Answer answer = v1::ReportLaneReply::ANSWER_UNSPECIFIED;
    CoordinatorAnswers answers;  // To those whom the closing of the round released.
  };
  [[nodiscard]] absl::StatusOr<ReportResult> Report(const LaneReport& report);

  // Asks for a round barrier: the open round goes on, but after it none opens until Release().
  // Answered when the open round has closed, or at the deadline: a round that has not closed by
  // then, because a lane runner has gone or is slow, does not close before Release(), so what is
  // closed stands still all the same. Idempotent.
  CoordinatorAnswers Hold(WaiterId waiter, absl::Time deadline);
  CoordinatorAnswers Release();
  // Hold and Release come as orders, numbered within a chief's term. FAILED_PRECONDITION: a later
  // one has been heard already.
  [[nodiscard]] absl::Status TakeOrder(uint64_t term, uint64_t number);

  // Whose gradients the open round counts, and which lanes are at their end, as far as the caller
  // does not know. Answered when there is something to tell, or at the deadline.
  CoordinatorAnswers Ask(const NewsRequest& request);
  bool HasNews(const NewsCursor& told) const;
  LaneNews NewsSince(const NewsCursor& told) const;

  // These rounds are over: whoever waits is told so.
  CoordinatorAnswers Dismiss();
  // The caller has gone away.
  void Forget(WaiterId waiter);

  // Answers those whose wait is over. NextWake(): when that is; InfiniteFuture: nobody waits.
  CoordinatorAnswers Tick(absl::Time now);
  absl::Time NextWake() const;

  uint64_t open_round() const { return last_.round + 1; }
  const RoundCommit& last_closed() const { return last_; }
  bool ended() const { return LanesWithData() == 0; }
  // Whether a lane is counted in the open round.
  bool counting() const { return !counted_.empty(); }
  CoordinatorState state() const;
  // With what is open, so that another one goes on exactly here.
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
    std::optional<ClosedLane> arrived;  // In the open round.
    uint64_t counted_round = 0;         // Last closed round that held the lane,
    Generation counted_generation;      // and by whom.
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
  void AnswerNews(CoordinatorAnswers& answers, absl::Time now);
  void AnswerWaiters(CoordinatorAnswers& answers);

  int backup_workers_;
  uint64_t max_rounds_ = 0;
  RoundCommit last_;
  std::vector<Lane> lanes_;
  bool round_opened_ = false;  // Somebody has been answered OPEN for the open round.
  bool hold_ = false;
  bool stalled_ = false;  // The open round may not close: a hold's deadline came first.
  std::vector<HoldWaiter> hold_waiters_;
  // In the order in which they came, for the news.
  std::vector<ClosedLane> counted_;  // In the open round.
  std::vector<LaneIndex> ended_;
  std::vector<NewsRequest> news_waiters_;
  std::pair<uint64_t, uint64_t> last_order_{0, 0};  // (term, number)
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_COORDINATOR_MACHINE_H_
