extension SecureDatabaseConfiguration {
    /// What happens when a store opens a file that this process already has open for writing.
    public enum SecondInstance: Sendable, CaseIterable {
        /// The open succeeds.
        case allowed
        /// The open succeeds, and a warning is logged.
        case reported
        /// `open` throws `.openFailed` with code `.misuse`.
        case refused
    }
}
