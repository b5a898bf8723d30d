// Inspection: every kind of fault of models on disk fires on a small file made for it, and a
// healthy one is silent.
#include "checkpoints/inspect.hpp"

#include <cmath>
#include <filesystem>
#include <random>

#include "checkpoints/export.hpp"
#include "checkpoints/recorded.hpp"
#include "proofs_numeric/precision.hpp"
#include "tasks/task.hpp"
#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;
using nlohmann::json;
using theory::Pairing;

namespace {

const std::string data = ROPEWALK_SOURCE_DIR "/tests/data/models/";

/// "id: message" of every finding, in lines.
std::string text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) out += f.severity + " " + f.id + ": " + f.message + "\n";
  return out;
}
bool has(const std::vector<Finding>& findings, const std::string& words) {
  return text(findings).find(words) != std::string::npos;
}

struct Floats {
  std::vector<std::int64_t> shape;
  std::vector<float> numbers;
};
using Weights = std::map<std::string, Floats>;

Weights weights_of(const std::string& folder) {
  Weights all;
  const Checkpoint file = open_checkpoint(folder);
  for (const auto& [name, tensor] : file.tensors) {
    Floats& f = all[name];
    f.shape = tensor.shape;
    f.numbers.resize(static_cast<std::size_t>(tensor.elements()));
    read_rows(tensor, 0, tensor.rows(), f.numbers.data());
  }
  return all;
}

std::string bytes_of(const Weights& weights) {
  std::string header;
  std::string body;
  for (const auto& [name, f] : weights) {
    const std::size_t begin = body.size();
    for (const float x : f.numbers) body += raw(x);
    std::string shape;
    for (const std::int64_t n : f.shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
    header += (header.empty() ? "{" : ",") + entry(name, "[" + shape + "]", begin, body.size());
  }
  return safetensors(header + "}", body);
}

/// Row r of the projection becomes its row order[r].
void permute(Floats& f, const std::vector<std::size_t>& order) {
  const Floats before = f;
  const std::size_t width = f.numbers.size() / order.size();
  for (std::size_t r = 0; r < order.size(); ++r)
    for (std::size_t c = 0; c < width; ++c)
      f.numbers[r * width + c] = before.numbers[order[r] * width + c];
}
/// Meta's rows from Hugging Face's, taking the rows for those of so many heads.
std::vector<std::size_t> half_to_neighbours(std::size_t rows, std::size_t heads) {
  std::vector<std::size_t> order;
  const std::size_t dim = rows / heads;
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t f = 0; f < dim / 2; ++f)
      for (const std::size_t part : {0U, 1U}) order.push_back(h * dim + f + part * dim / 2);
  return order;
}

std::string folder_with(const Folder& folder, const std::string& name, const json& config,
                        const Weights& weights) {
  std::filesystem::create_directories(folder / name);
  (void)folder.write(name + "/config.json", config.dump());
  (void)folder.write(name + "/model.safetensors", bytes_of(weights));
  return folder / name;
}

std::vector<Finding> against(const std::string& a, const std::string& b) {
  const Subject left = open_subject(a);
  const Subject right = open_subject(b);
  auto findings = check_tables(left, right);
  REQUIRE(left.model);
  REQUIRE(right.model);
  const auto more = check_comparison(left, right, compare(*left.model, *right.model));
  findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

std::vector<Finding> of_config(const Folder& folder, const json& config) {
  const Subject s = open_subject(folder.write("config.json", config.dump()));
  auto findings = s.findings;
  const auto more = check_config(s);
  findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

/// A plain config with 64 planes.
json plain(double base = 10000) {
  return {{"model_type", "llama"},          {"hidden_size", 4096}, {"num_attention_heads", 32},
          {"num_hidden_layers", 2},         {"rope_theta", base},  {"head_dim", 128},
          {"max_position_embeddings", 4096}};
}

std::vector<Finding> recorded(const json& config, const std::map<std::string, Floats>& tables) {
  const auto file = read_safetensors(in_memory(bytes_of(tables)));
  const theory::ResolvedRope rope = theory::resolve(config);
  const Expected expected{rope.schedule, rope.rotary_dim, rope.base, rope.layout};
  return check_recorded(file, [&](auto&&...) -> const Expected& { return expected; });
}

enum class Pair { alone, neighbours, halves };
/// cos and sin as `entry(t, f)` gives their angle, times a factor, through `round`.
template <class Angle, class Round>
std::map<std::string, Floats> cached(std::int64_t rows, std::size_t planes, Angle angle,
                                     Round round, Pair pair = Pair::halves) {
  std::map<std::string, Floats> tables;
  Floats& cosines = tables["model.rotary_emb.cos_cached"];
  Floats& sines = tables["model.rotary_emb.sin_cached"];
  const std::size_t columns = pair == Pair::alone ? planes : 2 * planes;
  cosines.shape = sines.shape = {1, 1, rows, static_cast<std::int64_t>(columns)};
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t f = pair == Pair::neighbours ? c / 2 : c % planes;
      const double x = angle(t, f);
      cosines.numbers.push_back(static_cast<float>(round(std::cos(x))));
      sines.numbers.push_back(static_cast<float>(round(std::sin(x))));
    }
  return tables;
}

const auto as_it_is = [](double x) { return x; };

std::string shared_model(const std::string& name) {
  const std::string path = ROPEWALK_SHARED_DIR "/checkpoints/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

/// The model in the other layout, its config unchanged.
std::string turned(const Folder& folder, const std::string& path, const std::string& name) {
  const Subject subject = open_subject(path);
  const Pairing to =
      subject.model->pairing() == Pairing::interleaved ? Pairing::half_split : Pairing::interleaved;
  const Export out(*subject.model, {.from = {}, .layout = to, .dtype = DType::f32});
  std::string bytes;
  out.write([&](std::string_view more) { bytes += more; });
  std::filesystem::create_directories(folder / name);
  (void)folder.write(name + "/model.safetensors", bytes);
  (void)folder.write(name + "/config.json", out.config().dump());
  return folder / name;
}

}  // namespace

// ---------------------------------------------------------------------- pairing and permutation

TEST_CASE("inspect: the permutation between two files of one model has its name, head by head") {
  const Folder folder;
  const std::string original = data + "qwen3";
  CHECK(text(against(original, original)).empty());

  const Subject subject = open_subject(original);
  const auto heads = static_cast<std::size_t>(subject.model->heads);
  const auto kv = static_cast<std::size_t>(subject.model->kv_heads);
  REQUIRE(heads != kv);
  const auto change = [&](const char* part, const auto& how) {
    Weights w = weights_of(original);
    for (auto& [name, f] : w)
      if (name.find(std::string(part) + "_proj.weight") != std::string::npos) how(f);
    return folder_with(folder, "changed", subject.config, w);
  };
  const auto rows = [](const Floats& f) { return static_cast<std::size_t>(f.shape[0]); };

  // llama.cpp PR#3364: keys permuted as if they had as many heads as the queries.
  const auto wrong = against(
      original, change("k", [&](Floats& f) { permute(f, half_to_neighbours(rows(f), heads)); }));
  CHECK(has(wrong, "error rows.permuted: k: rows of all heads"));
  CHECK(has(wrong, "half-split to interleaved as if there were " + std::to_string(heads)));
  CHECK_FALSE(has(wrong, "q: "));

  // llama.cpp PR#22611: queries permuted and keys not, and the numbers rounded to 8 bits.
  const auto rounded = against(original, change("q", [&](Floats& f) {
                                 permute(f, half_to_neighbours(rows(f), heads));
                                 for (float& x : f.numbers) x = std::round(x * 512) / 512;
                               }));
  CHECK(has(rounded, "q: rows of all heads are permuted by \"half-split to interleaved\""));
  CHECK_FALSE(has(rounded, "k: "));

  // Heads change places; rows without an order; other rows.
  const auto swapped = against(original, change("k", [&](Floats& f) {
                                 std::vector<std::size_t> order(rows(f));
                                 for (std::size_t r = 0; r < order.size(); ++r)
                                   order[r] = (r + order.size() / kv) % order.size();
                                 permute(f, order);
                               }));
  CHECK(has(swapped, "\"head 1\""));
  const auto reversed = against(original, change("k", [&](Floats& f) {
                                  std::vector<std::size_t> order(rows(f));
                                  for (std::size_t r = 0; r < order.size(); ++r)
                                    order[r] = order.size() - 1 - r;
                                  permute(f, order);
                                }));
  CHECK(has(reversed, "\"rows in another order\""));
  const auto other = against(original, change("k", [&](Floats& f) {
                               std::mt19937 engine(7);
                               for (float& x : f.numbers)
                                 x = static_cast<float>(engine() % 1000) / 5000 - 0.1F;
                             }));
  CHECK(has(other, "error rows.other: k: the rows of all heads"));
  const auto values = against(original, change("v", [](Floats& f) {
                                for (float& x : f.numbers) x = -x;
                              }));
  CHECK(has(values, "error weights.differ: 2 of "));
}

TEST_CASE("inspect: biases, norms and rounding of the other file") {
  const Folder folder;
  const auto changed = [&](const std::string& of, const std::string& part, const auto& how) {
    Weights w = weights_of(data + of);
    for (auto& [name, f] : w)
      if (name.ends_with(part)) how(f);
    return against(data + of, folder_with(folder, "changed", open_subject(data + of).config, w));
  };
  const auto turn = [](Floats& f) { permute(f, half_to_neighbours(f.numbers.size(), 1)); };
  // Keys turned as they should be for the other layout, their biases left: and the other way round.
  CHECK(has(changed("qwen2", "k_proj.bias", turn), "error weights.differ: 2 of "));
  CHECK(has(
      changed("qwen3", "k_norm.weight", [](Floats& f) { f.numbers = {9, 8, 7, 6, 5, 4, 3, 2}; }),
      "error weights.differ: 2 of "));
  CHECK(has(changed("llama", "model.norm.weight",
                    [](Floats& f) {
                      for (float& x : f.numbers) x *= 1.5F;
                    }),
            "error weights.differ: 1 of "));
  CHECK(has(changed("llama", "q_proj.weight",
                    [](Floats& f) {
                      for (float& x : f.numbers) x *= 1.07F;
                    }),
            "error rows.off: q: rows of all heads differ: |difference| / |rows| is up to 0.07"));
  json config = open_subject(data + "llama").config;
  config["rms_norm_eps"] = 0.1;
  const auto other =
      against(data + "llama", folder_with(folder, "eps", config, weights_of(data + "llama")));
  CHECK(has(other, "error config.differs: epsilon of the norms: 1e-06 against 0.1"));
}

TEST_CASE("inspect: a file whose rows were permuted under an unchanged config") {
  const Folder folder;
  const std::string original = data + "qwen3";
  const auto found = against(original, turned(folder, original, "turned"));
  CHECK(has(found, "q: rows of all heads are permuted by \"half-split to interleaved\""));
  CHECK(has(found, "k: rows of all heads are permuted by \"half-split to interleaved\""));
  CHECK(has(found, "ask for \"same\""));
  const auto back = against(folder / "turned", original);
  CHECK(has(back, "\"interleaved to half-split\""));
}

TEST_CASE("inspect: two sizes are not one model") {
  const Subject a = open_subject(data + "qwen3");
  const Subject b = open_subject(data + "llama");
  refuses(ErrorCode::bad_value, "not two files of one model",
          [&] { (void)compare(*a.model, *b.model); });
}

TEST_CASE("inspect: the layout of random weights cannot be told") {
  for (const auto& item : std::filesystem::directory_iterator(data)) {
    CAPTURE(item.path().string());
    const Subject s = open_subject(item.path().string());
    REQUIRE(s.model);
    const PairShares shares = pair_shares(*s.model);
    CHECK(shares.planes > 0);
    CHECK(shares.verdict() == Pairing::unknown);
    const Tokens tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    const LayoutEvidence evidence{s.model->pairing(), shares,
                                  rotation_losses(*s.model, std::span(&tokens, 1))};
    CHECK(evidence.loss->tokens == 10);
    CHECK(evidence.detected() == Pairing::unknown);
    CHECK(text(check_layout(evidence)).empty());
  }
}

TEST_CASE("trained: the layout is told from weights where heads use their planes, never wrongly") {
  if (shared_model("p1-number").empty()) return skipped("no trained models beside the checkout");
  const Folder folder;
  for (const std::string name : {"p1-number", "p1-letter", "tinystories-656k", "stories260K.bin",
                                 "stories260K.gguf", "stories260K_q80.bin"}) {
    CAPTURE(name);
    const std::string path = shared_model(name);
    const bool task = name.starts_with("p1");
    const Subject s = open_subject(path);
    const PairShares shares = pair_shares(*s.model);
    CAPTURE(shares.interleaved, shares.half_split, shares.random, shares.deviation);
    CHECK(shares.verdict() == (task ? Pairing::interleaved : Pairing::unknown));
    const Subject other = open_subject(turned(folder, path, "turned"));
    CHECK(pair_shares(*other.model).verdict() == (task ? Pairing::half_split : Pairing::unknown));
    if (!task) continue;
    const auto found = check_layout({other.model->pairing(), pair_shares(*other.model), {}});
    CHECK(has(found, "the file says interleaved, but its weights are half-split"));
  }
}

TEST_CASE("trained: the loss tells the layout of every model") {
  if (shared_model("p1-number").empty()) return skipped("no trained models beside the checkout");
  const Folder folder;
  for (const std::string name : {"p1-number", "p1-letter"}) {
    CAPTURE(name);
    tasks::Options options;
    options.kind = *tasks::kind_of(name.substr(3));
    options.count = 32;
    const tasks::Task task(options);
    std::vector<Tokens> inputs;
    std::vector<std::int32_t> answers;
    for (std::int64_t i = 0; i < options.count; ++i) {
      inputs.push_back(task.sample(i).tokens);
      answers.push_back(task.sample(i).answer);
    }
    const std::string path = shared_model(name);
    const Subject s = open_subject(path);
    // Letter's heads match symbols and do without positions at the trained length: its loss hardly
    // tells, its weights do.
    const auto detected = [&](const Subject& of) {
      const RotationLosses losses = rotation_losses(*of.model, inputs, answers);
      CHECK(losses.tokens == 32);
      CHECK((losses.verdict() == Pairing::unknown) == (name == "p1-letter"));
      return LayoutEvidence{of.model->pairing(), pair_shares(*of.model), losses}.detected();
    };
    CHECK(detected(s) == Pairing::interleaved);
    CHECK(detected(open_subject(turned(folder, path, "turned"))) == Pairing::half_split);
    // As a file of tokens: the answer is foretold, what stands before it is not.
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].push_back(answers[i]);
    const RotationLosses tokens = rotation_losses(*s.model, inputs);
    CAPTURE(tokens.interleaved, tokens.half_split, tokens.none, tokens.gap, tokens.deviation);
    CHECK(tokens.verdict() != Pairing::half_split);
  }
}

TEST_CASE("trained: four files of the same weights are the same") {
  const std::string bin = shared_model("stories260K.bin");
  if (bin.empty()) return skipped("no trained models beside the checkout");
  CHECK(text(against(bin, shared_model("stories260K.gguf"))).empty());
  CHECK(text(against(bin, shared_model("stories260K_q80.bin"))).empty());
  // The file carries a table of its own.
  const Subject s = open_subject(bin);
  CHECK(recorded_tables(*s.checkpoint).size() == 2);
  const theory::ResolvedRope rope = s.table({});
  const Expected expected{rope.schedule, rope.rotary_dim, rope.base, rope.layout};
  CHECK(text(check_recorded(*s.checkpoint, [&](auto&&...) -> const Expected& {
          return expected;
        })).empty());
}

TEST_CASE("trained: tokens that a model does not foretell tell nothing of its layout") {
  const std::string path = shared_model("tinystories-656k");
  if (path.empty()) return skipped("no trained models beside the checkout");
  Tokens tokens;
  for (std::int32_t i = 0; i < 256; ++i) tokens.push_back((7 * i * i + 3 * i + 11) % 2048);
  const RotationLosses losses = rotation_losses(*open_subject(path).model, std::span(&tokens, 1));
  CHECK(losses.interleaved > losses.uniform);
  CHECK(losses.half_split > losses.uniform);
  CHECK(losses.gap > 4 * losses.deviation);
  CHECK(losses.verdict() == Pairing::unknown);
}

// ------------------------------------------------------------------------------ base and config

TEST_CASE("inspect: where the base comes from, and two places that disagree") {
  const Folder folder;
  CHECK(text(of_config(folder, plain(500000))).empty());
  json moved = plain();
  moved.erase("rope_theta");
  moved["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000.0}};
  CHECK(has(of_config(folder, moved),
            "note base.place: the base stands in rope_parameters.rope_theta alone"));
  json both = moved;
  both["rope_theta"] = 10000.0;
  CHECK(has(of_config(folder, both), "error config.invalid: "));
  json none = plain();
  none.erase("rope_theta");
  CHECK(has(of_config(folder, none), "warning config.rope: rope_theta: absent, 10000 assumed"));
}

TEST_CASE("inspect: tables of a draft model, of a conversion, and of a base written into code") {
  const Folder folder;
  const auto a = folder.write("a.json", plain(1e6).dump());
  const auto b = folder.write("b.json", plain().dump());
  const auto differ = check_tables(open_subject(a), open_subject(b));
  CHECK(has(differ, "error table.differs: 63 of 64 planes differ"));
  CHECK(has(differ, "(base: rope_theta)"));
  json gptj = {{"model_type", "gptj"}, {"n_embd", 4096}, {"n_head", 16}, {"rotary_dim", 64}};
  CHECK(has(check_tables(open_subject(b), open_subject(folder.write("j.json", gptj.dump()))),
            "note layout.differs: the layouts declared are half-split and interleaved"));
  CHECK(text(check_tables(open_subject(a), open_subject(a))).empty());

  // config.json against the keys of a GGUF file that lost the base.
  const auto gguf = [&](bool lost) {
    GgufWriter w;
    w.string("general.architecture", "llama")
        .number("llama.embedding_length", 4096)
        .number("llama.attention.head_count", 32)
        .number("llama.block_count", 2)
        .number("llama.context_length", 4096)
        .number("llama.rope.dimension_count", 128);
    if (!lost) w.real("llama.rope.freq_base", 1e6F);
    return folder.write("converted.gguf", w.bytes());
  };
  CHECK(has(check_tables(open_subject(a), open_subject(gguf(true))), "63 of 64 planes differ"));
  CHECK_FALSE(has(check_tables(open_subject(a), open_subject(gguf(false))), "error"));
}

// -------------------------------------------------------------------------------------- scaling

TEST_CASE("inspect: Llama 3.1's factors, wrong and missing") {
  const Folder folder;
  json scaled = plain(500000);
  scaled["max_position_embeddings"] = 131072;
  CHECK(has(of_config(folder, scaled), "warning llama3.absent"));
  scaled["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  CHECK(text(of_config(folder, scaled)).empty());

  const theory::Plain base{500000, 128};
  const theory::Schedule before = theory::default_schedule(base);
  const theory::Schedule after = theory::llama3(base, {});
  const auto gguf = [&](int what) {
    GgufWriter w;
    w.string("general.architecture", "llama")
        .number("llama.embedding_length", 4096)
        .number("llama.attention.head_count", 32)
        .number("llama.block_count", 2)
        .number("llama.context_length", 131072)
        .number("llama.rope.dimension_count", 128)
        .real("llama.rope.freq_base", 500000);
    std::string factors;
    for (std::size_t f = 0; f < 64; ++f) {
      const auto right = (before.frequencies[f] / after.frequencies[f]).as<float>();
      factors += raw(what == 1 ? (right > 1 ? 8.0F : 1.0F) : right);
    }
    if (what != 2) w.tensor("rope_freqs.weight", {64}, 0, factors);
    return open_subject(folder.write("scaled.gguf", w.bytes()));
  };
  const auto check = [&](const Subject& s) {
    const Expected expected{s.rope->schedule, s.rope->rotary_dim, s.rope->base, s.rope->layout};
    return check_recorded(*s.checkpoint, [&](auto&&...) -> const Expected& { return expected; });
  };
  const Subject config = open_subject(folder.write("scaled.json", scaled.dump()));
  CHECK(text(check(gguf(0))).empty());
  CHECK_FALSE(has(check_tables(config, gguf(0)), "error"));
  // Against a config that says something else.
  const auto held = [&](const json& against_config) {
    const theory::ResolvedRope rope = theory::resolve(against_config);
    const Expected expected{rope.schedule, rope.rotary_dim, rope.base, rope.layout};
    return check_recorded(*gguf(0).checkpoint,
                          [&](auto&&...) -> const Expected& { return expected; });
  };
  CHECK(text(held(scaled)).empty());
  CHECK(has(held(plain(500000)), "is divided by 8, the config means 1"));
  CHECK(has(check(gguf(1)), "warning recorded.factors: rope_freqs.weight: not Llama 3.1's rule"));
  CHECK(has(check_tables(config, gguf(1)), "error table.differs"));
  CHECK(has(check_config(gguf(2)), "warning llama3.absent"));
  CHECK(has(check_tables(config, gguf(2)), "error table.differs"));
}

TEST_CASE("inspect: an attention factor that a table ignores") {
  const Folder folder;
  json config = plain();
  config["rope_scaling"] = {{"rope_type", "yarn"},
                            {"factor", 64.0},
                            {"attention_factor", 1.0},
                            {"original_max_position_embeddings", 64}};
  const theory::Schedule s = theory::resolve(config).schedule;
  const auto table = [&](double factor) {
    return cached(
        128, 64,
        [&](std::int64_t t, std::size_t f) {
          return static_cast<double>(s.float32[f] * static_cast<float>(t));
        },
        [=](double x) { return factor * x; });
  };
  CHECK(text(recorded(config, table(1))).empty());
  CHECK(has(recorded(config, table(0.1 * std::log(64) + 1)),
            "error recorded.scale: model.rotary_emb.cos_cached: rows have size 1.41589, the "
            "config's attention factor is 1"));
  config["rope_scaling"]["attention_factor"] = 1.25;
  CHECK(has(of_config(folder, config),
            "note logit.scale: cosines and sines carry an attention "
            "factor of 1.25, logits its square"));
}

TEST_CASE("inspect: unknown keys, YaRN's original length, and tables that depend on the length") {
  const Folder folder;
  json typo = plain();
  typo.erase("rope_theta");
  typo["rope_thetaa"] = 500000.0;
  CHECK(has(of_config(folder, typo), "warning config.rope: rope_thetaa = 500000"));
  CHECK(has(of_config(folder, typo), "It would change 63 of 64 planes"));
  json yarn = plain();
  yarn["max_position_embeddings"] = 32768;
  yarn["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
  CHECK(has(of_config(folder, yarn), "warning config.rope: rope_scaling.factor = 4 times"));
  yarn["max_position_embeddings"] = 131072;
  CHECK_FALSE(has(of_config(folder, yarn), "times"));
  json dynamic = plain();
  dynamic["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const auto found = of_config(folder, dynamic);
  CHECK(has(found, "note table.length: the table depends on the length of the input"));
  CHECK(has(found, "at 8192"));
}

// ------------------------------------------------------------------------- precision and caches

TEST_CASE("inspect: frequencies that were rounded, scaled, or are those of another base") {
  const json config = plain(500000);
  const theory::Schedule s = theory::resolve(config).schedule;
  const auto table = [&](const auto& of) {
    Floats f;
    f.shape = {64};
    for (std::size_t i = 0; i < 64; ++i) f.numbers.push_back(static_cast<float>(of(i)));
    return std::map<std::string, Floats>{{"model.layers.1.self_attn.rotary_emb.inv_freq", f}};
  };
  CHECK(text(recorded(config, table([&](std::size_t i) { return s.float32[i]; }))).empty());
  CHECK(has(recorded(config, table([&](std::size_t i) {
                       return proofs_numeric::nearest(static_cast<double>(s.float32[i]),
                                                      proofs_numeric::bf16);
                     })),
            "the config's table rounded to bf16; an angle is off by 0.1 radian from lag "));
  CHECK(has(recorded(config, table([&](std::size_t i) {
                       return proofs_numeric::nearest(static_cast<double>(s.float32[i]),
                                                      proofs_numeric::fp16);
                     })),
            "the config's table rounded to fp16"));
  CHECK(has(recorded(config, table([&](std::size_t i) {
                       return std::pow(10000.0, -static_cast<double>(i) / 64);
                     })),
            "error recorded.base: model.layers.1.self_attn.rotary_emb.inv_freq: the plain table "
            "of base 10000, the config means "));
  CHECK(has(recorded(config, table([&](std::size_t i) { return s.float32[i] / 4; })),
            "recorded.scaled: model.layers.1.self_attn.rotary_emb.inv_freq: 0.25 times"));
  CHECK(has(recorded(config, table([&](std::size_t i) {
                       return i == 9 ? 2 * s.float32[i] : s.float32[i];
                     })),
            "recorded.differs: model.layers.1.self_attn.rotary_emb.inv_freq: plane 10 has"));
  CHECK(has(recorded(config, table([&](std::size_t i) { return i == 9 ? NAN : s.float32[i]; })),
            "recorded.not_finite"));
  Floats few;
  few.shape = {3};
  few.numbers = {1, 2, 3};
  CHECK(has(recorded(config, {{"inv_freq", few}}), "recorded.shape: inv_freq: 3 numbers"));
}

TEST_CASE("inspect: cosines of narrow positions, angles and tables, and of a drifting library") {
  const json config = plain(500000);
  const theory::Schedule s = theory::resolve(config).schedule;
  const auto angle = [&](const proofs_numeric::Format& positions,
                         const proofs_numeric::Format& angles) {
    return [&s, &positions, &angles](std::int64_t t, std::size_t f) {
      return proofs_numeric::nearest_product(
          static_cast<double>(s.float32[f]),
          proofs_numeric::nearest(static_cast<double>(t), positions), angles);
    };
  };
  const auto healthy = angle(proofs_numeric::fp32, proofs_numeric::fp32);
  for (const Pair pair : {Pair::alone, Pair::neighbours, Pair::halves})
    CHECK(text(recorded(config, cached(2000, 64, healthy, as_it_is, pair))).empty() ==
          (pair != Pair::neighbours));
  CHECK(has(recorded(config, cached(2000, 64, healthy, as_it_is, Pair::neighbours)),
            "warning recorded.layout: model.rotary_emb.cos_cached: each plane stands twice"));

  CHECK(has(recorded(config,
                     cached(400, 64, angle(proofs_numeric::bf16, proofs_numeric::fp32), as_it_is)),
            "positions 256 and 257 have the same row: they cannot be told apart; the table is "
            "that of the pipeline "));
  // Some fast plane still differs, others are far off.
  const auto narrow = recorded(
      config, cached(2000, 64, angle(proofs_numeric::fp32, proofs_numeric::fp16), as_it_is));
  CHECK(has(narrow, "error recorded.differs: model.rotary_emb."));
  CHECK(has(narrow, "the table is that of the pipeline "));
  // A library whose angle drifts.
  const auto drift = [&](std::int64_t t, std::size_t f) { return healthy(t, f) * (1 + 2e-6); };
  CHECK(has(recorded(config, cached(4000, 64, drift, as_it_is)),
            "which float32 arithmetic does not account for"));
  // Programs whose powers are off by a unit in the last place, or whose angles are doubles.
  const auto near = [&](std::int64_t t, std::size_t f) {
    return static_cast<double>(std::nextafter(s.float32[f], 0.0F) * static_cast<float>(t));
  };
  CHECK(text(recorded(config, cached(20000, 64, near, as_it_is))).empty());
  const auto doubles = [&](std::int64_t t, std::size_t f) {
    return static_cast<double>(s.float32[f]) * static_cast<double>(t);
  };
  CHECK(text(recorded(config, cached(20000, 64, doubles, as_it_is))).empty());
  // Sines alone, sines of other angles, a half of the columns negated, another number of rows.
  auto tables = cached(
      400, 64, [&](auto t, auto f) { return 3 * healthy(t, f); }, as_it_is);
  const auto cosines = cached(400, 64, healthy, as_it_is).begin()->second;
  tables.begin()->second = cosines;
  CHECK(has(recorded(config, tables), "error recorded.differs: model.rotary_emb.sin_cached"));
  tables.erase(tables.begin());
  CHECK(has(recorded(config, tables), "error recorded.differs: model.rotary_emb.sin_cached"));
  tables = cached(400, 64, healthy, as_it_is);
  for (std::size_t i = 64; i < 128; ++i) tables.rbegin()->second.numbers[128 * 7 + i] *= -1;
  CHECK(has(recorded(config, tables), "an entry is off by"));
  tables = cached(400, 64, healthy, as_it_is);
  tables.rbegin()->second.shape[2] = 5;
  tables.rbegin()->second.numbers.resize(5 * 128, 0.5F);
  for (float& x : tables.rbegin()->second.numbers) x = 0.5F;
  CHECK(has(recorded(config, tables), "model.rotary_emb.sin_cached: positions 0 and 1"));
  tables = cached(400, 64, healthy, as_it_is);
  std::swap(tables.begin()->second, tables.rbegin()->second);
  CHECK(has(recorded(config, tables),
            "error recorded.swapped: model.rotary_emb.cos_cached: holds "
            "sines, and model.rotary_emb.sin_cached cosines"));
  const auto broken = [&](std::int64_t t, std::size_t f) {
    return t == 300 && f == 5 ? NAN : healthy(t, f);
  };
  CHECK(has(recorded(config, cached(400, 64, broken, as_it_is)),
            "an infinity or NaN at position 300"));
}

// ---------------------------------------------------------------------------------- the numbers

TEST_CASE("inspect: NaN and missing tensors are findings, and what cannot be run is said") {
  const Folder folder;
  const json config = open_subject(data + "qwen3").config;
  Weights w = weights_of(data + "qwen3");
  CHECK(text(check_numbers(open_subject(data + "qwen3"))).empty());
  w.begin()->second.numbers[5] = NAN;
  w.begin()->second.numbers[7] = INFINITY;
  const Subject bad = open_subject(folder_with(folder, "nan", config, w));
  CHECK(has(check_numbers(bad), "error tensor.not_finite: " + w.begin()->first + ": 2 of "));
  CHECK(has(check_numbers(bad), "the first is element 5"));

  // Masks hold infinities by right; a tensor that nothing reads is a note.
  w = weights_of(data + "qwen3");
  w["model.layers.0.attn.masked_bias"] = {{1}, {-INFINITY}};
  w["model.extra"] = {{2}, {NAN, 1}};
  const Subject masked = open_subject(folder_with(folder, "masked", config, w));
  CHECK(text(check_numbers(masked)) ==
        "note tensor.not_finite: model.extra: 1 of 2 elements are infinite or NaN, the first is "
        "element 0\n");
  CHECK(has(check_config(masked), "note tensor.unread: 1 tensor plays no part"));

  w = weights_of(data + "qwen3");
  w.erase("model.layers.1.self_attn.k_proj.weight");
  const Subject missing = open_subject(folder_with(folder, "missing", config, w));
  CHECK_FALSE(missing.model);
  CHECK(has(missing.findings, "error model.incomplete: "));
  CHECK(has(missing.findings, "model.layers.1.self_attn.k_proj.weight"));
  CHECK(missing.rope);

  json unknown = config;
  unknown["model_type"] = "mamba";
  CHECK(
      has(open_subject(folder_with(folder, "other", unknown, weights_of(data + "qwen3"))).findings,
          "mamba"));
  refuses(ErrorCode::parse, "not a JSON object",
          [&] { (void)open_subject(folder.write("list.json", "[1]")); });
  refuses(ErrorCode::file, "nowhere", [] { (void)open_subject("nowhere"); });
}
