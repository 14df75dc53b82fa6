/// One piece of work, as one side does it.
package struct WorkerCase: Sendable {
    package let name: String
    let run: @Sendable (Job) throws -> Outcome

    package init(_ name: String, _ run: @escaping @Sendable (Job) throws -> Outcome) {
        self.name = name
        self.run = run
    }
}

/// What a run is given.
package struct Job: Sendable {
    package let path: String
    package let rows: Int
    /// Ids of rows, in an order that jumps: one for each single call.
    package let ids: [Int64]
    /// Keys of a key-value store, for the ids.
    package let settingKeys: [String]
    package let profileKeys: [String]
    /// Of single calls that write, which cost more.
    package var writes: Int { max(1, ids.count / 20) }

    init(path: String, rows: Int) {
        self.path = path
        self.rows = rows
        var generator = SplitMix64(state: 42)
        ids = (0..<min(rows, 200_000)).map { _ in
            Int64(generator.next() % UInt64(rows)) + 1
        }
        settingKeys = ids.map { "setting/\($0)" }
        profileKeys = ids.prefix(max(1, ids.count / 4)).map { "profile/\($0)" }
    }

    /// Measures `body`, which returns the checksum of what it has read.
    package func timed(_ body: () throws -> UInt64) rethrows -> Outcome {
        let start = ContinuousClock.now
        let checksum = try body()
        return Outcome(seconds: (ContinuousClock.now - start) / .seconds(1), checksum: checksum)
    }
}

package struct Outcome: Sendable {
    package var seconds: Double
    package var checksum: UInt64

    package init(seconds: Double, checksum: UInt64) {
        self.seconds = seconds
        self.checksum = checksum
    }

    /// With the checksum of what a run has written; reading that is not timed.
    package func checked(by checksum: Int64?) -> Outcome {
        Outcome(seconds: seconds, checksum: UInt64(bitPattern: checksum ?? -1))
    }
}

/// The same numbers in every run, and in the C program.
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
