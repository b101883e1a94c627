// The tests of this folder, or, from the command line, a campaign: scripts/random-kernels.
//   --campaign [--first N] [--count N] [--jobs N] [--minutes M] [--gpu] [--attempts N] [--failures DIRECTORY]
//   --show N    the text of a program
//   --compile FILE FLAG...   what the compiler says
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/random_kernels/campaign.hpp"
#include "runtime/cpu/random_kernels/kernel_writer.hpp"
#include "runtime/cpu/random_kernels/run.hpp"

using namespace damo::random_kernels;

namespace {

int run_campaign(int count, char** words) {
  Campaign campaign{.tell_every = 15};
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--gpu") {
      campaign.on_gpu = true;
      continue;
    }
    const char* const value = ++i < count ? words[i] : "";
    if (word == "--first") campaign.first = std::strtoull(value, nullptr, 10);
    else if (word == "--count") campaign.count = std::strtoull(value, nullptr, 10);
    else if (word == "--jobs") campaign.jobs = static_cast<unsigned>(std::atoi(value));
    else if (word == "--minutes") campaign.seconds = 60 * std::atof(value);
    else if (word == "--seconds-each") campaign.seconds_each = std::atof(value);
    else if (word == "--attempts") campaign.attempts = std::atoi(value);
    else if (word == "--failures") campaign.directory = value;
    else {
      std::cerr << "unknown option " << word << "\n";
      return 2;
    }
  }
  const Result result = run(campaign);
  std::cout << "seeds from " << campaign.first << (campaign.on_gpu ? ", GPU against reference form: " : ", default form and coroutines against reference form: ") << result.summary() << std::endl;
  const bool is_whole = result.programs == campaign.count;
  if (!is_whole) std::cout << campaign.count - result.programs << " were not run: the time was over" << std::endl;
  return result.is_good() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string_view(words[1]) == "--campaign") return run_campaign(count, words);
  if (count > 2 && std::string_view(words[1]) == "--show") {
    const Program program = random_program(std::strtoull(words[2], nullptr, 10));
    std::cout << "// " << program.launch_text() << "\n" << source_of({&program, 1});
    return 0;
  }
  if (count > 2 && std::string_view(words[1]) == "--compile") {
    std::ifstream file(words[2]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto output = damo::cpu_backend::compile({.source = text, .file_name = words[2], .language = damo::cpu_backend::SourceLanguage::kCudaC, .flags = {words + 3, words + count}});
    std::cout << (output.ok ? "ok\n" : "not ok\n") << output.log;
    return 0;
  }
  ::testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
