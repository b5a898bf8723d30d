// What all commands have in common: numbers, advice, interruption, warnings and notes.

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using tests::run;
using tests::Run;

namespace {

// A config that is gone when the test is.
struct Config {
  std::string path = "/tmp/ropewalk-flags-" + std::to_string(getpid()) + ".json";
  explicit Config(const std::string& content) { std::ofstream(path) << content; }
  ~Config() { std::remove(path.c_str()); }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
};

std::string llama4(const std::string& more) {
  return R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "head_dim": 128,
    "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 48,
    "rope_theta": 500000.0)" +
         more + "}}";
}

}  // namespace

TEST_CASE("numbers as people write them are refused with what to write") {
  for (const auto& [text, wanted] : {std::pair{"128k", "write 131072 or 128000"},
                                     {"128K", "write 131072 or 128000"},
                                     {"1M", "write 1048576 or 1000000"},
                                     {"1.5k", "write 1536 or 1500"},
                                     {"4Ki", "write 4096"},
                                     {"1,000,000", "write 1000000"},
                                     {"1_000_000", "write 1000000"},
                                     {"'1 000'", "write 1000"},
                                     {"2**17", "write 2^17"}}) {
    for (const auto& [command, flag] :
         {std::pair{"extremum --base 5e5 --planes 4 --reach ", "--reach"},
          {"optimal --base 5e5 --planes 4 --reach 5 --offset ", "--offset"},
          {"optimal --base 5e5 --planes 4 --reach 5 --alphabet ", "--alphabet"},
          {"base --length ", "--length"},
          {"base --length 64 --to ", "--to"},
          {"base --length 64 --dim ", "--dim"},
          {"horizon --base 5e5 --planes 4 --scale ", "--scale"},
          {"horizon --base 5e5 --planes 4 --scale 5 --longest ", "--longest"},
          {"discrepancy index --theta 1 --length ", "--length"},
          {"schedule examples/configs/llama-2-7b.json --digits ", "--digits"},
          {"schedule examples/configs/llama-2-7b.json --layer ", "--layer"},
          {"verify --schedule examples/configs/llama-2-7b.json --length ", "--length"},
          {"extremum --planes 4 --reach 5 --base ", "--base"},
          {"extremum --base 5e5 --reach 5 --planes ", "--planes"},
          {"base --length 64 --threads ", "--threads"}}) {
      const Run r = run(std::string(command) + text);
      CAPTURE(command, text, r.err);
      CHECK(r.code == 2);
      CHECK(r.out.empty());
      CHECK(r.complains(std::string(flag) + ": "));
      CHECK(r.complains(wanted));
    }
  }
  CHECK(run("horizon --base 5e5 --planes 4 --scale 5 --mass 90%").complains("write 0.9"));
  CHECK(run("horizon --base 5e5 --planes 4 --scale 5 --mass 0,9").complains("write 0.9"));
  // What is no number in any spelling gets no hint, and no harm is done.
  for (const char* text : {"k", "1,00,0", "1,", ",1", "_1", "1kk", "1.2.3k", "%", "1k1", ".", ".k",
                           "0,000,1", "2**", "2**2**9999999", "1e5k", "128k128k128k",
                           "99999999999999999999999999999999999999999999999k"}) {
    const Run r = run(std::string("extremum --base 5e5 --planes 4 --reach ") + text);
    CAPTURE(text, r.err);
    CHECK(r.code == 2);
    CHECK(r.complains("--reach"));
    CHECK_FALSE(r.complains("write"));
  }
}

TEST_CASE("errors of usage end with where help is") {
  for (const auto& [arguments, command] :
       {std::pair{"", "ropewalk"},
        {"fly", "ropewalk"},
        {"--fast", "ropewalk"},
        {"base", "ropewalk base"},
        {"base --length 64 --fast", "ropewalk base"},
        {"base --length", "ropewalk base"},
        {"optimal --base 5e5 --planes 4", "ropewalk optimal"},
        {"optimal --reach 5", "ropewalk optimal"},
        {"optimal --base 5e5 --planes 4 --reach 5 6", "ropewalk optimal"},
        {"extremum --reach 5", "ropewalk extremum"},
        {"horizon --base 1e4 --planes 4", "ropewalk horizon"},
        {"schedule", "ropewalk schedule"},
        {"verify --schedule examples/configs/llama-2-7b.json", "ropewalk verify"},
        {"verify --length 5", "ropewalk verify"},
        {"discrepancy", "ropewalk discrepancy"},
        {"discrepancy index", "ropewalk discrepancy index"},
        {"discrepancy index --theta 1 --fast", "ropewalk discrepancy index"},
        {"discrepancy index --theta 1", "ropewalk discrepancy index"},
        {"discrepancy retrieval --theta 1", "ropewalk discrepancy retrieval"}}) {
    const Run r = run(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains("; see `" + std::string(command) + " --help`\n"));
  }
  // A value that is wrong needs no help page.
  CHECK_FALSE(run("base --length 0").complains("--help"));
}

TEST_CASE("Ctrl-C ends every command with one line and status 3") {
  const std::filesystem::path folder = "/tmp/ropewalk-int-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  for (const std::string& command :
       {"verify --all --out " + folder.string(), std::string("base --length 16777216"),
        "horizon --base 5e5 --planes 64 --scale 24 --longest 16777216 --certificate " +
            (folder / "a.json").string(),
        std::string("verify --schedule examples/configs/llama-2-7b.json --length 16777216")}) {
    const auto start = std::chrono::steady_clock::now();
    const Run r = run(command, "timeout --preserve-status --signal=INT 1.5");
    CAPTURE(command, r.out, r.err);
    CHECK(r.code == 3);
    CHECK(r.out.empty());
    CHECK(r.err == "ropewalk: interrupted\n");
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
  CHECK(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_CASE("warnings and notes stand in the JSON and nowhere else") {
  const std::string table = "--schedule examples/configs/llama-2-7b.json ";
  for (const std::string& command :
       {"extremum " + table + "--reach 16", "optimal " + table + "--reach 16",
        "optimal " + table + "--reach 16 --alphabet 4",
        "optimal " + table + "--reach 16 --alphabet 4 --head orthogonal",
        "horizon " + table + "--scale 8 --longest 64", "verify " + table + "--length 64"}) {
    const Run machine = run(command + " --json");
    CAPTURE(command, machine.err);
    CHECK(machine.code == 0);
    CHECK(machine.err.empty());
    const auto warnings = machine.json()["warnings"];
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "rope_theta: absent, 10000 assumed");
    CHECK(run(command).err == "warning: rope_theta: absent, 10000 assumed\n");
  }
  const auto index = run("discrepancy index --theta 2 --length 4 --json").json();
  REQUIRE(index["notes"].size() == 1);
  const auto notes = run("horizon " + table + "--scale 8 --longest 64 --json").json()["notes"];
  CHECK(notes.dump().find("--scale is") != std::string::npos);
  CHECK(notes.dump().find("rope_theta") == std::string::npos);
}

TEST_CASE("optimal says where planes of the table stand still") {
  const Config config(R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000,
      "rope_scaling": {"rope_type": "ropewalk.p_rope", "p": 0.75}})");
  const std::string table = "optimal --schedule " + config.path + " --reach 16 --json";
  for (const std::string kind :
       {" --alphabet 4", " --alphabet 4 --head centred", " --alphabet 4 --head orthogonal"}) {
    const Run r = run(table + kind);
    CAPTURE(kind, r.out, r.err);
    REQUIRE(r.code == 0);
    CHECK(r.json()["notes"][0] ==
          "2 of 8 planes stand still: they keep a Retrieval margin at every length");
  }
  CHECK(run(table).json()["notes"][0] ==
        "2 of 8 planes stand still: they tell no lag from another");
  CHECK(
      run("optimal --base 1e4 --planes 8 --reach 16 --alphabet 4 --json").json()["notes"].empty());
}

TEST_CASE("attention in chunks caps the keys like a window") {
  const Config config(llama4(R"(, "attention_chunk_size": 256)"));
  const std::string table = " --schedule " + config.path;
  const auto far = run("horizon --scale 25 --json" + table).json();
  CHECK(far["guaranteed"] == "unbounded");
  CHECK(far["bound"] == "unbounded");
  CHECK(far["longest"] == "256");
  CHECK(far["notes"].dump().find("attention_chunk_size = 256: at most so many keys are seen, those "
                                 "of the query's own chunk") != std::string::npos);
  // Where the search ends before the chunk does, the chunk decides nothing.
  CHECK(run("horizon --scale 25 --longest 100 --json" + table).json()["longest"] == "100");
  CHECK(run("horizon --scale 25 --offset 256" + table).complains("attention_chunk_size is 256"));
  const std::string beyond =
      "reach 256 is beyond attention_chunk_size = 256: heads of this layer see lags 0..255 only";
  for (const std::string command : {"extremum --reach 256", "optimal --reach 256"})
    CHECK(run(command + " --json" + table).json()["warnings"].dump().find(beyond) !=
          std::string::npos);
  CHECK(run("verify --length 257 --json" + table).json()["warnings"].dump().find(beyond) !=
        std::string::npos);
  CHECK(run("extremum --reach 255 --json" + table).json()["warnings"].dump().find("beyond") ==
        std::string::npos);
  const auto shown = run("schedule --json " + config.path).json();
  CHECK(shown["attention_chunk"] == 256);
  CHECK(shown["provenance"]["attention_chunk"]["source"] == "text_config.attention_chunk_size");
  // The layer without rotary embedding is refused, as ever.
  CHECK(run("horizon --scale 25 --layer 3" + table).complains("layer 3"));
}

TEST_CASE("attention_chunk_size: absent, null, of other layers, and nonsense") {
  const auto chunk = [](const std::string& content, const std::string& more = "") {
    const Config config(content);
    const Run r = run("schedule --json " + config.path + more);
    CAPTURE(r.err);
    REQUIRE(r.code == 0);
    return r.json()["attention_chunk"];
  };
  CHECK(chunk(llama4("")) == 8192);  // the default of Llama4TextConfig
  CHECK(chunk(llama4(R"(, "attention_chunk_size": null)")).is_null());
  const std::string kinds =
      R"({"model_type": "llama", "head_dim": 8, "rope_theta": 10000, "attention_chunk_size": 64,
          "layer_types": ["chunked_attention", "full_attention"]})";
  CHECK(chunk(kinds, " --layer 0") == 64);
  CHECK(chunk(kinds, " --layer 1").is_null());
  CHECK(chunk(R"({"model_type": "llama", "head_dim": 8, "rope_theta": 10000})").is_null());
  CHECK(chunk(llama4(R"(, "attention_chunk_size": 1e30)")) == "1" + std::string(30, '0'));
  for (const char* value : {"0", "-1", "1.5", "\"many\"", "[1]", "true"}) {
    const Config config(llama4(std::string(R"(, "attention_chunk_size": )") + value));
    const Run r = run("schedule " + config.path);
    CAPTURE(value, r.err);
    CHECK(r.code == 2);
    CHECK(r.complains("attention_chunk_size"));
  }
}

TEST_CASE("base reads --length as its paper does: lags 0 to L, both included") {
  // At lag 2 one plane of one radian per token has cos 2 < 0.
  CHECK(run("base --length 1 --dim 2 --to 10 --json").json()["infimum"].is_object());
  CHECK(run("base --length 2 --dim 2 --to 10 --json").json()["infimum"].is_null());
  CHECK(run("base --length 2 --dim 2 --to 10 --json").json()["length"] == "2");
}
