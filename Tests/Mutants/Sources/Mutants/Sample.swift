/// A draw of sites that edits hardly change: each site has a random rank of its own.
struct Sample {
    let sites: [Site]

    /// Draws `count` sites, of each library in proportion to those that it has, but some of each.
    init(of sites: [Site], count: Int, seed: UInt64) {
        let libraries = Dictionary(grouping: sites, by: \.library)
        self.sites = libraries.values.flatMap { candidates in
            let share = max(count * candidates.count / sites.count, 5)
            return
                candidates
                .map { (rank: Self.rank($0.identity, seed), site: $0) }
                .sorted { $0.rank < $1.rank }
                .prefix(share).map(\.site)
        }
        .sorted { ($0.file, $0.bytes.lowerBound) < ($1.file, $1.bytes.lowerBound) }
    }

    /// FNV-1a, and the last step of SplitMix64 to spread its bits.
    static func rank(_ identity: String, _ seed: UInt64) -> UInt64 {
        var hash = identity.utf8.reduce(0xcbf2_9ce4_8422_2325 ^ seed) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}
