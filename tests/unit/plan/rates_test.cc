#include "capstan/plan/rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/lib/source_folder.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

TEST(RatesTest, AFileOfOnesOwnBeginsWithWhatIsRecordedAndMayTellOfBatches) {
  std::ifstream file(SourceFolder() + "/services/capstan/plan/recorded_rates.txt");
  std::stringstream text;
  text << file.rdbuf() << "batch.ctr.compute_seconds 0.25\nbatch.ctr.read_seconds 0.5\n";
  const absl::StatusOr<Rates> read = ParseRates(text.str());
  ASSERT_TRUE(read.ok()) << read.status();
  const Rates recorded = RecordedRates();
  EXPECT_EQ(read->origin, recorded.origin);
  EXPECT_THAT(recorded.origin, HasSubstr("tests/bench/RESULTS.md"));
  EXPECT_GT(recorded.pulled_byte.shard_seconds, 0);
  EXPECT_EQ(read->pulled_byte.shard_seconds, recorded.pulled_byte.shard_seconds);
  EXPECT_EQ(read->pushed_row.worker_seconds, recorded.pushed_row.worker_seconds);
  EXPECT_EQ(read->applied, recorded.applied);
  EXPECT_EQ(read->batches.at("ctr").compute_seconds, 0.25);
  EXPECT_EQ(read->batches.at("ctr").read_seconds, 0.5);
}

TEST(RatesTest, TheTextOfRatesIsReadAsTheSame) {
  Rates rates = RecordedRates();
  rates.batches["ctr"] = {.compute_seconds = 0.25, .read_seconds = 0.5};
  const absl::StatusOr<Rates> read = ParseRates(RatesText(rates));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->origin, rates.origin);
  EXPECT_NEAR(read->call.shard_seconds, rates.call.shard_seconds, 1e-8);
  EXPECT_EQ(read->applied.size(), rates.applied.size());
  EXPECT_EQ(read->batches.at("ctr").compute_seconds, 0.25);
  EXPECT_EQ(RatesText(*read), RatesText(rates));
}

TEST(RatesTest, AnUnknownNameAndAMissingOneAreRefused) {
  EXPECT_THAT(std::string(ParseRates("origin x\nspeed 3\n").status().message()),
              HasSubstr("2: \"speed 3\""));
  EXPECT_THAT(std::string(ParseRates("origin x\n").status().message()), HasSubstr("has no "));
}

}  // namespace
}  // namespace capstan
