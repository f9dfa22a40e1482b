#include "capstan/config/job_key.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"

namespace capstan {
namespace {

// Values and default of a key, as they are read.
std::string Description(const std::string& name) {
  for (const JobKey& key : JobKeys()) {
    if (key.key == name) {
      return absl::StrCat(key.values, "; ", key.required ? "required" : key.default_value);
    }
  }
  return "no such key";
}

TEST(JobKeyTest, TellsValuesAndDefaultOfEachKindOfKey) {
  EXPECT_EQ(Description("train.push_window"), "1 to 64; 1");
  EXPECT_EQ(Description("data.synthetic.eval_rows"), "0 to 549755813888; 100k");
  EXPECT_EQ(Description("update.sparse.policy"), "async, ssp, sync; async");
  EXPECT_EQ(Description("data.header"), "true, false; false");
  EXPECT_EQ(Description("heartbeat"), "a time, 50ms to 1m; 1s");
  EXPECT_EQ(Description("checkpoint.every"), "a time, 0s or more; 5m");
  EXPECT_EQ(Description("update.dense.lambda"), "a number, 0 to 100; 0.04");
  EXPECT_EQ(Description("model.hidden"), "one or a list, 1 to 65536; of the preset");
  EXPECT_EQ(Description("data.label_threshold"), "a number; ");
}

TEST(JobKeyTest, TellsNoDefaultOfAKeyThatIsOffWithoutAValue) {
  EXPECT_EQ(Description("train.clip_norm"), "a number, above 0; ");
  EXPECT_EQ(Description("train.max_steps"), "1 or more; ");
  EXPECT_EQ(Description("rebalance_bytes_per_second"), "a size, 64KiB or more; ");
}

TEST(JobKeyTest, AKeyThatAJobHasToNameIsRequiredAndHasNoDefault) {
  EXPECT_EQ(Description("update.dense.staleness"), "0 to 1M; required");
  EXPECT_EQ(Description("update.sparse.drop_above"), "0 or more; required");
  EXPECT_EQ(Description("data.train"), "one text or a list; required");
}

// Values and default of one kind of values.
std::string Told(const KeyValues& values) {
  const JobKey key = DescribeValues(values);
  return absl::StrCat(key.values, "; ", key.default_value);
}

TEST(JobKeyTest, TimesAreToldInTheLargestUnitThatHoldsThemWhole) {
  EXPECT_EQ(Told(SecondsKey{.in = {.max = 86400}, .by_default = 90}), "a time, 0s to 1d; 90s");
  EXPECT_EQ(Told(SecondsKey{.in = {.min = 0.25}, .by_default = 7200}), "a time, 250ms or more; 2h");
}

TEST(JobKeyTest, NumbersAreToldAsPeopleWriteThem) {
  EXPECT_EQ(Told(NumberKey{.in = {.max = 1, .open = true}, .by_default = 1e-8}),
            "a number, above 0, up to 1; 1e-8");
  EXPECT_EQ(Told(NumberKey{.in = {.min = -NumberRange::kNoEnd}, .by_default = 0.5}),
            "a number; 0.5");
  EXPECT_EQ(Told(WholeKey{.in = {.max = 3000000}, .by_default = 9000}), "0 to 3M; 9000");
  EXPECT_EQ(Told(BytesKey{.min = 1 << 20, .by_default = 3 << 20}), "a size, 1MiB or more; 3MiB");
  EXPECT_EQ(Told(WholesKey{.in = {.min = 2}}), "one or a list, 2 or more; ");
}

TEST(JobKeyTest, ANumberOfAJobIsToldAsItsKeyIsWritten) {
  EXPECT_EQ(TextInUnit(KeyUnit::kSeconds, 300), "5m");
  EXPECT_EQ(TextInUnit(KeyUnit::kSeconds, 0.2), "200ms");
  EXPECT_EQ(TextInUnit(KeyUnit::kBytes, 1 << 20), "1MiB");
  EXPECT_EQ(TextInUnit(KeyUnit::kBytes, (1 << 20) + 1), "1048577")
      << "another size is told otherwise";
  EXPECT_EQ(TextInUnit(KeyUnit::kNone, 0.5), "0.5");
  EXPECT_EQ(TextInUnit(KeyUnit::kNone, 1e-8), "1e-8");
}

}  // namespace
}  // namespace capstan
