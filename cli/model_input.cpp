#include "cli/model_input.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include "checkpoints/token_file.hpp"
#include "checkpoints/tokenizer.hpp"
#include "cli/json_file.hpp"

namespace ropewalk::cli {

using namespace checkpoints;

namespace {

std::int64_t whole(std::string_view flag, const std::string& text, std::int64_t least,
                   std::int64_t most, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  const theory::Integer value = parse_integer(flag, text);
  if (value < least || value > most)
    throw Error(ErrorCode::bad_value, std::string(flag) + " must lie in " + std::to_string(least) +
                                          ".." + std::to_string(most) + ", not " + value.str());
  return static_cast<std::int64_t>(value);
}

Tokenizer find_tokenizer(const InputArguments& arguments, const Model& model) {
  const std::string folder = model.checkpoint->path;
  if (!arguments.tokenizer.empty()) {
    if (arguments.tokenizer.ends_with(".json"))
      return Tokenizer::from_json(read_json(arguments.tokenizer), arguments.tokenizer);
    const MappedFile file(arguments.tokenizer);
    return Tokenizer::from_llama2c(file.bytes(), model.vocabulary, arguments.tokenizer);
  }
  if (std::filesystem::is_directory(folder)) {
    const std::string path = (std::filesystem::path(folder) / "tokenizer.json").string();
    if (std::filesystem::exists(path)) return Tokenizer::from_json(read_json(path), path);
  }
  if (model.checkpoint->format == "gguf")
    return Tokenizer::from_gguf(model.checkpoint->metadata, folder);
  throw Error(ErrorCode::usage, "--text: " + folder +
                                    " has no tokenizer.json; name one with --tokenizer FILE, or "
                                    "give token ids with --tokens");
}

}  // namespace

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}

void add_inputs(CLI::App& app, InputArguments& arguments) {
  app.add_option("--tokens", arguments.tokens,
                 "Token ids: .safetensors (tensor `tokens`), .json, .jsonl, or text with one input "
                 "per line")
      ->type_name("FILE");
  app.add_option("--text", arguments.text, "A text, through the model's tokenizer")
      ->type_name("FILE");
  app.add_option("--tokenizer", arguments.tokenizer,
                 "tokenizer.json or llama2.c's tokenizer file (default: the one in the folder or "
                 "the GGUF file)")
      ->type_name("FILE");
  app.add_option("--task", arguments.task, "Inputs of a task")
      ->check(CLI::IsMember({"number", "letter", "index", "retrieval", "mixed"}))
      ->type_name("KIND");
  app.add_option("--count", arguments.count, "With --task: how many inputs (100)")->type_name("N");
  app.add_option("--seed", arguments.seed, "With --task: seed (0)")->type_name("S");
  app.add_option("--added", arguments.added, "With --task: symbols before the window (0)")
      ->type_name("K");
}

bool names_inputs(const InputArguments& a) {
  for (const std::string* value :
       {&a.tokens, &a.text, &a.tokenizer, &a.task, &a.count, &a.seed, &a.added})
    if (!value->empty()) return true;
  return false;
}

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

tasks::Options task_options(const std::string& kind, const std::string& count,
                            const std::string& seed, std::int64_t otherwise) {
  tasks::Options options;
  options.kind = *tasks::kind_of(kind);
  options.count = whole("--count", count, 1, 10'000'000, otherwise);
  options.seed = static_cast<std::uint64_t>(
      whole("--seed", seed, 0, std::numeric_limits<std::int64_t>::max(), 0));
  return options;
}

Inputs read_inputs(const InputArguments& a, const Model& model) {
  const int given =
      (a.tokens.empty() ? 0 : 1) + (a.text.empty() ? 0 : 1) + (a.task.empty() ? 0 : 1);
  if (given != 1)
    throw Error(ErrorCode::usage, "give the inputs by one of --tokens, --text and --task");
  if (a.task.empty())
    for (const auto& [flag, value] :
         {std::pair{"--count", &a.count}, {"--seed", &a.seed}, {"--added", &a.added}})
      if (!value->empty()) throw Error(ErrorCode::usage, std::string(flag) + " needs --task");
  if (a.text.empty() && !a.tokenizer.empty())
    throw Error(ErrorCode::usage, "--tokenizer needs --text");
  Inputs result;
  // Attention takes the square of an input's length.
  constexpr std::size_t longest = 32768;
  constexpr std::size_t most = std::size_t{1} << 22;
  const auto limited = [&](const std::string& flag, const std::string& file) {
    std::size_t all = 0;
    for (const Tokens& tokens : result.tokens) {
      all += tokens.size();
      if (tokens.size() > longest || all > most)
        throw Error(ErrorCode::too_large, flag + ": " + file + ": inputs of up to " +
                                              std::to_string(longest) + " tokens are run, " +
                                              std::to_string(most) + " in all: cut the file");
    }
  };
  if (!a.tokens.empty()) {
    result.tokens = read_token_file(a.tokens);
    limited("--tokens", a.tokens);
    result.words = file_name(a.tokens);
  } else if (!a.text.empty()) {
    result.tokens.push_back(find_tokenizer(a, model).encode(read_file(a.text)));
    if (result.tokens.front().size() < 2)
      throw Error(ErrorCode::bad_value, "--text: " + a.text + " has no tokens");
    limited("--text", a.text);
    result.words = file_name(a.text);
  } else {
    tasks::Options options = task_options(a.task, a.count, a.seed, 100);
    options.added = whole("--added", a.added, 0, longest_added, 0);
    const tasks::Task task(options);
    for (std::int64_t k = 0; k < options.count; ++k) {
      result.samples.push_back(task.sample(k));
      result.tokens.push_back(result.samples.back().tokens);
    }
    result.words = "task " + a.task + ", seed " + std::to_string(options.seed);
  }
  return result;
}

}  // namespace ropewalk::cli
