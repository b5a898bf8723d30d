#include "checkpoints/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoints/bytes.hpp"
#include "checkpoints/json_text.hpp"
#include "checkpoints/llama2c.hpp"

namespace ropewalk::checkpoints {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using File = std::shared_ptr<const MappedFile>;

constexpr std::uint64_t max_config_bytes = std::uint64_t{4} << 20;
constexpr std::size_t max_config_values = 100'000;
constexpr std::size_t max_index_values = 250'000;
constexpr std::size_t max_shards = 10'000;

constexpr std::string_view index_ending = ".index.json";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Json read_json_file(const fs::path& path, std::uint64_t max_bytes, std::size_t max_values) {
  const MappedFile file(path.string());
  if (file.bytes().size() > max_bytes)
    throw Error(ErrorCode::too_large,
                path.string() + ": larger than " + std::to_string(max_bytes) + " bytes");
  Json json = parse_json(file.bytes(), path.string(), max_values);
  if (!json.is_object()) throw Error(ErrorCode::parse, path.string() + ": not a JSON object");
  return json;
}

void read_config(Checkpoint& checkpoint, const fs::path& folder) {
  const fs::path path = folder / "config.json";
  if (!is_there(path)) {
    checkpoint.findings.push_back(
        {"config.absent", "warning",
         "no config.json beside the weights: they can be listed, but not understood"});
    return;
  }
  checkpoint.config = read_json_file(path, max_config_bytes, max_config_values);
  checkpoint.config_source = path.string();
}

/// What a file is, by its first bytes.
Checkpoint read_file(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  if (text.empty()) throw Error(ErrorCode::parse, path + ": empty");
  // The length of a safetensors header may look like the beginning of anything else.
  if (std::uint64_t header = 0; text.size() > 8 && text[8] == '{') {
    std::memcpy(&header, text.data(), sizeof header);
    if (header <= text.size() - 8) return read_safetensors(file);
  }
  if (text.starts_with("GGUF")) return read_gguf(file);
  if (text.starts_with("PK")) return read_pytorch(file);
  if (text.starts_with(llama2c_magic)) return read_llama2c(file);
  if (text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
    return read_pytorch(file);
  if (text.size() > 8 && text[8] == '{') return read_safetensors(file);
  if (llama2c_header(file->bytes())) return read_llama2c(file);
  throw Error(ErrorCode::parse, path + ": begins like no model file that is read (safetensors, " +
                                    "GGUF, PyTorch, llama2.c): " + in_quotes(text.substr(0, 16)));
}

/// The name of a shard is a name and not a way out of the folder.
void check_shard_name(const std::string& name, const std::string& index) {
  if (!is_name(name) || name.find_first_of("/\\") != std::string::npos || name == "." ||
      name == "..")
    throw Error(ErrorCode::parse,
                index + ": the shard name " + in_quotes(name) + " is not the name of a file");
}

/// {"weight_map": {tensor: shard, ...}}.
Checkpoint read_index(const fs::path& path) {
  const std::string index = path.string();
  const Json json = read_json_file(path, max_header_bytes, max_index_values);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    throw Error(ErrorCode::parse, index + ": weight_map is absent or not an object");
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string())
      throw Error(ErrorCode::parse, index + ": the shard of " + in_quotes(tensor) + " is not text");
    check_shard_name(shard.get_ref<const std::string&>(), index);
    shards.insert(shard.get<std::string>());
    if (shards.size() > max_shards)
      throw Error(ErrorCode::too_large,
                  index + ": more than " + std::to_string(max_shards) + " shards");
  }

  Checkpoint out;
  out.metadata = Json::object();
  out.files = {index};
  std::size_t extra = 0;
  for (const std::string& shard : shards) {
    const fs::path file = path.parent_path() / shard;
    if (!is_there(file))
      throw Error(ErrorCode::file, index + ": the shard " + in_quotes(shard) + " is missing");
    Checkpoint part = read_file(file.string());
    if (out.format.empty()) out.format = part.format;
    if (part.format != out.format)
      throw Error(ErrorCode::conflict, index + ": the shard " + in_quotes(shard) + " is " +
                                           part.format + ", others are " + out.format);
    for (auto& [name, tensor] : part.tensors) {
      const auto listed = map->find(name);
      if (listed == map->end()) ++extra;
      if (!out.tensors.emplace(name, std::move(tensor)).second)
        throw Error(ErrorCode::conflict, index + ": two shards hold the tensor " + in_quotes(name));
      if (listed != map->end() && *listed != shard)
        throw Error(ErrorCode::conflict, index + ": tensor " + in_quotes(name) + " is in " + shard +
                                             ", the index says " + listed->get<std::string>());
    }
    out.files.push_back(file.string());
    out.findings.insert(out.findings.end(), part.findings.begin(), part.findings.end());
    if (part.metadata.is_object()) out.metadata.update(part.metadata);
  }
  for (const auto& [tensor, shard] : map->items())
    if (!out.tensors.contains(tensor))
      throw Error(ErrorCode::parse, index + ": tensor " + in_quotes(tensor) + " is not in " +
                                        shard.get<std::string>());
  if (extra > 0)
    out.findings.push_back(
        {"index.extra", "warning",
         index + ": does not list " + std::to_string(extra) + " tensors that its shards hold"});
  return out;
}

Checkpoint read_folder(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    const fs::path path = folder / name;
    if (!is_there(path)) continue;
    Checkpoint out =
        path.string().ends_with(index_ending) ? read_index(path) : read_file(path.string());
    if (out.config.is_null()) read_config(out, folder);
    return out;
  }
  throw Error(ErrorCode::file, folder.string() +
                                   ": neither model.safetensors nor pytorch_model.bin, nor an "
                                   "index of shards, in this folder");
}

}  // namespace

const Tensor* Checkpoint::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

const Tensor& Checkpoint::tensor(const std::string& name) const {
  const Tensor* found = find(name);
  if (found == nullptr) throw Error(ErrorCode::bad_value, path + ": no tensor " + in_quotes(name));
  return *found;
}

Checkpoint open_checkpoint(const std::string& path) {
  std::error_code ignored;
  const fs::path given(path);
  Checkpoint out;
  if (fs::is_directory(given, ignored)) {
    out = read_folder(given);
  } else {
    out = path.ends_with(index_ending) ? read_index(given) : read_file(path);
    const bool has_header = out.format == "gguf" || out.format == "llama2.c";
    if (!has_header) read_config(out, given.parent_path());
  }
  out.path = path;
  return out;
}

}  // namespace ropewalk::checkpoints
