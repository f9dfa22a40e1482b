// The chief: coordinates the shards and workers of a job. It alone reads job.yaml.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "capstan/process/flags.h"
#include "chief/shell/chief_process.h"

int main(int argc, char** argv) {
  capstan::chief::ProcessOptions options;
  CLI::App app("Capstan's chief: registers shards and workers, leases tasks, evaluates, saves.");
  app.add_option("--job", options.job, "the job file")->required();
  app.add_option("--set", options.overrides, "set a key of the job file, key=value; repeatable");
  app.add_option("--shards", options.shards, "PS shards to wait for before training begins")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--fresh", options.fresh,
               "start over beside what checkpoint.uri holds of this job, which is kept");
  app.add_option("--fresh-once", options.fresh_once,
                 "as --fresh, but only once under this name: a chief that is started again with "
                 "the same name goes on");
  app.add_option("--from", options.from,
                 "folder of a checkpoint: a new job begins with its parameters");
  std::string on_changed_job = "refuse";
  app.add_option(
         "--on-changed-job", on_changed_job,
         "what checkpoint.uri holds has another configuration: refuse to start, or keep it, "
         "and tell of the change in status and metrics")
      ->check(CLI::IsMember({"refuse", "keep"}))
      ->capture_default_str();
  std::string on_refusal = "exit";
  app.add_option("--on-refusal", on_refusal,
                 "a job file, data or store that cannot be used: exit with 2, or serve: have the "
                 "status say why, and look again when the job file has changed")
      ->check(CLI::IsMember({"exit", "serve"}))
      ->capture_default_str();
  app.add_option("--listen", options.listen, "host:port of the service; port 0: any free one")
      ->check(capstan::AddressMistake)
      ->capture_default_str();
  app.add_option("--advertise", options.advertise,
                 "host:port where this chief answers; a later one of the same job asks there, and "
                 "one of the same address is its successor")
      ->check(capstan::AddressMistake);
  app.add_flag("--take-over", options.take_over,
               "take the job from the chief that is at work on it, which ends; otherwise this one "
               "is refused");
  std::string unnumbered_shards = "until-numbered";
  app.add_option(
         "--unnumbered-shards", unnumbered_shards,
         "with TLS, a process of a shard whose certificate carries no number: accept it, "
         "refuse it, or accept it only until-numbered, while nobody has shown a certificate "
         "with the number of that shard")
      ->check(CLI::IsMember({"accept", "until-numbered", "refuse"}))
      ->capture_default_str();
  capstan::AddServiceFlags(app, "chief", options.service);
  app.add_option("--grace", options.grace_seconds,
                 "seconds that it serves on after SIGTERM while shards leave; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--exit-when-done", options.exit_when_done,
               "end with the job: 0 done, 1 failed, 2 bad input");
  if (const std::optional<int> code = capstan::ParseFlags(app, argc, argv)) return *code;
  options.keep_job = on_changed_job == "keep";
  options.serve_refusal = on_refusal == "serve";
  using capstan::chief::UnnumberedShards;
  if (unnumbered_shards == "accept") options.unnumbered_shards = UnnumberedShards::kAccept;
  if (unnumbered_shards == "refuse") options.unnumbered_shards = UnnumberedShards::kRefuse;
  return capstan::chief::RunChief(options);
}
