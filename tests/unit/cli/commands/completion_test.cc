#include "cli/commands/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/local/process.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// `check` is a command, and also one of `config`.
class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    app_.add_option("--tls", text_, "Folder");
    CLI::App* check = app_.add_subcommand("check", "Ask a job");
    check->add_option("--chief", text_, "The job's chief, such as 'a\\b'");
    CLI::App* config = app_.add_subcommand("config", "Look at files");
    CLI::App* of_file = config->add_subcommand("check", "Check a file");
    of_file->add_option("--shards", text_, "Shards");
  }

  // What bash offers for the last of these words.
  std::string OfferedByBash(const std::string& words) {
    folder_.Write("script", BashCompletion(app_));
    const std::string log = folder_.Path("offered");
    absl::StatusOr<Process> bash = Process::Start(
        {.argv = {"/bin/bash", "-c",
                  absl::StrCat("source ", folder_.Path("script"), "; COMP_WORDS=(", words,
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _capstan; "
                               "echo ${COMPREPLY[@]} > ",
                               log)},
         .log_path = folder_.Path("log")});
    EXPECT_TRUE(bash.ok()) << bash.status();
    EXPECT_TRUE(bash->WaitFor(absl::Seconds(30)).has_value());
    std::ifstream file(log);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TestFolder folder_;
  CLI::App app_{"Capstan", "capstan"};
  std::string text_;
};

TEST_F(CompletionTest, BashOffersWhatMayFollowThePlaceThatTheWordsLeadTo) {
  EXPECT_EQ(OfferedByBash("capstan c"), "check config\n");
  EXPECT_EQ(OfferedByBash("capstan config c"), "check\n");
  EXPECT_EQ(OfferedByBash("capstan check --c"), "--chief\n");
  EXPECT_EQ(OfferedByBash("capstan config check --"), "--help --shards\n");
  EXPECT_EQ(OfferedByBash("capstan config check job.yaml --s"), "--shards\n");
  EXPECT_EQ(OfferedByBash("capstan nothing x"), "\n");
}

TEST_F(CompletionTest, FishTellsACommandFromThatOfAnotherPlace) {
  const std::string script = FishCompletion(app_);
  EXPECT_THAT(script, HasSubstr("complete -c capstan -n \"__capstan_at '/check'\" -l chief"));
  EXPECT_THAT(script,
              HasSubstr("complete -c capstan -n \"__capstan_at '/config/check'\" -l shards"));
  EXPECT_THAT(script, HasSubstr("complete -c capstan -n \"__capstan_at ''\" -a config"));
  EXPECT_THAT(script, HasSubstr("case /check /config /config/check\n"));
  EXPECT_THAT(script, Not(HasSubstr("__fish_seen_subcommand_from")))
      << "which is true of `config check`, too";
}

TEST_F(CompletionTest, FishIsGivenDescriptionsAsTheyAre) {
  EXPECT_THAT(FishCompletion(app_), HasSubstr(R"(-d 'The job\'s chief, such as \'a\\b\'')"));
}

TEST_F(CompletionTest, ZshHasTheWordsOfEachPlace) {
  const std::string script = ZshCompletion(app_);
  EXPECT_THAT(script, HasSubstr("#compdef capstan\n"));
  EXPECT_THAT(script, HasSubstr("/check|/config|/config/check) at="));
  EXPECT_THAT(script, HasSubstr("'/config/check') found='--help --shards' ;;"));
  EXPECT_THAT(script, HasSubstr("'') found='check config --help --tls' ;;"));
}

}  // namespace
}  // namespace capstan::cli
