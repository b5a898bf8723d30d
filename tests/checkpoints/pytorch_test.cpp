#include <cmath>

#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

const std::string four = raw(1.0F, 2.0F, 3.0F, 4.0F);

/// A dictionary of one object, in the legacy layout without storages.
void refused(const std::string& object, const std::string& part,
             ErrorCode code = ErrorCode::parse) {
  refuses(code, part, [&] {
    (void)read_pytorch(in_memory(legacy("\x80\x02}" + pickled("k") + object + "s.", {})));
  });
}

}  // namespace

TEST_CASE("PyTorch archives and legacy files: nested names, shared storage, offsets and strides") {
  const std::string inner = "}(" + pickled("q") + pickled_tensor("7", 4, 0, {2, 2}, {1, 2}) +
                            pickled("tail") + pickled_tensor("7", 4, 1, {3}, {1}) + "u";
  const std::string pickle =
      pickled_dict({{"model", inner},
                    {"scalar", pickled_tensor("8", 1, 0, {}, {})},
                    {"epoch", pickled(42)},
                    {"note", pickled("hello")},
                    {"nothing", "N"},
                    {"list", "](" + pickled(5) + pickled_tensor("7", 4, 0, {1}, {1}) + "e"}});
  const std::string one = raw(9.0F);
  for (const std::string& bytes : {archive(pickle, {{"7", four}, {"8", one}}),
                                   archive(pickle, {{"7", four}, {"8", one}}, true),
                                   legacy(pickle, {{"8", one}, {"7", four}})}) {
    const auto c = read_pytorch(in_memory(bytes));
    CHECK(c.format == "pytorch");
    REQUIRE(c.tensors.size() == 4);
    CHECK(values(c.tensor("model.q")) == std::vector<double>{1, 3, 2, 4});
    CHECK(values(c.tensor("model.tail")) == std::vector<double>{2, 3, 4});
    CHECK(values(c.tensor("scalar")) == std::vector<double>{9});
    CHECK(c.tensor("scalar").shape.empty());
    CHECK(values(c.tensor("list.1")) == std::vector<double>{1});
    CHECK(c.metadata["epoch"] == 42);
    CHECK(c.metadata["note"] == "hello");
    CHECK(c.metadata["list.0"] == 5);
    REQUIRE(c.findings.size() == 1);
    CHECK(c.findings[0].message == "entries left out that are no tensors: 1");
  }
}

TEST_CASE("what state dictionaries carry along: attributes, parameters, devices, newer pickles") {
  const std::string tensor = pickled_tensor("0", 4, 0, {4}, {1});
  const std::string parameter =
      global("torch._utils", "_rebuild_parameter") + "(" + tensor + "\x88}tR";
  // An ordered dictionary with attributes: BUILD.
  const std::string state = global("collections", "OrderedDict") + ")R(" + pickled("w") +
                            parameter + "u}" + pickled("_metadata") + "}sb";
  auto c = read_pytorch(in_memory(archive("\x80\x02" + state + ".", {{"0", four}})));
  CHECK(values(c.tensor("w")) == std::vector<double>{1, 2, 3, 4});

  // An ordered dictionary from pairs, torch.Size, a device, a memo.
  const std::string pairs = global("collections", "OrderedDict") + "](" + pickled("w") + "q\x01" +
                            tensor + "\x86" + pickled("d") + global("torch", "device") +
                            pickled("cpu") + "\x85R\x86" + "e\x85R";
  c = read_pytorch(in_memory(archive("\x80\x02" + pairs + ".", {{"0", four}})));
  CHECK(c.tensors.contains("w"));

  // A tensor alone, and one of eight bits whose storage is untyped (protocol 4 names).
  c = read_pytorch(in_memory(archive("\x80\x02" + tensor + ".", {{"0", four}})));
  CHECK(values(c.tensor("tensor")).size() == 4);
  const auto word = [](const std::string& s) {
    return std::string("\x8c") + raw(static_cast<std::uint8_t>(s.size())) + s + "\x94";
  };
  const std::string v3 = word("torch._utils") + word("_rebuild_tensor_v3") + "\x93((" +
                         word("storage") + word("torch.storage") + word("UntypedStorage") + "\x93" +
                         word("0") + word("cpu") + pickled(4) + "tQ" + pickled(0) + pickled(2) +
                         "\x85" + pickled(2) + "\x85\x89}" + word("torch") + word("float8_e4m3fn") +
                         "\x93tR.";
  c = read_pytorch(in_memory(archive(std::string("\x80\x04\x95", 3) + std::string(8, '\0') + v3,
                                     {{"0", "\x38\x40\x48\x50"}})));
  CHECK(values(c.tensor("tensor")) == std::vector<double>{1, 4});
}

TEST_CASE("every storage type of PyTorch is read") {
  for (const auto& [storage, width] : {std::pair{"DoubleStorage", 8},
                                       {"FloatStorage", 4},
                                       {"HalfStorage", 2},
                                       {"BFloat16Storage", 2},
                                       {"LongStorage", 8},
                                       {"IntStorage", 4},
                                       {"ShortStorage", 2},
                                       {"CharStorage", 1},
                                       {"ByteStorage", 1},
                                       {"BoolStorage", 1}}) {
    const auto pickle = pickled_dict({{"t", pickled_tensor("0", 3, 0, {3}, {1}, storage)}});
    const std::string data(static_cast<std::size_t>(3 * width), '\0');
    CHECK(values(read_pytorch(in_memory(archive(pickle, {{"0", data}}))).tensor("t")) ==
          std::vector<double>{0, 0, 0});
  }
  refused(pickled_tensor("0", 1, 0, {1}, {1}, "ComplexFloatStorage"), "torch.ComplexFloatStorage",
          ErrorCode::unsupported);
}

TEST_CASE("a pickle that would call something is refused by name") {
  const auto call = [](const std::string& module, const std::string& name) {
    return global(module, name) + pickled("echo owned") + "\x85R";
  };
  const auto by_name = [&](const std::string& module, const std::string& name) {
    refused(call(module, name), "'" + module + "." + name + "'", ErrorCode::unsupported);
  };
  by_name("os", "system");
  by_name("posix", "system");
  by_name("builtins", "eval");
  by_name("__builtin__", "exec");
  by_name("subprocess", "Popen");
  by_name("torch.serialization", "load");
  by_name("torch.jit._script", "unpackage_script_module");
  by_name("collections", "OrderedDict.clear");
  // By the stack, as newer protocols do it.
  refused(pickled("os") + pickled("system") + "\x93" + pickled("true") + "\x85R", "'os.system'",
          ErrorCode::unsupported);
  // Instructions that build objects of named classes, or ask the program for some.
  for (const char opcode : {'i', 'o', 'P', '\x81', '\x82', '\x92'})
    refused(std::string("(") + opcode + "os\nsystem\n", "pickle instruction",
            ErrorCode::unsupported);
  refused(global("torch", "FloatStorage") + ")R", "is no function here", ErrorCode::unsupported);
  refused(pickled("x") + "}b", "builds an object", ErrorCode::unsupported);
}

TEST_CASE("a broken pickle is refused with its offset") {
  refused("R", "wants a tuple");
  refused("a", "appends to what is no list");
  refused("0", "pickle instruction 48", ErrorCode::unsupported);
  refused("t", "no mark");
  refused("(" + pickled("x") + "u", "");
  refused("h\x05", "recalls object 5");
  refused("j\xff\xff\xff\xff", "recalls object 4294967295");
  refused("X\xff\xff\xff\x7fshort", "ends within a string");
  refused(std::string("\x8e") + raw(~std::uint64_t{0}), "ends within a string");
  refused(std::string("\x8b") + raw(~std::uint32_t{0}), "ends within a string");
  refused("cno end of line" + std::string(300, 'x') + "\n", "a name does not end");
  refused("\x80\x09", "protocol 9");
  refused(pickled("x") + "Q", "wants the name of a storage");
  refused(")Q", "another form");
  refused(global("torch._utils", "_rebuild_tensor_v2") + ")R", "a tensor of 0 arguments");
  refused(global("torch._utils", "_rebuild_parameter") + ")R", "without a tensor");
  refused("}(" + pickled("a") + pickled(1) + pickled("a") + pickled(2) + "u", "'k.a' stands twice");
  refused("}" + pickled("") + pickled(1) + "s", "cannot be the name");
  refuses(ErrorCode::parse, "not one that PyTorch wrote",
          [] { (void)read_pytorch(in_memory("\x80\x02}.")); });
  refuses(ErrorCode::parse, "not one that PyTorch wrote", [] {
    (void)read_pytorch(
        in_memory("\x80\x02\x8a\x0a"
                  "0123456789."));
  });
}

TEST_CASE("a pickled tensor stays inside its storage") {
  const auto tensor = [](int elements, int offset, const std::vector<int>& shape,
                         const std::vector<int>& strides, const std::string& part,
                         ErrorCode code = ErrorCode::parse) {
    refuses(code, part, [&] {
      (void)read_pytorch(in_memory(
          archive(pickled_dict({{"t", pickled_tensor("0", elements, offset, shape, strides)}}),
                  {{"0", four}})));
    });
  };
  tensor(4, 1, {4}, {1}, "does not fit into its storage of 4 elements");
  tensor(4, 0, {2, 2}, {3, 1}, "does not fit");
  tensor(4, 0, {5}, {0}, "does not fit");
  tensor(4, 5, {0}, {1}, "does not fit");
  tensor(4, 0, {2}, {INT32_MAX}, "does not fit");
  tensor(4, 0, {INT32_MAX, INT32_MAX, INT32_MAX}, {1, 1, 1}, "does not fit");
  tensor(4, -1, {1}, {1}, "is not a size");
  tensor(4, 0, {-1}, {1}, "is not a size");
  tensor(4, 0, {1}, {-1}, "is not a size");
  tensor(4, 0, {1, 1}, {1}, "differ");
  tensor(5, 0, {1}, {1}, "has 16 bytes, its tensors want 20");
  tensor(4, 0, std::vector<int>(9, 1), std::vector<int>(9, 1), "9 dimensions",
         ErrorCode::too_large);
  refuses(ErrorCode::parse, "has no member 'model/data/0'", [] {
    (void)read_pytorch(
        in_memory(archive(pickled_dict({{"t", pickled_tensor("0", 4, 0, {4}, {1})}}), {})));
  });
  refuses(ErrorCode::parse, "described in two ways", [] {
    (void)read_pytorch(in_memory(archive(pickled_dict({{"t", pickled_tensor("0", 4, 0, {4}, {1})},
                                                       {"u", pickled_tensor("0", 3, 0, {3}, {1})}}),
                                         {{"0", four}})));
  });
}

TEST_CASE("pickles that would grow without end are stopped") {
  // A dictionary that contains itself.
  refused("}q\x01" + pickled("self") + "h\x01s", "nested beyond 32 levels");
  refused(
      "]q\x01h\x01"
      "a",
      "nested beyond 32 levels");
  // Each list holds the one before twice: 2^31 objects in a few bytes.
  std::string laughs = "(]";
  for (int i = 0; i < 30; ++i)
    laughs += std::string("q") + static_cast<char>(i) + "]" + "(h" + static_cast<char>(i) + "h" +
              static_cast<char>(i) + "e";
  refused(laughs + "l", "more than 1000000 objects", ErrorCode::too_large);
  // Deep nesting, many instructions, many memo entries.
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "](";
  refused(deep, "");
  refused(std::string(1'000'001, 'N'), "more than 500000 instructions", ErrorCode::too_large);
  std::string puts = "N";
  for (std::uint32_t i = 0; i < 1'000'000; ++i) puts += "r" + raw(i * 4294U);
  refused(puts, "more than 500000 instructions", ErrorCode::too_large);
  // A long list turned into a dictionary over and over.
  std::string again = "](";
  for (int i = 0; i < 1000; ++i) again += "K\x01K\x02\x86";
  again += "e\x85q\x01";
  for (int i = 0; i < 2000; ++i) again += global("collections", "OrderedDict") + "h\x01R";
  refused(again, "more than 500000 instructions", ErrorCode::too_large);
  refused("](" + std::string(100, 'N') + pickled_tensor("0", INT32_MAX, 0, {1}, {1}) + "e", "");
}

TEST_CASE("ZIP archives that contradict themselves are refused") {
  const std::string pickle = pickled_dict({{"t", pickled_tensor("0", 4, 0, {4}, {1})}});
  const std::vector<ZipMember> good = {{"m/data.pkl", pickle, false}, {"m/data/0", four, false}};
  const auto refused_zip = [](const std::string& bytes, const std::string& part,
                              ErrorCode code = ErrorCode::parse) {
    refuses(code, part, [&] { (void)read_pytorch(in_memory(bytes)); });
  };
  const auto with = [&](std::vector<ZipMember> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return zip(more);
  };
  CHECK(read_pytorch(in_memory(zip(good))).tensors.size() == 1);
  refused_zip(with({{"m/code/a.py", "", false}}), "TorchScript", ErrorCode::unsupported);
  refused_zip(with({{"m/constants.pkl", "", false}}), "TorchScript", ErrorCode::unsupported);
  refused_zip(with({{"m/byteorder", "big", false}}), "little-endian", ErrorCode::unsupported);
  refused_zip(with({{"m/data/0", four, false}}), "two members have the name");
  refused_zip(with({{"n/data.pkl", pickle, false}}), "more than one data.pkl");
  refused_zip(zip({{"readme", "x", false}}), "no data.pkl");
  refused_zip(with({{"a\nb", "x", false}}), "cannot be one");
  refused_zip("PK\x03\x04", "too short");
  refused_zip(zip(good) + "trailing", "without its directory");
  // 20 MiB of zeros in 20 kB.
  const std::string bomb(20U << 20, '\0');
  refused_zip(zip({{"m/data.pkl", pickle, false}, {"m/data/0", bomb, true}}),
              "too many for this file", ErrorCode::too_large);

  std::string bytes = zip(good);
  const auto directory = bytes.find("PK\x01\x02");
  const auto changed = [&](std::size_t at, const std::string& value) {
    std::string copy = bytes;
    copy.replace(at, value.size(), value);
    return copy;
  };
  refused_zip(changed(directory + 8, raw(std::uint16_t{1})), "is encrypted",
              ErrorCode::unsupported);
  refused_zip(changed(directory + 10, raw(std::uint16_t{12})), "method 12", ErrorCode::unsupported);
  refused_zip(changed(directory + 20, raw(7U)), "yet has two sizes");
  refused_zip(changed(directory + 20, raw(7U, 7U)), "differ");
  refused_zip(changed(directory + 42, raw(1U)), "does not begin here");
  refused_zip(changed(directory + 42, raw(0x7FFFFFFFU)), "beyond the end");
  refused_zip(changed(directory + 46, "X"), "differ");
  refused_zip(changed(30 + 10 + 3, "\xff"), "'m/data.pkl' is damaged");
  const auto end = bytes.rfind("PK\x05\x06");
  refused_zip(changed(end + 10, raw(std::uint16_t{1})), "several parts", ErrorCode::unsupported);
  refused_zip(changed(end + 8, raw(std::uint16_t{1}, std::uint16_t{1})), "more members than");
  refused_zip(changed(end + 12, raw(1U)), "does not end where");
  refused_zip(changed(end + 16, raw(0xFFFFFFFFU)), "64-bit");
  // Two names for one place: the second entry points at the first member.
  const auto second = bytes.find("PK\x01\x02", directory + 4);
  refused_zip(changed(second + 42, raw(0U)), "differ");
  std::string packed = zip({{"m/data.pkl", pickle, true}, {"m/data/0", four, true}});
  packed[packed.find("m/data/0") + 10] ^= 0x55;
  refused_zip(packed, "'m/data/0' is damaged");
}

TEST_CASE("PyTorch files of other projects' tests") {
  if (shared("fixtures/float32.pt").empty()) return;
  const auto read = [](const std::string& name) {
    return open_checkpoint(shared("fixtures/" + name));
  };
  const auto tensor = [&](const std::string& file) { return read(file).tensor("tensor"); };
  CHECK(tensor("float32.pt").dtype == DType::f32);
  CHECK(tensor("float64.pt").dtype == DType::f64);
  CHECK(tensor("float16.pt").dtype == DType::f16);
  CHECK(tensor("bfloat16.pt").dtype == DType::bf16);
  CHECK(values(tensor("int64.pt")) == std::vector<double>{100, -200, 300, 0});
  CHECK(tensor("empty.pt").elements() == 0);
  CHECK(tensor("scalar.pt").shape.empty());
  const auto special = values(tensor("special_values.pt"));
  CHECK(std::isnan(special[0]));
  CHECK(special[1] == std::numeric_limits<double>::infinity());
  CHECK(special[2] == -std::numeric_limits<double>::infinity());
  CHECK(special[4] == 1);

  const auto nested = read("nested_dict.pt");
  CHECK(nested.tensors.size() == 4);
  CHECK(nested.tensor("layer2.weight").shape == std::vector<std::int64_t>{4, 2});
  const auto training = read("checkpoint.pt");
  CHECK(training.tensors.contains("model_state_dict.fc1.weight"));
  CHECK(training.tensors.contains("optimizer_state_dict.state.0.momentum_buffer"));
  CHECK(training.metadata["epoch"] == 42);
  CHECK(training.metadata["loss"] == 0.123);

  const auto fortran = read("fortran_tensor_3d.pth").tensor("tensor_fortran");
  CHECK(fortran.shape == std::vector<std::int64_t>{2, 3, 4});
  CHECK(fortran.strides == std::vector<std::int64_t>{1, 2, 6});
  const auto raw_numbers =
      std::span(reinterpret_cast<const std::int64_t*>(fortran.data.data()), 24);
  const auto ordered = values(fortran);
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t c = 0; c < 4; ++c)
        CHECK(ordered[12 * a + 4 * b + c] == static_cast<double>(raw_numbers[a + 2 * b + 6 * c]));

  const auto offsets = read("legacy_with_offsets.pt");
  CHECK(offsets.tensors.size() == 3);
  CHECK(values(offsets.tensor("tensor2"))[1] == static_cast<double>(2.1F));
  CHECK(values(offsets.tensor("tensor3"))[4] == static_cast<double>(3.4F));
  CHECK(read("legacy_shared_storage.pt").tensor("view2").elements() == 20);

  refuses(ErrorCode::unsupported, "TorchScript", [&] { (void)read("torchscript.pt"); });
  refuses(ErrorCode::parse, "begins like no model file", [&] { (void)read("broken.pt"); });
}
