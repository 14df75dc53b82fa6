import Foundation
import Logging
import SecureStorage

/// A log handler that keeps what it receives.
final class Recorder: LogHandler, @unchecked Sendable {
    // @unchecked: `kept` is accessed only under `lock`; level and metadata are set before use.
    private let lock = NSLock()
    private var kept = ""
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    var text: String { lock.withLock { kept } }

    var logger: Logger { Logger(label: "test") { _ in self } }

    /// A configuration that reports a second store on one file.
    var reporting: SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .reported
        configuration.logger = logger
        return configuration
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lock.withLock { kept += "\(event.message) \(event.metadata.map { "\($0)" } ?? "")\n" }
    }
}
