/// PyTorch: a pickle of the objects, and the bytes of their storages, either as members of a ZIP
/// archive or, in the layout before version 1.6, behind the pickle in the same file.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "checkpoints/bytes.hpp"
#include "checkpoints/checkpoint.hpp"
#include "checkpoints/pickle.hpp"
#include "checkpoints/zip.hpp"

namespace ropewalk::checkpoints {

namespace {

using Json = nlohmann::json;
using Kind = PickleValue::Kind;

constexpr int max_nesting = 32;
constexpr std::uint64_t max_objects = 1'000'000;  // visited, the shared ones each time
constexpr std::size_t max_notes = 1000;           // entries that are no tensors
constexpr std::size_t max_note_bytes = 1000;

constexpr std::string_view legacy_magic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t legacy_protocol = 1001;

/// Names for the objects below the root, tensors among them: keys joined by ".".
class Flattener {
 public:
  Flattener(Checkpoint& out, const Pickle& pickle, const std::vector<Member>& storages)
      : out_(out), pickle_(pickle), storages_(storages) {}

  void run() {
    visit(pickle_.root, "", 0);
    if (skipped_ > 0)
      out_.findings.push_back(
          {"pytorch.skipped", "note",
           "entries left out that are no tensors: " + std::to_string(skipped_)});
  }

 private:
  [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::parse) const {
    throw Error(code, out_.path + ": " + what);
  }

  void visit(PickleValue value, const std::string& name, int depth) {
    if (++visited_ > max_objects)
      fail("more than " + std::to_string(max_objects) + " objects", ErrorCode::too_large);
    if (depth > max_nesting)
      fail(in_quotes(name) + ": nested beyond " + std::to_string(max_nesting) + " levels");
    switch (value.kind) {
      case Kind::tensor: return tensor(pickle_.tensors[value.index], name);
      case Kind::dictionary: return dictionary(value, name, depth);
      case Kind::tuple:
      case Kind::list: {
        std::size_t i = 0;
        for (const PickleValue item : pickle_.items(value))
          visit(item, below(name, std::to_string(i++)), depth + 1);
        return;
      }
      case Kind::boolean: return note(name, value.integer != 0);
      case Kind::integer: return note(name, value.integer);
      case Kind::real: return note(name, value.real);
      case Kind::text: return note(name, as_utf8(pickle_.text(value).substr(0, max_note_bytes)));
      case Kind::none:
      case Kind::raw:
      case Kind::name:
      case Kind::storage:
      case Kind::other: ++skipped_; return;
    }
  }

  void dictionary(PickleValue value, const std::string& name, int depth) {
    const auto& items = pickle_.items(value);
    std::set<std::string> keys;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      std::string key;
      if (items[i].kind == Kind::text) {
        key = pickle_.text(items[i]);
      } else if (items[i].kind == Kind::integer) {
        key = std::to_string(items[i].integer);
      } else {
        ++skipped_;
        continue;
      }
      if (!is_name(key)) fail("the key " + in_quotes(key) + " cannot be the name of a tensor");
      if (!keys.insert(key).second)
        fail("the key " + in_quotes(below(name, key)) + " stands twice");
      visit(items[i + 1], below(name, key), depth + 1);
    }
  }

  [[nodiscard]] std::string below(const std::string& name, const std::string& key) const {
    std::string result = name.empty() ? key : name + "." + key;
    if (result.size() > max_name_bytes)
      fail("the name " + in_quotes(result) + " is longer than " + std::to_string(max_name_bytes) +
               " bytes",
           ErrorCode::too_large);
    return result;
  }

  void note(const std::string& name, Json value) {
    if (name.empty() || out_.metadata.size() >= max_notes) {
      ++skipped_;
      return;
    }
    out_.metadata[name] = std::move(value);
  }

  void tensor(const PickledTensor& source, const std::string& key) {
    // A file may hold one tensor and nothing around it.
    const std::string name = key.empty() ? "tensor" : key;
    if (out_.tensors.size() >= max_tensors)
      fail("more than " + std::to_string(max_tensors) + " tensors", ErrorCode::too_large);
    Tensor t;
    t.name = name;
    t.dtype = source.dtype;
    t.shape = source.shape;
    t.strides = source.strides;
    const Member& storage = storages_[source.storage];
    t.data = storage.bytes.subspan(source.offset *
                                   static_cast<std::uint64_t>(block_bytes(source.dtype)));
    t.owner = storage.owner;
    if (!out_.tensors.emplace(name, std::move(t)).second)
      fail("two tensors have the name " + in_quotes(name));
  }

  Checkpoint& out_;
  const Pickle& pickle_;
  const std::vector<Member>& storages_;
  std::uint64_t visited_ = 0;
  std::uint64_t skipped_ = 0;
};

Checkpoint start(const std::shared_ptr<const MappedFile>& file) {
  Checkpoint out;
  out.path = file->path();
  out.format = "pytorch";
  out.files = {file->path()};
  out.metadata = Json::object();
  return out;
}

std::uint64_t bytes_of(const PickledStorage& storage, const std::string& path) {
  const auto bytes = storage_bytes(storage.dtype, storage.elements);
  if (!bytes)
    throw Error(ErrorCode::parse, path + ": storage " + in_quotes(storage.key) + " would have " +
                                      std::to_string(storage.elements) + " elements");
  return *bytes;
}

// ------------------------------------------------------------------------------------- archives

Checkpoint read_archive(const std::shared_ptr<const MappedFile>& file) {
  const std::string& path = file->path();
  ZipArchive archive(file);
  std::string root;
  std::size_t roots = 0;
  for (const std::string& name : archive.names())
    if (name == "data.pkl" || (name.ends_with("/data.pkl") && name.find('/') == name.rfind('/'))) {
      root = name.substr(0, name.size() - std::string_view("data.pkl").size());
      ++roots;
    }
  if (roots != 1)
    throw Error(ErrorCode::parse, path + ": a ZIP archive, but not one of PyTorch: " +
                                      (roots == 0 ? "no" : "more than one") + " data.pkl");
  const auto names = archive.names();
  const bool code = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(root + "code/");
  });
  if (code || archive.contains(root + "constants.pkl"))
    throw Error(ErrorCode::unsupported,
                path + ": a TorchScript program, not weights; save its state_dict instead");
  if (archive.contains(root + "byteorder")) {
    const auto order = archive.member(root + "byteorder", true).bytes;
    if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) != "little")
      throw Error(ErrorCode::unsupported, path + ": its numbers are not little-endian");
  }

  const Member objects = archive.member(root + "data.pkl", true);
  Reader reader(objects.bytes, path + ": data.pkl");
  const Pickle pickle = read_pickle(reader);
  std::vector<Member> storages;
  for (const PickledStorage& storage : pickle.storages) {
    const std::string name = root + "data/" + std::string(storage.key);
    storages.push_back(archive.member(name, false));
    if (storages.back().bytes.size() != bytes_of(storage, path))
      throw Error(ErrorCode::parse, path + ": storage " + in_quotes(storage.key) + " has " +
                                        std::to_string(storages.back().bytes.size()) +
                                        " bytes, its tensors want " +
                                        std::to_string(bytes_of(storage, path)));
  }
  Checkpoint out = start(file);
  Flattener(out, pickle, storages).run();
  return out;
}

// --------------------------------------------------------------------------------------- legacy

/// {'protocol_version': 1001, 'little_endian': True, 'type_sizes': {...}}.
void check_system(const Pickle& pickle, const std::string& path) {
  if (pickle.root.kind != Kind::dictionary)
    throw Error(ErrorCode::parse, path + ": not a file of PyTorch: no description of the machine");
  const auto& items = pickle.items(pickle.root);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::text && pickle.text(items[i]) == "little_endian" &&
        items[i + 1].kind == Kind::boolean && items[i + 1].integer == 0)
      throw Error(ErrorCode::unsupported, path + ": its numbers are not little-endian");
}

Checkpoint read_legacy(const std::shared_ptr<const MappedFile>& file) {
  const std::string& path = file->path();
  Reader reader(file->bytes(), path);
  const Pickle magic = read_pickle(reader);
  if (magic.root.kind != Kind::raw || magic.text(magic.root) != legacy_magic)
    throw Error(ErrorCode::parse, path + ": a pickle, but not one that PyTorch wrote");
  const Pickle protocol = read_pickle(reader);
  if (protocol.root.kind != Kind::integer || protocol.root.integer != legacy_protocol)
    reader.fail(ErrorCode::unsupported, "another version of PyTorch's legacy layout");
  check_system(read_pickle(reader), path);
  const Pickle pickle = read_pickle(reader);
  const Pickle keys = read_pickle(reader);
  if (keys.root.kind != Kind::list) reader.fail("no list of storages");

  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < pickle.storages.size(); ++i) index[pickle.storages[i].key] = i;
  std::vector<Member> storages(pickle.storages.size());
  std::vector<bool> seen(pickle.storages.size());
  for (const PickleValue key : keys.items(keys.root)) {
    if (key.kind != Kind::text) reader.fail("the key of a storage is not text");
    const auto found = index.find(keys.text(key));
    if (found == index.end() || seen[found->second])
      reader.fail("storage " + in_quotes(keys.text(key)) +
                  (found == index.end() ? " belongs to no tensor" : " stands twice"));
    const PickledStorage& storage = pickle.storages[found->second];
    if (const auto elements = reader.number<std::uint64_t>("the length of a storage");
        elements != storage.elements)
      reader.fail("storage " + in_quotes(storage.key) + " has " + std::to_string(elements) +
                  " elements, its tensors want " + std::to_string(storage.elements));
    storages[found->second] = {reader.take(bytes_of(storage, path), "a storage"), file};
    seen[found->second] = true;
  }
  if (const auto missing = std::find(seen.begin(), seen.end(), false); missing != seen.end())
    reader.fail("storage " +
                in_quotes(pickle.storages[static_cast<std::size_t>(missing - seen.begin())].key) +
                " is missing");
  if (reader.left() != 0) reader.fail("bytes behind the last storage");
  Checkpoint out = start(file);
  Flattener(out, pickle, storages).run();
  return out;
}

}  // namespace

Checkpoint read_pytorch(const std::shared_ptr<const MappedFile>& file) {
  const auto bytes = file->bytes();
  const bool zip = bytes.size() >= 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'};
  return zip ? read_archive(file) : read_legacy(file);
}

}  // namespace ropewalk::checkpoints
