// What a call throws, as text.
#pragma once
#include <string>

#include <damo/error.hpp>

namespace damo::testing {

/// The text of the E that work throws; "nothing thrown" if it throws none.
template <class E = Error, class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace damo::testing
