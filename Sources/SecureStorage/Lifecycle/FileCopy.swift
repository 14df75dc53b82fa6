internal import Foundation

/// Copies a database page by page into a new file while others continue to use it, then checks the
/// copy.
struct FileCopy {
    /// How to open the database.
    let source: Reopening
    let configuration: SecureDatabaseConfiguration
    /// The copy's key; nil for the source's.
    let key: EncryptionKey?
    /// Whether to omit free pages and put the others in order, which takes memory for the whole
    /// content.
    var isCompact = false
    /// Whether the copy is checked before it gets its name.
    var isChecked = true

    func write(to file: NewFile, _ progress: FileProgress.Handler) throws {
        var readOnly = configuration
        readOnly.isReadOnly = true
        let reader = try source.open(readOnly)
        defer { reader.close() }
        try file.make(timeout: configuration.busyTimeout) { draft in
            let copyKey = try copy(reader, to: draft) {
                try progress(isChecked ? $0.asFirstHalf : $0)
            }
            guard isChecked else { return }
            try DraftCheck(draft: draft, key: copyKey, configuration: configuration).run {
                try progress($0.asSecondHalf)
            }
        }
    }

    /// Returns the key of the copy.
    private func copy(
        _ reader: Connection, to draft: DatabaseFile, _ progress: FileProgress.Handler
    ) throws -> DerivedKey {
        guard let sourceKey = reader.key else { throw SecureStorageError.closed }
        var draftConfiguration = configuration
        draftConfiguration.isReadOnly = false
        draftConfiguration.journalMode = .delete
        draftConfiguration.keepsWriteAheadLog = false
        let copy = try Connection.open(
            draft.path, key: key.map { .new($0) } ?? .derived(sourceKey),
            configuration: draftConfiguration)
        defer { copy.close() }
        try copy.copyPages(from: reader, progress)
        // Not VACUUM INTO: SQLCipher (4.6.1) gives its copy the default page size, HMAC and header,
        // but the page layout of the original. With any other configuration, nothing opens it.
        if isCompact {
            try copy.withTicks({ try progress(FileProgress(1, of: 1)) }) {
                try copy.execute("VACUUM")
            }
        }
        guard let copyKey = copy.key else { throw SecureStorageError.closed }
        return copyKey
    }
}

/// Checks a new file before it gets its name.
struct DraftCheck {
    let draft: DatabaseFile
    /// nil for a plain file.
    let key: DerivedKey?
    let configuration: SecureDatabaseConfiguration

    /// - Throws: `.backingStoreError` code `.corrupt` if the new file is not sound.
    func run(_ progress: FileProgress.Handler) throws {
        var readOnly = configuration
        readOnly.isReadOnly = true
        let reader = try Connection.open(
            draft.path, content: key.map { .encrypted(.derived($0)) } ?? .plaintext,
            configuration: readOnly)
        defer { reader.close() }
        let report = try IntegrityCheck(connection: reader).run {
            try progress(FileProgress($0.completed / 2, of: $0.total / 2))
        }
        // The source's foreign key violations are not the copy's fault.
        guard report.damagedPages.isEmpty, report.structureProblems.isEmpty else {
            throw notSound(report.description.split(separator: "\n").first ?? "")
        }
    }

    /// Checks only that the pages are as they were written.
    func checkPages() throws {
        guard let key else { return }
        let diagnosis = try Examination(
            scan: PageScan(draft.path, key, configuration.cipher)
        ).run { _ in }
        guard diagnosis.isSound else { throw notSound("its pages are not as they were written") }
    }

    private func notSound(_ finding: Substring) -> SecureStorageError {
        SecureStorageError.statementFailed(
            .corrupt,
            "the new file was not sound and was discarded: \(finding); verifyIntegrity() tells whether "
                + "the old one is")
    }
}
