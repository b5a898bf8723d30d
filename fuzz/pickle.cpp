#include "checkpoints/pickle.hpp"

#include "fuzz/target.hpp"

// The pickle alone: inside an archive a checksum keeps changes away from it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ropewalk;
  try {
    checkpoints::Reader reader({reinterpret_cast<const std::byte*>(data), size}, "input");
    (void)checkpoints::read_pickle(reader);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
