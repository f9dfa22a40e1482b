#include "capstan/config/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Reads a text as a section, and returns what was found wrong with it; empty: nothing.
std::string Mistakes(const std::string& text, absl::FunctionRef<void(Section&)> read) {
  const absl::StatusOr<YamlNode> root = ParseYaml(text, "job.yaml");
  EXPECT_TRUE(root.ok()) << root.status();
  Findings findings("job.yaml");
  {
    Section section(&*root, "", findings);
    read(section);
  }
  return std::string(findings.status().message());
}

TEST(SectionTest, EachKindOfValueIsRead) {
  const std::string text =
      "text: abc\nflag: true\nwhole: 10k\nbytes: 64MiB\ntime: 5m\nnumber: -0.5\n"
      "texts: [a, b]\nwholes: [1, 2k]\nnumbers: [1, -2.5]\n";
  EXPECT_EQ(Mistakes(text,
                     [](Section& in) {
                       EXPECT_EQ(in.Text("text"), "abc");
                       EXPECT_TRUE(in.Flag("flag", false));
                       EXPECT_EQ(in.Whole("whole", {}, 1), 10000u);
                       EXPECT_EQ(in.Bytes("bytes", {}, 1), uint64_t{64} << 20);
                       EXPECT_EQ(in.Seconds("time", {}, 1), 300);
                       EXPECT_EQ(in.Number("number", {.min = -1}, 1), -0.5);
                       EXPECT_THAT(in.Texts("texts"), ElementsAre("a", "b"));
                       EXPECT_THAT(in.Wholes("wholes", {}), ElementsAre(1, 2000));
                       EXPECT_THAT(in.Numbers("numbers"), ElementsAre(1, -2.5));
                     }),
            "");
}

TEST(SectionTest, AKeyThatIsAbsentHasTheFallback) {
  EXPECT_EQ(Mistakes("other: 1\n",
                     [](Section& in) {
                       EXPECT_FALSE(in.Has("whole"));
                       EXPECT_TRUE(in.Has("other"));
                       EXPECT_EQ(in.Text("text", "fallback"), "fallback");
                       EXPECT_TRUE(in.Flag("flag", true));
                       EXPECT_EQ(in.Whole("whole", {.min = 5}, 1), 1u)
                           << "that may be out of range";
                       EXPECT_THAT(in.Texts("texts"), IsEmpty());
                       in.Whole("other", {}, 0);
                     }),
            "");
}

TEST(SectionTest, AValueOutOfItsRangeIsRefusedWithTheRangeAndHasTheFallback) {
  EXPECT_EQ(
      Mistakes("whole: 65\n",
               [](Section& in) { EXPECT_EQ(in.Whole("whole", {.min = 1, .max = 64}, 7), 7u); }),
      "job.yaml:1: whole: \"65\" is not a whole number such as 5000, 10k or 1M, from 1 to 64");
  EXPECT_THAT(
      Mistakes("number: 0\n",
               [](Section& in) { EXPECT_EQ(in.Number("number", {.max = 2, .open = true}, 1), 1); }),
      HasSubstr("above 0 and at most 2"));
  EXPECT_THAT(Mistakes("time: 1ms\n", [](Section& in) { in.Seconds("time", {.min = 0.2}, 1); }),
              HasSubstr("in seconds at least 0.2"));
  EXPECT_THAT(Mistakes("bytes: 1KiB\n", [](Section& in) { in.Bytes("bytes", {.min = 4096}, 0); }),
              HasSubstr("at least 4.0KiB"));
}

TEST(SectionTest, BothEndsOfARangeAreWithinIt) {
  for (const char* text : {"whole: 1\n", "whole: 64\n"}) {
    EXPECT_EQ(Mistakes(text, [](Section& in) { in.Whole("whole", {.min = 1, .max = 64}, 7); }), "");
  }
  for (const char* text : {"number: 0\n", "number: 2\n"}) {
    EXPECT_EQ(Mistakes(text, [](Section& in) { in.Number("number", {.max = 2}, 1); }), "");
  }
}

TEST(SectionTest, ANumberInQuotesIsText) {
  EXPECT_THAT(Mistakes("whole: \"5\"\n", [](Section& in) { in.Whole("whole", {}, 0); }),
              HasSubstr("(in quotes, hence text)"));
  EXPECT_NE(Mistakes("flag: \"true\"\n", [](Section& in) { in.Flag("flag", false); }), "");
}

TEST(SectionTest, WhatHasAUnitMayStandInQuotes) {
  EXPECT_EQ(Mistakes("time: \"200ms\"\nbytes: '64MiB'\nwhole: \"10k\"\nwholes: [\"2k\", 3]\n",
                     [](Section& in) {
                       EXPECT_EQ(in.Seconds("time", {}, 1), 0.2);
                       EXPECT_EQ(in.Bytes("bytes", {}, 1), uint64_t{64} << 20);
                       EXPECT_EQ(in.Whole("whole", {}, 1), 10000u);
                       EXPECT_THAT(in.Wholes("wholes", {}), ElementsAre(2000, 3));
                     }),
            "");
  EXPECT_EQ(Mistakes("time: \"soon\"\n", [](Section& in) { in.Seconds("time", {}, 1); }),
            "job.yaml:1: time: \"soon\" is not a time such as 250ms, 10s or 5m, in seconds at "
            "least 0");
  for (const char* text : {"time: \"0\"\n", "time: \"5\"\n"}) {
    EXPECT_THAT(Mistakes(text, [](Section& in) { in.Seconds("time", {}, 1); }),
                HasSubstr("(in quotes, hence text) is not a time"));
  }
  EXPECT_THAT(Mistakes("bytes: \"1024\"\n", [](Section& in) { in.Bytes("bytes", {}, 1); }),
              HasSubstr("(in quotes, hence text) is not a size"));
}

TEST(SectionTest, AChoiceIsOneOfItsNames) {
  constexpr Choice<int> kChoices[] = {{"async", 1}, {"ssp", 2}, {"sync", 3}};
  EXPECT_EQ(Mistakes("policy: ssp\n",
                     [&](Section& in) { EXPECT_EQ(in.OneOf<int>("policy", kChoices, 1), 2); }),
            "");
  EXPECT_EQ(Mistakes("policy: asyn\n",
                     [&](Section& in) { EXPECT_EQ(in.OneOf<int>("policy", kChoices, 3), 3); }),
            "job.yaml:1: policy: \"asyn\" is not one of async, ssp, sync; did you mean async?");
}

TEST(SectionTest, AKeyThatNobodyAskedForIsRefusedWhenTheSectionEnds) {
  EXPECT_EQ(Mistakes("epochs: 1\nepoch: 2\n", [](Section& in) { in.Whole("epochs", {}, 1); }),
            "job.yaml:2: epoch: unknown key; did you mean epochs?");
  EXPECT_EQ(Mistakes("zzzzz: 2\n",
                     [](Section& in) {
                       in.Has("job");  // To look is not to ask.
                       in.Text("name");
                     }),
            "job.yaml:1: zzzzz: unknown key; expected one of name");
}

TEST(SectionTest, AMapWithinIsASectionWithItsPath) {
  EXPECT_EQ(Mistakes("train:\n  epochs: many\n",
                     [](Section& in) {
                       Section train = in.Map("train");
                       EXPECT_EQ(train.PathOf("epochs"), "train.epochs");
                       train.Whole("epochs", {.min = 1}, 1);
                     }),
            "job.yaml:2: train.epochs: \"many\" is not a whole number such as 5000, 10k or 1M, "
            "at least 1");
  EXPECT_THAT(Mistakes("train: 5\n", [](Section& in) { in.Map("train"); }),
              HasSubstr("train: \"5\" is not a map of keys"));
}

TEST(SectionTest, NamesOfAMapAreReadInOrderAndTwiceIsOnce) {
  std::vector<std::string> names;
  const std::string mistakes = Mistakes("b: 1\na: 2\nb: 3\n", [&names](Section& in) {
    names = in.Names();
    for (const std::string& name : names) in.Whole(name, {}, 0);
  });
  EXPECT_THAT(names, ElementsAre("b", "a"));
  EXPECT_EQ(mistakes, "job.yaml:3: b: is given twice");
}

TEST(SectionTest, ItemsOfAListAreMapsOrScalars) {
  std::vector<std::string> read;
  const auto read_all = [&read](Section& in) {
    in.ForEach(
        "towers", [&read](Section& item) { read.push_back(item.Text("kind")); },
        [&read](const YamlNode& scalar) { read.push_back(scalar.text + "!"); });
  };
  EXPECT_EQ(Mistakes("towers: [{kind: fm}, mlp]\n", read_all), "");
  EXPECT_EQ(Mistakes("towers: {kind: one}\n", read_all), "") << "a map is a list of one";
  EXPECT_THAT(read, ElementsAre("fm", "mlp!", "one"));
  EXPECT_THAT(
      Mistakes("towers: [fm]\n", [](Section& in) { in.ForEach("towers", [](Section&) {}); }),
      HasSubstr("is not a map of keys"));
  EXPECT_THAT(
      Mistakes("towers: [{kin: fm}]\n",
               [](Section& in) { in.ForEach("towers", [](Section& item) { item.Text("kind"); }); }),
      HasSubstr("towers[0].kin: unknown key; did you mean kind?"));
}

TEST(SectionTest, AListIsOfScalarsOnly) {
  EXPECT_THAT(Mistakes("texts: [a, {b: c}]\n",
                       [](Section& in) { EXPECT_THAT(in.Texts("texts"), ElementsAre("a")); }),
              HasSubstr("texts: a map is not a text"));
  EXPECT_THAT(Mistakes("texts: {b: c}\n", [](Section& in) { in.Texts("texts"); }),
              HasSubstr("is not a list; each item is a text"));
}

}  // namespace
}  // namespace capstan
