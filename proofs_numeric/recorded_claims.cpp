// Empirical statements: on record beside the published data, judged undecided by mathematics.

#include <toml++/toml.h>

#include <cmath>

#include "papers/texts.hpp"
#include "proofs_numeric/claims.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

namespace ropewalk::proofs_numeric {

Judgement letter_accuracy_to_850() {
  for (const papers::Text& text : papers::texts()) {
    if (text.path != "2605.31558/values.toml") continue;
    const toml::table table = toml::parse(text.content, text.path);
    const toml::array& added = *table["length_generalisation"]["added"].as_array();
    const toml::array& letter = *table["length_generalisation"]["letter"].as_array();
    Witness below = nullptr;
    std::optional<theory::Enclosure> value;
    for (std::size_t i = 0; i < added.size(); ++i) {
      const auto tokens = added[i].value<std::int64_t>().value_or(0);
      const double accuracy = letter[i].value<double>().value_or(1.0);
      if (tokens > 850 || accuracy > 0.9) continue;
      // A plotted value has three decimals: take them, not the binary neighbour.
      const auto thousandths = std::lround(accuracy * 1000);
      value = theory::Enclosure(theory::Rational(thousandths, 1000));
      below = {{"added", tokens},
               {"accuracy", theory::decimal(value->lo, 6, theory::Round::nearest)}};
      break;
    }
    return {Verdict::undecided,
            "published plot only (papers/2605.31558/values.toml): a mean over a test set bounds "
            "nothing; value = the first plotted accuracy of 0.9 or less within 850 added tokens",
            value, below};
  }
  throw Error(ErrorCode::file, "papers/2605.31558/values.toml is not compiled in");
}

}  // namespace ropewalk::proofs_numeric
