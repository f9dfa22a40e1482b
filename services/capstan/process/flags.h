// The part of a command line that chief, ps and worker share.
#ifndef CAPSTAN_PROCESS_FLAGS_H_
#define CAPSTAN_PROCESS_FLAGS_H_

#include <optional>
#include <string>

#include "capstan/process/service.h"

namespace CLI {
class App;
}

namespace capstan {

// --health-port, --metrics-port, --ports-file, --log-format, and --version. Defaults are what
// `options` holds; it must outlive the parsing.
void AddServiceFlags(CLI::App& app, const std::string& program, ServiceOptions& options);

// A check of a flag: what is wrong with `address`, which is to be host:port; empty: nothing. gRPC
// takes a port above 65535 for another one.
std::string AddressMistake(const std::string& address);

// An exit code if the process is to end: 0 after --help or --version, 2 for a mistake, each with
// its text written.
std::optional<int> ParseFlags(CLI::App& app, int argc, char** argv);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_FLAGS_H_
