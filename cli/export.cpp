// ropewalk export

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "checkpoints/export.hpp"
#include "cli/commands.hpp"
#include "cli/model_input.hpp"
#include "cli/output.hpp"

namespace ropewalk::cli {

using namespace checkpoints;
using theory::Pairing;

namespace {

struct Arguments {
  Common common;
  std::string model;
  std::string out;
  std::string from;
  std::string layout;
  std::string dtype = "f32";
};

std::optional<Pairing> pairing(const std::string& word) {
  if (word.empty()) return std::nullopt;
  return word == "interleaved" ? Pairing::interleaved : Pairing::half_split;
}

int run(const Arguments& args) {
  ExportOptions options;
  options.from = pairing(args.from);
  options.layout = pairing(args.layout);
  options.dtype = args.dtype == "bf16"  ? DType::bf16
                  : args.dtype == "f16" ? DType::f16
                                        : DType::f32;
  const Model model = open_model(args.model);
  const Export out(model, options);

  namespace fs = std::filesystem;
  const fs::path folder(args.out);
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) throw Error(ErrorCode::file, "--out: " + args.out + ": " + problem.message());
  if (!fs::is_empty(folder, problem) || problem)
    throw Error(ErrorCode::file, "--out: " + args.out + " is not empty");
  std::int64_t bytes = 0;
  NewFile weights((folder / "model.safetensors").string());
  out.write([&](std::string_view more) {
    weights.write(more);
    bytes += static_cast<std::int64_t>(more.size());
  });
  weights.commit();
  write_file((folder / "config.json").string(), out.config().dump(2) + "\n");

  std::vector<std::string> notes;
  if (out.foreign_layout())
    notes.push_back("transformers runs a " + model.family +
                    " in the other layout: these weights are for a program that runs this one");
  if (out.unproven())
    notes.emplace_back(
        "the proof of the constructed model is about the file it came from: the copy says to be "
        "proven at no length");
  if (args.common.json) {
    std::cout << Json{{"model", args.model}, {"out", args.out}, {"family", model.family},
                      {"dtype", args.dtype}, {"bytes", bytes},  {"notes", notes}}
                     .dump(2)
              << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{}: a {} of {} layers, {} bytes of weights in {}\n", args.out,
                           model.family, model.layers.size(), bytes, args.dtype);
  for (const std::string& note : notes) std::cout << "note: " << note << '\n';
  return as_expected;
}

}  // namespace

void add_export(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "export", "Write a model as a folder for transformers, its heads in the layout wanted");
  app.add_option("model", args->model, "Folder or file of a model")->required()->type_name("MODEL");
  app.add_option("--out", args->out, "An empty folder, or one to make")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--from", args->from,
                 "interleaved or half-split: what the weights are in, where the file says it wrong")
      ->check(CLI::IsMember({"interleaved", "half-split"}))
      ->type_name("LAYOUT");
  app.add_option("--layout", args->layout,
                 "interleaved or half-split: what to write (default: what transformers runs)")
      ->check(CLI::IsMember({"interleaved", "half-split"}))
      ->type_name("LAYOUT");
  app.add_option("--dtype", args->dtype, "f32 (default), bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->type_name("TYPE");
  add_common(app, args->common);
  app.footer(
      "Writes config.json and model.safetensors. The rows of queries and keys, their biases and "
      "norms are permuted from\n"
      "one pairing layout to the other, head by head; that is exact: every logit stays as it was. "
      "A file whose config\n"
      "says one layout and whose weights are in the other is mended by naming the true one with "
      "--from. Quantised\n"
      "weights are written out as numbers. Tokenizers are not copied.\n"
      "\n"
      "JSON: {\"model\", \"out\", \"family\", \"dtype\", \"bytes\", \"notes\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for a file that cannot be read or "
      "written.\n"
      "\n"
      "Examples:\n"
      "  ropewalk export stories260K.gguf --out stories260K\n"
      "  ropewalk export broken-llama --from interleaved --dtype bf16 --out mended-llama");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
