// The archive is libzip's business: it checks what the archive says of itself, and each member's checksum when its end is read.
#include <damo/io/npy.hpp>

#if DAMO_HAS_ZIP
#include <zip.h>

#include <memory>

#include "io/atomic_file.hpp"
#include "io/file_kind.hpp"
#include "io/npy_member.hpp"
#endif

#include "graph/base/characters.hpp"

namespace damo::npz {
#if DAMO_HAS_ZIP
namespace {

constexpr std::string_view kSuffix = ".npy";

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, Close>;

Archive open(const std::string& path, int flags, std::string& reason) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    reason = code == ZIP_ER_EXISTS ? "expected each member once" : zip_error_strerror(&error);
    zip_error_fini(&error);
  }
  return archive;
}

class MemberSource final : public io::Source {
 public:
  MemberSource(const std::string& path, const std::string& member, zip_t* archive, zip_uint64_t index)
      : Source("npz", path + ", member " + printable(member, io::kMostOfAName)), file_(zip_fopen_index(archive, index, 0)) {
    if (!file_) fail(zip_strerror(archive));
  }

 private:
  std::uint64_t bytes_left() const override { return kUnknownLength; }
  std::size_t read_some(std::span<std::byte> to) override {
    const zip_int64_t count = zip_fread(file_.get(), to.data(), to.size());
    if (count < 0) fail(zip_file_strerror(file_.get()));
    return static_cast<std::size_t>(count);
  }
  std::unique_ptr<zip_file_t, Close> file_;
};

}  // namespace

NamedArrays load(const std::string& path, Device device) {
  const auto refuse = [&](const std::string& reason) { throw FileError("npz: " + printable(path) + ": " + reason); };
  struct stat status{};
  if (const std::string_view kind = stat(path.c_str(), &status) == 0 ? io::other_kind(status.st_mode) : std::string_view(); !kind.empty()) refuse("expected a file, found " + std::string(kind));
  std::string reason;
  const Archive archive = open(path, ZIP_RDONLY | ZIP_CHECKCONS, reason);
  if (!archive) refuse(reason);
  NamedArrays arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* written = zip_get_name(archive.get(), i, ZIP_FL_ENC_GUESS);
    if (written == nullptr) refuse("a member has no name");
    std::string name = written;
    MemberSource source(path, name, archive.get(), i);
    if (!name.ends_with(kSuffix)) source.fail("expected members whose names end in .npy");
    name.resize(name.size() - kSuffix.size());
    if (!arrays.emplace(name, io::read_npy(source, device)).second) source.fail("expected each member once");
  }
  return arrays;
}

void save(const std::string& path, const NamedArrays& arrays, bool compressed) {
  constexpr std::size_t kLongestName = 65535;  // a zip file counts its bytes in 16 bits
  for (const auto& [name, array] : arrays) {
    io::require_elements("npz", array, name);
    if (name.find('\0') != name.npos) throw OptionError("npz: the name of an array holds a byte of value 0: '" + printable(name, io::kMostOfAText) + "'", "take it out");
    if (name.size() + kSuffix.size() > kLongestName) throw OptionError("npz: the name of an array has " + std::to_string(name.size()) + " bytes: '" + printable(name, io::kMostOfAText) + "'", "give " + std::to_string(kLongestName - kSuffix.size()) + " or fewer");
  }
  io::AtomicFile file("npz", path);
  std::vector<std::vector<std::byte>> members;  // libzip reads them when it closes the archive
  members.reserve(arrays.size());
  std::string reason;
  Archive archive = open(file.temporary(), ZIP_CREATE | ZIP_TRUNCATE, reason);
  if (!archive) file.fail(reason);
  for (const auto& [name, array] : arrays) {
    const std::string head = io::npy_head(array);
    std::vector<std::byte> storage;
    const std::span elements = io::host_bytes(array, storage), front = std::as_bytes(std::span(head));
    std::vector<std::byte>& member = members.emplace_back(front.begin(), front.end());
    member.insert(member.end(), elements.begin(), elements.end());
    zip_source_t* source = zip_source_buffer(archive.get(), member.data(), member.size(), 0);
    const zip_int64_t index = source ? zip_file_add(archive.get(), (name + std::string(kSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      zip_source_free(source);
      const std::string shown = "'" + printable(name, io::kMostOfAName) + "'";
      file.fail(zip_error_code_zip(zip_get_error(archive.get())) == ZIP_ER_INVAL ? "a zip file's names are UTF-8 without control characters, this is " + shown : shown + ": " + zip_strerror(archive.get()));
    }
    const auto at = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive.get(), at, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive.get(), at, 0, 33, 0);  // 1 January 1980, as NumPy: equal arrays make equal files
  }
  if (arrays.empty()) {  // libzip makes no file of an archive without members
    archive.reset();
    file.write(std::string_view("PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22));
  } else if (zip_close(archive.get()) != 0) {
    file.fail(zip_strerror(archive.get()));
  } else {
    archive.release();
  }
  file.commit();
}

#else

namespace {
[[noreturn]] void refuse(const std::string& path) {
  throw FileError("npz: " + printable(path) + ": this build of Damo has no libzip, which .npz files need", "install libzip-dev and build again; .npy and .safetensors need nothing");
}
}  // namespace
NamedArrays load(const std::string& path, Device) { refuse(path); }
void save(const std::string& path, const NamedArrays&, bool) { refuse(path); }

#endif
}  // namespace damo::npz
