// Models of the type "ropewalk": no norms, no MLP, one head; and layers that add nothing.
#include "tests/plain_model.hpp"

#include <Eigen/Core>
#include <limits>
#include <random>

#include "checkpoints/constructed.hpp"
#include "checkpoints/evaluate.hpp"
#include "checkpoints/export.hpp"
#include "checkpoints/forward.hpp"
#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;

namespace {

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}
Model written(const PlainModel& model, const Folder& folder) {
  return open_model(model.write(folder / "model"));
}

Rows<double> matrix(const Model& model, const std::string& name) {
  const Tensor& tensor = model.checkpoint->tensor(name);
  Rows<double> result(tensor.rows(), tensor.row_size());
  read_rows(tensor, 0, tensor.rows(), result.data());
  return result;
}

constexpr int width = 5;  // of a value, beside heads of 6

// Every number drawn from a fixed seed.
PlainModel random_model() {
  PlainModel model(7, 3, 2, {"1", "0", "acos(3/5)"});
  std::mt19937 engine(1);
  const auto draw = [&](int, int) { return static_cast<double>(engine()) / 2147483648.0 - 1; };
  model.matrix("embedding", 7, 3, draw);
  model.matrix("unembedding", 7, 3, draw);
  for (const char* at : {"layers.0.", "layers.1."}) {
    model.matrix(std::string(at) + "W_Q", 6, 3, draw);
    model.matrix(std::string(at) + "W_K", 6, 3, draw);
    model.matrix(std::string(at) + "W_V", width, 3, draw);
    model.matrix(std::string(at) + "W_O", 3, width, draw);
  }
  return model;
}

// The model as docs/proofs-weight-sets.md defines it, one number at a time.
Rows<double> by_definition(const Model& model, const Tokens& tokens) {
  const double angles[] = {1, 0, std::acos(0.6)};
  const auto n = static_cast<Eigen::Index>(tokens.size());
  const Rows<double> embedding = matrix(model, "embedding");
  Rows<double> x(n, model.hidden);
  for (Eigen::Index p = 0; p < n; ++p)
    x.row(p) = embedding.row(tokens[static_cast<std::size_t>(p)]);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    const Rows<double> q = x * matrix(model, at + "W_Q").transpose();
    const Rows<double> k = x * matrix(model, at + "W_K").transpose();
    const Rows<double> v = x * matrix(model, at + "W_V").transpose();
    Rows<double> next = x;
    for (Eigen::Index i = 0; i < n; ++i) {
      double sum = 0;
      Eigen::RowVectorXd mixed = Eigen::RowVectorXd::Zero(v.cols());
      for (Eigen::Index j = 0; j <= i; ++j) {
        double logit = 0;
        for (Eigen::Index f = 0; f < 3; ++f) {
          const double turn = angles[f] * static_cast<double>(i - j);
          const double a = q(i, 2 * f) * k(j, 2 * f) + q(i, 2 * f + 1) * k(j, 2 * f + 1);
          const double b = q(i, 2 * f) * k(j, 2 * f + 1) - q(i, 2 * f + 1) * k(j, 2 * f);
          logit += a * std::cos(turn) + b * std::sin(turn);
        }
        sum += std::exp(logit);
        mixed += std::exp(logit) * v.row(j);
      }
      next.row(i) += mixed / sum * matrix(model, at + "W_O").transpose();
    }
    x = next;
  }
  return x * matrix(model, "unembedding").transpose();
}

// `layers` layers of one feature that look `back[l]` tokens back whatever the tokens are: logits
// sharpness cos(t - back[l]) at lag t.
PlainModel looks_back(int vocabulary, const std::vector<int>& back, double sharpness) {
  PlainModel model(vocabulary, 1, static_cast<int>(back.size()), {"1"});
  const auto one = [](int, int) { return 1.0; };
  model.matrix("embedding", vocabulary, 1, one);
  model.matrix("unembedding", vocabulary, 1, one);
  for (std::size_t l = 0; l < back.size(); ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    model.matrix(at + "W_Q", 2, 1, [&](int i, int) {
      // The feature is 1, and every layer doubles it.
      return sharpness / std::pow(4, l) * (i == 0 ? std::cos(back[l]) : -std::sin(back[l]));
    });
    model.matrix(at + "W_K", 2, 1, [](int i, int) { return i == 0 ? 1.0 : 0.0; });
    model.matrix(at + "W_V", 1, 1, one);
    model.matrix(at + "W_O", 1, 1, one);
  }
  return model;
}

// Weight of the query at `query` on `key` where every query looks `back` tokens back.
double weight(double sharpness, int back, int query, int key) {
  double sum = 0;
  for (int t = 0; t <= query; ++t) sum += std::exp(sharpness * std::cos(t - back));
  return std::exp(sharpness * std::cos(query - key - back)) / sum;
}

}  // namespace

TEST_CASE("ropewalk: the forward pass is the definition, in double and in float") {
  const Folder folder;
  const Model model = written(random_model(), folder);
  CHECK(model.family == "ropewalk");
  CHECK(model.norm == NormKind::none);
  CHECK(model.unread.empty());
  CHECK(model.pairing() == theory::Pairing::interleaved);
  CHECK(model.rope(0, 8).logit_scale.text() == "1");
  for (const Layer& layer : model.layers) {
    CHECK_FALSE((layer.before_attention || layer.before_mlp || layer.up || layer.down));
    CHECK(layer.v.outputs() == width);
  }
  const Tokens tokens{3, 1, 4, 1, 5, 0, 2, 6, 5};
  const Rows<double> expected = by_definition(model, tokens);
  ForwardOptions options;
  options.every_position = true;
  const auto in_double = forward<double>(model, std::span(&tokens, 1), options).front();
  CHECK((in_double - expected).cwiseAbs().maxCoeff() < 1e-12);
  const auto in_float = forward<float>(model, std::span(&tokens, 1), options).front();
  CHECK((in_float.cast<double>() - expected).cwiseAbs().maxCoeff() < 1e-4);
  const auto last = forward<double>(model, std::span(&tokens, 1)).front();
  CHECK((last.row(0) - expected.row(8)).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("ropewalk: what does not fit is refused in one line") {
  const Folder folder;
  const auto with = [&](ErrorCode code, const std::string& words, auto change) {
    PlainModel model = random_model();
    change(model);
    refuses(code, words, [&] { (void)written(model, folder); });
  };
  const auto key = [&](const char* name, const nlohmann::json& value, const std::string& words,
                       ErrorCode code = ErrorCode::bad_value) {
    with(code, words, [&](PlainModel& m) { m.config[name] = value; });
  };
  const auto zero = [](int, int) { return 0.0; };
  with(ErrorCode::bad_value, "no tensor unembedding",
       [](PlainModel& m) { m.tensors.erase("unembedding"); });
  with(ErrorCode::bad_value, "no tensor embedding",
       [](PlainModel& m) { m.tensors.erase("embedding"); });
  with(ErrorCode::bad_value, "no tensor ...layers.0.W_Q",
       [](PlainModel& m) { m.tensors.erase("layers.0.W_Q"); });
  with(ErrorCode::bad_value, "no tensor layers.1.W_V",
       [](PlainModel& m) { m.tensors.erase("layers.1.W_V"); });
  with(ErrorCode::bad_value, "layers.1.W_O has shape [3, 4], the config wants [3, 5]",
       [&](PlainModel& m) { m.matrix("layers.1.W_O", 3, 4, zero); });
  with(ErrorCode::bad_value, "layers.0.W_K has shape [5, 3], the config wants [6, 3]",
       [&](PlainModel& m) { m.matrix("layers.0.W_K", 5, 3, zero); });
  key("num_hidden_layers", 3, "no tensor layers.2.W_Q");
  key("vocab_size", 8, "the config wants a vocabulary of 8");
  key("hidden_size", 4, "the config wants rows of 4");
  key("num_attention_heads", 2, "num_attention_heads must be 1");
  key("frequencies", {"1", "0"}, "frequencies: has 2 entries for 3 planes");
  key("frequencies", {"1", "0", "acos("}, "frequencies[2]", ErrorCode::parse);
  key("frequencies", nullptr, "frequencies: a list of numbers or formulas is wanted");
  key("head_dim", nullptr, "head_dim: absent");
  key("sliding_window", 8, "sliding_window: a model of the type 'ropewalk' has no such key",
      ErrorCode::unsupported);
  key("rope_theta", 10000, "rope_theta: a model of the type", ErrorCode::unsupported);
  const Model model = written(random_model(), folder);
  refuses(ErrorCode::unsupported, "transformers has no model of the type 'ropewalk'",
          [&] { (void)Export(model, {}); });
}

TEST_CASE("forward: a layer that adds nothing is run for those who watch it, and alone for them") {
  const Folder folder;
  const Model model = written(index_model(400, 3), folder);
  REQUIRE(model.layers.size() == 4);
  CHECK_FALSE(adds_nothing(model.layers[0]));
  for (const std::size_t l : {1U, 2U, 3U}) CHECK(adds_nothing(model.layers[l]));

  const Tokens tokens{17, 40, 99, 2, 17, 5, 60, 3};
  ForwardOptions options;
  options.every_position = true;
  std::vector<std::size_t> seen;
  const auto same = [&]<class S>(const Model& of, const std::vector<Rows<S>>& expected) {
    seen.clear();
    const auto logits = forward<S>(of, std::span(&tokens, 1), options,
                                   [&](const Pass<S>& pass) { seen.push_back(pass.layer); });
    return logits.front() == expected.front();
  };
  const auto in_float = forward<float>(model, std::span(&tokens, 1), options);
  const auto in_double = forward<double>(model, std::span(&tokens, 1), options);
  CHECK(same(model, in_float));
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3});
  options.watches = [](std::size_t layer) { return layer == 2; };
  CHECK(same(model, in_float));
  CHECK(same(model, in_double));
  CHECK(seen == std::vector<std::size_t>{2});

  // They are not run at all: numbers that are none do not matter there.
  Tensor broken = *model.layers[1].v.weight;
  std::vector<double> nan(static_cast<std::size_t>(broken.elements()),
                          std::numeric_limits<double>::quiet_NaN());
  broken.data = std::as_bytes(std::span(nan));
  Model with = model;
  with.layers[1].v.weight = &broken;
  CHECK(same(with, in_float));
  options.watches = {};
  refuses(ErrorCode::bad_value, "layer 1 computes infinities", [&] { (void)same(with, in_float); });
}

TEST_CASE("forward: branches that end in zeros change nothing in a model with norms") {
  const Model model = open_model(ROPEWALK_SOURCE_DIR "/tests/data/models/gptj");
  const Tokens tokens{3, 1, 4, 1, 5, 9, 2, 6};
  // Zeros in the place of a matrix and its bias.
  std::vector<std::unique_ptr<Tensor>> zeros;
  std::vector<std::vector<std::byte>> bytes;
  const auto zero = [&](const Tensor*& tensor) {
    if (tensor == nullptr) return;
    zeros.push_back(std::make_unique<Tensor>(*tensor));
    bytes.emplace_back(tensor->data.size());
    zeros.back()->data = bytes.back();
    tensor = zeros.back().get();
  };
  const auto logits = [&](const Model& of, bool watched) {
    const Watcher<float> watcher = [](const Pass<float>&) {};
    ForwardOptions options;
    options.every_position = true;
    return forward<float>(of, std::span(&tokens, 1), options, watched ? watcher : Watcher<float>())
        .front();
  };
  Model idle = model;
  REQUIRE(idle.layers.size() >= 2);
  zero(idle.layers[1].out.weight);
  zero(idle.layers[1].out.bias);
  CHECK_FALSE(adds_nothing(idle.layers[1]));
  CHECK(logits(idle, false) == logits(idle, true));
  CHECK(logits(idle, false) != logits(model, false));
  zero(idle.layers[1].down.weight);
  if (idle.layers[1].down.bias != nullptr) {
    CHECK_FALSE(adds_nothing(idle.layers[1]));
    zero(idle.layers[1].down.bias);
  }
  CHECK(adds_nothing(idle.layers[1]));
  CHECK(logits(idle, false) == logits(idle, true));
  Model without = idle;
  without.layers.erase(without.layers.begin() + 1);
  CHECK(logits(without, false) == logits(idle, false));
}

TEST_CASE("evaluate: an index model by hand is right, and looks where it should") {
  const Folder folder;
  const double sharpness = 60;
  const Model model = written(index_model(sharpness, 2), folder);
  tasks::Options task;
  task.kind = tasks::Kind::index;
  task.count = 40;
  const auto rows = evaluate(model, task, {});
  REQUIRE(rows.size() == 2);
  const TaskRow& row = rows.back();
  CHECK(row.tally.accuracy() == 1);
  CHECK(row.min_gap > 0);
  REQUIRE(row.right_mass.size() == 1);  // of three layers one is the construction's
  REQUIRE(row.target_mass.size() == 3);
  CHECK(row.target_mass[0] > 0.5);
  CHECK(std::isnan(row.target_mass[1]));
  CHECK(std::isnan(row.target_mass[2]));

  const tasks::Task samples(task);
  double least = 1;
  double mean = 0;
  for (std::int64_t k = 0; k < task.count; ++k) {
    const tasks::Sample sample = samples.sample(k);
    const int query = sample.path[0];
    const int leaf = sample.path[1];
    least = std::min(
        {least, weight(sharpness, query - leaf, query, leaf), weight(sharpness, 0, leaf, leaf)});
    mean += weight(sharpness, query - leaf, query, leaf) / static_cast<double>(task.count);
  }
  CHECK(std::abs(row.right_mass[0] - least) < 1e-3);
  CHECK(std::abs(row.target_mass[0] - mean) < 1e-3);
}

TEST_CASE("evaluate: which position is right follows from the rule and the layer") {
  const Folder folder;
  const double sharpness = 2;
  const std::vector<int> back{1, 3, 6};
  tasks::Options options;
  options.count = 24;
  const auto least = [&](auto of_sample, std::optional<int> hops) {
    const tasks::Task task(options);
    std::vector<double> mass(back.size(), 1);
    for (std::int64_t k = 0; k < options.count; ++k) {
      const tasks::Sample sample = task.sample(k);
      if (hops && sample.hops != *hops) continue;
      for (std::size_t l = 0; l < back.size(); ++l)
        mass[l] = std::min(mass[l], of_sample(sample, l));
    }
    return mass;
  };
  const auto agrees = [&](const PlainModel& plain, auto of_sample) {
    const Model model = written(plain, folder);
    for (const TaskRow& row : evaluate(model, options, {})) {
      const std::vector<double> expected = least(of_sample, row.hops);
      REQUIRE(row.right_mass.size() == expected.size());
      for (std::size_t l = 0; l < expected.size(); ++l) {
        CAPTURE(l, row.hops.value_or(0));
        CHECK(std::abs(row.right_mass[l] - expected[l]) < 1e-5);
      }
    }
  };

  options.kind = tasks::Kind::letter;
  for (const char* rule : {"token", "last"}) {
    PlainModel letter = looks_back(8 * 8 + 8 * 8 + 1, back, sharpness);
    letter.says(rule, 3, 8, 8, 17);
    agrees(letter, [&](const tasks::Sample& sample, std::size_t l) {
      const std::size_t hop = std::min<std::size_t>(l + 1, static_cast<std::size_t>(sample.hops));
      return weight(sharpness, back[l], 16, sample.path[hop]);
    });
  }
  options.kind = tasks::Kind::number;
  PlainModel number = looks_back(137, back, sharpness);
  number.says("lag", 3, 120, 16, 17);
  agrees(number, [&](const tasks::Sample& sample, std::size_t l) {
    const auto hops = static_cast<std::size_t>(sample.hops);
    double mass = weight(sharpness, back[l], sample.path[hops], sample.path[hops]);
    for (std::size_t k = 0; k < hops; ++k)
      mass = std::min(mass, weight(sharpness, back[l], sample.path[k], sample.path[k + 1]));
    return mass;
  });

  // Another model has none.
  PlainModel silent = looks_back(137, back, sharpness);
  CHECK(evaluate(written(silent, folder), options, {}).front().right_mass.empty());
}

TEST_CASE("evaluate: tasks that a constructed model was not built for are refused, or warned of") {
  const Folder folder;
  tasks::Options task;
  task.count = 4;
  const auto model = [&](const char* rule, int hops, int letters, int numbers, int length) {
    PlainModel plain = looks_back(400, {1, 2, 3, 4}, 1);
    plain.says(rule, hops, letters, numbers, length);
    return written(plain, folder);
  };
  const auto fails = [&](const Model& of, const std::string& words) {
    refuses(ErrorCode::bad_value, words, [&] { (void)evaluate(of, task, {}); });
  };
  fails(model("token", 4, 8, 8, 17), "config.json: ropewalk.rule is token, which does not do the");
  fails(model("lag", 4, 120, 12, 17),
        "ropewalk.numbers is 12, and the task number has 16 integers");
  fails(model("lag", 4, 100, 16, 17), "ropewalk.letters is 100, and the task number has 120");
  fails(model("lag", 5, 120, 16, 17), "ropewalk.hops is 5, and the model has 4 layers");
  CHECK_FALSE(evaluate(model("lag", 4, 200, 16, 17), task, {}).empty());  // ids are the same
  task.kind = tasks::Kind::letter;
  fails(model("lag", 4, 8, 8, 17), "ropewalk.rule is lag, which does not do the task letter");
  fails(model("token", 4, 9, 8, 17), "ropewalk.letters is 9, and the task letter has 8");
  fails(model("last", 4, 8, 9, 17), "ropewalk.numbers is 9, and the task letter has 8 digits");

  task.kind = tasks::Kind::number;
  EvaluateOptions options;
  const auto warnings = [&](const Model& of) { return evaluate_warnings(of, task, options); };
  CHECK(warnings(model("lag", 4, 120, 16, 17)).empty());
  options.added = {3, 0};
  auto said = warnings(model("lag", 2, 120, 16, 19));
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("ropewalk.length: the model is proven for inputs of up to 19 tokens, not for "
                     "20 tokens") != std::string::npos);
  CHECK(said[1].find("ropewalk.hops: the model is built for up to 2") != std::string::npos);

  // Where transformers has a table of so many positions.
  Model gptj = model("lag", 4, 120, 16, 256);
  auto file = std::make_shared<Checkpoint>(*gptj.checkpoint);
  file->config["n_positions"] = 20;
  gptj.checkpoint = file;
  CHECK(warnings(gptj).empty());  // nothing of a family without such a table
  gptj.family = "gptj";
  CHECK(warnings(gptj).empty());
  options.added = {4};
  said = warnings(gptj);
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("n_positions: transformers has a table of 20 positions") != std::string::npos);
}

TEST_CASE("a constructed model's word of itself is read whole or refused by key") {
  const Folder folder;
  const auto read = [&](auto change) {
    PlainModel model = looks_back(400, {1}, 1);
    model.says("last", 1, 8, 8, 256);
    change(model.config["ropewalk"]);
    return constructed(*written(model, folder).checkpoint);
  };
  const auto good = read([](nlohmann::json&) {});
  REQUIRE(good);
  CHECK(good->rule == Rule::last);
  CHECK(good->length == 256);
  CHECK(good->arithmetic == "real");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"rule", "first"},
                                                           {"rule", 1},
                                                           {"hops", 1},
                                                           {"hops", "0"},
                                                           {"letters", ""},
                                                           {"numbers", "x"},
                                                           {"length", "1e3"},
                                                           {"length", std::string(40, '9')},
                                                           {"arithmetic", nullptr}})
    refuses(ErrorCode::bad_value, "config.json: ropewalk." + key + " must be",
            [&] { (void)read([&](nlohmann::json& j) { j[key] = value; }); });
  refuses(ErrorCode::bad_value, "ropewalk.hops is absent",
          [&] { (void)read([](nlohmann::json& j) { j.erase("hops"); }); });
  refuses(ErrorCode::bad_value, "ropewalk must be an object",
          [&] { (void)read([](nlohmann::json& j) { j = "lag"; }); });
}
