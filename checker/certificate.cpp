#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <new>
#include <set>

#include "facts.hpp"

namespace checker {

namespace {

constexpr size_t size_limit = size_t{64} << 20;  // bytes of a file
constexpr int depth_limit = 32;                  // brackets inside one another

// SHA-256 (FIPS 180-4), in hexadecimal. Its constants are the first 32 bits behind the point of the
// cube roots of the first 64 primes, and of the square roots of the first 8.
std::string sha256(std::string message) {
  std::array<std::uint32_t, 64> constants{};
  std::array<std::uint32_t, 8> h{};
  mpz_class prime = 1, root;
  for (size_t i = 0; i < 64; ++i) {
    mpz_nextprime(prime.get_mpz_t(), prime.get_mpz_t());
    mpz_root(root.get_mpz_t(), mpz_class(prime << 96).get_mpz_t(), 3);
    constants[i] = static_cast<std::uint32_t>(root.get_ui());
    if (i < 8) h[i] = static_cast<std::uint32_t>(mpz_class(sqrt(mpz_class(prime << 64))).get_ui());
  }
  const std::uint64_t bits = message.size() * 8;
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<char>(bits >> shift));

  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 64> w{};
    for (size_t i = 0; i < 64; ++i)
      w[i / 4] = (w[i / 4] << 8) | static_cast<unsigned char>(message[block + i]);
    for (size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    auto s = h;
    for (size_t i = 0; i < 64; ++i) {
      const std::uint32_t one = s[7] +
                                (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
      const std::uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                                ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string out;
  for (const std::uint32_t word : h)
    for (int shift = 28; shift >= 0; shift -= 4)
      out.push_back("0123456789abcdef"[(word >> shift) & 15]);
  return out;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content;
  for (char c = 0; content.size() <= size_limit && in.get(c);) content.push_back(c);
  if (content.size() > size_limit) throw Malformed("larger than 64 MiB");
  if (in.bad() || !in.is_open()) throw std::ios_base::failure("cannot be read");
  return content;
}

// JSON without repeated keys, numbers or deep nesting.
json parse(const std::string& content) {
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (depth > depth_limit) throw Malformed("nested too deeply");
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(value.get<std::string>()).second)
      throw Malformed("the key '" + value.get<std::string>() + "' is repeated");
    if (event == Event::value && value.is_number()) throw Malformed("a number that is no string");
    return true;
  };
  try {
    return json::parse(content, check);
  } catch (const json::exception& e) {
    throw Malformed(std::string("no JSON: ") + e.what());
  }
}

// A context with the names that `where` and `tables` bind.
struct Named : Context {
  explicit Named(const json& fact) {
    for (const std::string key : {"where", "tables"}) {
      if (!fact.contains(key)) continue;
      const bool table = key == "tables";
      for (const auto& [name, value] : get<json::object_t>(fact, key))
        within(key + "." + name, [&, &n = name, &v = value] {
          define(n, table ? v.get<Texts>() : Texts{v.get<std::string>()}, table);
        });
    }
  }
};

void check_relation(const json& fact) {
  check_keys(fact, {"kind", "statement", "holds"}, {"where", "tables"});
  Named context(fact);
  within("statement", [&] {
    const bool holds = context.holds(get(fact, "statement"));
    if (holds != get<bool>(fact, "holds")) throw Rejected(holds ? "holds" : "does not hold");
  });
}

void check_enclosure(const json& fact) {
  check_keys(fact, {"kind", "of", "lo", "hi"}, {"where", "tables"});
  Named context(fact);
  within("of", [&] {
    Node& of = context.parse(get(fact, "of"));
    const Value lo = number(fact, "lo"), hi = number(fact, "hi");
    const int below = settle([&] { return compare(context.value(of), lo); });
    const int above = settle([&] { return compare(context.value(of), hi); });
    if (below < 0 || above > 0)
      throw Rejected("the value " + context.value(of).text() + " is " +
                     (below < 0 ? "below lo" : "above hi"));
  });
}

// In [0, 1], the intervals |x - j/s| <= 1/(s(reach + 1)) with s <= reach cover. Any increasing
// chain of fractions from 0 to 1 with denominators <= reach whose intervals meet proves it; here it
// is the Farey sequence.
void check_circle_cover(const json& fact) {
  check_keys(fact, {"kind", "reach"});
  const mpz_class reach = integer(fact.at("reach"));
  if (reach < 1) throw Rejected("reach: not positive");
  if (reach > 20000) throw Rejected("reach: not decided: beyond 20000");
  const long n = reach.get_si();
  long a = 0, b = 1, c = 1, d = n;  // neighbours a/b < c/d
  for (;;) {
    // a/b + 1/(b(n+1)) >= c/d - 1/(d(n+1)), times b d (n+1)
    if (d < 1 || d > n || c * b <= a * d || (c * b - a * d) * (n + 1) > b + d)
      throw Rejected("reach: no cover");
    if (c == d) return;
    const long k = (n + b) / d;
    a = std::exchange(c, k * c - a);
    b = std::exchange(d, k * d - b);
  }
}

std::string check_certificate(const json& whole) {
  check_keys(whole, {"format", "version", "verdict", "facts", "sha256"}, {"words"});
  if (get(whole, "format") != "ropewalk-certificate")
    throw Malformed("format: not 'ropewalk-certificate'");
  if (get(whole, "version") != "1") throw Malformed("version: not '1', the only one known here");
  if (whole.contains("words")) get<json::object_t>(whole, "words");
  const auto facts = get<json::array_t>(whole, "facts");
  const std::string verdict = get(whole, "verdict");
  if (verdict != "proved" && verdict != "refuted" && verdict != "undecided")
    throw Malformed("verdict: neither proved, refuted nor undecided");
  json body = whole;
  body.erase("sha256");
  const std::string hash = sha256(body.dump());
  if (hash != get(whole, "sha256")) throw Rejected("sha256: the contents hash to " + hash);

  static const std::map<std::string, void (*)(const json&)> kinds = {
      {"relation", check_relation},           {"enclosure", check_enclosure},
      {"extremum", check_extremum},           {"base-set", check_base_set},
      {"contradiction", check_contradiction}, {"circle-cover", check_circle_cover}};
  bool refutes = false;
  for (size_t i = 0; i < facts.size(); ++i) {
    const std::string name = "facts[" + std::to_string(i) + "]";
    const std::string kind = within(name, [&] { return get(facts[i], "kind"); });
    within(name + " (" + kind.substr(0, 30) + ")", [&] {
      if (kinds.count(kind) == 0) throw Malformed("unknown kind");
      kinds.at(kind)(facts[i]);
      refutes = refutes || (kind == "relation" && !get<bool>(facts[i], "holds"));
    });
  }
  if (verdict != "undecided" && facts.empty())
    throw Rejected("verdict: " + verdict + " without a fact");
  if ((verdict == "refuted") != refutes)
    throw Rejected("verdict: " + verdict + (refutes ? " with" : " without") +
                   " a relation that does not hold");
  return verdict + ", " + std::to_string(facts.size()) + (facts.size() == 1 ? " fact" : " facts");
}

}  // namespace

void check_keys(const json& object, const Texts& required, const Texts& optional) {
  for (const std::string& key : required)
    if (!object.is_object() || !object.contains(key)) throw Malformed(key + ": missing");
  for (const auto& [key, unused] : object.items())
    if (!std::count(required.begin(), required.end(), key) &&
        !std::count(optional.begin(), optional.end(), key))
      throw Malformed(key.substr(0, 60) + ": unknown key");
}
mpq_class number(const json& object, const std::string& key) {
  return within(key, [&] { return parse_number(get(object, key), true); });
}
mpz_class integer(const json& text) {
  const auto digits = text.get<std::string>();
  if (digits.find_first_not_of("-0123456789") != std::string::npos)
    throw Malformed("'" + digits.substr(0, 60) + "' is no integer");
  return parse_number(digits, false).get_num();
}

std::pair<int, std::string> check_file(const std::string& path) {
  // Reasons quote the file: one line of plain characters, lest a file print what looks like a
  // verdict.
  const auto stop = [](int code, std::string why) {
    std::replace_if(
        why.begin(), why.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return std::pair(code, why.substr(0, 400));
  };
  try {
    return {0, check_certificate(parse(read(path)))};
  } catch (const std::ios_base::failure&) {
    return stop(4, "cannot be read");
  } catch (const Malformed& e) {
    return stop(2, e.what());
  } catch (const Rejected& e) {
    return stop(1, e.what());
  } catch (const std::bad_alloc&) {
    return stop(1, "not decided: out of memory");
  } catch (const std::exception& e) {
    return stop(2, e.what());
  }
}

}  // namespace checker
