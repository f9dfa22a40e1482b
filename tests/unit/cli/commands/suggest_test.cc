#include "cli/commands/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace capstan::cli {
namespace {

using testing::HasSubstr;

// capstan [--tls FOLDER] train [--plain] [--workers N] JOB | config check|keys
class SuggestTest : public testing::Test {
 protected:
  SuggestTest() {
    app_.add_option("--tls", tls_, "Certificates");
    CLI::App* train = app_.add_subcommand("train", "Train");
    train->add_flag("--plain", plain_, "No screen");
    train->add_option("--workers", workers_, "Workers");
    train->add_option("--set", set_, "Settings")->allow_extra_args(false);
    train->add_option("job", job_, "The job")->required();
    CLI::App* config = app_.add_subcommand("config", "Files");
    config->add_flag("--quiet", plain_, "Say less");
    config->add_subcommand("check", "Check a file");
    config->add_subcommand("keys", "List keys");
  }

  std::string Suggested(const std::vector<std::string>& words) const {
    return Suggestion(app_, words);
  }

  CLI::App app_{"Capstan", "capstan"};
  std::string tls_, job_;
  std::vector<std::string> set_;
  bool plain_ = false;
  int workers_ = 0;
};

TEST_F(SuggestTest, NamesTheNearestCommandOfThePlace) {
  EXPECT_EQ(Suggested({"trian"}), "unknown command trian; did you mean train?");
  EXPECT_EQ(Suggested({"config", "chek"}), "unknown command chek; did you mean check?");
  EXPECT_EQ(Suggested({"config", "train"}), "unknown command train; expected one of check, keys");
}

TEST_F(SuggestTest, NamesTheNearestOptionAlsoOfTheCommandsBefore) {
  EXPECT_EQ(Suggested({"train", "--plan"}), "unknown option --plan; did you mean --plain?");
  EXPECT_EQ(Suggested({"train", "--worker=3"}), "unknown option --worker; did you mean --workers?");
  EXPECT_EQ(Suggested({"train", "job.yaml", "--tsl", "x"}),
            "unknown option --tsl; did you mean --tls?");
  EXPECT_THAT(Suggested({"--workers", "3"}),
              HasSubstr("unknown option --workers; expected one of"));
}

TEST_F(SuggestTest, IsEmptyWhereEveryWordIsOneOrAValue) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"train"},
                                             {"train", "trian"},
                                             {"train", "job.yaml", "--workers", "none"},
                                             {"train", "--workers=none"},
                                             {"train", "-x"},
                                             {"config", "check"}}) {
    EXPECT_EQ(Suggested(words), "") << testing::PrintToString(words);
  }
}

TEST_F(SuggestTest, TheWordBehindAnOptionThatTakesOneIsItsValueWhateverItLooksLike) {
  EXPECT_EQ(Suggested({"--tls", "config", "train", "--workers", "x"}), "")
      << "config is a folder here";
  EXPECT_EQ(Suggested({"--tls", "trian", "train"}), "");
  EXPECT_EQ(Suggested({"train", "--set", "--odd", "job.yaml"}), "");
  EXPECT_EQ(Suggested({"--tls=here", "trian"}), "unknown command trian; did you mean train?");
}

TEST_F(SuggestTest, AFlagTakesNoWord) {
  EXPECT_EQ(Suggested({"config", "--quiet", "chek"}), "unknown command chek; did you mean check?");
}

TEST_F(SuggestTest, WordsBehindTwoDashesAreNeitherOptionsNorCommands) {
  EXPECT_EQ(Suggested({"train", "--", "--plan"}), "");
  EXPECT_EQ(Suggested({"--", "trian"}), "");
}

}  // namespace
}  // namespace capstan::cli
