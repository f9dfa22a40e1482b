// Tar and TFRecord files for tests.
#ifndef TESTS_UNIT_DATA_SAMPLE_FILES_H_
#define TESTS_UNIT_DATA_SAMPLE_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/data/formats/samples.h"

namespace capstan {

// How the name of a member is written: whole; as GNU writes long ones, in a member of its own
// before it; in a pax header; or in two fields of ustar.
enum class TarName { kWhole, kGnu, kPax, kPrefix };

// A member with its header, padded to whole blocks.
std::string TarMember(const std::string& name, std::string_view content,
                      TarName style = TarName::kWhole);

// A header alone, which says that `size` bytes follow.
std::string TarBlock(const std::string& name, uint64_t size, char kind = '0');

// Of one of png, jpg, and cls.
std::string TarSample(const std::string& name, std::string_view image, std::string_view label);

inline std::string TarEnd() { return std::string(1024, '\0'); }

std::string TfRecord(std::string_view data);

// A tf.train.Example with image/encoded and image/class/label.
std::string TfExample(std::string_view image, uint64_t label);

// The samples of `range` of a file; each as "image:label", or as "place: error".
std::vector<std::string> SamplesOf(v1::DataFormat format, const std::string& file,
                                   SampleRange range = {}, const v1::ImageSpec& image = {});

// The same of consecutive ranges that end at these bytes, one list.
std::vector<std::string> SamplesOfParts(v1::DataFormat format, const std::string& file,
                                        const std::vector<uint64_t>& ends);

// Of the places at which a file says that a sample begins, how many give exactly the samples from
// there on to whoever begins there.
int BeginsThatGiveTheRest(v1::DataFormat format, const std::string& file);

}  // namespace capstan

#endif  // TESTS_UNIT_DATA_SAMPLE_FILES_H_
