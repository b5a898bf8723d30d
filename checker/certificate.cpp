#include "certificate.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <new>

#include "facts.hpp"
#include "sha256.hpp"

namespace checker {

using nlohmann::json;

namespace {

constexpr size_t size_limit = size_t{64} << 20;  // bytes of a file
constexpr int depth_limit = 32;                  // brackets inside one another
constexpr size_t fact_limit = 100'000;

struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Unreadable("cannot be read");
  std::string text;
  std::vector<char> chunk(1 << 16);
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > size_limit) throw Malformed("larger than 64 MiB");
  }
  if (in.bad()) throw Unreadable("cannot be read");
  return text;
}

// JSON without repeated keys, numbers or deep nesting.
json parse(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > depth_limit) throw Malformed("nested too deeply");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw Malformed("the key '" + value.get<std::string>() + "' is repeated");
    if (event == json::parse_event_t::value && value.is_number())
      throw Malformed("a number that is no string");
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& e) {
    const std::string what =
        e.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    const size_t start = what.find("] ");
    throw Malformed("no JSON: " + what.substr(start == std::string::npos ? 0 : start + 2));
  }
}

void check_fact(const std::string& kind, const Object& fact) {
  static const std::map<std::string, void (*)(const Object&)> kinds = {
      {"relation", check_relation},           {"enclosure", check_enclosure},
      {"extremum", check_extremum},           {"base-set", check_base_set},
      {"contradiction", check_contradiction}, {"circle-cover", check_circle_cover}};
  const auto check = kinds.find(kind);
  if (check == kinds.end()) throw Malformed("unknown kind");
  check->second(fact);
}

Outcome check_certificate(const json& whole) {
  const Object file(whole, "");
  if (file.text("format") != "ropewalk-certificate")
    file.fail("format", "not 'ropewalk-certificate'");
  if (file.text("version") != "1") file.fail("version", "not '1', the only one this program knows");
  const std::string verdict = file.text("verdict");
  if (verdict != "proved" && verdict != "refuted" && verdict != "undecided")
    file.fail("verdict", "neither proved, refuted nor undecided");
  const std::string hash = file.text("sha256");
  if (file.has("words") && !file.at("words").is_object()) file.fail("words", "no object");
  const std::vector<Object> facts = file.objects("facts");
  file.done();
  if (facts.size() > fact_limit) file.fail("facts", "more than 100000");

  json body = whole;
  body.erase("sha256");
  if (const std::string is = sha256(body.dump()); is != hash)
    throw Rejected("sha256: the contents hash to " + is);

  long refutations = 0;
  for (const Object& fact : facts) {
    std::string step = fact.path() + ": ";
    try {
      const std::string kind = fact.text("kind");
      step = fact.path() + " (" + kind.substr(0, 30) + "): ";
      if (kind == "relation" && !fact.boolean("holds")) ++refutations;
      check_fact(kind, fact);
    } catch (const Malformed& e) {
      throw Malformed(step + e.what());
    } catch (const Rejected& e) {
      throw Rejected(step + e.what());
    } catch (const Open& e) {
      throw Rejected(step + "not decided: " + e.what());
    } catch (const std::bad_alloc&) {
      throw Rejected(step + "not decided: out of memory");
    }
  }
  if (verdict != "undecided" && facts.empty())
    throw Rejected("verdict: " + verdict + " without a fact");
  if ((verdict == "refuted") != (refutations > 0))
    throw Rejected("verdict: " + verdict + (refutations > 0 ? " with" : " without") +
                   " a relation that does not hold");
  Outcome out;
  out.verdict = verdict;
  out.facts = static_cast<long>(facts.size());
  return out;
}

}  // namespace

Object::Object(const json& value, std::string path) : value_(value), path_(std::move(path)) {
  if (!value.is_object()) throw Malformed((path_.empty() ? "the file" : path_) + ": no object");
}
void Object::fail(const std::string& key, const std::string& why) const {
  throw Malformed((path_.empty() || path_.rfind("facts[", 0) == 0 ? key : path_ + "." + key) +
                  ": " + why);
}
const json& Object::at(const std::string& key) const {
  const auto it = value_.find(key);
  if (it == value_.end()) fail(key, "missing");
  used_.insert(key);
  return *it;
}
std::string Object::text(const std::string& key) const {
  const json& v = at(key);
  if (!v.is_string()) fail(key, "no string");
  return v.get<std::string>();
}
bool Object::boolean(const std::string& key) const {
  const json& v = at(key);
  if (!v.is_boolean()) fail(key, "neither true nor false");
  return v.get<bool>();
}
Rational Object::rational(const std::string& key) const {
  try {
    return parse_rational(text(key), true);
  } catch (const Malformed& e) {
    fail(key, e.what());
  }
}
Integer Object::integer(const std::string& key) const {
  try {
    return parse_integer(text(key));
  } catch (const Malformed& e) {
    fail(key, e.what());
  }
}
std::vector<std::string> Object::texts(const std::string& key) const {
  const json& v = at(key);
  if (!v.is_array()) fail(key, "no list");
  std::vector<std::string> out;
  for (const json& item : v) {
    if (!item.is_string()) fail(key, "a list of something else than strings");
    out.push_back(item.get<std::string>());
  }
  return out;
}
Object Object::object(const std::string& key) const {
  const json& v = at(key);
  return {v, path_.empty() || path_.rfind("facts[", 0) == 0 ? key : path_ + "." + key};
}
std::vector<Object> Object::objects(const std::string& key) const {
  const json& v = at(key);
  if (!v.is_array()) fail(key, "no list");
  const std::string outer =
      path_.empty() || path_.rfind("facts[", 0) == 0 ? key : path_ + "." + key;
  std::vector<Object> out;
  for (size_t i = 0; i < v.size(); ++i)
    out.emplace_back(v[i], outer + "[" + std::to_string(i) + "]");
  return out;
}
Node& Object::sum(Context& context, const std::string& key) const {
  try {
    return context.sum(text(key));
  } catch (const Malformed& e) {
    fail(key, e.what());
  }
}
void Object::done() const {
  for (const auto& [key, unused] : value_.items())
    if (used_.count(key) == 0) fail(key.substr(0, 60), "unknown key");
}

namespace {

// The names that `where` and `tables` bind.
void bind(Context& context, const Object& fact) {
  if (fact.has("where")) {
    const Object where = fact.object("where");
    for (const auto& [name, unused] : fact.at("where").items()) {
      try {
        context.define(name, where.text(name));
      } catch (const Malformed& e) {
        where.fail(name, e.what());
      }
    }
  }
  if (fact.has("tables")) {
    const Object tables = fact.object("tables");
    for (const auto& [name, unused] : fact.at("tables").items()) {
      try {
        context.define(name, tables.texts(name));
      } catch (const Malformed& e) {
        tables.fail(name, e.what());
      }
    }
  }
}

}  // namespace

void check_relation(const Object& fact) {
  Context context;
  bind(context, fact);
  const bool holds = fact.boolean("holds");
  Statement* statement = nullptr;
  try {
    statement = &context.statement(fact.text("statement"));
  } catch (const Malformed& e) {
    fact.fail("statement", e.what());
  }
  fact.done();
  const Truth truth = context.decide(*statement);
  if (truth == Truth::unknown) throw Rejected("statement: not decided at 2048 bits");
  if ((truth == Truth::yes) != holds)
    throw Rejected(std::string("statement: ") +
                   (holds ? "does not hold" : "holds, against what the fact says"));
}

void check_enclosure(const Object& fact) {
  Context context;
  bind(context, fact);
  Node& of = fact.sum(context, "of");
  const Rational lo = fact.rational("lo"), hi = fact.rational("hi");
  fact.done();
  if (compare(context, of, lo) < 0)
    throw Rejected("the value " + context.value(of, precisions[2]).text() + " is below lo");
  if (compare(context, of, hi) > 0)
    throw Rejected("the value " + context.value(of, precisions[2]).text() + " is above hi");
}

Outcome check_file(const std::string& path) {
  // Reasons quote the file: one line of plain characters, so that no file can print what looks like
  // a verdict.
  const auto stop = [](int code, std::string why) {
    if (why.size() > 400) why = why.substr(0, 400) + "...";
    for (char& c : why)
      if (c < ' ' || c > '~') c = '?';
    Outcome out;
    out.code = code;
    out.reason = std::move(why);
    return out;
  };
  try {
    return check_certificate(parse(read(path)));
  } catch (const Unreadable& e) {
    return stop(4, e.what());
  } catch (const Malformed& e) {
    return stop(2, e.what());
  } catch (const Rejected& e) {
    return stop(1, e.what());
  } catch (const std::bad_alloc&) {
    return stop(1, "out of memory");
  } catch (const std::exception& e) {
    return stop(2, e.what());
  }
}

}  // namespace checker
