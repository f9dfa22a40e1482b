#include "capstan/data/formats/samples.h"

#include <utility>

namespace capstan {

bool IsSampleFormat(v1::DataFormat format) {
  return format == v1::DATA_FORMAT_TAR || format == v1::DATA_FORMAT_TFRECORD;
}

bool IsImageFormat(v1::DataFormat format) {
  return IsSampleFormat(format) || format == v1::DATA_FORMAT_FOLDER;
}

std::unique_ptr<SampleStream> NewSampleStream(const v1::DataSpec& data,
                                              std::unique_ptr<ByteStream> stream,
                                              const SampleRange& range) {
  ByteReader bytes(std::move(stream), range.first_byte);
  return data.format() == v1::DATA_FORMAT_TAR
             ? NewTarSamples(std::move(bytes), range, data.image())
             : NewTfRecordSamples(std::move(bytes), range, data.image());
}

}  // namespace capstan
