#include "locate.hpp"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>
#include <llvm/Object/ObjectFile.h>

#include <utility>

#include "diagnostics.hpp"

namespace damo::clang_plugin {
namespace {

/// What Damo writes does not fault: if an instruction is said to come from there, a user's was made part of it.
constexpr llvm::StringLiteral kGenerated = "generated";

std::string user_frame(llvm::DWARFContext& debug, size_t section, uint64_t offset) {
  using Specifier = llvm::DILineInfoSpecifier;
  const llvm::DIInliningInfo frames = debug.getInliningInfoForAddress(
      {offset, section}, Specifier(Specifier::FileLineInfoKind::AbsoluteFilePath, Specifier::FunctionNameKind::None));
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& frame = frames.getFrame(i);
    llvm::StringRef file = frame.FileName;
    file.consume_front("./");  // the directory that frontend.cpp names
    if (frame.Line == 0 || !is_user_file(file) || file == kGenerated) continue;
    return file.str() + ":" + std::to_string(frame.Line) + ":" + std::to_string(frame.Column);
  }
  return {};
}

std::string file_of(const llvm::DILocation& place) {
  const std::string directory = place.getDirectory().str(), file = place.getFilename().str();
  return directory.empty() || directory == "." || file.starts_with('/') ? file : directory + (directory.ends_with('/') ? "" : "/") + file;
}

}  // namespace

std::string user_place(const llvm::Instruction& instruction) {
  for (const llvm::DILocation* at = instruction.getDebugLoc(); at; at = at->getInlinedAt()) {
    const std::string file = file_of(*at);
    if (at->getLine() == 0 || !is_user_file(file)) continue;
    return file + ":" + std::to_string(at->getLine()) + ":" + std::to_string(at->getColumn());
  }
  return {};
}

std::string locate(llvm::StringRef object, size_t section, uint64_t offset) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  const auto debug = llvm::DWARFContext::create(**file, llvm::DWARFContext::ProcessDebugRelocations::Process, nullptr, "", ignore, ignore);
  std::string text = user_frame(*debug, section, offset);
  if (!text.empty()) return text;
  constexpr uint64_t kNear = 128;
  for (uint64_t distance = 1; distance <= kNear && text.empty(); ++distance) {
    if (distance <= offset) text = user_frame(*debug, section, offset - distance);
    if (text.empty()) text = user_frame(*debug, section, offset + distance);
  }
  return text.empty() ? text : "near " + text;
}

}  // namespace damo::clang_plugin
