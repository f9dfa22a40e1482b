// The job file itself and the files that it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/glob_pattern.h"
#include "capstan/config/config.h"
#include "tests/lib/test_folder.h"
#include "tests/lib/without_root.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class LoadJobTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  void WriteJob(const std::string& train) {
    Write("job.yaml",
          "job: a\ndata:\n  format: libfm\n  train: " + train + "\nmodel: {preset: fm}\n");
  }
  std::string Refusal() const { return std::string(LoadJob(job_).status().message()); }

  const TestFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
  const std::string job_ = folder_ / "job.yaml";
};

TEST_F(LoadJobTest, FindsDataBesideTheJobFile) {
  Write("part-0", "1 0:1\n");
  WriteJob("part-*");
  const absl::StatusOr<v1::JobSpec> spec = LoadJob(job_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->data().train(), ElementsAre((folder_ / "part-*").string()));
}

// The folder of a job is where it is, whatever it is called.
class FolderWithBracketsTest : public LoadJobTest {
 protected:
  FolderWithBracketsTest() {
    std::filesystem::create_directory(folder_ / "x[1]");
    std::filesystem::create_directory(folder_ / "x1");
  }
  void WriteJobHere(const std::string& data) {
    Write("x[1]/job.yaml", "job: a\ndata: {" + data + "}\nmodel: {preset: fm}\n");
  }

  const std::string here_ = folder_ / "x[1]";
  const std::string job_here_ = folder_ / "x[1]" / "job.yaml";
};

TEST_F(FolderWithBracketsTest, ItsDataAreFoundAndThoseOfAFolderThatItMatchesAreNot) {
  WriteJobHere("format: libfm, train: train.txt, eval: 'part-*'");
  for (const char* name : {"x1/train.txt", "x1/part-0"}) Write(name, "1 0:1\n");
  const std::string refusal(LoadJob(job_here_).status().message());
  EXPECT_THAT(refusal, HasSubstr("data.train: no file matches"));
  EXPECT_THAT(refusal, HasSubstr("data.eval: no file matches"));
  for (const char* name : {"x[1]/train.txt", "x[1]/part-0"}) Write(name, "1 0:1\n");
  const absl::StatusOr<v1::JobSpec> spec = LoadJob(job_here_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(*MatchingPaths(spec->data().train(0)), ElementsAre(here_ + "/train.txt"));
  EXPECT_THAT(*MatchingPaths(spec->data().eval(0)), ElementsAre(here_ + "/part-0"));
}

TEST_F(FolderWithBracketsTest, AFileWithBracketsIsFoundThere) {
  WriteJobHere("format: libfm, train: 't[1].txt'");
  Write("x[1]/t1.txt", "1 0:1\n");
  Write("x[1]/t[1].txt", "1 0:1\n");
  const absl::StatusOr<v1::JobSpec> spec = LoadJob(job_here_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(*MatchingPaths(spec->data().train(0)), ElementsAre(here_ + "/t[1].txt"));
}

TEST_F(FolderWithBracketsTest, WhatIsNoPatternIsNamedAsItIs) {
  Write("x[1]/job.yaml",
        "job: a\ndata: {format: folder, image: {height: 8, width: 8}, train: 'pets[2]'}\n"
        "model: {preset: softmax, outputs: 2}\ncheckpoint: {uri: models}\n");
  std::filesystem::create_directory(folder_ / "x[1]" / "pets2");
  EXPECT_THAT(std::string(LoadJob(job_here_).status().message()), HasSubstr("no file matches"));
  std::filesystem::create_directory(folder_ / "x[1]" / "pets[2]");
  const absl::StatusOr<v1::JobSpec> spec = LoadJob(job_here_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->data().train(), ElementsAre(here_ + "/pets[2]"));
  EXPECT_EQ(spec->checkpoint().uri(), here_ + "/models");
}

TEST_F(FolderWithBracketsTest, AVocabularyIsFoundByItsName) {
  Write("x[1]/job.yaml",
        "job: a\ndata: {format: csv, train: t.csv, schema: {label: 0},\n"
        "       features: {word: {column: 1, kind: vocabulary, file: 'words[1].txt'}}}\n"
        "model: {user: m.py}\n");
  Write("x[1]/t.csv", "1,a\n");
  Write("x[1]/words1.txt", "a\n");
  EXPECT_THAT(std::string(LoadJob(job_here_).status().message()), HasSubstr("no file matches"));
  Write("x[1]/words[1].txt", "a\n");
  const absl::StatusOr<v1::JobSpec> spec = LoadJob(job_here_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->data().features(0).vocabulary().file(), here_ + "/words[1].txt");
}

TEST_F(LoadJobTest, BracesAreNoPatternAsTheyAreNoneForWhoeverReads) {
  Write("a.txt", "1 0:1\n");
  Write("b.txt", "1 0:1\n");
  WriteJob("'{a,b}.txt'");
  EXPECT_EQ(Refusal(),
            job_ + ":4: data.train: no file matches \"" + (folder_ / "{a,b}.txt").string() + "\"");
}

TEST_F(LoadJobTest, APatternThatFindsOnlyHiddenNamesSaysSo) {
  Write("_SUCCESS", "");
  WriteJob("'*SS'");
  EXPECT_THAT(Refusal(), HasSubstr("data.train: no file matches \""));
  EXPECT_THAT(Refusal(), HasSubstr("*SS\" but 1 with a name that begins with _ or ."));
}

TEST_F(LoadJobTest, AMissingJobFileIsNotFound) {
  EXPECT_EQ(LoadJob(job_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Refusal(), job_ + ": no such file");
}

TEST_F(LoadJobTest, AFolderIsNoJobFile) {
  EXPECT_EQ(LoadJob(folder_).status().message(), folder_.string() + ": cannot be read");
}

TEST_F(LoadJobTest, AMissingDataFileIsRefusedWithTheLineThatNamesIt) {
  WriteJob("absent.libfm");
  EXPECT_EQ(Refusal(), job_ + ":4: data.train: no file matches \"" +
                           (folder_ / "absent.libfm").string() + "\"");
}

TEST_F(LoadJobTest, AFolderIsNoData) {
  WriteJob(".");
  EXPECT_THAT(Refusal(), HasSubstr("is a folder, not a file"));
}

TEST_F(LoadJobTest, FoldersOfImagesAreFoldersAndNotFiles) {
  const auto write = [this](const std::string& train) {
    Write("job.yaml", "job: a\ndata: {format: folder, image: {height: 8, width: 8}, train: " +
                          train + "}\nmodel: {preset: softmax, outputs: 2}\n");
  };
  write("job.yaml");
  EXPECT_THAT(Refusal(), HasSubstr("is a file, not a folder"));
  write(".");
  EXPECT_EQ(Refusal(), "");
}

TEST_F(LoadJobTest, ObjectsAreLeftToWhoeverPlansTheJob) {
  WriteJob("s3://ads/train/*.gz");
  EXPECT_EQ(Refusal(), "");
}

TEST_F(LoadJobTest, AnObjectStoreThatIsUnknownIsRefused) {
  WriteJob("gs://ads/train");
  EXPECT_THAT(Refusal(), HasSubstr(":4: data.train: \"gs://ads/train\" is not supported"));
}

TEST_F(LoadJobTest, AFileThatMayNotBeReadIsRefused) {
  Write("secret", "1 0:1\n");
  std::filesystem::permissions(folder_ / "secret", std::filesystem::perms::none);
  WriteJob("secret");
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  const WithoutRoot without_root;
  EXPECT_THAT(Refusal(), HasSubstr("cannot be read"));
}

TEST_F(LoadJobTest, AFileOfAMegabyteAndMoreIsRefused) {
  Write("job.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(Refusal(), job_ + ": larger than 1048576 bytes");
}

TEST_F(LoadJobTest, TenThousandTowersAreMoreThanAJobMayHave) {
  std::string towers;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&towers, "\n  - {kind: linear, name: t", i, "}");
  Write("job.yaml", "job: ctr\ndata: {format: synthetic}\nmodel:\n  towers:" + towers + "\n");
  EXPECT_THAT(Refusal(), HasSubstr("more than 20000 values"));
}

TEST_F(LoadJobTest, ThousandsOfTablesAreMoreThanAJobMayHave) {
  const auto write = [this](int features) {
    std::string text =
        "job: ctr\ndata:\n  format: csv\n  train: t.csv\n  schema: {label: 0}\n  features:";
    for (int i = 0; i < features; ++i) absl::StrAppend(&text, "\n    f", i, ": {column: 1}");
    Write("job.yaml", text + "\nmodel: {user: m.py}\n");
  };
  write(1001);
  EXPECT_THAT(Refusal(), HasSubstr("data.features: they have 1001 tables; a job has at most 1000"));
  write(1000);
  EXPECT_THAT(Refusal(), Not(HasSubstr("tables")));
}

TEST_F(LoadJobTest, WhereAJobIsKeptIsFoundInAFileWithMistakes) {
  Write("job.yaml",
        "job: ctr\ntrain: {epochs: minus one}\nnonsense: 1\ncheckpoint: {uri: models}\n");
  EXPECT_FALSE(LoadJob(job_).ok());
  const absl::StatusOr<JobPlace> place = FindJob(job_);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->job, "ctr");
  EXPECT_EQ(place->checkpoint_uri, (folder_ / "models").string());
  EXPECT_EQ(FindJob(job_, {"job=other"})->job, "other");
}

TEST_F(LoadJobTest, AJobThatIsNotStoredHasANameAndNoPlace) {
  Write("job.yaml", "job: ctr\ntrain: {epochs: minus one}\n");
  const absl::StatusOr<JobPlace> place = FindJob(job_);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->job, "ctr");
  EXPECT_EQ(place->checkpoint_uri, "");
}

TEST_F(LoadJobTest, AFileWithoutANameTellsOfNoJob) {
  Write("job.yaml", "checkpoint: {uri: models}\n");
  EXPECT_TRUE(absl::IsInvalidArgument(FindJob(job_).status()));
  Write("job.yaml", "job: [\n");
  EXPECT_TRUE(absl::IsInvalidArgument(FindJob(job_).status()));
}

}  // namespace
}  // namespace capstan
