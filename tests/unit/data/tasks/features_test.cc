// Records whose keys are those of data.features.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::FeatureSpec& Add(v1::DataSpec& data, const std::string& name, const std::string& column) {
  v1::FeatureSpec& feature = *data.add_features();
  feature.set_name(name);
  feature.set_column_name(column);
  feature.set_kind(v1::KEY_KIND_ID);
  feature.set_table(name);
  return feature;
}

// user, all that was clicked, and its last two; the order of the columns is another.
v1::DataSpec Clicks(const std::string& path) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_header(true);
  data.add_train(path);
  data.set_label_name("bought");
  Add(data, "user", "user_id");
  for (const auto& [name, most] : std::map<std::string, int>{{"history", 100}, {"recent", 2}}) {
    v1::FeatureSpec& feature = Add(data, name, "clicked");
    feature.set_many(true);
    feature.set_separator("|");
    feature.set_most(most);
    feature.set_table("item");
  }
  return data;
}

constexpr char kNames[] = "clicked,bought,user_id\n";

class FeaturesTest : public testing::Test {
 protected:
  std::shared_ptr<const LoadedTask> Read(const ReaderOptions& options) {
    v1::Task task;
    task.set_file(options.data.train(0));
    task.set_end(kToTheEnd);
    TaskReader reader(options, *files_);
    auto read = reader.Read({.task = task});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *read : nullptr;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(FeaturesTest, EachHasItsBagsWhateverTheOrderOfTheColumns) {
  const ReaderOptions options =
      *Derived(Clicks(folder_.Write("a.csv", absl::StrCat(kNames, "5|6|7,1,20\n,0,21\n"))));
  Batch batch;
  ASSERT_TRUE(Read(options)->ReadBatch(0, batch).ok());
  ASSERT_EQ(batch.features.size(), 3u);
  EXPECT_THAT(batch.labels, ElementsAre(1, 0));
  EXPECT_THAT(batch.features[0].keys, ElementsAre(20, 21));
  EXPECT_THAT(batch.features[0].offsets, ElementsAre(0, 1, 2));
  EXPECT_THAT(batch.features[1].keys, ElementsAre(5, 6, 7));
  EXPECT_THAT(batch.features[1].offsets, ElementsAre(0, 3, 3)) << "an empty bag";
  EXPECT_THAT(batch.features[2].keys, ElementsAre(5, 6));
  EXPECT_THAT(batch.keys, testing::IsEmpty());
}

TEST_F(FeaturesTest, ABadRecordLeavesNothingOfItselfInAnyBag) {
  ReaderOptions options = *Derived(Clicks(folder_.Write(
      "a.csv", absl::StrCat(kNames, "1,1,20\n2|3,0,me\n4|x,0,22\n5,no,23\n6,0,24\n"))));
  options.data.set_max_bad_records(3);
  const auto task = Read(options);
  EXPECT_EQ(task->bad_records().count(), 3u);
  EXPECT_THAT(task->bad_records().examples().front(),
              HasSubstr("a.csv:3: column 2 (user_id): \"me\" is not an id"));
  Batch batch;
  ASSERT_TRUE(task->ReadBatch(0, batch).ok());
  EXPECT_THAT(batch.features[0].keys, ElementsAre(20, 24));
  EXPECT_THAT(batch.features[1].keys, ElementsAre(1, 6));
  EXPECT_THAT(batch.features[1].offsets, ElementsAre(0, 1, 2));
}

TEST_F(FeaturesTest, BagsStayWithTheirRecordsWhenThoseAreShuffledAndCut) {
  std::string text = kNames;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, i % 7 == 0 ? "" : absl::StrCat(i, "|", i + 1000), ",", i % 2, ",", i,
                    "\n");
  }
  ReaderOptions options = *Derived(Clicks(folder_.Write("a.csv", text)));
  options.data.set_shuffle(true);
  const auto task = Read(options);
  std::vector<uint64_t> users;
  Batch batch;
  for (uint64_t k = 0; k < task->batch_count(); ++k) {
    ASSERT_TRUE(task->ReadBatch(k, batch).ok());
    for (size_t e = 0; e < batch.examples(); ++e) {
      const uint64_t user = batch.features[0].KeysOf(e)[0];
      users.push_back(user);
      EXPECT_EQ(batch.labels[e], user % 2);
      const auto clicked = batch.features[1].KeysOf(e);
      if (user % 7 == 0) {
        EXPECT_TRUE(clicked.empty());
      } else {
        EXPECT_THAT(clicked, ElementsAre(user, user + 1000));
      }
    }
  }
  EXPECT_FALSE(std::is_sorted(users.begin(), users.end()));
  std::sort(users.begin(), users.end());
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(users[i], i);
}

TEST_F(FeaturesTest, AColumnThatIsNotThereIsToldByTheFeaturesName) {
  v1::DataSpec data = Clicks(folder_.Write("a.csv", absl::StrCat(kNames, "1,1,2\n")));
  data.mutable_features(0)->set_column_name("userid");
  EXPECT_THAT(
      std::string(Derived(data).status().message()),
      HasSubstr(
          "no column is named \"userid\", as data.features.user says; did you mean user_id?"));
}

TEST_F(FeaturesTest, AColumnIsNotALabelAndAFeature) {
  v1::DataSpec data = Clicks(folder_.Write("a.csv", absl::StrCat(kNames, "1,1,2\n")));
  data.mutable_features(0)->set_column_name("bought");
  EXPECT_THAT(std::string(Derived(data).status().message()),
              HasSubstr("column 1 is both label and a feature"));
}

TEST_F(FeaturesTest, TextsOfAVocabularyHaveTheirKeysAndOthersMayBeBad) {
  v1::DataSpec data =
      Clicks(folder_.Write("a.csv", absl::StrCat(kNames, "b|x|a,1,20\n,0,21\nc,1,22\n")));
  data.mutable_features(1)->set_kind(v1::KEY_KIND_VOCABULARY);
  data.mutable_features(2)->set_kind(v1::KEY_KIND_VOCABULARY);
  v1::VocabularySpec& texts = *data.mutable_features(1)->mutable_vocabulary();
  texts.set_file(folder_.Write("texts.txt.gz", Gzip("a\nb\nc\n")));
  texts.set_unknown(1);
  *data.mutable_features(2)->mutable_vocabulary() = texts;
  Batch batch;
  ASSERT_TRUE(Read(*Derived(data))->ReadBatch(0, batch).ok());
  EXPECT_THAT(batch.features[1].keys, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(batch.features[1].offsets, ElementsAre(0, 3, 3, 4));
  EXPECT_THAT(batch.features[2].keys, ElementsAre(1, 3, 2)) << "two count";

  texts.set_unknown(0);
  data.set_max_bad_records(1);
  const auto task = Read(*Derived(data));
  EXPECT_EQ(task->bad_records().count(), 1u);
  EXPECT_THAT(task->bad_records().examples().front(),
              HasSubstr("a.csv:2: column 0 (clicked): \"x\" is not in the vocabulary of history"));
  ASSERT_TRUE(task->ReadBatch(0, batch).ok());
  EXPECT_THAT(batch.features[1].keys, ElementsAre(2));
}

TEST_F(FeaturesTest, AWorkerThatFindsAnotherVocabularyReadsNothing) {
  v1::DataSpec data = Clicks(folder_.Write("a.csv", absl::StrCat(kNames, "b,1,20\n")));
  data.mutable_features(1)->set_kind(v1::KEY_KIND_VOCABULARY);
  data.mutable_features(1)->mutable_vocabulary()->set_file(folder_.Write("texts.txt", "a\nb\n"));
  const auto options = Derived(data);
  ASSERT_TRUE(options.ok()) << options.status();
  folder_.Write("texts.txt", "b\na\n");
  v1::Task task;
  task.set_file(data.train(0));
  task.set_end(kToTheEnd);
  const absl::Status read = TaskReader(*options, *files_).Read({.task = task}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("texts.txt: the texts of"));
}

// The same, and a weight for each of what was clicked; those stand in front of it.
v1::DataSpec WeightedClicks(const std::string& path) {
  v1::DataSpec data = Clicks(path);
  for (int i = 1; i < 3; ++i) data.mutable_features(i)->mutable_weights()->set_name("times");
  return data;
}

constexpr char kWeightedNames[] = "times,clicked,bought,user_id\n";

TEST_F(FeaturesTest, TheWeightsOfABagStayWithItsKeys) {
  const ReaderOptions options = *Derived(WeightedClicks(folder_.Write(
      "a.csv", absl::StrCat(kWeightedNames, "0.5|2|-1,5|6|7,1,20\n,,0,21\n3,8,1,22\n"))));
  Batch batch;
  ASSERT_TRUE(Read(options)->ReadBatch(0, batch).ok());
  EXPECT_THAT(batch.features[0].weights, testing::IsEmpty()) << "all are 1";
  EXPECT_THAT(batch.features[1].keys, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(batch.features[1].weights, ElementsAre(0.5F, 2, -1, 3));
  EXPECT_THAT(batch.features[2].keys, ElementsAre(5, 6, 8));
  EXPECT_THAT(batch.features[2].weights, ElementsAre(0.5F, 2, 3)) << "the first two of a record";
}

TEST_F(FeaturesTest, ARecordWithoutAWeightForEachValueIsABadOne) {
  ReaderOptions options = *Derived(WeightedClicks(folder_.Write(
      "a.csv", absl::StrCat(kWeightedNames, "1,5,1,20\n1|2,5,0,21\n1|2|3,5|6|7|8,0,22\n",
                            "1|x,5|6,1,23\n4,9,1,24\n"))));
  options.data.set_max_bad_records(3);
  const auto task = Read(options);
  EXPECT_THAT(
      task->bad_records().examples(),
      ElementsAre(HasSubstr("a.csv:3: column 0 (times): 2 weights for 1 value of history"),
                  HasSubstr("a.csv:4: column 0 (times): 3 weights for 4 values of history"),
                  HasSubstr("a.csv:5: column 0 (times): weight \"x\" of history is not a number")));
  Batch batch;
  ASSERT_TRUE(task->ReadBatch(0, batch).ok());
  EXPECT_THAT(batch.features[1].keys, ElementsAre(5, 9));
  EXPECT_THAT(batch.features[1].weights, ElementsAre(1, 4));
  EXPECT_THAT(batch.features[2].weights, ElementsAre(1, 4));
}

TEST_F(FeaturesTest, AColumnOfWeightsIsNothingElse) {
  v1::DataSpec data =
      WeightedClicks(folder_.Write("a.csv", absl::StrCat(kWeightedNames, ",,1,2\n")));
  data.mutable_features(1)->mutable_weights()->set_name("user_id");
  EXPECT_THAT(std::string(Derived(data).status().message()),
              HasSubstr("column 3 is both a feature and weights of a feature"));
  data.mutable_features(1)->mutable_weights()->set_name("time");
  EXPECT_THAT(std::string(Derived(data).status().message()),
              HasSubstr("as data.features.history.weights says; did you mean times?"));
}

}  // namespace
}  // namespace capstan
