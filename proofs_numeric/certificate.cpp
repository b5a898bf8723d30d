#include "proofs_numeric/certificate.hpp"

#include <algorithm>

#include "proofs_numeric/sha256.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Integer;
using theory::Lag;
using theory::Rational;
using theory::Round;

namespace {

void add(Fact& fact, const Names& names) {
  for (const auto& [name, expression] : names.where) fact["where"][name] = expression;
  for (const auto& [name, entries] : names.tables) fact["tables"][name] = entries;
}

std::string rounded(const Rational& x, unsigned digits, Round round) {
  return decimal(x, digits, round);
}

// Digits with which rounding outward adds a hundredth of the width at most, so that what the prover
// told apart stays apart: 24 at least; 300, which the checker's precision covers, at most.
unsigned digits_of(const Enclosure& x) {
  const Rational size = std::max<Rational>(abs(x.lo), abs(x.hi));
  if (x.exact() || size == 0) return value_digits;
  const auto places = theory::ceil(Rational(size / (x.hi - x.lo))).str().size() + 2;
  return static_cast<unsigned>(std::clamp<std::size_t>(places, value_digits, 300));
}

void add_ends(Fact& fact, const Enclosure& x) {
  const unsigned digits = digits_of(x);
  fact["lo"] = x.exact() ? x.lo.str() : rounded(x.lo, digits, Round::down);
  fact["hi"] = x.exact() ? x.hi.str() : rounded(x.hi, digits, Round::up);
}

Fact list(const std::vector<Lag>& lags) {
  Fact result = Fact::array();
  for (const Lag& t : lags) result.push_back(t.str());
  return result;
}

// Cuts and pieces of a base set, in increasing order. Pieces without length are left out, equal
// neighbours are one piece.
class Cover {
 public:
  Cover(Rational from, std::string text) : last_(std::move(from)) {
    cuts_.push_back(std::move(text));
  }

  // `stays`: the cut is wanted for itself, so no piece may run across it.
  void add(Fact piece, const Rational& to, std::string cut, bool stays = false) {
    if (to <= last_) return;
    last_ = to;
    if (!pieces_.empty() && pieces_.back() == piece && !stays_) {
      cuts_.back() = std::move(cut);
    } else {
      pieces_.push_back(std::move(piece));
      cuts_.push_back(std::move(cut));
    }
    stays_ = stays;
  }

  [[nodiscard]] const Rational& last() const { return last_; }
  [[nodiscard]] const Fact& cuts() const { return cuts_; }
  [[nodiscard]] const Fact& pieces() const { return pieces_; }

 private:
  Rational last_;
  bool stays_ = false;
  Fact cuts_ = Fact::array();
  Fact pieces_ = Fact::array();
};

// Numbers as strings, which no reader rounds.
nlohmann::ordered_json in_strings(const nlohmann::ordered_json& value) {
  if (value.is_number()) return value.dump();
  if (!value.is_structured()) return value;
  nlohmann::ordered_json result = value;
  for (auto& inner : result) inner = in_strings(inner);
  return result;
}

}  // namespace

Fact relation(std::string statement, const Names& names, bool holds) {
  Fact fact{{"kind", "relation"}, {"statement", std::move(statement)}, {"holds", holds}};
  add(fact, names);
  return fact;
}

Fact enclosed(std::string expression, const Enclosure& value, const Names& names, unsigned digits) {
  Fact fact{{"kind", "enclosure"},
            {"of", std::move(expression)},
            {"lo", rounded(value.lo, digits, Round::down)},
            {"hi", rounded(value.hi, digits, Round::up)}};
  add(fact, names);
  return fact;
}

std::vector<Fact> crossing(const std::string& falling, const std::string& name,
                           const Enclosure& value, const Names& names) {
  Names low = names;
  Names high = names;
  low.where.emplace_back(name, rounded(value.lo, value_digits, Round::down));
  high.where.emplace_back(name, rounded(value.hi, value_digits, Round::up));
  return {relation(falling + " > 0", low), relation(falling + " < 0", high)};
}

Fact written(const theory::TrigSum& sum) {
  Fact terms = Fact::array();
  for (const theory::TrigTerm& term : sum.terms)
    terms.push_back({{"amplitude", term.amplitude.str()},
                     {"frequency", term.frequency.text()},
                     {"phase", term.phase.text()}});
  return {{"offset", sum.offset.str()}, {"terms", std::move(terms)}};
}

Fact extremum_fact(Which which, const theory::TrigSum& sum, const LagRange& range,
                   const ExtremumReport& report) {
  Fact fact{{"kind", "extremum"}, {"which", which == Which::minimum ? "minimum" : "maximum"}};
  fact["sum"] = written(sum);
  fact["first"] = range.first.str();
  fact["last"] = range.last.str();
  fact["excluded"] = list(range.excluded);
  add_ends(fact["value"], report.extremum.value);
  fact["lags"] = list(report.extremum.lags);
  fact["complete"] = report.extremum.lags_complete;
  for (const Record& record : report.records) {
    Fact entry{{"lag", record.lag.str()}};
    add_ends(entry, record.value);
    fact["records"].push_back(std::move(entry));
  }
  return fact;
}

Fact base_set_fact(const BaseQuestion& question, const BaseSet& set) {
  constexpr BaseRoot one = BaseRoot{1} << 63;
  const unsigned planes = question.dim / 2;
  const auto base_at = [&](BaseRoot root) {
    const Integer power = boost::multiprecision::pow(Integer(one), planes);
    return Rational(power, boost::multiprecision::pow(Integer(root), planes));
  };
  const auto cut_at = [&](BaseRoot root) {
    return root == one ? std::string("1")
                       : "(" + std::to_string(one) + "/" + std::to_string(root) + ")^" +
                             std::to_string(planes);
  };
  const auto rejected = [](std::uint64_t k) {
    return Fact::array({"rejected", std::to_string(k)});
  };

  const auto number = [](const std::string& text) {
    return *theory::Formula::parse(text).rational();
  };
  // The infimum, rounded outward but not out of the range.
  std::string lo;
  std::string hi;
  Rational lowest = set.from;  // everything below it is rejected
  if (set.infimum) {
    lo = rounded(set.infimum->lo, value_digits, Round::down);
    hi = rounded(set.infimum->hi, value_digits, Round::up);
    lowest = std::max(number(lo), set.from);
    if (lowest == set.from) lo = set.from.str();
    if (set.infimum->hi == set.from) hi = set.from.str();
  }
  // The end of the range, rounded inward where nobody asked for it.
  std::string last = set.to.str();
  if (question.only_infimum && set.infimum)
    last = hi;
  else if (!question.to)
    last = rounded(set.to, value_digits, Round::down);
  const Rational to = number(last);

  Cover cover(set.from, set.from.str());
  bool below = lowest > set.from;  // the infimum is still to come
  for (const BasePiece& piece : set.pieces) {
    const Rational base = base_at(piece.last);
    const Rational& end = std::min(base, to);
    const std::string cut = base < to ? cut_at(piece.last) : last;
    const bool rejects = piece.kind == PieceKind::rejected;
    if (below && (!rejects || end >= lowest)) {
      // Up to the infimum itself, by the sum that is zero there.
      const std::uint64_t k = rejects ? piece.violated : set.binding.value_or(0);
      cover.add(rejected(k), lowest, lo, true);
      below = false;
    }
    cover.add(rejects
                  ? rejected(piece.violated)
                  : Fact::array({piece.kind == PieceKind::admissible ? "admissible" : "undecided"}),
              end, cut);
  }
  cover.add(Fact::array({"undecided"}), to, last);

  Fact fact{{"kind", "base-set"},
            {"dim", std::to_string(question.dim)},
            {"length", std::to_string(question.length)},
            {"cuts", cover.cuts()},
            {"pieces", cover.pieces()}};
  fact["infimum"] = set.infimum ? Fact{{"lo", lo}, {"hi", hi}} : Fact(nullptr);
  return fact;
}

Fact circle_cover(std::uint64_t reach) {
  return {{"kind", "circle-cover"}, {"reach", std::to_string(reach)}};
}

std::vector<std::string> entries(const std::vector<unsigned>& values) {
  std::vector<std::string> result;
  for (const unsigned x : values) result.push_back(std::to_string(x));
  return result;
}

std::vector<std::string> entries(const std::vector<Rational>& values) {
  std::vector<std::string> result;
  for (const Rational& x : values) result.push_back(x.str());
  return result;
}

std::vector<std::string> entries(const std::vector<theory::Formula>& values) {
  std::vector<std::string> result;
  for (const theory::Formula& x : values) result.push_back(x.text());
  return result;
}

nlohmann::ordered_json certificate(std::string_view verdict, const std::vector<Fact>& facts,
                                   const nlohmann::ordered_json& words) {
  nlohmann::ordered_json body;
  body["format"] = "ropewalk-certificate";
  body["version"] = "1";
  body["verdict"] = verdict;
  body["facts"] = facts;
  body["words"] = in_strings(words);
  // nlohmann::json keeps keys sorted by their bytes and dumps without spaces: the canonical form.
  body["sha256"] = sha256(nlohmann::json::parse(body.dump()).dump());
  return body;
}

}  // namespace ropewalk::proofs_numeric
