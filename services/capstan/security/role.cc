#include "capstan/security/role.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/message/rpc_method.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job_reader.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/role.pb.h"
#include "google/protobuf/descriptor.h"

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

// Which roles may call each method ("/capstan.v1.Ps/Push"), according to the protos: one bit per
// role.
using Callers = std::map<std::string, uint32_t, std::less<>>;

constexpr uint32_t BitOf(v1::Role role) { return uint32_t{1} << static_cast<uint32_t>(role); }

v1::Role ProtoOf(Role role) {
  switch (role) {
    case Role::kChief:
      return v1::ROLE_CHIEF;
    case Role::kPs:
      return v1::ROLE_PS;
    case Role::kWorker:
      return v1::ROLE_WORKER;
    case Role::kAdmin:
      return v1::ROLE_ADMIN;
    case Role::kClient:
      return v1::ROLE_CLIENT;
    case Role::kPusher:
      return v1::ROLE_PUSHER;
  }
  return v1::ROLE_UNSPECIFIED;
}

void AddCallersOf(const google::protobuf::FileDescriptor& file, Callers& callers) {
  for (int i = 0; i < file.service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file.service(i);
    for (int k = 0; k < service.method_count(); ++k) {
      const google::protobuf::MethodDescriptor& method = *service.method(k);
      uint32_t& bits = callers[PathOf(method)];
      for (int role : method.options().GetRepeatedExtension(v1::caller)) {
        bits |= BitOf(static_cast<v1::Role>(role));
      }
    }
  }
}

Callers ReadCallers() {
  Callers callers;
  AddCallersOf(*v1::GetStatusRequest::descriptor()->file(), callers);
  AddCallersOf(*v1::PullRequest::descriptor()->file(), callers);
  AddCallersOf(*v1::DescribeJobRequest::descriptor()->file(), callers);
  return callers;
}

// Returns true if one of a certificate's names has `job`, and a role for which `may` returns true.
template <typename May>
bool HasRole(std::span<const std::string> names, std::string_view job, const May& may) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& shown) {
    const std::optional<PeerName> name = ParseDnsName(shown);
    return name && name->job == job && may(name->role);
  });
}

bool CarriesNumber(std::span<const std::string> names, uint32_t shard) {
  return std::any_of(names.begin(), names.end(),
                     [shard](const std::string& name) { return ShardOfDnsName(name) == shard; });
}

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
  static const Callers callers = ReadCallers();
  const auto found = callers.find(method);
  return found != callers.end() && (found->second & BitOf(ProtoOf(role))) != 0;
}

bool MayCall(std::span<const std::string> names, std::string_view job, std::string_view method) {
  return HasRole(names, job, [method](Role role) { return MayCall(role, method); });
}

bool MayActForShard(std::span<const std::string> names, std::string_view job, uint32_t shard) {
  const bool is_shard = HasRole(names, job, [](Role role) { return role == Role::kPs; });
  const bool is_of_one = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return ShardOfDnsName(name).has_value();
  });
  return is_shard && (!is_of_one || CarriesNumber(names, shard));
}

bool IsOfShard(std::span<const std::string> names, std::string_view job, uint32_t shard) {
  return CarriesNumber(names, shard) && MayActForShard(names, job, shard);
}

bool MayTrain(Role role) { return role == Role::kWorker; }

bool MayTrain(std::span<const std::string> names, std::string_view job) {
  return HasRole(names, job, [](Role role) { return MayTrain(role); });
}

}  // namespace capstan
