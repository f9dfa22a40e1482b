#include "capstan/data/formats/object_files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ObjectFilesTest : public testing::Test {
 protected:
  ObjectFilesTest() {
    auto store = MakeMemoryObjectStore();
    for (const char* key : {"train/b.csv", "train/a.csv", "train/c.txt", "train/deep/d.csv", "t"}) {
      EXPECT_TRUE(store->Put(key, key).ok());
    }
    bucket_ = std::move(store);
    files_ = NewObjectFiles(
        [this](const std::string& uri) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
          opened_.push_back(uri);
          if (bucket_ == nullptr) return absl::PermissionDeniedError("not yours");
          return std::move(bucket_);
        });
  }

  std::vector<std::string> Paths(const std::string& pattern) const {
    std::vector<std::string> paths;
    const auto found = files_->List(pattern);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const FileInfo& file : *found) paths.push_back(file.path);
    return paths;
  }

  std::unique_ptr<ObjectStore> bucket_;
  std::vector<std::string> opened_;
  std::unique_ptr<const Source> files_;
};

TEST_F(ObjectFilesTest, ListsAGlobInOrderAndNotAcrossSlashes) {
  EXPECT_THAT(Paths("s3://ads/train/*.csv"),
              ElementsAre("s3://ads/train/a.csv", "s3://ads/train/b.csv"));
  EXPECT_THAT(Paths("s3://ads/train/[bc].*"),
              ElementsAre("s3://ads/train/b.csv", "s3://ads/train/c.txt"));
  EXPECT_THAT(Paths("s3://ads/*/*/?.csv"), ElementsAre("s3://ads/train/deep/d.csv"));
  EXPECT_THAT(Paths("s3://ads/t"), ElementsAre("s3://ads/t"));
  EXPECT_THAT(opened_, ElementsAre("s3://ads"));
}

TEST_F(ObjectFilesTest, AnObjectWithBracketsInItsNameIsMeantByItAndNotTheOneThatItMatches) {
  bucket_ = MakeForeignObjectStore({{"run[1]/a.csv", "22"}});
  EXPECT_THAT(Paths("s3://ads/run[1]/a.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
}

TEST_F(ObjectFilesTest, AnObjectThatItMatchesAsWellIsNoReasonToTakeThatOne) {
  bucket_ = MakeForeignObjectStore({{"run[1]/a.csv", "22"}, {"run1/a.csv", "1"}});
  EXPECT_THAT(Paths("s3://ads/run[1]/a.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run[[]1]/*.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run[12]/a.csv"), ElementsAre("s3://ads/run1/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run*/a.csv"),
              ElementsAre("s3://ads/run1/a.csv", "s3://ads/run[1]/a.csv"));
}

TEST_F(ObjectFilesTest, HiddenNamesAreLeftOutWhereAWildcardFindsThem) {
  bucket_ = MakeForeignObjectStore({{"pq/_SUCCESS", ""},
                                    {"pq/.part-0.crc", "1"},
                                    {"pq/_temporary/part-0", "1"},
                                    {"pq/part-0", "1"}});
  EXPECT_THAT(Paths("s3://ads/pq/*"), ElementsAre("s3://ads/pq/part-0"));
  EXPECT_THAT(Paths("s3://ads/pq/_temporary/*"), ElementsAre("s3://ads/pq/_temporary/part-0"));
  EXPECT_THAT(Paths("s3://ads/pq/_S*"), ElementsAre("s3://ads/pq/_SUCCESS"));
  EXPECT_THAT(std::string(files_->List("s3://ads/pq/*/part-0").status().message()),
              HasSubstr("no object matches but 1 with a name that begins with _ or ."));
}

TEST_F(ObjectFilesTest, AnObjectWhoseNameIsNotUtf8IsRefusedWithItsNameEscaped) {
  bucket_ = MakeForeignObjectStore({{"pq/a.csv", "1"}, {"pq/caf\xE9.csv", "1"}});
  EXPECT_THAT(Paths("s3://ads/pq/a*"), ElementsAre("s3://ads/pq/a.csv"));
  for (const char* name : {"s3://ads/pq/*.csv", "s3://ads/pq/caf\xE9.csv"}) {
    const absl::Status refused = files_->List(name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("pq/caf\\xe9.csv: the name is not UTF-8"));
  }
}

// The workers' keys may read objects, and not list them.
TEST_F(ObjectFilesTest, FindsTheObjectOfANameWithoutListing) {
  const std::unique_ptr<ObjectStore> stored =
      MakeForeignObjectStore({{"run[1]/a.csv", "22"}, {"run1/a.csv", "1"}});
  auto unlisted = std::make_unique<FaultyObjectStore>(*stored);
  unlisted->SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kList) return {};
    return {.status = absl::PermissionDeniedError("not yours to list")};
  });
  bucket_ = std::move(unlisted);
  const auto found = files_->Find("s3://ads/run[1]/a.csv");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->path, "s3://ads/run[1]/a.csv");
  EXPECT_EQ(found->bytes, 2u);
  EXPECT_TRUE(absl::IsNotFound(files_->Find("s3://ads/run2/a.csv").status()));
  files_.reset();  // It has the store that reads `stored`.
}

TEST_F(ObjectFilesTest, KnowsTheSize) {
  EXPECT_EQ(files_->List("s3://ads/train/a.csv")->front().bytes, 11u);
  EXPECT_EQ(files_->List("s3://ads/train/a*")->front().bytes, 11u);
}

TEST_F(ObjectFilesTest, SaysWhatIsWrong) {
  EXPECT_TRUE(absl::IsNotFound(files_->List("s3://ads/none").status()));
  EXPECT_TRUE(absl::IsNotFound(files_->List("s3://ads/none*").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(files_->List("s3://ads").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(files_->List("s3:///x").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files_->List("s3://other/x").status()));
}

TEST_F(ObjectFilesTest, OpensWhatItLists) {
  const auto stream = files_->Open("s3://ads/train/a.csv", 6, Source::kToTheEnd);
  EXPECT_EQ(*ReadAll(**stream), "a.csv");
}

}  // namespace
}  // namespace capstan
