internal import Foundation
internal import Logging

/// Shows the library's warnings as those of the program, on standard error.
struct ToolLog: LogHandler {
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // `securestorage info` reports the engine's weaknesses; here they would appear at every
        // call.
        guard event.metadata?["weaknesses"] == nil else { return }
        let message = event.message.description
        let line =
            (Report.isJSON
                ? Report.line(code: "warning", message: message)
                : "securestorage: " + Visible.text(message)) + "\n"
        let bytes = Array(line.utf8)
        // Not through `Output`, which is the main thread's: a mirror's threads log as well.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
