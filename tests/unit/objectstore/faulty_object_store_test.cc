#include "tests/lib/faulty_object_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/object_store_contract.h"

namespace capstan {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreContract, testing::Values(MakeMemoryObjectStore));

// A faulty store and the one below it, as one object.
class HealthyFaultyStore : public FaultyObjectStore {
 public:
  explicit HealthyFaultyStore(std::unique_ptr<ObjectStore> base)
      : FaultyObjectStore(*base), base_(std::move(base)) {}

 private:
  const std::unique_ptr<ObjectStore> base_;
};

INSTANTIATE_TEST_SUITE_P(FaultyWithoutFaults, ObjectStoreContract, testing::Values([] {
                           return std::make_unique<HealthyFaultyStore>(MakeMemoryObjectStore());
                         }));

class FaultyObjectStoreTest : public testing::Test {
 protected:
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore store_{*memory_};
};

TEST_F(FaultyObjectStoreTest, FailsTheNthCallOnly) {
  store_.FailNth(2, absl::UnavailableError("s3"));
  EXPECT_TRUE(store_.Put("a", "1").ok());
  EXPECT_TRUE(absl::IsUnavailable(store_.Put("a", "2")));
  EXPECT_EQ(*store_.Get("a"), "1");
  EXPECT_EQ(store_.calls(), 3);
}

TEST_F(FaultyObjectStoreTest, LosesTheAnswerOfAWriteThatHappened) {
  store_.SetPlan([](const StoreCall& call) {
    return StoreFault{
        .status = call.publishes() ? absl::UnavailableError("lost") : absl::OkStatus(),
        .effect = StoreFault::Effect::kDone};
  });
  EXPECT_TRUE(absl::IsUnavailable(store_.PutIfAbsent("a", "1").status()));
  EXPECT_EQ(*memory_->Get("a"), "1");
  EXPECT_TRUE(absl::IsAlreadyExists(store_.PutIfAbsent("a", "1").status()));
}

TEST_F(FaultyObjectStoreTest, TearsAStreamedWrite) {
  auto writer = *store_.Create("a");
  ASSERT_TRUE(writer->Append("123456").ok());
  store_.SetPlan([](const StoreCall&) {
    return StoreFault{.status = absl::UnavailableError("crash"),
                      .effect = StoreFault::Effect::kTorn};
  });
  EXPECT_FALSE(writer->Commit().ok());
  EXPECT_EQ(*memory_->Get("a"), "123");
}

TEST_F(FaultyObjectStoreTest, FlipsABitOfWhatIsRead) {
  ASSERT_TRUE(store_.Put("a", "xyz").ok());
  store_.SetPlan([](const StoreCall&) { return StoreFault{.flip_bit = true}; });
  EXPECT_EQ(*store_.Get("a"), "xy{");
  store_.Heal();
  EXPECT_EQ(*store_.Get("a"), "xyz");
}

TEST_F(FaultyObjectStoreTest, PausesBeforeACall) {
  std::string stood = "nothing";
  store_.SetPlan([&](const StoreCall&) {
    return StoreFault{.pause = [&] { stood = memory_->Get("a").ok() ? "object" : "none yet"; }};
  });
  ASSERT_TRUE(store_.Put("a", "x").ok());
  EXPECT_EQ(stood, "none yet");
}

}  // namespace
}  // namespace capstan
