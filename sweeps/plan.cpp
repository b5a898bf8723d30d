#include "sweeps/plan.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "proofs_numeric/sha256.hpp"

namespace ropewalk::sweeps {

using theory::Round;

namespace {

std::string key_of(const Table& table, const Ask& ask, const Lag& length) {
  std::string text = std::string(engine) + '\n' + table.id + '\n' + std::string(ask.kind->name);
  for (const auto& [name, value] : ask.parameters) text += '\n' + name + '=' + value;
  return proofs_numeric::sha256(text + '\n' + length.str());
}

}  // namespace

Plan plan_of(const Spec& spec) {
  Plan plan;
  std::map<std::string, std::size_t> tables;
  const auto add_table = [&](theory::Schedule schedule) {
    Table table = table_of(std::move(schedule));
    const auto [at, fresh] = tables.emplace(table.id, plan.tables.size());
    if (fresh) plan.tables.push_back(std::move(table));
    return at->second;
  };
  std::map<std::string, std::size_t> cells;
  for (std::size_t name = 0; name < spec.tables.size(); ++name) {
    const NamedTable& named = spec.tables[name];
    std::map<Lag, std::size_t> by_length;
    const auto table_at = [&](const Lag& n) {
      const Lag at = named.depends_on_length ? n : Lag(1);
      auto found = by_length.find(at);
      if (found == by_length.end()) found = by_length.emplace(at, add_table(named.at(at))).first;
      return found->second;
    };
    for (std::size_t ask = 0; ask < spec.asks.size(); ++ask) {
      if (!spec.asks[ask].concerns(named)) continue;
      for (const Lag& n : spec.asks[ask].lengths) {
        const std::size_t table = table_at(n);
        std::string key = key_of(plan.tables[table], spec.asks[ask], n);
        const auto [at, fresh] = cells.emplace(key, plan.cells.size());
        if (fresh) plan.cells.push_back({std::move(key), table, ask, n});
        plan.entries.push_back({name, ask, at->second});
      }
    }
  }
  return plan;
}

std::vector<Job> jobs_of(const Spec& spec, const Plan& plan, const std::vector<bool>& missing) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < plan.cells.size(); ++i)
    if (missing[i]) groups[{plan.cells[i].table, plan.cells[i].ask}].push_back(i);
  std::vector<Job> jobs;
  for (auto& [at, cells] : groups) {
    std::sort(cells.begin(), cells.end(), [&](std::size_t x, std::size_t y) {
      return plan.cells[x].length < plan.cells[y].length;
    });
    const Kind& kind = *spec.asks[at.second].kind;
    const std::size_t planes = plan.tables[at.first].schedule.frequencies.size();
    const auto cost = [&](std::size_t cell) {
      return kind.operations(planes, plan.cells[cell].length.convert_to<double>());
    };
    if (kind.one_pass(planes, spec.asks[at.second].parameters)) {
      const double operations = cost(cells.back());
      jobs.push_back({at.first, at.second, std::move(cells), operations});
    } else {
      for (const std::size_t cell : cells)
        jobs.push_back({at.first, at.second, {cell}, cost(cell)});
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& x, const Job& y) { return x.operations > y.operations; });
  return jobs;
}

Findings answer(const Spec& spec, const Plan& plan, const Job& job, std::atomic<bool>* stop) {
  const Ask& ask = spec.asks[job.ask];
  const Table& table = plan.tables[job.table];
  std::vector<Lag> lengths;
  for (const std::size_t cell : job.cells) lengths.push_back(plan.cells[cell].length);
  const auto start = std::chrono::steady_clock::now();
  Answers answers;
  try {
    answers = ask.kind->answer({table, ask.parameters, lengths, stop});
  } catch (const Error& e) {
    if (stop != nullptr && *stop) throw;
    Answer open;
    open.decided = false;
    open.detail["note"] = e.what();
    answers = {std::vector<Answer>(lengths.size(), open), {}};
  }

  Findings findings;
  constexpr unsigned digits = proofs_numeric::value_digits;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Answer& a = answers.at[i];
    Finding row;
    row.key = plan.cells[job.cells[i]].key;
    if (a.value) {
      row.lo = decimal(a.value->lo, digits, Round::down);
      row.hi = decimal(a.value->hi, digits, Round::up);
    }
    row.status = !a.decided              ? "undecided"
                 : !a.value              ? "none"
                 : answers.facts.empty() ? "proven"
                                         : "certified";
    row.detail = a.detail.dump();
    row.method = a.method;
    findings.rows.push_back(std::move(row));
  }
  if (!answers.facts.empty()) {
    Json words;
    words["statement"] = std::string(ask.kind->name) + ": " + std::string(ask.kind->means);
    words["table"] = table.schedule.description;
    for (const auto& [name, value] : ask.parameters) words["parameters"][name] = value;
    Json list = Json::array();
    for (const Lag& n : lengths) list.push_back(n.str());
    words["lengths"] = std::move(list);
    findings.certificate =
        proofs_numeric::certificate("proved", answers.facts, words).dump(1) + "\n";
  }
  findings.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return findings;
}

}  // namespace ropewalk::sweeps
