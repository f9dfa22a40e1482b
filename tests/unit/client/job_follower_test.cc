#include "capstan/client/job_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/unit/client/fake_job.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Leads to each process where the job knows it, unless the test says otherwise.
class NotingResolver : public AddressResolver {
 public:
  absl::StatusOr<std::string> Resolve(const std::string& address) override {
    asked.push_back(address);
    const auto wrong = errors.find(address);
    if (wrong != errors.end()) return wrong->second;
    return address;
  }
  void Forget(const std::string& address) override { forgotten.push_back(address); }

  std::map<std::string, absl::Status> errors;
  std::vector<std::string> asked;
  std::vector<std::string> forgotten;
};

class JobFollowerTest : public FakeJobTest {
 protected:
  template <typename Done>
  void PollUntil(const Done& done) {
    for (int i = 0; i < 3000 && !done(); ++i) loop_.Poll(absl::Milliseconds(10));
    EXPECT_TRUE(done());
  }
  // Follows until a view has come.
  JobFollower::Known& Followed() {
    follower_.Follow();
    PollUntil([this] { return follower_.heard() > 0; });
    const auto known = follower_.Adopt();
    EXPECT_TRUE(known.ok()) << known.status();
    return **known;
  }
  std::string ShardAddress(int shard) const { return chief_.view.shards(shard).address(); }

  NotingResolver resolver_;
  EventLoop loop_;
  JobFollower follower_{loop_, address(), resolver_, /*tls=*/nullptr};
};

TEST_F(JobFollowerTest, NothingIsKnownBeforeTheChiefHasToldIt) {
  EXPECT_EQ(follower_.job(), nullptr);
  EXPECT_EQ(follower_.heard(), 0u);
  EXPECT_TRUE(follower_.status().ok());
  EXPECT_EQ(follower_.Adopt().status(),
            absl::UnavailableError("no shard serves the job's parameters yet"));
}

TEST_F(JobFollowerTest, TheJobAndItsViewAreTakenOverTogether) {
  JobFollower::Known& known = Followed();
  EXPECT_EQ(known.job.job(), "ctr");
  EXPECT_EQ(known.map.partition_count(), kPartitionsOfJob);
  ASSERT_TRUE(known.shards.has_value());
  EXPECT_EQ(known.shards->owners().size(), kPartitionsOfJob);
  EXPECT_EQ(follower_.job(), &known.job);
  EXPECT_EQ(*follower_.Adopt(), &known) << "there is no other job, so the client stays";
}

TEST_F(JobFollowerTest, AChiefThatCannotBeReachedIsAskedAgainWhenItCan) {
  resolver_.errors[address()] = absl::UnavailableError("no way there yet");
  follower_.Follow();
  EXPECT_EQ(follower_.status(), absl::UnavailableError("no way there yet"));
  resolver_.errors.clear();
  Followed();
  EXPECT_TRUE(follower_.status().ok());
}

TEST_F(JobFollowerTest, AChiefThatDoesNotTellTheJobSaysWhy) {
  reader_.status = {grpc::StatusCode::NOT_FOUND, "not begun"};
  follower_.Follow();
  PollUntil([this] { return !follower_.status().ok(); });
  EXPECT_TRUE(absl::IsNotFound(follower_.status())) << follower_.status();
  EXPECT_EQ(follower_.job(), nullptr);
  EXPECT_EQ(follower_.heard(), 0u);
}

TEST_F(JobFollowerTest, WhileItFollowsItAsksForNothingAnew) {
  Followed();
  const size_t asked = resolver_.asked.size();
  follower_.Follow();
  EXPECT_EQ(resolver_.asked.size(), asked);
}

TEST_F(JobFollowerTest, AllShardsAreAskedForThoughOneCannotBeReached) {
  Followed();
  resolver_.asked.clear();
  resolver_.errors[ShardAddress(0)] = absl::UnavailableError("not yet");
  const std::vector<ShardIndex> shards = {ShardIndex{0}, ShardIndex{1}, ShardIndex{77}};
  EXPECT_EQ(follower_.Reach(shards), absl::UnavailableError("not yet"));
  EXPECT_THAT(resolver_.asked, ElementsAre(ShardAddress(0), ShardAddress(1)))
      << "the job has no shard 77";
  resolver_.errors.clear();
  EXPECT_TRUE(follower_.Reach(shards).ok());
}

TEST_F(JobFollowerTest, AllIsForgottenWhereOneDoesNotAnswer) {
  Followed();
  EXPECT_THAT(resolver_.forgotten, testing::IsEmpty());
  follower_.ForgetAll();
  EXPECT_THAT(resolver_.forgotten,
              UnorderedElementsAre(address(), ShardAddress(0), ShardAddress(1)));
}

}  // namespace
}  // namespace capstan
