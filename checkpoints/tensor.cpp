#include "checkpoints/tensor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "checkpoints/bytes.hpp"
#include "checkpoints/dequantize.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

namespace {

struct TypeInfo {
  const char* name;
  std::int64_t elements;
  std::int64_t bytes;
  bool is_float;
};

/// In the order of DType.
constexpr TypeInfo types[] = {
    {"F64", 1, 8, true},      {"F32", 1, 4, true},       {"F16", 1, 2, true},
    {"BF16", 1, 2, true},     {"F8_E4M3", 1, 1, true},   {"F8_E5M2", 1, 1, true},
    {"I64", 1, 8, false},     {"I32", 1, 4, false},      {"I16", 1, 2, false},
    {"I8", 1, 1, false},      {"U64", 1, 8, false},      {"U32", 1, 4, false},
    {"U16", 1, 2, false},     {"U8", 1, 1, false},       {"BOOL", 1, 1, false},
    {"Q4_0", 32, 18, true},   {"Q4_1", 32, 20, true},    {"Q5_0", 32, 22, true},
    {"Q5_1", 32, 24, true},   {"Q8_0", 32, 34, true},    {"Q4_K", 256, 144, true},
    {"Q6_K", 256, 210, true}, {"GROUPS_I8", 1, 1, true},
};

const TypeInfo& info(DType dtype) { return types[static_cast<std::size_t>(dtype)]; }

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T, class S>
S plain(const std::byte* at) {
  return static_cast<S>(load<T>(at));
}
template <class S>
S half(const std::byte* at) {
  return static_cast<S>(from_f16(load<std::uint16_t>(at)));
}
template <class S>
S brain(const std::byte* at) {
  return static_cast<S>(from_bf16(load<std::uint16_t>(at)));
}
template <class S>
S e4m3(const std::byte* at) {
  return static_cast<S>(from_f8_e4m3(load<std::uint8_t>(at)));
}
template <class S>
S e5m2(const std::byte* at) {
  return static_cast<S>(from_f8_e5m2(load<std::uint8_t>(at)));
}
template <class S>
S truth(const std::byte* at) {
  return load<std::uint8_t>(at) != 0 ? S(1) : S(0);
}

/// How one element becomes a number; null for the types that come in blocks or groups.
template <class S>
S (*conversion(DType dtype))
(const std::byte*) {
  switch (dtype) {
    case DType::f64: return plain<double, S>;
    case DType::f32: return plain<float, S>;
    case DType::f16: return half<S>;
    case DType::bf16: return brain<S>;
    case DType::f8_e4m3: return e4m3<S>;
    case DType::f8_e5m2: return e5m2<S>;
    case DType::i64: return plain<std::int64_t, S>;
    case DType::i32: return plain<std::int32_t, S>;
    case DType::i16: return plain<std::int16_t, S>;
    case DType::i8: return plain<std::int8_t, S>;
    case DType::u64: return plain<std::uint64_t, S>;
    case DType::u32: return plain<std::uint32_t, S>;
    case DType::u16: return plain<std::uint16_t, S>;
    case DType::u8: return plain<std::uint8_t, S>;
    case DType::boolean: return truth<S>;
    default: return nullptr;
  }
}

/// One row of a plain tensor: its dimensions from `d` on, the last in the inner loop.
template <class S>
void walk(const Tensor& t, std::size_t d, const std::byte* at, S (*convert)(const std::byte*),
          S*& out) {
  const std::int64_t width = info(t.dtype).bytes;
  if (d == t.shape.size()) {
    *out++ = convert(at);
    return;
  }
  const std::int64_t step = t.strides[d] * width;
  for (std::int64_t i = 0; i < t.shape[d]; ++i) {
    if (d + 1 == t.shape.size()) {
      *out++ = convert(at + i * step);
    } else {
      walk(t, d + 1, at + i * step, convert, out);
    }
  }
}

/// A row of one dimension is one element, so a range may begin and end within a block.
template <class S>
void read_blocks(const Tensor& t, std::int64_t first, std::int64_t count, S* out) {
  const TypeInfo& type = info(t.dtype);
  const std::int64_t end = (first + count) * t.row_size();
  float values[256];
  for (std::int64_t i = first * t.row_size(); i < end;) {
    const std::int64_t skip = i % type.elements;
    const std::int64_t n = std::min(type.elements - skip, end - i);
    dequantize(t.dtype, t.data.data() + i / type.elements * type.bytes, values);
    out = std::transform(values + skip, values + skip + n, out,
                         [](float x) { return static_cast<S>(x); });
    i += n;
  }
}

template <class S>
void read_groups(const Tensor& t, std::int64_t first, std::int64_t count, S* out) {
  const std::int64_t begin = first * t.row_size();
  const std::int64_t end = begin + count * t.row_size();
  for (std::int64_t i = begin; i < end; ++i) {
    const auto scale = load<float>(t.scales.data() + i / t.group * 4);
    *out++ = static_cast<S>(static_cast<float>(load<std::int8_t>(t.data.data() + i)) * scale);
  }
}

}  // namespace

const char* name(DType dtype) { return info(dtype).name; }
std::int64_t block_elements(DType dtype) { return info(dtype).elements; }
std::int64_t block_bytes(DType dtype) { return info(dtype).bytes; }
bool is_float(DType dtype) { return info(dtype).is_float; }

std::optional<std::uint64_t> storage_bytes(DType dtype, std::uint64_t elements) {
  const auto per_block = static_cast<std::uint64_t>(block_elements(dtype));
  if (elements % per_block != 0) return {};
  const auto bytes = times(elements / per_block, static_cast<std::uint64_t>(block_bytes(dtype)));
  if (!bytes || *bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return {};
  return bytes;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const auto fail = [&path](const std::string& what) {
    throw Error(ErrorCode::file, path + ": " + what);
  };
  // O_NONBLOCK: opening a pipe must not wait for somebody to write.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  const bool known = fstat(descriptor, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  void* address = nullptr;
  if (regular && status.st_size > 0)
    address = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE,
                   descriptor, 0);
  const int reason = errno;
  close(descriptor);
  if (!known) fail(std::string("cannot be read: ") + std::strerror(reason));
  if (S_ISDIR(status.st_mode)) fail("is a folder, not a file");
  if (!regular) fail("is not a regular file");
  if (address == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(reason));
  bytes_ = {static_cast<const std::byte*>(address), static_cast<std::size_t>(status.st_size)};
}

MappedFile::MappedFile(std::string path, std::vector<std::byte> bytes)
    : path_(std::move(path)), own_(std::move(bytes)), bytes_(own_) {}

MappedFile::~MappedFile() {
  if (own_.empty() && !bytes_.empty())
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT: munmap wants it so
}

std::int64_t Tensor::elements() const {
  return static_cast<std::int64_t>(element_count(shape).value_or(0));
}

std::int64_t Tensor::row_size() const {
  if (shape.empty()) return 1;
  return static_cast<std::int64_t>(element_count(std::span(shape).subspan(1)).value_or(0));
}

bool Tensor::contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return elements() == 0;
    expected *= shape[d];
  }
  return true;
}

std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

template <class S>
void read_rows(const Tensor& tensor, std::int64_t first, std::int64_t count, S* out) {
  if (first < 0 || count < 0 || first > tensor.rows() - count)
    throw Error(ErrorCode::bad_value, tensor.name + ": rows " + std::to_string(first) + " to " +
                                          std::to_string(first + count) + " of " +
                                          std::to_string(tensor.rows()));
  if (count == 0 || tensor.elements() == 0) return;
  const auto convert = conversion<S>(tensor.dtype);
  if (convert == nullptr) {
    if (tensor.dtype == DType::groups_i8) return read_groups(tensor, first, count, out);
    return read_blocks(tensor, first, count, out);
  }
  const std::int64_t width = info(tensor.dtype).bytes;
  if (tensor.contiguous()) {
    const std::int64_t n = count * tensor.row_size();
    const std::byte* at = tensor.data.data() + first * tensor.row_size() * width;
    if (tensor.dtype == (sizeof(S) == sizeof(float) ? DType::f32 : DType::f64)) {
      std::memcpy(out, at, static_cast<std::size_t>(n * width));
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[i] = convert(at + i * width);
    }
    return;
  }
  for (std::int64_t row = first; row < first + count; ++row)
    walk(tensor, 1, tensor.data.data() + row * tensor.strides[0] * width, convert, out);
}

template void read_rows(const Tensor&, std::int64_t, std::int64_t, float*);
template void read_rows(const Tensor&, std::int64_t, std::int64_t, double*);

std::span<const float> in_place(const Tensor& tensor) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data.data()) % alignof(float) == 0;
  if (tensor.dtype != DType::f32 || !aligned || !tensor.contiguous()) return {};
  return {reinterpret_cast<const float*>(tensor.data.data()),
          static_cast<std::size_t>(tensor.elements())};
}

}  // namespace ropewalk::checkpoints
