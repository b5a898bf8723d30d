// One test per claim about many planes, growing inputs and bases (R3, R4, R5, R8, R9, P3, P5): the
// verdict, its value against numbers found independently (mpmath), and what the witness says.

#include <cmath>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/torus_cover.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Formula;
using theory::Rational;

namespace {

Rational number(const char* text) { return *Formula::parse(text).rational(); }

void check_value(const Judgement& j, const char* lo, const char* hi) {
  REQUIRE(j.value);
  CAPTURE(text(*j.value, 20));
  CHECK(j.value->lo >= number(lo));
  CHECK(j.value->hi <= number(hi));
}

// The verdict, and facts that fit it: a refutation states what is false, a proof does not.
void check_verdict(const Judgement& j, Verdict expected) {
  CHECK(j.verdict == expected);
  CHECK_FALSE(j.facts.empty());
  std::size_t denied = 0;
  for (const Fact& fact : j.facts)
    if (fact["kind"] == "relation" && !fact["holds"].get<bool>()) ++denied;
  CHECK((denied > 0) == (expected == Verdict::refuted));
  CHECK((j.witness.has_value() || expected == Verdict::proved));
}

std::size_t count(const Judgement& j, const char* kind) {
  std::size_t number = 0;
  for (const Fact& fact : j.facts) number += fact["kind"] == kind ? 1 : 0;
  return number;
}

}  // namespace

TEST_CASE("The best heads of four tables are proven from both sides") {
  const Judgement j = best_head_by_linear_program();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.280564", "0.280565");
  CHECK(count(j, "extremum") == 4);
  CHECK(count(j, "relation") == 12);  // amplitudes, weights and bound of each
  const auto has = [&](const char* table, const char* digits) {
    CAPTURE(j.witness->dump());
    CHECK((*j.witness)[table].get<std::string>().starts_with(digits));
  };
  has("base 500000, 64 planes, T = 1024", "0.315345");
  has("base 10000, 64 planes, T = 131072", "0.293254");
  has("base 10000, 8 planes, T = 131072", "0.117703");
}

TEST_CASE("Many planes break the square law") {
  const Judgement j = many_planes_break_square_law();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.02209077", "0.02209079");
  CHECK((*j.witness)["one_plane_best"].get<std::string>().starts_with("1.14"));
}

TEST_CASE("No head with phases beats the two-sided optimum at inner offsets") {
  const Judgement j = every_head_below_two_sided_optimum();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.404283", "0.404284");
}

TEST_CASE("Phases help where the keys lie on one side") {
  const Judgement j = one_sided_offsets();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.631791", "0.631792");
  CHECK((*j.witness)["two-sided, T = 16"].get<std::string>().starts_with("0.40368"));
  CHECK((*j.witness)["at_most"].get<std::string>().starts_with("0.95885"));
}

TEST_CASE("A previous-token head gains little by phases") {
  const Judgement j = previous_token_is_not_one_sided();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.28198", "0.28199");
  CHECK((*j.witness)["m = 0"].get<std::string>().starts_with("0.3547"));
}

TEST_CASE("Mixtures of lags bound every aligned head") {
  const Judgement j = mixtures_bound_every_aligned_head();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.45969769413186028", "0.45969769413186029");
}

TEST_CASE("Dirichlet's bound holds for every table") {
  const Judgement j = dirichlet_bounds_every_table();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.29289321881345247", "0.29289321881345248");
}

TEST_CASE("All planes return together") {
  const Judgement j = common_return_of_all_planes();
  check_verdict(j, Verdict::proved);
  CHECK(cover_torus(2, 5).complete);
  CHECK(cover_torus(1, 1).complete);
  CHECK_THROWS_AS(cover_torus(0, 2), Error);
  CHECK_THROWS_AS(cover_torus(4, 17), Error);
}

TEST_CASE("The grid of the torus cover serves every square") {
  for (const unsigned q : {2U, 3U}) {
    const Fact fact = torus_cover_fact(q);
    const std::int64_t cells = std::stoll(fact["where"]["N"].get<std::string>());
    const auto off = [&](std::int64_t s, std::int64_t i) {
      const std::int64_t r = s * (2 * i + 1) % (4 * cells);
      return std::min(r, 4 * cells - r);
    };
    std::int64_t bad = 0;
    for (std::int64_t i = 0; i < cells; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        bool served = false;
        for (std::int64_t s = 1; s <= q * q; ++s)
          served = served || (std::max(off(s, i), off(s, j)) + s) * q <= 4 * cells;
        bad += served ? 0 : 1;
      }
    CHECK(bad == 0);
  }
  CHECK_THROWS_AS(torus_cover_fact(4), Error);
}

TEST_CASE("No Index head survives every length") {
  const Judgement j = no_index_head_survives();
  check_verdict(j, Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->hi < number("0.1961"));  // 2 sin(pi/32)
  const double s = (*j.witness)["lag"].get<double>();
  CHECK(s <= 1024);
  const double loss = std::max(2 * std::abs(std::sin(s / 2)), 2 * std::abs(std::sin(s / 100 / 2)));
  CHECK(std::abs(loss - j.value->hi.convert_to<double>()) < 1e-12);
}

TEST_CASE("Retrieval survives where Index does not") {
  const Judgement j = retrieval_survives_where_index_does_not();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.29289321881345247", "0.29289321881345248");
  CHECK((*j.witness)["index_length"] == 23);
}

TEST_CASE("Retrieval needs a still plane to survive") {
  const Judgement j = retrieval_needs_still_plane();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.032162927849143", "0.032162927849144");
}

TEST_CASE("Rounding keeps the winner below half the margin") {
  const Judgement j = rounding_keeps_argmax();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.5", "0.5");
}

TEST_CASE("Angles in fp16 overflow at 65520") {
  const Judgement j = fp16_angles_overflow();
  check_verdict(j, Verdict::proved);
  check_value(j, "65520", "65520");
  CHECK((*j.witness)["largest"] == "65504");
}

TEST_CASE("The fp32 table of base 5e5 from both sides") {
  const Judgement j = single_precision_table();
  check_verdict(j, Verdict::proved);
  check_value(j, "9.251225e-3", "9.251226e-3");
  // mpmath, every lag and plane
  CHECK((*j.witness)["L = 4096"]["lag"] == 3875);
  CHECK((*j.witness)["L = 131072"]["lag"] == 129827);
  CHECK((*j.witness)["L = 131072"]["plane"] == 3);
  CHECK(j.facts.size() == 21);  // of each length: the entry in four steps, the bound in three
}

TEST_CASE("Narrow formats put the cosines of base 5e5 off") {
  const Judgement j = narrow_tables();
  check_verdict(j, Verdict::proved);
  CHECK((*j.witness)["bf16-cache"]["L = 4096"]["lag"] == 2718);
  CHECK((*j.witness)["fp16-angles"]["L = 4096"]["lag"] == 3373);
  CHECK((*j.witness)["fp16-angles"].size() == 2);  // not finite at 131072
  CHECK((*j.witness)["bf16-inv-freq"]["L = 131072"]["plane"] == 21);
}

TEST_CASE("Mass falls with every key added") {
  const Judgement j = mass_falls_with_length();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.22868", "0.22869");
}

TEST_CASE("Gibbs' inequality bounds the mass") {
  const Judgement j = gibbs_bounds_mass();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.592258634059302", "0.592258634059303");
}

TEST_CASE("A bounded scale has a horizon") {
  const Judgement j = bounded_scale_has_a_horizon();
  check_verdict(j, Verdict::proved);
  check_value(j, "77", "77");
  for (const char* head : {"equal amplitudes", "plane 1 alone", "best amplitudes"})
    CHECK((*j.witness)[head].get<int>() < 77);
}

TEST_CASE("Some key is largest at any distance") {
  const Judgement j = some_key_is_largest_at_every_distance();
  check_verdict(j, Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > 0);
  CHECK(j.value->hi < number("1e-30"));
  CHECK(count(j, "extremum") == 128);
}

TEST_CASE("Stopped planes see no distance") {
  const Judgement j = stopped_planes_see_no_distance();
  check_verdict(j, Verdict::refuted);
  check_value(j, "0", "0");
  CHECK((*j.witness)["query"] == "plane 2 only");
}

TEST_CASE("Logits of independent Gaussians have mean zero") {
  const Judgement j = gaussian_logits_have_mean_zero();
  check_verdict(j, Verdict::proved);
  check_value(j, "6", "6");
}

TEST_CASE("Without positions no previous-token head") {
  const Judgement j = no_previous_token_without_positions();
  check_verdict(j, Verdict::proved);
  check_value(j, "0", "0");
  CHECK(count(j, "contradiction") == 14);
}

TEST_CASE("Without positions no diagonal head where tokens repeat") {
  const Judgement j = no_diagonal_without_positions();
  check_verdict(j, Verdict::proved);
  check_value(j, "0.5", "0.5");
}

TEST_CASE("Without positions a diagonal head exists where tokens differ") {
  const Judgement j = diagonal_without_positions_on_distinct_tokens();
  check_verdict(j, Verdict::refuted);
  check_value(j, "0.95257412", "0.95257413");  // 1 / (1 + e^-3)
}

TEST_CASE("Rotary diagonal and previous-token heads exist at bounded length") {
  const Judgement j = rotary_diagonal_bounded();
  check_verdict(j, Verdict::proved);
  check_value(j, "14031.4099", "14031.4100");
}

TEST_CASE("No head of fixed weights is diagonal at every length") {
  const Judgement j = rotary_diagonal_at_every_length();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["length"] == 20);
  check_value(j, "0.60987911", "0.60987912");
}

TEST_CASE("One plane cannot attend to a token at every length") {
  const Judgement j = one_plane_attends_not_at_every_length();
  check_verdict(j, Verdict::proved);
  check_value(j, "2559199", "2559199");
}

TEST_CASE("The published aliasing limit is not that of the slowest plane") {
  const Judgement j = no_aliasing_below_published_length();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["length"] == 9);
  CHECK((*j.witness)["base"] == "3/2");
  CHECK((*j.witness)["dim"] == 4);
  check_value(j, "7.69529", "7.69530");  // 2 pi sqrt(3/2)
}

TEST_CASE("The slowest plane makes a turn at its wavelength") {
  const Judgement j = no_aliasing_within_wavelength();
  check_verdict(j, Verdict::proved);
  check_value(j, "54411", "54411");
}

TEST_CASE("DC stability of frequency 1/b") {
  const Judgement j = dc_stability();
  check_verdict(j, Verdict::proved);
  check_value(j, "10471", "10471");  // floor(10^4 pi/3)
}

TEST_CASE("The published DC limit fails for the slowest plane") {
  const Judgement j = dc_stability_of_table();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["length"] == 1);
  CHECK((*j.witness)["base"] == 2);
  check_value(j, "0.7602445", "0.7602446");  // cos(1/sqrt 2)
}

TEST_CASE("The corrected DC limit is sharp") {
  const Judgement j = dc_stability_of_table_corrected();
  check_verdict(j, Verdict::proved);
  check_value(j, "9068", "9068");
}

TEST_CASE("DC stability at depth N") {
  const Judgement j = dc_stability_at_depth();
  check_verdict(j, Verdict::proved);
  check_value(j, "2073", "2073");
}

TEST_CASE("The DC limit at depth N is not necessary for even N") {
  const Judgement j = dc_stability_at_depth_is_necessary();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["length"] == 2);
  CHECK((*j.witness)["base"] == 1);
  check_value(j, "0.1731781", "0.1731782");  // cos^2 2
}

TEST_CASE("Below the precision wall a step near 1 is kept") {
  const Judgement j = precision_wall_suffices_near_one();
  check_verdict(j, Verdict::proved);
  check_value(j, "256", "256");
}

TEST_CASE("The precision wall is not necessary") {
  const Judgement j = precision_wall_is_necessary();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["base"] == "128");
  CHECK((*j.witness)["first_lost"] == 257);
}

TEST_CASE("Cosines lose a step long before the precision wall") {
  const Judgement j = precision_wall_suffices_for_cosine();
  check_verdict(j, Verdict::refuted);
  CHECK((*j.witness)["base"] == 16);
  CHECK((*j.witness)["fp32"]["base"] == 4096);
  // In the machine's own arithmetic.
  CHECK(static_cast<float>(std::cos(1.0 / 4096)) == 1.0F);
  CHECK(static_cast<float>(std::cos(1.0 / 4095)) < 1.0F);
}
