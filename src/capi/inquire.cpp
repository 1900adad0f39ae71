// C functions that return the dimensions and variables of a stream, by number and by name.
#include <algorithm>

#include "capi/handles.hpp"

using tailrace::fail;
using tailrace::guard_local;
using tailrace::required;
using tailrace::Status;

namespace {

const tailrace::Definitions& of(const tailrace_definitions* definitions) {
    return *required(definitions, "definitions")->definitions;
}

template <class Item>
const Item& item(const std::vector<Item>& all, int number, const char* kind) {
    if (number < 0 || static_cast<size_t>(number) >= all.size())
        fail(Status::NOT_FOUND, "there is no ", kind, " ", number, ": the stream has ", all.size(), ", numbered from 0");
    return all[static_cast<size_t>(number)];
}

int flags_of(const tailrace::Variable& variable) {
    return (variable.is_static ? TAILRACE_STATIC : 0) | (variable.replicated ? TAILRACE_REPLICATED : 0);
}

uint64_t length_of(const tailrace_definitions* from, const tailrace::Dimension& dimension) {
    return dimension.ragged && !from->of_reader ? TAILRACE_RAGGED : dimension.length;
}

}  // namespace

extern "C" {

int tailrace_get_definitions(tailrace_stream* stream, const tailrace_definitions** definitions) {
    return guard_local(stream, [&] {
        *required(definitions, "definitions") = nullptr;
        tailrace::output_of(stream);
        *definitions = &stream->definitions;
    });
}

int tailrace_read_definitions(tailrace_reader* reader, const tailrace_definitions** definitions) {
    return guard_local(reader, [&] {
        *required(definitions, "definitions") = nullptr;
        tailrace::reader_of(reader);
        *definitions = &reader->definitions;
    });
}

int tailrace_inquire_dims(const tailrace_definitions* definitions, int* count) {
    return guard_local(definitions, [&] { *required(count, "count") = static_cast<int>(of(definitions).dimensions().size()); });
}

int tailrace_inquire_dim_id(const tailrace_definitions* definitions, const char* name, int* dim) {
    return guard_local(definitions, [&] {
        const std::string wanted = required(name, "name");
        const int found = of(definitions).find_dimension(wanted);
        if (found < 0) fail(Status::NOT_FOUND, "dimension '", wanted, "' is not defined");
        *required(dim, "dim") = found;
    });
}

int tailrace_inquire_dim(const tailrace_definitions* definitions, int dim, tailrace_dim_info* info) {
    return guard_local(definitions, [&] {
        const tailrace::Dimension& dimension = item(of(definitions).dimensions(), dim, "dimension");
        *required(info, "info") = {
            .name = dimension.name.c_str(), .length = length_of(definitions, dimension), .is_ragged = dimension.ragged ? 1 : 0};
    });
}

int tailrace_inquire_vars(const tailrace_definitions* definitions, int* count) {
    return guard_local(definitions, [&] { *required(count, "count") = static_cast<int>(of(definitions).variables().size()); });
}

int tailrace_inquire_var_id(const tailrace_definitions* definitions, const char* name, int* var) {
    return guard_local(definitions,
                       [&] { *required(var, "var") = static_cast<int>(of(definitions).index_of(required(name, "name"))); });
}

int tailrace_inquire_var_info(const tailrace_definitions* definitions, int var, tailrace_var_info* info) {
    return guard_local(definitions, [&] {
        const tailrace::Variable& variable = item(of(definitions).variables(), var, "variable");
        *required(info, "info") = {};
        info->name = variable.name.c_str();
        info->type = static_cast<tailrace_type>(variable.type);
        info->flags = flags_of(variable);
        info->ndims = static_cast<int>(variable.dims.size());
        std::copy(variable.dims.begin(), variable.dims.end(), info->dims);
        for (size_t d = 0; d < variable.dims.size(); ++d)
            info->shape[d] = length_of(definitions, of(definitions).dimension(variable.dims[d]));
    });
}

int tailrace_inquire_var(tailrace_reader* reader, const char* var, tailrace_type* type, int* ndims, uint64_t* shape, int* flags) {
    return guard_local(reader, [&] {
        const tailrace::Definitions& definitions = tailrace::reader_of(reader).definitions();
        const tailrace::Variable& variable = definitions.variables()[definitions.index_of(required(var, "var"))];
        if (type != nullptr) *type = static_cast<tailrace_type>(variable.type);
        if (ndims != nullptr) *ndims = static_cast<int>(variable.shape.size());
        if (shape != nullptr) std::copy(variable.shape.begin(), variable.shape.end(), shape);
        if (flags != nullptr) *flags = flags_of(variable);
    });
}

int tailrace_inquire(tailrace_reader* reader, const char** json) {
    return guard_local(reader, [&] {
        required(json, "json");
        reader->description = tailrace::reader_of(reader).describe();
        *json = reader->description.c_str();
    });
}

}  // extern "C"
