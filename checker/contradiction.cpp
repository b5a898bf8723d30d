#include "facts.hpp"
namespace checker {
void check_contradiction(const Object&) { throw Rejected("todo"); }
}  // namespace checker
