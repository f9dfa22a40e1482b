// capstan shards, capstan rebalance: show how much each shard has, and move partitions.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "cli/commands/command.h"
#include "cli/local/target.h"
#include "cli/status/chief_client.h"
#include "cli/status/moves_view.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(10);

struct ShardsOptions {
  std::string chief;
  bool plan = false;
};

void PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) PrintLine(line);
}

absl::Status ShowShards(const ShardsOptions& options, const Tls* identity) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string address, FindChief(options.chief));
  ChiefClient chief(address, identity);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::GetStatusReply status, chief.GetStatus(kDeadline));
  PrintLines(ShardShares(status));
  for (const std::string& line : {MovesUnderWay(status.moves()), MovesSoFar(status.moves())}) {
    if (!line.empty()) PrintLine(line);
  }
  return absl::OkStatus();
}

absl::Status MovePartitions(const ShardsOptions& options, const Tls* identity) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string address, FindChief(options.chief));
  ChiefClient chief(address, identity);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::RebalanceReply plan, chief.Rebalance(options.plan, kDeadline));
  PrintLines(PlanLines(plan));
  if (options.plan || plan.moves().empty()) return absl::OkStatus();
  PrintLine("begun; `capstan shards` tells how far it is");
  return absl::OkStatus();
}

void AddChief(CLI::App& command, ShardsOptions& options) {
  command
      .add_option("--chief", options.chief,
                  "The job's chief; default: $CAPSTAN_CHIEF, or the last run of this folder")
      ->type_name("HOST:PORT");
}

}  // namespace

void AddShards(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ShardsOptions>();
  CLI::App* shards =
      app.add_subcommand("shards", "Show which shard has how much, and what is on its way");
  AddChief(*shards, *options);
  shards->footer("Example:\n  capstan shards --chief ctr-chief:7000");
  shards->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      return ReportEnd(ShowShards(*options, invocation.identity));
    };
  });
}

void AddRebalance(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ShardsOptions>();
  CLI::App* rebalance = app.add_subcommand(
      "rebalance", "Move partitions between shards so that memory and load are even");
  AddChief(*rebalance, *options);
  rebalance->add_flag("--plan", options->plan, "Show what would move, and move nothing");
  rebalance->footer("Example:\n  capstan rebalance --plan --chief ctr-chief:7000");
  rebalance->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      return ReportEnd(MovePartitions(*options, invocation.identity));
    };
  });
}

}  // namespace capstan::cli
