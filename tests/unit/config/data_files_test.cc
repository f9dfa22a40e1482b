#include "capstan/config/data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

v1::DataSpec& DataOf(v1::JobSpec& job, v1::DataFormat format = v1::DATA_FORMAT_CSV) {
  job.mutable_data()->set_format(format);
  return *job.mutable_data();
}

std::string FilesRefused(const v1::JobSpec& job) {
  Findings findings("job.yaml");
  CheckDataFiles(job, findings);
  return std::string(findings.status().message());
}

TEST(IsObjectAddressTest, HasABucketAndAName) {
  EXPECT_TRUE(IsObjectAddress("s3://b/a"));
  EXPECT_TRUE(IsObjectAddress("s3://b/a/b*.csv"));
  for (const char* uri :
       {"s3://b", "s3://b/", "s3:///a", "s3://", "S3://b/a", "s3:/b/a", "b/a", "", "xs3://b/a"}) {
    EXPECT_FALSE(IsObjectAddress(uri)) << uri;
  }
}

TEST(ResolvePathsTest, EveryFileThatAJobNamesIsBesideIt) {
  v1::JobSpec job;
  v1::DataSpec& data = DataOf(job);
  data.add_train("train/*.csv");
  data.add_eval("../held/./out.csv");
  data.mutable_negatives()->set_file("ids.txt");
  data.add_numeric()->set_file("measures.json");
  data.add_features()->mutable_vocabulary()->set_file("cities.txt");
  data.add_features();  // Without a vocabulary.
  job.mutable_checkpoint()->set_uri("out");
  ResolvePaths("/jobs/ctr", job);
  EXPECT_THAT(data.train(), ElementsAre("/jobs/ctr/train/*.csv"));
  EXPECT_THAT(data.eval(), ElementsAre("/jobs/held/out.csv"));
  EXPECT_EQ(data.negatives().file(), "/jobs/ctr/ids.txt");
  EXPECT_EQ(data.numeric(0).file(), "/jobs/ctr/measures.json");
  EXPECT_EQ(data.features(0).vocabulary().file(), "/jobs/ctr/cities.txt");
  EXPECT_FALSE(data.features(1).has_vocabulary());
  EXPECT_EQ(job.checkpoint().uri(), "/jobs/ctr/out");
}

TEST(ResolvePathsTest, WhatIsAbsentAbsoluteOrAnAddressStays) {
  v1::JobSpec job;
  v1::DataSpec& data = DataOf(job);
  data.add_train("/data/a.csv");
  data.add_train("s3://b/../a.csv");
  data.add_train("file:///data/a.csv");
  data.add_numeric();
  ResolvePaths("/jobs", job);
  EXPECT_THAT(data.train(), ElementsAre("/data/a.csv", "s3://b/../a.csv", "file:///data/a.csv"));
  EXPECT_EQ(data.numeric(0).file(), "");
  EXPECT_FALSE(data.has_negatives());
  EXPECT_EQ(job.checkpoint().uri(), "") << "a job without checkpoints has none in its folder";
}

TEST(ResolvePathsTest, OnlyAPatternsFolderIsEscaped) {
  v1::JobSpec job;
  DataOf(job).add_train("*.csv");
  job.mutable_checkpoint()->set_uri("out");
  ResolvePaths("/jobs[1]", job);
  EXPECT_NE(job.data().train(0), "/jobs[1]/*.csv") << "it would mean the folder /jobs1";
  EXPECT_EQ(job.checkpoint().uri(), "/jobs[1]/out");
  v1::JobSpec images;
  DataOf(images, v1::DATA_FORMAT_FOLDER).add_train("train");
  ResolvePaths("/jobs[1]", images);
  EXPECT_EQ(images.data().train(0), "/jobs[1]/train");
}

TEST(CheckDataFilesTest, EachKeyIsBlamedForItsOwnFile) {
  const TestFolder folder;
  const std::string there = folder.Write("there.csv", "1\n");
  v1::JobSpec job;
  v1::DataSpec& data = DataOf(job);
  data.add_train(there);
  data.add_train(absl::StrCat("file://", there));
  EXPECT_EQ(FilesRefused(job), "");
  const auto missing = [&folder](const std::string& name) { return folder.Path(name); };
  data.add_eval(there);
  data.add_eval(missing("b"));
  for (const char* name : {"day", "night"}) {
    v1::EvalSet& set = *data.add_eval_sets();
    set.set_name(name);
    set.set_files(1);
  }
  data.mutable_negatives()->set_file(missing("c"));
  data.add_numeric()->set_file(missing("d"));
  data.add_numeric()->set_file(missing("d"));  // Told once.
  v1::FeatureSpec& city = *data.add_features();
  city.set_name("city");
  city.mutable_vocabulary()->set_file(missing("e"));
  const auto line = [&missing](const std::string& key, const std::string& name) {
    return absl::StrCat("job.yaml: ", key, ": no file matches \"", missing(name), "\"");
  };
  EXPECT_EQ(FilesRefused(job),
            absl::StrCat(line("data.eval.night", "b"), "\n", line("data.negatives.file", "c"), "\n",
                         line("data.schema.numeric[].file", "d"), "\n",
                         line("data.features.city.file", "e")));
}

TEST(CheckDataFilesTest, AFileThatIsNoPatternIsFoundByItsName) {
  const TestFolder folder;
  v1::JobSpec job;
  v1::DataSpec& data = DataOf(job);
  data.mutable_negatives()->set_file(folder.Write("ids[1]*.txt", "1\n"));
  EXPECT_EQ(FilesRefused(job), "");
  data.mutable_negatives()->set_file(folder.path());
  EXPECT_EQ(FilesRefused(job), absl::StrCat("job.yaml: data.negatives.file: \"", folder.path(),
                                            "\" is a folder, not a file"));
}

TEST(CheckDataFilesTest, ALinkToNothingCannotBeRead) {
  const TestFolder folder;
  std::filesystem::create_symlink(folder.Path("gone"), folder.Path("link.csv"));
  v1::JobSpec job;
  DataOf(job).add_train(folder.Path("link.csv"));
  EXPECT_EQ(FilesRefused(job),
            absl::StrCat("job.yaml: data.train: \"", folder.Path("link.csv"), "\" cannot be read"));
}

TEST(CheckDataFilesTest, ObjectsAreNotLookedForAndOtherSchemesAreNotKnown) {
  v1::JobSpec job;
  DataOf(job).add_train("s3://bucket/a*.csv");
  EXPECT_EQ(FilesRefused(job), "");
  job.mutable_data()->add_train("gs://bucket/a.csv");
  EXPECT_EQ(FilesRefused(job),
            "job.yaml: data.train: \"gs://bucket/a.csv\" is not supported; expected local files or "
            "s3://bucket/name");
}

}  // namespace
}  // namespace capstan
