internal import Region

/// A piece of work as one side performs it.
package struct WorkerCase: Sendable {
    package let name: String
    package let run: @Sendable (Job) throws -> Outcome

    package init(_ name: String, _ run: @escaping @Sendable (Job) throws -> Outcome) {
        self.name = name
        self.run = run
    }
}

/// The input of a run.
package struct Job: Sendable {
    package let path: String
    package let rows: Int
    /// Row ids in random order, one for each single call.
    package let ids: [Int64]
    /// Keys of a key-value store for these ids.
    package let settingKeys: [String]
    package let profileKeys: [String]
    /// The number of single calls that write, which are more expensive.
    package var writes: Int { max(1, ids.count / 20) }

    /// Bytes of the large value.
    package var valueSize: Int { min(rows * 500, 999_000_000) }

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

    /// Measures `body`, which returns the checksum of the data that it has read.
    package func timed(_ body: () throws -> UInt64) throws -> Outcome {
        let start = ContinuousClock.now
        let checksum = try measured(body)
        return Outcome(seconds: (ContinuousClock.now - start) / .seconds(1), checksum: checksum)
    }

    /// Runs `body` inside the function by whose name its instructions are counted.
    private func measured(_ body: () throws -> UInt64) throws -> UInt64 {
        try withoutActuallyEscaping(body) { body in
            let call = RegionCall(body)
            benchmark_region(
                { context in
                    guard let context else { return }
                    Unmanaged<RegionCall>.fromOpaque(context).takeUnretainedValue().run()
                }, Unmanaged.passUnretained(call).toOpaque())
            return try call.outcome.get()
        }
    }
}

private final class RegionCall {
    private let body: () throws -> UInt64
    private(set) var outcome: Result<UInt64, any Error> = .success(0)

    init(_ body: @escaping () throws -> UInt64) { self.body = body }

    func run() { outcome = Result { try body() } }
}

package struct Outcome: Sendable {
    package var seconds: Double
    package var checksum: UInt64

    package init(seconds: Double, checksum: UInt64) {
        self.seconds = seconds
        self.checksum = checksum
    }

    /// Returns a copy with the checksum of the data that a run has written; reading that is not
    /// timed.
    package func checked(by checksum: Int64?) -> Outcome {
        Outcome(seconds: seconds, checksum: UInt64(bitPattern: checksum ?? -1))
    }
}

/// A generator of the same numbers in every run and in the C program.
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
