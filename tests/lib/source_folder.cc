#include "tests/lib/source_folder.h"

namespace capstan {

std::string SourceFolder() { return CAPSTAN_SOURCE_FOLDER; }

}  // namespace capstan
