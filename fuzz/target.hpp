#pragma once
/// \file
/// What every fuzzer does: read the bytes as one format, then the elements of what was found. An
/// Error is a right answer; anything else that ends the process is a finding.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoints/checkpoint.hpp"
#include "theory/error.hpp"

namespace ropewalk::fuzz {

inline std::shared_ptr<const checkpoints::MappedFile> file_of(const std::uint8_t* data,
                                                              std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  return std::make_shared<const checkpoints::MappedFile>(
      "input", std::vector<std::byte>(bytes, bytes + size));
}

/// Returns what libFuzzer wants to hear.
template <class Reader>
int read_all(const std::uint8_t* data, std::size_t size, Reader reader) {
  try {
    const checkpoints::Checkpoint checkpoint = reader(file_of(data, size));
    std::vector<double> row;
    for (const auto& [name, tensor] : checkpoint.tensors) {
      if (tensor.elements() == 0) continue;  // its other dimensions may be anything
      row.resize(static_cast<std::size_t>(tensor.row_size()));
      for (std::int64_t i = 0; i < tensor.rows() && i < 64; ++i)
        checkpoints::read_rows(tensor, i, 1, row.data());
    }
  } catch (const Error&) {
    return 0;
  }
  return 0;
}

}  // namespace ropewalk::fuzz
