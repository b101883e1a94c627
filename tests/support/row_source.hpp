// The code of built-in rows as functions of one dtype, for the tests that compile them on each back end.
#pragma once
#include <string>
#include <vector>

#include "ops/rows.hpp"

namespace damo::testing {

inline constexpr DType kRowDTypes[] = {bool_,  int8,   int16,  int32,   int64,  uint8,
                                       uint16, uint32, uint64, float32, float64};

/// C's name of what a kernel computes a dtype in.
inline std::string type_text(DType dtype) {
  switch (dtype) {
    case bool_:
      return "bool";
    case int8:
      return "signed char";
    case int16:
      return "short";
    case int32:
      return "int";
    case int64:
      return "long long";
    case uint8:
      return "unsigned char";
    case uint16:
      return "unsigned short";
    case uint32:
      return "unsigned int";
    case uint64:
      return "unsigned long long";
    case float64:
      return "double";
    default:
      return "float";
  }
}

/// The built-in rows whose code runs with T of this dtype.
inline std::vector<const ElementwiseRow*> rows_computed_in(DType dtype) {
  std::vector<const ElementwiseRow*> rows;
  for (const ElementwiseRow& row : builtin_rows()) {
    if (takes(row, dtype) && computed_in(row, dtype) == dtype) rows.push_back(&row);
  }
  return rows;
}

inline std::string input_type(const ElementwiseRow& row, DType dtype, int input) {
  return row.condition_first && input == 0 ? "bool" : type_text(dtype);
}

/// "inline float f_tanh(float x0) { typedef float T; return (tanh(x0)); }", to stand in namespace damo.
inline std::string row_function(const ElementwiseRow& row, DType dtype) {
  std::string parameters;
  for (int i = 0; i < arity(row); ++i) {
    parameters += (i ? ", " : "") + input_type(row, dtype, i) + " x" + std::to_string(i);
  }
  return "inline " + type_text(result_of(row, dtype)) + " f_" + std::string(row.name) + "(" + parameters + ") { typedef " +
         type_text(dtype) + " T; return (" + std::string(code_for(row, dtype)) + "); }\n";
}

/// "f_tanh(x0[i])"
inline std::string row_call(const ElementwiseRow& row) {
  std::string call = "f_" + std::string(row.name) + "(";
  for (int i = 0; i < arity(row); ++i) call += (i ? ", x" : "x") + std::to_string(i) + "[i]";
  return call + ")";
}

}  // namespace damo::testing
