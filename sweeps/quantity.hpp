#pragma once
/// \file
/// What a sweep can ask of a table at a length, and how it is answered.
///
/// A *kind* of quantity is a row of one list: its name, its parameters with their defaults, what
/// its value means, and one function that answers for one table at many lengths. Lengths go
/// together because most answers come in one pass: the record staircase of a sum says its minimum
/// at every reach, the horizon found for the longest input caps itself at the shorter ones.
///
/// Every answer is an enclosure with what proves it: the facts of a job go into one certificate
/// that ropewalk-check checks (docs/certificates.md).

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proofs_numeric/certificate.hpp"
#include "sweeps/table.hpp"

namespace ropewalk::sweeps {

using theory::Enclosure;
using Json = nlohmann::ordered_json;

/// The answer at one length.
struct Answer {
  /// Nothing where the question has no answer here (an offset beyond the length, a table of several
  /// planes for a one-plane question); `detail["note"]` says why.
  std::optional<Enclosure> value;
  bool decided = true;           ///< false: the enclosure is the best that was found in time
  Json detail = Json::object();  ///< what attains it: lag, amplitudes, ...; numbers as text
  std::string method;
};

struct Answers {
  std::vector<Answer> at;                   ///< one per length, in their order
  std::vector<proofs_numeric::Fact> facts;  ///< what proves all of them
};

/// One table, one quantity, increasing lengths.
struct Question {
  const Table& table;
  const Parameters& parameters;
  std::span<const Lag> lengths;
  std::atomic<bool>* stop = nullptr;  ///< set it to interrupt: Error(undecided) is thrown
};

struct Parameter {
  std::string_view name;
  std::string_view standard;  ///< value where the spec says nothing
  std::string_view means;
  /// The one text of a value, whatever way it was written. Throws Error(bad_value) outside its
  /// domain.
  std::string (*canonical)(const std::string& text);
};

struct Kind {
  std::string_view name;
  std::string_view means;
  std::vector<Parameter> parameters;
  Lag longest;  ///< lengths beyond are refused
  /// Whether lengths are answered together, so that a job holds them all.
  bool (*one_pass)(std::size_t planes, const Parameters& parameters);
  /// Operations for a table of so many planes at its longest length, for estimates. Heuristic.
  double (*operations)(std::size_t planes, double length);
  Answers (*answer)(const Question& question);
};

/// All of them, in the order of docs/sweeps.md.
[[nodiscard]] std::span<const Kind> kinds();
/// Error(bad_value) with the list of names for one that is not there.
[[nodiscard]] const Kind& kind_of(std::string_view name);

/// All parameters of the kind, as canonical text; standard values where `given` has none.
/// Error(bad_value) names the parameter that is unknown or outside its domain.
[[nodiscard]] Parameters complete(const Kind& kind, const Parameters& given);

}  // namespace ropewalk::sweeps
