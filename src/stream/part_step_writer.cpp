#include "stream/part_step_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "part/seal.hpp"

namespace tailrace {
namespace {

// The elements of a 1-D array that are in a box.
std::vector<std::byte> slice_of(const std::vector<std::byte>& values, uint64_t element_bytes, const Box& box) {
    const auto begin = values.begin() + static_cast<long>(box.offset[0] * element_bytes);
    return {begin, begin + static_cast<long>(box.count[0] * element_bytes)};
}

}  // namespace

void PartStepWriter::begin(std::shared_ptr<HeldFile> file, uint64_t step, bool checksum, PartWriter::Gaps gaps) {
    file_ = std::move(file);
    step_ = step;
    static_out_.emplace(queue_, file_, checksum, gaps);
    step_out_.emplace(queue_, file_, checksum, gaps);
    exchange_out_.emplace(queue_, file_, checksum, PartWriter::Gaps::not_mine);
}

void PartStepWriter::write_own(const PartSpace& space, const Definitions& definitions, const StepPlan& plan, const StepData& data,
                               double time) {
    const PartContent& content = space.content();
    time_ = time;
    slices_.clear();
    slices_.reserve(content.arrays.size());
    for (size_t a = 0; a < content.arrays.size(); ++a) {
        const PartArray& array = content.arrays[a];
        const bool varies = content.description.arrays[a].varies;
        if (!varies && !writes_static()) continue;
        if (content.description.arrays[a].packing) continue;
        PartWriter& out = varies ? *step_out_ : *static_out_;
        const uint64_t address = space.array_address(a, step_);
        switch (array.from) {
            case PartArray::From::box: write_box(address, plan.boxes()[array.box], data, out); break;
            case PartArray::From::replicated:
                if (role_.is_first_writer()) write_replicated(address, array, definitions, data, out);
                break;
            case PartArray::From::time:
                if (role_.is_first_writer()) out.add(address, &time_, sizeof time_);
                break;
        }
    }
    static_out_->flush();
    step_out_->flush();
}

void PartStepWriter::write_box(uint64_t address, const BoxPlan& planned, const StepData& data, PartWriter& out) const {
    if (planned.way != BoxPlan::Way::by_owners || !planned.written) return;
    for (const size_t b : planned.mine) {
        const Box& box = data.boxes[planned.variable][b];
        const BlockView& memory = data.memory[planned.variable][b];
        if (memory.dense() != nullptr && box == planned.box)
            out.add(address, memory.dense(), memory.span_bytes());
        else
            out.add_strided(address, Spans(planned.box.count, within(planned.box, box)), memory, 0, planned.box.elements());
    }
}

void PartStepWriter::write_replicated(uint64_t address, const PartArray& array, const Definitions& definitions,
                                      const StepData& data, PartWriter& out) {
    const std::vector<std::byte>& values = data.values[array.variable];
    if (array.slice.count.empty()) return out.add(address, values.data(), values.size());
    slices_.push_back(slice_of(values, type_bytes(definitions.variables()[array.variable].type), array.slice));
    out.add(address, slices_.back().data(), slices_.back().size());
}

void PartStepWriter::write_seals(const PartSpace& space, const std::shared_ptr<uint64_t>& digest) {
    const PartContent& content = space.content();
    if (content.seal_slot_bytes == 0) return;
    const Placement& placement = content.placement;
    const uint64_t slot_bytes = content.seal_slot_bytes, steps_begin = space.blocks().front().address;
    const uint64_t static_begin = placement.static_addresses().empty() ? 0 : placement.static_addresses().front();
    const bool seals_static = writes_static() && !placement.static_addresses().empty();
    const uint64_t static_seals = placement.static_seal(), step_seals = space.step_begin(step_) + placement.step_seal();
    // An earlier run may have had more writers than this one. The first writer writes empty seals for the missing writers.
    const uint64_t missing_until = role_.is_first_writer() ? content.seal_writers : 0;
    const std::vector<std::shared_ptr<ExtentWriter>> extents{static_out_->written(), step_out_->written(),
                                                             exchange_out_->written()};
    queue_.run([=, file = file_, me = role_.writer, missing_from = role_.writers, step = step_] {
        std::vector<SealRecord> of_static, of_step;
        for (const auto& of : extents)
            for (const SealRecord& record : of->records())
                (of == extents[0] || (of == extents[2] && record.address >= static_begin && record.address < steps_begin)
                     ? of_static
                     : of_step)
                    .push_back(record);
        const auto write = [&](uint64_t number, uint64_t address, uint64_t writer, const std::vector<SealRecord>& records) {
            const std::vector<std::byte> seal = make_seal(number, writer, records);
            if (seal.size() > slot_bytes)
                fail(Status::INTERNAL, "the seal of a step needs ", seal.size(), " bytes, planned were ", slot_bytes);
            file->write_at(address + writer * slot_bytes, seal.data(), seal.size());
            *digest += Checksum::of(seal.data(), seal.size());
        };
        const auto write_all = [&](uint64_t number, uint64_t address, std::vector<SealRecord>& records) {
            std::sort(records.begin(), records.end(),
                      [](const SealRecord& a, const SealRecord& b) { return a.address < b.address; });
            write(number, address, me, records);
            for (uint64_t writer = missing_from; writer < missing_until; ++writer) write(number, address, writer, {});
        };
        if (seals_static) write_all(kSealOfStatic, static_seals, of_static);
        write_all(step, step_seals, of_step);
    });
}

void PartStepWriter::end() noexcept {
    static_out_.reset();
    step_out_.reset();
    exchange_out_.reset();
    file_.reset();
}

}  // namespace tailrace
