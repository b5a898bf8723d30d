// A program of someone who installed ropewalk: it knows the installed headers and targets, nothing
// of the source tree.
#include <iostream>

#include "theory/formula.hpp"

int main() { std::cout << ropewalk::theory::Formula::parse("pi*2/7").as<double>() << '\n'; }
