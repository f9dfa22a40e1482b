// The roles of the processes of a job, as named in their certificates, and what each role may call.
#ifndef CAPSTAN_SECURITY_ROLE_H_
#define CAPSTAN_SECURITY_ROLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capstan {

// kAdmin: people, with the `capstan` command. kClient: programs that read a job but are not part of
// it, such as notebooks. kPusher: such programs that also push their own gradients; their
// certificates name both roles.
enum class Role { kChief, kPs, kWorker, kAdmin, kClient, kPusher };

// A role and a job, as named in a certificate. A certificate may have several such names.
struct PeerName {
  Role role{};
  std::string job;
  friend bool operator==(const PeerName&, const PeerName&) = default;
};

// Convert between a PeerName and its DNS name `<role>.<job>.capstan`: "worker.ctr.capstan".
std::string DnsNameOf(const PeerName& name);
std::optional<PeerName> ParseDnsName(std::string_view dns_name);

// Returns the shard to which a certificate is restricted: the number in an additional name,
// `<anything>-<number>.ps.<job>.capstan`, which cert-manager's CSI driver can derive from a pod's
// name: "ctr-ps-3.ps.ctr.capstan". nullopt: `dns_name` names no shard.
std::optional<uint32_t> ShardOfDnsName(std::string_view dns_name);

// Returns true if the holder of a certificate with these names may act for `shard` of the job: its
// role is ps, and it is restricted to no shard or to this one.
bool MayActForShard(std::span<const std::string> names, std::string_view job, uint32_t shard);

// Returns true if a certificate with these names is restricted to `shard` of the job: its holder
// may act for that shard, and it has the number.
bool IsOfShard(std::span<const std::string> names, std::string_view job, uint32_t shard);

// Returns true if a client in this role may call `method`, such as "/capstan.v1.Ps/Push", according
// to the option `caller` of the method in its proto.
bool MayCall(Role role, std::string_view method);

// Returns true if the holder of a certificate with these names may call `method` of a process of
// `job`: one of the names has the job and a role that may call the method.
bool MayCall(std::span<const std::string> names, std::string_view job, std::string_view method);

// Returns true if a client in this role may pull as a worker does. Other clients that may call Pull
// can only pull for evaluation.
bool MayTrain(Role role);

// Returns true if the holder of a certificate with these names may pull and push as a worker of
// `job` does.
bool MayTrain(std::span<const std::string> names, std::string_view job);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_ROLE_H_
