#include "base/local_file_system.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tailrace {

bool is_on_local_file_system(int descriptor) {
    constexpr uint32_t kXfsMagic = 0x58465342;  // xfs.org; not in linux/magic.h of older systems
    constexpr std::array<uint32_t, 5> kLocal{EXT4_SUPER_MAGIC, kXfsMagic, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
    struct statfs system;
    return ::fstatfs(descriptor, &system) == 0 && std::ranges::find(kLocal, static_cast<uint32_t>(system.f_type)) != kLocal.end();
}

}  // namespace tailrace
