#include "record/definitions.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "layout/name.hpp"
#include "layout/notation.hpp"

namespace tailrace {
namespace {

// Below netCDF's 256 bytes: parts and the index have longer names that begin with these (X_1, X.1, X_row_size).
constexpr size_t kMaxOwnNameBytes = 240;
constexpr std::string_view kNoCoordinatePrefix = "_nc4_non_coord_";  // of netCDF

void check_own_name(const char* of, const std::string& name) {
    if (name.size() > kMaxOwnNameBytes)
        fail(Status::BAD_ARGUMENT, "the name '", name, "' of ", of, " has ", name.size(), " bytes; use at most ", kMaxOwnNameBytes);
    check_name(of, name);
    if (name.starts_with("_nc4_") || name.starts_with("tailrace_"))
        fail(Status::BAD_ARGUMENT, "the name '", name, "' of ", of,
             " begins with _nc4_ or tailrace_, which are reserved; use another name");
}

// The variable of which a further block has this name in a part, NAME.1, NAME.2, ...; "" for other names.
std::string_view owner_of_block(std::string_view name) {
    const size_t end = name.find_last_not_of("0123456789");
    return end == std::string_view::npos || end + 1 == name.size() || name[end] != '.' ? "" : name.substr(0, end);
}

// A hint for messages about a name that exists already in another form of Unicode, and so looks equal.
const char* spelling_hint(const std::string& given, const std::string& name) {
    return given == name ? "" : " (names are stored in Unicode's form NFC, in which both are the same)";
}

// Whether the variable has fewer bytes than a file may have. Ignores dimensions of length 0, such as ragged ones before a step.
bool fits_in_file(const Variable& variable) {
    uint64_t bytes = type_bytes(variable.type);
    for (const uint64_t length : variable.shape)
        if (length > 0 && __builtin_mul_overflow(bytes, length, &bytes)) return false;
    return bytes <= INT64_MAX;
}

double number_at(const Attribute& attribute, uint64_t i) {
    if (attribute.type == Type::F32) return reinterpret_cast<const float*>(attribute.values.data())[i];
    return reinterpret_cast<const double*>(attribute.values.data())[i];
}

bool is_float(Type type) { return type == Type::F32 || type == Type::F64; }

void check_attribute(const std::string& owner, const Attribute& attribute) {
    check_own_name("an attribute", attribute.name);
    if (attribute.is_list && !is_utf8({reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size()}))
        fail(Status::BAD_ATTRIBUTE, "attribute '", attribute.name, "' of ", owner,
             " is a list with a text that is not UTF-8; encode it so");
    const bool may_be_nan = attribute.name == "_FillValue" || attribute.name == "missing_value";
    if (may_be_nan || !is_float(attribute.type)) return;
    for (uint64_t i = 0; i < attribute.count; ++i) {
        const double value = number_at(attribute, i);
        if (!std::isfinite(value))
            fail(Status::BAD_ATTRIBUTE, "attribute '", attribute.name, "' of ", owner, ": element ", i, " is ", value,
                 "; attributes are finite numbers (only _FillValue and missing_value may be NaN)");
    }
}

void set(std::vector<Attribute>& attributes, Attribute attribute) {
    const auto at =
        std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == attribute.name; });
    if (at != attributes.end())
        *at = std::move(attribute);
    else
        attributes.push_back(std::move(attribute));
}

// The variable's name with its type and flags: "'T' (f4)", "'mask' (i1, static)".
std::string kind_text(const Variable& variable) {
    return text("'", variable.name, "' (", type_code(variable.type), variable.is_static ? ", static" : "",
                variable.replicated && !variable.dims.empty() ? ", replicated" : "", ")");
}

std::string length_text(const Dimension& dimension) { return dimension.ragged ? "ragged" : std::to_string(dimension.length); }

std::string difference_in_dimensions(const std::vector<Dimension>& here, const std::vector<Dimension>& there) {
    if (here.size() != there.size()) return text("there are ", there.size(), " dimensions there, here ", here.size());
    for (size_t d = 0; d < here.size(); ++d)
        if (!(here[d] == there[d]))
            return text("dimension ", d, " is '", there[d].name, "' of length ", length_text(there[d]), " there, here '",
                        here[d].name, "' of length ", length_text(here[d]));
    return "";
}

// The checksum of definitions, field by field. A length precedes each list and text, so that different definitions give different
// bytes.
class Fingerprint {
public:
    void add(uint64_t number) { add_bytes(&number, sizeof number); }
    void add(const std::string& text) {
        add(text.size());
        add_bytes(text.data(), text.size());
    }
    void add(const std::vector<Attribute>& attributes) {
        add(attributes.size());
        for (const Attribute& attribute : attributes) {
            add(attribute.name);
            add(static_cast<uint64_t>(attribute.type));
            if (attribute.is_list) add(uint64_t{1});
            add(attribute.values.size());
            add_bytes(attribute.values.data(), attribute.values.size());
        }
    }
    uint64_t checksum() const { return sum_.value(); }

private:
    void add_bytes(const void* bytes, size_t count) { sum_.add(bytes, count); }
    Checksum sum_;
};

// Throws BAD_SHAPE if the variable has a ragged dimension that is not its first one, and if it has one and is static or replicated.
// RATIONALE: the length of a ragged dimension is known only when a step ends, and the index joins the elements of all steps
// along it.
void check_ragged(const Definitions& definitions, const Variable& variable) {
    for (size_t d = 0; d < variable.dims.size(); ++d) {
        const Dimension& of = definitions.dimension(variable.dims[d]);
        if (!of.ragged) continue;
        if (d > 0)
            fail(Status::BAD_SHAPE, "variable '", variable.name, "': the ragged dimension '", of.name, "' is its dimension ",
                 dimension_text(d, variable.dims.size()), "; make it the slowest dimension");
        if (variable.is_static || variable.replicated)
            fail(Status::BAD_SHAPE, "variable '", variable.name, "': the dimension '", of.name,
                 "' is ragged, so the variable cannot be static or replicated; leave out the flags");
    }
}

}  // namespace

Definitions::Definitions(std::string time_name, Spelling spelling)
    : spelling_(spelling), time_name_(spelled(std::move(time_name))) {
    check_own_name("a dimension", time_name_);
}

std::string Definitions::spelled(const std::string& name) const { return spelling_ == Spelling::nfc ? nfc(name) : name; }

int Definitions::find_dimension(const std::string& name) const {
    auto found = dimension_numbers_.find(name);
    if (found == dimension_numbers_.end()) found = dimension_numbers_.find(nfc(name));
    return found == dimension_numbers_.end() ? -1 : static_cast<int>(found->second);
}

void Definitions::define_dimension(const std::string& given, uint64_t length) {
    const std::string name = spelled(given);
    check_own_name("a dimension", name);
    if (name == time_name_)
        fail(Status::BAD_ARGUMENT, "dimension '", name,
             "' is the time dimension, which every stream has; give this one another name, or the time dimension with 'time' in "
             "the options");
    if (dimension_numbers_.contains(name))
        fail(Status::BAD_ARGUMENT, "dimension '", name, "' is defined twice; define it once", spelling_hint(given, name));
    if (numbers_.contains(name))
        fail(Status::BAD_ARGUMENT, "dimension '", name,
             "' has the name of a variable; define the dimension before its coordinate variable, or rename one of them");
    check_name_is_free("dimension", name);
    dimension_numbers_.emplace(name, dimensions_.size());
    dimensions_.push_back({name, length});
    if (length != TAILRACE_RAGGED) return;
    dimensions_.back() = {name, 0, true};
    ragged_.push_back(static_cast<int>(dimensions_.size()) - 1);
    const std::string row_size = row_size_name(dimensions_.back());
    row_size_names_.insert(row_size);
    for (const char* what : {"variable", "dimension"})
        if ((*what == 'v' ? numbers_ : dimension_numbers_).contains(row_size)) check_name_is_free(what, row_size);
}

void Definitions::check_name_is_free(const char* what, const std::string& name) const {
    if (!row_size_names_.contains(name)) return;
    fail(Status::BAD_ARGUMENT, what, " '", name, "' has the name of the variable in which the index stores the lengths of '",
         name.substr(0, name.size() - row_size_name({}).size()), "'; rename it");
}

void Definitions::define_variable(const std::string& given, int type, int ndims, const char* const* dims, int flags) {
    const std::string name = spelled(given);
    check_own_name("a variable", name);
    if (name == time_name_)
        fail(Status::BAD_ARGUMENT, "variable '", name, "' is the time coordinate, which every stream has; leave it out");
    if (!is_type(type))
        fail(Status::BAD_ARGUMENT, "variable '", name, "': ", type,
             " is not a tailrace_type; use one of tailrace.h, such as TAILRACE_F64");
    if (ndims < 0 || ndims > TAILRACE_MAX_DIMS)
        fail(Status::BAD_SHAPE, "variable '", name, "' has ", ndims, " dimensions; use 0 to ", TAILRACE_MAX_DIMS);
    if ((flags & ~(TAILRACE_STATIC | TAILRACE_REPLICATED)) != 0)
        fail(Status::BAD_ARGUMENT, "variable '", name, "': the flags ", flags,
             " are not a sum of TAILRACE_STATIC (1) and TAILRACE_REPLICATED (2); remove all other bits");
    if (numbers_.contains(name))
        fail(Status::BAD_ARGUMENT, "variable '", name, "' is defined twice; define it once", spelling_hint(given, name));
    Variable variable;
    variable.name = name;
    variable.type = static_cast<Type>(type);
    variable.is_static = flags & TAILRACE_STATIC;
    variable.replicated = (flags & TAILRACE_REPLICATED) || ndims == 0;
    for (int d = 0; d < ndims; ++d) {
        const int at = find_dimension(dims[d]);
        if (at < 0)
            fail(Status::BAD_SHAPE, "variable '", name, "': dimension '", dims[d],
                 "' is not defined; call tailrace_define_dim first");
        variable.dims.push_back(at);
        variable.shape.push_back(dimension(at).length);
    }
    if (!fits_in_file(variable))
        fail(Status::BAD_SHAPE, "variable '", name, "' has more bytes a step than a file may have (2^63); give it fewer elements");
    check_name_is_free("variable", name);
    check_blocks(name);
    check_ragged(*this, variable);
    if (array_name(variable).size() > kMaxOwnNameBytes)
        fail(Status::BAD_ARGUMENT, "variable '", name, "' has the name of a dimension and is not its coordinate, so files name it ",
             kNoCoordinatePrefix, "NAME; use a name of at most ", kMaxOwnNameBytes - kNoCoordinatePrefix.size(), " bytes");
    if (const std::string_view owner = owner_of_block(name); !owner.empty()) block_owners_.emplace(owner);
    numbers_.emplace(name, variables_.size());
    variables_.push_back(std::move(variable));
}

void Definitions::check_blocks(const std::string& name) const {
    std::string other(owner_of_block(name));
    if (block_owners_.contains(name))
        other = std::ranges::find_if(variables_, [&](const Variable& v) { return owner_of_block(v.name) == name; })->name;
    else if (!numbers_.contains(other))
        return;
    fail(Status::BAD_ARGUMENT, "variables '", other, "' and '", name,
         "': a part names the blocks of a variable NAME.1, NAME.2 and so on, so these names collide; rename one of them");
}

std::vector<Attribute>& Definitions::attributes_of(const std::string& variable) {
    if (variable.empty()) return attributes_;
    return spelled(variable) == time_name_ ? time_attributes_ : variables_[index_of(variable)].attributes;
}

void Definitions::check_attribute_of(const std::string& variable, Attribute& attribute) {
    attribute.name = spelled(attribute.name);
    check_attribute(variable.empty() ? "the stream" : "variable '" + variable + "'", attribute);
    if (attribute.name != "_FillValue" || variable.empty() || spelled(variable) == time_name_) return;
    Variable& owner = variables_[index_of(variable)];
    if (attribute.count != 1 || attribute.type != owner.type)
        fail(Status::BAD_ATTRIBUTE, "_FillValue of variable '", variable, "' is one element of the variable's own type, ",
             type_code(owner.type));
    owner.fill = attribute.values;
}

void Definitions::put_attribute(const std::string& variable, Attribute attribute) {
    std::vector<Attribute>& attributes = attributes_of(variable);
    check_attribute_of(variable, attribute);
    set(attributes, std::move(attribute));
}

void Definitions::put_attributes(const std::string& variable, std::vector<Attribute> attributes) {
    std::vector<Attribute>& known = attributes_of(variable);
    Numbers numbers;
    for (size_t a = 0; a < known.size(); ++a) numbers.emplace(known[a].name, a);
    for (Attribute& attribute : attributes) {
        check_attribute_of(variable, attribute);
        const auto [at, is_new] = numbers.emplace(attribute.name, known.size());
        is_new ? known.push_back(std::move(attribute)) : void(known[at->second] = std::move(attribute));
    }
}

void Definitions::replace_attributes(const std::string& variable, std::vector<Attribute> attributes) {
    if (variable.empty())
        attributes_ = std::move(attributes);
    else
        (variable == time_name_ ? time_attributes_ : variables_[index_of(variable)].attributes) = std::move(attributes);
}

size_t Definitions::index_of(const std::string& variable) const {
    if (const auto at = numbers_.find(variable); at != numbers_.end()) return at->second;
    if (const auto at = numbers_.find(nfc(variable)); at != numbers_.end()) return at->second;
    for (size_t v = 0; v < variables_.size(); ++v)
        if (spelling_ == Spelling::as_stored && nfc(variables_[v].name) == nfc(variable)) return v;
    std::string known;
    for (size_t v = 0; v < std::min<size_t>(variables_.size(), 20); ++v) known += (v ? ", " : "") + variables_[v].name;
    fail(Status::NOT_FOUND, "variable '", variable, "' is not defined; defined are: ", known.empty() ? "none" : known,
         variables_.size() > 20 ? ", ..." : "");
}

std::optional<size_t> Definitions::find_variable(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

bool Definitions::has_static_distributed() const {
    return std::any_of(variables_.begin(), variables_.end(), [](const Variable& v) { return v.is_static && !v.replicated; });
}

size_t Definitions::dimension_of(const Variable& variable, const std::string& dimension) const {
    for (size_t d = 0; d < variable.dims.size(); ++d)
        if (this->dimension(variable.dims[d]).name == dimension) return d;
    std::vector<std::string> names;
    for (const int d : variable.dims) names.push_back(this->dimension(d).name);
    fail(Status::NOT_FOUND, "variable '", variable.name, "' has no dimension '", dimension, "'; its dimensions are ",
         name_list_text(names));
}

void check_indices(const Definitions& definitions, const Variable& variable, size_t dim, std::span<const uint64_t> indices) {
    const uint64_t length = variable.shape[dim];
    const auto outside = std::ranges::find_if(indices, [length](uint64_t index) { return index >= length; });
    if (outside == indices.end()) return;
    fail(Status::BAD_SHAPE, "variable '", variable.name, "': index ", position_text(*outside), ", number ",
         position_text(static_cast<uint64_t>(outside - indices.begin())), " of a list, leaves dimension '",
         definitions.dimension(variable.dims[dim]).name, "' of length ", length, "; ", counting_rule());
}

bool Definitions::is_coordinate(const Variable& variable) const {
    return variable.is_static && variable.replicated && variable.dims.size() == 1 &&
           dimension(variable.dims[0]).name == variable.name;
}

std::string Definitions::array_name(const Variable& variable) const {
    const bool has_dimensions_name = dimension_numbers_.contains(variable.name);
    return has_dimensions_name && !is_coordinate(variable) ? std::string(kNoCoordinatePrefix) + variable.name : variable.name;
}

std::string_view Definitions::without_prefix(std::string_view array) {
    return array.starts_with(kNoCoordinatePrefix) ? array.substr(kNoCoordinatePrefix.size()) : array;
}

std::vector<uint64_t> Definitions::ragged_lengths() const {
    std::vector<uint64_t> lengths;
    for (const int d : ragged_) lengths.push_back(dimension(d).length);
    return lengths;
}

void Definitions::set_ragged_lengths(const std::vector<uint64_t>& lengths) {
    if (lengths.size() != ragged_.size())
        fail(Status::CORRUPT, "a step has the lengths of ", lengths.size(), " ragged dimensions, the stream has ", ragged_.size());
    for (size_t k = 0; k < lengths.size(); ++k) dimensions_[static_cast<size_t>(ragged_[k])].length = lengths[k];
    for (Variable& variable : variables_) {
        if (!is_ragged(variable)) continue;
        variable.shape[0] = dimension(variable.dims[0]).length;
        if (!fits_in_file(variable))
            fail(Status::CORRUPT, "variable '", variable.name, "' has ", variable.shape[0],
                 " elements along its ragged dimension, which are more bytes than a file may have (2^63)");
    }
}

std::string row_size_name(const Dimension& dimension) { return dimension.name + "_row_size"; }

Definitions Definitions::first(size_t dimensions, size_t variables) const {
    Definitions some = *this;
    some.dimensions_.resize(std::min(dimensions, dimensions_.size()));
    some.variables_.resize(std::min(variables, variables_.size()));
    return some;
}

uint64_t Definitions::fingerprint() const {
    Fingerprint fields;
    fields.add(time_name_);
    fields.add(time_attributes_);
    fields.add(dimensions_.size());
    for (const Dimension& d : dimensions_) {
        fields.add(d.name);
        fields.add(d.ragged ? TAILRACE_RAGGED : d.length);
    }
    fields.add(variables_.size());
    for (const Variable& v : variables_) {
        fields.add(v.name);
        fields.add(static_cast<uint64_t>(v.type));
        fields.add(v.dims.size());
        for (const int d : v.dims) fields.add(static_cast<uint64_t>(d));
        fields.add(v.is_static);
        fields.add(v.replicated);
        fields.add(v.attributes);
    }
    fields.add(attributes_);
    return fields.checksum();
}

bool Definitions::same_structure(const Definitions& other, std::string& why) const {
    if (time_name_ != other.time_name_)
        return why = "the time dimension is '" + other.time_name_ + "' there, '" + time_name_ + "' here", false;
    if (why = difference_in_dimensions(dimensions_, other.dimensions_); !why.empty()) return false;
    if (variables_.size() != other.variables_.size())
        return why = text("there are ", other.variables_.size(), " variables there, here ", variables_.size()), false;
    for (size_t v = 0; v < variables_.size(); ++v) {
        const Variable &a = variables_[v], &b = other.variables_[v];
        if (a.name != b.name || a.type != b.type || a.dims != b.dims || a.is_static != b.is_static || a.replicated != b.replicated)
            return why =
                       "variable " + std::to_string(v) + " is " + kind_text(b) + " there, here " + kind_text(a) +
                       (a.name != b.name && nfc(a.name) == nfc(b.name)
                            ? ": the names there are not in Unicode's form NFC; `tailrace convert` makes a stream in which they are"
                            : ""),
                   false;
    }
    return true;
}

}  // namespace tailrace
