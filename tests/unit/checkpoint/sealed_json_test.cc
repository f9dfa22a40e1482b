// Messages as JSON with a checksum.
#include "capstan/checkpoint/sealed_json.h"

#include <string>

#include "capstan/v1/checkpoint.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

class SealedJsonTest : public testing::Test {
 protected:
  SealedJsonTest() {
    manifest_.set_id("7-a");
    manifest_.set_step(7);
    (*manifest_.mutable_metrics())["auc"] = 0.5;
    (*manifest_.mutable_metrics())["loss"] = 0.25;
  }
  static absl::Status Open(const std::string& text) {
    v1::Manifest read;
    return OpenSealedJson("MANIFEST.json", text, read);
  }

  v1::Manifest manifest_;
};

TEST_F(SealedJsonTest, AMessageComesBackAndItsTextEndsWithTheChecksum) {
  const std::string text = *SealJson(manifest_);
  v1::Manifest read;
  ASSERT_TRUE(OpenSealedJson("MANIFEST.json", text, read).ok());
  EXPECT_EQ(read.id(), "7-a");
  EXPECT_EQ(read.step(), 7u);
  EXPECT_EQ(read.metrics().at("auc"), 0.5);
  EXPECT_EQ(text[0], '{') << "it is JSON still";
  EXPECT_THAT(text, testing::HasSubstr(",\n \"crc32c\": \""));
  EXPECT_THAT(text, testing::EndsWith("\"\n}\n"));
}

TEST_F(SealedJsonTest, EqualMessagesHaveTheSameTextHoweverTheirMapsWereFilled) {
  v1::Manifest other;
  (*other.mutable_metrics())["loss"] = 0.25;
  (*other.mutable_metrics())["auc"] = 0.5;
  other.set_step(7);
  other.set_id("7-a");
  EXPECT_EQ(*SealJson(other), *SealJson(manifest_));
}

TEST_F(SealedJsonTest, AByteThatHasChangedOrIsMissingIsFoundWhereverItIs) {
  const std::string text = *SealJson(manifest_);
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(Open(damaged))) << at;
    EXPECT_TRUE(absl::IsDataLoss(Open(text.substr(0, at)))) << at;
    EXPECT_TRUE(absl::IsDataLoss(Open(text.substr(0, at) + text.substr(at + 1)))) << at;
  }
  EXPECT_TRUE(absl::IsDataLoss(Open(text + "\n")));
  EXPECT_EQ(Open("").message(), "MANIFEST.json: the checksum does not agree");
}

TEST_F(SealedJsonTest, FieldsThatOnlyALaterVersionKnowsAreIgnored) {
  v1::SavedFile file;  // A manifest has no field `rows`.
  file.set_rows(5);
  EXPECT_TRUE(Open(*SealJson(file)).ok());
}

TEST_F(SealedJsonTest, AnotherMessageUnderAChecksumThatAgreesIsRefusedByItsType) {
  v1::TaskProgress progress;
  v1::BadRecordProgress bad;
  bad.add_examples("a:1");
  EXPECT_EQ(OpenSealedJson("state", *SealJson(bad), progress).message(),
            "state: not a capstan.v1.TaskProgress")
      << "there `examples` is a number";
}

}  // namespace
}  // namespace capstan
