// Tar in the layout of webdataset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> InTar(const std::string& file, const v1::ImageSpec& image = {}) {
  return SamplesOf(v1::DATA_FORMAT_TAR, file, {}, image);
}

TEST(TarSamplesTest, MembersOfOneNameAreASampleAndOthersArePassedOver) {
  const std::string file = TarBlock("train/", 0, '5') + TarMember("train/0001.jpg", "A") +
                           TarMember("train/0001.cls", "3\n") + TarMember("train/0001.json", "{}") +
                           TarMember("train/._0002.jpg", "Mac") + TarMember("README", "text") +
                           TarMember("train/0002.cls", "4") + TarMember("train/0002.PNG", "BB") +
                           TarEnd();
  EXPECT_THAT(InTar(file), ElementsAre("A:3\n", "BB:4"));
}

TEST(TarSamplesTest, TheJobSaysWhichMembersItMeans) {
  v1::ImageSpec image;
  image.set_image_member("seg.png");
  image.set_label_member("txt");
  const std::string file =
      TarMember("1.png", "no") + TarMember("1.seg.png", "yes") + TarMember("1.txt", "5") + TarEnd();
  EXPECT_THAT(InTar(file, image), ElementsAre("yes:5"));
}

// Names in all ways, members of no byte and of whole blocks, two archives in one file.
std::string EveryKind() {
  const std::string deep(120, 'd');
  std::string file = TarBlock("train/", 0, '5');
  for (int i = 0; i < 3; ++i) file += TarSample("s" + std::to_string(i), "image", "1");
  for (const TarName style : {TarName::kGnu, TarName::kPax, TarName::kPrefix}) {
    for (int i = 0; i < 2; ++i) {
      const std::string name =
          deep + "/" + std::to_string(static_cast<int>(style)) + "_" + std::to_string(i);
      file += TarMember(name + ".json", "", style) + TarMember(name + ".png", name, style) +
              TarMember(name + ".cls", "2", style);
    }
  }
  file += TarBlock("PaxHeaders/global", 0, 'g') + TarSample("after", std::string(1024, 'x'), "3");
  file += TarMember("README", std::string(600, 'r')) + TarMember("nolabel.png", "N") +
          TarMember("noimage.cls", "1") + TarEnd() + TarEnd();
  return file + TarSample("z1", "Z", "1") + TarSample("z2", "Z", "2") + TarEnd();
}

TEST(TarSamplesTest, EveryCutGivesEachSampleToOneOfItsRanges) {
  const std::string file = EveryKind();
  const std::vector<std::string> whole = InTar(file);
  ASSERT_EQ(whole.size(), 14u);
  for (uint64_t cut = 1; cut < file.size(); cut += cut % 512 == 511 || cut % 512 == 0 ? 1 : 510) {
    EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TAR, file, {cut, file.size()}), whole) << cut;
  }
  for (uint64_t one = 512; one < file.size(); one += 512) {
    for (uint64_t two = one + 512; two < file.size(); two += 1536) {
      ASSERT_EQ(SamplesOfParts(v1::DATA_FORMAT_TAR, file, {one, two, file.size()}), whole)
          << one << " " << two;
    }
  }
}

TEST(TarSamplesTest, CanBeReadFromWhereverASampleBegins) {
  EXPECT_EQ(BeginsThatGiveTheRest(v1::DATA_FORMAT_TAR, EveryKind()), 13);
}

TEST(TarSamplesTest, RangesOfOneBlockGiveEachSampleOnceToo) {
  const std::string file = EveryKind();
  std::vector<uint64_t> ends;
  for (uint64_t end = 512; end <= file.size(); end += 512) ends.push_back(end);
  EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TAR, file, ends), InTar(file));
}

TEST(TarSamplesTest, WhatIsMissingOrTwiceIsToldWithThePlace) {
  EXPECT_THAT(
      InTar(TarSample("0", "A", "1") + TarMember("1.cls", "1") + TarMember("2.png", "B") +
            TarMember("3.png", "C") + TarMember("3.jpg", "D")),
      ElementsAre("A:1",
                  "sample \"1\" at byte 2048: has no image (a member that ends in jpg, "
                  "jpeg or png)",
                  "B:none", "sample \"3\" at byte 4096: has two members that are its image"));
  EXPECT_THAT(InTar(TarMember("1.png", "") + TarMember("1.cls", "1")),
              ElementsAre("sample \"1\" at byte 0: \"1.png\" is empty"));
}

TEST(TarSamplesTest, AFileThatEndsWithinAMemberSaysSo) {
  const std::string file = TarSample("0", "A", "1") + TarSample("1", std::string(700, 'b'), "1");
  EXPECT_THAT(InTar(file.substr(0, 2048 + 512 + 600)),
              ElementsAre("A:1",
                          "sample \"1\" at byte 2048: the file ends within member "
                          "\"1.png\", after 600 of 700 bytes"));
  for (size_t size = 0; size < file.size(); ++size) InTar(file.substr(0, size));
}

TEST(TarSamplesTest, AFileThatEndsWithinAMemberThatNobodyAsksForSaysSoOnce) {
  const std::string whole = TarSample("0", "A", "1");
  const std::string cut = TarSample("1", "B", "1") + TarBlock("1.json", 4000) + "{";
  const std::string of_sample =
      "sample \"1\" at byte 2048: the file ends within member \"1.json\" of 4000 bytes";
  EXPECT_THAT(InTar(whole + cut), ElementsAre("A:1", of_sample));
  EXPECT_THAT(InTar(whole + TarMember("README", "text")), ElementsAre("A:1"));
  for (const char kind : {'0', '3'}) {  // A file of no sample, a device.
    const std::string file = whole + TarBlock("README", 4000, kind) + "text";
    const std::string error = "byte 2048: the file ends within the member that begins here";
    EXPECT_THAT(InTar(file), ElementsAre("A:1", error)) << kind;
    for (uint64_t end = 512; end < file.size(); end += 512) {
      EXPECT_THAT(SamplesOfParts(v1::DATA_FORMAT_TAR, file, {end, file.size()}),
                  ElementsAre("A:1", error))
          << kind << " " << end;
    }
  }
}

TEST(TarSamplesTest, TheContentOfTheLastMemberNeedNotFillItsBlock) {
  const std::string file = TarSample("0", "A", "1") + TarBlock("0.json", 2) + "{}";
  EXPECT_THAT(InTar(file), ElementsAre("A:1"));
}

TEST(TarSamplesTest, AnExtensionThatTellsOfATrillionBytesIsDamage) {
  for (const std::string size : {"1099511627776", "18446744073709551105"}) {
    std::string record = " size=" + size + "\n";
    record = std::to_string(record.size() + 2) + record;
    std::string extension = TarMember("PaxHeaders/x", record);
    extension.replace(0, 512, TarBlock("PaxHeaders/x", record.size(), 'x'));
    const std::string file =
        TarSample("0", "A", "1") + extension + TarSample("1", "B", "1") + TarSample("2", "C", "2");
    EXPECT_THAT(InTar(file),
                ElementsAre("A:1", "byte 3072: expected the header of a tar's member (ustar)",
                            HasSubstr("sample \"1\" at byte 4096: has no image"), "C:2"))
        << size;
  }
}

TEST(TarSamplesTest, DamageCostsWhatItCoversAndNoMore) {
  std::string file;
  for (int i = 0; i < 4; ++i) file += TarSample(std::to_string(i), "A", std::to_string(i));
  file[2048 + 10] ^= 1;  // The header of 1.png.
  EXPECT_THAT(InTar(file),
              ElementsAre("A:0", "byte 2048: expected the header of a tar's member (ustar)",
                          HasSubstr("sample \"1\" at byte 3072: has no image"), "A:2", "A:3"));
  for (uint64_t cut = 512; cut < file.size(); cut += 512) {
    EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TAR, file, {cut, file.size()}), InTar(file)) << cut;
  }
}

TEST(TarSamplesTest, AMemberOfATrillionBytesIsDamage) {
  const std::string file =
      TarSample("0", "A", "1") + TarBlock("1.png", uint64_t{1} << 40) + TarSample("2", "B", "2");
  EXPECT_THAT(
      InTar(file),
      ElementsAre("A:1", "byte 2048: expected the header of a tar's member (ustar)", "B:2"));
}

TEST(TarSamplesTest, AnImageOfAHundredMebibytesIsPassedOver) {
  const std::string file = TarBlock("1.png", 100 << 20) + std::string(100 << 20, 'x') +
                           TarMember("1.cls", "1") + TarSample("2", "B", "2");
  EXPECT_THAT(InTar(file),
              ElementsAre(HasSubstr("member \"1.png\" of 104857600 bytes; at most"), "B:2"));
}

TEST(TarSamplesTest, WhatIsNoTarHasNoSamples) {
  EXPECT_THAT(InTar(""), IsEmpty());
  EXPECT_THAT(InTar("some text"),
              ElementsAre("byte 0: expected the header of a tar's member (ustar)"));
}

}  // namespace
}  // namespace capstan
