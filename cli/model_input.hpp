#pragma once
/// \file
/// The model that a command reads, and the inputs that it runs on: token ids of a file, a text
/// through the model's own tokenizer, or samples of a task.

#include <CLI/CLI.hpp>

#include "checkpoints/forward.hpp"
#include "checkpoints/model.hpp"
#include "cli/output.hpp"
#include "tasks/task.hpp"

namespace ropewalk::cli {

/// Of inputs that a model runs on: a million tokens already take gigabytes.
inline constexpr std::int64_t longest_added = 1'000'000;

/// Opens MODEL and finds its parts. Errors as of open_checkpoint and read_model.
[[nodiscard]] checkpoints::Model open_model(const std::string& path);

/// One of --tokens, --text and --task.
struct InputArguments {
  std::string tokens;
  std::string text;
  std::string tokenizer;
  std::string task;
  std::string count;
  std::string seed;
  std::string added;
};
/// Adds --tokens, --text, --tokenizer, --task, --count, --seed and --added.
void add_inputs(CLI::App& app, InputArguments& arguments);

/// True if any of them was given.
[[nodiscard]] bool names_inputs(const InputArguments& arguments);

struct Inputs {
  std::vector<checkpoints::Tokens> tokens;
  std::vector<tasks::Sample> samples;  ///< of a task: as many as there are inputs
  std::string words;                   ///< "100 inputs of the Number task, seed 0"
};
/// Inputs of a file have at most 32,768 tokens, 2^22 in all (Error(too_large)).
/// Errors name the flag: Error(usage) unless exactly one of the three is given, Error(unsupported)
/// for a text where the model's folder has no tokenizer that is read.
[[nodiscard]] Inputs read_inputs(const InputArguments& arguments, const checkpoints::Model& model);

/// A number as JSON has them: null where it is not finite.
[[nodiscard]] Json number(double x);

/// The options of a task as the flags have them.
[[nodiscard]] tasks::Options task_options(const std::string& kind, const std::string& count,
                                          const std::string& seed, std::int64_t otherwise);

}  // namespace ropewalk::cli
