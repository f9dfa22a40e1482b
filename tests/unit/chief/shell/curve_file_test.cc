#include "chief/shell/curve_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/synchronization/notification.h"
#include "chief/shell/learning_curve.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/test_folder.h"
#include "tests/lib/without_root.h"

namespace capstan::chief {
namespace {

AppendCurve Point(uint64_t step) { return {.step = step, .loss = 0.5}; }

std::string Curve(std::initializer_list<uint64_t> steps) {
  std::string text = CurveHeader();
  for (uint64_t step : steps) text += CurveLines(Point(step));
  return text;
}

// A store that outlives the chiefs, each of which has a thread for it.
class CurveObjectTest : public testing::Test {
 protected:
  void Begin(bool anew = false) {
    thread_.emplace(/*most_waiting=*/8);
    curve_ = NewCurveObject(std::make_unique<FaultyObjectStore>(*store_), anew, *thread_);
  }
  // As a chief ends: the curve first.
  void End() {
    curve_.reset();
    thread_.reset();
  }
  std::string Written() { return store_->Get("curve.csv").value_or("nothing"); }

  const std::unique_ptr<ObjectStore> store_ = MakeMemoryObjectStore();
  std::optional<StoreThread> thread_;
  std::unique_ptr<CurveFile> curve_;
};

TEST_F(CurveObjectTest, IsWholeWhenTheThreadHasEnded) {
  Begin();
  for (uint64_t step : {1, 2, 3}) curve_->Append(Point(step));
  End();
  EXPECT_EQ(Written(), Curve({1, 2, 3}));
}

TEST_F(CurveObjectTest, MayGoWhileTheThreadIsStillBehind) {
  Begin();
  absl::Notification slow_store;
  thread_->Post([&] { slow_store.WaitForNotification(); });
  curve_->Append(Point(1));
  curve_->Append(Point(2));
  curve_.reset();
  EXPECT_EQ(Written(), "nothing");
  slow_store.Notify();
  thread_.reset();
  EXPECT_EQ(Written(), Curve({1, 2}));
}

TEST_F(CurveObjectTest, GoesOnWhereTheLastChiefEnded) {
  Begin();
  curve_->Append(Point(1));
  End();
  Begin();
  curve_->Append(Point(2));
  End();
  EXPECT_EQ(Written(), Curve({1, 2}));
}

TEST_F(CurveObjectTest, BeginsAnewWithTheJob) {
  Begin();
  curve_->Append(Point(1));
  End();
  Begin(/*anew=*/true);
  curve_->Append(Point(2));
  End();
  EXPECT_EQ(Written(), Curve({2}));
}

TEST_F(CurveObjectTest, IsNotWrittenBeforeWhatThereIsOfItHasBeenRead) {
  Begin();
  curve_->Append(Point(1));
  End();
  const std::string events = *store_->Get(kEventsName);
  auto owned = std::make_unique<FaultyObjectStore>(*store_);
  FaultyObjectStore& faults = *owned;
  faults.SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kRead) return {};
    return {.status = absl::UnavailableError("away")};
  });
  thread_.emplace(/*most_waiting=*/8);
  curve_ = NewCurveObject(std::move(owned), /*anew=*/false, *thread_);
  curve_->Append(Point(2));
  absl::Notification behind_it;
  thread_->Post([&] { behind_it.Notify(); });
  behind_it.WaitForNotification();
  EXPECT_EQ(Written(), Curve({1}));
  EXPECT_EQ(*store_->Get(kEventsName), events);
  faults.Heal();
  curve_->Append(Point(3));
  End();
  EXPECT_EQ(Written(), Curve({1, 2, 3}));
  EXPECT_THAT(*store_->Get(kEventsName), testing::StartsWith(events));
  EXPECT_GT(store_->Get(kEventsName)->size(), events.size());
}

// The error of a chief that goes on with the curve in this folder.
std::string WhyNotOpened(const std::string& uri) {
  v1::JobSpec spec;
  spec.set_job("ctr");
  spec.mutable_checkpoint()->set_uri(uri);
  StoreThread thread(/*most_waiting=*/8);
  return std::string(OpenCurveFile(spec, /*anew=*/false, thread).status().message());
}

TEST(CurveFolderTest, SaysWhatInItsPlaceCannotBeRead) {
  const TestFolder temporary;
  const std::string curve = temporary.Path("ctr/curve.csv");
  std::filesystem::create_directories(curve);
  EXPECT_EQ(WhyNotOpened(temporary.path()), "cannot read " + curve + ": Is a directory");
}

TEST(CurveFolderTest, WhatMayNotBeReadIsNotWrittenOver) {
  const WithoutRoot without_root;
  const TestFolder temporary;
  std::filesystem::create_directories(temporary.Path("ctr"));
  const std::string curve = temporary.Write("ctr/curve.csv", Curve({1}));
  std::filesystem::permissions(curve, std::filesystem::perms::owner_write);
  EXPECT_EQ(WhyNotOpened(temporary.path()), "cannot read " + curve + ": Permission denied");
  EXPECT_EQ(std::filesystem::file_size(curve), Curve({1}).size());
}

TEST(CurveFolderTest, IsFollowedLineByLineAndGoesOn) {
  const TestFolder temporary;
  const std::filesystem::path folder = temporary.path();
  v1::JobSpec spec;
  spec.set_job("ctr");
  spec.mutable_checkpoint()->set_uri(folder.string());
  const auto written = [&] {
    std::ifstream file(folder / "ctr" / "curve.csv");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  StoreThread thread(/*most_waiting=*/8);
  for (uint64_t step : {1, 2}) {
    absl::StatusOr<std::unique_ptr<CurveFile>> curve = OpenCurveFile(spec, /*anew=*/false, thread);
    ASSERT_TRUE(curve.ok()) << curve.status();
    (*curve)->Append(Point(step));
    EXPECT_EQ(written(), step == 1 ? Curve({1}) : Curve({1, 2}));
  }
  std::ofstream(folder / "ctr" / "curve.csv") << "a,b\n1,2\n";  // By another version.
  ASSERT_TRUE(OpenCurveFile(spec, /*anew=*/false, thread).ok());
  EXPECT_EQ(written(), Curve({}) + "1,2\n");
  ASSERT_TRUE(OpenCurveFile(spec, /*anew=*/true, thread).ok());
  EXPECT_EQ(written(), Curve({}));
}

}  // namespace
}  // namespace capstan::chief
