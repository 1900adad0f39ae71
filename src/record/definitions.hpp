// The definitions of a stream: its dimensions, variables and attributes. They are equal on all ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/type.hpp"
#include "layout/attribute.hpp"
#include "layout/box.hpp"
#include "layout/dimension.hpp"

namespace tailrace {

struct Variable {
    std::string name;
    Type type = Type::F64;
    std::vector<int> dims;
    Shape shape;
    bool is_static = false;
    bool replicated = false;
    std::vector<Attribute> attributes;
    std::vector<std::byte> fill;  // one element if the variable has a _FillValue
    uint64_t bytes() const { return volume(shape) * type_bytes(type); }
    bool operator==(const Variable&) const = default;
};

class Definitions;

// Throws BAD_SHAPE if an index is not below the length of dimension `dim` of a variable.
void check_indices(const Definitions& definitions, const Variable& variable, size_t dim, std::span<const uint64_t> indices);

class Definitions {
public:
    // How names are stored. `nfc`: in Unicode's normal form NFC. `as_stored`: unchanged, for names of a journal, which earlier
    // versions did not normalize. Either way, a name is found by both spellings.
    enum class Spelling { nfc, as_stored };
    explicit Definitions(std::string time_name = "time", Spelling spelling = Spelling::nfc);

    void define_dimension(const std::string& name, uint64_t length);
    void define_variable(const std::string& name, int type, int ndims, const char* const* dims, int flags);
    // `variable` empty: an attribute of the stream; the name of the time dimension: an attribute of the time coordinate.
    void put_attribute(const std::string& variable, Attribute attribute);
    // put_attribute() for each attribute of a list.
    void put_attributes(const std::string& variable, std::vector<Attribute> attributes);
    // Replaces all attributes of a variable, of the stream or of the time. Variable::fill does not change.
    void replace_attributes(const std::string& variable, std::vector<Attribute> attributes);

    const std::string& time_name() const { return time_name_; }
    const std::vector<Dimension>& dimensions() const { return dimensions_; }
    const std::vector<Variable>& variables() const { return variables_; }
    const std::vector<Attribute>& attributes() const { return attributes_; }
    const std::vector<Attribute>& time_attributes() const { return time_attributes_; }
    size_t index_of(const std::string& variable) const;  // throws NOT_FOUND; the message lists the variables that are defined
    std::optional<size_t> find_variable(std::string_view name) const;  // `name`: in the stored spelling
    bool has_static_distributed() const;
    // Whether the variable is the coordinate of the dimension with its name: 1-D, static and replicated. A file has no other array
    // with the name of a dimension.
    bool is_coordinate(const Variable& variable) const;
    // The name of a variable's array in a file: with netCDF's prefix if the variable has a dimension's name and is no coordinate.
    std::string array_name(const Variable& variable) const;
    static std::string_view without_prefix(std::string_view array);  // the variable's name
    int find_dimension(const std::string& name) const;               // -1: there is none

    // The ragged dimensions, in the order of definition. Their lengths change with each step: set_ragged_lengths().
    const std::vector<int>& ragged() const { return ragged_; }
    bool is_ragged(const Variable& variable) const {
        return !ragged_.empty() && !variable.dims.empty() && dimension(variable.dims[0]).ragged;
    }
    // The number of a ragged variable's first dimension in ragged().
    size_t ragged_number(const Variable& variable) const {
        return static_cast<size_t>(std::ranges::find(ragged_, variable.dims[0]) - ragged_.begin());
    }
    const Dimension& dimension(int d) const { return dimensions_[static_cast<size_t>(d)]; }
    // The position, from 0, of the dimension with this name among those of a variable. Throws NOT_FOUND.
    size_t dimension_of(const Variable& variable, const std::string& dimension) const;
    std::vector<uint64_t> ragged_lengths() const;
    // Throws CORRUPT for another number of lengths, and if an array would have more bytes than a file may have.
    void set_ragged_lengths(const std::vector<uint64_t>& lengths);

    // A copy that has only the first `dimensions` dimensions and the first `variables` variables; all, if there are fewer.
    Definitions first(size_t dimensions, size_t variables) const;

    uint64_t fingerprint() const;  // a checksum: equal for equal definitions

    // Whether steps of both can be in one stream: same dimensions, variables and types. If not, `why` says what is different.
    bool same_structure(const Definitions& other, std::string& why) const;

private:
    // Finds names in constant time: a journal may define any number of them.
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Numbers = std::unordered_map<std::string, size_t, Hash, std::equal_to<>>;
    using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

    std::string spelled(const std::string& name) const;
    void check_attribute_of(const std::string& variable, Attribute& attribute);
    std::vector<Attribute>& attributes_of(const std::string& variable);
    void check_blocks(const std::string& name) const;
    void check_name_is_free(const char* what, const std::string& name) const;

    Spelling spelling_;
    std::string time_name_;
    std::vector<Dimension> dimensions_;
    std::vector<Variable> variables_;
    Numbers numbers_, dimension_numbers_;  // by name
    Names block_owners_;                   // for each variable NAME.N: NAME
    Names row_size_names_;                 // of the ragged dimensions
    std::vector<Attribute> attributes_, time_attributes_;
    std::vector<int> ragged_;
};

// The name of the index's variable that has, for each step, the number of elements along a ragged dimension.
std::string row_size_name(const Dimension& dimension);

}  // namespace tailrace
