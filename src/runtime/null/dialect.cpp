#include "runtime/null/dialect.hpp"

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

class NullDialect final : public Dialect {
 public:
  std::string_view name() const override { return "null"; }
  std::string emit(const KernelSpec& spec, const Layout& layout) const override {
    return "// " + entry_name(spec) + ", " + to_string(layout) + "\n" + argument_struct(spec, layout) +
           (spec.reduces() ? StepPrinter(spec).functions() : step_functions(spec));
  }
  Work work(const KernelSpec&, const Layout&, const Geometry& geometry, const Processors&) const override { return one_launch({{geometry.count}, {1}}); }
  int vector_width(const KernelSpec&, const Layout&) const override { return 1; }
};

}  // namespace

const Dialect& null_dialect() {
  static const NullDialect dialect;
  return dialect;
}

}  // namespace damo
