/// safetensors: eight bytes of length, a JSON header, then the elements and nothing else.

#include <algorithm>
#include <string_view>
#include <utility>

#include "checkpoints/bytes.hpp"
#include "checkpoints/checkpoint.hpp"
#include "checkpoints/json_text.hpp"

namespace ropewalk::checkpoints {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_values = 20'000;  // of one tensor's entry, or of __metadata__

constexpr DType known[] = {DType::f64,     DType::f32, DType::f16, DType::bf16, DType::f8_e4m3,
                           DType::f8_e5m2, DType::i64, DType::i32, DType::i16,  DType::i8,
                           DType::u64,     DType::u32, DType::u16, DType::u8,   DType::boolean};

/// The header's entries, checked one by one.
class Header {
 public:
  Header(const std::shared_ptr<const MappedFile>& file, std::span<const std::byte> data)
      : file_(file), data_(data) {
    out_.path = file->path();
    out_.format = "safetensors";
    out_.files = {file->path()};
  }

  void entry(const std::string& key, const Json& value) {
    if (key == "__metadata__") {
      metadata(value);
    } else {
      tensor(key, value);
    }
  }

  /// The whole, once every byte of the data turns out to belong to exactly one tensor.
  Checkpoint finish() {
    std::sort(places_.begin(), places_.end());
    std::uint64_t covered = 0;
    for (const auto& [begin, end, name] : places_) {
      if (begin != covered)
        fail("tensor " + in_quotes(*name) + " begins at byte " + std::to_string(begin) +
             " of the data, where byte " + std::to_string(covered) + " should follow");
      covered = end;
    }
    if (covered != data_.size())
      fail("the tensors end at byte " + std::to_string(covered) + " of the data, the file at " +
           std::to_string(data_.size()));
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::parse) const {
    throw Error(code, file_->path() + ": " + what);
  }

  void metadata(const Json& value) {
    if (!value.is_object()) fail("__metadata__ is not an object");
    if (!out_.metadata.is_null()) fail("__metadata__ stands twice");
    for (const auto& [key, text] : value.items())
      if (!text.is_string()) fail("__metadata__ " + in_quotes(key) + " is not a string");
    out_.metadata = value;
  }

  const Json& member(const Json& entry, const char* key, const std::string& name) const {
    const auto found = entry.find(key);
    if (found == entry.end()) fail("tensor " + in_quotes(name) + " has no " + key);
    return *found;
  }

  std::vector<std::int64_t> numbers(const Json& list, const char* key,
                                    const std::string& name) const {
    const auto bad = [&] {
      fail("tensor " + in_quotes(name) + ": " + key + " is not a list of sizes");
    };
    if (!list.is_array()) bad();
    std::vector<std::int64_t> result;
    for (const Json& x : list) {
      if (!x.is_number_unsigned() || x.get<std::uint64_t>() > INT64_MAX) bad();
      result.push_back(x.get<std::int64_t>());
    }
    return result;
  }

  void tensor(const std::string& name, const Json& entry) {
    if (!is_name(name)) fail("a tensor has the name " + in_quotes(name) + ", which cannot be one");
    if (out_.tensors.size() >= max_tensors)
      fail("more than " + std::to_string(max_tensors) + " tensors", ErrorCode::too_large);
    if (!entry.is_object()) fail("the entry of tensor " + in_quotes(name) + " is not an object");
    for (const auto& [key, ignored] : entry.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        fail("tensor " + in_quotes(name) + " has a key " + in_quotes(key) +
             ", which the format has not");

    Tensor t;
    t.name = name;
    t.dtype = dtype(member(entry, "dtype", name), name);
    t.shape = numbers(member(entry, "shape", name), "shape", name);
    if (t.shape.size() > max_dimensions)
      fail("tensor " + in_quotes(name) + " has " + std::to_string(t.shape.size()) + " dimensions",
           ErrorCode::too_large);
    const auto offsets = numbers(member(entry, "data_offsets", name), "data_offsets", name);
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        static_cast<std::uint64_t>(offsets[1]) > data_.size())
      fail("tensor " + in_quotes(name) + ": data_offsets do not lie in the file's " +
           std::to_string(data_.size()) + " bytes of data");
    const auto begin = static_cast<std::uint64_t>(offsets[0]);
    const auto size = static_cast<std::uint64_t>(offsets[1]) - begin;
    const auto elements = element_count(t.shape);
    const auto bytes = elements ? storage_bytes(t.dtype, *elements) : std::nullopt;
    if (!bytes) fail("tensor " + in_quotes(name) + ": its shape needs more than 2^63 bytes");
    if (*bytes != size)
      fail("tensor " + in_quotes(name) + ": its shape needs " + std::to_string(*bytes) +
           " bytes, data_offsets span " + std::to_string(size));
    t.strides = row_major(t.shape);
    t.data = data_.subspan(begin, size);
    t.owner = file_;
    const auto [place, fresh] = out_.tensors.emplace(name, std::move(t));
    if (!fresh) fail("two tensors have the name " + in_quotes(name));
    places_.emplace_back(begin, begin + size, &place->first);
  }

  DType dtype(const Json& value, const std::string& name) const {
    if (!value.is_string()) fail("tensor " + in_quotes(name) + ": dtype is not a string");
    const auto& text = value.get_ref<const std::string&>();
    for (const DType type : known)
      if (text == checkpoints::name(type)) return type;
    fail("tensor " + in_quotes(name) + ": the element type " + in_quotes(text) + " is not read",
         ErrorCode::unsupported);
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> data_;
  Checkpoint out_;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, const std::string*>> places_;
};

}  // namespace

Checkpoint read_safetensors(const std::shared_ptr<const MappedFile>& file) {
  Reader reader(file->bytes(), file->path());
  const auto length = reader.number<std::uint64_t>("the length of the header");
  if (length > max_header_bytes)
    reader.fail(ErrorCode::too_large, "the header would have " + std::to_string(length) +
                                          " bytes; at most " + std::to_string(max_header_bytes) +
                                          " are read");
  const auto text = reader.take(length, "the header");
  if (text.empty() || text.front() != std::byte{'{'})
    reader.fail("the header is not a JSON object");
  Header header(file, file->bytes().subspan(reader.offset()));
  (void)parse_json(
      text, file->path() + ": header", max_values,
      [&header](const std::string& key, const Json& value) { header.entry(key, value); });
  return header.finish();
}

}  // namespace ropewalk::checkpoints
