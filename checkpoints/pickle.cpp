#include "checkpoints/pickle.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <unordered_map>

namespace ropewalk::checkpoints {

namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<PickleValue>;

constexpr std::uint64_t max_instructions = 500'000;
constexpr std::uint64_t max_line = 256;  // module or name

/// What a name stands for.
enum class Role {
  ordered_dict,
  tensor,
  tensor_v2,
  tensor_v3,
  parameter,
  size,
  device,
  storage,
  dtype
};

struct Known {
  std::string_view module;
  std::string_view name;
  Role role;
  DType dtype = DType::u8;
};

constexpr Known names[] = {
    {"collections", "OrderedDict", Role::ordered_dict},
    {"torch._utils", "_rebuild_tensor", Role::tensor},
    {"torch._utils", "_rebuild_tensor_v2", Role::tensor_v2},
    {"torch._utils", "_rebuild_tensor_v3", Role::tensor_v3},
    {"torch._utils", "_rebuild_parameter", Role::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", Role::parameter},
    {"torch", "Size", Role::size},
    {"torch", "device", Role::device},
    {"torch", "DoubleStorage", Role::storage, DType::f64},
    {"torch", "FloatStorage", Role::storage, DType::f32},
    {"torch", "HalfStorage", Role::storage, DType::f16},
    {"torch", "BFloat16Storage", Role::storage, DType::bf16},
    {"torch", "LongStorage", Role::storage, DType::i64},
    {"torch", "IntStorage", Role::storage, DType::i32},
    {"torch", "ShortStorage", Role::storage, DType::i16},
    {"torch", "CharStorage", Role::storage, DType::i8},
    {"torch", "ByteStorage", Role::storage, DType::u8},
    {"torch", "BoolStorage", Role::storage, DType::boolean},
    {"torch", "UntypedStorage", Role::storage, DType::u8},
    {"torch.storage", "UntypedStorage", Role::storage, DType::u8},
    {"torch", "float64", Role::dtype, DType::f64},
    {"torch", "float32", Role::dtype, DType::f32},
    {"torch", "float16", Role::dtype, DType::f16},
    {"torch", "bfloat16", Role::dtype, DType::bf16},
    {"torch", "float8_e4m3fn", Role::dtype, DType::f8_e4m3},
    {"torch", "float8_e5m2", Role::dtype, DType::f8_e5m2},
    {"torch", "int64", Role::dtype, DType::i64},
    {"torch", "int32", Role::dtype, DType::i32},
    {"torch", "int16", Role::dtype, DType::i16},
    {"torch", "int8", Role::dtype, DType::i8},
    {"torch", "uint64", Role::dtype, DType::u64},
    {"torch", "uint32", Role::dtype, DType::u32},
    {"torch", "uint16", Role::dtype, DType::u16},
    {"torch", "uint8", Role::dtype, DType::u8},
    {"torch", "bool", Role::dtype, DType::boolean},
};

class Machine {
 public:
  explicit Machine(Reader& reader) : reader_(reader) {}

  Pickle run() {
    while (!stopped_) {
      spend(1);
      step(reader_.number<std::uint8_t>("a pickle"));
    }
    return std::move(out_);
  }

 private:
  /// Counts work that one instruction does, so that a short pickle cannot ask for a lot of it.
  void spend(std::uint64_t work) {
    if (work > max_instructions - spent_)
      reader_.fail(ErrorCode::too_large,
                   "a pickle of more than " + std::to_string(max_instructions) + " instructions");
    spent_ += work;
  }

  // --- values
  static PickleValue integer(std::int64_t x, Kind kind = Kind::integer) {
    PickleValue value;
    value.kind = kind;
    value.integer = x;
    return value;
  }
  static PickleValue place(Kind kind, std::size_t index) {
    PickleValue value;
    value.kind = kind;
    value.index = index;
    return value;
  }
  PickleValue container(Kind kind, Items items) {
    out_.containers.push_back(std::move(items));
    return place(kind, out_.containers.size() - 1);
  }
  PickleValue text(std::uint64_t length, Kind kind = Kind::text) {
    out_.texts.push_back(reader_.text(length, "a string"));
    return place(kind, out_.texts.size() - 1);
  }
  Items& items(PickleValue value) { return out_.containers[value.index]; }

  // --- the stack, of which only what lies above the last mark may be taken
  void push(PickleValue value) { stack_.push_back(value); }
  PickleValue pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
      reader_.fail("the pickle takes more from its stack than there is");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue top() {
    const PickleValue value = pop();
    push(value);
    return value;
  }
  PickleValue pop(Kind kind, const char* what) {
    const PickleValue value = pop();
    if (value.kind != kind) reader_.fail(std::string("the pickle wants ") + what);
    return value;
  }
  Items pop_to_mark() {
    if (marks_.empty()) reader_.fail("the pickle has no mark on its stack");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Items taken(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return taken;
  }
  Items pop_many(std::size_t count) {
    Items taken(count);
    for (std::size_t i = count; i-- > 0;) taken[i] = pop();
    return taken;
  }

  // --- lists and dictionaries
  void append(const Items& more) {
    const PickleValue list = top();
    if (list.kind != Kind::list) reader_.fail("the pickle appends to what is no list");
    items(list).insert(items(list).end(), more.begin(), more.end());
  }
  void set(const Items& pairs) {
    const PickleValue dictionary = top();
    if (dictionary.kind != Kind::dictionary)
      reader_.fail("the pickle sets an item of what is no dictionary");
    if (pairs.size() % 2 != 0) reader_.fail("a key without a value");
    items(dictionary).insert(items(dictionary).end(), pairs.begin(), pairs.end());
  }

  // --- the memo
  void remember(std::uint64_t key) { memo_[key] = top(); }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end())
      reader_.fail("the pickle recalls object " + std::to_string(key) + ", which is not there");
    push(found->second);
  }

  // --- names and calls
  std::string_view line() { return reader_.line(max_line, "a name"); }
  void push_name(std::string_view module, std::string_view name) {
    // Storages on a graphics card are the same bytes.
    const std::string_view home =
        module == "torch.cuda" && name.ends_with("Storage") ? "torch" : module;
    for (std::size_t i = 0; i < std::size(names); ++i)
      if (names[i].module == home && names[i].name == name) return push(place(Kind::name, i));
    reader_.fail(ErrorCode::unsupported,
                 "the pickle asks for " + in_quotes(std::string(module) + "." + std::string(name)) +
                     ", which no saved model needs; refused");
  }
  const Known& known(PickleValue value, const char* what) const {
    if (value.kind != Kind::name) reader_.fail(std::string("the pickle wants ") + what);
    return names[value.index];
  }

  void call() {
    const PickleValue tuple = pop(Kind::tuple, "a tuple of arguments");
    const Known& function = known(pop(), "a function");
    const Items& arguments = items(tuple);
    switch (function.role) {
      case Role::ordered_dict: return push(ordered_dict(arguments));
      case Role::tensor: return push(tensor(arguments, 4, 4));
      case Role::tensor_v2: return push(tensor(arguments, 6, 7));
      case Role::tensor_v3: return push(tensor(arguments, 7, 8));
      case Role::parameter:
        if (arguments.empty() || arguments[0].kind != Kind::tensor)
          reader_.fail("a parameter without a tensor");
        return push(arguments[0]);
      case Role::size:
        if (arguments.size() != 1 ||
            (arguments[0].kind != Kind::tuple && arguments[0].kind != Kind::list))
          reader_.fail("torch.Size wants one list");
        return push(place(Kind::tuple, arguments[0].index));
      case Role::device: return push(place(Kind::other, 0));
      case Role::storage:
      case Role::dtype: break;
    }
    reader_.fail(ErrorCode::unsupported,
                 "the pickle calls " + in_quotes(function.name) + ", which is no function here");
  }

  PickleValue ordered_dict(const Items& arguments) {
    Items pairs;
    if (arguments.size() > 1 || (!arguments.empty() && arguments[0].kind != Kind::list))
      reader_.fail("OrderedDict wants a list of pairs");
    if (!arguments.empty()) {
      spend(items(arguments[0]).size());
      for (const PickleValue pair : items(arguments[0])) {
        if ((pair.kind != Kind::tuple && pair.kind != Kind::list) || items(pair).size() != 2)
          reader_.fail("OrderedDict wants a list of pairs");
        pairs.insert(pairs.end(), items(pair).begin(), items(pair).end());
      }
    }
    return container(Kind::dictionary, std::move(pairs));
  }

  std::uint64_t size(PickleValue value, const char* what) const {
    if (value.kind != Kind::integer || value.integer < 0)
      reader_.fail(std::string(what) + " is not a size");
    return static_cast<std::uint64_t>(value.integer);
  }
  std::vector<std::int64_t> sizes(PickleValue value, const char* what) {
    if (value.kind != Kind::tuple && value.kind != Kind::list)
      reader_.fail(std::string(what) + " is not a tuple");
    if (items(value).size() > max_dimensions)
      reader_.fail(ErrorCode::too_large,
                   "a tensor of " + std::to_string(items(value).size()) + " dimensions");
    std::vector<std::int64_t> result;
    for (const PickleValue x : items(value))
      result.push_back(static_cast<std::int64_t>(size(x, what)));
    return result;
  }

  /// (storage, offset, shape, strides, requires_grad, hooks [, dtype]).
  PickleValue tensor(const Items& arguments, std::size_t least, std::size_t most) {
    if (arguments.size() < least || arguments.size() > most)
      reader_.fail("a tensor of " + std::to_string(arguments.size()) + " arguments");
    if (arguments[0].kind != Kind::storage) reader_.fail("a tensor without a storage");
    if (out_.tensors.size() >= max_tensors)
      reader_.fail(ErrorCode::too_large, "more than " + std::to_string(max_tensors) + " tensors");
    PickledTensor t;
    t.storage = arguments[0].index;
    const PickledStorage& storage = out_.storages[t.storage];
    t.dtype = storage.dtype;
    std::uint64_t room = storage.elements;
    if (least == 7) {  // a storage of bytes, and the type beside it
      const Known& type = known(arguments[6], "an element type");
      if (type.role != Role::dtype || storage.dtype != DType::u8)
        reader_.fail("a tensor's element type does not fit its storage");
      t.dtype = type.dtype;
      room /= static_cast<std::uint64_t>(block_bytes(t.dtype));
    }
    t.offset = size(arguments[1], "the offset of a tensor");
    t.shape = sizes(arguments[2], "the shape of a tensor");
    t.strides = sizes(arguments[3], "the strides of a tensor");
    if (t.shape.size() != t.strides.size()) reader_.fail("a tensor's shape and strides differ");
    const auto elements = element_count(t.shape);
    if (!elements || *elements > room || !fits(t, room, *elements))
      reader_.fail("a tensor does not fit into its storage of " + std::to_string(room) +
                   " elements");
    out_.tensors.push_back(std::move(t));
    return place(Kind::tensor, out_.tensors.size() - 1);
  }

  /// Whether the last element lies within the storage.
  static bool fits(const PickledTensor& t, std::uint64_t room, std::uint64_t elements) {
    if (elements == 0) return t.offset <= room;
    std::optional<std::uint64_t> last = t.offset;
    for (std::size_t d = 0; d < t.shape.size() && last; ++d) {
      const auto step = times(static_cast<std::uint64_t>(t.shape[d] - 1),
                              static_cast<std::uint64_t>(t.strides[d]));
      last = step ? plus(*last, *step) : std::nullopt;
    }
    return last && *last < room;
  }

  /// ('storage', type, key, location, elements [, view]), under which the bytes are kept.
  void persistent() {
    const Items& id = items(pop(Kind::tuple, "the name of a storage"));
    if (id.size() < 5 || id.size() > 6 || id[0].kind != Kind::text ||
        out_.text(id[0]) != "storage" || id[2].kind != Kind::text || id[3].kind != Kind::text)
      reader_.fail("the name of a storage has another form");
    if (id.size() == 6 && id[5].kind != Kind::none)
      reader_.fail(ErrorCode::unsupported, "a view of a storage is not read");
    const Known& type = known(id[1], "the type of a storage");
    if (type.role != Role::storage) reader_.fail("the type of a storage is no such type");
    const PickledStorage storage{out_.text(id[2]), type.dtype, size(id[4], "a storage's length")};
    const auto [found, fresh] = storages_.emplace(storage.key, out_.storages.size());
    if (fresh) {
      out_.storages.push_back(storage);
    } else if (const PickledStorage& first = out_.storages[found->second];
               first.dtype != storage.dtype || first.elements != storage.elements) {
      reader_.fail("storage " + in_quotes(storage.key) + " is described in two ways");
    }
    push(place(Kind::storage, found->second));
  }

  /// A whole number of so many bytes, two's complement.
  PickleValue big(std::uint64_t length) {
    if (length > 8) return text(length, Kind::raw);
    std::uint64_t bits = 0;
    const auto bytes = reader_.take(length, "a number");
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    const bool negative = length > 0 && (std::to_integer<unsigned>(bytes.back()) & 0x80U) != 0;
    if (negative && length < 8) bits |= ~std::uint64_t{0} << (8 * length);
    return integer(static_cast<std::int64_t>(bits));
  }

  double real() {
    const auto bytes = reader_.take(8, "a number");
    std::uint64_t bits = 0;
    for (const std::byte b : bytes) bits = bits << 8U | std::to_integer<std::uint64_t>(b);
    return std::bit_cast<double>(bits);
  }

  template <class T>
  T operand() {
    return reader_.number<T>("a pickle");
  }

  /// One instruction. The letters are those of Python's pickle module.
  void step(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const auto protocol = operand<std::uint8_t>(); protocol > 5)
          reader_.fail("pickle protocol " + std::to_string(protocol) + " does not exist");
        return;
      case 0x95: (void)operand<std::uint64_t>(); return;  // FRAME
      case '.':                                           // STOP
        out_.root = pop();
        stopped_ = true;
        return;

      case 'N': return push({});
      case 0x88: return push(integer(1, Kind::boolean));
      case 0x89: return push(integer(0, Kind::boolean));
      case 'J': return push(integer(operand<std::int32_t>()));   // BININT
      case 'K': return push(integer(operand<std::uint8_t>()));   // BININT1
      case 'M': return push(integer(operand<std::uint16_t>()));  // BININT2
      case 0x8a: return push(big(operand<std::uint8_t>()));      // LONG1
      case 0x8b: return push(big(operand<std::uint32_t>()));     // LONG4
      case 'G': {                                                // BINFLOAT
        PickleValue value;
        value.kind = Kind::real;
        value.real = real();
        return push(value);
      }

      case 0x8c: return push(text(operand<std::uint8_t>()));              // SHORT_BINUNICODE
      case 'X': return push(text(operand<std::uint32_t>()));              // BINUNICODE
      case 0x8d: return push(text(operand<std::uint64_t>()));             // BINUNICODE8
      case 'U': return push(text(operand<std::uint8_t>()));               // SHORT_BINSTRING
      case 'T': return push(text(operand<std::uint32_t>()));              // BINSTRING
      case 'C': return push(text(operand<std::uint8_t>(), Kind::raw));    // SHORT_BINBYTES
      case 'B': return push(text(operand<std::uint32_t>(), Kind::raw));   // BINBYTES
      case 0x8e: return push(text(operand<std::uint64_t>(), Kind::raw));  // BINBYTES8

      case '(': marks_.push_back(stack_.size()); return;  // MARK
      case ')': return push(container(Kind::tuple, {}));
      case 't': return push(container(Kind::tuple, pop_to_mark()));
      case 0x85: return push(container(Kind::tuple, pop_many(1)));
      case 0x86: return push(container(Kind::tuple, pop_many(2)));
      case 0x87: return push(container(Kind::tuple, pop_many(3)));
      case ']': return push(container(Kind::list, {}));
      case 'l': return push(container(Kind::list, pop_to_mark()));
      case 'a': return append(pop_many(1));
      case 'e': return append(pop_to_mark());
      case '}': return push(container(Kind::dictionary, {}));
      case 'd': {  // DICT
        const Items pairs = pop_to_mark();
        push(container(Kind::dictionary, {}));
        return set(pairs);
      }
      case 's': return set(pop_many(2));    // SETITEM
      case 'u': return set(pop_to_mark());  // SETITEMS

      case 'q': return remember(operand<std::uint8_t>());   // BINPUT
      case 'r': return remember(operand<std::uint32_t>());  // LONG_BINPUT
      case 0x94: return remember(memo_.size());             // MEMOIZE
      case 'h': return recall(operand<std::uint8_t>());     // BINGET
      case 'j': return recall(operand<std::uint32_t>());    // LONG_BINGET

      case 'c': {  // GLOBAL
        const auto module = line();
        return push_name(module, line());
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue name = pop(Kind::text, "a name");
        return push_name(out_.text(pop(Kind::text, "a module")), out_.text(name));
      }
      case 'R': return call();        // REDUCE
      case 'Q': return persistent();  // BINPERSID
      case 'b': {  // BUILD: attributes, which dictionaries and tensors do without
        (void)pop();
        const Kind kind = top().kind;
        if (kind != Kind::dictionary && kind != Kind::tensor)
          reader_.fail(ErrorCode::unsupported, "the pickle builds an object that is not known");
        return;
      }
      default:
        reader_.fail(ErrorCode::unsupported, "pickle instruction " + std::to_string(opcode) +
                                                 ", which no saved model needs; refused");
    }
  }

  Reader& reader_;
  Pickle out_;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue> memo_;
  std::map<std::string_view, std::size_t> storages_;
  std::uint64_t spent_ = 0;
  bool stopped_ = false;
};

}  // namespace

Pickle read_pickle(Reader& reader) { return Machine(reader).run(); }

}  // namespace ropewalk::checkpoints
