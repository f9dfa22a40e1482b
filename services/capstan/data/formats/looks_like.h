// Recognizes the format of a file that is not the one named in the job. A pure function.
#ifndef CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
#define CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_

#include <string>
#include <string_view>

namespace capstan {

// Describes data by their first bytes, for data that have only one column if read as csv or tsv: "a
// Parquet file, which ...", with a remedy. Returns an empty text if they look like no known format.
std::string LooksLike(std::string_view begin);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
