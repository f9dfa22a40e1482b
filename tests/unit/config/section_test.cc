#include "capstan/config/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr KeyChoice kModes[] = {{"async", 1}, {"ssp", 2}, {"sync", 3}};

constexpr DeclaredKey kKeysToRead[] = {
    {.key = "text", .values = TextKey{}},
    {.key = "word", .values = TextKey{.by_default = "hello"}},
    {.key = "flag", .values = FlagKey{}},
    {.key = "shuffle", .values = FlagKey{.by_default = true}},
    {.key = "count", .values = WholeKey{.by_default = 1}},
    {.key = "threads", .values = WholeKey{.in = {.min = 1, .max = 64}, .by_default = 7}},
    {.key = "limit", .values = WholeKey{.in = {.min = 5}}},
    {.key = "size", .values = BytesKey{.min = 4096}},
    {.key = "pause", .values = SecondsKey{.by_default = 1}},
    {.key = "lease", .values = SecondsKey{.in = {.min = 0.2}, .by_default = 1}},
    {.key = "offset", .values = NumberKey{.in = {.min = -1}, .by_default = 1}},
    {.key = "share", .values = NumberKey{.in = {.max = 2}, .by_default = 1}},
    {.key = "rate", .values = NumberKey{.in = {.max = 2, .open = true}, .by_default = 1}},
    {.key = "texts", .values = TextsKey{}},
    {.key = "wholes", .values = WholesKey{}},
    {.key = "numbers", .values = NumbersKey{}},
    {.key = "mode", .values = ChoiceKey{.among = kModes, .by_default = "sync"}},
    {.key = "loss", .values = ChoiceKey{.among = kModes}},
    {.key = "train.epochs", .values = WholeKey{.in = {.min = 1}, .by_default = 1}},
    {.key = "towers[].kind", .values = TextKey{}},
    {.key = "<name>", .values = WholeKey{.by_default = 0}},
    {.key = "momentum", .values = OptimizerKey{}},
};

const DeclaredKey* FindKeyToRead(absl::string_view key) {
  for (const DeclaredKey& declared : kKeysToRead) {
    if (declared.key == key) return &declared;
  }
  return nullptr;
}

// Reads a text as a section, and returns what was found wrong with it; empty: nothing.
std::string Mistakes(const std::string& text, absl::FunctionRef<void(Section&)> read) {
  const absl::StatusOr<YamlNode> root = ParseYaml(text, "job.yaml");
  EXPECT_TRUE(root.ok()) << root.status();
  Findings findings("job.yaml");
  {
    Section section(&*root, findings, FindKeyToRead);
    read(section);
  }
  return std::string(findings.status().message());
}

TEST(SectionTest, EachKindOfValueIsRead) {
  const std::string text =
      "text: abc\nflag: true\ncount: 10k\nsize: 64MiB\npause: 5m\noffset: -0.5\n"
      "texts: [a, b]\nwholes: [1, 2k]\nnumbers: [1, -2.5]\n";
  EXPECT_EQ(Mistakes(text,
                     [](Section& in) {
                       EXPECT_EQ(in.Text("text"), "abc");
                       EXPECT_TRUE(in.Flag("flag"));
                       EXPECT_EQ(in.Whole("count"), 10000u);
                       EXPECT_EQ(in.Bytes("size"), uint64_t{64} << 20);
                       EXPECT_EQ(in.Seconds("pause"), 300);
                       EXPECT_EQ(in.Number("offset"), -0.5);
                       EXPECT_THAT(in.Texts("texts"), ElementsAre("a", "b"));
                       EXPECT_THAT(in.Wholes("wholes"), ElementsAre(1, 2000));
                       EXPECT_THAT(in.Numbers("numbers"), ElementsAre(1, -2.5));
                     }),
            "");
}

TEST(SectionTest, AKeyThatIsAbsentHasTheDeclaredDefault) {
  EXPECT_EQ(Mistakes("count: 2\n",
                     [](Section& in) {
                       EXPECT_FALSE(in.Has("threads"));
                       EXPECT_TRUE(in.Has("count"));
                       EXPECT_EQ(in.Text("word"), "hello");
                       EXPECT_TRUE(in.Flag("shuffle"));
                       EXPECT_EQ(in.Whole("threads"), 7u);
                       EXPECT_EQ(in.Whole("limit"), 0u) << "it is off";
                       EXPECT_EQ(in.Bytes("size"), 0u);
                       EXPECT_THAT(in.Texts("texts"), IsEmpty());
                       in.Whole("count");
                     }),
            "");
}

TEST(SectionTest, ADefaultThatDependsOnOtherKeysIsToldByTheReader) {
  EXPECT_EQ(Mistakes("{}\n",
                     [](Section& in) {
                       EXPECT_EQ(in.Text("text", "of others"), "of others");
                       EXPECT_EQ(in.Whole("limit", 2), 2u) << "that may be out of range";
                     }),
            "");
  EXPECT_EQ(Mistakes("text: own\nlimit: 9\n",
                     [](Section& in) {
                       EXPECT_EQ(in.Text("text", "of others"), "own");
                       EXPECT_EQ(in.Whole("limit", 2), 9u);
                     }),
            "");
}

TEST(SectionTest, AValueOutOfItsRangeIsRefusedWithTheRangeAndHasTheDefault) {
  EXPECT_EQ(
      Mistakes("threads: 65\n", [](Section& in) { EXPECT_EQ(in.Whole("threads"), 7u); }),
      "job.yaml:1: threads: \"65\" is not a whole number such as 5000, 10k or 1M, from 1 to 64");
  EXPECT_THAT(Mistakes("rate: 0\n", [](Section& in) { EXPECT_EQ(in.Number("rate"), 1); }),
              HasSubstr("above 0 and at most 2"));
  EXPECT_THAT(Mistakes("lease: 1ms\n", [](Section& in) { EXPECT_EQ(in.Seconds("lease"), 1); }),
              HasSubstr("in seconds at least 0.2"));
  EXPECT_THAT(Mistakes("size: 1KiB\n", [](Section& in) { EXPECT_EQ(in.Bytes("size"), 0u); }),
              HasSubstr("at least 4.0KiB"));
}

TEST(SectionTest, BothEndsOfARangeAreWithinIt) {
  for (const char* text : {"threads: 1\n", "threads: 64\n"}) {
    EXPECT_EQ(Mistakes(text, [](Section& in) { in.Whole("threads"); }), "");
  }
  for (const char* text : {"share: 0\n", "share: 2\n"}) {
    EXPECT_EQ(Mistakes(text, [](Section& in) { in.Number("share"); }), "");
  }
}

TEST(SectionTest, ANumberInQuotesIsText) {
  EXPECT_THAT(Mistakes("count: \"5\"\n", [](Section& in) { in.Whole("count"); }),
              HasSubstr("(in quotes, hence text)"));
  EXPECT_NE(Mistakes("flag: \"true\"\n", [](Section& in) { in.Flag("flag"); }), "");
}

TEST(SectionTest, WhatHasAUnitMayStandInQuotes) {
  EXPECT_EQ(Mistakes("pause: \"200ms\"\nsize: '64MiB'\ncount: \"10k\"\nwholes: [\"2k\", 3]\n",
                     [](Section& in) {
                       EXPECT_EQ(in.Seconds("pause"), 0.2);
                       EXPECT_EQ(in.Bytes("size"), uint64_t{64} << 20);
                       EXPECT_EQ(in.Whole("count"), 10000u);
                       EXPECT_THAT(in.Wholes("wholes"), ElementsAre(2000, 3));
                     }),
            "");
  EXPECT_EQ(Mistakes("pause: \"soon\"\n", [](Section& in) { in.Seconds("pause"); }),
            "job.yaml:1: pause: \"soon\" is not a time such as 250ms, 10s or 5m, in seconds at "
            "least 0");
  for (const char* text : {"pause: \"0\"\n", "pause: \"5\"\n"}) {
    EXPECT_THAT(Mistakes(text, [](Section& in) { in.Seconds("pause"); }),
                HasSubstr("(in quotes, hence text) is not a time"));
  }
  EXPECT_THAT(Mistakes("size: \"8192\"\n", [](Section& in) { in.Bytes("size"); }),
              HasSubstr("(in quotes, hence text) is not a size"));
}

TEST(SectionTest, AChoiceIsOneOfItsNames) {
  EXPECT_EQ(Mistakes("mode: ssp\n", [](Section& in) { EXPECT_EQ(in.OneOf<int>("mode"), 2); }), "");
  EXPECT_EQ(Mistakes("mode: asyn\n", [](Section& in) { EXPECT_EQ(in.OneOf<int>("mode"), 3); }),
            "job.yaml:1: mode: \"asyn\" is not one of async, ssp, sync; did you mean async?");
  EXPECT_EQ(Mistakes("{}\n",
                     [](Section& in) {
                       EXPECT_EQ(in.OneOf<int>("mode"), 3);
                       EXPECT_EQ(in.OneOf<int>("loss"), 0) << "there is no default";
                       EXPECT_EQ(in.Chosen("loss"), nullptr);
                     }),
            "");
}

TEST(SectionTest, ASettingOfOptimizersIsReadAsItsKindOfOptimizerDescribesIt) {
  EXPECT_EQ(Mistakes("{}\n",
                     [](Section& in) { EXPECT_EQ(in.Setting("momentum", {.max = 1}, 0.9), 0.9); }),
            "");
  EXPECT_EQ(Mistakes("momentum: 2\n",
                     [](Section& in) { EXPECT_EQ(in.Setting("momentum", {.max = 1}, 0.9), 0.9); }),
            "job.yaml:1: momentum: \"2\" is not a number, at least 0 and at most 1");
  EXPECT_EQ(
      Mistakes("nobody_has_declared_it: true\n",
               [](Section& in) { EXPECT_TRUE(in.Setting("nobody_has_declared_it", FlagKey{})); }),
      "")
      << "the optimizer may be one of the user's own";
}

TEST(SectionDeathTest, AKeyIsReadAsItIsDeclaredOrNotAtAll) {
  EXPECT_DEATH(Mistakes("{}\n", [](Section& in) { in.Number("threads"); }), "values != nullptr");
  EXPECT_DEATH(Mistakes("{}\n", [](Section& in) { in.Number("undeclared"); }),
               "declared != nullptr");
  EXPECT_DEATH(Mistakes("{}\n", [](Section& in) { in.Whole("threads", 3); }), "by_default");
  EXPECT_DEATH(Mistakes("{}\n", [](Section& in) { in.Setting("rate", {.max = 1}, 0); }),
               "OptimizerKey");
}

TEST(SectionTest, AKeyThatNobodyAskedForIsRefusedWhenTheSectionEnds) {
  EXPECT_EQ(Mistakes("threads: 1\nthread: 2\n", [](Section& in) { in.Whole("threads"); }),
            "job.yaml:2: thread: unknown key; did you mean threads?");
  EXPECT_EQ(Mistakes("zzzzz: 2\n",
                     [](Section& in) {
                       in.Has("job");  // To look is not to ask.
                       in.Text("text");
                     }),
            "job.yaml:1: zzzzz: unknown key; expected one of text");
}

TEST(SectionTest, AMapWithinIsASectionWithItsPath) {
  EXPECT_EQ(Mistakes("train:\n  epochs: many\n",
                     [](Section& in) {
                       Section train = in.Map("train");
                       EXPECT_EQ(train.PathOf("epochs"), "train.epochs");
                       train.Whole("epochs");
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
    for (const std::string& name : names) in.Whole(name);
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
