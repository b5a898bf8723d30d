#pragma once
/// \file
/// Small model files, written byte by byte in the test that reads them.

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoints/checkpoint.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

namespace ropewalk::tests {

using namespace checkpoints;

/// The bytes of numbers, one after another.
template <class T, class... More>
std::string raw(T first, More... more) {
  std::string out(sizeof first, '\0');
  std::memcpy(out.data(), &first, sizeof first);
  if constexpr (sizeof...(more) > 0) out += raw(more...);
  return out;
}

inline std::shared_ptr<const MappedFile> in_memory(const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return std::make_shared<const MappedFile>("FILE",
                                            std::vector<std::byte>(data, data + bytes.size()));
}

/// An empty folder that goes when the test does.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("ropewalk-checkpoints-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  /// The path of a new file with this content.
  [[nodiscard]] std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Expects an Error with this code and one line that says `part`.
template <class Action>
void refuses(ErrorCode code, const std::string& part, Action action) {
  try {
    action();
  } catch (const Error& error) {
    CAPTURE(error.what(), part);
    CHECK(error.code() == code);
    CHECK(std::string(error.what()).find(part) != std::string::npos);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return;
  }
  FAIL("not refused; expected: " << part);
}

/// Expects some Error, in one line.
template <class Action>
void refuses_any(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return;
  }
  FAIL("not refused");
}

/// All elements.
inline std::vector<double> values(const Tensor& t) {
  std::vector<double> out(static_cast<std::size_t>(t.elements()));
  read_rows(t, 0, t.rows(), out.data());
  return out;
}

// ---------------------------------------------------------------------------------- safetensors

inline std::string safetensors(const std::string& header, const std::string& data) {
  return raw(std::uint64_t{header.size()}) + header + data;
}

/// A float32 tensor as an entry of a header.
inline std::string entry(const std::string& name, const std::string& shape, std::size_t begin,
                         std::size_t end, const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

// ----------------------------------------------------------------------------------------- GGUF

class GgufWriter {
 public:
  static std::string text(const std::string& s) { return raw(std::uint64_t{s.size()}) + s; }

  GgufWriter& key(const std::string& name, std::uint32_t type, const std::string& value) {
    keys_ += text(name) + raw(type) + value;
    ++key_count_;
    return *this;
  }
  GgufWriter& string(const std::string& name, const std::string& value) {
    return key(name, 8, text(value));
  }
  GgufWriter& number(const std::string& name, std::uint32_t value) {
    return key(name, 4, raw(value));
  }
  GgufWriter& real(const std::string& name, float value) { return key(name, 6, raw(value)); }
  /// Dimensions as GGUF has them: the innermost first. The data follow those before, aligned.
  GgufWriter& tensor(const std::string& name, const std::vector<std::uint64_t>& dimensions,
                     std::uint32_t type, const std::string& data) {
    data_.resize((data_.size() + 31) / 32 * 32);
    entry(name, dimensions, type, data_.size());
    data_ += data;
    return *this;
  }
  /// An entry alone.
  GgufWriter& entry(const std::string& name, const std::vector<std::uint64_t>& dimensions,
                    std::uint32_t type, std::uint64_t offset) {
    entries_ += text(name) + raw(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t d : dimensions) entries_ += raw(d);
    entries_ += raw(type, offset);
    ++tensor_count_;
    return *this;
  }
  [[nodiscard]] std::string bytes(std::uint32_t version = 3) const {
    std::string out = "GGUF" + raw(version, tensor_count_, key_count_) + keys_ + entries_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

 private:
  std::string keys_;
  std::string entries_;
  std::string data_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

// -------------------------------------------------------------------------------------- pickles

inline std::string pickled(const std::string& s) {
  return "X" + raw(static_cast<std::uint32_t>(s.size())) + s;
}
inline std::string pickled(int n) { return "J" + raw(std::int32_t{n}); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string pickled_sizes(const std::vector<int>& sizes) {
  std::string out = "(";
  for (const int n : sizes) out += pickled(n);
  return out + "t";
}
/// A tensor of the storage `key` with `elements` elements.
inline std::string pickled_tensor(const std::string& key, int elements, int offset,
                                  const std::vector<int>& shape, const std::vector<int>& strides,
                                  const std::string& storage = "FloatStorage") {
  return global("torch._utils", "_rebuild_tensor_v2") + "((" + pickled("storage") +
         global("torch", storage) + pickled(key) + pickled("cpu") + pickled(elements) + "tQ" +
         pickled(offset) + pickled_sizes(shape) + pickled_sizes(strides) + "\x89" +
         global("collections", "OrderedDict") + ")RtR";
}
/// {name: object, ...} as a whole pickle.
inline std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "\x80\x02}(";
  for (const auto& [name, object] : items) out += pickled(name) + object;
  return out + "u.";
}

/// PyTorch's layout before 1.6 around a pickle and its storages.
inline std::string legacy(const std::string& pickle,
                          const std::vector<std::pair<std::string, std::string>>& storages,
                          std::size_t width = 4) {
  std::string out("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  out += "\x80\x02M\xe9\x03.";
  out += "\x80\x02}(" + pickled("little_endian") + "\x88u.";
  out += pickle + "\x80\x02](";
  for (const auto& [key, data] : storages) out += pickled(key);
  out += "e.";
  for (const auto& [key, data] : storages) out += raw(std::uint64_t{data.size() / width}) + data;
  return out;
}

// ------------------------------------------------------------------------------------------ ZIP

struct ZipMember {
  std::string name;
  std::string data;
  bool deflated = false;
};

inline std::string deflated(const std::string& data) {
  std::string out(data.size() + data.size() / 1000 + 64, '\0');
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zip(const std::vector<ZipMember>& members) {
  std::string out;
  std::string directory;
  for (const ZipMember& m : members) {
    const std::string packed = m.deflated ? deflated(m.data) : m.data;
    const auto checksum = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(m.data.data()), m.data.size()));
    const std::string common =
        raw(std::uint16_t{20}, std::uint16_t{0}, std::uint16_t(m.deflated ? 8 : 0),
            std::uint32_t{0}, checksum, static_cast<std::uint32_t>(packed.size()),
            static_cast<std::uint32_t>(m.data.size()), static_cast<std::uint16_t>(m.name.size()),
            std::uint16_t{0});
    directory += raw(std::uint32_t{0x02014b50}, std::uint16_t{20}) + common +
                 raw(std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, std::uint32_t{0},
                     static_cast<std::uint32_t>(out.size())) +
                 m.name;
    out += raw(std::uint32_t{0x04034b50}) + common + m.name + packed;
  }
  return out + directory +
         raw(std::uint32_t{0x06054b50}, std::uint16_t{0}, std::uint16_t{0},
             static_cast<std::uint16_t>(members.size()), static_cast<std::uint16_t>(members.size()),
             static_cast<std::uint32_t>(directory.size()), static_cast<std::uint32_t>(out.size()),
             std::uint16_t{0});
}

/// A PyTorch archive.
inline std::string archive(const std::string& pickle,
                           const std::map<std::string, std::string>& storages,
                           bool compressed = false) {
  std::vector<ZipMember> members = {{"model/data.pkl", pickle, compressed}};
  for (const auto& [key, data] : storages)
    members.push_back({"model/data/" + key, data, compressed});
  members.push_back({"model/version", "3\n", false});
  return zip(members);
}

// ------------------------------------------------------------------------------------- llama2.c

/// A legacy llama2.c file of the smallest sizes: width 4, 2 heads, 1 layer, weights 0, 1, 2, ...
inline std::string tiny_llama2c(int vocabulary = 3) {
  std::string out = raw(4, 6, 1, 2, 1, vocabulary, 5);
  const int rows = vocabulary < 0 ? -vocabulary : vocabulary;
  const int count =
      rows * 4 + 4 + 16 + 8 + 8 + 16 + 4 + 24 + 24 + 24 + 4 + 10 + (vocabulary < 0 ? rows * 4 : 0);
  for (int i = 0; i < count; ++i) out += raw(static_cast<float>(i));
  return out;
}

/// A file from the data beside the checkout, skipped where that is absent.
inline std::string shared(const std::string& name) {
  const std::string path = ROPEWALK_SHARED_DIR "/" + name;
  if (std::filesystem::exists(path)) return path;
  skipped("no " + name + " beside the checkout");
  return {};
}

}  // namespace ropewalk::tests
