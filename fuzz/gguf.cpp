#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return ropewalk::fuzz::read_all(data, size, ropewalk::checkpoints::read_gguf);
}
