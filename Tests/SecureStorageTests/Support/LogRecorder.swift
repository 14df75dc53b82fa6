import Foundation
import Logging

/// A log handler that keeps the lines it receives.
final class LogRecorder: LogHandler, @unchecked Sendable {
    // @unchecked: `kept` and `keptWarnings` are accessed only under `lock`; level and metadata are
    // set before use.
    private let lock = NSLock()
    private var kept: [String] = []
    private var keptWarnings: [String] = []
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    var lines: [String] { lock.withLock { kept } }
    var warnings: [String] { lock.withLock { keptWarnings } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lock.withLock {
            let line = "\(event.message) \(event.metadata.map { "\($0)" } ?? "")"
            kept.append(line)
            if event.level >= .warning { keptWarnings.append(line) }
        }
    }
}
