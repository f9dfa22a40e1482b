// data, but for its features and negatives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string JobOnData(const std::string& data) {
  return absl::StrCat("job: a\ndata: {", data, "}\nmodel: {preset: lr}\n");
}

std::string WhyNotData(const std::string& data) { return Refusal(JobOnData(data)); }

TEST(ReadDataTest, AJobNamesItsFilesUnlessItsRecordsAreDrawn) {
  EXPECT_EQ(WhyNotData("format: libfm"),
            "job.yaml:2: data.train: is missing; expected files, such as [train/*.csv.gz]");
  EXPECT_TRUE(ParseJob({.text = JobOnData("format: synthetic")}).ok());
}

TEST(ReadDataTest, WhatTheFileSaysIsWhatTheJobHas) {
  const auto job = ParseJob(
      {.text = JobOnData("format: tsv, train: [/b, /a], eval: /c, max_bad_records: 7, shuffle: "
                         "false, pieces: 4, schema: {label: 3, weight: 5, categorical: \"0-2\"}")});
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::DataSpec& data = job->data();
  EXPECT_EQ(data.format(), v1::DATA_FORMAT_TSV);
  EXPECT_THAT(data.train(), ElementsAre("/b", "/a"));
  EXPECT_THAT(data.eval(), ElementsAre("/c"));
  EXPECT_EQ(data.max_bad_records(), 7u);
  EXPECT_FALSE(data.shuffle());
  EXPECT_EQ(data.pieces(), 4u);
  EXPECT_EQ(data.label_column(), 3u);
  EXPECT_EQ(data.weight().column(), 5u);
  EXPECT_FALSE(data.has_group());
  ASSERT_EQ(data.categorical_size(), 3);
  EXPECT_EQ(data.categorical(2).column(), 2u);
  EXPECT_FALSE(data.binarize_label());
  EXPECT_TRUE(data.numbered_in_order());
}

TEST(ReadDataTest, EveryKeyOfAnotherFormatIsRefused) {
  struct Scoped {
    std::string key;
    std::string value;
    std::string formats;
  };
  const std::vector<Scoped> scoped = {
      {"header", "true", "csv and tsv"},
      {"schema", "{label: 0}", "csv, tsv and parquet"},
      {"features", "{u: {column: 1}}", "csv, tsv and parquet"},
      {"negatives", "{feature: u}", "csv, tsv and parquet"},
      {"label_transform", "standard", "csv, tsv, parquet, libsvm and libfm"},
      {"fields", "3", "libsvm and libfm"},
      {"image_shape", "[2, 2]", "idx"},
      {"image", "{height: 2, width: 2}", "tar, tfrecord and folder"},
  };
  for (const Scoped& each : scoped) {
    EXPECT_THAT(WhyNotData(absl::StrCat("format: synthetic, ", each.key, ": ", each.value)),
                HasSubstr(absl::StrCat("data.", each.key, ": is only for format: ", each.formats)));
  }
  EXPECT_THAT(WhyNotData("format: libfm, train: a, synthetic: {train_rows: 5}"),
              HasSubstr("data.synthetic: is only for format: synthetic"));
  EXPECT_THAT(WhyNotData("format: cvs, train: a, fields: 3"), Not(HasSubstr("data.fields")))
      << "a format that is not known has no keys of others";
}

TEST(ReadDataTest, AnImageShapeIsAHeightAndAWidth) {
  for (const char* shape : {"28", "[28, 28, 1]", "[]"}) {
    EXPECT_THAT(WhyNotData(absl::StrCat("format: idx, train: a, image_shape: ", shape)),
                HasSubstr("data.image_shape: "))
        << shape;
  }
  EXPECT_THAT(WhyNotData("format: idx, train: a, image_shape: [28, 28, 1]"),
              HasSubstr("data.image_shape: must be [height, width]"));
}

TEST(ReadDataTest, LabelsThatAreTextsHaveOneMeaning) {
  const auto refusal = [](const std::string& schema, const std::string& more) {
    return WhyNotData(
        absl::StrCat("format: csv, train: a, schema: {categorical: 1, ", schema, "}", more));
  };
  EXPECT_THAT(refusal("positive: [yes], classes: [a, b]", ""),
              HasSubstr("data.schema.classes: cannot stand beside positive, which makes two "
                        "classes already"));
  EXPECT_THAT(refusal("positive: [a]", ", label_threshold: 1"),
              HasSubstr("data.label_threshold: is for labels that are numbers, and schema says "
                        "that they are texts"));
  EXPECT_THAT(refusal("classes: [a, b]", ", label_transform: standard"),
              HasSubstr("data.label_transform: standard is for labels that are numbers of any "
                        "size"));
  EXPECT_THAT(refusal("label: 0", ", label_transform: standard, label_threshold: 1"),
              HasSubstr("data.label_transform: standard is for labels that are numbers of any "
                        "size"));
}

TEST(ReadDataTest, SoManySetsAndLabelsMayAJobHave) {
  const auto sets = [](int count) {
    std::string files;
    for (int i = 0; i < count; ++i) absl::StrAppend(&files, i == 0 ? "" : ", ", "n", i, ": f", i);
    return absl::StrCat("format: libfm, train: a, eval: {", files, "}");
  };
  EXPECT_TRUE(ParseJob({.text = JobOnData(sets(32))}).ok());
  EXPECT_THAT(WhyNotData(sets(33)), HasSubstr("data.eval: names 33 sets; a job has at most 32"));
  std::string labels;
  for (int i = 0; i < 33; ++i)
    absl::StrAppend(&labels, i == 0 ? "" : ", ", "n", i, ": {column: ", i + 1, "}");
  EXPECT_THAT(WhyNotData(absl::StrCat("format: csv, train: a, schema: {categorical: 0, labels: {",
                                      labels, "}}")),
              HasSubstr("data.schema.labels: names 33 labels; a job has at most 32"));
}

}  // namespace
}  // namespace capstan
