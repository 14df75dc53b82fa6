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
        try? Output.errors.write(
            line: "securestorage: " + Visible.text(event.message.description))
        try? Output.errors.flush()
    }
}
