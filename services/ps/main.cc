// The shard: holds a part of the parameters, answers pulls, applies pushes.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/process/flags.h"
#include "ps/process/ps_process.h"

int main(int argc, char** argv) {
  capstan::ps::ProcessOptions options;
  CLI::App app("Capstan's PS shard: holds parameters, answers pulls, applies pushes.");
  app.add_option("--chief", options.chief, "host:port of the chief")
      ->required()
      ->check(capstan::AddressMistake);
  app.add_option("--index", options.index, "which shard this is; default: the hostname's ordinal")
      ->check(CLI::Range(0, 9999));
  app.add_option("--listen", options.listen, "host:port for pulls and pushes; port 0: any free one")
      ->check(capstan::AddressMistake)
      ->capture_default_str();
  app.add_option("--advertise", options.advertise, "host:port that others are told")
      ->check(capstan::AddressMistake);
  capstan::AddServiceFlags(app, "ps", options.service);
  app.add_option("--checkpoint-uri", options.checkpoint_uri,
                 "write and read checkpoints under this folder only; default: as the chief says");
  app.add_option("--from", options.from,
                 "checkpoint of another job that may be read; default: as the chief says");
  app.add_option("--memory", options.memory_bytes,
                 "memory that this shard may use, such as 4GiB, where others share it; default: "
                 "its container's, or the machine's")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--zone", options.zone,
                 "zone of this shard's machine: what it owns is backed up in another one, where "
                 "there is one")
      ->envname("CAPSTAN_ZONE");
  app.add_option("--chief-deadline", options.chief_deadline_seconds,
                 "seconds to wait for the chief before giving up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option(
         "--restore-seconds", options.restore_seconds,
         "seconds that reading its share of a checkpoint may take; start-up is over when the "
         "shard serves, or then")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--grace", options.grace_seconds,
                 "seconds from SIGTERM until it leaves without the chief's consent")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (const std::optional<int> code = capstan::ParseFlags(app, argc, argv)) return *code;
  const absl::Status end = capstan::ps::RunPs(options);
  if (end.ok()) return 0;
  capstan::log::Error(std::string(end.message()));
  return capstan::ExitCodeOf(end);
}
