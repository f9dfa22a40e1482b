// The roles of the processes of a job, as their certificates name them, and what each role may
// call.
#ifndef CAPSTAN_SECURITY_ROLE_H_
#define CAPSTAN_SECURITY_ROLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capstan {

// kAdmin: people, with the `capstan` command. kClient: programs that look at a job but are no part
// of it, such as notebooks. kPusher: such programs that push gradients of their own; their
// certificates name both roles.
enum class Role { kChief, kPs, kWorker, kAdmin, kClient, kPusher };

// A role and a job, as one name in a certificate says. A certificate may have several names.
struct PeerName {
  Role role{};
  std::string job;
  friend bool operator==(const PeerName&, const PeerName&) = default;
};

// Convert between a PeerName and its DNS name `<role>.<job>.capstan`: "worker.ctr.capstan".
std::string DnsNameOf(const PeerName& name);
std::optional<PeerName> ParseDnsName(std::string_view dns_name);

// Returns for which shard a certificate is: the number in a further name of it,
// `<anything>-<number>.ps.<job>.capstan`, which cert-manager's CSI driver can make from a pod's
// name: "ctr-ps-3.ps.ctr.capstan". nullopt: `dns_name` names no shard.
std::optional<uint32_t> ShardOfDnsName(std::string_view dns_name);

// Returns whether the holder of a certificate with these names may act for `shard` of the job: its
// role is ps, and it is for no particular shard or for this one.
bool MayActForShard(std::span<const std::string> names, std::string_view job, uint32_t shard);

// Returns whether a certificate with these names is of `shard` of the job alone: its holder may act
// for that one, and it carries the number.
bool IsOfShard(std::span<const std::string> names, std::string_view job, uint32_t shard);

// Returns whether a client in this role may call `method`, such as "/capstan.v1.Ps/Push": the
// method's proto says so, by the option `caller`.
bool MayCall(Role role, std::string_view method);

// Returns whether the holder of a certificate with these names may call `method` of a process of
// `job`: one of the names is of the job, and of a role that may call the method.
bool MayCall(std::span<const std::string> names, std::string_view job, std::string_view method);

// Returns whether a client in this role that may call Pull may pull as a worker does. The others
// pull as evaluations do.
bool MayTrain(Role role);

// Returns whether the holder of a certificate with these names may pull and push as a worker of
// `job` does.
bool MayTrain(std::span<const std::string> names, std::string_view job);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_ROLE_H_
