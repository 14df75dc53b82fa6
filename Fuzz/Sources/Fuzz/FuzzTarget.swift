import Foundation

/// Receives one input after another, and must return from each.
protocol FuzzTarget {
    /// Ends the process when the library breaks a promise.
    func run(_ input: Data) throws
}

/// The target of this process.
enum RunningTarget {
    // Set once, before libFuzzer's loop begins, then used only by its single thread.
    nonisolated(unsafe) static var target: (any FuzzTarget)?

    static func run(_ bytes: UnsafeRawBufferPointer) {
        // A slice that does not begin at 0, to detect code that mistakes indices for offsets.
        let input = (Data([0]) + bytes).dropFirst()
        do {
            try target?.run(input)
        } catch {
            fatalError("an error that is not promised: \(type(of: error)), \(error)")
        }
    }
}

/// Returns the result of `body`, or nil for an error of the promised type.
///
/// Other errors propagate and end the process.
func allowing<R, Failure>(
    _ type: Failure.Type, where isBelowLowerBound: (Failure) -> Bool = { _ in true },
    _ body: () throws -> R
) throws -> R? {
    do {
        return try body()
    } catch let error as Failure where isBelowLowerBound(error) {
        return nil
    }
}

/// Reads the parts of an input; missing bytes are zero.
struct InputReader {
    private(set) var rest: Data

    init(_ input: Data) { rest = input }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bytes(_ count: Int) -> Data {
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func number() -> Int64 {
        bytes(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

/// A folder in memory for the files of a run; `Scripts/fuzz` removes it.
enum Scratch {
    static func folder(_ name: String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("\(name)-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
