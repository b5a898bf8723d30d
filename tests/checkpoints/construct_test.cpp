#include "checkpoints/construct.hpp"

#include <cmath>
#include <set>

#include "checkpoints/forward.hpp"
#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using constructions::Rule;
using constructions::Token;
using tasks::Kind;

namespace {

ConstructRequest request(Kind kind, Form form, std::int64_t length) {
  ConstructRequest r;
  r.kind = kind;
  r.form = form;
  r.length = length;
  r.dtype = form == Form::plain ? DType::f64 : DType::f32;
  return r;
}

Model model_of(const Construction& made) {
  return read_model(std::make_shared<const Checkpoint>(made.weights().checkpoint()));
}

template <class S>
std::vector<Rows<S>> run(const Model& model, const std::vector<Tokens>& inputs) {
  ForwardOptions options;
  options.every_position = true;
  return forward<S>(model, inputs, options);
}

// Of every position that has an answer: how many there were, how many wrong, the smallest gap.
struct Judged {
  std::size_t positions = 0;
  std::size_t wrong = 0;
  double gap = INFINITY;
};
template <class S>
Judged judge(const Construction& made, const Model& model, const std::vector<Tokens>& inputs) {
  Judged result;
  const auto logits = run<S>(model, inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const constructions::Sequence tokens(inputs[k].begin(), inputs[k].end());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto answer = made.vocabulary().answer(tokens, i, made.request().hops);
      if (!answer) continue;
      auto row = logits[k].row(static_cast<Eigen::Index>(i)).eval();
      const S own = row(*answer);
      row(*answer) = -std::numeric_limits<S>::infinity();
      const double gap = static_cast<double>(own) - static_cast<double>(row.maxCoeff());
      ++result.positions;
      result.wrong += gap > 0 ? 0 : 1;
      result.gap = std::min(result.gap, gap);
    }
  }
  return result;
}

// All inputs of so many tokens that `keep` keeps growing.
std::vector<Tokens> all_inputs(std::size_t length, Token vocabulary,
                               const std::function<bool(const Tokens&)>& keep) {
  std::vector<Tokens> result{{}};
  for (std::size_t n = 0; n < length; ++n) {
    std::vector<Tokens> longer;
    for (const Tokens& tokens : result)
      for (std::int32_t t = 1; t < vocabulary; ++t) {
        longer.push_back(tokens);
        longer.back().push_back(t);
        if (!keep(longer.back())) longer.pop_back();
      }
    result = std::move(longer);
  }
  return result;
}

constexpr Form normed[] = {Form::gptj, Form::llama};

}  // namespace

TEST_CASE("construct: every input of a small Number world is answered at every position") {
  for (const Form form : {Form::gptj, Form::llama, Form::plain}) {
    ConstructRequest r = request(Kind::number, form, 7);
    r.letters = 3;
    r.numbers = 4;
    r.hops = 3;
    r.layers = form == Form::plain ? 3 : 4;
    r.turning = 13;  // as many coordinates as a llama needs for its values
    const Construction made(r);
    REQUIRE(made.proven());
    // The longest inputs once: 123,480 of them.
    const std::size_t length = tests::instrumented ? 5 : form == Form::gptj ? 7 : 6;
    const auto inputs = all_inputs(length, made.vocabulary().size(), [&](const Tokens& tokens) {
      return made.vocabulary().wants(tokens.back()) < static_cast<Token>(tokens.size());
    });
    // 3 letters, and at position p min(p, 4) integers.
    const std::size_t five = 3 * 4 * 5 * 6 * 7;
    CHECK(inputs.size() == (length == 5 ? five : length == 6 ? 7 * five : 49 * five));
    const Judged seen = judge<float>(made, model_of(made), inputs);
    CHECK(seen.positions == inputs.size() * length);
    CHECK(seen.wrong == 0);
    CHECK(seen.gap >= (form == Form::plain ? made.real().gap - 1e-5 : made.float32().gap));
  }
}

TEST_CASE("construct: every clean input of a small Letter world is answered at every position") {
  for (const Form form : {Form::gptj, Form::llama, Form::plain}) {
    ConstructRequest r = request(Kind::letter, form, 5);
    r.letters = 3;
    r.numbers = 1;
    r.hops = 2;
    r.layers = 2;
    const Construction made(r);
    REQUIRE(made.proven());
    const std::size_t length = tests::instrumented ? 4 : 5;
    const auto& words = made.vocabulary();
    const auto inputs = all_inputs(length, words.size(), [&](const Tokens& tokens) {
      return words.answer({tokens.begin(), tokens.end()}, tokens.size() - 1, 1).has_value();
    });
    CHECK(inputs.size() > (tests::instrumented ? 500 : 3000));
    const Judged seen = judge<float>(made, model_of(made), inputs);
    CHECK(seen.wrong == 0);
    CHECK(seen.positions > inputs.size() * (length - 1));
    CHECK(seen.gap >= (form == Form::plain ? made.real().gap - 1e-5 : made.float32().gap));
  }
}

TEST_CASE("construct: every input of a small mixed world finds the last occurrence") {
  for (const Form form : {Form::gptj, Form::llama, Form::plain}) {
    ConstructRequest r = request(Kind::mixed, form, 4);
    r.letters = 3;
    r.numbers = 1;
    const Construction made(r);
    REQUIRE(made.proven());
    const auto inputs = all_inputs(tests::instrumented ? 3 : 4, made.vocabulary().size(),
                                   [](const Tokens&) { return true; });
    const Judged seen = judge<float>(made, model_of(made), inputs);
    CHECK(seen.wrong == 0);
    CHECK(seen.positions > inputs.size());
    CHECK(seen.gap >= (form == Form::plain ? made.real().gap - 1e-5 : made.float32().gap));
  }
}

TEST_CASE("construct: the task's own samples are answered, beyond what was enumerated") {
  for (const Kind kind : {Kind::number, Kind::letter})
    for (const Form form : normed) {
      const Construction made(request(kind, form, 64));
      REQUIRE(made.proven());
      const Model model = model_of(made);
      tasks::Options options;
      options.kind = kind;
      options.count = 40;
      options.added = 47;
      const tasks::Task task(options);
      REQUIRE(task.vocabulary() == made.vocabulary().size());
      for (std::int32_t t = 0; t < task.vocabulary(); ++t)
        REQUIRE(task.token_text(t) == made.texts()[static_cast<std::size_t>(t)]);
      std::vector<Tokens> inputs;
      for (std::int64_t k = 0; k < options.count; ++k) {
        const tasks::Sample sample = task.sample(k);
        inputs.push_back(sample.tokens);
        // What the task calls the answer is what the model is proven to say.
        const constructions::Sequence tokens(sample.tokens.begin(), sample.tokens.end());
        CHECK(made.vocabulary().answer(tokens, tokens.size() - 1, 4) == Token{sample.answer});
      }
      const Judged in_float = judge<float>(made, model, inputs);
      CHECK(in_float.wrong == 0);
      CHECK(in_float.gap >= made.float32().gap);
      const Judged in_double = judge<double>(made, model, inputs);
      CHECK(in_double.wrong == 0);
      CHECK(in_double.gap >= made.real().gap - 1e-9);
    }
}

TEST_CASE("construct: the margin of stored P1 heads is that of R1 and R6") {
  // R1: theta = 1, lags to 16: 1 - cos 6.
  ConstructRequest index = request(Kind::index, Form::plain, 17);
  index.angle = theory::Formula(1);
  const Construction r1(index);
  CHECK(std::abs(r1.real().margin / r1.scale() - (1 - std::cos(6.0))) < 1e-9);
  // R6: theta = 0.0027, 8 letters, 17 tokens: 0.2621954; at 100: 0.0964346; centred, at
  // 291: 9.1774e-4.
  ConstructRequest retrieval = request(Kind::retrieval, Form::plain, 17);
  retrieval.angle = theory::Formula::parse("0.0027");
  const Construction r6(retrieval);
  CHECK(std::abs(r6.real().margin / r6.scale() - 0.2621954) < 1e-7);
  retrieval.length = 100;
  const Construction longer(retrieval);
  CHECK(std::abs(longer.real().margin / longer.scale() - 0.0964346) < 1e-7);
  retrieval.length = 291;
  retrieval.centred = true;
  const Construction centred(retrieval);
  CHECK(std::abs(centred.real().margin / centred.scale() - 9.1774e-4) < 1e-8);
  // GPT-J stores the same head in float32, whose rounding it pays for.
  ConstructRequest gptj = request(Kind::index, Form::gptj, 17);
  gptj.planes = {1};
  const Construction stored(gptj);
  CHECK(std::abs(stored.real().margin / stored.scale() - (1 - std::cos(6.0))) < 1e-6);
}

TEST_CASE("construct: a table of any kind is written, and proven as it is written") {
  const auto table = [](const char* rope) {
    return theory::resolve(nlohmann::json::parse(
        R"({"model_type": "llama", "head_dim": 32, "max_position_embeddings": 131072, )" +
        std::string(rope) + "}"));
  };
  const theory::ResolvedRope tables[] = {
      table(R"("rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", "factor": 8,
               "low_freq_factor": 1, "high_freq_factor": 4,
               "original_max_position_embeddings": 8192})"),
      table(R"("rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4,
               "original_max_position_embeddings": 32768})"),
      table(R"("rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 4})"),
      table(R"("rope_theta": 10000, "rope_scaling": {"rope_type": "ropewalk.p_rope", "p": 0.5})"),
  };
  for (const theory::ResolvedRope& rope : tables)
    for (const Form form : {Form::llama, Form::plain}) {
      CAPTURE(rope.schedule.description, name(form));
      ConstructRequest r = request(Kind::index, form, 12);
      r.letters = 3;
      r.numbers = 4;
      r.table = rope.schedule.frequencies;
      r.base = rope.base;
      const Construction made(r);
      REQUIRE(made.proven());
      const Model model = model_of(made);
      // At every length the table that was asked for; what stands still hardly turns in llama.
      for (const std::int64_t length : {1, 1'000'000}) {
        const theory::ResolvedRope written = model.rope(0, length);
        REQUIRE(written.schedule.frequencies.size() == 16);
        CHECK(written.schedule.attention_factor.text() == "1");
        for (std::size_t f = 0; f < 16; ++f) {
          const double wanted = rope.schedule.frequencies[f].as<double>();
          const double got = written.schedule.frequencies[f].as<double>();
          CHECK(std::abs(got - wanted) <= std::max(wanted * 1e-14, 1.0000001e-30));
          if (form == Form::plain) continue;
          // The error that is allowed to float32.
          const double steepness =
              static_cast<double>(f) / 16 * std::log(static_cast<double>(*rope.base));
          CHECK(std::abs(static_cast<double>(written.schedule.float32[f]) - got) <=
                got * (12 + steepness) * 0x1p-24);
        }
      }
      const auto inputs = all_inputs(4, made.vocabulary().size(), [&](const Tokens& tokens) {
        return made.vocabulary().wants(tokens.back()) < static_cast<Token>(tokens.size());
      });
      const Judged seen = judge<float>(made, model, inputs);
      CHECK(seen.wrong == 0);
      CHECK(seen.gap >= (form == Form::plain ? made.real().gap - 1e-5 : made.float32().gap));
    }
}

TEST_CASE("construct: llama has one plane of any angle, as plain has") {
  for (const char* angle : {"1/10", "5/4", "3", "4"}) {
    CAPTURE(angle);
    ConstructRequest r = request(Kind::index, Form::llama, 5);
    r.angle = theory::Formula::parse(angle);
    r.numbers = 3;
    const Construction made(r);
    r.form = Form::plain;
    r.dtype = DType::f64;
    const Construction exact(r);
    CHECK(made.proven());
    const double margin = exact.real().margin / exact.scale();
    CHECK(std::abs(made.real().margin / made.scale() - margin) < 1e-5 * margin);
  }
  ConstructRequest r = request(Kind::mixed, Form::llama, 16);
  r.angle = theory::Formula::parse("1/10");
  r.letters = 4;
  r.numbers = 2;
  r.centred = true;
  const Construction made(r);
  CHECK(made.proven());
  CHECK(made.plan().nearness == std::size_t{0});
}

TEST_CASE("stack proof: tables that it does not speak of are refused") {
  ConstructRequest r = request(Kind::index, Form::llama, 8);
  r.letters = 2;
  r.numbers = 2;
  r.turning = 16;
  r.table = theory::linear({10000, 32}, 2).frequencies;
  const Construction made(r);
  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change) {
    Checkpoint changed = made.weights().checkpoint();
    nlohmann::json config = changed.config;
    change(config);
    changed.config = config;
    try {
      const StackProof proof(read_model(std::make_shared<const Checkpoint>(std::move(changed))),
                             made.vocabulary(), 1);
      return std::string("taken");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK(refusal([](auto&) {}) == "taken");
  CHECK_THAT(refusal([](auto& c) { c["rope_scaling"]["long_factor"][3] = 9; }),
             ContainsSubstring("depends on the length"));
  CHECK_THAT(refusal([](auto& c) { c["rope_scaling"]["attention_factor"] = 1.5; }),
             ContainsSubstring("attention factor"));
  CHECK_THAT(refusal([](auto& c) {
               c["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
             }),
             ContainsSubstring("type linear"));
}

TEST_CASE("construct: horizons are where theory has them") {
  // theta = 1: lag 710 comes back to 1.8e-9, which no float32 resolves.
  ConstructRequest number = request(Kind::number, Form::gptj, 700);
  number.letters = 2;
  number.numbers = 3;
  number.planes = {1};
  number.turning = 1;
  const Construction made(number);
  const StackProof proof(model_of(made), made.vocabulary(), 4);
  CHECK(proof.longest(Arithmetic::real, 2000) == 710);
  CHECK(proof.longest(Arithmetic::float32, 2000) == 710);
  CHECK(proof.bounds(710, Arithmetic::float32).proven());
  CHECK_FALSE(proof.bounds(711, Arithmetic::float32).proven());
  number.length = 711;
  CHECK_THROWS_WITH(Construction(number),
                    Catch::Matchers::ContainsSubstring("length 710 can: ask for less"));
  const Construction anyway(number, true);
  CHECK_FALSE(anyway.proven());
  CHECK_FALSE(anyway.smallest_scale());
  // Letters on planes that stand still: one scale for every length up to 100,000.
  ConstructRequest letter = request(Kind::letter, Form::gptj, 100'000);
  letter.numbers = 1;
  const Construction letters(letter);
  const StackProof shorter(model_of(letters), letters.vocabulary(), 4);
  CHECK(letters.proven());
  CHECK(letters.scale() < 25);
  for (const std::int64_t n : {1, 17, 1000, 99'999})
    CHECK(shorter.bounds(n, Arithmetic::real).gap >= letters.real().gap);
}

TEST_CASE("construct: the scale is the smallest that does, and bounds rise with it") {
  ConstructRequest r = request(Kind::number, Form::gptj, 32);
  r.hops = 2;
  r.layers = 2;
  const Construction made(r);
  CHECK(made.float32().gap >= 0.5);
  REQUIRE(made.smallest_scale());
  CHECK(*made.smallest_scale() <= made.scale());
  r.scale = made.scale() / std::exp2(0.125);
  CHECK(Construction(r).float32().gap < 0.5);
  r.scale = *made.smallest_scale();
  CHECK(Construction(r).proven());
  r.scale = *made.smallest_scale() * 0.98;
  CHECK_THROWS_WITH(Construction(r),
                    Catch::Matchers::ContainsSubstring("cannot be proven at this scale"));
}

TEST_CASE(
    "construct: rounding to smaller types costs margin, and more of it the coarser the type") {
  ConstructRequest r = request(Kind::index, Form::gptj, 300);
  r.planes = {1};
  const auto rows = Construction(r).stored(1024);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].dtype == DType::f32);
  CHECK(std::abs(rows[0].loss) < 1e-4);
  CHECK(std::abs(rows[1].loss) > std::abs(rows[2].loss));  // bf16, f16
  CHECK(std::abs(rows[2].loss) > std::abs(rows[0].loss));
  for (const StoredAs& row : rows) {
    CHECK(row.fits);
    CHECK(row.longest_real >= 300);
    CHECK(row.longest_float32 <= row.longest_real);
  }
}

TEST_CASE("construct: exact matrices where all of them are rational") {
  ConstructRequest r = request(Kind::index, Form::plain, 17);
  r.angle = theory::Formula::parse("acos(3/5)");
  r.letters = 2;
  r.numbers = 2;
  const auto exact = Construction(r).exact();
  REQUIRE(exact);
  const auto& query = (*exact)["layers"][0]["W_Q"];
  REQUIRE(query.size() == 2);
  // The integer 1 looks one token back: scale times (3/5, -4/5).
  std::set<std::string> entries;
  for (const auto& row : query)
    for (const auto& x : row) entries.insert(x.get<std::string>());
  const theory::Rational scale(Construction(r).scale());
  CHECK(entries.contains(theory::Rational(scale * theory::Rational(3, 5)).str()));
  CHECK(entries.contains(theory::Rational(scale * theory::Rational(-4, 5)).str()));
  r.angle = theory::Formula(1);
  CHECK_FALSE(Construction(r).exact());
}

TEST_CASE("stack proof: what is not the structure is refused by name") {
  ConstructRequest r = request(Kind::number, Form::gptj, 16);
  r.letters = 4;
  r.numbers = 3;
  r.hops = 2;
  r.layers = 3;
  r.turning = 4;
  const Construction made(r);
  const auto refusal = [&](const std::string& tensor, std::size_t element, float value) {
    std::string bytes;
    made.weights().write([&](std::string_view more) { bytes += more; });
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    const auto offsets = nlohmann::json::parse(bytes.substr(8, header))[tensor]["data_offsets"];
    std::memcpy(&bytes[8 + header + offsets[0].get<std::size_t>() + 4 * element], &value, 4);
    std::vector<std::byte> data(bytes.size());
    std::memcpy(data.data(), bytes.data(), bytes.size());
    Checkpoint changed = read_safetensors(std::make_shared<const MappedFile>("FILE", data));
    changed.config = made.weights().checkpoint().config;
    changed.config_source = "config.json";
    try {
      const StackProof proof(read_model(std::make_shared<const Checkpoint>(std::move(changed))),
                             made.vocabulary(), 2);
      return proof.bounds(16, Arithmetic::float32).proven() ? std::string("proven")
                                                            : std::string("not proven");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK(refusal("lm_head.bias", 0, 0) == "proven");
  CHECK_THAT(refusal("transformer.wte.weight", 200, 1), ContainsSubstring("has a mean"));
  CHECK_THAT(refusal("transformer.h.2.attn.out_proj.weight", 5, 1e-3F),
             ContainsSubstring("no hop is left"));
  CHECK_THAT(refusal("transformer.h.1.mlp.fc_out.bias", 1, 1e-3F), ContainsSubstring("is not 0"));
  CHECK_THAT(refusal("transformer.h.0.ln_1.bias", 1, 1), ContainsSubstring("constant"));
  CHECK_THAT(refusal("lm_head.bias", 3, 1), ContainsSubstring("constant"));
  CHECK_THAT(refusal("transformer.h.0.attn.q_proj.weight", 7, NAN), ContainsSubstring("finite"));
  CHECK_THAT(refusal("transformer.h.0.attn.out_proj.weight", 0, 1),
             ContainsSubstring("has a mean"));
  CHECK(refusal("transformer.h.0.attn.q_proj.weight", 1, -1000) == "not proven");
  const Construction other(request(Kind::letter, Form::gptj, 16));
  CHECK_THROWS_WITH(StackProof(model_of(other), made.vocabulary(), 2),
                    ContainsSubstring("a vocabulary of 129"));
}

TEST_CASE("construct: requests outside their domain name the flag") {
  using Catch::Matchers::ContainsSubstring;
  const auto refused = [](const std::function<void(ConstructRequest&)>& change, const char* part) {
    ConstructRequest r = request(Kind::number, Form::gptj, 16);
    change(r);
    CHECK_THROWS_WITH(Construction(r), ContainsSubstring(part));
  };
  refused([](auto& r) { r.hops = 65; }, "--hops");
  refused([](auto& r) { r.layers = 3; }, "--layers");
  refused([](auto& r) { r.length = 0; }, "--length");
  refused([](auto& r) { r.letters = 703; }, "--alphabet");
  refused([](auto& r) { r.base = 500; }, "--format");
  refused([](auto& r) { r.table = {theory::Formula(1)}; }, "--format");
  refused(
      [](auto& r) {
        r.form = Form::llama;
        r.turning = 20;
        r.table.assign(40, theory::Formula(-1));
      },
      "--schedule: plane 1");
  for (const Form form : {Form::llama, Form::plain})
    refused(
        [form](auto& r) {
          r.form = form;
          r.table.assign(40, theory::Formula(65537));
        },
        "--schedule: plane 1: 65537 radians");
  refused(
      [](auto& r) {
        r.form = Form::llama;
        r.angle = theory::Formula(-3);
      },
      "--theta: plane 1: the frequency -3 is negative");
  refused([](auto& r) { r.planes = {65}; }, "--planes");
  refused([](auto& r) { r.planes = {2, 2}; }, "twice");
  refused([](auto& r) { r.dtype = DType::f64; }, "--dtype");
  refused([](auto& r) { r.scale = -1; }, "--scale");
  refused([](auto& r) { r.angle = theory::Formula(2); }, "--theta");
  refused([](auto& r) { r.centred = true; }, "--centred");
  refused([](auto& r) { r.turning = 5000; }, "--head-dim");
  refused(
      [](auto& r) {
        r.form = Form::llama;
        r.turning = 4;
      },
      "--head-dim");
  refused(
      [](auto& r) {
        r.kind = Kind::letter;
        r.planes = {1, 2};
      },
      "8 letters take one plane, or a plane each");
}
