/// GGUF: counted metadata, counted tensor entries, then aligned data.

#include "checkpoints/gguf.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "checkpoints/bytes.hpp"
#include "checkpoints/checkpoint.hpp"

namespace ropewalk::checkpoints {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t max_keys = 1 << 16;
constexpr std::uint64_t max_key_bytes = 65535;      // the format's own limit
constexpr std::uint64_t max_gguf_dimensions = 4;    // ggml's own limit
constexpr std::uint64_t max_list = 1000;            // longer lists: their length only
constexpr std::uint64_t max_list_values = 200'000;  // of all lists together
constexpr std::uint64_t max_vocabulary = 300'000;   // but for those of a vocabulary, each

/// Types of metadata values.
enum class Kind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  list,
  u64,
  i64,
  f64
};

/// The types of ggml that are read, by their number.
std::optional<DType> dtype_of(std::uint32_t type) {
  switch (type) {
    case 0: return DType::f32;
    case 1: return DType::f16;
    case 2: return DType::q4_0;
    case 3: return DType::q4_1;
    case 6: return DType::q5_0;
    case 7: return DType::q5_1;
    case 8: return DType::q8_0;
    case 12: return DType::q4_k;
    case 14: return DType::q6_k;
    case 24: return DType::i8;
    case 25: return DType::i16;
    case 26: return DType::i32;
    case 27: return DType::i64;
    case 28: return DType::f64;
    case 30: return DType::bf16;
    default: return {};
  }
}

/// Bytes of a value whose size does not depend on what it is; 0 for the others.
std::uint64_t fixed_bytes(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::boolean: return 1;
    case Kind::u16:
    case Kind::i16: return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32: return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::f64: return 8;
    default: return 0;
  }
}

class Parser {
 public:
  explicit Parser(const std::shared_ptr<const MappedFile>& file)
      : file_(file), reader_(file->bytes(), file->path()) {
    out_.path = file->path();
    out_.format = "gguf";
    out_.files = {file->path()};
    out_.metadata = Json::object();
  }

  Checkpoint read() {
    if (reader_.text(4, "the magic") != "GGUF") reader_.fail("not a GGUF file");
    const auto version = reader_.number<std::uint32_t>("the version");
    if (version != 2 && version != 3)
      reader_.fail(ErrorCode::unsupported,
                   version > 0 && version % 65536 == 0
                       ? std::string("big-endian GGUF is not read")
                       : "GGUF version " + std::to_string(version) + " is not read (2 and 3 are)");
    const auto tensors = reader_.number<std::uint64_t>("the number of tensors");
    const auto keys = reader_.number<std::uint64_t>("the number of keys");
    if (tensors > max_tensors)
      reader_.fail(ErrorCode::too_large, std::to_string(tensors) + " tensors; at most " +
                                             std::to_string(max_tensors) + " are read");
    if (keys > max_keys)
      reader_.fail(ErrorCode::too_large, std::to_string(keys) + " metadata keys; at most " +
                                             std::to_string(max_keys) + " are read");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    if (const auto parts = out_.metadata.find("split.count");
        parts != out_.metadata.end() && *parts != 1)
      throw Error(ErrorCode::unsupported,
                  file_->path() + ": one part of a split GGUF; merge the parts first");
    for (std::uint64_t i = 0; i < tensors; ++i) read_entry();
    place_data();
    config_from_gguf(out_);
    return std::move(out_);
  }

 private:
  struct Entry {
    Tensor tensor;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  std::string_view string(const char* what, std::uint64_t cap) {
    const auto length = reader_.number<std::uint64_t>(what);
    if (length > cap)
      reader_.fail(length > reader_.left() ? ErrorCode::parse : ErrorCode::too_large,
                   std::string(what) + " would have " + std::to_string(length) + " bytes");
    return reader_.text(length, what);
  }

  Kind kind(std::uint32_t number) const {
    if (number > static_cast<std::uint32_t>(Kind::f64))
      reader_.fail("metadata type " + std::to_string(number) + " does not exist");
    return static_cast<Kind>(number);
  }

  Json value(Kind kind) {
    constexpr const char* what = "a metadata value";
    switch (kind) {
      case Kind::u8: return reader_.number<std::uint8_t>(what);
      case Kind::i8: return reader_.number<std::int8_t>(what);
      case Kind::u16: return reader_.number<std::uint16_t>(what);
      case Kind::i16: return reader_.number<std::int16_t>(what);
      case Kind::u32: return reader_.number<std::uint32_t>(what);
      case Kind::i32: return reader_.number<std::int32_t>(what);
      case Kind::u64: return reader_.number<std::uint64_t>(what);
      case Kind::i64: return reader_.number<std::int64_t>(what);
      case Kind::f32: return shortest(reader_.number<float>(what));
      case Kind::f64: return reader_.number<double>(what);
      case Kind::boolean: {
        const auto byte = reader_.number<std::uint8_t>(what);
        if (byte > 1) reader_.fail("a truth value is " + std::to_string(byte));
        return byte == 1;
      }
      case Kind::string: return as_utf8(string(what, reader_.left()));
      case Kind::list: return list(max_list);
    }
    return {};
  }

  /// The elements, or {"length": n} for a list of more than `most`.
  Json list(std::uint64_t most) {
    const Kind element = kind(reader_.number<std::uint32_t>("the type of a list"));
    const auto length = reader_.number<std::uint64_t>("the length of a list");
    if (element == Kind::list) reader_.fail(ErrorCode::unsupported, "a list of lists is not read");
    const std::uint64_t least = element == Kind::string ? 8 : fixed_bytes(element);
    if (length > reader_.left() / least)
      reader_.fail("a list of " + std::to_string(length) + " elements goes beyond the end");
    if (length > most) {
      if (element == Kind::string) {
        for (std::uint64_t i = 0; i < length; ++i) (void)string("a string", reader_.left());
      } else {
        (void)reader_.take(length * least, "a list");
      }
      return {{"length", length}};
    }
    if (most == max_list) list_values_ += length;
    if (list_values_ > max_list_values)
      reader_.fail(ErrorCode::too_large,
                   "more than " + std::to_string(max_list_values) + " values in lists of metadata");
    Json values = Json::array();
    for (std::uint64_t i = 0; i < length; ++i) values.push_back(value(element));
    return values;
  }

  void read_key() {
    const auto text = string("a metadata key", max_key_bytes);
    if (!is_utf8(text)) reader_.fail("the metadata key " + in_quotes(text) + " is not UTF-8");
    const std::string key(text);
    if (out_.metadata.contains(key))
      reader_.fail("the metadata key " + in_quotes(key) + " stands twice");
    const Kind type = kind(reader_.number<std::uint32_t>("the type of a key"));
    const bool vocabulary = key == "tokenizer.ggml.tokens" || key == "tokenizer.ggml.scores" ||
                            key == "tokenizer.ggml.token_type";
    out_.metadata[key] = vocabulary && type == Kind::list ? list(max_vocabulary) : value(type);
  }

  void read_entry() {
    const auto name = string("the name of a tensor", max_name_bytes);
    if (!is_name(name))
      reader_.fail("a tensor has the name " + in_quotes(name) + ", which cannot be one");
    Entry entry;
    entry.tensor.name = name;
    const auto dimensions = reader_.number<std::uint32_t>("the number of dimensions");
    if (dimensions > max_gguf_dimensions)
      reader_.fail(ErrorCode::too_large, "tensor " + in_quotes(name) + " has " +
                                             std::to_string(dimensions) + " dimensions");
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const auto size = reader_.number<std::uint64_t>("a dimension");
      if (size > INT64_MAX)
        reader_.fail("tensor " + in_quotes(name) + " has a dimension " + std::to_string(size));
      entry.tensor.shape.insert(entry.tensor.shape.begin(), static_cast<std::int64_t>(size));
    }
    const auto type = reader_.number<std::uint32_t>("a tensor's type");
    const auto dtype = dtype_of(type);
    if (!dtype)
      reader_.fail(ErrorCode::unsupported, "tensor " + in_quotes(name) + " has the ggml type " +
                                               std::to_string(type) + ", which is not read");
    entry.tensor.dtype = *dtype;
    const auto elements = element_count(entry.tensor.shape);
    const auto row = entry.tensor.shape.empty() ? 1 : entry.tensor.shape.back();
    const auto bytes = elements ? storage_bytes(*dtype, *elements) : std::nullopt;
    if (!bytes || row % block_elements(*dtype) != 0)
      reader_.fail("tensor " + in_quotes(name) + ": its shape does not fit the type " +
                   checkpoints::name(*dtype));
    entry.bytes = *bytes;
    entry.offset = reader_.number<std::uint64_t>("the place of a tensor");
    entry.tensor.strides = row_major(entry.tensor.shape);
    entry.tensor.owner = file_;
    entries_.push_back(std::move(entry));
  }

  std::uint64_t alignment() const {
    const auto found = out_.metadata.find("general.alignment");
    if (found == out_.metadata.end()) return 32;
    const auto value = found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
    if (value == 0 || value > 65536 || (value & (value - 1)) != 0)
      throw Error(ErrorCode::bad_value,
                  file_->path() + ": general.alignment is not a power of two up to 65536");
    return value;
  }

  void place_data() {
    const std::uint64_t align = alignment();
    const std::uint64_t total = file_->bytes().size();
    const std::uint64_t start = std::min((reader_.offset() + align - 1) / align * align, total);
    const auto fail = [&](const Entry& entry, const std::string& what) {
      throw Error(ErrorCode::parse,
                  file_->path() + ": tensor " + in_quotes(entry.tensor.name) + ": " + what);
    };
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    std::uint64_t free = 0;
    for (Entry& entry : entries_) {
      const auto end = plus(entry.offset, entry.bytes);
      if (!end || *end > total - start)
        fail(entry, "its " + std::to_string(entry.bytes) + " bytes from offset " +
                        std::to_string(entry.offset) + " of the data go beyond the " +
                        std::to_string(total - start) + " that the file has");
      if (entry.offset % align != 0)
        fail(entry, "offset " + std::to_string(entry.offset) + " is no multiple of " +
                        std::to_string(align));
      if (entry.offset < free) fail(entry, "overlaps the tensor before it");
      free = *end;
      entry.tensor.data = file_->bytes().subspan(start + entry.offset, entry.bytes);
      std::string name = entry.tensor.name;
      if (!out_.tensors.emplace(name, std::move(entry.tensor)).second)
        throw Error(ErrorCode::parse,
                    file_->path() + ": two tensors have the name " + in_quotes(name));
    }
  }

  std::shared_ptr<const MappedFile> file_;
  Reader reader_;
  Checkpoint out_;
  std::vector<Entry> entries_;
  std::uint64_t list_values_ = 0;
};

}  // namespace

Json shortest(float x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), x).ptr;
  double value = 0;
  std::from_chars(std::begin(text), end, value);
  return value;
}

Checkpoint read_gguf(const std::shared_ptr<const MappedFile>& file) { return Parser(file).read(); }

}  // namespace ropewalk::checkpoints
