import CBaseline
import Foundation
import SecureStorage

/// One piece of work, done by each side.
///
/// Each side gets a database that was made by ``SampleData`` and returns a checksum of what it has seen.
struct Case: Sendable {
    let name: String
    /// By hand, on the C API.
    let c: @Sendable (SampleData, OpaquePointer) throws -> UInt64
    let ours: @Sendable (SampleData, SecureDatabaseStore) throws -> UInt64

    struct Result {
        /// Medians, in seconds.
        var c: Double
        var ours: Double
        /// The median of the rounds' ratios.
        var ratio: Double
    }

    struct ChecksumDiffers: Error, CustomStringConvertible {
        let name: String
        var description: String { "\(name): the sides have not done the same work" }
    }

    func measure(_ data: SampleData, rounds: Int) throws -> Result {
        var times: [(c: Double, ours: Double)] = []
        // The first round fills caches and does not count.
        for round in 0...rounds {
            let forC = try data.makeDatabase(filled: name != "insert-positional")
            let baseline = data.openBaseline(forC)
            let (cTime, cSum) = try timed { try c(data, baseline) }
            baseline_close(baseline)

            let forUs = try data.makeDatabase(filled: name != "insert-positional")
            let store = try data.openStore(forUs)
            let (ourTime, ourSum) = try timed { try ours(data, store) }
            store.close()

            guard cSum == ourSum else { throw ChecksumDiffers(name: name) }
            if round > 0 { times.append((cTime, ourTime)) }
        }
        return Result(
            c: median(times.map(\.c)), ours: median(times.map(\.ours)),
            ratio: median(times.map { $0.ours / $0.c }))
    }

    private func timed(_ body: () throws -> UInt64) rethrows -> (Double, UInt64) {
        let start = ContinuousClock.now
        let checksum = try body()
        return ((ContinuousClock.now - start) / .seconds(1), checksum)
    }

    private func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }
}

/// What both sides add up: the length of a text or blob and its last byte.
func checksum(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { UInt64($0.count) + UInt64($0.last ?? 0) }
}

func checksum(_ data: Data) -> UInt64 { UInt64(data.count) + UInt64(data.last ?? 0) }
