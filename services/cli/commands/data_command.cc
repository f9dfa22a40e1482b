#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/data/synthetic/click_log.h"
#include "cli/commands/command.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr uint64_t kMostRows = uint64_t{1} << 39;  // The same limit as data.synthetic has.

struct GenerateOptions {
  std::string folder;
  uint64_t rows = 1'000'000;
  uint64_t eval_rows = 100'000;
  uint64_t seed = kClickLogSeed;
  bool force = false;
};

// Returns what is wrong about a seed, or nothing. CLI11 takes -1 for 2^64 - 1, and what is too
// large for the largest number.
std::string WrongSeed(const std::string& text) {
  uint64_t seed = 0;
  return absl::SimpleAtoi(text, &seed) ? "" : "a seed is a whole number from 0 to 2^64 - 1";
}

struct Split {
  std::string path;
  uint64_t first_row;
  uint64_t rows;
};

std::vector<Split> SplitsOf(const GenerateOptions& options) {
  std::vector<Split> splits = {{options.folder + "/train.csv", 0, options.rows}};
  if (options.eval_rows > 0) {
    splits.push_back({options.folder + "/test.csv", kClickLogEvalBase, options.eval_rows});
  }
  return splits;
}

// Returns the first output file that exists already, as it may be somebody's only copy; empty: none
// does.
std::string InTheWay(const std::vector<Split>& splits) {
  for (const Split& split : splits) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(split.path, error))) {
      return split.path;
    }
  }
  return "";
}

absl::Status WriteSplit(const ClickLog& log, const Split& split) {
  const absl::StatusOr<Oracle> oracle = WriteClickLog(log, split.first_row, split.rows, split.path);
  if (!oracle.ok()) return oracle.status();
  PrintLine(absl::StrFormat("%s  %s rows, %.2f %% clicks; best possible AUC %.4f, logloss %.4f",
                            split.path, Grouped(oracle->rows), 100 * oracle->click_rate,
                            oracle->auc, oracle->logloss));
  return absl::OkStatus();
}

ExitCode Generate(const GenerateOptions& options) {
  const std::vector<Split> splits = SplitsOf(options);
  if (const std::string there = InTheWay(splits); !options.force && !there.empty()) {
    PrintError(absl::StrCat(there, ": is there already; --force overwrites it"));
    return kBadInput;
  }
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) {
    PrintError(absl::StrCat(options.folder, ": ", error.message()));
    return kBadInput;
  }
  v1::SyntheticSpec spec;
  spec.set_seed(options.seed);
  const ClickLog log(spec);
  for (const Split& split : splits) {
    if (const absl::Status status = WriteSplit(log, split); !status.ok()) {
      PrintError(std::string(status.message()));
      return kFailed;
    }
  }
  return kDone;
}

}  // namespace

void AddData(CLI::App& app, Invocation& invocation) {
  CLI::App* data = app.add_subcommand("data", "Make data");
  data->require_subcommand(1);
  data->footer("Example:\n  capstan data generate data/clicks --rows 200000");
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* generate = data->add_subcommand(
      "generate", "Write a click log with a known truth: train.csv and test.csv");
  generate->add_option("folder", options->folder, "Where to")->required()->type_name("FOLDER");
  generate->add_option("--rows", options->rows, "Rows of train.csv")
      ->check(CLI::Range(uint64_t{1}, kMostRows))
      ->capture_default_str();
  generate->add_option("--eval-rows", options->eval_rows, "Rows of test.csv; 0: none")
      ->check(CLI::Range(uint64_t{0}, kMostRows))
      ->capture_default_str();
  generate->add_option("--seed", options->seed, "The same seed gives the same bytes")
      ->check(WrongSeed)
      ->capture_default_str();
  generate->add_flag("--force", options->force, "Overwrite files that are there");
  generate->footer("Example:\n  capstan data generate data/clicks --rows 200000 --eval-rows 50000");
  generate->callback(
      [options, &invocation] { invocation.run = [options] { return Generate(*options); }; });
}

}  // namespace capstan::cli
