#include "ps/machines/coordinator_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::ps {
namespace {

absl::Status CheckLane(LaneIndex lane, size_t lanes) {
  if (Raw(lane) >= 0 && static_cast<size_t>(Raw(lane)) < lanes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no lane ", Raw(lane), "; the job has ", lanes));
}

OpenAnswer Only(v1::OpenRoundReply::Answer answer) { return {answer, 0, {}, 0}; }

}  // namespace

CoordinatorMachine::CoordinatorMachine(int lanes, int backup_workers)
    : backup_workers_(backup_workers), lanes_(static_cast<size_t>(lanes)) {}

CoordinatorMachine::CoordinatorMachine(int backup_workers, const CoordinatorState& state)
    : CoordinatorMachine(static_cast<int>(state.lanes.size()), backup_workers) {
  last_ = state.last;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].cursor = state.lanes[i].cursor;
    lanes_[i].ended = state.lanes[i].ended;
    lanes_[i].fence = state.lanes[i].fence;
    lanes_[i].counted_round = state.lanes[i].counted_round;
    lanes_[i].counted_generation = state.lanes[i].counted_generation;
    if (lanes_[i].ended) ended_.push_back(static_cast<LaneIndex>(i));
  }
  if (!state.open) return;
  counted_ = state.open->counted;
  for (const ClosedLane& lane : counted_)
    lanes_[static_cast<size_t>(Raw(lane.lane))].arrived = lane;
  ended_ = state.open->ended;
  round_opened_ = state.open->opened;
  hold_ = state.open->held;
  stalled_ = state.open->stalled;
  last_order_ = state.open->order;
}

absl::StatusOr<CoordinatorAnswers> CoordinatorMachine::Open(const OpenRequest& request,
                                                            absl::Time now) {
  if (absl::Status status = CheckLane(request.lane, lanes_.size()); !status.ok()) return status;
  Lane& lane = lanes_[static_cast<size_t>(Raw(request.lane))];
  CoordinatorAnswers answers;
  if (request.generation < lane.fence) {
    answers.push_back({request.waiter, Only(v1::OpenRoundReply::ANSWER_OLD_GENERATION)});
    return answers;
  }
  if (lane.waiter) {
    const bool older = lane.waiter->generation < request.generation;
    answers.push_back({lane.waiter->id,
                       older ? Only(v1::OpenRoundReply::ANSWER_OLD_GENERATION) : AnswerWait(lane)});
    lane.waiter.reset();
  }
  const bool is_new = lane.fence < request.generation;
  lane.fence = request.generation;
  if (lane.ended || CanOpen(lane)) {
    answers.push_back({request.waiter, AnswerNow(lane)});
  } else if (is_new || request.deadline <= now) {
    answers.push_back({request.waiter, AnswerWait(lane)});
  } else {
    lane.waiter = Waiter{request.waiter, request.generation, request.deadline};
  }
  return answers;
}

// A lane that has reported waits for the next round; at a barrier that is held, everyone waits.
bool CoordinatorMachine::CanOpen(const Lane& lane) const {
  return !lane.arrived && (round_opened_ || !hold_) && !AtLimit();
}

// REQUIRES: the lane, which is one of `lanes_`, has ended, or can open.
OpenAnswer CoordinatorMachine::AnswerNow(const Lane& lane) {
  if (lane.ended) return {v1::OpenRoundReply::ANSWER_ENDED, 0, {}, lane.cursor};
  round_opened_ = true;
  const auto index = static_cast<LaneIndex>(&lane - lanes_.data());
  return {v1::OpenRoundReply::ANSWER_OPEN, open_round(), last_, lane.cursor, index, lane.fence};
}

OpenAnswer CoordinatorMachine::AnswerWait(const Lane& lane) const {
  return {v1::OpenRoundReply::ANSWER_WAIT, open_round() + (lane.arrived ? 1 : 0), last_, 0};
}

absl::StatusOr<CoordinatorMachine::ReportResult> CoordinatorMachine::Report(
    const LaneReport& report) {
  if (absl::Status status = CheckLane(report.lane, lanes_.size()); !status.ok()) return status;
  Lane& lane = lanes_[static_cast<size_t>(Raw(report.lane))];
  ReportResult result;
  if (report.generation < lane.fence) {
    result.answer = v1::ReportLaneReply::ANSWER_OLD_GENERATION;
    return result;
  }
  // A generation that was not announced by Open() is not counted.
  const bool announced = report.generation == lane.fence;
  const bool counted =
      announced && (report.end_of_data ? CountEnd(lane, report) : CountGradient(lane, report));
  result.answer = counted ? v1::ReportLaneReply::ANSWER_COUNTED : v1::ReportLaneReply::ANSWER_LATE;
  CloseIfEnough();
  AnswerWaiters(result.answers);
  return result;
}

bool CoordinatorMachine::CountEnd(Lane& lane, const LaneReport& report) {
  // The lane had data in report.round if a gradient of it was counted in that round or a later one.
  if (lane.arrived || lane.counted_round >= report.round) return lane.ended;
  if (!std::exchange(lane.ended, true)) ended_.push_back(report.lane);
  return true;
}

bool CoordinatorMachine::CountGradient(Lane& lane, const LaneReport& report) {
  if (report.round == lane.counted_round) return report.generation == lane.counted_generation;
  if (report.round != open_round() || lane.ended) return false;
  if (!lane.arrived) {
    lane.arrived = ClosedLane{report.lane, report.generation, report.examples};
    counted_.push_back(*lane.arrived);
  }
  return lane.arrived->generation == report.generation;
}

int CoordinatorMachine::LanesWithData() const {
  return static_cast<int>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.ended; }));
}

void CoordinatorMachine::CloseIfEnough() {
  if (stalled_) return;
  const auto arrived = std::count_if(lanes_.begin(), lanes_.end(),
                                     [](const Lane& lane) { return lane.arrived.has_value(); });
  if (arrived == 0 || arrived < ReportsToClose(LanesWithData(), backup_workers_)) return;
  RoundCommit closed{open_round(), {}};
  for (Lane& lane : lanes_) {
    if (!lane.arrived) continue;
    closed.lanes.push_back(*lane.arrived);
    lane.counted_round = closed.round;
    lane.counted_generation = lane.arrived->generation;
    ++lane.cursor;
    lane.arrived.reset();
  }
  last_ = std::move(closed);
  counted_.clear();
  round_opened_ = false;
}

void CoordinatorMachine::AnswerWaiters(CoordinatorAnswers& answers) {
  // Holds are answered first: an answer OPEN below would open the next round and end the barrier.
  if (AtBarrier()) AnswerHolds(answers);
  // Shards learn that a round is closed before the lanes do, as the lanes' requests require that.
  AnswerNews(answers, absl::InfinitePast());
  for (Lane& lane : lanes_) {
    if (!lane.waiter) continue;
    const bool now = lane.ended || CanOpen(lane);
    if (!now && !AtLimit()) continue;  // At the limit each learns that the last round is closed.
    answers.push_back({lane.waiter->id, now ? AnswerNow(lane) : AnswerWait(lane)});
    lane.waiter.reset();
  }
}

CoordinatorAnswer CoordinatorMachine::AnswerTo(const NewsRequest& request) const {
  NewsAnswer answer{absl::OkStatus(), NewsSince(request.told)};
  if (request.commit && request.told.round != open_round()) answer.closed = last_;
  return {request.waiter, std::move(answer)};
}

// Answers the waiters for whom there are news, and those whose deadline has passed at `now`.
void CoordinatorMachine::AnswerNews(CoordinatorAnswers& answers, absl::Time now) {
  std::erase_if(news_waiters_, [&](const NewsRequest& waiter) {
    if (!HasNews(waiter.told) && waiter.deadline > now) return false;
    answers.push_back(AnswerTo(waiter));
    return true;
  });
}

CoordinatorAnswers CoordinatorMachine::Ask(const NewsRequest& request) {
  CoordinatorAnswers answers;
  if (HasNews(request.told)) {
    answers.push_back(AnswerTo(request));
  } else if (news_waiters_.size() >= kMaxNewsWaiters) {
    const absl::Status full = absl::ResourceExhaustedError("too many wait for news of the round");
    answers.push_back({request.waiter, NewsAnswer{full, {}}});
  } else {
    news_waiters_.push_back(request);
  }
  return answers;
}

bool CoordinatorMachine::HasNews(const NewsCursor& told) const {
  return told.round != open_round() || told.counted < counted_.size() || told.ended < ended_.size();
}

LaneNews CoordinatorMachine::NewsSince(const NewsCursor& told) const {
  const size_t counted = told.round == open_round() ? std::min(told.counted, counted_.size()) : 0;
  const size_t ended = std::min(told.ended, ended_.size());
  LaneNews news{open_round(), {}, {}};
  news.counted.assign(counted_.begin() + static_cast<std::ptrdiff_t>(counted), counted_.end());
  news.ended.assign(ended_.begin() + static_cast<std::ptrdiff_t>(ended), ended_.end());
  return news;
}

bool CoordinatorMachine::AtBarrier() const {
  return hold_ && (!round_opened_ || stalled_ || ended());
}

void CoordinatorMachine::AnswerHolds(CoordinatorAnswers& answers) {
  for (const HoldWaiter& waiter : hold_waiters_) {
    answers.push_back({waiter.id, HoldAnswer{absl::OkStatus(), last_, ended(), state().lanes}});
  }
  hold_waiters_.clear();
}

CoordinatorAnswers CoordinatorMachine::Hold(WaiterId waiter, absl::Time deadline) {
  CoordinatorAnswers answers;
  if (hold_waiters_.size() >= kMaxHoldWaiters) {
    const absl::Status full = absl::ResourceExhaustedError("too many wait for a round barrier");
    answers.push_back({waiter, HoldAnswer{full, {}, false}});
    return answers;
  }
  hold_ = true;
  hold_waiters_.push_back({waiter, deadline});
  AnswerWaiters(answers);
  return answers;
}

absl::Status CoordinatorMachine::TakeOrder(uint64_t term, uint64_t number) {
  const std::pair<uint64_t, uint64_t> order(term, number);
  if (order < last_order_) {
    return absl::FailedPreconditionError(absl::StrCat("order ", number, " of term ", term,
                                                      " comes after order ", last_order_.second,
                                                      " of term ", last_order_.first));
  }
  last_order_ = order;
  return absl::OkStatus();
}

CoordinatorAnswers CoordinatorMachine::Release() {
  CoordinatorAnswers answers;
  hold_ = false;
  stalled_ = false;
  for (const HoldWaiter& waiter : hold_waiters_) {
    answers.push_back({waiter.id, HoldAnswer{absl::CancelledError("released"), {}, false}});
  }
  hold_waiters_.clear();
  CloseIfEnough();
  AnswerWaiters(answers);
  return answers;
}

void CoordinatorMachine::Forget(WaiterId waiter) {
  for (Lane& lane : lanes_) {
    if (lane.waiter && lane.waiter->id == waiter) lane.waiter.reset();
  }
  std::erase_if(hold_waiters_, [waiter](const HoldWaiter& hold) { return hold.id == waiter; });
  std::erase_if(news_waiters_, [waiter](const NewsRequest& news) { return news.waiter == waiter; });
}

CoordinatorAnswers CoordinatorMachine::Tick(absl::Time now) {
  CoordinatorAnswers answers;
  for (Lane& lane : lanes_) {
    if (!lane.waiter || lane.waiter->deadline > now) continue;
    answers.push_back({lane.waiter->id, AnswerWait(lane)});
    lane.waiter.reset();
  }
  AnswerNews(answers, now);
  stalled_ =
      stalled_ || std::any_of(hold_waiters_.begin(), hold_waiters_.end(),
                              [now](const HoldWaiter& hold) { return hold.deadline <= now; });
  if (AtBarrier()) AnswerHolds(answers);
  return answers;
}

CoordinatorAnswers CoordinatorMachine::Dismiss() {
  CoordinatorAnswers answers;
  for (Lane& lane : lanes_) {
    if (lane.waiter) answers.push_back({lane.waiter->id, AnswerWait(lane)});
    lane.waiter.reset();
  }
  for (const HoldWaiter& hold : hold_waiters_) {
    answers.push_back(
        {hold.id, HoldAnswer{absl::CancelledError("these rounds are over"), {}, false}});
  }
  hold_waiters_.clear();
  for (const NewsRequest& waiter : news_waiters_) {
    answers.push_back(
        {waiter.waiter, NewsAnswer{absl::CancelledError("these rounds are over"), {}}});
  }
  news_waiters_.clear();
  return answers;
}

CoordinatorState CoordinatorMachine::state() const {
  CoordinatorState state{last_, {}};
  for (const Lane& lane : lanes_) {
    state.lanes.push_back(
        {lane.cursor, lane.ended, lane.fence, lane.counted_round, lane.counted_generation});
  }
  return state;
}

CoordinatorState CoordinatorMachine::whole_state() const {
  CoordinatorState whole = state();
  whole.open = {counted_, ended_, round_opened_, hold_, stalled_, last_order_};
  return whole;
}

std::string CoordinatorMachine::DebugString() const {
  std::string text = absl::StrCat("r", open_round(), round_opened_ ? "o" : "", hold_ ? "h" : "",
                                  stalled_ ? "s" : "", "w", hold_waiters_.size());
  for (const ClosedLane& lane : last_.lanes) {
    absl::StrAppend(&text, " <", Raw(lane.lane), "g", lane.generation.term, ".",
                    lane.generation.count, ">");
  }
  for (const Lane& lane : lanes_) {
    absl::StrAppend(&text, " [g", lane.fence.term, ".", lane.fence.count, " c", lane.cursor,
                    lane.ended ? " end" : "", lane.waiter ? " wait" : "", " k", lane.counted_round,
                    "g", lane.counted_generation.term, ".", lane.counted_generation.count);
    if (lane.arrived) {
      absl::StrAppend(&text, " a", lane.arrived->generation.term, ".",
                      lane.arrived->generation.count);
    }
    absl::StrAppend(&text, "]");
  }
  return text;
}

}  // namespace capstan::ps
