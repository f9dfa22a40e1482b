#include "chief/shell/curve_file.h"

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
