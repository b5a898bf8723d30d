#include "checkpoints/token_file.hpp"

#include <charconv>
#include <limits>
#include <sstream>
#include <string_view>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;

namespace {

constexpr std::size_t most_ids = std::size_t{1} << 28;

class Inputs {
 public:
  explicit Inputs(std::string path) : path_(std::move(path)) {}

  void line(std::int64_t number) { line_ = number; }
  void begin() { inputs_.emplace_back(); }
  void id(double value) {
    if (!(value >= 0) || value > std::numeric_limits<std::int32_t>::max() ||
        value != static_cast<double>(static_cast<std::int64_t>(value)))
      bad("a token id is a whole number from 0 on");
    if (++ids_ > most_ids) throw Error(ErrorCode::too_large, path_ + ": more than 2^28 token ids");
    inputs_.back().push_back(static_cast<std::int32_t>(value));
  }
  [[noreturn]] void bad(const std::string& what) const {
    throw Error(ErrorCode::parse,
                path_ + (line_ > 0 ? ", line " + std::to_string(line_) : "") + ": " + what);
  }
  std::vector<Tokens> finish() {
    line_ = 0;
    std::erase_if(inputs_, [](const Tokens& tokens) { return tokens.empty(); });
    if (inputs_.empty()) bad("no token ids");
    return std::move(inputs_);
  }

 private:
  std::string path_;
  std::int64_t line_ = 0;
  std::size_t ids_ = 0;
  std::vector<Tokens> inputs_;
};

// An array of ids, or something that holds such: an object, an array of either.
void add(Inputs& inputs, const Json& value, int depth = 0) {
  if (value.is_object() && depth < 2) {
    const auto tokens = value.find("tokens");
    if (tokens == value.end()) inputs.bad("no \"tokens\"");
    return add(inputs, *tokens, 2);
  }
  if (!value.is_array()) inputs.bad("not an array of token ids");
  if (depth == 0 && !value.empty() && !value.front().is_number()) {
    for (const Json& part : value) add(inputs, part, 1);
    return;
  }
  inputs.begin();
  for (const Json& id : value) {
    if (!id.is_number()) inputs.bad("not an array of token ids");
    inputs.id(id.get<double>());
  }
}

void read_tensor(Inputs& inputs, const std::string& path) {
  const Checkpoint file = read_safetensors(std::make_shared<const MappedFile>(path));
  const Tensor& tokens = file.tensor("tokens");
  if (is_float(tokens.dtype) || tokens.shape.empty() || tokens.shape.size() > 2)
    inputs.bad("the tensor `tokens` is not one or two dimensions of whole numbers");
  const bool one = tokens.shape.size() == 1;
  std::vector<double> row(static_cast<std::size_t>(one ? tokens.elements() : tokens.row_size()));
  for (std::int64_t r = 0; r < (one ? 1 : tokens.rows()); ++r) {
    read_rows(tokens, one ? 0 : r, one ? tokens.rows() : 1, row.data());
    inputs.begin();
    for (const double id : row) inputs.id(id);
  }
}

void read_numbers(Inputs& inputs, std::string_view line) {
  inputs.begin();
  constexpr std::string_view gaps = " \t\r,";
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(gaps), line.size()));
    if (line.empty()) return;
    const std::string_view word = line.substr(0, line.find_first_of(gaps));
    std::int64_t id = 0;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), id);
    if (end.ec != std::errc{} || end.ptr != word.data() + word.size())
      inputs.bad("'" + std::string(word.substr(0, 40)) + "' is no token id");
    inputs.id(static_cast<double>(id));
    line.remove_prefix(word.size());
  }
}

}  // namespace

std::vector<Tokens> read_token_file(const std::string& path) {
  Inputs inputs(path);
  if (path.ends_with(".safetensors")) {
    read_tensor(inputs, path);
    return inputs.finish();
  }
  const MappedFile file(path);
  const auto bytes = file.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool json = path.ends_with(".json") || path.ends_with(".jsonl");
  for (std::int64_t number = 1; !text.empty(); ++number) {
    // A .json file may go over many lines.
    const std::string_view line = path.ends_with(".json") ? text : text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    inputs.line(path.ends_with(".json") ? 0 : number);
    if (!json) {
      read_numbers(inputs, line);
      continue;
    }
    if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
    const Json value = Json::parse(line, nullptr, false);
    if (value.is_discarded()) inputs.bad("not JSON");
    add(inputs, value);
  }
  return inputs.finish();
}

}  // namespace ropewalk::checkpoints
