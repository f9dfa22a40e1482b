// data.negatives: candidates that are drawn for each batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"
#include "tests/unit/config/features_job.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr char kNegatives[] =
    "  negatives: {feature: city, file: lists/cities.txt, per_batch: 4k, distortion: 0.75}\n";

std::string RefusalOfNegatives(const std::string& what, const std::string& by) {
  const std::string job = Replaced(kFeaturesJob, "tables:", std::string(kNegatives) + "tables:");
  return std::string(ParsedJob(Replaced(job, what, by)).status().message());
}

TEST(NegativesTest, AreReadWithTheirDefaults) {
  const auto job =
      ParsedJob(Replaced(kFeaturesJob, "tables:", std::string(kNegatives) + "tables:"));
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::NegativeSpec& negatives = job->data().negatives();
  EXPECT_EQ(negatives.feature(), "city");
  EXPECT_EQ(negatives.file(), "/jobs/lists/cities.txt");
  EXPECT_EQ(negatives.per_batch(), 4000u);
  EXPECT_EQ(negatives.share(), v1::CANDIDATE_SHARE_WEIGHTS);
  EXPECT_EQ(negatives.distortion(), 0.75F);
  EXPECT_FALSE(ParsedJob(kFeaturesJob)->data().has_negatives());
}

TEST(NegativesTest, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(RefusalOfNegatives("feature: city, ", ""),
              HasSubstr("job.yaml:13: data.negatives.feature: is missing; expected one of"));
  EXPECT_THAT(RefusalOfNegatives("feature: city", "feature: citi"),
              HasSubstr("\"citi\" is none of data.features; did you mean city?"));
  EXPECT_THAT(RefusalOfNegatives("file: lists/cities.txt, ", ""),
              HasSubstr("data.negatives.file: is missing; expected a file of candidates"));
  EXPECT_THAT(RefusalOfNegatives(", per_batch: 4k", ""),
              HasSubstr("data.negatives.per_batch: is missing"));
  EXPECT_THAT(RefusalOfNegatives("per_batch: 4k", "per_batch: 2M"),
              HasSubstr("data.negatives.per_batch: "));
  EXPECT_THAT(RefusalOfNegatives("distortion: 0.75", "distortion: 1.5"),
              HasSubstr("data.negatives.distortion: "));
  EXPECT_THAT(RefusalOfNegatives("distortion: 0.75", "from: log_unifrom"),
              HasSubstr("did you mean log_uniform?"));
  EXPECT_THAT(RefusalOfNegatives("format: csv\n  header: true", "format: libsvm"),
              HasSubstr("data.negatives: is only for format: csv, tsv and parquet"));
}

TEST(NegativesTest, ASectionWithoutAKeyIsAsGoodAsNone) {
  const auto job = ParsedJob(Replaced(kFeaturesJob, "tables:", "  negatives: {}\ntables:"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->data().has_negatives());
}

TEST(NegativesTest, OneSettingAloneAsksForTheOthers) {
  const std::string refusal = RefusalOfNegatives(
      "feature: city, file: lists/cities.txt, per_batch: 4k, distortion: 0.75", "from: uniform");
  for (const char* key : {"feature", "file", "per_batch"}) {
    EXPECT_THAT(refusal, HasSubstr(std::string("data.negatives.") + key + ": is missing"));
  }
}

}  // namespace
}  // namespace capstan
