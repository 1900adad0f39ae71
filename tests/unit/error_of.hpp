// What a failing operation throws, for tests of messages.
#pragma once

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace tailrace {

template <class Operation>
Error error_of(Operation operation) {
    try {
        operation();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(Status::OK, "");
}

}  // namespace tailrace
