#pragma once
/// \file
/// Pickles as data. A pickle is a program that builds Python objects and may call whatever it
/// names; of that, this machine knows what a saved model needs: numbers, text, tuples, lists,
/// dictionaries, and the few functions of PyTorch that rebuild tensors and parameters. It calls
/// nothing: a tensor becomes the record of a storage, an offset, a shape and strides. Any other
/// name is refused as soon as it is read.

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoints/bytes.hpp"
#include "checkpoints/tensor.hpp"

namespace ropewalk::checkpoints {

/// A Python object: a small one itself, a large one by its place in the Pickle's tables. Objects
/// may share and contain each other, cycles included.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,  ///< integer 0 or 1
    integer,
    real,
    text,        ///< index into texts
    raw,         ///< index into texts: bytes, and whole numbers beyond 64 bits, little-endian
    tuple,       ///< index into containers
    list,        ///< index into containers
    dictionary,  ///< index into containers: key, value, key, value, ...
    name,        ///< index into the known names
    storage,     ///< index into storages
    tensor,      ///< index into tensors
    other,       ///< a device: understood, and of no use here
  };
  Kind kind = Kind::none;
  union {
    std::int64_t integer = 0;
    double real;
    std::uint64_t index;
  };
};

/// What a tensor's bytes are called: the archive or the rest of the file has them under `key`.
struct PickledStorage {
  std::string_view key;
  DType dtype = DType::u8;
  std::uint64_t elements = 0;
};

struct PickledTensor {
  std::uint64_t storage = 0;
  DType dtype = DType::u8;
  std::uint64_t offset = 0;  ///< elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements
};

/// The objects of one pickle. Texts are views of the pickle's bytes.
struct Pickle {
  PickleValue root;
  std::vector<std::string_view> texts;
  std::deque<std::vector<PickleValue>> containers;
  std::vector<PickledStorage> storages;
  std::vector<PickledTensor> tensors;

  [[nodiscard]] std::string_view text(PickleValue value) const { return texts[value.index]; }
  [[nodiscard]] const std::vector<PickleValue>& items(PickleValue value) const {
    return containers[value.index];
  }
};

/// Reads one pickle (protocols 2 to 5) and leaves the reader behind it.
/// Guarantee: every tensor lies within the number of elements that its storage claims, and has no
/// more elements than that.
/// Cost: at most 500,000 instructions are run and 65,536 tensors built.
/// Throws Error(parse) for what is not a pickle, Error(unsupported) for a name or an instruction
/// that is not known, Error(too_large) beyond the caps; each names the offset.
[[nodiscard]] Pickle read_pickle(Reader& reader);

}  // namespace ropewalk::checkpoints
