#include "stream/part_ranks.hpp"

#include "gather/agree.hpp"

namespace tailrace {

PartRanks::PartRanks(const Communicator& ranks, const StreamConfig& config, const PartMap& map)
    : ranks_(ranks), map_(map), files_(config.layout.files.kind), one_part_(has_one_part(config.layout)) {
    if (one_part_ || files_ == Files::Kind::per_rank) return;
    if (map_.parts() == 1) {
        members_ = &ranks_;
        return;
    }
    own_ = ranks.take_part(parts_number());
    if (!own_) {
        own_ = std::make_unique<Communicator>(ranks, map_.part_of(ranks.rank()));
        agree(ranks_, OpenVote{}, attempt_or_end_job(ranks, [&] { own_->arrange(config.ranks_per_node); }));
    }
    members_ = own_.get();
}

PartRanks::~PartRanks() {
    if (own_) ranks_.keep_part(std::move(own_), parts_number());
}

}  // namespace tailrace
