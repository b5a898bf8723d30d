#pragma once
/// \file
/// A claim and its judgement.
///
/// The ledger (`papers/*/claims.toml`) says what a paper states, as encoded here, and which verdict
/// is expected. A *judge* is the function that settles one claim by machine; its Judgement carries
/// the verdict, the scope the machine really covered, the value at the heart of the claim, and for
/// a refutation the smallest witness. What lies beyond the scope is argued in words
/// (docs/proofs.md) and never passes for the first.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proofs_numeric/certificate.hpp"
#include "theory/enclosure.hpp"

namespace ropewalk::proofs_numeric {

enum class Verdict { proved, refuted, undecided };

[[nodiscard]] std::string_view name(Verdict verdict);

using Witness = nlohmann::ordered_json;

struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::string scope;                       ///< what the machine checked: ranges, covers
  std::optional<theory::Enclosure> value;  ///< the number at the heart of the claim
  std::optional<Witness> witness;          ///< an input that refutes or attains
  std::vector<Fact> facts = {};            ///< what the certificate holds; none where undecided
};

/// One entry of the ledger.
struct Claim {
  std::string id;         ///< P1.T3.2b.max
  std::string paper;      ///< P1, P2, ... ; R for our own
  std::string source;     ///< where in the paper
  std::string statement;  ///< as encoded
  std::string reading;
  Verdict expected = Verdict::undecided;
  std::string difference;  ///< from what the paper says
  std::string argument;    ///< where the statement goes beyond the scope: the written proof
  std::string function;    ///< the judge
  std::string test;        ///< the test case that guards it
  bool is_long = false;    ///< scope = "long": minutes, so only judged where asked for
};

/// All entries, by paper and in the order of their file. Throws Error(parse) for an entry that
/// lacks a key.
[[nodiscard]] std::vector<Claim> ledger();

/// Settles a claim. Throws Error(bad_value) for an id without a judge. Cost: see each judge; all
/// together stay within two minutes on two cores, those of long claims left out.
[[nodiscard]] Judgement judge(std::string_view id);

// One judge per claim; the ledger names them. Grouped by the file that holds them.
// index_claims.cpp
Judgement index_feasible();
Judgement index_gap_below_one_minus_cosine();
Judgement index_gap_below_square_law_max();
Judgement index_gap_below_square_law_min();
Judgement irrational_angle_keeps_gap();
Judgement one_plane_gap_by_continued_fractions();
Judgement best_one_plane_angle();
// retrieval_claims.cpp
Judgement retrieval_feasible();
Judgement retrieval_gap_max();
Judgement retrieval_margin_min();
Judgement retrieval_margin_min_corrected();
Judgement retrieval_gap_displayed();
Judgement zero_angle_margin_letters();
Judgement zero_angle_margin_all();
Judgement one_plane_retrieval_margin();
Judgement centred_retrieval_margin();
// softmax_claims.cpp
Judgement mass_on_maximisers();
Judgement softmax_scale();
// impossibility_claims.cpp
Judgement symbolic_head_cannot_index();
Judgement positional_head_cannot_retrieve();
Judgement positional_head_with_any_decoder();
Judgement symbolic_head_cannot_do_positional_task();
Judgement positional_head_cannot_do_symbolic_task();
// canonical_claims.cpp
Judgement exclusion_inequality();
Judgement one_angle_does_positional_task();
Judgement zero_angle_does_symbolic_task();
Judgement two_angles_do_mixed_task();
Judgement one_angle_cannot_do_mixed_task_bounded();
Judgement one_angle_cannot_do_mixed_task_all();
Judgement attention_is_u_shaped();
// base_claims.cpp
Judgement base_bounds_context(std::string_view context);  ///< a row of P4's table: "1k" ... "1M"
Judgement common_bases_reach();
// optimal_claims.cpp
Judgement best_head_by_linear_program();
Judgement many_planes_break_square_law();
Judgement every_head_below_two_sided_optimum();
Judgement one_sided_offsets();
Judgement previous_token_is_not_one_sided();
Judgement mixtures_bound_every_aligned_head();
Judgement dirichlet_bounds_every_table();
// survival_claims.cpp
Judgement common_return_of_all_planes();
Judgement no_index_head_survives();
Judgement retrieval_survives_where_index_does_not();
Judgement retrieval_needs_still_plane();
Judgement rounding_keeps_argmax();
Judgement fp16_angles_overflow();
Judgement mass_falls_with_length();
Judgement gibbs_bounds_mass();
Judgement bounded_scale_has_a_horizon();
// precision_claims.cpp
Judgement single_precision_table();
Judgement narrow_tables();
// rotary_claims.cpp
Judgement some_key_is_largest_at_every_distance();
Judgement stopped_planes_see_no_distance();
Judgement gaussian_logits_have_mean_zero();
Judgement no_previous_token_without_positions();
Judgement no_diagonal_without_positions();
Judgement diagonal_without_positions_on_distinct_tokens();
Judgement rotary_diagonal_bounded();
Judgement rotary_diagonal_at_every_length();
Judgement one_plane_attends_not_at_every_length();
// base_limit_claims.cpp
Judgement no_aliasing_below_published_length();
Judgement no_aliasing_within_wavelength();
Judgement dc_stability();
Judgement dc_stability_of_table();
Judgement dc_stability_of_table_corrected();
Judgement dc_stability_at_depth();
Judgement dc_stability_at_depth_is_necessary();
Judgement precision_wall_suffices_near_one();
Judgement precision_wall_is_necessary();
Judgement precision_wall_suffices_for_cosine();
// recorded_claims.cpp
Judgement letter_accuracy_to_850();

}  // namespace ropewalk::proofs_numeric
