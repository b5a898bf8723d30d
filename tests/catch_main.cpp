// main() of every test executable under Catch2 2; version 3 brings a library with it instead.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
