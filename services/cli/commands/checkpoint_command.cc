// capstan checkpoint: looks after checkpoints, without a cluster.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/checkpoint/compact.h"
#include "cli/commands/command.h"
#include "cli/model/checkpoint_text.h"
#include "cli/model/exported_model.h"
#include "cli/model/model_diff.h"
#include "cli/model/stored_job.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

struct CheckpointOptions {
  std::string uri;
  std::string other;  // diff: the second one; export: the folder.
  bool slots = false;
  bool python = false;
  bool onnx = false;
  size_t keep = 3;
  std::vector<std::string> exempt;
  bool yes = false;
  std::string id;
};

constexpr char kOne[] = "Folder of a checkpoint, or of a job (a path, file:// or s3://)";
constexpr char kAll[] =
    "Folder of a job, or of its checkpoints: <checkpoint.uri>/<job>/checkpoints";

using CheckpointAction = absl::Status (*)(const CheckpointOptions&);

absl::StatusOr<CheckpointReader> OpenCheckpoint(const std::string& uri) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string model, FindModel(uri));
  return CheckpointReader::Open(model);
}

void Print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) PrintLine(line);
}

// The folder of a job's checkpoints.
struct OpenFolder {
  std::string uri;
  std::unique_ptr<ObjectStore> store;
  CheckpointFolder content;
};

// Returns the checkpoints in the folder at `uri`, or, if that is a job's folder, in the one that
// the job has them in. An error: there are none.
absl::StatusOr<OpenFolder> ReadFolder(const std::string& uri) {
  OpenFolder folder{.uri = uri};
  CAPSTAN_ASSIGN_OR_RETURN(folder.store, OpenObjectStore(folder.uri));
  CAPSTAN_ASSIGN_OR_RETURN(folder.content, ReadCheckpointFolder(*folder.store));
  if (folder.content.checkpoints.empty() && HoldsCheckpointsFolder(folder.content)) {
    folder.uri = CheckpointsOf(uri);
    CAPSTAN_ASSIGN_OR_RETURN(folder.store, OpenObjectStore(folder.uri));
    CAPSTAN_ASSIGN_OR_RETURN(folder.content, ReadCheckpointFolder(*folder.store));
  }
  if (folder.content.checkpoints.empty()) return NoCheckpoints(folder.uri, folder.content.foreign);
  return folder;
}

absl::Status List(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const OpenFolder folder, ReadFolder(options.uri));
  Print(ListText(folder.content.checkpoints, absl::Now()));
  Print(ForeignText(folder.content));
  return absl::OkStatus();
}

absl::Status Show(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, OpenCheckpoint(options.uri));
  Print(ShowText(reader, absl::Now()));
  return absl::OkStatus();
}

// Whoever names a folder of several checkpoints wants to know of all of them. DATA_LOSS: another
// one than `model`, which was read, is damaged, as far as its manifest and the sizes of its files
// tell.
absl::Status CheckOthers(const std::string& uri, const std::string& model) {
  if (model == uri) return absl::OkStatus();
  const size_t slash = model.rfind('/');
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store,
                           OpenObjectStore(model.substr(0, slash)));
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointFolder folder, ReadCheckpointFolder(*store));
  const std::vector<std::string> damaged = DamagedText(folder, model.substr(slash + 1));
  if (damaged.empty()) return absl::OkStatus();
  for (const std::string& line : damaged) PrintError(line);
  return absl::DataLossError(absl::StrCat(uri, ": ", model, " is whole, ", damaged.size(),
                                          " beside it ", damaged.size() == 1 ? "is" : "are",
                                          " damaged"));
}

absl::Status Verify(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string model, FindModel(options.uri));
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(model));
  const v1::JobSpec& job = reader.manifest().job();
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  const absl::Time begin = absl::Now();
  uint64_t bytes = 0;
  uint64_t rows = 0;
  std::vector<std::string> bad;
  for (uint32_t i = 0; i < job.partition_count(); ++i) {
    const auto partition = static_cast<PartitionIndex>(i);
    const absl::StatusOr<DecodedPartition> decoded = reader.Read(partition, job, layout);
    if (!decoded.ok()) {
      bad.push_back(std::string(decoded.status().message()));
      continue;
    }
    bytes += reader.bytes_of(partition);
    rows += decoded->store->row_count();
  }
  for (const std::string& line : PartitionsText(bad)) PrintError(line);
  if (!bad.empty()) {
    return absl::DataLossError(absl::StrCat(options.uri, ": ", bad.size(), " of ",
                                            job.partition_count(), " partitions are damaged"));
  }
  PrintLine(absl::StrCat("whole: ", job.partition_count(), " partitions, ", Grouped(rows),
                         " rows, ", Bytes(static_cast<double>(bytes)), " read in ",
                         ShortDuration(absl::Now() - begin)));
  return CheckOthers(options.uri, model);
}

absl::Status Diff(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader first, OpenCheckpoint(options.uri));
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader second, OpenCheckpoint(options.other));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<PartDiff> diffs, DiffCheckpoints(first, second));
  Print(DiffText(diffs));
  return absl::OkStatus();
}

absl::Status Export(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string model, FindModel(options.uri));
  CAPSTAN_ASSIGN_OR_RETURN(const Exported exported, ExportModel({.checkpoint = model,
                                                                 .output = options.other,
                                                                 .slots = options.slots,
                                                                 .python = options.python,
                                                                 .onnx = options.onnx}));
  PrintLine(absl::StrCat(Grouped(exported.rows), " rows, ",
                         Bytes(static_cast<double>(exported.bytes)), " in ", options.other, "/",
                         kParametersFile));
  return absl::OkStatus();
}

absl::Status Delete(ObjectStore& store, const CheckpointFolder& folder, const std::string& id) {
  const auto listed = std::find_if(folder.checkpoints.begin(), folder.checkpoints.end(),
                                   [&id](const auto& checkpoint) { return checkpoint.id == id; });
  if (absl::IsNotFound(listed->status)) return DeleteUnfinished(store, id);
  return DeleteCheckpoint(store, id);
}

// Returns the checkpoint that a user means by `id`, which may lack the zeros before the step.
absl::StatusOr<std::string> Named(const CheckpointFolder& folder, const std::string& id) {
  std::vector<std::string> listed;
  for (const ListedCheckpoint& checkpoint : folder.checkpoints) {
    const size_t zeros = std::min(checkpoint.id.find_first_not_of('0'), checkpoint.id.size());
    if (checkpoint.id == id || checkpoint.id.substr(zeros) == id) return checkpoint.id;
    listed.push_back(checkpoint.id);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--exempt ", id, ": there is no such checkpoint; there are ", absl::StrJoin(listed, ", ")));
}

absl::Status Prune(const CheckpointOptions& options) {
  if (options.keep == 0) return absl::InvalidArgumentError("--keep: at least 1");
  CAPSTAN_ASSIGN_OR_RETURN(const OpenFolder opened, ReadFolder(options.uri));
  const CheckpointFolder& folder = opened.content;
  CAPSTAN_ASSIGN_OR_RETURN(const std::optional<std::set<std::string>> in_use,
                           CheckpointsInUse(opened.uri));
  if (!in_use) PrintLine(NoStateText(opened.uri));
  std::set<std::string> stay = in_use.value_or(std::set<std::string>());
  for (const std::string& id : options.exempt) {
    CAPSTAN_ASSIGN_OR_RETURN(std::string named, Named(folder, id));
    stay.insert(std::move(named));
  }
  const std::vector<std::string> ids = CheckpointsToPrune(folder.checkpoints, options.keep, stay);
  Print(PruneText(folder, opened.uri, ids));
  if (ids.empty()) return absl::OkStatus();
  if (!options.yes) {
    PrintLine("(--yes deletes them)");
    return absl::OkStatus();
  }
  for (const std::string& id : ids) {
    CAPSTAN_RETURN_IF_ERROR(Delete(*opened.store, folder, id));
    PrintLine(absl::StrCat("deleted ", id));
  }
  return absl::OkStatus();
}

absl::Status Compact(const CheckpointOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string uri, FindModel(options.uri));
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri));
  const std::string id =
      options.id.empty() ? absl::StrCat(reader.manifest().id(), "-full") : options.id;
  CAPSTAN_ASSIGN_OR_RETURN(const v1::Manifest manifest, CompactCheckpoint(uri, id));
  PrintLine(CheckpointBeside(uri, manifest.id()));
  return absl::OkStatus();
}

// A subcommand of `checkpoint`, with its options. Add() adds one that works on a folder, which its
// help calls `what`.
struct Verb {
  CLI::App* app;
  std::shared_ptr<CheckpointOptions> options;
};
Verb Add(CLI::App& parent, Invocation& invocation, CheckpointAction action, const char* name,
         const char* help, const char* what) {
  Verb verb{parent.add_subcommand(name, help), std::make_shared<CheckpointOptions>()};
  verb.app->footer(absl::StrCat("Example:\n  capstan checkpoint ", name, " out/ctr",
                                what == kAll ? "/checkpoints" : "/checkpoints/976-1"));
  verb.app->add_option("uri", verb.options->uri, what)->required()->type_name("FOLDER");
  verb.app->callback([options = verb.options, action, &invocation] {
    invocation.run = [options, action] { return ReportEnd(action(*options)); };
  });
  return verb;
}

}  // namespace

void AddCheckpoint(CLI::App& app, Invocation& invocation) {
  CLI::App& checkpoint =
      *app.add_subcommand("checkpoint", "List, check, compare, export and prune checkpoints");
  checkpoint.require_subcommand(1);
  checkpoint.footer("Example:\n  capstan checkpoint list out/ctr/checkpoints");
  Add(checkpoint, invocation, List, "list", "List a job's checkpoints", kAll);
  Add(checkpoint, invocation, Show, "show", "Tell what a checkpoint holds", kOne);
  Add(checkpoint, invocation, Verify, "verify", "Read every byte and check it", kOne);
  Verb diff = Add(checkpoint, invocation, Diff, "diff",
                  "Compare the parameters of two checkpoints of a job", kOne);
  diff.app->footer(
      "Example:\n  capstan checkpoint diff out/ctr/checkpoints/976-1 out/ctr/checkpoints/1952-1");
  diff.app->add_option("other", diff.options->other, "Folder of the second one")
      ->required()
      ->type_name("FOLDER");
  Verb exporting = Add(checkpoint, invocation, Export, "export",
                       "Write a checkpoint as model.safetensors and job.json", kOne);
  exporting.app->add_option("folder", exporting.options->other, "Where to")
      ->required()
      ->type_name("FOLDER");
  exporting.app->add_flag("--slots", exporting.options->slots, "The optimizers' state as well");
  exporting.app->add_flag("--python", exporting.options->python,
                          "score.py as well, which computes scores with NumPy alone");
  exporting.app->add_flag("--onnx", exporting.options->onnx,
                          "model.onnx as well: the graph that computes scores from rows of keys");
  exporting.app->footer(
      "Example:\n  capstan checkpoint export s3://ads/ctr/checkpoints/976-1 model\n\n"
      "`capstan predict` and `capstan evaluate` read the folder; so does anything that knows\n"
      "safetensors. `python3 model/score.py test.csv` writes the scores that predict writes.");
  Verb prune = Add(checkpoint, invocation, Prune, "prune",
                   "Delete old checkpoints and what unfinished ones have left", kAll);
  prune.app->add_option("--keep", prune.options->keep, "The newest, and what they need")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  prune.app->add_option("--exempt", prune.options->exempt, "Others that stay")->type_name("ID");
  prune.app->add_flag("--yes", prune.options->yes, "Do it; default: say what would be done");
  prune.app->footer(
      "Example:\n  capstan checkpoint prune out/ctr/checkpoints --keep 2 --yes\n\n"
      "Says what it would delete before it deletes anything. What is not named and filled as a\n"
      "checkpoint is left alone, and so is what the job's state names: its newest checkpoint, its\n"
      "best, and the model that it has ended with. A folder without a job's state beside it, as\n"
      "of checkpoints that were copied, is said to have none. Of a job that runs, the attempt\n"
      "under way comes to nothing.");
  Verb compact = Add(checkpoint, invocation, Compact, "compact",
                     "Write a chain of deltas anew as one full checkpoint beside it", kOne);
  compact.app->add_option("--id", compact.options->id, "Its name; default: <id>-full")
      ->type_name("ID");
}

}  // namespace capstan::cli
