// Export: the same model in other layouts and types.
#include "checkpoints/export.hpp"

#include <cstring>
#include <filesystem>

#include "checkpoints/forward.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;
using theory::Pairing;

namespace {

const std::string data = ROPEWALK_SOURCE_DIR "/tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}

// What was written, read again.
Model again(const Model& model, const ExportOptions& options) {
  const Export out(model, options);
  std::vector<std::byte> bytes;
  out.write([&](std::string_view more) {
    const auto* const from = reinterpret_cast<const std::byte*>(more.data());
    bytes.insert(bytes.end(), from, from + more.size());
  });
  auto file = std::make_shared<Checkpoint>(
      read_safetensors(std::make_shared<const MappedFile>("written", std::move(bytes))));
  file->config = out.config();
  file->config_source = "written";
  return read_model(file);
}

const Tokens tokens{3, 1, 4, 1, 5, 9, 2, 6};

Rows<double> logits(const Model& model, Rotation rotation = Rotation::as_stated) {
  ForwardOptions options;
  options.rotation = rotation;
  options.every_position = true;
  return forward<double>(model, std::span(&tokens, 1), options).front();
}

double difference(const Rows<double>& a, const Rows<double>& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("export: either layout has the logits of the other, and twice is nothing") {
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    CAPTURE(entry.path().filename().string());
    const Model model = open_model(entry.path().string());
    const Rows<double> expected = logits(model);
    const bool apart = model.pairing() == Pairing::half_split;
    const Pairing other = apart ? Pairing::interleaved : Pairing::half_split;
    CHECK(difference(logits(again(model, {})), expected) == 0);

    const Model turned = again(model, {.from = {}, .layout = other, .dtype = DType::f32});
    CHECK(Export(model, {.from = {}, .layout = other, .dtype = DType::f32}).foreign_layout());
    // Sums in another order: equal but for rounding.
    CHECK(difference(logits(turned, apart ? Rotation::interleaved : Rotation::half_split),
                     expected) < 1e-12);
    CHECK(difference(logits(turned), expected) > 1e-4);
    // Mended by saying what it is in.
    CHECK(difference(logits(again(turned, {.from = other, .layout = {}, .dtype = DType::f32})),
                     expected) == 0);
  }
}

TEST_CASE("export: bf16 and f16 are the nearest numbers of the format") {
  const Model model = open_model(data + "llama");
  for (const auto& [dtype, step] : {std::pair{DType::bf16, 0x1p-8}, {DType::f16, 0x1p-11}}) {
    const Model rounded = again(model, {.from = {}, .layout = {}, .dtype = dtype});
    const Tensor& from = *model.layers[0].q.weight;
    const Tensor& to = *rounded.layers[0].q.weight;
    CHECK(to.dtype == dtype);
    std::vector<float> a(static_cast<std::size_t>(from.elements()));
    std::vector<float> b(a.size());
    read_rows(from, 0, from.rows(), a.data());
    read_rows(to, 0, to.rows(), b.data());
    bool changed = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(std::abs(a[i] - b[i]) <= step * std::abs(a[i]) + 1e-7F);
      changed = changed || a[i] != b[i];
    }
    CHECK(changed);
    CHECK(difference(logits(rounded), logits(model)) < 0.2);
  }
  CHECK_THROWS_AS(Export(model, {.from = {}, .layout = {}, .dtype = DType::q8_0}), Error);
}

TEST_CASE("export, trained: a GGUF and an int8 file become models of transformers") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  for (const char* name : {"stories260K.gguf", "stories260K.bin", "stories260K_q80.bin"}) {
    const Model model = open_model(shared + name);
    CHECK(model.pairing() == Pairing::interleaved);
    const Model written = again(model, {});
    CHECK(written.pairing() == Pairing::half_split);
    CHECK(written.checkpoint->find("model.layers.4.self_attn.k_proj.weight") != nullptr);
    CHECK(written.unread.empty());
    CHECK(difference(logits(written), logits(model)) < 1e-5);
    CHECK(difference(logits(written, Rotation::interleaved), logits(model)) > 0.1);
  }
}
