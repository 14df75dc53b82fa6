extension SecureDatabaseConfiguration {
    /// What happens when a file is opened that this process has open for writing already.
    public enum SecondInstance: Sendable, CaseIterable {
        /// Nothing.
        case allowed
        /// A warning goes to the logger.
        case reported
        /// `open` throws `.openFailed` with code 21 (SQLITE_MISUSE).
        case refused
    }
}
