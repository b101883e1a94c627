// A form that can't be made gives way to the next, and the log says so in one line.
#include "runtime/cpu/form_chain.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include <damo/log.hpp>

namespace damo::cpu_backend::testing {
namespace {

using ::testing::ElementsAre;

struct Chain {
  std::vector<KernelForm> tried;
  std::vector<std::string> lines;
  FormAttempt result;

  /// Forms before good give way.
  Chain(KernelForm first, KernelForm good, bool is_final = false) {
    set_log_sink([this](LogLevel level, std::string_view line) {
      EXPECT_EQ(level, LogLevel::kWarning);
      lines.emplace_back(line);
    });
    result = compile_in_a_form(first, [&](KernelForm form) {
      tried.push_back(form);
      return form == good ? FormAttempt{} : FormAttempt{.gives_way = !is_final, .at = "kernel 'k' (user.cu:12)", .why = "it faulted"};
    });
    set_log_sink({});
  }
};

TEST(FormChain, KeepsTheFormThatCanBeMade) {
  const Chain chain(KernelForm::kLoops, KernelForm::kLoops);
  EXPECT_THAT(chain.tried, ElementsAre(KernelForm::kLoops));
  EXPECT_THAT(chain.lines, ElementsAre());
}

TEST(FormChain, GoesOnToTheNextAndNamesKernelAndLine) {
  const Chain chain(KernelForm::kLoops, KernelForm::kReference);
  EXPECT_THAT(chain.tried, ElementsAre(KernelForm::kLoops, KernelForm::kCoroutines, KernelForm::kReference));
  EXPECT_THAT(chain.lines, ElementsAre("kernel 'k' (user.cu:12) can't be compiled to loops over threads (it faulted): its text becomes coroutines, which is slower",
                                       "kernel 'k' (user.cu:12) can't be compiled to coroutines (it faulted): its text is run thread by thread, which is slower"));
  EXPECT_FALSE(chain.result.gives_way);
}

TEST(FormChain, EndsWhereNoFormIsLeftOrNoneWouldDo) {
  EXPECT_TRUE(Chain(KernelForm::kReference, KernelForm::kLoops).result.gives_way);
  EXPECT_THAT(Chain(KernelForm::kLoops, KernelForm::kReference, true).tried, ElementsAre(KernelForm::kLoops));
}

}  // namespace
}  // namespace damo::cpu_backend::testing
