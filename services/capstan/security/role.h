// Roles of the processes of a job, as their certificates name them, and what each may call.
#ifndef CAPSTAN_SECURITY_ROLE_H_
#define CAPSTAN_SECURITY_ROLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capstan {

// kAdmin: people, with the `capstan` command. kClient: programs that look at a job and are no part
// of it, such as notebooks. kPusher: those of them that push gradients of their own; their
// certificates name both roles.
enum class Role { kChief, kPs, kWorker, kAdmin, kClient, kPusher };

// What a certificate says of its holder. One certificate may say several.
struct PeerName {
  Role role{};
  std::string job;
  friend bool operator==(const PeerName&, const PeerName&) = default;
};

// A name is a DNS name `<role>.<job>.capstan`: "worker.ctr.capstan".
std::string DnsNameOf(const PeerName& name);
std::optional<PeerName> ParseDnsName(std::string_view dns_name);

// Which shard a certificate is of: the number in a further name of it,
// `<anything>-<number>.ps.<job>.capstan`, as cert-manager's CSI driver can make one of a pod's
// name: "ctr-ps-3.ps.ctr.capstan". None: the name is of no shard.
std::optional<uint32_t> ShardOfDnsName(std::string_view dns_name);

// Returns whether who shows a certificate of these names may act for that shard of the job: it is
// of the role ps, and of no shard in particular or of that one.
bool MayActForShard(std::span<const std::string> names, std::string_view job, uint32_t shard);

// Returns whether a client in this role may call the method, "/capstan.v1.Ps/Push": whether the
// method's proto says so, by the option `caller`.
bool MayCall(Role role, std::string_view method);

// Returns whether a client in this role, if it may call Pull at all, may pull as a worker does. The
// others pull as evaluations do.
bool MayTrain(Role role);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_ROLE_H_
