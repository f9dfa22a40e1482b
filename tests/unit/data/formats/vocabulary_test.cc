#include "capstan/data/formats/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/base/crc32c.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/feature_rule.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::FeatureSpec City(const std::string& file, uint32_t unknown) {
  v1::FeatureSpec city;
  city.set_name("city");
  city.set_column_name("city");
  city.set_table("city");
  city.set_kind(v1::KEY_KIND_VOCABULARY);
  city.mutable_vocabulary()->set_file(file);
  city.mutable_vocabulary()->set_unknown(unknown);
  return city;
}

class VocabularyTest : public testing::Test {
 protected:
  std::string ErrorOf(const std::string& text, const VocabularyLimits& limits = {}) {
    const auto read = Vocabulary::Read(*files_, folder_.Write("cities.txt", text), limits);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    return std::string(read.status().message());
  }

  std::vector<uint64_t> KeysOf(const v1::FeatureSpec& feature, const std::string& cell) {
    const FeatureRule rule(feature, *ReadVocabulary(*files_, feature));
    std::vector<uint64_t> keys;
    std::string error;
    EXPECT_TRUE(rule.Append(cell, keys, error)) << error;
    return keys;
  }

  // A job that has begun with the file of its only feature.
  v1::DataSpec Begun(const std::string& text, const std::string& name = "cities.txt") {
    v1::DataSpec data;
    *data.add_features() = City(folder_.Write(name, text), 1);
    EXPECT_TRUE(DeriveVocabularies(*files_, data).ok());
    return data;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(VocabularyTest, ATextHasThePlaceOfItsLine) {
  const std::string file = folder_.Write("cities.txt", "Bern\nNew York\n x\nZ\xC3\xBCrich");
  const auto read = Vocabulary::Read(*files_, file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), 4u);
  EXPECT_EQ(read->Find("Bern"), 0u);
  EXPECT_EQ(read->Find("New York"), 1u);
  EXPECT_EQ(read->Find(" x"), 2u) << "spaces count";
  EXPECT_EQ(read->Find("Z\xC3\xBCrich"), 3u);
  EXPECT_EQ(read->Find("x"), std::nullopt);
}

TEST_F(VocabularyTest, MistakesAreToldWithFileAndLine) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("cities.txt: is empty, expected a text a line"));
  EXPECT_THAT(ErrorOf("Bern\nRome\nBern\n"),
              HasSubstr("cities.txt:3: is the text of line 1 again; expected each text once"));
  EXPECT_THAT(ErrorOf("Bern\n\nRome\n"), HasSubstr("cities.txt:2: is empty, expected a text"));
  EXPECT_THAT(ErrorOf("Bern\nRome\r\n"), HasSubstr("cities.txt:2: ends with CR LF"));
  EXPECT_TRUE(absl::IsNotFound(Vocabulary::Read(*files_, folder_.Path("no.txt")).status()));
}

TEST_F(VocabularyTest, MoreThanAWorkerIsToHoldIsRefused) {
  EXPECT_THAT(ErrorOf("a\nb\nc\n", {.texts = 2}),
              HasSubstr("cities.txt:3: is one text too many; expected at most 2"));
  EXPECT_THAT(ErrorOf("a\nbbbb\n", {.text_bytes = 3}),
              HasSubstr("cities.txt:2: is a text of 4 bytes; expected at most 3"));
  EXPECT_THAT(ErrorOf("aa\nbbb\n", {.bytes = 4}),
              HasSubstr("cities.txt:2: so far the texts have 5 bytes; expected at most 4"));
}

TEST_F(VocabularyTest, UnknownTextsShareKeysBehindTheTexts) {
  const std::string file = folder_.Write("cities.txt", "Bern\nRome\n");
  const v1::FeatureSpec one = City(file, 1);
  EXPECT_THAT(KeysOf(one, "Rome"), ElementsAre(1));
  EXPECT_THAT(KeysOf(one, "Oslo"), ElementsAre(2));
  EXPECT_THAT(KeysOf(one, "Lima"), ElementsAre(2));
  EXPECT_THAT(KeysOf(one, ""), ElementsAre(2)) << "an empty cell is a text like others";
  const v1::FeatureSpec many = City(file, 100);
  EXPECT_THAT(KeysOf(many, "Oslo"), ElementsAre(2 + HashText("Oslo") % 100));
  EXPECT_NE(KeysOf(many, "Oslo"), KeysOf(many, "Lima"));
}

TEST_F(VocabularyTest, WithoutUnknownTextsAnotherOneIsAMistake) {
  const v1::FeatureSpec city = City(folder_.Write("cities.txt", "Bern\n"), 0);
  const FeatureRule rule(city, *ReadVocabulary(*files_, city));
  std::vector<uint64_t> keys;
  std::string error;
  EXPECT_FALSE(rule.Append("Oslo", keys, error));
  EXPECT_THAT(error, HasSubstr("\"Oslo\" is not in the vocabulary of city"));
  EXPECT_FALSE(rule.Append("", keys, error));
  EXPECT_THAT(keys, testing::IsEmpty());
}

TEST_F(VocabularyTest, OfManyTextsEachIsLookedUpAndAnEmptyCellIsAnEmptyBag) {
  v1::FeatureSpec city = City(folder_.Write("cities.txt", "Bern\nRome\n"), 1);
  city.set_many(true);
  city.set_separator("|");
  city.set_most(10);
  EXPECT_THAT(KeysOf(city, "Rome|Oslo||Bern"), ElementsAre(1, 2, 0));
  EXPECT_THAT(KeysOf(city, ""), testing::IsEmpty());
}

TEST_F(VocabularyTest, AJobKnowsTheChecksumAndTheNumberOfTheTexts) {
  const v1::DataSpec data = Begun("Bern\nRome\n");
  EXPECT_EQ(data.features(0).vocabulary().entries(), 2u);
  EXPECT_EQ(data.features(0).vocabulary().crc32c(), Crc32c("Bern\nRome\n"));
  const v1::DataSpec packed = Begun(Gzip("Bern\nRome\n"), "cities.txt.gz");
  EXPECT_EQ(packed.features(0).vocabulary().crc32c(), data.features(0).vocabulary().crc32c());
  EXPECT_EQ(*ReadVocabularyText(*files_, packed.features(0)), "Bern\nRome\n");
}

TEST_F(VocabularyTest, AFileThatHasChangedSinceTheJobBeganIsRefusedWithBothChecksums) {
  const v1::DataSpec data = Begun("Bern\nRome\n");
  folder_.Write("cities.txt", "Rome\nBern\n");
  for (const absl::Status& status : {ReadKnownVocabularies(*files_, data).status(),
                                     ReadVocabulary(*files_, data.features(0)).status(),
                                     ReadVocabularyText(*files_, data.features(0)).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::MatchesRegex(
                    ".*cities.txt: the texts of data.features.city have changed since the job "
                    "began: the file's checksum is [0-9a-f]{8}, expected [0-9a-f]{8}"));
  }
}

TEST_F(VocabularyTest, FeaturesOfOneFileShareItsTexts) {
  v1::DataSpec data = Begun("Bern\nRome\n");
  *data.add_features() = data.features(0);
  data.add_features()->set_kind(v1::KEY_KIND_ID);
  const auto known = ReadKnownVocabularies(*files_, data);
  ASSERT_TRUE(known.ok()) << known.status();
  ASSERT_EQ(known->size(), 3u);
  EXPECT_EQ((*known)[0], (*known)[1]);
  EXPECT_EQ((*known)[2], nullptr);
}

}  // namespace
}  // namespace capstan
