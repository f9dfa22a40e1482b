// A running job whose shards come and go, for the tests of the chief's machine.
#ifndef TESTS_UNIT_CHIEF_DUTIES_MOVES_JOB_H_
#define TESTS_UNIT_CHIEF_DUTIES_MOVES_JOB_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {

inline int OwnedBy(const v1::View& view, uint32_t shard) {
  return static_cast<int>(std::count(view.owners().begin(), view.owners().end(), shard));
}

inline std::set<uint32_t> MembersOf(const v1::View& view) {
  std::set<uint32_t> members;
  for (const v1::ShardInfo& shard : view.shards()) members.insert(shard.index());
  return members;
}

// The first call that is held of a move in this phase; it is taken out.
inline CallShard TakeMove(Crew& crew, bool finish) {
  const auto found = std::find_if(crew.held.begin(), crew.held.end(), [&](const CallShard& call) {
    const auto* move = call.request.As<v1::MovePartitionsRequest>();
    return move != nullptr && move->finish() == finish;
  });
  EXPECT_NE(found, crew.held.end());
  if (found == crew.held.end()) return {.request = v1::MovePartitionsRequest()};
  CallShard call = *found;
  crew.held.erase(found);
  return call;
}

// Answers held calls until one of a move in this phase is held.
inline void AnswerUntilMove(Crew& crew, bool finish) {
  for (int i = 0; i < 100; ++i) {
    const auto is_it = [&](const CallShard& call) {
      const auto* move = call.request.As<v1::MovePartitionsRequest>();
      return move != nullptr && move->finish() == finish;
    };
    if (std::any_of(crew.held.begin(), crew.held.end(), is_it)) return;
    for (const CallShard& call : std::exchange(crew.held, {})) crew.Answer(call);
    crew.AnswerCalls();
    if (crew.held.empty()) crew.Advance(absl::Milliseconds(500));
  }
  FAIL() << "no such move was ordered";
}

// A running job of two shards with a worker that trains.
class ChiefMovesTest : public testing::Test {
 protected:
  explicit ChiefMovesTest(CrewOptions options = TenTasks()) : options_(options), crew_(options) {
    crew_.RegisterShards();
    crew_.RegisterWorker("w");
    leases_ = crew_.Heartbeat("w");
    crew_.Advance(absl::Seconds(2));
    timeline_ = crew_.machine.view().timeline();
  }

  // Shard 2 has joined and is about to be given its share; the next call of a move is held.
  void JoinAndHold(bool finish) {
    ASSERT_TRUE(crew_.RegisterShard(2).ok());
    crew_.hold_calls = true;
    AnswerUntilMove(crew_, finish);
  }
  // All that is held is answered, as is what follows.
  void LetGo() {
    crew_.hold_calls = false;
    for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
    crew_.AnswerCalls();
  }
  void ExpectNothingLost() {
    EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
    EXPECT_EQ(crew_.machine.view().timeline(), timeline_);
    EXPECT_THAT(crew_.Status().losses(), testing::IsEmpty());
  }

  CrewOptions options_;
  Crew crew_;
  v1::WorkerHeartbeatReply leases_;
  uint64_t timeline_ = 0;
};

class ChiefLaneMovesTest : public ChiefMovesTest {
 protected:
  ChiefLaneMovesTest() : ChiefMovesTest(TenTasks(/*lanes=*/2)) {}
};

}  // namespace capstan::chief

#endif  // TESTS_UNIT_CHIEF_DUTIES_MOVES_JOB_H_
