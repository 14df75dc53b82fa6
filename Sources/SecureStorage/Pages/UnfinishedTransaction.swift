/// What a transaction may have changed that never committed and cannot be undone, since its journal
/// is damaged.
///
/// The originals that can still be read are laid over the file. Every other page may be of the
/// transaction.
struct UnfinishedTransaction: Sendable {
    /// Pages that it has changed and whose originals cannot be read; never page 1, which has the
    /// schema.
    private let changed: Set<UInt32>
    private let view: PageView

    /// Examines the journal; nil if there is none, or it is whole.
    init?(_ path: String, _ view: PageView, _ cipher: PageCipher) throws {
        guard try JournalExamination(path: path, cipher: cipher).damage() != nil else { return nil }
        self.view = view
        let records =
            try RollbackJournal(of: path, pageSize: view.pageSize)?.segments.flatMap(\.records)
            ?? []
        changed = Set(records.map(\.number).filter { $0 > 1 && !view.isOverlaid($0) })
    }

    /// Whether the page is the transaction's.
    func hasChanged(_ page: UInt32) -> Bool { changed.contains(page) }

    /// Whether the page may be the transaction's.
    func mayHaveChanged(_ page: UInt32) -> Bool { !view.isOverlaid(page) }
}
