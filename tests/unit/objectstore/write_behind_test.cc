#include "capstan/objectstore/write_behind.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

class WriteBehindTest : public testing::Test {
 protected:
  std::unique_ptr<WriteBehind> Create() {
    return std::make_unique<WriteBehind>(*store_.Create("a"), threads_);
  }
  // What each append does.
  void OnAppend(StoreFault fault) {
    store_.SetPlan([fault = std::move(fault)](const StoreCall& call) {
      return call.kind == StoreCall::Kind::kAppend ? fault : StoreFault{};
    });
  }

  Threads threads_;
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore store_{*memory_};
};

TEST_F(WriteBehindTest, WritesThePiecesInTheirOrder) {
  std::string whole;
  const auto object = Create();
  for (int i = 0; i < 1000; ++i) {
    whole += std::to_string(i);
    ASSERT_TRUE(object->Append(std::to_string(i)).ok());
    if (i % 100 == 0) {
      ASSERT_TRUE(object->Flush().ok());
    }
  }
  ASSERT_TRUE(object->Flush().ok());
  ASSERT_TRUE(object->Commit().ok());
  EXPECT_EQ(*memory_->Get("a"), whole);
}

TEST_F(WriteBehindTest, DoesNotWaitForAStoreThatTakesNothing) {
  absl::Notification awake;
  OnAppend({.pause = [&awake] { awake.WaitForNotification(); }});
  const auto object = Create();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(object->Append("x").ok());
  EXPECT_EQ(object->waiting_bytes(), 100u);
  awake.Notify();
  ASSERT_TRUE(object->Flush().ok());
  EXPECT_EQ(object->waiting_bytes(), 0u);
  ASSERT_TRUE(object->Commit().ok());
  EXPECT_EQ(memory_->Get("a")->size(), 100u);
}

TEST_F(WriteBehindTest, TellsTheFirstErrorFromThenOn) {
  OnAppend({.status = absl::PermissionDeniedError("no")});
  const auto object = Create();
  ASSERT_TRUE(object->Append("x").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(object->Flush()));
  EXPECT_EQ(object->waiting_bytes(), 0u);
  OnAppend({});
  EXPECT_TRUE(absl::IsPermissionDenied(object->Append("y")));
  EXPECT_TRUE(absl::IsPermissionDenied(object->Flush()));
}

TEST_F(WriteBehindTest, LeavesNothingWithoutACommit) {
  ASSERT_TRUE(Create()->Append("x").ok());
  EXPECT_TRUE(memory_->List("")->empty());
}

}  // namespace
}  // namespace capstan
