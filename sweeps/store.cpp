#include "sweeps/store.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "proofs_numeric/sha256.hpp"

namespace ropewalk::sweeps {

namespace {

// "ropw": says that the file is a store; the layout's version beside it.
constexpr int application = 0x726f7077;
constexpr int layout = 1;

constexpr const char* schema = R"(
CREATE TABLE tables (
  id TEXT PRIMARY KEY, scheme TEXT NOT NULL, description TEXT NOT NULL, frequencies TEXT NOT NULL,
  attention_factor TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
  key TEXT PRIMARY KEY, status TEXT NOT NULL, lo TEXT NOT NULL, hi TEXT NOT NULL, detail TEXT NOT NULL,
  method TEXT NOT NULL, seconds REAL NOT NULL, certificate TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sweeps (
  name TEXT PRIMARY KEY, title TEXT NOT NULL, command TEXT NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
  sweep TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, coordinates TEXT NOT NULL,
  table_id TEXT NOT NULL, quantity TEXT NOT NULL, parameters TEXT NOT NULL, length TEXT NOT NULL,
  key TEXT NOT NULL, PRIMARY KEY (sweep, place)) WITHOUT ROWID;
)";

std::string json_of(const Parameters& parameters) {
  Json out = Json::object();
  for (const auto& [name, value] : parameters) out[name] = value;
  return out.dump();
}

}  // namespace

Parameters pairs(const std::string& json) {
  const Json object = Json::parse(json);
  Parameters result;
  for (const auto& [name, value] : object.items()) result[name] = value.get<std::string>();
  return result;
}

// A prepared statement, finished when it dies.
class Store::Statement {
 public:
  Statement(const Store& store, const char* sql) : store_(store) {
    if (sqlite3_prepare_v2(store.database_, sql, -1, &handle_, nullptr) != SQLITE_OK)
      store.fail("cannot be used");
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::string_view text) {
    // An empty view may have no address, which would be NULL.
    const char* bytes = text.empty() ? "" : text.data();
    if (sqlite3_bind_text(handle_, index, bytes, static_cast<int>(text.size()), SQLITE_TRANSIENT) !=
        SQLITE_OK)
      store_.fail("cannot be written");
    return *this;
  }
  Statement& bind(int index, double value) {
    sqlite3_bind_double(handle_, index, value);
    return *this;
  }
  Statement& bind(int index, std::int64_t value) {
    sqlite3_bind_int64(handle_, index, value);
    return *this;
  }
  bool step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) store_.fail("cannot be read or written");
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(handle_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = sqlite3_column_text(handle_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
    return bytes == nullptr ? std::string()
                            : std::string(reinterpret_cast<const char*>(bytes), size);
  }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(handle_, column); }
  [[nodiscard]] int number(int column) const { return sqlite3_column_int(handle_, column); }

 private:
  const Store& store_;
  sqlite3_stmt* handle_ = nullptr;
};

void Store::fail(const std::string& what) const {
  const std::string reason = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  throw Error(ErrorCode::file, path_ + ": the store " + what + ": " + reason);
}

void Store::run(const char* sql) const {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail("cannot be written");
}

Store::Store(const std::string& path, Access access) : path_(path) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_regular_file(status))
    throw Error(ErrorCode::file, path + ": not a regular file");
  if (!exists && access == Access::read) throw Error(ErrorCode::file, path + ": no such store");
  const int flags =
      access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  try {
    if (sqlite3_open_v2(path.c_str(), &database_, flags | SQLITE_OPEN_FULLMUTEX, nullptr) !=
        SQLITE_OK)
      fail("cannot be opened");
    sqlite3_busy_timeout(database_, 60'000);
    if (access == Access::create) {
      run("PRAGMA journal_mode = WAL");
      run("PRAGMA synchronous = NORMAL");
      run("BEGIN IMMEDIATE");
      check_layout(true);
      run("COMMIT");
    } else {
      check_layout(false);
    }
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

Store::~Store() { sqlite3_close(database_); }

void Store::check_layout(bool fresh) const {
  const auto pragma = [&](const char* sql) {
    Statement statement(*this, sql);
    statement.step();
    return statement.number(0);
  };
  const int id = pragma("PRAGMA application_id");
  const int version = pragma("PRAGMA user_version");
  Statement any(*this, "SELECT count(*) FROM sqlite_master");
  any.step();
  if (any.number(0) == 0 && fresh) {
    run(schema);
    run(("PRAGMA application_id = " + std::to_string(application)).c_str());
    run(("PRAGMA user_version = " + std::to_string(layout)).c_str());
    return;
  }
  if (id != application)
    throw Error(ErrorCode::file,
                path_ + (any.number(0) == 0 ? ": empty, no store of ropewalk"
                                            : ": a database, but not a store of ropewalk"));
  if (version != layout)
    throw Error(ErrorCode::file, path_ + ": a store of layout " + std::to_string(version) +
                                     "; this ropewalk reads and writes layout " +
                                     std::to_string(layout));
}

void Store::ask(const Spec& spec, const Plan& plan, const std::string& command) {
  run("BEGIN IMMEDIATE");
  try {
    Statement table(*this, "INSERT OR IGNORE INTO tables VALUES (?, ?, ?, ?, ?)");
    for (const Table& t : plan.tables) {
      Json planes = Json::array();
      for (const theory::Formula& theta : t.schedule.frequencies) planes.push_back(theta.text());
      table.bind(1, t.id).bind(2, t.schedule.scheme).bind(3, t.schedule.description);
      table.bind(4, planes.dump()).bind(5, t.schedule.attention_factor.text());
      table.step();
      table.reset();
    }
    Statement(*this, "DELETE FROM entries WHERE sweep = ?").bind(1, spec.name).step();
    Statement sweep(*this, "INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?, ?)");
    sweep.bind(1, spec.name).bind(2, spec.title).bind(3, command).bind(4, spec.text).step();
    Statement entry(*this, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t place = 0;
    for (const Entry& e : plan.entries) {
      const NamedTable& named = spec.tables[e.name];
      const Ask& ask = spec.asks[e.ask];
      const Cell& cell = plan.cells[e.cell];
      entry.bind(1, spec.name).bind(2, place++).bind(3, named.name);
      entry.bind(4, json_of(named.coordinates)).bind(5, plan.tables[cell.table].id);
      entry.bind(6, ask.kind->name).bind(7, json_of(ask.parameters));
      entry.bind(8, cell.length.str()).bind(9, cell.key);
      entry.step();
      entry.reset();
    }
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

bool Store::has(const std::string& key) const {
  Statement statement(*this, "SELECT 1 FROM cells WHERE key = ?");
  return statement.bind(1, key).step();
}

std::vector<bool> Store::missing(const Plan& plan) const {
  std::vector<bool> result;
  Statement statement(*this, "SELECT 1 FROM cells WHERE key = ?");
  for (const Cell& cell : plan.cells) {
    result.push_back(!statement.bind(1, cell.key).step());
    statement.reset();
  }
  return result;
}

namespace {

// Beside the store, under the hash of its content; written whole or not at all.
std::string write_certificate(const std::string& store, const std::string& content) {
  namespace fs = std::filesystem;
  const std::string id = proofs_numeric::sha256(content);
  const fs::path folder = fs::path(store + ".certificates") / id.substr(0, 2);
  const fs::path file = folder / (id + ".json");
  const auto relative =
      fs::path(store).filename().string() + ".certificates/" + id.substr(0, 2) + "/" + id + ".json";
  std::error_code problem;
  if (fs::exists(file, problem)) return relative;
  fs::create_directories(folder, problem);
  const std::string beside = file.string() + ".part" + std::to_string(getpid());
  std::FILE* out = std::fopen(beside.c_str(), "wb");
  const bool written =
      out != nullptr && std::fwrite(content.data(), 1, content.size(), out) == content.size();
  const std::string reason = std::strerror(errno);
  const bool closed = out != nullptr && std::fclose(out) == 0;
  if (!written || !closed || std::rename(beside.c_str(), file.c_str()) != 0) {
    std::remove(beside.c_str());
    throw Error(ErrorCode::file, file.string() + ": cannot be written: " + reason);
  }
  return relative;
}

}  // namespace

void Store::write(const Findings& findings) {
  const std::string certificate =
      findings.certificate.empty() ? "" : write_certificate(path_, findings.certificate);
  run("BEGIN IMMEDIATE");
  try {
    Statement cell(*this, "INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (const Finding& row : findings.rows) {
      cell.bind(1, row.key).bind(2, row.status).bind(3, row.lo).bind(4, row.hi).bind(5, row.detail);
      cell.bind(6, row.method).bind(7, findings.seconds);
      cell.bind(8, row.lo.empty() ? std::string_view() : std::string_view(certificate));
      cell.step();
      cell.reset();
    }
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

Enclosure enclosure_of(const Row& row) {
  const auto number = [](const std::string& text) {
    return theory::Formula::parse(text).rational().value();
  };
  Enclosure x{number(row.lo), number(row.hi)};
  if (x.lo > x.hi) throw Error(ErrorCode::file, "lo above hi");
  return x;
}

namespace {

// Throws anything where a row is not what a sweep writes.
void check(const Row& row) {
  (void)pairs(row.coordinates);
  (void)pairs(row.parameters);
  const Json detail = Json::parse(row.detail);
  const bool known = row.status == "certified" || row.status == "proven" ||
                     row.status == "undecided" || row.status == "none" || row.status == "missing";
  if (!known || !detail.is_object() || row.lo.empty() != row.hi.empty() || row.length.empty() ||
      row.length.size() > 19 || row.length.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ErrorCode::file, "damaged");
  if (!row.lo.empty()) (void)enclosure_of(row);
  for (const std::string* text : {&row.table, &row.quantity, &row.method, &row.certificate})
    (void)Json(*text).dump();  // throws where it is no UTF-8
}

}  // namespace

std::vector<SweepRecord> Store::sweeps() const {
  std::vector<SweepRecord> result;
  Statement statement(*this, "SELECT name, title, command, spec FROM sweeps ORDER BY name");
  while (statement.step())
    result.push_back({statement.text(0), statement.text(1), statement.text(2), statement.text(3)});
  return result;
}

void Store::rows(const std::string& sweep, const std::function<void(const Row&)>& f) const {
  Statement statement(
      *this,
      "SELECT e.sweep, e.name, e.coordinates, e.quantity, e.parameters, e.length, "
      "coalesce(c.status, 'missing'), coalesce(c.lo, ''), coalesce(c.hi, ''), "
      "coalesce(c.detail, '{}'), coalesce(c.method, ''), coalesce(c.seconds, 0), "
      "coalesce(c.certificate, '') FROM entries e LEFT JOIN cells c ON c.key = e.key "
      "WHERE ?1 = '' OR e.sweep = ?1 ORDER BY e.sweep, e.place");
  statement.bind(1, sweep);
  while (statement.step()) {
    const Row row{statement.text(0), statement.text(1), statement.text(2),  statement.text(3),
                  statement.text(4), statement.text(5), statement.text(6),  statement.text(7),
                  statement.text(8), statement.text(9), statement.text(10), statement.real(11),
                  statement.text(12)};
    try {
      check(row);
    } catch (const std::exception&) {
      throw Error(ErrorCode::file,
                  path_ + ": a damaged row: " +
                      Json(row.table).dump(-1, ' ', true, Json::error_handler_t::replace) + ", " +
                      Json(row.quantity).dump(-1, ' ', true, Json::error_handler_t::replace));
    }
    f(row);
  }
}

}  // namespace ropewalk::sweeps
