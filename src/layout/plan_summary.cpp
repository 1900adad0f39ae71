#include <algorithm>

#include "layout/directory_census.hpp"
#include "layout/flow.hpp"
#include "layout/parts.hpp"
#include "layout/plan.hpp"

namespace tailrace {
namespace {

void count_directories(const PlanRequest& request, const PartMap& parts, uint64_t groups, Summary& summary) {
    const Layout& layout = request.layout;
    const std::string top = parts_directory(request.stream) + "/";
    DirectoryCensus above, within;  // of the groups in NAME.parts, and of the parts in a group: all groups are alike
    above.add("journal.jsonl");
    if (!layout.part_is_dataset())
        for (uint64_t group = 0; group < groups; ++group)
            above.add(std::string_view(group_path(layout, request.stream, group * layout.steps)).substr(top.size()));
    summary.directories = 1 + above.directories();
    summary.most_directory_entries = above.most_entries();
    if (has_one_part(layout)) return;
    for (uint64_t part = 0; part < parts.parts(); ++part) within.add(part_path_in_group(layout, request.stream, 0, part));
    summary.directories += groups * (1 + within.directories());
    summary.most_directory_entries = std::max(summary.most_directory_entries, within.most_entries());
}

void count_writers(const PlanRequest& request, const PartFlow& flow, uint64_t writers, Summary& summary) {
    summary.writers += writers;
    for (uint64_t k = 0; k < writers; ++k) {
        const uint64_t bytes = flow.writer_bytes(k) * request.steps;
        summary.bytes += bytes;
        summary.least_writer_bytes = std::min(summary.least_writer_bytes, bytes);
        summary.most_writer_bytes = std::max(summary.most_writer_bytes, bytes);
    }
}

void count_messages(const PartMap& parts, const PartFlow& flow, uint64_t part, std::vector<PartFlow::WriterBytes>& to_writers,
                    Summary& summary) {
    for (uint64_t rank = parts.first_rank(part); rank < parts.last_rank(part); ++rank) {
        flow.bytes_to_writers(rank, to_writers);
        for (const PartFlow::WriterBytes& to : to_writers) {
            if (parts.writer(part, to.writer) == rank) continue;
            ++summary.messages;
            summary.message_bytes += to.bytes;
            summary.largest_message_bytes = std::max(summary.largest_message_bytes, to.bytes);
        }
    }
}

}  // namespace

Summary summarise(const PlanRequest& request) {
    check_request(request);
    const Flow flow(request);
    const uint64_t in_group = request.layout.steps == Layout::kAllSteps ? request.steps : request.layout.steps;
    const uint64_t groups = request.steps / in_group + (request.steps % in_group != 0);
    Summary summary;
    summary.files = flow.parts().parts() * groups;
    count_directories(request, flow.parts(), groups, summary);
    summary.least_writer_bytes = UINT64_MAX;
    std::vector<PartFlow::WriterBytes> to_writers;
    const bool any_messages = flow.may_have_messages();
    for (uint64_t part = 0; part < flow.parts().parts(); ++part) {
        const PartFlow within(flow, part);
        count_writers(request, within, flow.parts().writers(part), summary);
        if (any_messages) count_messages(flow.parts(), within, part, to_writers, summary);
    }
    summary.messages *= request.steps;
    summary.message_bytes *= request.steps;
    return summary;
}

}  // namespace tailrace
