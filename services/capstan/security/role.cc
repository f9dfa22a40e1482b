#include "capstan/security/role.h"

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"

namespace capstan {
namespace {

constexpr std::string_view kDomain = ".capstan";

struct RoleName {
  Role role;
  std::string_view name;
};
constexpr std::array<RoleName, 6> kRoleNames = {{{Role::kChief, "chief"},
                                                 {Role::kPs, "ps"},
                                                 {Role::kWorker, "worker"},
                                                 {Role::kAdmin, "admin"},
                                                 {Role::kClient, "client"},
                                                 {Role::kPusher, "pusher"}}};

struct Right {
  Role role;
  std::string_view method;
};
constexpr Right kRights[] = {
    {Role::kPs, "/capstan.v1.Chief/RegisterShard"},
    {Role::kPs, "/capstan.v1.Chief/ShardHeartbeat"},
    {Role::kPs, "/capstan.v1.Chief/WatchView"},
    {Role::kWorker, "/capstan.v1.Chief/RegisterWorker"},
    {Role::kWorker, "/capstan.v1.Chief/WorkerHeartbeat"},
    {Role::kWorker, "/capstan.v1.Chief/DeclareModel"},
    {Role::kWorker, "/capstan.v1.Chief/WatchView"},
    {Role::kWorker, "/capstan.v1.Ps/Pull"},
    {Role::kWorker, "/capstan.v1.Ps/Push"},
    {Role::kWorker, "/capstan.v1.Ps/PushPiece"},
    {Role::kWorker, "/capstan.v1.Ps/OpenRound"},
    {Role::kWorker, "/capstan.v1.Ps/ReportLane"},
    {Role::kPs, "/capstan.v1.Ps/WatchCounts"},
    {Role::kPs, "/capstan.v1.Ps/TakePartition"},
    {Role::kPs, "/capstan.v1.Ps/Replicate"},
    {Role::kChief, "/capstan.v1.Ps/HoldRounds"},
    {Role::kChief, "/capstan.v1.Ps/CommitRound"},
    {Role::kChief, "/capstan.v1.Ps/CloseStreams"},
    {Role::kChief, "/capstan.v1.Ps/Flush"},
    {Role::kChief, "/capstan.v1.Ps/SavePartitions"},
    {Role::kChief, "/capstan.v1.Ps/LoadPartitions"},
    {Role::kChief, "/capstan.v1.Ps/MovePartitions"},
    {Role::kChief, "/capstan.v1.Chief/GetStatus"},  // Whether it still has the job.
    {Role::kAdmin, "/capstan.v1.Chief/GetStatus"},
    {Role::kAdmin, "/capstan.v1.Chief/StopJob"},
    {Role::kAdmin, "/capstan.v1.Chief/TakeCheckpoint"},
    {Role::kAdmin, "/capstan.v1.Chief/Rebalance"},
    {Role::kClient, "/capstan.v1.Chief/GetStatus"},
    {Role::kClient, "/capstan.v1.Chief/WatchView"},
    {Role::kClient, "/capstan.v1.JobReader/DescribeJob"},
    {Role::kClient, "/capstan.v1.Ps/Pull"},  // As evaluations do: see MayTrain.
    {Role::kPusher, "/capstan.v1.Ps/Push"},  // Of a session: what leases name is sealed.
    {Role::kPusher, "/capstan.v1.Ps/PushPiece"},
};

}  // namespace

std::string DnsNameOf(const PeerName& name) {
  const auto found =
      std::find_if(kRoleNames.begin(), kRoleNames.end(),
                   [&name](const RoleName& entry) { return entry.role == name.role; });
  return absl::StrCat(AbslView(found->name), ".", name.job, AbslView(kDomain));
}

std::optional<PeerName> ParseDnsName(std::string_view dns_name) {
  if (!dns_name.ends_with(kDomain)) return std::nullopt;
  const std::string_view front = dns_name.substr(0, dns_name.size() - kDomain.size());
  for (const RoleName& entry : kRoleNames) {
    if (front.size() > entry.name.size() + 1 && front.starts_with(entry.name) &&
        front[entry.name.size()] == '.') {
      return PeerName{entry.role, std::string(front.substr(entry.name.size() + 1))};
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> ShardOfDnsName(std::string_view dns_name) {
  const size_t end = dns_name.find('.');
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<PeerName> rest = ParseDnsName(dns_name.substr(end + 1));
  const size_t dash = dns_name.substr(0, end).rfind('-');
  if (!rest || rest->role != Role::kPs || dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = dns_name.substr(dash + 1, end - dash - 1);
  uint32_t shard = 0;
  if (!absl::SimpleAtoi(AbslView(digits), &shard)) return std::nullopt;
  return shard;
}

bool MayCall(Role role, std::string_view method) {
  return std::any_of(std::begin(kRights), std::end(kRights), [&](const Right& right) {
    return right.role == role && right.method == method;
  });
}

bool MayActForShard(std::span<const std::string> names, std::string_view job, uint32_t shard) {
  const bool is_shard = std::any_of(names.begin(), names.end(), [job](const std::string& shown) {
    const std::optional<PeerName> name = ParseDnsName(shown);
    return name && name->role == Role::kPs && name->job == job;
  });
  bool is_of_one = false;
  for (const std::string& name : names) {
    const std::optional<uint32_t> named = ShardOfDnsName(name);
    if (named == shard) return is_shard;
    is_of_one |= named.has_value();
  }
  return is_shard && !is_of_one;
}

bool MayTrain(Role role) { return role == Role::kWorker; }

}  // namespace capstan
