#include "base/system_error.hpp"

#include <cerrno>
#include <cstring>

namespace tailrace {

Status status_of_errno(int code) {
    if (code == ENOSPC || code == EDQUOT) return Status::NO_SPACE;
    return code == ENOENT ? Status::NOT_FOUND : Status::IO_FAILED;
}

void fail_system(const char* doing, const std::string& path, int code) {
    const Status status = status_of_errno(code);
    std::string remedy;
    if (status == Status::NO_SPACE) remedy = "; free space or raise the quota, or write elsewhere";
    if (code == EACCES || code == EPERM || code == EROFS) remedy = "; choose a directory that this user may write";
    if (code == EMFILE || code == ENFILE) remedy = "; raise the limit of open files (ulimit -n)";
    fail(status, "cannot ", doing, " ", path, ": ", std::strerror(code), remedy);
}

}  // namespace tailrace
