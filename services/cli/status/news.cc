#include "cli/status/news.h"

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

std::string Recovered(const v1::RecoveryLoss& loss) {
  const std::string cause = loss.cause().empty() ? "a loss" : Printable(loss.cause());
  std::string line = absl::StrCat("recovered in ", ShortSeconds(loss.seconds()), ": ", cause);
  if (loss.recovery() == v1::RECOVERY_PARTIAL) {
    return absl::StrCat(line, "; at most ", Grouped(loss.batches()), " gradients of ps-",
                        loss.shard(), " are lost");
  }
  return absl::StrCat(line, "; ", Grouped(loss.examples()), " examples are trained again, from ",
                      loss.checkpoint().empty()
                          ? "the initial values"
                          : absl::StrCat("checkpoint ", Printable(loss.checkpoint())));
}

// Returns what a warning is about, or, where an earlier chief does not tell it, its sentence.
const std::string& SubjectOf(const v1::GetStatusReply& status, int warning) {
  return warning < status.warning_subjects_size() ? status.warning_subjects(warning)
                                                  : status.warnings(warning);
}

}  // namespace

std::string GradientLosses(const v1::GetStatusReply& status) {
  uint64_t dropped = 0;
  uint64_t refused = 0;
  for (const v1::ShardStatus& shard : status.shards()) {
    dropped += shard.report().gradients_dropped();
    refused += shard.report().gradients_refused();
  }
  std::vector<std::string> parts;
  if (dropped > 0) {
    parts.push_back(absl::StrCat("dropped ", Grouped(dropped), " gradients as too stale"));
  }
  if (refused > 0) parts.push_back(absl::StrCat("refused ", Grouped(refused), " requests"));
  return absl::StrJoin(parts, ", ");
}

std::string BadRecords(const v1::GetStatusReply& status) {
  if (status.bad_records() == 0) return "";
  std::string text = absl::StrCat(Grouped(status.bad_records()),
                                  status.bad_records() == 1 ? " bad record" : " bad records");
  if (status.bad_record_examples_size() > 0) {
    absl::StrAppend(&text, ", the first: ", Printable(status.bad_record_examples(0)));
  }
  return text;
}

std::vector<std::string> News(const v1::GetStatusReply& before, const v1::GetStatusReply& now) {
  std::vector<std::string> lines;
  if (now.resumed_from() != before.resumed_from() && !now.resumed_from().empty()) {
    lines.push_back(absl::StrCat("goes on from checkpoint ", Printable(now.resumed_from())));
  }
  // A later chief of the job has begun, and there was nothing to go on from.
  const bool begun = now.state() == v1::JOB_STATE_RUNNING && before.state() != now.state();
  if (begun && now.term() > 1 && before.term() < now.term() && now.examples() == 0 &&
      now.resumed_from().empty()) {
    lines.push_back("begins anew: no checkpoint of it was kept");
  }
  for (int i = before.losses_size(); i < now.losses_size(); ++i) {
    lines.push_back(Recovered(now.losses(i)));
  }
  if (now.term() == before.term() && now.replicas().promotions() > before.replicas().promotions()) {
    lines.push_back(absl::StrCat("a shard is lost, and backups have taken over its ",
                                 Grouped(now.replicas().promoted() - before.replicas().promoted()),
                                 " partitions; nothing is trained again"));
  }
  std::set<std::string> known;
  for (int i = 0; i < before.warnings_size(); ++i) known.insert(SubjectOf(before, i));
  for (int i = 0; i < now.warnings_size(); ++i) {
    if (known.contains(SubjectOf(now, i))) continue;
    lines.push_back(absl::StrCat("warning: ", Printable(now.warnings(i))));
  }
  if (before.bad_records() == 0 && now.bad_records() > 0) lines.push_back(BadRecords(now));
  if (GradientLosses(before).empty() && !GradientLosses(now).empty()) {
    lines.push_back(GradientLosses(now));
  }
  return lines;
}

}  // namespace capstan::cli
