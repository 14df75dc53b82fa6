import Foundation
import SecureStorage

/// What a run reported about its steps, stored where no call fails.
///
/// A killed run is recorded up to its kill.
struct Record: Codable {
    var call: Int
    /// The function that failed first: empty for a run without a failure, "killed" for a kill.
    var failed = "killed"
    var begun: Set<String> = []
    var done: Set<String> = []
    var errors: [String: String] = [:]
    /// Errors that are not the library's.
    var strangers: [String] = []

    /// Returns the numbers of the steps named `row N`.
    func rows(_ steps: some Sequence<String>) -> Set<Int> {
        Set(steps.compactMap { $0.hasPrefix("row ") ? Int($0.dropFirst(4)) : nil })
    }

    var storedRows: Set<Int> { rows(done) }
}

/// Tries the steps of a workload and records the outcome of each.
final class Log {
    private(set) var record: Record
    private let path: String

    init(call: Int, path: String) {
        record = Record(call: call)
        self.path = path
        save()
    }

    /// - Returns: The result of the step; nil after an error.
    @discardableResult
    func attempt<R>(_ step: String, _ body: () throws -> R) -> R? {
        record.begun.insert(step)
        save()
        do {
            let result = try body()
            record.done.insert(step)
            save()
            return result
        } catch {
            if !(error is SecureStorageError) { record.strangers.append("\(step): \(error)") }
            record.errors[step] = Self.kind(error) + ": \(error)"
            save()
            return nil
        }
    }

    func end(failed: String) {
        record.failed = failed
        save()
    }

    private func save() {
        let data = try? JSONEncoder().encode(record)
        try? data?.write(to: URL(fileURLWithPath: path))
    }

    static func kind(_ error: any Error) -> String {
        switch error as? SecureStorageError {
        case .encryptionKeyChangeFailed: "not changed"
        case .encryptionKeyChangeUnknown: "unknown"
        default: "error"
        }
    }
}
