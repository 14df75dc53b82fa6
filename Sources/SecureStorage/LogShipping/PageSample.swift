/// The ends of some pages as they are stored: with the random numbers and the HMACs of their last
/// writes, no two versions of a page have the same.
struct PageSample {
    private(set) var ends: [UInt32: [UInt8]] = [:]

    static let endSize = 16
    private static let limit = 16

    init() {}

    /// - Throws: The errors of reading the pages.
    init(of changes: CommittedPages.Changes) throws {
        let step = max(1, changes.pages.count / Self.limit)
        for index in stride(from: 0, to: changes.pages.count, by: step) {
            let page = try changes.bytes(of: changes.pages[index...index])
            ends[changes.pages[index]] = Array(page.suffix(Self.endSize))
        }
    }
}

extension CommittedPages {
    /// Compares the file with pages that were returned, once it holds them: a checkpoint may have
    /// changed it, and then a program that has overwritten it.
    ///
    /// - Parameters:
    ///   - state: What was returned.
    ///   - pages: Those of later commits, which may be in the file already.
    /// - Throws: `.backingStoreError` code `.busySnapshot` if the file was overwritten.
    func compareSample(_ state: inout State, besides pages: [UInt32]) throws {
        let file = state.file
        guard !state.sample.ends.isEmpty,
            state.comparedFile.map({ file.isUnchanged(since: $0) }) != true,
            file.index.salts != state.position.salts
                || file.index.backfilledCount >= state.position.frame
        else { return }
        let later = Set(pages)
        let stored = try RawFile(path)
        let isOther = try state.sample.ends.contains { page, end in
            guard !later.contains(page) else { return false }
            let place = Int(page) * pageSize - PageSample.endSize
            return try stored.bytes(at: place, count: PageSample.endSize) != end
        }
        // A commit and its checkpoint may have come in between.
        let now = try SeenFile(path, state.reader)
        guard now.isUnchanged(since: file), now.index.showsSameState(as: file.index) else { return }
        guard !isOther else { throw noteOverwriting() }
        state.comparedFile = file
    }
}
