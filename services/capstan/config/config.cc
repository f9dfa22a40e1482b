#include "capstan/config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/status.h"
#include "capstan/config/cross_checks.h"
#include "capstan/config/data_files.h"
#include "capstan/config/declared_keys.h"
#include "capstan/config/findings.h"
#include "capstan/config/sections.h"
#include "capstan/config/spelling.h"
#include "capstan/config/yaml_node.h"

namespace capstan {
namespace {

// Leaves room for what names of Kubernetes objects append, within their 63 characters.
constexpr size_t kMaxJobName = 52;
constexpr size_t kMaxFileBytes = size_t{1} << 20;

bool IsJobName(absl::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxJobName && fits(name.front()) && fits(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return c == '-' || fits(c); });
}

void ReadName(Section& in, v1::JobSpec& spec) {
  spec.set_job(in.Text("job"));
  if (IsJobName(spec.job())) return;
  in.Refuse("job",
            absl::StrCat(in.Has("job") ? Shown(spec.job()) + " is not" : "is missing; expected",
                         " a name of at most ", kMaxJobName,
                         " lower case letters, digits and dashes, such as criteo-deepfm"));
}

void ReadLease(Section& in, v1::LeaseSpec& out) {
  out.set_heartbeat_seconds(in.Seconds("heartbeat"));
  out.set_worker_lease_seconds(in.Seconds("worker_lease"));
  if (out.worker_lease_seconds() < 3 * out.heartbeat_seconds()) {
    in.Refuse("worker_lease", "must be at least 3 heartbeats, or one lost message loses a worker");
  }
  out.set_shard_lease_seconds(in.Seconds("shard_lease"));
  out.set_data_stall_seconds(in.Seconds("data_stall"));
}

// Left unset where the job says nothing, as it is in jobs that were stored before these settings
// existed.
void ReadRebalance(Section& in, v1::JobSpec& spec) {
  const bool automatic = in.OneOf<bool>("rebalance");
  const uint64_t bytes = in.Bytes("rebalance_bytes_per_second");
  if (automatic) spec.mutable_rebalance()->set_automatic(true);
  if (bytes > 0) spec.mutable_rebalance()->set_bytes_per_second(bytes);
}

void ReadUpdate(Section in, uint32_t default_lanes, v1::JobSpec& spec) {
  Section dense = in.Map("dense");
  Section sparse = in.Map("sparse");
  ReadUpdatePolicy(dense, default_lanes, *spec.mutable_dense_update());
  ReadUpdatePolicy(sparse, default_lanes, *spec.mutable_sparse_update());
}

void ReadOptimizers(Section in, v1::JobSpec& spec) {
  Section dense = in.Map("dense");
  Section sparse = in.Map("sparse");
  ReadDenseOptimizer(dense, spec);
  ReadOptimizer(sparse, v1::OPTIMIZER_KIND_ADAGRAD, *spec.mutable_sparse_optimizer());
}

v1::JobSpec ReadJob(const YamlNode& root, const JobOptions& options, Findings& findings) {
  v1::JobSpec spec;
  Section in(&root, findings);
  ReadName(in, spec);
  spec.set_seed(in.Whole("seed"));
  spec.set_partition_count(in.Whole("partition_count"));
  Section data = in.Map("data");
  ReadData(data, *spec.mutable_data());
  Section model = in.Map("model");
  ReadModel(model, *spec.mutable_model());
  Section table = in.Map("table");
  ReadTable(table, *spec.mutable_table_limits());
  ReadOptimizers(in.Map("optimizer"), spec);
  ReadTables(in.Map("tables"), spec);
  ReadUpdate(in.Map("update"), options.default_lanes, spec);
  Section train = in.Map("train");
  ReadTrain(train, /*program=*/!spec.model().user().empty(), *spec.mutable_train());
  Section checkpoint = in.Map("checkpoint");
  ReadCheckpoint(checkpoint, *spec.mutable_checkpoint());
  spec.set_recovery(in.OneOf<v1::Recovery>("recovery"));
  spec.set_replicas(in.Whole("replicas"));
  ReadRebalance(in, spec);
  ReadLease(in, *spec.mutable_lease());
  CheckAcrossSections(spec, findings);
  return spec;
}

absl::StatusOr<YamlNode> ReadTree(const JobText& job, const JobOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(job.text, job.name));
  for (const std::string& assignment : options.overrides) {
    CAPSTAN_RETURN_IF_ERROR(ApplyOverride(assignment, root));
  }
  return root;
}

enum class Files { kMustExist, kNotLookedFor };

absl::StatusOr<v1::JobSpec> Parse(const JobText& job, const JobOptions& options, Files files) {
  CAPSTAN_ASSIGN_OR_RETURN(const YamlNode root, ReadTree(job, options));
  Findings findings(job.name);
  v1::JobSpec spec = ReadJob(root, options, findings);
  ResolvePaths(job.folder, spec);
  if (files == Files::kMustExist) CheckDataFiles(spec, findings);
  CAPSTAN_RETURN_IF_ERROR(findings.status());
  return spec;
}

absl::StatusOr<JobText> ReadFile(const std::string& path) {
  if (!std::filesystem::exists(path))
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return JobText{.text = std::move(text),
                 .name = path,
                 .folder = std::filesystem::absolute(path).parent_path()};
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJob(const JobText& job, const JobOptions& options) {
  return Parse(job, options, Files::kNotLookedFor);
}

absl::StatusOr<v1::JobSpec> LoadJob(const std::string& path, const JobOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const JobText job, ReadFile(path));
  return Parse(job, options, Files::kMustExist);
}

absl::StatusOr<JobPlace> FindJob(const std::string& path,
                                 const std::vector<std::string>& overrides) {
  CAPSTAN_ASSIGN_OR_RETURN(const JobText job, ReadFile(path));
  const JobOptions options{.overrides = overrides};
  CAPSTAN_ASSIGN_OR_RETURN(const YamlNode root, ReadTree(job, options));
  Findings mistakes(job.name);
  v1::JobSpec spec = ReadJob(root, options, mistakes);
  ResolvePaths(job.folder, spec);
  if (!IsJobName(spec.job()))
    return absl::InvalidArgumentError(absl::StrCat(path, ": names no job"));
  return JobPlace{.job = spec.job(), .checkpoint_uri = spec.checkpoint().uri()};
}

std::vector<JobKey> JobKeys() {
  Findings findings("", Findings::Purpose::kListKeys);
  ReadJob(YamlNode(), {}, findings);
  std::vector<JobKey> keys;
  for (const auto& [name, read] : findings.keys()) {
    JobKey& key = keys.emplace_back(read);
    const DeclaredKey* const declared = FindDeclared(name);
    if (declared != nullptr) key.help = std::string(declared->help);
  }
  return keys;
}

}  // namespace capstan
