// A lane's calls to the coordinator, as messages and back.
#include "worker/session/round_calls.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace capstan::worker {
namespace {

constexpr Ticket kTicketOfCall = 42;

class RoundCallsTest : public testing::Test {
 protected:
  // The round before the open one: its lanes are these.
  static v1::OpenRoundReply OpenedAfter(std::initializer_list<uint32_t> lanes) {
    v1::OpenRoundReply reply;
    reply.set_answer(v1::OpenRoundReply::ANSWER_OPEN);
    reply.set_round(8);
    reply.set_cursor(5);
    reply.mutable_closed()->set_round(7);
    reply.mutable_closed()->set_seal(99);
    for (const uint32_t lane : lanes) {
      v1::ClosedLane& closed = *reply.mutable_closed()->add_lanes();
      closed.set_lane(lane);
      closed.mutable_generation()->set_term(1);
      closed.mutable_generation()->set_count(20 + lane);
      closed.set_examples(4);
    }
    return reply;
  }
};

TEST_F(RoundCallsTest, AskingForARoundNamesLaneGenerationWithItsSealAndWait) {
  const v1::OpenRoundRequest request = ToRequest(SendOpen{.ticket = kTicketOfCall,
                                                          .lane = LaneIndex{3},
                                                          .generation = {1, 7, 99},
                                                          .wait = absl::Milliseconds(2500)});
  EXPECT_EQ(request.lane(), 3u);
  EXPECT_EQ(request.generation().term(), 1u);
  EXPECT_EQ(request.generation().count(), 7u);
  EXPECT_EQ(request.generation().seal(), 99u);
  EXPECT_EQ(request.wait_seconds(), 2.5);
}

TEST_F(RoundCallsTest, AReportNamesItsRoundAndWhetherTheLaneIsAtItsEnd) {
  for (const bool end : {false, true}) {
    const v1::ReportLaneRequest request = ToRequest(SendReport{.lane = LaneIndex{3},
                                                               .generation = {1, 7, 99},
                                                               .round = 8,
                                                               .examples = 4,
                                                               .end_of_data = end});
    EXPECT_EQ(request.lane(), 3u);
    EXPECT_EQ(request.generation().seal(), 99u);
    EXPECT_EQ(request.round(), 8u);
    EXPECT_EQ(request.examples(), 4u);
    EXPECT_EQ(request.end_of_data(), end);
  }
}

TEST_F(RoundCallsTest, AnOpenRoundComesWithTheCommitOfTheOneBeforeAndItsSeal) {
  const OpenDone event = ToEvent(kTicketOfCall, OpenedAfter({0, 2}));
  EXPECT_EQ(event.ticket, kTicketOfCall);
  EXPECT_TRUE(event.status.ok());
  EXPECT_EQ(event.answer, v1::OpenRoundReply::ANSWER_OPEN);
  EXPECT_EQ(event.round, 8u);
  EXPECT_EQ(event.cursor, 5u);
  EXPECT_EQ(event.closed.round, 7u);
  EXPECT_EQ(event.closed.seal, 99u) << "trainers pass it on";
  ASSERT_EQ(event.closed.lanes.size(), 2u);
  EXPECT_EQ(event.closed.lanes[1],
            (ClosedLane{.lane = LaneIndex{2}, .generation = {1, 22}, .examples = 4}));
}

TEST_F(RoundCallsTest, ACommitWhoseLanesDoNotAscendIsAnErrorOfTheCall) {
  for (const auto& reply : {OpenedAfter({2, 0}), OpenedAfter({1, 1})}) {
    const OpenDone event = ToEvent(kTicketOfCall, reply);
    EXPECT_TRUE(absl::IsInvalidArgument(event.status)) << event.status;
    EXPECT_TRUE(event.closed.lanes.empty());
  }
}

TEST_F(RoundCallsTest, ACallThatHasFailedSaysWhyUnderItsTicket) {
  const absl::Status away = absl::UnavailableError("away");
  const OpenDone open = ToEvent(kTicketOfCall, absl::StatusOr<v1::OpenRoundReply>(away));
  EXPECT_EQ(open.ticket, kTicketOfCall);
  EXPECT_EQ(open.status, away);
  EXPECT_EQ(open.answer, v1::OpenRoundReply::ANSWER_UNSPECIFIED);
  const ReportDone report = ToEvent(kTicketOfCall, absl::StatusOr<v1::ReportLaneReply>(away));
  EXPECT_EQ(report.ticket, kTicketOfCall);
  EXPECT_EQ(report.status, away);
}

TEST_F(RoundCallsTest, AReportIsAnswered) {
  v1::ReportLaneReply reply;
  reply.set_answer(v1::ReportLaneReply::ANSWER_LATE);
  const ReportDone event = ToEvent(kTicketOfCall, absl::StatusOr<v1::ReportLaneReply>(reply));
  EXPECT_TRUE(event.status.ok());
  EXPECT_EQ(event.answer, v1::ReportLaneReply::ANSWER_LATE);
}

}  // namespace
}  // namespace capstan::worker
