#include "capstan/objectstore/measured_object_store.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

using testing::HasSubstr;

class MeasuredObjectStoreTest : public testing::Test {
 protected:
  MeasuredObjectStoreTest() {
    auto faulty = std::make_unique<FaultyObjectStore>(*memory_);
    faulty_ = faulty.get();
    store_ = MeasureObjectStore(std::move(faulty), registry_);
  }

  metrics::Registry registry_;
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore* faulty_;  // Owned by store_.
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(MeasuredObjectStoreTest, CountsEachCallByWhatItAsksAndItsStatus) {
  EXPECT_THAT(
      registry_.Text(),
      HasSubstr("capstan_object_store_requests_total{code=\"UNAVAILABLE\",op=\"write\"} 0"));
  ASSERT_TRUE(store_->Put("a", "bytes").ok());
  EXPECT_EQ(*store_->Get("a"), "bytes");
  EXPECT_TRUE(absl::IsNotFound(store_->Get("b").status()));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("capstan_object_store_requests_total{code=\"OK\",op=\"write\"} 1"));
  EXPECT_THAT(text, HasSubstr("capstan_object_store_requests_total{code=\"OK\",op=\"read\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("capstan_object_store_requests_total{code=\"NOT_FOUND\",op=\"read\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("capstan_object_store_request_duration_seconds_count{op=\"read\"} 2"));
}

TEST_F(MeasuredObjectStoreTest, CountsAStreamedWriteOnceWhenItEnds) {
  {
    absl::StatusOr<std::unique_ptr<ObjectWriter>> writer = store_->Create("a");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append("one").ok());
    EXPECT_THAT(registry_.Text(),
                HasSubstr("capstan_object_store_requests_total{code=\"OK\",op=\"upload\"} 0"));
    ASSERT_TRUE((*writer)->Commit().ok());
  }
  EXPECT_THAT(registry_.Text(),
              HasSubstr("capstan_object_store_requests_total{code=\"OK\",op=\"upload\"} 1"));
}

TEST_F(MeasuredObjectStoreTest, CountsAFailureByItsStatus) {
  faulty_->FailNth(1, absl::UnavailableError("away"));
  EXPECT_FALSE(store_->Put("a", "bytes").ok());
  EXPECT_THAT(
      registry_.Text(),
      HasSubstr("capstan_object_store_requests_total{code=\"UNAVAILABLE\",op=\"write\"} 1"));
}

TEST_F(MeasuredObjectStoreTest, MeasuresWhatIsOpenedOnlyWhenAsked) {
  std::unique_ptr<ObjectStore> plain = MakeMemoryObjectStore();
  const ObjectStore* before = plain.get();
  plain = MeasureIfAsked(std::move(plain));
  EXPECT_EQ(plain.get(), before);
}

}  // namespace
}  // namespace capstan
