#include "cli/model/checkpoint_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text_table.h"

namespace capstan::cli {
namespace {

std::string AgeOf(const v1::Manifest& manifest, absl::Time now) {
  if (manifest.created_unix_seconds() == 0) return "-";
  return ShortDuration(
      now - absl::FromUnixSeconds(static_cast<int64_t>(manifest.created_unix_seconds())));
}

std::string KindOf(const v1::Manifest& manifest) {
  return manifest.parent().empty() ? "full" : absl::StrCat("delta to ", manifest.parent());
}

std::string MetricsOf(const v1::Manifest& manifest) {
  std::vector<std::string> metrics;
  for (const char* name : {"auc", "group_auc", "accuracy", "rmse", "mae", "logloss"}) {
    const auto found = manifest.metrics().find(name);
    if (found == manifest.metrics().end()) continue;
    metrics.push_back(absl::StrCat(name, " ", Decimals(found->second, 5)));
  }
  return absl::StrJoin(metrics, "  ");
}

// A checkpoint without a manifest is none: it is unfinished, or was given up.
bool IsDamaged(const ListedCheckpoint& checkpoint) {
  return !checkpoint.status.ok() && !absl::IsNotFound(checkpoint.status);
}

uint64_t BytesOf(const v1::Manifest& manifest) {
  uint64_t bytes = 0;
  for (const v1::SavedFile& file : manifest.files()) bytes += file.bytes();
  return bytes;
}

}  // namespace

std::vector<std::string> ListText(absl::Span<const ListedCheckpoint> list, absl::Time now) {
  TextTable table({"ID", ">STEP", ">EXAMPLES", ">SIZE", ">AGE", "KIND", "METRICS"});
  for (const ListedCheckpoint& checkpoint : list) {
    const v1::Manifest& manifest = checkpoint.manifest;
    const std::string size = Bytes(static_cast<double>(checkpoint.bytes));
    if (absl::IsNotFound(checkpoint.status)) {
      table.AddRow({Printable(checkpoint.id), "-", "-", size, "-",
                    checkpoint.bytes == 0 ? "given up" : "unfinished", ""});
    } else if (IsDamaged(checkpoint)) {
      table.AddRow({Printable(checkpoint.id), "-", "-", size, "-",
                    absl::StrCat("damaged: ", checkpoint.status.message()), ""});
    } else {
      table.AddRow({Printable(checkpoint.id), Grouped(manifest.step()),
                    Grouped(manifest.progress().examples()), size, AgeOf(manifest, now),
                    Printable(KindOf(manifest)), MetricsOf(manifest)});
    }
  }
  return table.Lines();
}

std::vector<std::string> ForeignText(const CheckpointFolder& folder) {
  std::vector<std::string> lines;
  for (const ForeignEntry& entry : folder.foreign) {
    lines.push_back(absl::StrCat("not a checkpoint, left alone: ", Printable(entry.name), " (",
                                 Printable(entry.why), ")"));
  }
  for (const ListedCheckpoint& checkpoint : folder.checkpoints) {
    if (checkpoint.foreign.empty()) continue;
    lines.push_back(absl::StrCat("never deleted: ", Printable(checkpoint.id), " (it holds ",
                                 Printable(checkpoint.foreign), ", which is not Capstan's)"));
  }
  return lines;
}

std::vector<std::string> PruneText(const CheckpointFolder& folder, const std::string& uri,
                                   absl::Span<const std::string> ids) {
  std::vector<std::string> lines = ForeignText(folder);
  for (const ListedCheckpoint& checkpoint : folder.checkpoints) {
    if (!IsDamaged(checkpoint)) continue;
    lines.push_back(absl::StrCat("damaged, left for people to look at: ", Printable(checkpoint.id),
                                 " (", Printable(std::string(checkpoint.status.message())),
                                 "); delete ", Printable(std::string(absl::StripSuffix(uri, "/"))),
                                 "/", Printable(checkpoint.id), " by hand"));
  }
  double bytes = 0;
  for (const ListedCheckpoint& checkpoint : folder.checkpoints) {
    if (std::find(ids.begin(), ids.end(), checkpoint.id) == ids.end()) continue;
    bytes += static_cast<double>(checkpoint.bytes);
    lines.push_back(absl::StrCat("would delete ", Printable(checkpoint.id), "  ",
                                 Bytes(static_cast<double>(checkpoint.bytes))));
  }
  lines.push_back(absl::StrCat(ids.size(), " of ", folder.checkpoints.size(),
                               " checkpoints to delete, ", Bytes(bytes)));
  return lines;
}

std::vector<std::string> DamagedText(const CheckpointFolder& folder, const std::string& but) {
  std::vector<std::string> lines;
  for (const ListedCheckpoint& checkpoint : folder.checkpoints) {
    if (!IsDamaged(checkpoint) || checkpoint.id == but) continue;
    lines.push_back(absl::StrCat("damaged: ", Printable(checkpoint.id), " (",
                                 Printable(std::string(checkpoint.status.message())), ")"));
  }
  return lines;
}

std::vector<std::string> PartitionsText(absl::Span<const std::string> messages) {
  std::vector<std::pair<std::string, int>> counted;
  for (const std::string& message : messages) {
    const auto same = std::find_if(counted.begin(), counted.end(),
                                   [&message](const auto& one) { return one.first == message; });
    if (same == counted.end()) {
      counted.emplace_back(message, 1);
    } else {
      ++same->second;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [message, count] : counted) {
    lines.push_back(count == 1 ? message : absl::StrCat(message, " (", count, " partitions)"));
  }
  return lines;
}

std::string NoStateText(const std::string& uri) {
  return absl::StrCat("no job's state (state/chief.json) is beside ", Printable(uri),
                      ": which checkpoints a job needs is not known; --exempt ID keeps one");
}

bool HoldsCheckpointsFolder(const CheckpointFolder& folder) {
  return std::any_of(folder.foreign.begin(), folder.foreign.end(),
                     [](const ForeignEntry& entry) { return entry.name == "checkpoints"; });
}

absl::Status NoCheckpoints(const std::string& uri, absl::Span<const ForeignEntry> found) {
  for (const ForeignEntry& entry : found) {
    if (entry.name == "MANIFEST.json") {
      return absl::NotFoundError(
          absl::StrCat(uri, ": a checkpoint itself; name the folder that it is in"));
    }
  }
  if (found.empty()) return absl::NotFoundError(absl::StrCat(uri, ": no checkpoints"));
  return absl::NotFoundError(absl::StrCat(uri, ": no checkpoints, which are named <step>-<id>; ",
                                          found.front().name, " is none: ", found.front().why));
}

std::vector<std::string> ShowText(const CheckpointReader& reader, absl::Time now) {
  const v1::Manifest& manifest = reader.manifest();
  uint64_t read = 0;
  for (uint32_t i = 0; i < manifest.job().partition_count(); ++i) {
    read += reader.bytes_of(static_cast<PartitionIndex>(i));
  }
  TextTable table({"", ""});
  table.AddRow({"job", Printable(manifest.job().job())});
  table.AddRow({"checkpoint", Printable(manifest.id())});
  table.AddRow({"kind", Printable(KindOf(manifest))});
  table.AddRow({"chain", Grouped(reader.chain_length())});
  table.AddRow({"step", Grouped(manifest.step())});
  table.AddRow({"examples", Grouped(manifest.progress().examples())});
  table.AddRow({"epochs complete", Grouped(manifest.progress().data_epoch())});
  table.AddRow({"timeline", Grouped(manifest.timeline())});
  table.AddRow({"partitions", Grouped(manifest.job().partition_count())});
  table.AddRow({"bytes", Bytes(static_cast<double>(BytesOf(manifest)))});
  table.AddRow({"bytes with its chain", Bytes(static_cast<double>(read))});
  table.AddRow({"age", AgeOf(manifest, now)});
  table.AddRow({"written by", Printable(manifest.written_by())});
  table.AddRow({"metrics", MetricsOf(manifest)});
  for (const v1::TableSpec& spec : manifest.job().tables()) {
    table.AddRow(
        {absl::StrCat("table ", Printable(spec.name())), absl::StrCat("dim ", spec.dim())});
  }
  for (const v1::TensorSpec& spec : manifest.job().tensors()) {
    table.AddRow(
        {absl::StrCat("tensor ", Printable(spec.name())), absl::StrJoin(spec.shape(), " x ")});
  }
  std::vector<std::string> lines = table.Lines();
  lines.erase(lines.begin());  // The line of titles is empty.
  return lines;
}

std::vector<std::string> DiffText(absl::Span<const PartDiff> diffs) {
  TextTable table(
      {"PART", "KIND", ">COMMON", ">CHANGED", ">ADDED", ">REMOVED", ">STATE ONLY", ">LARGEST"});
  for (const PartDiff& diff : diffs) {
    table.AddRow({Printable(diff.name), diff.table ? "rows" : "weights", Grouped(diff.common),
                  Grouped(diff.changed), Grouped(diff.added), Grouped(diff.removed),
                  Grouped(diff.slots_changed),
                  diff.changed == 0 ? "-" : absl::StrFormat("%.3g", diff.largest)});
  }
  return table.Lines();
}

}  // namespace capstan::cli
