internal import Foundation

/// Checks the HMACs of a file's pages, beside the engine.
struct PageScan {
    let view: PageView
    let key: DerivedKey
    let cipher: PageCipher

    /// The same file as it is now.
    func again() throws -> PageScan { PageScan(view: try view.again(), key: key, cipher: cipher) }

    /// The pages among `numbers` that are missing or not as they were written; `progress` is told of every
    /// megabyte.
    func damagedPages(
        among numbers: some Collection<UInt32>, _ progress: FileProgress.Handler = { _ in }
    ) throws -> [UInt32] {
        var damaged: [UInt32] = []
        var page = [UInt8](repeating: 0, count: view.pageSize)
        let interval = max((1 << 20) / view.pageSize, 1)
        for (done, number) in numbers.enumerated() {
            if done % interval == 0 { try progress(FileProgress(done, of: numbers.count)) }
            let isAuthentic = try page.withUnsafeMutableBytes { page in
                try view.read(number, into: page)
                    && cipher.isAuthentic(UnsafeRawBufferPointer(page), number: number)
            }
            if !isAuthentic { damaged.append(number) }
        }
        try progress(FileProgress(numbers.count, of: numbers.count))
        return damaged
    }

    /// Whether any page was written with the key: the first ones, then others spread over the file.
    func knowsKey(lookingAt limit: Int) throws -> Bool {
        let count = UInt32(clamping: max(view.pageCount, 0))
        guard count > 0 else { return false }
        let step = max(count / UInt32(clamping: limit), 1)
        let numbers = Set(1...min(count, 16)).union(stride(from: 1, through: count, by: Int(step)))
        for number in numbers.sorted() {
            guard let page = try view.page(number) else { continue }
            if page.withUnsafeBytes({ cipher.isAuthentic($0, number: number) }) { return true }
        }
        return false
    }
}
